//! `reproduce`: figures of the papers, on the machines of the papers, judged claim by claim.
//!
//! A figure is an experiment below `experiments/`, the folder being the paper's name; its machine is simulated from the
//! file that describes the paper's. Points that are there already are not simulated again, so an interrupted line goes
//! on when it is typed again. Figures are simulated side by side, and so are the seeds of their points, a host core each.

use super::sweep::{Conduct, prepare};
use crate::arguments::{json, out, progress, typed};
use crate::engines::{self, Machine};
use crate::progress::Steps;
use crate::side_by_side::side_by_side;
use crate::{answer, output, shipped, surroundings, validated};
use clap::{Arg, ArgAction, ArgMatches, Command};
use harness::folder::Folder;
use harness::observer::Silent;
use harness::report::{Exhibit, SweepReport, of_gallery};
use harness::results::Surroundings;
use harness::sweep::claims::Sum;
use harness::sweep::{Cases, Conducted, Experiment, PointResult, journal};
use harness::{Event, Failure, Observer, Place};
use serde::Serialize;
use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The machine on which each paper measured, unless the figure's file says otherwise.
const PAPERS: [(&str, &str); 6] = [
    ("trireme", "haswell-ex-4x18"),
    ("orthrus", "westmere-ex-8x10"),
    ("silo", "nehalem-ex-4x8"),
    ("hardware-islands", "westmere-ex-8x10"),
    ("thousand-cores", "graphite-mesh-1024"),
    // Nobody's: ours, of what came after. 72 cores.
    ("successors", "haswell-ex-4x18"),
];

/// What is simulated of a point, unless the line says otherwise. Where many cores want one line, those that wait for it make
/// it slower, so that more come to wait, and it takes some milliseconds until that has settled.
const TIMES: [(&str, &str); 2] = [("warmup", "2ms"), ("duration", "2ms")];

/// Options of the line that take the place of the figures'.
const OPTIONS: [&str; 4] = ["repeat", "warmup", "duration", "workers"];

const EXPERIMENTS: &str = shipped::EXPERIMENTS;
const RESULTS: &str = "results/reproduce";

/// What can be typed.
pub fn arguments() -> Command {
    let named = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help)
    };
    Command::new("reproduce")
        .about("Simulate a figure of a paper on the paper's machine, and judge its claims")
        .after_help(
            "Exits with 0 if the figures were drawn, whatever became of their claims. What is simulated is judged with the \
             error of the model, of machines/validated.json.\n\nA figure takes minutes of processor time: with --repeat 3 --warmup 500us \
             --duration 1ms thousand-cores/fig-6 took 102 s and thousand-cores/fig-7b 521 s; those of orthrus take some \
             minutes each, too. Points are simulated side by side, a host core each, and a line that was interrupted goes on when it \
             is typed again.",
        )
        .arg(
            Arg::new("figure")
                .value_name("FIGURE")
                .help("Such as trireme/fig-2a, or a paper's name for all of its figures"),
        )
        .arg(
            Arg::new("all")
                .long("all")
                .action(ArgAction::SetTrue)
                .conflicts_with("figure")
                .help("Every figure of every paper"),
        )
        .arg(named(
            "on",
            "MACHINE",
            "The file of a simulated machine, or 'hardware' [default: the paper's machine]",
        ))
        .arg(named(
            "repeat",
            "N",
            "Seeds of each point; the median is reported. With 1 no claim can be told, for one seed has no spread: claims want 3 \
             [default: 3]",
        ))
        .arg(named("warmup", "TIME", "Simulated before each counted interval [default: 2ms]"))
        .arg(named("duration", "TIME", "Simulated and counted, of each seed [default: 2ms]"))
        .arg(named("workers", "N", "Of all points, in place of the figure's; not of a figure that sweeps them [default: the figure's]"))
        .arg(out("Folder of the results [default: results/reproduce]").global(false))
        .arg(progress())
        .arg(json())
}

