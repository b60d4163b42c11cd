//! One system's run: its numbers by name, a line each.

use super::{finish_in, reasons};
use crate::narrow::{named, wrapped};
use contract::{ArchitectureName, Durability, LogReport, TimeClass};
use harness::folder::Folder;
use harness::options::extras;
use harness::subject::shown;
use harness::summary::{Check, Costs, Kind, Latency, LatencyOf, Logged, Memory, Summary};
use harness::text::numbers::{counted, latency, percent, ratio, thousands};

/// One system. `folder` is where it was laid down; `columns` are those of the reader's window.
pub fn of_run(summary: &Summary, folder: Option<&Folder>, columns: Option<usize>) -> String {
    let mut lines = vec![
        ("throughput", format!("{} transactions/s", thousands(summary.throughput_per_s))),
        ("", spread(summary)),
        ("commits", thousands(summary.commits as f64)),
        ("aborts per commit", format!("{}{}", ratio(summary.abort_rate), reasons(&summary.aborts))),
        ("user rollbacks", thousands(summary.user_rollbacks as f64)),
    ];
    lines.extend(arrivals(summary));
    let name = match summary.latency_of {
        LatencyOf::Service => "latency",
        LatencyOf::Response => "response time",
    };
    lines.extend([(name, latencies(summary)), ("", outside_latency(summary))]);
    lines.extend(kinds(summary));
    lines.extend(times(summary));
    lines.push(("engine", engine(summary)));
    lines.extend(summary.instances_shown().map(|shown| ("instances", shown)));
    lines.extend(summary.cc_threads_chosen.iter().map(|chosen| ("cc-threads", chosen.to_string())));
    lines.extend(costs(summary));
    lines.push(("memory", memory(&summary.memory)));
    if let Some(log) = &summary.log {
        lines.push(("log", logged(summary.durability, log)));
        lines.extend(log.checkpoint_every_us.map(|_| ("checkpoints", checkpoints(&log.report))));
    }
    lines.push(("checked", checks(&summary.checks)));
    let head = format!(
        "{} over {}, {} on {}",
        summary.system(),
        summary.workload,
        counted(summary.workers, "worker"),
        shown(&summary.machine, summary.simulated)
    );
    let text = format!("{}\n\n{}", wrapped(&head, columns, 2), named(&lines, columns));
    finish_in(columns, text, &summary.warnings, folder)
}

fn spread(summary: &Summary) -> String {
    if summary.repetitions == 1 {
        return "of 1 repetition".to_owned();
    }
    format!(
        "{} to {} over {}, spread {}",
        thousands(summary.throughput_min),
        thousands(summary.throughput_max),
        counted(summary.repetitions, "repetition"),
        summary.spread_shown()
    )
}

fn latencies(summary: &Summary) -> String {
    let Some(Latency { p50, p99, p999, max, mean, .. }) = &summary.latency_ns else {
        return summary.why_no_latency().map_or(String::new(), |why| format!("none: {why}"));
    };
    let mean = mean.round() as u64;
    let all = [("mean", &mean), ("p50", p50), ("p99", p99), ("p99.9", p999), ("max", max)];
    // Those that never began count with what they had waited until then.
    let at_least = if summary.is_behind() { "at least: " } else { "" };
    format!("{at_least}{}", all.map(|(name, ns)| format!("{name} {}", latency(*ns))).join("  "))
}

/// A line for each kind of transactions, if there are several.
fn kinds(summary: &Summary) -> Vec<(&'static str, String)> {
    let widest = summary.kinds.iter().map(|kind| kind.name.len()).max().unwrap_or(0);
    let line = |(number, kind): (usize, &Kind)| {
        let latencies = kind
            .latency_ns
            .as_ref()
            .map_or(String::new(), |of| format!(", p50 {}  p99 {}", latency(of.p50), latency(of.p99)));
        let tpmc = kind.tpmc.map_or(String::new(), |tpmc| format!(" ({} a minute)", thousands(tpmc)));
        let per_s = thousands(kind.throughput_per_s);
        let text = format!(
            "{:widest$}  {per_s}/s{tpmc}, {} aborts/commit{latencies}",
            kind.name,
            ratio(kind.abort_rate)
        );
        (if number == 0 { "by kind" } else { "" }, text)
    };
    summary.kinds.iter().enumerate().map(line).collect()
}

/// Of an open loop: what was asked for, and how far it was behind.
fn arrivals(summary: &Summary) -> Option<(&'static str, String)> {
    let of = summary.arrivals.as_ref()?;
    let capacity = of.capacity_per_s.map_or(String::new(), |per_s| {
        format!(", {} of the {} of a closed loop", percent(of.rate_per_s as f64 / per_s), thousands(per_s))
    });
    let service = of
        .service_ns
        .as_ref()
        .map_or(String::new(), |of| format!("; service p50 {}  p99 {}", latency(of.p50), latency(of.p99)));
    let (rate, queued) = (thousands(of.rate_per_s as f64), thousands(of.queued as f64));
    Some((
        "arrivals",
        format!("{rate} transactions/s, {}{capacity}; {queued} waited at the end{service}", of.spread),
    ))
}

/// What a latency is, and what it is not.
fn outside_latency(summary: &Summary) -> String {
    let between = summary.between_ns.map_or(String::new(), |ns| {
        format!("; drawing, planning and queueing before it: mean {} more", latency(ns.round() as u64))
    });
    let (from, between) = match summary.latency_of {
        LatencyOf::Service => ("first attempt", between),
        LatencyOf::Response => ("arrival", String::new()),
    };
    format!(
        "from {from} to {}, of {} transactions{between}",
        if summary.log.is_some() { "the commit's being durable" } else { "commit" },
        thousands(summary.latency_samples as f64)
    )
}

