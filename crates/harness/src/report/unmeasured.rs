//! The page of a figure that was not measured yet: what is claimed of it, in the paper's words and numbers, and the line that measures it. It has
//! no verdict, for there is nothing to judge by.

use super::page::{Block, Cell, Page};
use super::sweep::{SweepReport, claim};
use super::{claims, facts, laid_down, render};
use crate::sweep::claims::{Claim, Standing, Told};
use crate::text::numbers::counted;

/// What stands in a verdict's place.
pub(super) const NOT_YET: &str = "not measured yet";

/// How a figure comes to be measured.
pub struct Waiting {
    /// The line that measures it, and lays its page down again.
    pub line: String,
    /// About how long that takes here, in words.
    pub takes: String,
}

/// The page.
pub fn of_unmeasured(report: &SweepReport<'_>, waiting: &Waiting) -> String {
    let experiment = report.experiment;
    let axes = experiment.axes.iter().map(|axis| (axis.name.clone(), axis.values.join(", "))).collect();
    let axes = Block::Facts { title: "Its points: all combinations of".to_owned(), facts: axes };
    let title = "Parameters, the same at all points";
    let settings = facts::settings(title, &experiment.workload.value, &report.common);
    render(&Page {
        trail: report.trail.clone(),
        title: experiment.title.clone(),
        command: waiting.line.clone(),
        lead: format!(
            "Not measured yet. This line measures {} over {} on {}, in {}, and draws them here:",
            counted(report.points.len(), "point"),
            experiment.workload.value,
            report.place.shown(),
            waiting.takes
        ),
        finding: Vec::new(),
        claim: claim(experiment),
        simulated: false,
        warnings: Vec::new(),
        blocks: table(report).into_iter().chain([axes, settings]).collect(),
        footer: laid_down(report.surroundings),
    })
}

/// Its claims, none of them judged; `None` if it has none.
pub(super) fn table(report: &SweepReport<'_>) -> Option<Block> {
    let rows: Vec<Vec<Cell>> =
        report.experiment.claims.iter().zip(&report.claims).map(|(claim, told)| row(claim, told)).collect();
    (!rows.is_empty()).then(|| Block::Table {
        title: "Claims, not judged yet".to_owned(),
        note: "Below each claim the paper's own words. What is asked of the points, left over right or of one side alone; the number, \
               if the paper's text gives one; and what the experiment's author makes of what came out for him."
            .to_owned(),
        head: ["claim", "verdict", "measure", "asked"].map(Cell::words).into(),
        rows,
    })
}

fn row(claim: &Claim, told: &Told) -> Vec<Cell> {
    let standing = match &told.standing {
        Standing::Paper => String::new(),
        other => other.to_string(),
    };
    vec![
        Cell::prose(&told.that).noted(told.source().unwrap_or_default()),
        Cell::verdict(NOT_YET).noted(standing),
        Cell::words(told.measure.to_string()),
        Cell::prose(asked(claim, told)),
    ]
}

fn asked(claim: &Claim, told: &Told) -> String {
    let workers = told.about_workers.map(|workers| format!(", of {}", counted(workers, "worker")));
    let number =
        told.paper_number.map(|number| format!(". The paper's number: {}", claims::shown(told, number)));
    let fitted = match &told.standing {
        Standing::Fitted(why) => Some(format!(". Used for fitting, and not counted: {why}")),
        _ => None,
    };
    let explanation =
        claim.explanation().map(|text| format!(". Explanation of what came out for its author: {text}"));
    let rest = [workers, number, fitted, explanation].into_iter().flatten();
    [told.claimed.clone()].into_iter().chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Surroundings;
    use crate::subject::Place;
    use crate::sweep::claims::{Figure, Known, Trust, Verdict, tell};
    use crate::sweep::{Experiment, combinations};
    use std::collections::BTreeMap;

    #[test]
    fn what_was_not_measured_is_asked_for_and_not_judged() {
        let text = "title = 'Two <lines>'\nworkload = 'micro'\n[axes]\nworkers = [1, 72]\n[[claims]]\nthat = 'so'\nsection = '1'\nsays = 'by 7'\n\
                    left = { workers = 72 }\nright = { workers = 1 }\nmeasure = 'throughput'\nabout = 7\nabout_workers = 72\nexplanation = 'It is so.'";
        let experiment = Experiment::parse("e.toml", text, 72).expect("an experiment");
        let (place, surroundings) =
            (Place::simulated("m".to_owned(), 72, String::new()), Surroundings::new("all".to_owned(), &()));
        let report = SweepReport {
            experiment: &experiment,
            place: &place,
            common: BTreeMap::new(),
            surroundings: &surroundings,
            points: combinations(&experiment).into_iter().map(|at| (at, None)).collect(),
            series: BTreeMap::new(),
            left_out: Vec::new(),
            idle: &[],
            claims: tell(&Figure::new(&experiment, |_| Known::NotYet), &[], Trust::Measured),
            trail: Vec::new(),
        };
        let waiting = Waiting { line: "trireme reproduce p/e".to_owned(), takes: "a minute".to_owned() };
        let html = of_unmeasured(&report, &waiting);
        for words in [
            "<h1>Two &lt;lines&gt;</h1>",
            "Not measured yet. This line measures 2 points over micro on m (simulated), in a minute, and draws them here:",
            "<code>trireme reproduce p/e</code>",
            "1: \u{201c}by 7\u{201d}",
            "<td class=\"verdict\">not measured yet</td>",
            "about 7, within 25 %, of 72 workers. The paper&#x27;s number: 7.00. Explanation of what came out for its author: It is so.",
            "<dt>workers</dt><dd>1, 72</dd>",
            "<footer>Laid down ",
        ] {
            assert!(html.contains(words), "{words}: {html}");
        }
        for verdict in Verdict::ALL {
            assert!(!html.contains(&format!("<td class=\"verdict\">{verdict}")), "{verdict}");
        }
    }
}
