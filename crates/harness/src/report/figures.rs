//! From summaries to figures.

use super::page::{Block, Key};
use super::tables::{latency_begins, latency_ends};
use crate::folder::latency;
use crate::results::System;
use crate::summary::{Costs, Summary};
use crate::svg::bars::{self, Bar};
use crate::svg::lines::{self, Axis, Line, Point};
use crate::svg::scale::Scale;
use crate::svg::stacks::{self, Stack, Style};
use crate::svg::{SERIES, Width, at_both_widths};
use crate::text::numbers::latency as latency_of;
use crate::text::numbers::{percent, ratio, short, short_latency, thousands};
use contract::{AbortReason, TimeClass};

/// The systems by throughput, with whiskers over the repetitions.
pub fn ranking(systems: &[System]) -> Block {
    let bars = systems.iter().enumerate().map(|(rank, of)| (of.summary.system(), rank, &of.summary));
    let bars: Vec<(String, usize, &Summary)> = bars.collect();
    throughputs("Throughput".to_owned(), &bars)
}

/// Labelled throughputs, each in the colour of its series.
pub fn throughputs(title: String, bars: &[(String, usize, &Summary)]) -> Block {
    let bar = |(label, series, summary): &(String, usize, &Summary)| Bar {
        label: label.clone(),
        value: summary.throughput_per_s,
        low: summary.throughput_min,
        high: summary.throughput_max,
        text: thousands(summary.throughput_per_s),
        series: series % SERIES,
    };
    let bars: Vec<Bar> = bars.iter().map(bar).collect();
    Block::Figure {
        title,
        note: "The median of the repetitions; the whisker goes from the slowest to the fastest.".to_owned(),
        legend: Vec::new(),
        svg: at_both_widths(|width| {
            bars::draw(&bars, "committed transactions per second", "Throughput of each system", width)
        }),
    }
}

/// One system's repetitions.
pub fn repetitions(system: &System) -> Block {
    let bars: Vec<Bar> = system
        .samples
        .iter()
        .map(|sample| Bar {
            label: format!("repetition {}", sample.repetition),
            value: sample.throughput_per_s,
            low: sample.throughput_per_s,
            high: sample.throughput_per_s,
            text: thousands(sample.throughput_per_s),
            series: 0,
        })
        .collect();
    Block::Figure {
        title: "Throughput by repetition".to_owned(),
        note: "How much the repetitions differ is how far the median can be trusted.".to_owned(),
        legend: Vec::new(),
        svg: at_both_widths(|width| {
            bars::draw(&bars, "committed transactions per second", "Throughput of each repetition", width)
        }),
    }
}

const TIME: &str = "Where the time goes";

/// Where the time goes, in six classes.
pub fn time_share(summaries: &[&Summary]) -> Block {
    if summaries.iter().all(|summary| summary.time_samples == 0) {
        let text = "No transaction was sampled in the interval.".to_owned();
        return Block::Remark { title: TIME.to_owned(), text };
    }
    time_stacks("", summaries.iter().map(|summary| (summary.system(), *summary)).collect())
}

/// The same of labelled bars, at `place` of an experiment; "" if it is none.
pub fn time_stacks(place: &str, bars: Vec<(String, &Summary)>) -> Block {
    let title = if place.is_empty() { TIME.to_owned() } else { format!("{TIME}: {place}") };
    let stack = |(label, summary): (String, &Summary)| Stack {
        label,
        parts: TimeClass::ALL.iter().map(|&class| summary.time_share.get(class)).collect(),
        text: String::new(),
    };
    let stacks: Vec<Stack> = bars.into_iter().map(stack).collect();
    let names = TimeClass::ALL.map(TimeClass::name);
    let style = Style {
        class: "time",
        names: &names,
        whole: Some(1.0),
        show: whole_percent,
        tick: whole_percent,
        unit: "part of a transaction's time",
        label: "Where the time of each system goes",
    };
    Block::Figure {
        title,
        note: "The time of sampled transactions; retries and waiting between them are part of it.".to_owned(),
        legend: names.iter().enumerate().map(|(part, name)| Key::of_part("time", part, *name)).collect(),
        svg: at_both_widths(|width| stacks::draw(&stacks, &style, width)),
    }
}

const THREADS: &str = "Where the threads' time goes";

