//! A run over time: throughput, latency and the queue, slice by slice, a line for each repetition. Of a comparison a line for each system, of those that stand first, in the first
//! repetition, which is the same round of all; the file has all repetitions of all systems. A sweep's page has no such figures, but ways to the files.

use super::SweepReport;
use super::page::{Block, Cell, Key, Way};
use crate::folder::series::FILE_NAME;
use crate::results::System;
use crate::summary::LatencyOf;
use crate::svg::lines::{self, Axis, Line, Point};
use crate::svg::scale::Scale;
use crate::svg::{SERIES, Width, at_both_widths};
use crate::text::durations;
use crate::text::numbers::{latency, short, short_latency, thousands};
use contract::{Series, Slice};

/// A quantity of a slice.
struct Quantity {
    title: &'static str,
    axis: String,
    note: &'static str,
    /// By slice.
    of: fn(&Series) -> Vec<f64>,
    show: fn(f64) -> String,
    tick: fn(f64) -> String,
}

impl Quantity {
    /// What happened in a second, by slices as long as `slice` says.
    fn by_second(
        title: &'static str,
        (what, slice): (&str, &str),
        note: &'static str,
        of: fn(&Series) -> Vec<f64>,
    ) -> Quantity {
        Quantity {
            title,
            axis: format!("{what} per second, by slices of {slice}"),
            note,
            of,
            show: |value| format!("{} /s", thousands(value)),
            tick: short,
        }
    }
}

/// What was counted in each slice, by second.
fn by_second(series: &Series, count: fn(&Slice) -> u64) -> Vec<f64> {
    series.slices.iter().map(|slice| count(slice) as f64 / series.slice.as_secs_f64()).collect()
}

/// A line: its name, and what it shows.
type Named<'a> = (String, &'a Series);

/// The figures; nothing of a run that was not counted by slices.
pub fn over_time(system: &System) -> Vec<Block> {
    let repetition = |(number, series)| (format!("repetition {}", number + 1), series);
    let lines: Vec<Named<'_>> = system.series.iter().enumerate().map(repetition).collect();
    figures(&lines, system.summary.latency_of)
}

/// The figures of a comparison, below the way to the file; nothing if no system was counted by slices.
pub fn of_systems(systems: &[System]) -> Vec<Block> {
    let counted = systems.iter().filter_map(|system| Some((system, system.series.first()?)));
    let counted: Vec<(&System, &Series)> = counted.collect();
    let Some((first, _)) = counted.first() else { return Vec::new() };
    let which = match counted.len() {
        few if few <= SERIES => "A line for each system".to_owned(),
        all => format!("A line for each of the first {SERIES} of {all} systems"),
    };
    let text = format!(
        "{which}: its first repetition. {FILE_NAME} has every slice of all repetitions of all systems."
    );
    let named = counted.iter().take(SERIES).map(|(system, series)| (system.summary.system(), *series));
    let heading =
        Block::Heading { title: "Over time".to_owned(), href: FILE_NAME.to_owned(), text: vec![text] };
    let figures = figures(&named.collect::<Vec<_>>(), first.summary.latency_of);
    std::iter::once(heading).chain(figures).collect()
}

fn figures(lines: &[Named<'_>], latency_of: LatencyOf) -> Vec<Block> {
    let Some((_, first)) = lines.first() else { return Vec::new() };
    let slice = durations::show(first.slice);
    let mut quantities = vec![
        Quantity::by_second(
            "Throughput over time",
            ("commits", &slice),
            "A dip is time in which the system, or the machine, did something else.",
            |series| by_second(series, |slice| slice.commits),
        ),
        Quantity::by_second(
            "Aborts over time",
            ("aborts", &slice),
            "Of the transactions that ended in a slice: the attempts before.",
            |series| by_second(series, |slice| slice.aborts),
        ),
        Quantity {
            title: "p99 over time",
            axis: format!("p99 of the {latency_of} times that end in a slice"),
            note: match latency_of {
                LatencyOf::Service => "From a transaction's first attempt to its end.",
                LatencyOf::Response => {
                    "From a transaction's arrival to its end: who arrives while nothing goes on waits."
                }
            },
            of: |series| {
                series.slices.iter().map(|of| of.latency_ns.value_at_quantile(0.99) as f64).collect()
            },
            show: |value| latency(value as u64),
            tick: |value| short_latency(value),
        },
    ];
    if latency_of == LatencyOf::Response {
        quantities.push(Quantity {
            title: "The queue over time",
            axis: "transactions that had arrived and not begun, at the end of a slice".to_owned(),
            note: "A queue that only grows is of a system that can do less than is asked of it.",
            of: |series| series.queues().map(|queued| queued as f64).collect(),
            show: thousands,
            tick: short,
        });
    }
    quantities.into_iter().map(|quantity| figure(lines, &quantity)).collect()
}

/// Whether a point of a sweep was counted by slices.
pub(super) fn has_any(report: &SweepReport<'_>) -> bool {
    !report.series.is_empty()
}

/// The way to a point's slices.
pub(super) fn way_to(report: &SweepReport<'_>, place: &[String]) -> Cell {
    let href = report.series.get(place);
    href.map_or_else(|| Cell::words(""), |href| Cell::way(Way::to("series", href)))
}

fn figure(named: &[Named<'_>], quantity: &Quantity) -> Block {
    let all: Vec<Vec<f64>> = named.iter().map(|(_, series)| (quantity.of)(series)).collect();
    let most = all.iter().flatten().copied().fold(0.0, f64::max);
    let seconds = |series: &Series, number: usize| series.slice.as_secs_f64() * (number + 1) as f64;
    let longest =
        named.iter().map(|(_, series)| seconds(series, series.slices.len() - 1)).fold(0.0, f64::max);
    let (x_scale, y_scale) = (Scale::from_zero(longest, 5), Scale::from_zero(most, 4));
    let x = Axis {
        labels: x_scale.ticks.iter().map(|&at| latency((at * 1e9).round() as u64)).collect(),
        scale: x_scale,
        title: "time since the interval began".to_owned(),
    };
    let y = Axis {
        labels: y_scale.ticks.iter().map(|&value| (quantity.tick)(value)).collect(),
        scale: y_scale,
        title: quantity.axis.clone(),
    };
    let line = |(number, values): (usize, &Vec<f64>)| Line {
        series: number % SERIES,
        points: values
            .iter()
            .enumerate()
            .map(|(slice, &value)| {
                let (name, series) = &named[number];
                let tip = format!("{name}: {}", (quantity.show)(value));
                Point { x: seconds(series, slice), y: value, whisker: None, tip }
            })
            .collect(),
    };
    let lines: Vec<Line> = all.iter().enumerate().map(line).collect();
    let key = |number: usize| Key::of_series(number % SERIES, named[number].0.as_str());
    Block::Figure {
        title: quantity.title.to_owned(),
        note: quantity.note.to_owned(),
        legend: (0..lines.len()).map(key).collect(),
        svg: at_both_widths(|width| {
            let height = if width == Width::Wide { 260.0 } else { 220.0 };
            lines::draw(&lines, &[], [&x, &y], quantity.title, height, width)
        }),
    }
}
