//! What a person reads at the end, on standard output.

use crate::narrow::{self, named, wrapped};
use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use contract::{ArchitectureName, Durability, LogReport, TimeClass};
use harness::Place;
use harness::advice::{Advice, Levels};
use harness::check::CheckSummary;
use harness::check::exploration::ExplorationSummary;
use harness::folder::Folder;
use harness::options::{extras, extras_of_check};
use harness::results::CompareResult;
use harness::subject::shown;
use harness::summary::{
    Check, CostDescription, Costs, Kind, Latency, LatencyOf, Logged, Memory, Summary, in_lines,
};
use harness::sweep::claims::{Standing, Sum, Told};
use harness::sweep::{Conducted, Experiment};
use harness::text::names;
use harness::text::numbers::{counted, latency, latency_if_any, part_of_best, percent, ratio, thousands};
use harness::validation::{Both, Compared, Comparisons, KindErrors, ModelError, Validation};
use history::{Dependencies, DependencyKind};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// A rule below the heads, and nothing else.
const RULED: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

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

/// The reasons that occurred, in brackets.
fn reasons(aborts: &BTreeMap<String, u64>) -> String {
    let seen = aborts.iter().filter(|(_, count)| **count > 0);
    let seen: Vec<String> =
        seen.map(|(reason, count)| format!("{reason} {}", thousands(*count as f64))).collect();
    if seen.is_empty() { String::new() } else { format!("  ({})", seen.join(", ")) }
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

/// A check with its verdict. `folder` is where it was laid down, if it was.
pub fn of_check(summary: &CheckSummary, folder: Option<&Folder>) -> String {
    let mut text = format!(
        "{} over {}, {} on {}, seed {}\n{}engine: {}\n{} commits, {} aborts{}, {} user rollbacks\n\n",
        summary.system(),
        summary.workload,
        counted(summary.workers, "worker"),
        shown(&summary.machine, summary.simulated),
        summary.engine.seed,
        told(&summary.workload, &summary.parameters),
        extras_of_check(&summary.engine, summary.pair()),
        thousands(summary.commits as f64),
        thousands(summary.aborts.values().sum::<u64>() as f64),
        reasons(&summary.aborts).replace("  ", " "),
        thousands(summary.user_rollbacks as f64),
    );
    text.push_str(&findings(summary));
    if let Some(too_little) = &summary.too_little {
        let _ = writeln!(text, "too little happened: {too_little}");
    }
    for warning in &summary.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    let report = folder.map(|folder| format!("\nreport: {}\n", folder.report().display()));
    let _ = write!(text, "{}\n{}\n", report.unwrap_or_default(), summary.outcome());
    text
}

/// Many schedules, and what was found.
pub fn of_exploration(summary: &ExplorationSummary) -> String {
    let mut text = format!(
        "{} over {}, {} on virtual cores, {} each\n{}engine: {}\n{} explored from seed {}\n",
        names::system(&summary.architecture, &summary.protocol),
        summary.workload,
        counted(summary.workers, "worker"),
        counted(summary.transactions as usize, "transaction"),
        told(&summary.workload, &summary.parameters),
        extras_of_check(&summary.engine, summary.pair()),
        counted(summary.schedules as usize, &format!("{} schedule", summary.schedule)),
        summary.first_seed,
    );
    if let (Some(commits), Some(aborts)) = (summary.commits, &summary.aborts) {
        let _ = writeln!(
            text,
            "{} commits, {} aborts{}",
            thousands(commits as f64),
            thousands(aborts.values().sum::<u64>() as f64),
            reasons(aborts).replace("  ", " "),
        );
    }
    if let Some(dependencies) = &summary.dependencies {
        let _ = writeln!(text, "{}", between_workers(dependencies));
    }
    if let Some(rounds) = summary.overlapping {
        let _ = writeln!(text, "{} in which roles ran at the same time", counted(rounds as usize, "round"));
    }
    if let Some(too_little) = &summary.too_little {
        let _ = writeln!(text, "too little happened: {too_little}");
    }
    if let Some(find) = &summary.find {
        let _ = writeln!(text, "\nfound with seed {}:", find.seed);
        if let Some(words) = &find.panic {
            let _ = writeln!(text, "the engine panicked: {words}");
        }
        if let Some(check) = &find.check {
            let _ = writeln!(text, "{}", findings(check));
        }
        let _ = writeln!(text, "replay: {}", find.replay);
    }
    for warning in &summary.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    let _ = write!(text, "\n{}\n", summary.outcome());
    text
}

/// The parameters that are not as the workload has them by itself, on a line.
fn told(workload: &str, parameters: &BTreeMap<String, String>) -> String {
    let described = workloads::descriptions().iter().find(|description| description.name == workload);
    let own = described.map_or(&[][..], |description| description.parameters);
    let is_own = |name: &str, value: &str| own.iter().any(|one| one.name == name && one.default == value);
    let told = parameters.iter().filter(|(name, value)| !is_own(name, value));
    let told: Vec<String> = told.map(|(name, value)| format!("{name} {value}")).collect();
    if told.is_empty() { String::new() } else { format!("with {}\n", told.join(", ")) }
}

/// Dependencies by kind.
fn between_workers(dependencies: &Dependencies) -> String {
    let by_kind = DependencyKind::ALL.map(|kind| {
        let count = dependencies.of(kind);
        let none = if count.possible { "" } else { " (none possible)" };
        format!("{} {}{none}", thousands(count.between_workers as f64), kind.name())
    });
    format!("dependencies between transactions of different workers: {}", by_kind.join(", "))
}

/// What was found in a checked run.
fn findings(summary: &CheckSummary) -> String {
    let mut text = String::new();
    if let Some(verdict) = &summary.verdict {
        let _ = writeln!(text, "{verdict}\n{}", between_workers(&verdict.dependencies));
    }
    if let Some(judgement) = &summary.judgement {
        let _ = writeln!(text, "{judgement}");
    }
    if let Some(ns) = summary.clocks_within_ns {
        let us = ns as f64 / 1e3;
        let _ = writeln!(
            text,
            "times of several hosts are compared to within {us:.1} us, those of one as they are"
        );
    }
    // The first one is the verdict above.
    for check in summary.checks.iter().skip(1).filter(|check| !check.passed) {
        let _ = writeln!(text, "{}: {}", check.name, check.detail);
    }
    text
}

/// Every system, ranked. `folder` is where it was laid down.
pub fn of_comparison(result: &CompareResult<'_>, folder: Option<&Folder>) -> String {
    let head = ["", "architecture", "protocol", "txn/s", "spread", "aborts/commit", "p99", "vs best", "95 %"];
    let mut table = ruled(&head, &[0, 3, 4, 5, 6, 7, 8]);
    for (position, system) in result.systems.iter().enumerate() {
        let summary = &system.summary;
        let interval = result.beside_best[position].ratio;
        table.add_row([
            result.place(position),
            summary.architecture.clone(),
            summary.protocol_shown().to_owned(),
            thousands(summary.throughput_per_s),
            summary.spread_shown(),
            ratio(summary.abort_rate),
            latency_if_any(summary.latency_ns.as_ref().map(|of| of.p99)),
            part_of_best(result.ratio_to_best(summary)),
            interval
                .map_or(String::new(), |of| format!("{} to {}", part_of_best(of.low), part_of_best(of.high))),
        ]);
    }
    let place = &result.subject.place;
    let simulated = if place.simulated { format!("on {}\n\n", place.shown()) } else { String::new() };
    let mut text =
        format!("{simulated}{}\n{}; {}.\n\n{table}\n", result.finding(), result.extras(), result.turns);
    let summaries: Vec<&Summary> = result.systems.iter().map(|system| &system.summary).collect();
    text.push_str(&counted_by_processor(&summaries));
    if let Some(mark) = result.mark() {
        let _ = writeln!(text, "{mark}");
    }
    for line in in_lines(&result.unmeasured) {
        let _ = writeln!(text, "not measured: {line}");
    }
    finish(text, &result.warnings(), folder)
}

/// What the systems took of their processors, where that is told.
fn counted_by_processor(summaries: &[&Summary]) -> String {
    let costs = CostDescription::counted_by_processor(summaries);
    if costs.is_empty() {
        return String::new();
    }
    let head: Vec<&str> =
        ["architecture", "protocol"].into_iter().chain(costs.iter().map(|cost| cost.heading)).collect();
    let mut table = ruled(&head, &(2..head.len()).collect::<Vec<_>>());
    for summary in summaries {
        let system = [summary.architecture.clone(), summary.protocol_shown().to_owned()];
        table.add_row(system.into_iter().chain(costs.iter().map(|cost| cost.shown_of(summary))));
    }
    format!("\n{table}\n")
}

/// What to take on each machine.
pub fn of_advice(advice: &Advice, warnings: &[String], folder: Option<&Folder>) -> String {
    let mut text = format!("Which system for {}? Durability {}", advice.workload, advice.durability);
    if let Some(us) = advice.latency_goal_us {
        let _ = write!(text, ", 99 of 100 transactions within {}", latency((us * 1e3) as u64));
    }
    let interrupted = if advice.interrupted { "; interrupted: some of it is missing" } else { "" };
    let _ = writeln!(text, ". Told in {:.0} s{interrupted}.", advice.took_s);
    let head = ["", "system", "workers", "partitions", "txn/s", "vs best", "p99", "aborts/commit", "waiting"];
    for machine in &advice.machines {
        let mut table = ruled(&head, &[0, 2, 3, 4, 5, 6, 7, 8]);
        for (position, row) in machine.ranking.iter().enumerate() {
            let mark = if position > 0 && !row.figures.is_told_apart { "~" } else { "" };
            table.add_row([
                format!("{}{mark}", position + 1),
                row.system.clone(),
                row.workers.to_string(),
                row.partitions.to_string(),
                thousands(row.figures.throughput_per_s),
                part_of_best(row.part_of_best),
                latency_if_any(row.figures.latency_p99_ns),
                ratio(row.abort_rate),
                percent(row.time_share.wait),
            ]);
        }
        let finding = machine.finding.iter().map(|sentence| format!("  {sentence}\n")).collect::<String>();
        let _ = write!(text, "\non {}\n{finding}\n{table}\n", machine.shown());
        if machine.ranking.iter().skip(1).any(|row| !row.figures.is_told_apart) {
            text += "~ is not told apart from the best\n";
        }
        for row in machine.ranking.iter().filter(|row| !row.failed_checks.is_empty()) {
            let _ = writeln!(text, "FAILED: {} under {}", row.failed_checks.join(", "), row.system);
        }
        let _ = writeln!(text, "again: {}", machine.ranking[0].figures.command);
        if let Some(levels) = machine.durability_levels.as_ref().filter(|levels| !levels.tried.is_empty()) {
            text += &of_levels(levels);
        }
    }
    finish(text, warnings, folder)
}

/// What levels of durability cost.
fn of_levels(levels: &Levels) -> String {
    let mut table = ruled(&["durability", "txn/s", "vs none", "p99", "a commit survives"], &[1, 2, 3]);
    for level in &levels.tried {
        table.add_row([
            level.level.clone(),
            thousands(level.figures.throughput_per_s),
            part_of_best(level.part_of_none),
            latency_if_any(level.figures.latency_p99_ns),
            level.survives.to_owned(),
        ]);
    }
    format!("\n{table}\n")
}

/// Every point of a sweep.
pub fn of_sweep(experiment: &Experiment, conducted: &Conducted, folder: &Folder) -> String {
    let axes: Vec<&str> = experiment.axes.iter().map(|axis| axis.name.as_str()).collect();
    let head: Vec<&str> = axes.iter().copied().chain(["txn/s", "spread", "aborts/commit", "p99"]).collect();
    let numbers: Vec<usize> = (axes.len()..head.len()).collect();
    let mut table = ruled(&head, &numbers);
    for point in &conducted.points {
        let summary = &point.summary;
        let mut row: Vec<String> = axes.iter().map(|axis| point.at[*axis].clone()).collect();
        row.extend([
            thousands(summary.throughput_per_s),
            summary.spread_shown(),
            ratio(summary.abort_rate),
            latency_if_any(summary.latency_ns.as_ref().map(|of| of.p99)),
        ]);
        table.add_row(row);
    }
    let simulated = conducted.points.iter().find(|point| point.summary.simulated);
    let on = simulated.map_or(String::new(), |point| format!(", on {}", shown(&point.summary.machine, true)));
    let mut text = format!("{}{on}\n{}\n\n{table}\n", experiment.title, conducted.taken);
    if let Some(claim) = &conducted.claim {
        let _ = writeln!(text, "claim: {}", claim.trim());
    }
    for claim in &conducted.claims {
        text.push_str(&of_claim(claim, ""));
    }
    text.push_str(&of_sum(&Sum::of(&conducted.claims), 0));
    for line in in_lines(&conducted.left_out) {
        let _ = writeln!(text, "left out: {line}");
    }
    finish(text, &conducted.warnings, Some(folder))
}

/// A simulated machine beside the one that it describes, workload by workload.
pub fn of_validation(validation: &Validation) -> String {
    let mut text = format!(
        "{}: measured here, and simulated, in {}\n",
        validation.machine,
        counted(validation.rounds, "round")
    );
    let same =
        |one: &Compared, other: &Compared| (&one.workload, &one.setting) == (&other.workload, &other.setting);
    for rows in validation.rows.chunk_by(same) {
        let _ = write!(text, "\n{} {}\n\n{}\n", rows[0].workload, rows[0].setting, compared(rows));
    }
    let order = validation.order_kept.map_or("no two systems differ by a fifth".to_owned(), |kept| {
        format!(
            "of the systems that differ by a fifth or more, {} stand in the order measured",
            percent(kept)
        )
    });
    let _ = write!(
        text,
        "\nsimulated throughput is off by a factor of {:.2} in the geometric mean, {:.2} at worst; {order}\nthe rounds on \
         the hardware are off their medians by {:.3}\n\n{}\n{}",
        validation.mean_factor,
        validation.worst_factor,
        validation.hardware_spread,
        model_errors(&validation.errors, &validation.comparisons),
        deployments(validation)
    );
    finish(text, &validation.warnings, None)
}

fn compared(rows: &[Compared]) -> Table {
    let head = [
        "architecture",
        "protocol",
        "workers",
        "channel",
        "measured/s",
        "from",
        "to",
        "simulated/s",
        "ratio",
        "mean",
        "simulated",
        "aborts/commit",
        "simulated",
    ];
    let mut table = ruled(&head, &[2, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    for row in rows {
        let mean = |of: fn(&Both) -> f64| {
            row.mean_ns.map_or(String::new(), |both| latency(of(&both).round() as u64))
        };
        table.add_row([
            row.architecture.clone(),
            names::protocol(&row.architecture, &row.protocol).to_owned(),
            row.workers.to_string(),
            row.channel.map_or(String::new(), |channel| format!("{channel}, {} instances", row.instances)),
            thousands(row.measured_per_s),
            thousands(row.measured_min),
            thousands(row.measured_max),
            thousands(row.simulated_per_s),
            format!("{:.2}", row.ratio),
            mean(|both| both.measured),
            mean(|both| both.simulated),
            ratio(row.abort_rate.measured),
            ratio(row.abort_rate.simulated),
        ]);
    }
    table
}

/// The errors of deployments, which are told apart from those of one instance.
fn deployments(validation: &Validation) -> String {
    let Some(KindErrors { deployed, errors, comparisons, .. }) = &validation.deployments else {
        return String::new();
    };
    format!(
        "\nthat is of systems of one instance; deployments ({deployed}), and what is compared with them, are off by\n\n{}\n",
        model_errors(errors, comparisons)
    )
}

/// How far the model is off, by what is asked of it.
fn model_errors(errors: &BTreeMap<String, ModelError>, all: &BTreeMap<String, Comparisons>) -> Table {
    let head =
        ["off by a factor, of so many", "a value", "two systems at one point", "one system at two points"];
    let mut table = ruled(&head, &[1, 2, 3]);
    for (measure, comparisons) in all {
        let error = errors.get(measure);
        let cell = |factor: Option<f64>, of: usize| match factor {
            Some(factor) => format!("{factor:.2}  ({of})"),
            None => format!("not told  ({of})"),
        };
        table.add_row([
            measure.clone(),
            cell(error.map(|error| error.value), comparisons.value),
            cell(error.map(|error| error.between_systems), comparisons.between_systems),
            cell(error.map(|error| error.along), comparisons.along),
        ]);
    }
    table
}

/// A figure of a paper, and what became of its claims.
pub fn of_figure(name: &str, place: &Place, conducted: &Conducted, folder: &Path) -> String {
    let mut text = format!("{name}, on {}: {}\n  {}\n", place.shown(), conducted.title, conducted.taken);
    for claim in &conducted.claims {
        text.push_str(&of_claim(claim, "  "));
    }
    for warning in &conducted.warnings {
        let _ = writeln!(text, "  warning: {warning}");
    }
    let _ = writeln!(text, "  report: {}\n", folder.join("report.html").display());
    text
}

/// A claim, the paper's words, and what came of it; each line after `margin`.
fn of_claim(claim: &Told, margin: &str) -> String {
    let standing = match &claim.standing {
        Standing::Paper => String::new(),
        other => format!(" ({other})"),
    };
    let mut text = format!("{margin}{}: {}{standing}\n", claim.outcome(), claim.that);
    if let Some(source) = claim.source() {
        let _ = writeln!(text, "{margin}    {source}");
    }
    let _ = writeln!(text, "{margin}    {}", claim.whole_reason());
    text
}

/// How many claims came out how, and of how many figures there is nothing to judge them by.
pub fn of_sum(sum: &Sum, missing: usize) -> String {
    let mut text: String = sum.sentences().iter().map(|sentence| format!("{sentence}\n")).collect();
    if missing > 0 {
        let _ = writeln!(text, "Not run yet, and not judged: {}.", counted(missing, "figure"));
    }
    text
}

/// A table with these heads, of which `numbers` stand to the right. In a window that is too narrow for it, cells take several lines.
pub fn ruled(head: &[&str], numbers: &[usize]) -> Table {
    let mut table = Table::new();
    table.load_style(RULED);
    match narrow::columns() {
        Some(columns) => {
            table.set_content_arrangement(ContentArrangement::Dynamic);
            table.set_width(columns.try_into().unwrap_or(u16::MAX));
        }
        None => {
            table.set_content_arrangement(ContentArrangement::Disabled);
        }
    }
    table.set_header(head.iter().copied());
    for &column in numbers {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

fn finish(text: String, warnings: &[String], folder: Option<&Folder>) -> String {
    finish_in(None, text, warnings, folder)
}

fn finish_in(
    columns: Option<usize>,
    mut text: String,
    warnings: &[String],
    folder: Option<&Folder>,
) -> String {
    for warning in warnings {
        let _ = write!(text, "\n{}", wrapped(&format!("warning: {warning}"), columns, 2));
    }
    if !warnings.is_empty() {
        text.push('\n');
    }
    if let Some(folder) = folder {
        let _ =
            writeln!(text, "\n{}", wrapped(&format!("report: {}", folder.report().display()), columns, 2));
    }
    text
}
