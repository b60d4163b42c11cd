//! The report of `compare`.

use super::page::{Block, Cell, Page};
use super::{facts, figures, footer, render, series, tables};
use crate::results::{CompareResult, System};
use crate::summary::{Summary, noise};
use crate::text::durations;
use crate::text::numbers::{counted, part_of_best};

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
    blocks.extend(series::of_systems(&result.systems));
    blocks.extend(tables::kinds_of_systems(&summaries));
    blocks.extend(tables::costs(&summaries));
    let bars: Vec<(String, &Summary)> =
        summaries.iter().map(|summary| (summary.system(), *summary)).collect();
    blocks.extend(figures::threads("", &bars));
    blocks.extend(tables::chosen_threads(&summaries));
    blocks.extend(tables::instances_of_systems(&summaries));
    blocks.push(tables::checks_of_all("systems", &bars));
    if !result.unmeasured.is_empty() {
        blocks.push(tables::unmeasured("Not measured", &result.unmeasured));
    }
    blocks.push(facts::parameters(result.subject));
    blocks.push(facts::environment(&result.surroundings.environment, result.subject.place.simulated));
    render(&Page {
        trail: Vec::new(),
        title: format!("Comparison of systems over {}", result.subject.workload),
        command: result.surroundings.command.clone(),
        lead: lead(result),
        finding: std::iter::once(result.finding()).chain(noise::verdict(summaries)).collect(),
        claim: None,
        simulated: result.subject.place.simulated,
        warnings: result.warnings(),
        blocks,
        footer: footer(result.surroundings, result.subject.place.simulated),
    })
}

fn lead(result: &CompareResult<'_>) -> String {
    let (options, place) = (&result.subject.options, &result.subject.place);
    let median = if options.repeat == 1 { "" } else { "the median of " };
    format!(
        "{}, {} on {}; {median}{} of {} after {} of warm-up; {}; {}.",
        counted(result.systems.len(), "system"),
        counted(options.workers, "worker"),
        place.shown(),
        counted(options.repeat, "repetition"),
        durations::show(options.duration),
        durations::show(options.warmup),
        result.turns,
        result.extras(),
    )
}

fn ranking_table(result: &CompareResult<'_>) -> Block {
    let mut head = vec![Cell::number("rank"), Cell::words("architecture"), Cell::words("protocol")];
    head.extend(tables::NUMBERS.into_iter().chain(["vs best", "95 %"]).map(Cell::number));
    let row = |(position, system): (usize, &System)| {
        let summary = &system.summary;
        let mut cells = vec![
            Cell::number(result.place(position)),
            Cell::words(&summary.architecture),
            Cell::words(summary.protocol_shown()),
        ];
        cells.extend(tables::numbers(summary));
        cells.push(Cell::number(part_of_best(result.ratio_to_best(summary))));
        let interval = result.beside_best[position].ratio;
        let interval = interval
            .map_or(String::new(), |of| format!("{} to {}", part_of_best(of.low), part_of_best(of.high)));
        cells.push(Cell::number(interval));
        cells
    };
    Block::Table {
        title: "Ranking".to_owned(),
        note: format!(
            "{} Ranked by the median{}. The interval is that of the ratio to the best (repetitions compared round by round, with the \
             noise of all systems that are noisy alike; of the others with their own).{} {}",
            tables::SPREAD,
            result.mark().map_or(String::new(), |mark| format!("; {mark}")),
            result.between_groups(),
            result.systems.first().map_or(String::new(), |system| tables::what_latency_is(&system.summary))
        ),
        head,
        rows: result.systems.iter().enumerate().map(row).collect(),
    }
}
