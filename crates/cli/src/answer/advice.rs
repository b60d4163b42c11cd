//! Advice: on each machine what to take, the ranking, and what durability costs.

use super::{finish, ruled};
use harness::advice::{Advice, Levels};
use harness::folder::Folder;
use harness::text::numbers::{latency, latency_if_any, part_of_best, percent, ratio, thousands};
use std::fmt::Write;

/// What to take on each machine.
pub fn of_advice(advice: &Advice, folder: Option<&Folder>) -> String {
    let mut text = format!("Which system for {}? Durability {}", advice.workload, advice.durability);
    if let Some(us) = advice.latency_goal_us {
        let _ = write!(text, ", 99 of 100 transactions within {}", latency((us * 1e3) as u64));
    }
    let interrupted = if advice.interrupted { "; interrupted: some of it is missing" } else { "" };
    let _ = writeln!(text, ". Told in {:.0} s{interrupted}.", advice.took_s);
    let head = ["", "system", "workers", "partitions", "txn/s", "vs best", "p99", "aborts/commit", "waiting"];
    for machine in &advice.machines {
        let mut table = ruled(&head, &[0, 2, 3, 4, 5, 6, 7, 8]);
        for (position, row) in machine.ranking.iter().enumerate() {
            let mark = if position > 0 && !row.figures.is_told_apart { "~" } else { "" };
            table.add_row([
                format!("{}{mark}", position + 1),
                row.system.clone(),
                row.workers.to_string(),
                row.partitions.to_string(),
                thousands(row.figures.throughput_per_s),
                part_of_best(row.part_of_best),
                latency_if_any(row.figures.latency_p99_ns),
                ratio(row.abort_rate),
                percent(row.time_share.wait),
            ]);
        }
        let finding = machine.finding.iter().map(|sentence| format!("  {sentence}\n")).collect::<String>();
        let _ = write!(text, "\non {}\n{finding}\n{table}\n", machine.shown());
        if machine.ranking.iter().skip(1).any(|row| !row.figures.is_told_apart) {
            text += "~ is not told apart from the best\n";
        }
        for row in machine.ranking.iter().filter(|row| !row.failed_checks.is_empty()) {
            let _ = writeln!(text, "FAILED: {} under {}", row.failed_checks.join(", "), row.system);
        }
        let _ = writeln!(text, "again: {}", machine.ranking[0].figures.command);
        if let Some(levels) = machine.durability_levels.as_ref().filter(|levels| !levels.tried.is_empty()) {
            text += &of_levels(levels);
        }
    }
    finish(text, &advice.warnings, folder)
}

/// What levels of durability cost.
fn of_levels(levels: &Levels) -> String {
    let mut table = ruled(&["durability", "txn/s", "vs none", "p99", "a commit survives"], &[1, 2, 3]);
    for level in &levels.tried {
        table.add_row([
            level.level.clone(),
            thousands(level.figures.throughput_per_s),
            part_of_best(level.part_of_none),
            latency_if_any(level.figures.latency_p99_ns),
            level.survives.to_owned(),
        ]);
    }
    format!("\n{table}\n")
}
