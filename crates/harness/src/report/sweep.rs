//! The report of `sweep`: a panel of figures for every combination of the axes that are not plotted, where the time goes, and tables of all points.
//!
//! How the axes lie is in `sweep/arrangement.rs`, the figures are in `sweep/plots.rs`, and which lines one has in `sweep/drawn.rs`.

mod arrangement;
pub(super) mod drawn;
mod plots;

pub(super) use arrangement::{Arrangement, panel_name, pick};
pub(super) use plots::{THROUGHPUT, figure};

use super::page::{Block, Cell, Claim, Page, Way};
use super::{claims, curve, facts, figures, footer, render, series, tables};
use crate::results::Surroundings;
use crate::subject::Place;
use crate::summary::{Summary, Unmeasured, noise};
use crate::sweep::claims::Told;
use crate::sweep::{Experiment, named, taken, warnings};
use crate::text::numbers::short;
use plots::MEASURES;
use std::collections::BTreeMap;

/// What a sweep's report is made from.
pub struct SweepReport<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// Where it was measured.
    pub place: &'a Place,
    /// The settings that are the same at all points.
    pub common: BTreeMap<String, String>,
    /// What stands around the numbers.
    pub surroundings: &'a Surroundings,
    /// All points, in the order of the axes: values by axis, and the numbers if the point is finished.
    pub points: Vec<(Vec<String>, Option<&'a Summary>)>,
    /// Where the series of the points lie that were counted by slices, seen from the page, by their values by axis.
    pub series: BTreeMap<Vec<String>, String>,
    /// The pairs that the engine does not have, or that do not fit the options of some point.
    pub left_out: Vec<Unmeasured>,
    /// Choices that decide nothing ([`crate::measure::idle`]).
    pub idle: &'a [String],
    /// The claims, by what is known so far.
    pub claims: Vec<Told>,
    /// The pages above the report, the topmost first; none if it stands alone.
    pub trail: Vec<Way>,
}

/// The page.
pub fn of_sweep(report: &SweepReport<'_>) -> String {
    let layout = Arrangement::of(report.experiment);
    let mut blocks = Vec::new();
    if !report.claims.is_empty() {
        blocks.push(claims::table(&report.claims));
        blocks.extend(report.place.simulated.then(|| claims::model_error(report.surroundings)));
        blocks.extend(claims::numbers(report.claims.iter().map(|claim| ("", claim))));
    }
    for panel in layout.panels(report) {
        blocks.extend(curve::of_rates(report, &layout, &panel));
        for measure in MEASURES.iter().filter(|measure| measure.is_shown(&report.claims)) {
            blocks.extend(figure(report, &layout, &panel, measure));
        }
        blocks.extend(where_time_goes(report, &layout, &panel));
    }
    blocks.push(table(report));
    blocks.extend(chosen_threads(report));
    blocks.extend(instances(report));
    let named = named(report.experiment, finished_points(report));
    blocks.extend((!named.is_empty()).then(|| tables::checks_of_all("points", &named)));
    if !report.left_out.is_empty() {
        blocks.push(tables::unmeasured("Left out", &report.left_out));
    }
    blocks.push(facts::settings(
        "Parameters, the same at all points",
        &report.experiment.workload.value,
        &report.common,
    ));
    blocks.push(facts::environment(&report.surroundings.environment, report.place.simulated));
    let noise = noise::verdict(finished(report));
    render(&Page {
        trail: report.trail.clone(),
        title: report.experiment.title.clone(),
        command: report.surroundings.command.clone(),
        lead: lead(report),
        finding: claims::finding(&report.claims).into_iter().chain(noise).collect(),
        claim: claim(report.experiment),
        simulated: report.place.simulated,
        warnings: warnings(report.experiment, report.idle, finished_points(report)),
        blocks,
        footer: footer(report.surroundings, report.place.simulated),
    })
}