/// Where the time goes of execution threads, and of concurrency-control threads (*orthrus* 4.4.3): of labelled
/// bars, at `place` of an experiment; "" if it is none. `None` if no system has such.
pub fn threads(place: &str, bars: &[(String, &Summary)]) -> Option<Block> {
    let stacks: Vec<Stack> = bars.iter().flat_map(|(label, summary)| of_threads(label, summary)).collect();
    if stacks.is_empty() {
        return None;
    }
    let names = ["executing", "managing", "idle"];
    let style = Style {
        class: "thread",
        names: &names,
        whole: Some(1.0),
        show: whole_percent,
        tick: whole_percent,
        unit: "part of the threads' time",
        label: "Where the time of each system's threads goes",
    };
    Some(Block::Figure {
        title: if place.is_empty() { THREADS.to_owned() } else { format!("{THREADS}: {place}") },
        note: "An execution thread is idle while none of its transactions can go on; a transaction that waits while another one runs is none of \
               it. What is not idle is divided as the time of the sampled transactions is: executing has their work and look-ups, managing \
               their lock sets, messages and commits. A concurrency-control thread manages whenever it is busy. Aborted attempts are not told apart."
            .to_owned(),
        legend: names.iter().enumerate().map(|(part, name)| Key::of_part("thread", part, *name)).collect(),
        svg: at_both_widths(|width| stacks::draw(&stacks, &style, width)),
    })
}

/// Execution threads, and concurrency-control threads, which manage and nothing else.
fn of_threads(label: &str, summary: &Summary) -> Vec<Stack> {
    let Costs { executing_share, managing_share, idle_share, serving_share, .. } = summary.costs;
    let bar = |threads: &str, parts: [f64; 3]| Stack {
        label: format!("{label}, {threads}"),
        parts: parts.into(),
        text: String::new(),
    };
    let (Some(executing), Some(managing), Some(idle)) = (executing_share, managing_share, idle_share) else {
        return Vec::new();
    };
    let execution = bar("execution threads", [executing, managing, idle]);
    let control = serving_share.map(|busy| bar("concurrency-control threads", [0.0, busy, 1.0 - busy]));
    [execution].into_iter().chain(control).collect()
}

/// Aborts per commit, by reason.
pub fn aborts(summaries: &[&Summary]) -> Block {
    let title = "Aborts by reason".to_owned();
    if summaries.iter().all(|summary| summary.abort_rate == 0.0) {
        return Block::Remark { title, text: "No transaction was aborted.".to_owned() };
    }
    let stack = |summary: &&Summary| {
        let rate = |reason: &AbortReason| {
            let count = summary.aborts.get(reason.name()).copied().unwrap_or(0);
            count as f64 / summary.commits.max(1) as f64
        };
        let parts = AbortReason::ALL.iter().map(rate).collect();
        Stack { label: summary.system(), parts, text: ratio(summary.abort_rate) }
    };
    let stacks: Vec<Stack> = summaries.iter().map(stack).collect();
    let names = AbortReason::ALL.map(AbortReason::name);
    let seen = |part: &usize| stacks.iter().any(|stack| stack.parts[*part] > 0.0);
    let style = Style {
        class: "abort",
        names: &names,
        whole: None,
        show: ratio,
        tick: short,
        unit: "aborts per commit",
        label: "Aborts per commit of each system, by reason",
    };
    Block::Figure {
        title,
        note: "Every abort is retried; rollbacks that the workload asked for are not counted.".to_owned(),
        legend: (0..names.len()).filter(seen).map(|part| Key::of_part("abort", part, names[part])).collect(),
        svg: at_both_widths(|width| stacks::draw(&stacks, &style, width)),
    }
}