/// Reproduces.
pub fn reproduce(matches: &ArgMatches, line: &str) -> Result<ExitCode, Failure> {
    let on = typed(matches, "on").map(|on| Machine::named(Some(on))).transpose()?;
    let figures = figures(matches)?;
    let folder = PathBuf::from(typed(matches, "out").unwrap_or(RESULTS));
    let mut prepared = Vec::new();
    for figure in &figures {
        let machine = on.map_or_else(|| machine_of(figure), Ok)?;
        let (experiment, cases) = prepare(Path::new(&figure.file), machine, &options(matches, machine))?;
        let (place, folder) = (machine.place(), folder.join(&figure.name));
        prepared.push(Prepared { figure, machine, place, experiment, cases, folder });
    }
    let surroundings = surroundings::of_line(line);
    let surroundings = validated::beside(surroundings, prepared.iter().map(|one| one.machine));
    let conducted = simulate_all(&prepared, &surroundings, matches)?;
    let conducted = told_again(&prepared, conducted, &surroundings)?;
    let gallery = Folder::create(&folder)?;
    gallery.write("index.html", &page(&prepared, &conducted, &surroundings))?;

    let sum = Sum::of(conducted.iter().flat_map(|figure| &figure.claims));
    if matches.get_flag("json") {
        output::print_json(&Reproduction { schema: SCHEMA, sum, figures: &conducted })?;
    } else {
        for (one, conducted) in prepared.iter().zip(&conducted) {
            output::print(&answer::of_figure(&one.figure.name, &one.place, conducted, &one.folder))?;
        }
        output::print(&answer::of_sum(&sum))?;
        output::print(&format!("gallery: {}\n", folder.join("index.html").display()))?;
    }
    let checks = conducted.iter().flat_map(|figure| &figure.points).flat_map(|point| &point.summary.checks);
    Ok(super::verdict(checks.into_iter().all(|check| check.passed)))
}

/// Name and version of [`Reproduction`]'s fields.
const SCHEMA: &str = "trireme.reproduction/1";

/// What `reproduce --json` prints.
#[derive(Serialize)]
struct Reproduction<'a> {
    schema: &'static str,
    /// The claims of all figures by standing and verdict.
    sum: Sum,
    figures: &'a [Conducted],
}

/// What was typed, and how long a simulation takes if nothing was.
fn options(matches: &ArgMatches, machine: Machine) -> Vec<(&'static str, &str)> {
    let simulated = matches!(machine, Machine::Simulated(_));
    let default = |name| TIMES.iter().find(|(other, _)| simulated && *other == name).map(|(_, time)| *time);
    let value = |name| Some((name, typed(matches, name).or_else(|| default(name))?));
    OPTIONS.into_iter().filter_map(value).collect()
}

/// The gallery.
fn page(figures: &[Prepared<'_>], conducted: &[Conducted], surroundings: &Surroundings) -> String {
    let commons: Vec<_> = figures.iter().map(|figure| figure.cases.common()).collect();
    let all = figures.iter().zip(conducted).zip(&commons);
    let exhibits: Vec<Exhibit<'_>> =
        all.map(|((figure, conducted), common)| figure.exhibit(conducted, common, surroundings)).collect();
    of_gallery(&exhibits, surroundings)
}

impl Prepared<'_> {
    fn exhibit<'a>(
        &'a self,
        conducted: &'a Conducted,
        common: &'a BTreeMap<String, String>,
        surroundings: &'a Surroundings,
    ) -> Exhibit<'a> {
        let axes = &self.experiment.axes;
        let finished = |at: &[String]| {
            let is_here = |point: &&PointResult| {
                axes.iter().zip(at).all(|(axis, value)| point.at[&axis.name] == *value)
            };
            conducted.points.iter().find(is_here).map(|point| &point.summary)
        };
        Exhibit {
            name: self.figure.name.clone(),
            fitted: fitted(self.machine),
            report: SweepReport {
                experiment: &self.experiment,
                place: &self.place,
                common,
                surroundings,
                points: self.cases.cases.iter().map(|case| (case.at.clone(), finished(&case.at))).collect(),
                left_out: conducted.left_out.clone(),
                idle: &self.cases.idle,
                claims: &conducted.claims,
            },
        }
    }
}