/// A paper may be named without a claim.
pub(super) fn claim(experiment: &Experiment) -> Option<Claim> {
    let Experiment { paper, claim, .. } = experiment;
    (paper.is_some() || claim.is_some())
        .then(|| Claim { paper: paper.clone(), text: claim.as_ref().map(|text| text.trim().to_owned()) })
}

/// The finished points, each with its values by axis.
fn finished_points<'r, 'a>(
    report: &'r SweepReport<'a>,
) -> impl Iterator<Item = (&'r Vec<String>, &'a Summary)> {
    report.points.iter().filter_map(|(at, summary)| Some((at, (*summary)?)))
}

fn finished<'a>(report: &SweepReport<'a>) -> Vec<&'a Summary> {
    report.points.iter().filter_map(|(_, summary)| *summary).collect()
}

fn lead(report: &SweepReport<'_>) -> String {
    let summaries = finished(report);
    let finished = summaries.len();
    let taken = taken(summaries.into_iter(), report.place);
    let (all, workload, machine) =
        (report.points.len(), &report.experiment.workload.value, report.place.shown());
    let points = format!("{finished} of {all} points over {workload} on {machine}");
    let common = |name: &str| report.common.get(name);
    match (common("repeat"), common("duration"), common("warmup")) {
        (Some(repeat), Some(duration), Some(warmup)) => {
            let repetitions = match repeat.as_str() {
                "1" => "one repetition".to_owned(),
                _ => format!("the median of {repeat} repetitions"),
            };
            format!("{points}; {repetitions} of {duration} after {warmup} of warm-up. {taken}")
        }
        _ => format!("{points}. {taken}"),
    }
}

/// Where the time of each line goes, and that of its threads, if it has such, at one value of the plotted axis: the one that the experiment
/// names, if it has a finished point there, else the last that has one. Nothing if nothing was sampled.
pub(super) fn where_time_goes(
    report: &SweepReport<'_>,
    layout: &Arrangement,
    panel: &[String],
) -> Vec<Block> {
    let axis = layout.x.map(|axis| (axis, &report.experiment.axes[axis]));
    let of_panel = |place: &[String]| pick(place, &layout.panels) == panel;
    let finished: Vec<(&Vec<String>, &Summary)> = report
        .points
        .iter()
        .filter_map(|(place, summary)| Some((place, (*summary)?)))
        .filter(|(place, summary)| of_panel(place) && summary.time_samples > 0)
        .collect();
    let has_point =
        |value: &&String| axis.is_none_or(|(x, _)| finished.iter().any(|(place, _)| place[x] == **value));
    let named = report.experiment.time_at.as_ref().map(|at| &at.value).filter(has_point);
    let at = named.or_else(|| axis?.1.values.iter().rev().find(has_point));
    let is_there = |place: &[String]| axis.is_none_or(|(x, _)| at.is_some_and(|at| place[x] == *at));
    let stacks: Vec<(String, &Summary)> = finished
        .iter()
        .filter(|(place, _)| is_there(place))
        .map(|(place, summary)| (pick(place, &layout.lines).join(" "), *summary))
        .collect();
    let heading = panel_name(report, layout, panel);
    let place = axis.zip(at).map(|((_, axis), at)| format!("{} {at}", axis.name));
    let place: Vec<String> = place.into_iter().chain((!heading.is_empty()).then_some(heading)).collect();
    if stacks.is_empty() {
        return Vec::new();
    }
    let place = place.join(", ");
    let threads = figures::threads(&place, &stacks);
    [figures::time_stacks(&place, stacks)].into_iter().chain(threads).collect()
}