/// Latency by percentile, both axes logarithmic.
pub fn latency_curves(systems: &[System]) -> Block {
    let title = "Latency".to_owned();
    let end = systems.first().map_or("commit", |system| latency_ends(&system.summary));
    let begin = systems.first().map_or("", |system| latency_begins(&system.summary));
    // Each has a line of its own: further ones would look like the first.
    let (all, systems) = (systems.len(), &systems[..systems.len().min(SERIES)]);
    let left_out = match all - systems.len() {
        0 => String::new(),
        others => format!(
            " The first {SERIES} of {all} systems; those of the other {others} are in the folder latency/."
        ),
    };
    let curves: Vec<(usize, Vec<(f64, f64)>)> = systems
        .iter()
        .enumerate()
        .map(|(rank, system)| (rank % SERIES, latency::curve(&system.latency_ns)))
        .filter(|(_, curve)| !curve.is_empty())
        .collect();
    let points = || curves.iter().flat_map(|(_, curve)| curve);
    let Some(longest) = points().map(|(one_in, _)| *one_in).reduce(f64::max) else {
        return Block::Remark { title, text: "Too few latencies for a curve.".to_owned() };
    };
    let (low, high) =
        points().fold((f64::INFINITY, 0f64), |(low, high), (_, ns)| (low.min(*ns), high.max(*ns)));
    let y_scale = Scale::powers_of_ten(low.max(1.0), high.max(1.0));
    let y = Axis {
        labels: y_scale.ticks.iter().map(|&ns| short_latency(ns)).collect(),
        scale: y_scale,
        title: format!("latency from {begin} to {end}"),
    };
    let x = percentile_axis(longest);
    let point = |&(one_in, ns): &(f64, f64)| {
        let tick = x.scale.ticks.iter().position(|&tick| tick == one_in);
        let tip = tick.map_or(String::new(), |tick| format!("{}: {}", x.labels[tick], latency_of(ns as u64)));
        Point { x: one_in, y: ns, whisker: None, tip }
    };
    let lines: Vec<Line> = curves
        .iter()
        .map(|(series, curve)| Line { series: *series, points: curve.iter().map(point).collect() })
        .collect();
    let key = |(rank, system): (usize, &System)| Key::of_series(rank % SERIES, system.summary.system());
    Block::Figure {
        title,
        note: format!(
            "Retries and waits included. Further right are ever rarer, slower transactions.{left_out}"
        ),
        legend: systems.iter().enumerate().map(key).collect(),
        svg: at_both_widths(|width| {
            let height = if width == Width::Wide { 380.0 } else { 300.0 };
            lines::draw(&lines, &[], [&x, &y], "Latency of each system by percentile", height, width)
        }),
    }
}

/// Ticks at the median and at every further nine, as far as one in `longest` is slower.
fn percentile_axis(longest: f64) -> Axis {
    let nines = longest.log10().floor().max(1.0) as i32;
    let mut ticks = vec![2.0];
    ticks.extend((1..=nines).map(|nine| 10f64.powi(nine)));
    let label = |&one_in: &f64| {
        let digits = (one_in.log10().round() as usize).saturating_sub(2);
        format!("{:.digits$} %", 100.0 - 100.0 / one_in)
    };
    Axis {
        labels: ticks.iter().map(label).collect(),
        scale: Scale::through_logarithmic(&ticks).reaching(longest),
        title: "percentile of the transactions".to_owned(),
    }
}

fn whole_percent(part: f64) -> String {
    if part > 0.0 && part < 0.01 { percent(part) } else { format!("{:.0} %", part * 100.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::some_summary;

    /// Of a system whose threads nobody watches there is no bar, of one whose threads are watched there are two.
    #[test]
    fn threads_have_a_bar_each_kind() {
        let none = some_summary();
        let mut watched = none.clone();
        let shares = [Some(0.25), Some(0.45), Some(0.3), Some(0.6)];
        let costs = &mut watched.costs;
        [costs.idle_share, costs.executing_share, costs.managing_share, costs.serving_share] = shares;
        assert!(threads("", &[(none.system(), &none)]).is_none());
        let Some(Block::Figure { title, svg, legend, .. }) =
            threads("x 1", &[(none.system(), &none), (watched.system(), &watched)])
        else {
            panic!("a figure")
        };
        assert_eq!((title.as_str(), legend.len()), ("Where the threads' time goes: x 1", 3));
        for tip in [
            "execution threads, executing: 45 %",
            "execution threads, idle: 25 %",
            "concurrency-control threads, managing: 60 %",
            "concurrency-control threads, idle: 40 %",
        ] {
            assert!(svg.contains(tip), "{tip}");
        }
        let untimed = Costs { executing_share: None, managing_share: None, ..watched.costs };
        assert!(
            of_threads("s", &Summary { costs: untimed, ..watched }).is_empty(),
            "nobody knows how they were busy"
        );
    }

    #[test]
    fn percentiles_are_written_with_their_nines() {
        let axis = percentile_axis(123_456.0);
        assert_eq!(axis.labels, ["50 %", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %"]);
        assert!(axis.scale.part(123_456.0) <= 1.0);
        assert_eq!(percentile_axis(3.0).labels, ["50 %", "90 %"]);
    }
}
