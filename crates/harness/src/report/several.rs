//! The page of `report`: several folders of results beside each other, each with its figure, and the way to its own report.

use super::page::{Block, Cell, Page, Way};
use super::sweep::SweepReport;
use super::{figures, footer, gallery, render, tables};
use crate::laid_down::{Judged, LaidDown, Placed};
use crate::results::Surroundings;
use crate::subject::{Place, shown};
use crate::summary::{LatencyOf, Summary};
use crate::sweep::{Experiment, combinations};
use crate::text::numbers::counted;
use std::collections::{BTreeMap, BTreeSet};

/// What is more than this is in the table only.
const MOST_BARS: usize = 24;

/// The page. `results`: each with its name, and where its own report is, seen from this page.
pub fn of_folders(results: &[(Way, LaidDown)], surroundings: &Surroundings) -> String {
    let simulated = results.iter().all(|(_, of)| of.is_simulated());
    let systems: usize = results.iter().map(|(_, of)| of.systems.len()).sum();
    let warnings = results
        .iter()
        .flat_map(|(way, of)| of.warnings.iter().map(move |text| format!("{}: {text}", way.name)))
        .collect();
    render(&Page {
        trail: Vec::new(),
        title: match results {
            [(way, _)] => format!("Results of {}", way.name),
            _ => "Results beside each other".to_owned(),
        },
        command: surroundings.command.clone(),
        lead: format!("{} in {}.", counted(systems, "measurement"), counted(results.len(), "folder")),
        finding: Vec::new(),
        claim: None,
        simulated,
        warnings,
        blocks: beside_each_other(results)
            .into_iter()
            .chain(differences(results))
            .chain(results.iter().flat_map(of_folder))
            .collect(),
        footer: footer(surroundings, simulated),
    })
}

/// A system of a folder: the folder's name, its position, and what was measured.
type Named<'a> = (&'a str, usize, &'a Summary);

/// What `run` and `compare` have measured over the same workload in several folders. Closed loops are ranked. What an open loop commits is what arrives, as far as the system
/// keeps up, and its latencies are from the arrival: it is apart. So is what was simulated from what was measured: the model is off by more than systems differ.
fn beside_each_other(results: &[(Way, LaidDown)]) -> Vec<Block> {
    let systems = |(number, (way, of)): (usize, &'_ (Way, LaidDown))| {
        let alone = of.systems.iter().filter(|placed| placed.at.is_empty());
        alone.map(|placed| (number, way.name.clone(), placed.summary.clone())).collect::<Vec<_>>()
    };
    let all: Vec<(usize, String, Summary)> = results.iter().enumerate().flat_map(systems).collect();
    let subjects: BTreeSet<(&str, bool)> =
        all.iter().map(|(.., summary)| (summary.workload.as_str(), summary.simulated)).collect();
    let on = |simulated: bool| match all.iter().all(|(.., summary)| summary.simulated == simulated) {
        true => "",
        false if simulated => ", simulated",
        false => ", on hardware",
    };
    let of_subject = |(workload, simulated): (&str, bool)| {
        let is_here = |summary: &Summary| {
            let is_ranked = summary.has_transactions();
            is_ranked && summary.workload == workload && summary.simulated == simulated
        };
        let here = all.iter().filter(|(.., summary)| is_here(summary));
        let mut here: Vec<Named<'_>> =
            here.map(|(number, folder, summary)| (folder.as_str(), *number, summary)).collect();
        here.sort_by(|(.., one), (.., other)| other.throughput_per_s.total_cmp(&one.throughput_per_s));
        let folders: BTreeSet<usize> = here.iter().map(|(_, number, _)| *number).collect();
        if folders.len() < 2 {
            return Vec::new();
        }
        let is_swept = |of: &LaidDown| {
            of.experiment.is_some() && of.systems.iter().any(|placed| is_here(&placed.summary))
        };
        let has_sweeps = results.iter().any(|(_, of)| is_swept(of));
        let (open, closed): (Vec<_>, Vec<_>) =
            here.into_iter().partition(|(.., summary)| summary.latency_of == LatencyOf::Response);
        let loops = [(Loop::Closed, closed), (Loop::Open, open)];
        let loops = loops.into_iter().filter(|(_, systems)| !systems.is_empty());
        let title = format!("{workload}{}", on(simulated));
        loops.flat_map(|(kind, systems)| table_of(&title, kind, &systems, has_sweeps)).collect()
    };
    subjects.into_iter().flat_map(of_subject).collect()
}

/// Whether a transaction begins when another one has ended, or when it arrives.
#[derive(Clone, Copy)]
enum Loop {
    Closed,
    Open,
}