/// Which of a machine's numbers are not the literature's.
fn fitted(machine: Machine) -> String {
    let Machine::Simulated(description) = machine else { return String::new() };
    let fitted: Vec<String> =
        description.fitted.iter().map(|fitted| format!("{}, on {}", fitted.field, fitted.figure)).collect();
    match fitted.is_empty() {
        true => format!("Machine {}: nothing of it is fitted.", description.name),
        false => format!("Machine {}: fitted: {}; nothing else.", description.name, fitted.join("; ")),
    }
}

/// A figure of a paper.
struct Figure {
    /// `trireme/fig-2a`.
    name: String,
    paper: String,
    file: PathBuf,
}

/// A figure, ready to be simulated.
struct Prepared<'a> {
    figure: &'a Figure,
    machine: Machine,
    place: Place,
    experiment: Experiment,
    cases: Cases,
    folder: PathBuf,
}

/// The figures that are asked for.
fn figures(matches: &ArgMatches) -> Result<Vec<Figure>, Failure> {
    let (all, asked) = (all_figures(), typed(matches, "figure"));
    let Some(asked) = asked else {
        return match matches.get_flag("all") {
            true => Ok(all),
            false => Err(refuse("'trireme reproduce' needs a figure, or --all", "", &all)),
        };
    };
    let is_asked = |figure: &&Figure| figure.name == asked || figure.paper == asked;
    match all.iter().any(|figure| is_asked(&figure)) {
        true => Ok(all.into_iter().filter(|figure| is_asked(&figure)).collect()),
        false => Err(refuse(&format!("figure {asked} is not there"), asked, &all)),
    }
}

/// Names what is there: the figures of the paper that is asked for, or all.
fn refuse(what: &str, asked: &str, all: &[Figure]) -> Failure {
    let is_of_paper = |figure: &&Figure| asked.split('/').next() == Some(&figure.paper);
    let mut near: Vec<&str> = all.iter().filter(is_of_paper).map(|figure| figure.name.as_str()).collect();
    if near.is_empty() {
        near = all.iter().map(|figure| figure.name.as_str()).collect();
    }
    let mut papers: Vec<&str> = all.iter().map(|figure| figure.paper.as_str()).collect();
    papers.dedup();
    Failure::Usage(format!(
        "{what}; allowed: those {}: {}; or all of a paper: {}",
        looked_for_in(),
        near.join(", "),
        papers.join(", ")
    ))
}

/// Where the experiments are, as a person finds them.
fn looked_for_in() -> String {
    match Path::new(EXPERIMENTS).is_dir() {
        true => format!("in {}", env::current_dir().unwrap_or_default().join(EXPERIMENTS).display()),
        false => "that travel inside the program".to_owned(),
    }
}

/// The name by which a file's figure is reproduced, if a paper has it.
pub fn name_of(file: &Path) -> Option<String> {
    let mut parts = file.strip_prefix(EXPERIMENTS).ok()?.components();
    let paper = parts.next()?.as_os_str().to_str()?;
    PAPERS.iter().find(|(name, _)| *name == paper)?;
    Some(format!("{paper}/{}", file.file_stem()?.to_str()?))
}

/// The line that reproduces the figure of `file`, if a paper has it, and its machine.
pub fn elsewhere(file: &Path) -> Option<(String, Machine)> {
    let file = file.canonicalize().ok()?;
    let is_it = |figure: &Figure| figure.file.canonicalize().is_ok_and(|known| known == file);
    let figure = all_figures().into_iter().find(is_it)?;
    Some((format!("trireme reproduce {}", figure.name), machine_of(&figure).ok()?))
}

