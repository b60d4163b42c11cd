//! Tables that several reports have.

use super::page::{Block, Cell};
use crate::summary::{Check, Summary, Unmeasured};
use crate::text::numbers::{latency, percent, ratio, thousands};

/// What the spread among [`NUMBERS`] is.
pub const SPREAD: &str = "Spread is from the slowest to the fastest repetition, as a part of the median.";

/// The heads of [`numbers`].
pub const NUMBERS: [&str; 6] = ["txn/s", "spread", "aborts per commit", "p50", "p99", "p99.9"];

/// One system's numbers.
pub fn numbers(summary: &Summary) -> [Cell; 6] {
    let latencies = &summary.latency_ns;
    [
        thousands(summary.throughput_per_s),
        percent(summary.spread()),
        ratio(summary.abort_rate),
        latency(latencies.p50),
        latency(latencies.p99),
        latency(latencies.p999),
    ]
    .map(Cell::number)
}

/// Pairs of the matrix that have no numbers, and why.
pub fn unmeasured(title: &str, pairs: &[Unmeasured]) -> Block {
    let row = |pair: &Unmeasured| {
        vec![Cell::words(&pair.architecture), Cell::words(&pair.protocol), Cell::prose(&pair.why)]
    };
    Block::Table {
        title: title.to_owned(),
        note: "Pairs of the matrix that the engine does not have, and why.".to_owned(),
        head: ["architecture", "protocol", "why"].map(Cell::words).into(),
        rows: pairs.iter().map(row).collect(),
    }
}

/// What was checked; `note` says when.
pub fn checks(note: &str, checks: &[Check]) -> Block {
    let row = |check: &Check| {
        let verdict = if check.passed { "passed" } else { "FAILED" };
        vec![Cell::words(&check.name), Cell::words(verdict), Cell::prose(&check.detail)]
    };
    Block::Table {
        title: "Checks".to_owned(),
        note: note.to_owned(),
        head: ["check", "verdict", "found"].map(Cell::words).into(),
        rows: checks.iter().map(row).collect(),
    }
}
