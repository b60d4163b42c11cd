//! The figures of a sweep: a number of all points of a panel, a line for each system, over the plotted axis.

use super::drawn::Drawn;
use super::{Arrangement, SweepReport, panel_name, pick};
use crate::report::page::{Block, Key};
use crate::summary::Summary;
use crate::svg::lines::{self, Axis, Line, Mark, Point, Sign};
use crate::svg::scale::Scale;
use crate::svg::{Width, at_both_widths};
use crate::sweep::claims::Told;
use crate::text::numbers::{latency, ratio, short, short_latency, thousands};

/// A number of a summary that is plotted.
pub(in crate::report) struct Measure {
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
pub(in crate::report) const THROUGHPUT: Measure = Measure {
    name: "throughput",
    title: "Throughput",
    note: "The median of the repetitions; whiskers go from the slowest to the fastest.",
    axis: "committed transactions per second",
    value: |summary| Some(summary.throughput_per_s),
    whisker: |summary| Some((summary.throughput_min, summary.throughput_max)),
    tick: short,
    show: thousands,
};

pub(super) const MEASURES: [Measure; 4] = [
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
    pub(super) fn is_shown(&self, claims: &[Told]) -> bool {
        self.name != "mean_ns" || claims.iter().any(|claim| claim.measure.name() == self.name)
    }
}

/// `None` if the measure is zero at every point: an empty plot says less than none.
pub(in crate::report) fn figure(
    report: &SweepReport<'_>,
    layout: &Arrangement,
    panel: &[String],
    measure: &Measure,
) -> Option<Block> {
    let x_values: Vec<&str> = layout
        .x
        .map_or(vec!["all"], |axis| report.experiment.axes[axis].values.iter().map(String::as_str).collect());
    let (x, places) = x_axis(report, layout, &x_values);
    let Drawn { series, others } = layout.drawn(report, panel);
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

#[cfg(test)]
mod tests {
    use super::is_geometric;

    #[test]
    fn geometric_values_are_told_from_even_ones() {
        assert!(is_geometric(&[1.0, 2.0, 4.0, 8.0]));
        assert!(is_geometric(&[1.0, 2.0, 4.0, 8.0, 12.0]));
        assert!(!is_geometric(&[1.0, 2.0, 3.0, 4.0]));
        assert!(!is_geometric(&[0.0, 0.5, 0.9]));
        assert!(!is_geometric(&[1.0, 2.0]));
    }
}