/// The figure and the table of systems over one workload, `over`; `has_sweeps`: points of sweeps are over it, too.
fn table_of(over: &str, kind: Loop, systems: &[Named<'_>], has_sweeps: bool) -> Vec<Block> {
    let bars = systems.iter().take(MOST_BARS);
    let bars: Vec<(String, usize, &Summary)> = bars
        .map(|(folder, number, summary)| (format!("{folder}: {}", summary.system()), *number, *summary))
        .collect();
    let machines: BTreeSet<&str> = systems.iter().map(|(.., summary)| summary.machine.as_str()).collect();
    let on_several = machines.len() > 1;
    let row = |(folder, _, summary): &Named<'_>| {
        let machine = on_several.then(|| Cell::words(&summary.machine));
        let workers = Cell::number(summary.workers.to_string());
        let system = [Cell::words(*folder), Cell::words(summary.system())];
        system.into_iter().chain(machine).chain([workers]).chain(tables::numbers(summary)).collect()
    };
    let machine = on_several.then(|| Cell::words("machine"));
    let head = [Cell::words("results"), Cell::words("system")].into_iter().chain(machine);
    let head = head.chain([Cell::number("workers")]);
    let (figure, title, about) = match kind {
        Loop::Closed => (format!("Throughput over {over}"), format!("Ranking over {over}"), ""),
        Loop::Open => (
            format!("Throughput over {over} at given rates"),
            format!("Over {over} at given rates"),
            " What arrives was given: whoever commits more was given more, or keeps up better. Latencies are from the arrival.",
        ),
    };
    let is_logged = |(.., summary): &Named<'_>| summary.log.is_some();
    let ends = match systems.iter().any(is_logged) && !systems.iter().all(is_logged) {
        true => " Latencies of what is logged end when the commit is durable, others with the commit.",
        false => "",
    };
    let swept = if has_sweeps { " Points of sweeps are below, each sweep by itself." } else { "" };
    let table = Block::Table {
        title,
        note: format!(
            "{} What was not taken by turns in one run may differ by what else the machine did.{about}{ends}{swept}",
            tables::SPREAD
        ),
        head: head.chain(tables::NUMBERS.map(Cell::number)).collect(),
        rows: systems.iter().map(row).collect(),
    };
    vec![figures::throughputs(figure, &bars), table]
}

