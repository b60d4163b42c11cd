//! Judged histories: of one run, and of many schedules.

use super::reasons;
use harness::check::CheckSummary;
use harness::check::exploration::ExplorationSummary;
use harness::folder::Folder;
use harness::options::extras_of_check;
use harness::subject::shown;
use harness::text::names;
use harness::text::numbers::{counted, thousands};
use history::{Dependencies, DependencyKind};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A check with its verdict. `folder` is where it was laid down, if it was.
pub fn of_check(summary: &CheckSummary, folder: Option<&Folder>) -> String {
    let mut text = format!(
        "{} over {}, {} on {}, seed {}\n{}engine: {}\n{} commits, {} aborts{}, {} user rollbacks\n\n",
        summary.system(),
        summary.workload,
        counted(summary.workers, "worker"),
        shown(&summary.machine, summary.simulated),
        summary.engine.seed,
        told(&summary.workload, &summary.parameters),
        extras_of_check(&summary.engine, summary.pair()),
        thousands(summary.commits as f64),
        thousands(summary.aborts.values().sum::<u64>() as f64),
        reasons(&summary.aborts).replace("  ", " "),
        thousands(summary.user_rollbacks as f64),
    );
    text.push_str(&findings(summary));
    if let Some(too_little) = &summary.too_little {
        let _ = writeln!(text, "too little happened: {too_little}");
    }
    for warning in &summary.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    let report = folder.map(|folder| format!("\nreport: {}\n", folder.report().display()));
    let _ = write!(text, "{}\n{}\n", report.unwrap_or_default(), summary.outcome());
    text
}

/// Many schedules, and what was found.
pub fn of_exploration(summary: &ExplorationSummary) -> String {
    let mut text = format!(
        "{} over {}, {} on virtual cores, {} each\n{}engine: {}\n{} explored from seed {}\n",
        names::system(&summary.architecture, &summary.protocol),
        summary.workload,
        counted(summary.workers, "worker"),
        counted(summary.transactions as usize, "transaction"),
        told(&summary.workload, &summary.parameters),
        extras_of_check(&summary.engine, summary.pair()),
        counted(summary.schedules as usize, &format!("{} schedule", summary.schedule)),
        summary.first_seed,
    );
    if let (Some(commits), Some(aborts)) = (summary.commits, &summary.aborts) {
        let _ = writeln!(
            text,
            "{} commits, {} aborts{}",
            thousands(commits as f64),
            thousands(aborts.values().sum::<u64>() as f64),
            reasons(aborts).replace("  ", " "),
        );
    }
    if let Some(dependencies) = &summary.dependencies {
        let _ = writeln!(text, "{}", between_workers(dependencies));
    }
    if let Some(rounds) = summary.overlapping {
        let _ = writeln!(text, "{} in which roles ran at the same time", counted(rounds as usize, "round"));
    }
    if let Some(too_little) = &summary.too_little {
        let _ = writeln!(text, "too little happened: {too_little}");
    }
    if let Some(find) = &summary.find {
        let _ = writeln!(text, "\nfound with seed {}:", find.seed);
        if let Some(words) = &find.panic {
            let _ = writeln!(text, "the engine panicked: {words}");
        }
        if let Some(check) = &find.check {
            let _ = writeln!(text, "{}", findings(check));
        }
        let _ = writeln!(text, "replay: {}", find.replay);
    }
    for warning in &summary.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    let _ = write!(text, "\n{}\n", summary.outcome());
    text
}

/// The parameters that are not as the workload has them by itself, on a line.
fn told(workload: &str, parameters: &BTreeMap<String, String>) -> String {
    let described = workloads::descriptions().iter().find(|description| description.name == workload);
    let own = described.map_or(&[][..], |description| description.parameters);
    let is_own = |name: &str, value: &str| own.iter().any(|one| one.name == name && one.default == value);
    let told = parameters.iter().filter(|(name, value)| !is_own(name, value));
    let told: Vec<String> = told.map(|(name, value)| format!("{name} {value}")).collect();
    if told.is_empty() { String::new() } else { format!("with {}\n", told.join(", ")) }
}

/// Dependencies by kind.
fn between_workers(dependencies: &Dependencies) -> String {
    let by_kind = DependencyKind::ALL.map(|kind| {
        let count = dependencies.of(kind);
        let none = if count.possible { "" } else { " (none possible)" };
        format!("{} {}{none}", thousands(count.between_workers as f64), kind.name())
    });
    format!("dependencies between transactions of different workers: {}", by_kind.join(", "))
}

/// What was found in a checked run.
fn findings(summary: &CheckSummary) -> String {
    let mut text = String::new();
    if let Some(verdict) = &summary.verdict {
        let _ = writeln!(text, "{verdict}\n{}", between_workers(&verdict.dependencies));
    }
    if let Some(judgement) = &summary.judgement {
        let _ = writeln!(text, "{judgement}");
    }
    if let Some(ns) = summary.clocks_within_ns {
        let us = ns as f64 / 1e3;
        let _ = writeln!(
            text,
            "times of several hosts are compared to within {us:.1} us, those of one as they are"
        );
    }
    // The first one is the verdict above.
    for check in summary.checks.iter().skip(1).filter(|check| !check.passed) {
        let _ = writeln!(text, "{}: {}", check.name, check.detail);
    }
    text
}
