//! The report of `sweep`: lines over the swept axis, one for each system, and a panel for every combination of the
//! remaining axes.

pub(super) mod drawn;

use super::page::{Block, Cell, Claim, Key, Page, Way};
use super::{claims, curve, facts, figures, footer, render, series, tables};
use crate::results::Surroundings;
use crate::subject::Place;
use crate::summary::{Summary, Unmeasured, noise};
use crate::svg::lines::{self, Axis, Line, Mark, Point, Sign};
use crate::svg::scale::Scale;
use crate::svg::{Width, at_both_widths};
use crate::sweep::claims::Told;
use crate::sweep::{Experiment, named, taken, warnings};
use crate::text::numbers::{latency, ratio, short, short_latency, thousands};
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

/// A number of a summary that is plotted.
pub(super) struct Measure {
    /// Its name in claims.
    name: &'static str,
    title: &'static str,
    note: &'static str,
    axis: &'static str,
    /// `None`: nothing was measured.
    value: fn(&Summary) -> Option<f64>,
    whisker: fn(&Summary) -> Option<(f64, f64)>,
    tick: fn(f64) -> String,
    show: fn(f64) -> String,
}

/// What the papers' figures show.
pub(super) const THROUGHPUT: Measure = Measure {
    name: "throughput",
    title: "Throughput",
    note: "The median of the repetitions; whiskers go from the slowest to the fastest.",
    axis: "committed transactions per second",
    value: |summary| Some(summary.throughput_per_s),
    whisker: |summary| Some((summary.throughput_min, summary.throughput_max)),
    tick: short,
    show: thousands,
};

const MEASURES: [Measure; 4] = [
    THROUGHPUT,
    Measure {
        name: "abort_rate",
        title: "Abort rate",
        note: "Over all repetitions.",
        axis: "aborts per commit",
        value: |summary| Some(summary.abort_rate),
        whisker: |_| None,
        tick: short,
        show: ratio,
    },
    Measure {
        name: "p99_ns",
        title: "Latency, 99th percentile",
        note: "From the first attempt, of an open loop from the arrival, to commit, over all repetitions.",
        axis: "latency",
        value: |summary| summary.latency_ns.as_ref().map(|of| of.p99 as f64),
        whisker: |_| None,
        tick: short_latency,
        show: |ns| latency(ns as u64),
    },
    Measure {
        name: "mean_ns",
        title: "Latency, mean",
        note: "From the first attempt, of an open loop from the arrival, to commit, over all repetitions.",
        axis: "latency",
        value: |summary| summary.latency_ns.as_ref().map(|of| of.mean),
        whisker: |_| None,
        tick: short_latency,
        show: |ns| latency(ns as u64),
    },
];

impl Measure {
    /// The mean only where a claim speaks of it.
    fn is_shown(&self, claims: &[Told]) -> bool {
        self.name != "mean_ns" || claims.iter().any(|claim| claim.measure.name() == self.name)
    }
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

/// Which axis is plotted along, which ones tell the lines apart, and which ones the panels.
pub(super) struct Arrangement {
    pub(super) x: Option<usize>,
    pub(super) lines: Vec<usize>,
    pub(super) panels: Vec<usize>,
}

impl Arrangement {
    pub(super) fn of(experiment: &Experiment) -> Arrangement {
        let axes = &experiment.axes;
        let named = |name: &str| axes.iter().position(|axis| axis.name == name);
        let numeric =
            |axis: &crate::sweep::Axis| axis.values.iter().all(|value| value.parse::<f64>().is_ok());
        let x = experiment.x.as_ref().and_then(|x| named(&x.value)).or_else(|| named(curve::RATE));
        let x = x.or_else(|| axes.iter().position(|axis| axis.values.len() > 1 && numeric(axis)));
        let x = x.or_else(|| (!axes.is_empty()).then_some(0));
        let others: Vec<usize> = (0..axes.len()).filter(|&axis| Some(axis) != x).collect();
        let is_system =
            |axis: &usize| ["system", "architecture", "protocol"].contains(&axes[*axis].name.as_str());
        let (mut lines, mut panels): (Vec<usize>, Vec<usize>) = others.into_iter().partition(is_system);
        if lines.is_empty() && !panels.is_empty() {
            lines.push(panels.remove(0));
        }
        Arrangement { x, lines, panels }
    }

