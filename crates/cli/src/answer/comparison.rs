//! Several systems beside each other: the ranking, and what each took of its processor.

use super::{finish, ruled};
use harness::folder::Folder;
use harness::results::CompareResult;
use harness::summary::{CostDescription, Summary, in_lines};
use harness::text::numbers::{latency_if_any, part_of_best, ratio, thousands};
use std::fmt::Write;

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
