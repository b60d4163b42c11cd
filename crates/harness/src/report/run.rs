//! The report of `run`.

use super::page::{Block, Page, Tile};
use super::{facts, figures, footer, render, series, tables};
use crate::options::extras;
use crate::results::RunResult;
use crate::summary::{Latency, LatencyOf, Logged, Summary, noise};
use crate::text::durations;
use crate::text::numbers::{counted, latency, latency_if_any, percent, ratio, short, thousands};
use std::slice;

/// The page.
pub fn of_run(result: &RunResult<'_>) -> String {
    let system = slice::from_ref(&result.system);
    let summary = &result.system.summary;
    let (options, place) = (&result.subject.options, &result.subject.place);
    render(&Page {
        trail: Vec::new(),
        title: format!("{} over {}", summary.system(), result.subject.workload),
        command: result.surroundings.command.clone(),
        lead: format!(
            "{} on {}; {} of {} after {} of warm-up; {}.",
            counted(options.workers, "worker"),
            place.shown(),
            counted(options.repeat, "repetition"),
            durations::show(options.duration),
            durations::show(options.warmup),
            extras(&summary.engine, summary.pair().as_slice()),
        ),
        finding: noise::verdict([summary]).into_iter().collect(),
        claim: None,
        simulated: place.simulated,
        warnings: summary.warnings.clone(),
        blocks: [
            Block::Tiles { tiles: tiles(summary) },
            figures::repetitions(&result.system),
            figures::time_share(&[summary]),
            figures::latency_curves(system),
        ]
        .into_iter()
        .chain(series::over_time(&result.system))
        .chain(tables::kinds(summary))
        .chain([figures::aborts(&[summary])])
        .chain(tables::costs(&[summary]))
        .chain(figures::threads("", &[(summary.system(), summary)]))
        .chain(tables::chosen_threads(&[summary]))
        .chain(tables::instances_of_systems(&[summary]))
        .chain(logged(summary))
        .chain([
            counts(summary),
            tables::checks("What must hold after every repetition.", &summary.checks),
            facts::parameters(result.subject),
            facts::environment(&result.surroundings.environment, place.simulated),
        ])
        .collect(),
        footer: footer(result.surroundings, place.simulated),
    })
}

fn tiles(summary: &Summary) -> Vec<Tile> {
    let Summary { throughput_per_s, throughput_min, throughput_max, .. } = summary;
    let shown = |of: fn(&Latency) -> u64| latency_if_any(summary.latency_ns.as_ref().map(of));
    let range = format!("{} to {}", thousands(*throughput_min), thousands(*throughput_max));
    let name = match summary.latency_of {
        LatencyOf::Service => "Latency",
        LatencyOf::Response => "Response time",
    };
    let of_repetitions =
        if summary.repetitions > 1 { "of the repetitions" } else { "one repetition has none" };
    let to = if summary.log.is_some() { " to durability" } else { "" };
    vec![
        Tile::new("Throughput", format!("{} /s", short(*throughput_per_s)), range),
        Tile::new("Spread", summary.spread_shown(), of_repetitions.to_owned()),
        Tile::new("Aborts per commit", ratio(summary.abort_rate), "retried".to_owned()),
        Tile::new(
            format!("{name}{to}, median"),
            shown(|of| of.p50),
            format!("mean {}", shown(|of| of.mean as u64)),
        ),
        Tile::new(format!("{name}{to}, p99"), shown(|of| of.p99), format!("p99.9 {}", shown(|of| of.p999))),
    ]
}

/// What was logged, if anything was.
fn logged(summary: &Summary) -> Option<Block> {
    let Logged { folders, loggers, compress, epoch_us, report, .. } = summary.log.as_ref()?;
    let megabytes = |bytes: u64| format!("{} MB", thousands((bytes as f64 / 1e6).ceil()));
    let folders: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    let mut facts = vec![
        (
            "a commit counts, and its latency ends".to_owned(),
            format!("when it is durable ({})", summary.durability),
        ),
        ("folders".to_owned(), folders.join(", ")),
        ("loggers".to_owned(), loggers.to_string()),
        ("an epoch".to_owned(), latency(1000 * epoch_us)),
        ("written".to_owned(), megabytes(report.bytes)),
        ("syncs".to_owned(), thousands(report.syncs as f64)),
        ("the longest of them".to_owned(), latency(report.longest_sync_ns)),
    ];
    if *compress {
        facts.insert(5, ("before compression".to_owned(), megabytes(report.raw_bytes)));
    }
    if let Some(last) = &report.last_checkpoint {
        facts.push(("checkpoints".to_owned(), thousands(report.checkpoints as f64)));
        facts.push((
            "the last of them".to_owned(),
            format!("{} rows, {}", thousands(last.rows as f64), megabytes(last.bytes)),
        ));
    }
    Some(Block::Facts { title: "The log".to_owned(), facts })
}

fn counts(summary: &Summary) -> Block {
    let mut facts = vec![
        ("commits".to_owned(), thousands(summary.commits as f64)),
        ("user rollbacks".to_owned(), thousands(summary.user_rollbacks as f64)),
    ];
    let aborts = summary.aborts.iter();
    facts.extend(aborts.map(|(reason, count)| (format!("aborts: {reason}"), thousands(*count as f64))));
    facts.push(("commits that had been aborted".to_owned(), percent(summary.retried_share)));
    if let Some(arrivals) = &summary.arrivals {
        facts.push(("arrivals".to_owned(), thousands(arrivals.arrived as f64)));
        facts.push((
            "arrived and not begun at the end of an interval, at most".to_owned(),
            thousands(arrivals.queued as f64),
        ));
        let service = arrivals.service_ns.as_ref().map(|of| of.p99);
        facts.push((
            "p99 from the first attempt (service), not from the arrival".to_owned(),
            latency_if_any(service),
        ));
    }
    facts.push(("latencies".to_owned(), thousands(summary.latency_samples as f64)));
    facts.push((
        "transactions timed by class, not among them".to_owned(),
        thousands(summary.time_samples as f64),
    ));
    facts.extend(
        summary
            .between_ns
            .map(|ns| ("between two transactions, mean".to_owned(), latency(ns.round() as u64))),
    );
    facts.extend(summary.littles_law.map(|ratio| ("slots busy, by Little's law".to_owned(), percent(ratio))));
    let slowest = summary.latency_ns.as_ref().map(|of| of.max);
    facts.push(("slowest transaction".to_owned(), latency_if_any(slowest)));
    Block::Facts { title: "Counts, all repetitions".to_owned(), facts }
}
