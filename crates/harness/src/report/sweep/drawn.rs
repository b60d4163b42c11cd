//! Which lines a figure has: no more than there are styles, or else the first and the ninth would look alike.

use super::{Arrangement, SweepReport, pick};
use crate::svg::SERIES;

/// Lines of a panel.
pub(in crate::report) struct Drawn {
    /// Their values on the axes that tell lines apart, in the order of the points.
    pub(in crate::report) series: Vec<Vec<String>>,
    /// Which others are not drawn, as a sentence behind a blank; empty if all are.
    pub(in crate::report) others: String,
}

impl Arrangement {
    /// The lines of a panel's figures: all, or where there are more than have a style of their own, those with the most throughput at their right ends. They are the same in all of its
    /// figures, so that a system looks the same in each.
    pub(in crate::report) fn drawn(&self, report: &SweepReport<'_>, panel: &[String]) -> Drawn {
        let series = self.series(report);
        if series.len() <= SERIES {
            return Drawn { series, others: String::new() };
        }
        let right_end = |line: &Vec<String>| {
            let of_line =
                report.points.iter().rev().filter(|(place, _)| {
                    pick(place, &self.panels) == panel && pick(place, &self.lines) == *line
                });
            let last = of_line.filter_map(|(_, summary)| *summary).next();
            last.map_or(-1.0, |summary| summary.throughput_per_s)
        };
        let mut ranked: Vec<(usize, f64)> = series.iter().map(right_end).enumerate().collect();
        // A stable sort: of equal ones the first.
        ranked.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        ranked.truncate(SERIES);
        let is_best = |number: usize| ranked.iter().any(|(best, _)| *best == number);
        let (best, others): (Vec<_>, Vec<_>) =
            series.into_iter().enumerate().partition(|(number, _)| is_best(*number));
        let names: Vec<String> = others.iter().map(|(_, name)| name.join(" ")).collect();
        let others = format!(
            " Of {} lines the {SERIES} with the most throughput at the right end; in samples.csv and the table of points are the others, too: {}.",
            best.len() + names.len(),
            names.join(", ")
        );
        Drawn { series: best.into_iter().map(|(_, name)| name).collect(), others }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{THROUGHPUT, figure};
    use super::*;
    use crate::report::page::Block;
    use crate::results::Surroundings;
    use crate::subject::Place;
    use crate::summary::Summary;
    use crate::summary::tests::some_summary;
    use crate::sweep::{Experiment, combinations};
    use std::collections::{BTreeMap, BTreeSet};

    /// The k-th of twelve systems has k times the throughput at the right end, and all have as much at the left one.
    #[test]
    fn more_lines_than_styles_are_those_that_are_best_at_the_right_end() {
        let latches: Vec<String> = (1..=12).map(|number| format!("'l{number:02}'")).collect();
        let text = format!(
            "workload = 'micro'\nx = 'workers'\n[axes]\nlatch = [{}]\nworkers = [1, 2]",
            latches.join(", ")
        );
        let experiment = Experiment::parse("e.toml", &text, 4).expect("an experiment");
        let throughput = |place: &[String]| match place[1].as_str() {
            "2" => 100.0 * place[0][1..].parse::<f64>().expect("a number"),
            _ => 5000.0,
        };
        let summaries: Vec<(Vec<String>, Summary)> = combinations(&experiment)
            .into_iter()
            .map(|place| {
                let summary = Summary { throughput_per_s: throughput(&place), ..some_summary() };
                (place, summary)
            })
            .collect();
        let surroundings = Surroundings::new("trireme sweep e.toml".to_owned(), &());
        let report = SweepReport {
            experiment: &experiment,
            place: &Place::hardware(2),
            common: BTreeMap::new(),
            surroundings: &surroundings,
            points: summaries.iter().map(|(place, summary)| (place.clone(), Some(summary))).collect(),
            series: BTreeMap::new(),
            left_out: Vec::new(),
            idle: &[],
            claims: Vec::new(),
            trail: Vec::new(),
        };
        let layout = Arrangement::of(&experiment);
        let Some(Block::Figure { legend, note, .. }) = figure(&report, &layout, &[], &THROUGHPUT) else {
            panic!("a figure")
        };
        let names: Vec<&str> = legend.iter().map(|key| key.name.as_str()).collect();
        assert_eq!(names, ["l05", "l06", "l07", "l08", "l09", "l10", "l11", "l12"]);
        assert!(
            note.contains("Of 12 lines the 8 with") && note.ends_with("too: l01, l02, l03, l04."),
            "{note}"
        );
        let marks: BTreeSet<&str> = legend.iter().map(|key| key.mark.as_str()).collect();
        assert_eq!(marks.len(), 8, "each has a style of its own");
    }
}