/// Every experiment below a paper's folder, in the order of names.
fn all_figures() -> Vec<Figure> {
    let mut figures = Vec::new();
    for (paper, _) in PAPERS {
        let of_paper = Path::new(EXPERIMENTS).join(paper);
        let files = shipped::files_below(EXPERIMENTS, "toml");
        for file in files.into_iter().filter(|file| file.parent() == Some(&of_paper)) {
            let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            figures.push(Figure { name: format!("{paper}/{stem}"), paper: paper.to_owned(), file });
        }
    }
    figures.sort_by(|one, other| one.name.cmp(&other.name));
    figures
}

fn machine_of(figure: &Figure) -> Result<Machine, Failure> {
    // How many cores there are no name depends on.
    let of_figure = shipped::experiment(&figure.file, 1)?.papers_machine;
    let of_paper = PAPERS.iter().find(|(paper, _)| *paper == figure.paper);
    let (_, of_paper) = of_paper.expect("figures are looked for there");
    let name = of_figure.as_deref().unwrap_or(of_paper);
    Machine::named(Some(&format!("machines/{name}.toml")))
}

/// Simulates the figures, as many at a time as there are cores; on the hardware one after the other.
fn simulate_all(
    figures: &[Prepared<'_>],
    surroundings: &Surroundings,
    matches: &ArgMatches,
) -> Result<Vec<Conducted>, Failure> {
    let points = figures.iter().map(|one| one.cases.cases.len()).sum();
    let alone = figures.iter().any(|figure| matches!(figure.machine, Machine::Hardware));
    let threads = if alone { 1 } else { engines::cores() };
    let steps = Steps::of(points, "points", matches);
    let simulate = |figure: &Prepared<'_>| {
        let points = Points { figure: &figure.figure.name, steps: &steps, begun: AtomicUsize::new(0) };
        simulate(figure, surroundings, &points)
    };
    side_by_side(figures.len(), threads, |number| simulate(&figures[number])).into_iter().collect()
}

/// Figures that are compared with others are told once more, when the others are there: nothing is simulated again.
fn told_again(
    figures: &[Prepared<'_>],
    conducted: Vec<Conducted>,
    surroundings: &Surroundings,
) -> Result<Vec<Conducted>, Failure> {
    let again = |(figure, conducted): (&Prepared<'_>, Conducted)| match figure
        .experiment
        .claims
        .iter()
        .any(|claim| claim.needs().is_some())
    {
        true => simulate(figure, surroundings, &Silent),
        false => Ok(conducted),
    };
    figures.iter().zip(conducted).map(again).collect()
}

fn simulate(
    figure: &Prepared<'_>,
    surroundings: &Surroundings,
    observer: &dyn Observer,
) -> Result<Conducted, Failure> {
    let folder = Folder::create_to_go_on(&figure.folder, journal::FILE_NAME)?;
    figure.machine.run(Conduct {
        experiment: &figure.experiment,
        cases: &figure.cases,
        folder: &folder,
        surroundings,
        place: &figure.place,
        observer,
    })
}

/// Tells of a figure's points.
struct Points<'a> {
    figure: &'a str,
    steps: &'a Steps,
    /// Those that have begun and not ended.
    begun: AtomicUsize,
}

impl Observer for Points<'_> {
    fn tell(&self, event: Event<'_>) {
        let Points { figure, steps, begun } = self;
        match event {
            Event::PointBegins { number, of, place } => {
                // Relaxed: a counter; a figure's events come one after the other.
                begun.fetch_add(1, Ordering::Relaxed);
                steps.begin(&format!("{figure}, point {number} of {of}: {place}"));
            }
            Event::MeasureEnds => steps.end(begun.swap(0, Ordering::Relaxed), figure),
            Event::Note(text) => steps.note(&format!("{figure}: {text}")),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn every_paper_has_a_machine() {
        for (paper, machine) in PAPERS {
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../machines/{machine}.toml"));
            let text =
                fs::read_to_string(&file).unwrap_or_else(|error| panic!("{paper}: {machine}: {error}"));
            machine::simulated::Description::parse(&text)
                .unwrap_or_else(|error| panic!("{machine}: {error}"));
        }
    }
}
