//! A paper's page: every figure of it, each with its throughput and its claims, and the way to its own report. Of one that was not measured yet,
//! what is asked of it, and the line that measures it.

use super::page::{Block, Page, Way};
use super::sweep::{Arrangement, SweepReport, THROUGHPUT, figure, where_time_goes};
use super::{claims, laid_down, render, unmeasured};
use crate::results::Surroundings;
use crate::sweep::claims::Told;
use crate::text::numbers::counted;

/// One figure of the gallery.
pub struct Exhibit<'a> {
    /// Its name, `trireme/fig-2a`.
    pub name: String,
    /// What its own report is made from.
    pub report: SweepReport<'a>,
    /// What of its machine was fitted, and on which figure; in words.
    pub fitted: String,
    /// The line that measures what is missing of it.
    pub line: String,
}

/// A paper's page among those of the others.
pub fn of_paper(
    title: &str,
    exhibits: &[Exhibit<'_>],
    surroundings: &Surroundings,
    trail: Vec<Way>,
) -> String {
    let measured = || exhibits.iter().filter(|exhibit| exhibit.is_measured());
    let all: Vec<(&str, &Told)> = measured()
        .flat_map(|exhibit| exhibit.report.claims.iter().map(|claim| (exhibit.name.as_str(), claim)))
        .collect();
    let simulated = measured().any(|exhibit| exhibit.report.place.simulated);
    let missing = match exhibits.len() - measured().count() {
        0 => String::new(),
        all if all == exhibits.len() => " None of them was measured yet.".to_owned(),
        some => format!(" Not measured yet: {}.", counted(some, "figure")),
    };
    let error = simulated.then(|| claims::model_error(surroundings));
    let numbers = claims::numbers(all.iter().copied());
    let figures = exhibits.iter().flat_map(|exhibit| blocks(exhibit, exhibits));
    render(&Page {
        trail,
        title: title.to_owned(),
        command: surroundings.command.clone(),
        lead: format!(
            "{}, each beside what the paper says of it.{missing}",
            counted(exhibits.len(), "figure")
        ),
        finding: claims::finding(all.iter().map(|(_, claim)| *claim)),
        claim: None,
        simulated,
        warnings: Vec::new(),
        blocks: error.into_iter().chain(numbers).chain(figures).collect(),
        footer: laid_down(surroundings),
    })
}

fn blocks(exhibit: &Exhibit<'_>, all: &[Exhibit<'_>]) -> Vec<Block> {
    let report = &exhibit.report;
    let experiment = report.experiment;
    let (there, missing): (Vec<_>, Vec<_>) = experiment
        .beside
        .iter()
        .map(|name| exhibit.beside(name))
        .map(|name| all.iter().find(|other| other.name == name && other.is_measured()).ok_or(name))
        .partition(Result::is_ok);
    let elsewhere = |name: String| {
        let other = all.iter().find(|other| other.name == name);
        let line = other.map_or_else(|| format!("trireme reproduce {name}"), |other| other.line.clone());
        format!("Beside it stands {name}: {line} simulates it.")
    };
    let not_yet = match exhibit.is_measured() {
        true => String::new(),
        false => format!("Not measured yet: {} measures it.", exhibit.line),
    };
    let claim = experiment.claim.as_deref().unwrap_or_default().trim().to_owned();
    let text = [claim, exhibit.fitted.clone(), not_yet];
    let missing = missing.into_iter().filter_map(Result::err).map(elsewhere);
    let heading = Block::Heading {
        title: format!("{}: {}", exhibit.name, experiment.title),
        href: format!("{}/report.html", exhibit.in_paper()),
        text: text.into_iter().filter(|text| !text.is_empty()).chain(missing).collect(),
    };
    if !exhibit.is_measured() {
        return std::iter::once(heading).chain(unmeasured::table(report)).collect();
    }
    let beside = there.into_iter().flatten().flat_map(|other| figures(&other.report, Some(&other.name)));
    let told = (!report.claims.is_empty()).then(|| claims::table(&report.claims));
    std::iter::once(heading).chain(figures(report, None)).chain(beside).chain(told).collect()
}

/// Its throughput, panel by panel, and where the time goes if the experiment says at which point the paper asks; `name` is written before
/// each where it stands at another one's place.
pub(super) fn figures(report: &SweepReport<'_>, name: Option<&str>) -> Vec<Block> {
    let layout = Arrangement::of(report.experiment);
    let panels = layout.panels(report);
    let named = |block| match (block, name) {
        (Block::Figure { title, note, legend, svg }, Some(name)) => {
            Block::Figure { title: format!("Beside it, {name}: {title}"), note, legend, svg }
        }
        (block, _) => block,
    };
    let time = |panel: &[String]| match report.experiment.time_at {
        Some(_) => where_time_goes(report, &layout, panel),
        None => Vec::new(),
    };
    let both =
        |panel: &Vec<String>| figure(report, &layout, panel, &THROUGHPUT).into_iter().chain(time(panel));
    panels.iter().flat_map(both).map(named).collect()
}