/// Machines and parameters, as far as the folders do not agree.
fn differences(results: &[(Way, LaidDown)]) -> Option<Block> {
    let settings = |(_, of): &(Way, LaidDown)| -> BTreeMap<String, String> {
        let both = of.recorded.machine.iter().chain(&of.recorded.parameters);
        both.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    let all: Vec<BTreeMap<String, String>> = results.iter().map(settings).collect();
    let names: BTreeSet<&String> = all.iter().flat_map(BTreeMap::keys).collect();
    let differs = |name: &&String| all.iter().any(|of| of.get(*name) != all[0].get(*name));
    let value =
        |of: &BTreeMap<String, String>, name: &str| of.get(name).map_or("–", String::as_str).to_owned();
    let row = |name: &String| {
        let values = all.iter().map(|of| Cell::words(value(of, name)));
        std::iter::once(Cell::words(name)).chain(values).collect::<Vec<_>>()
    };
    let rows: Vec<Vec<Cell>> = names.into_iter().filter(differs).map(row).collect();
    let heads = results.iter().map(|(way, _)| Cell::words(&way.name));
    (!rows.is_empty()).then(|| Block::Table {
        title: "What differs in how they were measured".to_owned(),
        note: "What is not here is the same. A dash: the folder does not say.".to_owned(),
        head: std::iter::once(Cell::words("setting")).chain(heads).collect(),
        rows,
    })
}

fn of_folder((way, of): &(Way, LaidDown)) -> Vec<Block> {
    let Surroundings { command, began, environment, .. } = &of.surroundings;
    let commit = environment["trireme_commit"].as_str();
    let commit = commit.map_or(String::new(), |commit| format!(", commit {commit}"));
    let machines = of.systems.iter().map(|placed| shown(&placed.summary.machine, placed.summary.simulated));
    let machines: Vec<String> = machines.collect::<BTreeSet<_>>().into_iter().collect();
    let heading = Block::Heading {
        title: way.name.clone(),
        href: way.href.clone(),
        text: vec![command.clone(), format!("On {}, {began}{commit}. {}", machines.join(", "), checked(of))],
    };
    let drawn = match &of.experiment {
        Some(experiment) => figures_of_sweep(of, experiment, machines.join(", ")),
        None => vec![figures_of_systems(of)],
    };
    std::iter::once(heading).chain(drawn).chain([numbers(of)]).chain(claims(&of.claims)).collect()
}

fn figures_of_systems(of: &LaidDown) -> Block {
    let systems = of.systems.iter().enumerate().take(MOST_BARS);
    let bars: Vec<(String, usize, &Summary)> =
        systems.map(|(rank, placed)| (placed.summary.system(), rank, &placed.summary)).collect();
    figures::throughputs("Throughput".to_owned(), &bars)
}

fn figures_of_sweep(of: &LaidDown, experiment: &Experiment, machine: String) -> Vec<Block> {
    let at = |place: &[String]| {
        let is_here = |placed: &&Placed| {
            let mut values = experiment.axes.iter().zip(place);
            values.all(|(axis, value)| placed.at.get(&axis.name) == Some(value))
        };
        of.systems.iter().find(is_here).map(|placed| &placed.summary)
    };
    let place = match of.is_simulated() {
        true => Place::simulated(machine, 1, String::new()),
        false => Place { machine, ..Place::hardware(1) },
    };
    let points = combinations(experiment).into_iter().map(|place| {
        let summary = at(&place);
        (place, summary)
    });
    let report = SweepReport {
        experiment,
        place: &place,
        common: BTreeMap::new(),
        surroundings: &of.surroundings,
        points: points.collect(),
        series: BTreeMap::new(),
        left_out: Vec::new(),
        idle: &[],
        claims: Vec::new(),
        trail: Vec::new(),
    };
    gallery::figures(&report, None)
}

/// What came of the checks, in a sentence.
fn checked(of: &LaidDown) -> String {
    let checks = || of.systems.iter().flat_map(|placed| &placed.summary.checks);
    let failed = checks().filter(|check| !check.passed);
    let failed: Vec<String> = failed.map(|check| format!("{}: {}", check.name, check.detail)).collect();
    match failed.is_empty() {
        true => format!("{} passed.", counted(checks().count(), "check")),
        false => format!("FAILED: {}.", failed.join("; ")),
    }
}

fn numbers(of: &LaidDown) -> Block {
    let axes = of.experiment.iter().flat_map(|experiment| &experiment.axes);
    let axes: Vec<&str> = axes.map(|axis| axis.name.as_str()).collect();
    let row = |placed: &Placed| {
        let labels: Vec<String> = match axes.is_empty() {
            true => vec![placed.summary.system()],
            false => axes.iter().map(|axis| placed.at.get(*axis).cloned().unwrap_or_default()).collect(),
        };
        labels.into_iter().map(Cell::words).chain(tables::numbers(&placed.summary)).collect()
    };
    let heads = if axes.is_empty() { vec!["system"] } else { axes.clone() };
    Block::Table {
        title: "Numbers".to_owned(),
        note: tables::SPREAD.to_owned(),
        head: heads.into_iter().map(Cell::words).chain(tables::NUMBERS.map(Cell::number)).collect(),
        rows: of.systems.iter().map(row).collect(),
    }
}

fn claims(claims: &[Judged]) -> Option<Block> {
    let row = |claim: &Judged| vec![Cell::prose(&claim.that), Cell::verdict(claim.verdict.replace('-', " "))];
    (!claims.is_empty()).then(|| Block::Table {
        title: "Claims".to_owned(),
        note: "As they were judged then.".to_owned(),
        head: ["claim", "verdict"].map(Cell::words).into(),
        rows: claims.iter().map(row).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::recorded::Recorded;
    use crate::summary::tests::some_summary;

    fn laid_down(name: &str, summary: Summary) -> (Way, LaidDown) {
        let of = LaidDown {
            folder: name.into(),
            surroundings: Surroundings::new("trireme run".to_owned(), &()),
            recorded: Recorded::default(),
            systems: vec![Placed { at: BTreeMap::new(), summary }],
            experiment: None,
            claims: Vec::new(),
            warnings: Vec::new(),
        };
        (Way::to(name, format!("{name}/report.html")), of)
    }

    /// Titles of tables, with the folders in them.
    fn tables(results: &[(Way, LaidDown)]) -> Vec<(String, Vec<String>)> {
        let table = |block| match block {
            Block::Table { title, rows, .. } => {
                Some((title, rows.iter().map(|row| row[0].text.clone()).collect()))
            }
            _ => None,
        };
        beside_each_other(results).into_iter().filter_map(table).collect()
    }

    fn named(folders: &[&str]) -> Vec<String> {
        folders.iter().map(|folder| (*folder).to_owned()).collect()
    }

    #[test]
    fn open_loops_are_not_ranked_among_closed_ones() {
        let of = |latency_of, per_s: f64| Summary { latency_of, throughput_per_s: per_s, ..some_summary() };
        let results = [
            laid_down("slow", of(LatencyOf::Service, 1e3)),
            laid_down("open", of(LatencyOf::Response, 5e3)),
            laid_down("fast", of(LatencyOf::Service, 9e3)),
        ];
        let workload = &results[0].1.systems[0].summary.workload;
        let expected = [
            (format!("Ranking over {workload}"), named(&["fast", "slow"])),
            (format!("Over {workload} at given rates"), named(&["open"])),
        ];
        assert_eq!(tables(&results), expected);
    }

    #[test]
    fn what_was_simulated_is_not_ranked_among_what_was_measured() {
        let of = |simulated, per_s: f64| Summary { simulated, throughput_per_s: per_s, ..some_summary() };
        let results = [
            laid_down("slow", of(false, 1e3)),
            laid_down("model", of(true, 5e3)),
            laid_down("fast", of(false, 9e3)),
            laid_down("other model", of(true, 4e3)),
        ];
        let workload = &results[0].1.systems[0].summary.workload;
        let expected = [
            (format!("Ranking over {workload}, on hardware"), named(&["fast", "slow"])),
            (format!("Ranking over {workload}, simulated"), named(&["model", "other model"])),
        ];
        assert_eq!(tables(&results), expected);
        assert!(tables(&results[..2]).is_empty(), "a model beside a machine is no ranking");
    }
}