fn engine(summary: &Summary) -> String {
    let words = extras(&summary.engine, summary.pair().as_slice());
    match summary.time_samples {
        0 => words,
        samples => format!("{words} ({}, not among the latencies)", thousands(samples as f64)),
    }
}

/// Where the time goes: of transactions, and where threads are of two kinds, of each kind.
fn times(summary: &Summary) -> impl Iterator<Item = (&'static str, String)> {
    let threads = if has_two_kinds_of_threads(summary) { of_threads(&summary.costs) } else { Vec::new() };
    let lines = std::iter::once(of_transactions(summary)).chain(threads);
    lines.enumerate().map(|(number, line)| (if number == 0 { "time" } else { "" }, line))
}

fn of_transactions(summary: &Summary) -> String {
    if summary.time_samples == 0 {
        return "– (not measured: no transaction was timed by class)".to_owned();
    }
    let share = |class: TimeClass| format!("{} {}", class.name(), percent(summary.time_share.get(class)));
    format!("of sampled transactions: {}", TimeClass::ALL.map(share).join("  "))
}

/// Whether some threads execute, and others do concurrency control for them.
fn has_two_kinds_of_threads(summary: &Summary) -> bool {
    summary.pair().is_some_and(|pair| pair.architecture == ArchitectureName::Orthrus)
}

/// The parts that [`of_threads`] tells.
const OF_THREADS: [&str; 4] = ["idle_share", "executing_share", "managing_share", "serving_share"];

fn of_threads(costs: &Costs) -> Vec<String> {
    let part = |name: &str, value: Option<f64>| Some(format!("{name} {}", percent(value?)));
    let execution = [
        part("idle", costs.idle_share),
        part("executing", costs.executing_share),
        part("managing", costs.managing_share),
    ];
    let kinds = [
        ("execution", execution.into_iter().flatten().collect::<Vec<_>>()),
        ("concurrency-control", part("busy", costs.serving_share).into_iter().collect()),
    ];
    let told = kinds.into_iter().filter(|(_, parts)| !parts.is_empty());
    told.map(|(kind, parts)| format!("of {kind} threads: {}", parts.join("  "))).collect()
}

/// What the architecture cost, as far as it did, and as far as [`times`] does not tell it.
fn costs(summary: &Summary) -> impl Iterator<Item = (&'static str, String)> {
    let is_told = |name: &&str| has_two_kinds_of_threads(summary) && OF_THREADS.contains(name);
    let rest = summary.costs.described().filter(move |(cost, _)| !is_told(&cost.name));
    let paid = rest.filter_map(|(cost, value)| Some((cost, value.filter(|&value| value > 0.0)?)));
    paid.map(|(cost, value)| (cost.heading, cost.unit.show(value)))
}

/// What was logged, and what that means for the numbers above.
fn logged(durability: Durability, log: &Logged) -> String {
    let Logged { loggers, compress, report, .. } = log;
    format!(
        "{durability}: {} MB by {}{}, {} syncs of at most {}; a commit counts, and its latency ends, when it is durable",
        thousands((report.bytes as f64 / 1e6).ceil()),
        counted(*loggers, "logger"),
        if *compress { ", compressed" } else { "" },
        thousands(report.syncs as f64),
        latency(report.longest_sync_ns),
    )
}

/// The checkpoints that were taken, and the last of them.
fn checkpoints(report: &LogReport) -> String {
    let Some(last) = report.last_checkpoint else {
        return "none: no repetition was as long as one takes, and one that a repetition's end cuts off is given up".to_owned();
    };
    format!(
        "{}, the last of {} rows, {} MB in {}, which took {}",
        thousands(report.checkpoints as f64),
        thousands(last.rows as f64),
        thousands((last.bytes as f64 / 1e6).ceil()),
        counted(last.files as usize, "file"),
        latency(last.took_ns),
    )
}

/// What the tables took when they were loaded, and if they grew, what they take now.
fn memory(memory: &Memory) -> String {
    let of = |bytes: u64, rows: u64| {
        format!("{} MB, {} rows", thousands((bytes as f64 / 1e6).ceil()), thousands(rows as f64))
    };
    let mut loaded = format!("{} loaded", of(memory.loaded_bytes, memory.loaded_rows));
    let megabytes = |bytes: u64| thousands((bytes as f64 / 1e6).ceil());
    if memory.lineage_bytes > 0 {
        loaded += &format!(", {} MB of them for snapshots", megabytes(memory.lineage_bytes));
    }
    if memory.lineage_bytes > 0 || memory.most_version_bytes > 0 {
        loaded += &format!("; {} MB of versions at most", megabytes(memory.most_version_bytes));
    }
    if memory.bytes == memory.loaded_bytes && memory.rows == memory.loaded_rows {
        return loaded;
    }
    let now = format!("{loaded}; {} now", of(memory.bytes, memory.rows));
    match memory.stray_records {
        0 => now,
        stray => format!("{now}, and {} records astray", thousands(stray as f64)),
    }
}

fn checks(checks: &[Check]) -> String {
    let one = |check: &Check| match check.passed {
        true => check.name.clone(),
        false => format!("{} FAILED: {}", check.name, check.detail),
    };
    // Of an audit's conditions those that hold are one word: it says the same.
    let (conditions, others): (Vec<&Check>, Vec<&Check>) =
        checks.iter().partition(|check| check.passed && check.name.starts_with("condition-"));
    let mut words: Vec<String> = others.into_iter().map(one).collect();
    if !conditions.is_empty() {
        words.push(counted(conditions.len(), "condition"));
    }
    words.join(", ")
}