impl Exhibit<'_> {
    fn is_measured(&self) -> bool {
        self.report.points.iter().any(|(_, summary)| summary.is_some())
    }

    /// Its name without the paper's: the folder of its own report, seen from the paper's page.
    fn in_paper(&self) -> &str {
        self.name.rsplit_once('/').map_or(self.name.as_str(), |(_, name)| name)
    }

    /// The name of an experiment of the same paper.
    fn beside(&self, other: &str) -> String {
        match self.name.rsplit_once('/') {
            Some((paper, _)) => format!("{paper}/{other}"),
            None => other.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::Place;
    use crate::summary::tests::some_summary;
    use crate::sweep::claims::{Figure, Known, Trust, tell};
    use crate::sweep::{Experiment, combinations};
    use std::collections::BTreeMap;

    #[test]
    fn a_figure_is_shown_with_what_stands_beside_it() {
        let parse = |path: &str, text: &str| Experiment::parse(path, text, 4).expect("an experiment");
        let claims = "[[claims]]\nthat = 'so'\nsays = 'thus'\nsection = '1'\nleft = {}\nmeasure = 'throughput'\nabout = 1";
        let fig = parse(
            "fig.toml",
            &format!("workload = 'micro'\nbeside = ['latches']\n[axes]\nworkers = [1, 2]\n{claims}"),
        );
        let latches = parse(
            "latches.toml",
            "workload = 'micro'\n[axes]\nworkers = [1, 2]\nlatch = ['a', 'b']\nprotocol = ['silo']",
        );
        let (summary, place, common) = (
            some_summary(),
            Place::simulated("m".to_owned(), 4, String::new()),
            BTreeMap::<String, String>::new(),
        );
        let surroundings = Surroundings::new("trireme reproduce".to_owned(), &());
        let told = tell(&Figure::new(&fig, |_| Known::NotYet), &[], Trust::Measured);
        let exhibit = |experiment, claims| Exhibit {
            name: format!("p/{}", Experiment::clone(experiment).name),
            fitted: String::new(),
            line: String::new(),
            report: SweepReport {
                experiment,
                place: &place,
                common: common.clone(),
                surroundings: &surroundings,
                points: combinations(experiment).into_iter().map(|at| (at, Some(&summary))).collect(),
                series: BTreeMap::new(),
                left_out: Vec::new(),
                idle: &[],
                claims,
                trail: Vec::new(),
            },
        };
        let page = |exhibits: &[Exhibit<'_>]| {
            of_paper("A paper", exhibits, &surroundings, vec![Way::to("All papers", "../index.html")])
        };
        // One that was not measured yet is asked for, and nothing of it is judged.
        let mut waits = exhibit(&fig, told.clone());
        waits.line = "trireme reproduce p/fig".to_owned();
        waits.report.points.iter_mut().for_each(|(_, summary)| *summary = None);
        let nothing = page(&[waits]);
        for words in [
            "1 figure, each beside what the paper says of it. None of them was measured yet.",
            "Not measured yet: trireme reproduce p&#x2f;fig measures it.",
            "<td class=\"verdict\">not measured yet</td>",
        ] {
            assert!(nothing.contains(words), "{words}: {nothing}");
        }
        assert!(!nothing.contains("cannot be told") && !nothing.contains("class=\"simulated\""), "{nothing}");
        let alone = page(&[exhibit(&fig, told.clone())]);
        assert!(alone.contains("Beside it stands p&#x2f;latches"));
        let both = page(&[exhibit(&fig, told), exhibit(&latches, Vec::new())]);
        assert!(both.contains("Trireme / <a href=\"..&#x2f;index.html\">All papers</a>"));
        assert!(both.contains("<a href=\"latches&#x2f;report.html\">p&#x2f;latches"));
        for words in [
            "<h2>Beside it, p&#x2f;latches: Throughput: latch a",
            "<h2>Beside it, p&#x2f;latches: Throughput: latch b",
            "<h2>The model&#x27;s error",
            "Of 1 claim: 1 cannot be told.",
            "1: \u{201c}thus\u{201d}",
        ] {
            assert!(both.contains(words), "{words}");
        }
    }
}