    /// The combinations of the panels' values, in the order of the points; one empty one if there are no panels.
    pub(super) fn panels(&self, report: &SweepReport<'_>) -> Vec<Vec<String>> {
        distinct(report.points.iter().map(|(place, _)| pick(place, &self.panels)))
    }

    pub(super) fn series(&self, report: &SweepReport<'_>) -> Vec<Vec<String>> {
        distinct(report.points.iter().map(|(place, _)| pick(place, &self.lines)))
    }
}

pub(super) fn pick(place: &[String], axes: &[usize]) -> Vec<String> {
    axes.iter().map(|&axis| place[axis].clone()).collect()
}

fn distinct(all: impl Iterator<Item = Vec<String>>) -> Vec<Vec<String>> {
    let mut distinct = Vec::new();
    for one in all {
        if !distinct.contains(&one) {
            distinct.push(one);
        }
    }
    distinct
}

/// `None` if the measure is zero at every point: an empty plot says less than none.
pub(super) fn figure(
    report: &SweepReport<'_>,
    layout: &Arrangement,
    panel: &[String],
    measure: &Measure,
) -> Option<Block> {
    let x_values: Vec<&str> = layout
        .x
        .map_or(vec!["all"], |axis| report.experiment.axes[axis].values.iter().map(String::as_str).collect());
    let (x, places) = x_axis(report, layout, &x_values);
    let drawn::Drawn { series, others } = layout.drawn(report, panel);
    let along: Vec<(&str, f64)> = x_values.into_iter().zip(places).collect();
    let line = |(number, name): (usize, &Vec<String>)| Line {
        series: number,
        points: line_points(report, layout, panel, name, &along, measure),
    };
    let lines: Vec<Line> = series.iter().enumerate().map(line).collect();
    if lines.iter().flat_map(|line| &line.points).all(|point| point.y == 0.0) {
        return None;
    }
    let y = y_axis(measure, &lines);
    let marks = marks(report, layout, (panel, &series), &along, measure);
    let heading = panel_name(report, layout, panel);
    let title =
        if heading.is_empty() { measure.title.to_owned() } else { format!("{}: {heading}", measure.title) };
    let legend = if layout.lines.is_empty() {
        Vec::new()
    } else {
        // What has no point here is not looked for in the figure.
        let drawn = series.iter().enumerate().filter(|(n, _)| !lines[*n].points.is_empty());
        drawn.map(|(n, name)| Key::of_series(n, name.join(" "))).collect()
    };
    let diamond = if marks.is_empty() { "" } else { " A diamond is a number of the paper's." };
    let note = format!("{}{diamond}{others}", measure.note);
    Some(Block::Figure {
        svg: at_both_widths(|width| {
            let height = if width == Width::Wide { 380.0 } else { 300.0 };
            lines::draw(&lines, &marks, [&x, &y], &title, height, width)
        }),
        title,
        note,
        legend,
    })
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

/// The finished points of one line of one panel, at the values and places of `along`.
fn line_points(
    report: &SweepReport<'_>,
    layout: &Arrangement,
    panel: &[String],
    line: &[String],
    along: &[(&str, f64)],
    measure: &Measure,
) -> Vec<Point> {
    let point = |&(value, x): &(&str, f64)| {
        let is_here = |(place, _): &&(Vec<String>, Option<&Summary>)| {
            pick(place, &layout.panels) == panel
                && pick(place, &layout.lines) == line
                && layout.x.is_none_or(|axis| place[axis] == value)
        };
        let summary = report.points.iter().find(is_here)?.1?;
        let y = (measure.value)(summary)?;
        let tip = format!("{} at {value}: {}", line.join(" "), (measure.show)(y));
        Some(Point { x, y, whisker: (measure.whisker)(summary), tip })
    };
    along.iter().filter_map(point).collect()
}

/// The paper's own numbers of this measure, at the points of one panel of which it gives them.
fn marks(
    report: &SweepReport<'_>,
    layout: &Arrangement,
    (panel, lines): (&[String], &[Vec<String>]),
    along: &[(&str, f64)],
    measure: &Measure,
) -> Vec<Mark> {
    let is_number =
        |claim: &&Told| claim.right.is_none() && claim.over.is_none() && claim.measure.name() == measure.name;
    let of = |claim: &Told, place: &Vec<String>, y: f64| {
        let value = layout.x.map_or("all", |axis| place[axis].as_str());
        let x = along.iter().find(|(at, _)| *at == value)?.1;
        let tip = format!(
            "the paper's {} of {}: {}",
            measure.title,
            pick(place, &layout.lines).join(" "),
            (measure.show)(y)
        );
        let mark = || Mark { x, y, sign: Sign::Paper, tip: format!("{tip} ({})", claim.that) };
        let line = pick(place, &layout.lines);
        let is_drawn = lines.contains(&line);
        (pick(place, &layout.panels) == panel && is_drawn).then(mark)
    };
    let claims = report.claims.iter().filter(is_number);
    let numbers = claims.filter_map(|claim| Some((claim, claim.paper_number?)));
    numbers.flat_map(|(claim, y)| claim.places.iter().filter_map(move |place| of(claim, place, y))).collect()
}

pub(super) fn panel_name(report: &SweepReport<'_>, layout: &Arrangement, panel: &[String]) -> String {
    let name = |(&axis, value): (&usize, &String)| format!("{} {value}", report.experiment.axes[axis].name);
    layout.panels.iter().zip(panel).map(name).collect::<Vec<_>>().join(", ")
}

/// The lower axis, and where each of its values stands: by value if all are numbers, else evenly.
fn x_axis(report: &SweepReport<'_>, layout: &Arrangement, values: &[&str]) -> (Axis, Vec<f64>) {
    let title = layout.x.map_or(String::new(), |axis| report.experiment.axes[axis].name.clone());
    let labels = values.iter().map(|value| (*value).to_owned()).collect();
    let number = |value: &&str| value.strip_suffix('%').unwrap_or(value).parse().ok();
    let numbers: Option<Vec<f64>> = values.iter().map(number).collect();
    match numbers {
        Some(numbers) if is_geometric(&numbers) => {
            (Axis { scale: Scale::through_logarithmic(&numbers), labels, title }, numbers)
        }
        Some(numbers) => (Axis { scale: Scale::through(&numbers), labels, title }, numbers),
        None => {
            let places: Vec<f64> = (0..values.len()).map(|place| place as f64).collect();
            (Axis { scale: Scale::through(&places), labels, title }, places)
        }
    }
}

/// Whether each value is about the same multiple of the one before, as in 1, 2, 4, 8, 12.
fn is_geometric(values: &[f64]) -> bool {
    let multiples: Vec<f64> = values.windows(2).map(|two| two[1] / two[0]).collect();
    let least = multiples.iter().copied().fold(f64::INFINITY, f64::min);
    let most = multiples.iter().copied().fold(0.0, f64::max);
    values.len() >= 3 && values.iter().all(|&value| value > 0.0) && least >= 1.4 && most <= least * 1.6
}

/// From zero; logarithmic if the points differ so much that the lowest lines would lie on the axis.
fn y_axis(measure: &Measure, lines: &[Line]) -> Axis {
    const TOO_FAR_APART: f64 = 50.0;
    let ends = |point: &Point| point.whisker.map_or([point.y, point.y], |(low, high)| [low, high]);
    let values: Vec<f64> = lines.iter().flat_map(|line| &line.points).flat_map(ends).collect();
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(0.0, f64::max);
    let logarithmic = low > 0.0 && high / low >= TOO_FAR_APART;
    let scale = if logarithmic { Scale::powers_of_ten(low, high) } else { Scale::from_zero(high, 6) };
    let labels = scale.ticks.iter().map(|&tick| (measure.tick)(tick)).collect();
    let title = if logarithmic { format!("{}, logarithmic", measure.axis) } else { measure.axis.to_owned() };
    Axis { scale, labels, title }
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

    #[test]
    fn geometric_values_are_told_from_even_ones() {
        assert!(is_geometric(&[1.0, 2.0, 4.0, 8.0]));
        assert!(is_geometric(&[1.0, 2.0, 4.0, 8.0, 12.0]));
        assert!(!is_geometric(&[1.0, 2.0, 3.0, 4.0]));
        assert!(!is_geometric(&[0.0, 0.5, 0.9]));
        assert!(!is_geometric(&[1.0, 2.0]));
    }
}
