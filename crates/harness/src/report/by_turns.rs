//! The report of `diff` over two programs: the verdicts first, then round by round what they rest on.

use super::page::{Block, Cell, Page};
use super::{facts, footer, render};
use crate::diff::recorded::Recorded;
use crate::diff::rounds::{ByTurns, Program};
use crate::diff::{Compared, Quantity, Verdict};
use crate::results::Surroundings;
use crate::text::numbers::{counted, latency, percent, ratio, thousands};

/// More rounds of rows are in `samples.csv` only.
const MOST_LINES: usize = 200;

/// The page. `sides`: what the rounds of both were, the old program's first.
pub fn of_turns(turns: &ByTurns, sides: [&Recorded; 2], surroundings: &Surroundings) -> String {
    let simulated = sides.iter().all(|side| side.is_simulated());
    let differences = turns.diff.differences.iter().map(|what| format!("differs: {what}"));
    render(&Page {
        trail: Vec::new(),
        title: "Two programs by turns".to_owned(),
        command: surroundings.command.clone(),
        lead: format!(
            "{}, in each of which both programs ran once, from the same seed: {}.",
            counted(turns.rounds, "round"),
            turns.line
        ),
        finding: vec![finding(&turns.diff.rows)],
        claim: None,
        simulated,
        warnings: turns.ended.iter().cloned().chain(differences).collect(),
        blocks: [verdicts(turns)]
            .into_iter()
            .chain(by_round(turns, sides))
            .chain([program("Before", &turns.old), program("After", &turns.new)])
            .chain([facts::environment(&surroundings.environment, simulated)])
            .collect(),
        footer: footer(surroundings, simulated),
    })
}

fn finding(rows: &[Compared]) -> String {
    let of = |verdict: Verdict| rows.iter().filter(|row| row.verdict == verdict).count();
    let all = [
        Verdict::Regression,
        Verdict::Slower,
        Verdict::Faster,
        Verdict::WithinNoise,
        Verdict::CannotBeTold,
        Verdict::Gone,
        Verdict::New,
    ];
    let told = all.into_iter().filter(|verdict| of(*verdict) > 0);
    let told: Vec<String> = told.map(|verdict| format!("{} {verdict}", of(verdict))).collect();
    format!("Of {}: {}.", counted(rows.len(), "row"), told.join(", "))
}

fn value(quantity: &str, value: f64) -> String {
    if quantity == "throughput" { thousands(value) } else { latency(value.round() as u64) }
}

fn labels(row: &[(String, String)]) -> String {
    row.iter().map(|(_, label)| label.as_str()).collect::<Vec<_>>().join(" ")
}

fn verdicts(turns: &ByTurns) -> Block {
    let quantity = turns.diff.quantity;
    let row = |row: &Compared| {
        let number = |of: Option<f64>| Cell::number(of.map_or(String::new(), |of| value(quantity, of)));
        let part = |of: Option<f64>| Cell::number(of.map_or(String::new(), ratio));
        vec![
            Cell::words(labels(&row.row)),
            number(row.before),
            number(row.after),
            part(row.ratio),
            part(row.low),
            part(row.high),
            Cell::verdict(row.verdict.to_string()),
        ]
    };
    let numbers = ["before", "after", "ratio", "from", "to"].map(Cell::number);
    Block::Table {
        title: format!("After beside before, by {quantity}"),
        note: format!(
            "Medians, and ratios of geometric means, round by round, with 95 % confidence for all rows together. A regression is worse for certain, and by more than {} on average.",
            percent(turns.diff.tolerance)
        ),
        head: [Cell::words("row")].into_iter().chain(numbers).chain([Cell::words("verdict")]).collect(),
        rows: turns.diff.rows.iter().map(row).collect(),
    }
}

/// What each round was, if that is not too much.
fn by_round(turns: &ByTurns, [before, after]: [&Recorded; 2]) -> Option<Block> {
    let quantity = Quantity::named(turns.diff.quantity)?;
    let lines = |row: &Compared| -> Vec<Vec<Cell>> {
        let (Some(old), Some(new)) = (before.row(&row.row), after.row(&row.row)) else { return Vec::new() };
        if !row.paired {
            return Vec::new();
        }
        let shown = |measured: Option<f64>| measured.map_or(String::new(), |it| value(quantity.name, it));
        let line = |(round, (old, new)): (usize, (&Option<f64>, &Option<f64>))| {
            let both = old.zip(*new).filter(|(old, _)| *old > 0.0);
            vec![
                Cell::words(labels(&row.row)),
                Cell::number((round + 1).to_string()),
                Cell::number(shown(*old)),
                Cell::number(shown(*new)),
                Cell::number(both.map_or(String::new(), |(old, new)| ratio(new / old))),
            ]
        };
        let (old, new) = (old.repetitions(quantity.column), new.repetitions(quantity.column));
        old.iter().zip(new).enumerate().map(line).collect()
    };
    let rows: Vec<Vec<Cell>> = turns.diff.rows.iter().flat_map(lines).collect();
    let head =
        [Cell::words("row")].into_iter().chain(["round", "before", "after", "ratio"].map(Cell::number));
    (1..=MOST_LINES).contains(&rows.len()).then(|| Block::Table {
        title: "Round by round".to_owned(),
        note: "In odd rounds the old program went first, in even rounds the new one.".to_owned(),
        head: head.collect(),
        rows,
    })
}

fn program(title: &str, of: &Program) -> Block {
    let shares = |shares: &[Option<f64>]| {
        let told: Vec<String> = shares.iter().flatten().map(|share| percent(*share)).collect();
        (!told.is_empty()).then(|| told.join(", "))
    };
    let facts = [
        ("program", Some(of.program.clone())),
        ("version", of.version.clone()),
        ("commit", of.commit.clone()),
        ("compiler", of.compiler.clone()),
        ("results' schema", Some(of.schema.clone())),
        ("stolen by a hypervisor, by round", shares(&of.stolen_share)),
        ("taken by other processes, by round", shares(&of.others_share)),
    ];
    let facts = facts.into_iter().filter_map(|(name, fact)| Some((name.to_owned(), fact?)));
    Block::Facts { title: title.to_owned(), facts: facts.collect() }
}
