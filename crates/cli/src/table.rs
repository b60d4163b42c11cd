//! What a person reads at the end, on standard output.

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use harness::folder::Folder;
use harness::measure::warnings;
use harness::results::{CompareResult, System};
use harness::summary::Summary;
use harness::sweep::{Conducted, Experiment};
use harness::text::numbers::{latency, percent, ratio, thousands};
use std::fmt::Write;

/// A rule below the heads, and nothing else.
const RULED: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// One system.
pub fn of_run(summary: &Summary, folder: &Folder) -> String {
    let times = &summary.time_share;
    let aborts: Vec<String> = summary
        .aborts
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(reason, count)| format!("{reason} {}", thousands(*count as f64)))
        .collect();
    let aborts = if aborts.is_empty() { String::new() } else { format!("  ({})", aborts.join(", ")) };
    let latencies = &summary.latency_ns;
    let checks = summary.checks.iter().map(|check| {
        if check.passed { check.name.clone() } else { format!("{} FAILED: {}", check.name, check.detail) }
    });
    let lines = [
        ("throughput", format!("{} transactions/s", thousands(summary.throughput_per_s))),
        (
            "",
            format!(
                "{} to {} over {} repetitions, spread {}",
                thousands(summary.throughput_min),
                thousands(summary.throughput_max),
                summary.repetitions,
                percent(summary.spread())
            ),
        ),
        ("commits", thousands(summary.commits as f64)),
        ("aborts per commit", format!("{}{aborts}", ratio(summary.abort_rate))),
        ("user rollbacks", thousands(summary.user_rollbacks as f64)),
        (
            "latency",
            format!(
                "p50 {}  p99 {}  p99.9 {}  max {}",
                latency(latencies.p50),
                latency(latencies.p99),
                latency(latencies.p999),
                latency(latencies.max)
            ),
        ),
        (
            "time",
            format!(
                "useful {}  abort {}  timestamp {}  index {}  wait {}  manager {}",
                percent(times.useful),
                percent(times.abort),
                percent(times.timestamp),
                percent(times.index),
                percent(times.wait),
                percent(times.manager)
            ),
        ),
        ("checked", checks.collect::<Vec<_>>().join(", ")),
    ];
    let workers = if summary.workers == 1 { "worker" } else { "workers" };
    let mut text = format!(
        "{} over {}, {} {workers} on {}\n\n",
        summary.system(),
        summary.workload,
        summary.workers,
        summary.machine
    );
    for (name, value) in lines {
        let _ = writeln!(text, "  {name:<18} {value}");
    }
    finish(text, &summary.warnings, folder)
}

/// Every system, ranked.
pub fn of_comparison(result: &CompareResult<'_>, folder: &Folder) -> String {
    let head = ["", "architecture", "protocol", "txn/s", "spread", "aborts/commit", "p99", "vs best"];
    let mut table = ruled(&head, &[0, 3, 4, 5, 6, 7]);
    for (rank, System { summary, .. }) in result.systems.iter().enumerate() {
        table.add_row([
            (rank + 1).to_string(),
            summary.architecture.clone(),
            summary.protocol.clone(),
            thousands(summary.throughput_per_s),
            percent(summary.spread()),
            ratio(summary.abort_rate),
            latency(summary.latency_ns.p99),
            format!("{:.2}", result.ratio_to_best(summary)),
        ]);
    }
    let mut text = format!("{table}\n");
    for pair in &result.unmeasured {
        let _ = writeln!(text, "not measured: {} {}: {}", pair.architecture, pair.protocol, pair.why);
    }
    finish(text, &result.warnings(), folder)
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
            percent(summary.spread()),
            ratio(summary.abort_rate),
            latency(summary.latency_ns.p99),
        ]);
        table.add_row(row);
    }
    let mut text = format!("{}\n\n{table}\n", experiment.title);
    if let Some(claim) = &conducted.claim {
        let _ = writeln!(text, "claim: {}", claim.trim());
    }
    for pair in &conducted.left_out {
        let _ = writeln!(text, "left out: {} {}: {}", pair.architecture, pair.protocol, pair.why);
    }
    let summaries: Vec<&Summary> = conducted.points.iter().map(|point| &point.summary).collect();
    finish(text, &warnings::of_points(&summaries), folder)
}

fn ruled(head: &[&str], numbers: &[usize]) -> Table {
    let mut table = Table::new();
    table.load_style(RULED);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(head.iter().copied());
    for &column in numbers {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

fn finish(mut text: String, warnings: &[String], folder: &Folder) -> String {
    for warning in warnings {
        let _ = write!(text, "\nwarning: {warning}");
    }
    if !warnings.is_empty() {
        text.push('\n');
    }
    let _ = writeln!(text, "\nreport: {}", folder.report().display());
    text
}