fn table(report: &SweepReport<'_>) -> Block {
    let mut head: Vec<Cell> =
        report.experiment.axes.iter().map(|axis| Cell::words(axis.name.as_str())).collect();
    head.extend(tables::NUMBERS.map(Cell::number));
    head.extend(series::has_any(report).then(|| Cell::words("over time")));
    let row = |(place, summary): &(Vec<String>, Option<&Summary>)| {
        let mut cells: Vec<Cell> = place.iter().map(|value| Cell::words(value.as_str())).collect();
        match summary {
            Some(summary) => cells.extend(tables::numbers(summary)),
            None => cells.extend(tables::no_numbers("not yet")),
        }
        cells.extend(series::has_any(report).then(|| series::way_to(report, place)));
        cells
    };
    Block::Table {
        title: "Points".to_owned(),
        note: tables::SPREAD.to_owned(),
        head,
        rows: report.points.iter().map(row).collect(),
    }
}

/// How many instances the points had, where somebody asked for any.
fn instances(report: &SweepReport<'_>) -> Option<Block> {
    let heads: Vec<&str> = report.experiment.axes.iter().map(|axis| axis.name.as_str()).collect();
    let measured = report.points.iter().filter_map(|(place, summary)| Some((place.clone(), (*summary)?)));
    tables::instances(&heads, measured)
}

