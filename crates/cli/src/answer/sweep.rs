//! Points along axes: a sweep, a figure of a paper, and what came of their claims.

use super::{finish, ruled};
use harness::Place;
use harness::folder::Folder;
use harness::subject::shown;
use harness::summary::in_lines;
use harness::sweep::claims::{Standing, Sum, Told};
use harness::sweep::{Conducted, Experiment};
use harness::text::numbers::{counted, latency_if_any, ratio, thousands};
use std::fmt::Write;
use std::path::Path;

/// Every point of a sweep.
pub fn of_sweep(experiment: &Experiment, conducted: &Conducted, folder: &Folder) -> String {
    let axes: Vec<&str> = experiment.axes.iter().map(|axis| axis.name.as_str()).collect();
    let head: Vec<&str> = axes.iter().copied().chain(["txn/s", "spread", "aborts/commit", "p99"]).collect();
    let numbers: Vec<usize> = (axes.len()..head.len()).collect();
    let mut table = ruled(&head, &numbers);
    for point in &conducted.points {
        let summary = &point.summary;
        let mut row: Vec<String> = axes.iter().map(|axis| point.at[*axis].clone()).collect();
        row.extend([
            thousands(summary.throughput_per_s),
            summary.spread_shown(),
            ratio(summary.abort_rate),
            latency_if_any(summary.latency_ns.as_ref().map(|of| of.p99)),
        ]);
        table.add_row(row);
    }
    let simulated = conducted.points.iter().find(|point| point.summary.simulated);
    let on = simulated.map_or(String::new(), |point| format!(", on {}", shown(&point.summary.machine, true)));
    let mut text = format!("{}{on}\n{}\n\n{table}\n", experiment.title, conducted.taken);
    if let Some(claim) = &conducted.claim {
        let _ = writeln!(text, "claim: {}", claim.trim());
    }
    for claim in &conducted.claims {
        text.push_str(&of_claim(claim, ""));
    }
    text.push_str(&of_sum(&Sum::of(&conducted.claims), 0));
    for line in in_lines(&conducted.left_out) {
        let _ = writeln!(text, "left out: {line}");
    }
    finish(text, &conducted.warnings, Some(folder))
}

/// A figure of a paper, and what became of its claims.
pub fn of_figure(name: &str, place: &Place, conducted: &Conducted, folder: &Path) -> String {
    let mut text = format!("{name}, on {}: {}\n  {}\n", place.shown(), conducted.title, conducted.taken);
    for claim in &conducted.claims {
        text.push_str(&of_claim(claim, "  "));
    }
    for warning in &conducted.warnings {
        let _ = writeln!(text, "  warning: {warning}");
    }
    let _ = writeln!(text, "  report: {}\n", folder.join("report.html").display());
    text
}

/// A claim, the paper's words, and what came of it; each line after `margin`.
fn of_claim(claim: &Told, margin: &str) -> String {
    let standing = match &claim.standing {
        Standing::Paper => String::new(),
        other => format!(" ({other})"),
    };
    let mut text = format!("{margin}{}: {}{standing}\n", claim.outcome(), claim.that);
    if let Some(source) = claim.source() {
        let _ = writeln!(text, "{margin}    {source}");
    }
    let _ = writeln!(text, "{margin}    {}", claim.whole_reason());
    text
}

/// How many claims came out how, and of how many figures there is nothing to judge them by.
pub fn of_sum(sum: &Sum, missing: usize) -> String {
    let mut text: String = sum.sentences().iter().map(|sentence| format!("{sentence}\n")).collect();
    if missing > 0 {
        let _ = writeln!(text, "Not run yet, and not judged: {}.", counted(missing, "figure"));
    }
    text
}
