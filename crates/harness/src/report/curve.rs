//! Latency against throughput, of a sweep over the rate of arrivals, and where each curve bends.
//!
//! A system that is asked for more does more, until it cannot; from then on only the queue grows. The *knee* is the point at which a system does most for what its users wait: the highest quotient of throughput and mean response
//! (Kleinrock's *power*, ICC 1979). Points at which a system is behind are left out: how long they took depends on how long was measured. A knee has points on both sides; where the best one is the first or the last, it is not known.

use super::page::{Block, Cell, Key};
use super::series;
use super::sweep::drawn::Drawn;
use super::sweep::{Arrangement, SweepReport, panel_name, pick};
use crate::summary::{LatencyOf, Summary};
use crate::svg::lines::{self, Axis, Line, Mark, Point, Sign};
use crate::svg::scale::Scale;
use crate::svg::{Width, at_both_widths};
use crate::text::numbers::{latency, latency_if_any, short, short_latency, thousands};

/// The axis that makes a sweep such a curve.
pub(super) const RATE: &str = "rate";

/// A finished point of a line.
struct Loaded<'a> {
    /// Its values by axis.
    place: &'a [String],
    rate: &'a str,
    summary: &'a Summary,
    mean_ns: f64,
    p99_ns: u64,
}

/// The curve of a panel and its knees; nothing if no rate is swept, or nothing arrived.
pub(super) fn of_rates(report: &SweepReport<'_>, layout: &Arrangement, panel: &[String]) -> Vec<Block> {
    let axes = &report.experiment.axes;
    let Some(rate) = layout.x.filter(|&axis| axes[axis].name == RATE) else { return Vec::new() };
    let loaded = |series: &Vec<String>| -> Vec<Loaded<'_>> {
        let of_line = report.points.iter().filter(|(place, _)| {
            pick(place, &layout.panels) == panel && pick(place, &layout.lines) == *series
        });
        of_line
            .filter_map(|(place, summary)| {
                let summary = summary.filter(|summary| summary.latency_of == LatencyOf::Response)?;
                let latency = summary.latency_ns.as_ref()?;
                Some(Loaded {
                    place,
                    rate: &place[rate],
                    summary,
                    mean_ns: latency.mean,
                    p99_ns: latency.p99,
                })
            })
            .collect()
    };
    let series = layout.series(report);
    let curves: Vec<Vec<Loaded<'_>>> = series.iter().map(loaded).collect();
    if curves.iter().all(Vec::is_empty) {
        return Vec::new();
    }
    let heading = panel_name(report, layout, panel);
    let titled = |title: &str| match heading.is_empty() {
        true => title.to_owned(),
        false => format!("{title}: {heading}"),
    };
    let names: Vec<String> = series.iter().map(|name| name.join(" ")).collect();
    let Drawn { series: drawn, others } = layout.drawn(report, panel);
    let lines = names.iter().zip(&curves).zip(&series).filter(|(_, name)| drawn.contains(name));
    let lines: Vec<(&str, &Vec<Loaded<'_>>)> =
        lines.map(|((name, curve), _)| (name.as_str(), curve)).collect();
    vec![
        figure(titled("Response time against throughput"), &lines, &others),
        knees(titled("The knees"), &names, &curves, report),
    ]
}