/// How many concurrency-control threads the points had at which short runs chose them, if there are such.
fn chosen_threads(report: &SweepReport<'_>) -> Option<Block> {
    let row = |(place, summary): &(Vec<String>, Option<&Summary>)| {
        let summary = (*summary)?;
        let chosen = summary.cc_threads_chosen.as_ref()?;
        let tried = chosen.tried.iter();
        let tried =
            tried.map(|tried| format!("{} with {}/s", tried.cc_threads, short(tried.throughput_per_s)));
        let mut cells: Vec<Cell> = place.iter().map(|value| Cell::words(value.as_str())).collect();
        cells.push(Cell::number(chosen.cc_threads.to_string()));
        cells.push(Cell::number(summary.workers.to_string()));
        cells.push(Cell::prose(tried.collect::<Vec<_>>().join(", ")));
        Some(cells)
    };
    let rows: Vec<Vec<Cell>> = report.points.iter().filter_map(row).collect();
    let axes = report.experiment.axes.iter().map(|axis| Cell::words(axis.name.as_str()));
    (!rows.is_empty()).then(|| Block::Table {
        title: "Threads for concurrency control".to_owned(),
        note: "Where cc-threads is auto: chosen by runs of a quarter of a repetition before the first repetition, which count for nothing else."
            .to_owned(),
        head: axes
            .chain([Cell::number("chosen"), Cell::number("of workers"), Cell::words("tried")])
            .collect(),
        rows,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Surroundings;
    use crate::summary::tests::some_summary;
    use crate::summary::{ChosenThreads, Tried};
    use crate::sweep::combinations;
    use contract::Instances;

    fn report_of(axes: &str, finished: bool) -> String {
        report_of_points(&format!("workload = 'micro'\nclaim = 'a < b'\n[axes]\n{axes}"), finished)
    }

    fn report_of_text(text: &str) -> String {
        report_of_points(text, true)
    }

    fn report_of_points(text: &str, finished: bool) -> String {
        report_of_summary(text, finished, &some_summary())
    }

    fn report_of_summary(text: &str, finished: bool, summary: &Summary) -> String {
        let experiment = Experiment::parse("e.toml", text, 4).expect("an experiment");
        let places = combinations(&experiment);
        let points = places.into_iter().map(|place| (place, finished.then_some(summary))).collect();
        of_sweep(&SweepReport {
            experiment: &experiment,
            place: &Place::hardware(2),
            common: BTreeMap::new(),
            surroundings: &Surroundings::new("trireme sweep e.toml".to_owned(), &()),
            points,
            series: BTreeMap::new(),
            left_out: Vec::new(),
            idle: &[],
            claims: Vec::new(),
            trail: Vec::new(),
        })
    }

    #[test]
    fn systems_are_lines_and_other_axes_are_panels() {
        let html =
            report_of("protocol = ['silo', 'no-wait']\nworkers = [1, 2]\nwrites = ['none', 'all']", true);
        for heading in ["Throughput: writes none", "Throughput: writes all", "Abort rate: writes all"] {
            assert!(html.contains(&format!("<h2>{heading}</h2>")), "{heading}");
        }
        assert_eq!(
            html.matches("<polyline").count(),
            3 * 2 * 2 * 2 + 3 * 2 * 2,
            "both widths, and the legends"
        );
        assert!(html.contains("a &lt; b"), "the claim");
    }

    #[test]
    fn time_is_shown_at_one_value_of_the_plotted_axis() {
        let axes = "protocol = ['silo', 'no-wait']\nworkers = [1, 2]\nwrites = ['none', 'all']";
        let html = report_of(axes, true);
        for heading in ["workers 2, writes none", "workers 2, writes all"] {
            assert!(html.contains(&format!("<h2>Where the time goes: {heading}</h2>")), "{heading}");
        }
        assert!(!html.contains("Where the time goes: workers 1"), "the last one's is enough");
        assert!(!report_of(axes, false).contains("Where the time goes"), "nothing was sampled");
        // The first of them has a point; where the machine has cut it off, the last that is left.
        let at = |value: u32, listed: &str| {
            report_of_text(&format!(
                "workload = 'micro'\nx = 'workers'\ntime_at = {value}\n[axes]\nworkers = {listed}"
            ))
        };
        assert!(at(1, "[1, 2]").contains("<h2>Where the time goes: workers 1</h2>"));
        assert!(at(8, "{ of = [1, 2, 8], to = 2 }").contains("<h2>Where the time goes: workers 2</h2>"));
    }

    #[test]
    fn any_axes_make_a_page() {
        let axes =
            ["", "workers = [1]", "protocol = ['silo']", "writes = ['all']", "seed = [1, 2]\ntheta = [0, 1]"];
        for axes in axes {
            assert!(report_of(axes, true).contains("<h2>Throughput</h2>"), "{axes}");
            assert!(report_of(axes, false).contains("not yet"), "{axes}");
        }
    }

    #[test]
    fn threads_that_were_chosen_have_a_table() {
        let tried = [(1, 500.0), (2, 900.0)]
            .map(|(cc_threads, throughput_per_s)| Tried { cc_threads, throughput_per_s });
        let chosen = ChosenThreads { cc_threads: 2, tried: tried.into() };
        let divided = Summary { cc_threads_chosen: Some(chosen), ..some_summary() };
        let text = "workload = 'micro'\n[axes]\nworkers = [4, 8]";
        let html = report_of_summary(text, true, &divided);
        assert_eq!(html.matches("1 with 500&#x2f;s, 2 with 900&#x2f;s").count(), 2, "a row for each point");
        assert!(html.contains("<h2>Threads for concurrency control</h2>"));
        assert!(!report_of_text(text).contains("Threads for concurrency control"), "nothing was chosen");
    }

    #[test]
    fn instances_have_a_table() {
        let mut summary = some_summary();
        (summary.instances, summary.engine.instances) = (2, Instances::PerSocket);
        let text = "workload = 'micro'\n[axes]\nworkers = [4, 8]";
        let html = report_of_summary(text, true, &summary);
        assert!(html.contains("<h2>Instances</h2>"));
        assert_eq!(html.matches("2 (per-socket), of 1 worker each").count(), 2, "a row for each point");
        assert!(!report_of_text(text).contains("<h2>Instances</h2>"), "nobody asked for any");
    }

    #[test]
    fn a_paper_needs_no_claim() {
        let sourced = |text: &str| claim(&Experiment::parse("e.toml", text, 1).expect("an experiment"));
        assert!(sourced("workload = 'micro'").is_none());
        let paper = sourced("workload = 'micro'\npaper = 'P'").expect("a source");
        assert_eq!((paper.paper.as_deref(), paper.text), (Some("P"), None));
    }
}
