//! What people read: a table as `trireme compare` prints it, and a verdict as `trireme check` does.

use comfy_table::{CellAlignment, ContentArrangement, Table};
use comfy_table::{LineStyle, TableStyle};
use contract::EngineOptions;
use harness::check::CheckSummary;
use harness::results::CompareResult;
use harness::summary::in_lines;
use harness::text::numbers::{latency_if_any, part_of_best, percent, ratio, thousands};
use std::fmt::Write;

/// A rule below the heads, and nothing else.
const RULED: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// Every system, ranked; what was checked; what is odd.
pub fn of_comparison(result: &CompareResult<'_>) -> String {
    let head =
        ["", "system", "txn/s", "spread", "aborts/commit", "p50", "p99", "messages/txn", "vs best", "95 %"];
    let mut table = Table::new();
    table.load_style(RULED);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(head);
    for column in [0].into_iter().chain(2..head.len()) {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for (position, system) in result.systems.iter().enumerate() {
        let summary = &system.summary;
        let quantile = |of: Option<u64>| latency_if_any(of);
        table.add_row([
            result.place(position),
            summary.system(),
            thousands(summary.throughput_per_s),
            percent(summary.spread()),
            ratio(summary.abort_rate),
            quantile(summary.latency_ns.as_ref().map(|of| of.p50)),
            quantile(summary.latency_ns.as_ref().map(|of| of.p99)),
            summary.costs.messages_per_txn.map_or(String::new(), ratio),
            part_of_best(result.ratio_to_best(summary)),
            result.beside_best[position]
                .ratio
                .map_or(String::new(), |of| format!("{} to {}", part_of_best(of.low), part_of_best(of.high))),
        ]);
    }
    let mut text = format!("{}\n{}.\n\n{table}\n", result.finding(), result.turns);
    if let Some(mark) = result.mark() {
        let _ = writeln!(text, "{mark}");
    }
    for line in in_lines(&result.unmeasured) {
        let _ = writeln!(text, "not measured: {line}");
    }
    for system in &result.systems {
        let summary = &system.summary;
        let _ = writeln!(text, "retries of {}: {}", summary.system(), back_off(&summary.engine));
    }
    for system in &result.systems {
        let checks = system.summary.checks.iter().map(|check| match check.passed {
            true => check.name.clone(),
            false => format!("{} FAILED: {}", check.name, check.detail),
        });
        let _ = writeln!(
            text,
            "checks of {}: {}",
            system.summary.system(),
            checks.collect::<Vec<_>>().join(", ")
        );
    }
    for warning in result.warnings() {
        let _ = writeln!(text, "warning: {warning}");
    }
    text
}

/// How long is waited before a retry.
fn back_off(engine: &EngineOptions) -> String {
    match (engine.back_off_first_ns, engine.back_off_cap_ns) {
        (_, 0) => "at once".to_owned(),
        (first, cap) => {
            format!(
                "after up to {}, doubled up to {}",
                latency_if_any(Some(first)),
                latency_if_any(Some(cap))
            )
        }
    }
}

/// What was run, what was found, and what that comes to.
pub fn of_check(summary: &CheckSummary) -> String {
    let mut text = format!(
        "{} over {}, {} workers, seed {}\n{} commits, {} aborts, {} user rollbacks; retries {}\n\n",
        summary.system(),
        summary.workload,
        summary.workers,
        summary.engine.seed,
        thousands(summary.commits as f64),
        thousands(summary.aborts.values().sum::<u64>() as f64),
        thousands(summary.user_rollbacks as f64),
        back_off(&summary.engine),
    );
    if let Some(verdict) = &summary.verdict {
        let _ = writeln!(text, "{verdict}");
    }
    if let Some(judgement) = &summary.judgement {
        let _ = writeln!(text, "{judgement}");
    }
    // The first one is the verdict above.
    for check in summary.checks.iter().skip(1).filter(|check| !check.passed) {
        let _ = writeln!(text, "{}: {}", check.name, check.detail);
    }
    if let Some(too_little) = &summary.too_little {
        let _ = writeln!(text, "too little happened: {too_little}");
    }
    let _ = writeln!(text, "\n{}", summary.outcome());
    text
}
