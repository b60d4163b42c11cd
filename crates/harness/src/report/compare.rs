//! The report of `compare`.

use super::page::{Block, Cell, Page};
use super::{facts, figures, footer, render};
use crate::results::{CompareResult, System};
use crate::summary::Summary;
use crate::text::durations;
use crate::text::numbers::{latency, percent, ratio, thousands};

/// The page.
pub fn of_comparison(result: &CompareResult<'_>) -> String {
    let summaries: Vec<&Summary> = result.systems.iter().map(|system| &system.summary).collect();
    let mut blocks = vec![
        figures::ranking(&result.systems),
        ranking_table(result),
        figures::time_share(&summaries),
        figures::latency_curves(&result.systems),
        figures::aborts(&summaries),
    ];
    if !result.unmeasured.is_empty() {
        blocks.push(unmeasured(result));
    }
    blocks.push(facts::parameters(result.subject));
    blocks.push(facts::environment(&result.surroundings.environment));
    render(&Page {
        title: format!("Comparison of systems over {}", result.subject.workload),
        command: result.surroundings.command.clone(),
        lead: lead(result),
        finding: finding(&summaries),
        claim: None,
        warnings: result.warnings(),
        blocks,
        footer: footer(&result.surroundings.began),
    })
}

fn lead(result: &CompareResult<'_>) -> String {
    let (options, place) = (&result.subject.options, &result.subject.place);
    format!(
        "{} systems, {} {} on {}; the median of {} repetitions of {} after {} of warm-up, interleaved.",
        result.systems.len(),
        options.workers,
        if options.workers == 1 { "worker" } else { "workers" },
        place.machine,
        options.repeat,
        durations::show(options.duration),
        durations::show(options.warmup),
    )
}

/// Who is fastest, and whether the repetitions bear that out.
fn finding(ranked: &[&Summary]) -> Vec<String> {
    let Some((best, others)) = ranked.split_first() else { return Vec::new() };
    let mut sentences = vec![format!(
        "{} is fastest, with {} transactions per second.",
        best.system(),
        thousands(best.throughput_per_s)
    )];
    if let Some(second) = others.first() {
        let overlap = second.throughput_max >= best.throughput_min;
        sentences.push(if second.throughput_per_s == 0.0 {
            format!("{} committed nothing.", second.system())
        } else if overlap {
            format!("Its repetitions overlap with those of {}: that order is not certain.", second.system())
        } else {
            format!(
                "That is {} times as fast as {}, and their repetitions do not overlap.",
                ratio(best.throughput_per_s / second.throughput_per_s),
                second.system()
            )
        });
    }
    sentences
}

fn ranking_table(result: &CompareResult<'_>) -> Block {
    let numbers =
        ["txn/s", "spread", "aborts per commit", "p50", "p99", "p99.9", "vs best"].map(Cell::number);
    let mut head = vec![Cell::number("rank"), Cell::words("architecture"), Cell::words("protocol")];
    head.extend(numbers);
    let row = |(rank, System { summary, .. }): (usize, &System)| {
        let mut cells = vec![
            Cell::number((rank + 1).to_string()),
            Cell::words(&summary.architecture),
            Cell::words(&summary.protocol),
        ];
        let latencies = &summary.latency_ns;
        cells.extend(
            [
                thousands(summary.throughput_per_s),
                percent(summary.spread()),
                ratio(summary.abort_rate),
                latency(latencies.p50),
                latency(latencies.p99),
                latency(latencies.p999),
                format!("{:.2}", result.ratio_to_best(summary)),
            ]
            .map(Cell::number),
        );
        cells
    };
    Block::Table {
        title: "Ranking".to_owned(),
        note: "Spread is from the slowest to the fastest repetition, as a part of the median.".to_owned(),
        head,
        rows: result.systems.iter().enumerate().map(row).collect(),
    }
}

fn unmeasured(result: &CompareResult<'_>) -> Block {
    let row = |pair: &crate::summary::Unmeasured| {
        vec![Cell::words(&pair.architecture), Cell::words(&pair.protocol), Cell::prose(&pair.why)]
    };
    Block::Table {
        title: "Not measured".to_owned(),
        note: "Pairs of the matrix that the engine does not have, and why.".to_owned(),
        head: ["architecture", "protocol", "why"].map(Cell::words).into(),
        rows: result.unmeasured.iter().map(row).collect(),
    }
}
