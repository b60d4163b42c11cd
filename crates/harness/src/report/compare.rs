//! The report of `compare`.

use super::page::{Block, Cell, Page};
use super::{facts, figures, footer, render, tables};
use crate::results::{CompareResult, System};
use crate::summary::Summary;
use crate::text::durations;
use crate::text::numbers::{counted, ratio, thousands};

/// The page.
pub fn of_comparison(result: &CompareResult<'_>) -> String {
    let summaries: Vec<&Summary> = result.systems.iter().map(|system| &system.summary).collect();
    let mut blocks = vec![
        figures::ranking(&result.systems),
        ranking_table(result),
        figures::time_share(&summaries),
        figures::latency_curves(&result.systems),
        figures::aborts(&summaries),
        tables::costs(&summaries),
    ];
    if !result.unmeasured.is_empty() {
        blocks.push(tables::unmeasured("Not measured", &result.unmeasured));
    }
    blocks.push(facts::parameters(result.subject));
    blocks.push(facts::environment(&result.surroundings.environment));
    render(&Page {
        title: format!("Comparison of systems over {}", result.subject.workload),
        command: result.surroundings.command.clone(),
        lead: lead(result),
        finding: finding(&summaries),
        claim: None,
        simulated: result.subject.place.simulated,
        warnings: result.warnings(),
        blocks,
        footer: footer(&result.surroundings.began),
    })
}

fn lead(result: &CompareResult<'_>) -> String {
    let (options, place) = (&result.subject.options, &result.subject.place);
    let median = if options.repeat == 1 { "" } else { "the median of " };
    format!(
        "{}, {} on {}; {median}{} of {} after {} of warm-up, interleaved.",
        counted(result.systems.len(), "system"),
        counted(options.workers, "worker"),
        place.shown(),
        counted(options.repeat, "repetition"),
        durations::show(options.duration),
        durations::show(options.warmup),
    )
}

/// Who is fastest, and whether the repetitions bear that out.
fn finding(ranked: &[&Summary]) -> Vec<String> {
    let Some((best, others)) = ranked.split_first() else { return Vec::new() };
    if best.throughput_per_s == 0.0 {
        return vec!["No system committed anything.".to_owned()];
    }
    let mut sentences = vec![format!(
        "{} is fastest, with {} transactions per second.",
        best.system(),
        thousands(best.throughput_per_s)
    )];
    sentences.extend(others.first().map(|second| lead_over(best, second)));
    sentences
}

fn lead_over(best: &Summary, second: &Summary) -> String {
    if second.throughput_per_s == 0.0 {
        return format!("{} committed nothing.", second.system());
    }
    let times = ratio(best.throughput_per_s / second.throughput_per_s);
    let second_name = second.system();
    if best.repetitions == 1 {
        format!(
            "That is {times} times as fast as {second_name}; one repetition does not tell whether by chance."
        )
    } else if second.throughput_max >= best.throughput_min {
        format!("Its repetitions overlap with those of {second_name}: that order is not certain.")
    } else {
        format!("That is {times} times as fast as {second_name}, and their repetitions do not overlap.")
    }
}

fn ranking_table(result: &CompareResult<'_>) -> Block {
    let mut head = vec![Cell::number("rank"), Cell::words("architecture"), Cell::words("protocol")];
    head.extend(tables::NUMBERS.into_iter().chain(["vs best"]).map(Cell::number));
    let row = |(rank, System { summary, .. }): (usize, &System)| {
        let mut cells = vec![
            Cell::number((rank + 1).to_string()),
            Cell::words(&summary.architecture),
            Cell::words(&summary.protocol),
        ];
        cells.extend(tables::numbers(summary));
        cells.push(Cell::number(format!("{:.2}", result.ratio_to_best(summary))));
        cells
    };
    Block::Table {
        title: "Ranking".to_owned(),
        note: tables::SPREAD.to_owned(),
        head,
        rows: result.systems.iter().enumerate().map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::some_summary;

    fn with(low: f64, median: f64, high: f64, repetitions: usize) -> Summary {
        Summary {
            throughput_min: low,
            throughput_per_s: median,
            throughput_max: high,
            repetitions,
            ..some_summary()
        }
    }

    #[test]
    fn the_finding_claims_no_more_than_the_repetitions_bear_out() {
        let found = |best: &Summary, second: &Summary| finding(&[best, second]).join(" ");
        let best = with(1900.0, 2000.0, 2100.0, 3);
        let apart = found(&best, &with(900.0, 1000.0, 1100.0, 3));
        assert!(apart.contains("2.00 times as fast") && apart.ends_with("do not overlap."), "{apart}");
        assert!(found(&best, &with(1800.0, 1850.0, 1950.0, 3)).ends_with("not certain."));
        assert!(found(&best, &with(0.0, 0.0, 0.0, 3)).ends_with("committed nothing."));
        let once = found(&with(2000.0, 2000.0, 2000.0, 1), &with(1000.0, 1000.0, 1000.0, 1));
        assert!(!once.contains("overlap") && once.ends_with("by chance."), "{once}");
        let nothing = with(0.0, 0.0, 0.0, 3);
        assert_eq!(found(&nothing, &nothing), "No system committed anything.");
        assert!(finding(&[]).is_empty());
    }
}
