//! The report of `check`: the verdict first, then what it rests on.

use super::page::{Block, Cell, Page, Tile};
use super::{facts, footer, render, tables};
use crate::check::CheckSummary;
use crate::check::happened::DEPENDENCIES_NEEDED;
use crate::results::CheckResult;
use crate::subject::shown;
use crate::text::numbers::{counted, ratio, thousands};
use history::anomalies::Judgement;
use history::{DependencyKind, Verdict};

/// The page.
pub fn of_check(result: &CheckResult<'_>) -> String {
    let CheckResult { subject, surroundings, summary } = result;
    let mut blocks = vec![Block::Tiles { tiles: tiles(summary) }];
    blocks.push(tables::checks(
        "What must hold; a history must be as if its transactions had run one by one.",
        &summary.checks,
    ));
    if let Some(verdict) = &summary.verdict {
        blocks.push(dependencies(verdict));
    }
    if let Some(verdict) = summary.verdict.as_ref().filter(|verdict| !verdict.is_strictly_serializable()) {
        blocks.extend([counts(verdict), anomalies(verdict)]);
    }
    if let Some(judgement) = summary.judgement.as_ref().filter(|judgement| !judgement.is_serializable()) {
        blocks.push(examples(judgement));
    }
    blocks.push(facts::aborts(&summary.aborts));
    let settings = result.settings().into_iter().chain(subject.parameters.clone()).collect();
    blocks.push(facts::settings("Parameters", &summary.workload, &settings));
    blocks.push(facts::environment(&surroundings.environment, summary.simulated));
    render(&Page {
        trail: Vec::new(),
        title: format!("{} over {}: {}", summary.system(), summary.workload, summary.outcome()),
        command: surroundings.command.clone(),
        lead: format!(
            "{} on {}, seed {}, with everything written down and judged.",
            counted(summary.workers, "worker"),
            shown(&summary.machine, summary.simulated),
            summary.engine.seed
        ),
        finding: finding(summary),
        claim: None,
        simulated: summary.simulated,
        warnings: summary.warnings.clone(),
        blocks,
        footer: footer(surroundings, summary.simulated),
    })
}

fn tiles(summary: &CheckSummary) -> Vec<Tile> {
    let found = match (&summary.verdict, &summary.judgement) {
        (Some(verdict), _) => {
            let anomalies: u64 = verdict.counts.values().sum();
            let kinds = counted(verdict.counts.len(), "kind");
            let note = if verdict.more { format!("of {kinds}, at least") } else { format!("of {kinds}") };
            vec![
                Tile::new("Anomalies", thousands(anomalies as f64), note),
                Tile::new(
                    "Dependencies",
                    thousands(between_workers(verdict) as f64),
                    "between transactions of different workers".to_owned(),
                ),
            ]
        }
        (None, Some(judgement)) => {
            let overlapping = format!("{} overlapping", thousands(judgement.overlapping as f64));
            vec![
                Tile::new(
                    "Violations",
                    thousands(judgement.violations as f64),
                    "rounds as in no serial order".to_owned(),
                ),
                Tile::new("Rounds", thousands(judgement.rounds as f64), overlapping),
            ]
        }
        (None, None) => Vec::new(),
    };
    let rolled_back = format!("{} rolled back by themselves", thousands(summary.user_rollbacks as f64));
    let run = [
        Tile::new("Commits", thousands(summary.commits as f64), rolled_back),
        Tile::new("Aborts per commit", ratio(summary.abort_rate), "retried".to_owned()),
    ];
    found.into_iter().chain(run).collect()
}

/// The verdict in a sentence or two.
fn finding(summary: &CheckSummary) -> Vec<String> {
    let serializable = match (&summary.verdict, &summary.judgement) {
        (Some(verdict), _) if verdict.is_strictly_serializable() => {
            Some("The history is strictly serializable.".to_owned())
        }
        (Some(verdict), _) if verdict.is_serializable() => {
            Some("The history is serializable, but not in the order of time.".to_owned())
        }
        (Some(_), _) => Some("The history is NOT strictly serializable.".to_owned()),
        (None, Some(judgement)) if judgement.is_serializable() => {
            Some("Every round went as in some serial order.".to_owned())
        }
        (None, Some(_)) => Some("Some rounds went as in NO serial order.".to_owned()),
        (None, None) => None,
    };
    let verdict = format!("Verdict: {}.", summary.outcome());
    let too_little = summary.too_little.as_ref().map(|words| format!("Too little happened: {words}."));
    serializable.into_iter().chain(too_little).chain([verdict]).collect()
}

fn between_workers(verdict: &Verdict) -> u64 {
    DependencyKind::ALL.into_iter().map(|kind| verdict.dependencies.of(kind).between_workers).sum()
}

fn dependencies(verdict: &Verdict) -> Block {
    let row = |kind: DependencyKind| {
        let count = verdict.dependencies.of(kind);
        let needed = if count.possible { thousands(DEPENDENCIES_NEEDED as f64) } else { "none".to_owned() };
        vec![
            Cell::words(kind.name()),
            Cell::number(thousands(count.all as f64)),
            Cell::number(thousands(count.between_workers as f64)),
            Cell::number(needed),
        ]
    };
    let head = ["between transactions", "of different workers", "needed of different workers"];
    Block::Table {
        title: "What happened".to_owned(),
        note: "Dependencies between transactions. With fewer than are needed a history would pass whatever the protocol \
               does; none are needed of a kind that the workload's operations cannot bring about."
            .to_owned(),
        head: std::iter::once(Cell::words("dependency")).chain(head.map(Cell::number)).collect(),
        rows: DependencyKind::ALL.into_iter().map(row).collect(),
    }
}

fn counts(verdict: &Verdict) -> Block {
    let row = |(kind, count): (&history::AnomalyKind, &u64)| {
        vec![Cell::words(kind.name()), Cell::number(thousands(*count as f64)), Cell::prose(kind.summary())]
    };
    let cut = if verdict.more { " The search was cut short: there may be more." } else { "" };
    Block::Table {
        title: "What is wrong".to_owned(),
        note: format!("Anomalies by their names in the field.{cut}"),
        head: vec![Cell::words("anomaly"), Cell::number("found"), Cell::words("what it is")],
        rows: verdict.counts.iter().map(row).collect(),
    }
}

fn anomalies(verdict: &Verdict) -> Block {
    let row =
        |anomaly: &history::Anomaly| vec![Cell::words(anomaly.kind.name()), Cell::prose(&anomaly.words)];
    Block::Table {
        title: "In words".to_owned(),
        note: "The first few of each kind.".to_owned(),
        head: ["anomaly", "what happened"].map(Cell::words).into(),
        rows: verdict.anomalies.iter().map(row).collect(),
    }
}

fn examples(judgement: &Judgement) -> Block {
    Block::Table {
        title: "In words".to_owned(),
        note: "The first few rounds that no serial order explains.".to_owned(),
        head: vec![Cell::words("what happened")],
        rows: judgement.examples.iter().map(|example| vec![Cell::prose(example)]).collect(),
    }
}