/// `others`: which curves are not among these, in words.
fn figure(title: String, curves: &[(&str, &Vec<Loaded<'_>>)], others: &str) -> Block {
    let all = || curves.iter().flat_map(|(_, points)| *points);
    let most = all().map(|point| point.summary.throughput_per_s).fold(0.0, f64::max);
    let (low, high) = all().fold((f64::INFINITY, 0f64), |(low, high), point| {
        (low.min(point.p99_ns as f64), high.max(point.p99_ns as f64))
    });
    let (x_scale, y_scale) = (Scale::from_zero(most, 6), Scale::powers_of_ten(low.max(1.0), high.max(1.0)));
    let x = Axis {
        labels: x_scale.ticks.iter().map(|&tick| short(tick)).collect(),
        scale: x_scale,
        title: "committed transactions per second".to_owned(),
    };
    let y = Axis {
        labels: y_scale.ticks.iter().map(|&tick| short_latency(tick)).collect(),
        scale: y_scale,
        title: "p99 of the response times, logarithmic".to_owned(),
    };
    let line = |(number, (name, points)): (usize, &(&str, &Vec<Loaded<'_>>))| Line {
        series: number,
        points: points
            .iter()
            .map(|point| Point {
                x: point.summary.throughput_per_s,
                y: point.p99_ns as f64,
                whisker: None,
                tip: format!("{name} at {}: {}", point.rate, latency(point.p99_ns)),
            })
            .collect(),
    };
    let lines: Vec<Line> = curves.iter().enumerate().map(line).collect();
    let marks = knee_marks(curves);
    let ring = if marks.is_empty() { "" } else { " A ring is around each knee." };
    Block::Figure {
        svg: at_both_widths(|width| {
            let height = if width == Width::Wide { 380.0 } else { 300.0 };
            lines::draw(&lines, &marks, [&x, &y], &title, height, width)
        }),
        title,
        note: format!(
            "From arrival to commit. Where a line turns upwards, or back, the system is asked for more than it can.{ring}{others}"
        ),
        legend: curves.iter().enumerate().map(|(n, (name, _))| Key::of_series(n, *name)).collect(),
    }
}

/// Of each line that has one, the knee: not where the best point is the first or the last.
fn knee_marks(curves: &[(&str, &Vec<Loaded<'_>>)]) -> Vec<Mark> {
    let of = |(number, (name, points)): (usize, &(&str, &Vec<Loaded<'_>>))| {
        let (point, _) = knee(points).filter(|(_, is_between)| *is_between)?;
        Some(Mark {
            x: point.summary.throughput_per_s,
            y: point.p99_ns as f64,
            sign: Sign::Knee(number),
            tip: format!("the knee of {name}, at {}: {}", point.rate, latency(point.p99_ns)),
        })
    };
    curves.iter().enumerate().filter_map(of).collect()
}

/// The point with the highest power, and whether it is one between two others.
fn knee<'l, 'a>(points: &'l [Loaded<'a>]) -> Option<(&'l Loaded<'a>, bool)> {
    let power = |point: &Loaded<'_>| point.summary.throughput_per_s / point.mean_ns.max(1.0);
    let kept_up = points.iter().enumerate().filter(|(_, point)| !point.summary.is_behind());
    let (position, point) = kept_up.max_by(|(_, one), (_, other)| power(one).total_cmp(&power(other)))?;
    Some((point, position > 0 && position + 1 < points.len()))
}

fn knees(title: String, names: &[String], curves: &[Vec<Loaded<'_>>], report: &SweepReport<'_>) -> Block {
    let over_time = series::has_any(report);
    let row = |(name, points): (&String, &Vec<Loaded<'_>>)| {
        let (point, is_between) = knee(points)?;
        let shown = point.summary.latency_ns.as_ref();
        let cells = [
            Cell::words(name.as_str()),
            Cell::words(point.rate).noted(if is_between {
                ""
            } else {
                "the last point that tells: no knee is seen"
            }),
            Cell::number(thousands(point.summary.throughput_per_s)),
            Cell::number(latency(point.mean_ns as u64)),
            Cell::number(latency_if_any(shown.map(|of| of.p99))),
            Cell::number(latency_if_any(shown.map(|of| of.p999))),
        ];
        let way = over_time.then(|| series::way_to(report, point.place));
        Some(cells.into_iter().chain(way).collect())
    };
    Block::Table {
        title,
        note: "The rate at which a system does most for what its users wait: the highest quotient of throughput and mean response time (Kleinrock's power), of the points at which it kept up.".to_owned(),
        head: ["system", "rate"]
            .map(Cell::words)
            .into_iter()
            .chain(["txn/s", "mean", "p99", "p99.9"].map(Cell::number))
            .chain(over_time.then(|| Cell::words("over time")))
            .collect(),
        rows: names.iter().zip(curves).filter_map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::some_summary;

    #[test]
    fn the_knee_is_where_a_curve_bends() {
        let summaries: Vec<Summary> = [100.0, 200.0, 300.0, 310.0]
            .into_iter()
            .map(|throughput_per_s| Summary { throughput_per_s, ..some_summary() })
            .collect();
        let means = [1000.0, 1100.0, 1500.0, 90_000.0];
        let points: Vec<Loaded<'_>> = summaries
            .iter()
            .zip(means)
            .zip(["25%", "50%", "75%", "95%"])
            .map(|((summary, mean_ns), rate)| Loaded { place: &[], rate, summary, mean_ns, p99_ns: 1 })
            .collect();
        let found = |points: &[Loaded<'_>]| {
            knee(points).map(|(point, is_between)| (point.rate.to_owned(), is_between))
        };
        assert_eq!(found(&points), Some(("75%".to_owned(), true)));
        assert_eq!(found(&points[..3]), Some(("75%".to_owned(), false)), "nothing lies behind it");
        let (whole, cut) = (points, Vec::new());
        let marks = knee_marks(&[("a", &cut), ("b", &whole)]);
        let [mark] = &marks[..] else { panic!("one line bends: {marks:?}") };
        assert_eq!((mark.sign, mark.x, mark.y), (Sign::Knee(1), 300.0, 1.0));
        assert_eq!(mark.tip, "the knee of b, at 75%: 1 ns");
        let first_three = whole.into_iter().take(3).collect();
        assert!(knee_marks(&[("b", &first_three)]).is_empty(), "no knee is seen");
        assert!(knee(&[]).is_none());
    }
}
