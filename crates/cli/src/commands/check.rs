//! `check`: run one system with everything written down, and judge whether what it did is serializable.

use crate::arguments::{running, system, typed, workloads};
use crate::engines::{self, Hardware};
use crate::progress::Progress;
use crate::{output, selection};
use clap::{Arg, ArgMatches, Command};
use contract::{CanaryName, Selection};
use harness::check::{self, CheckSummary, Own, Trial};
use harness::text::numbers::thousands;
use harness::{BadValue, Failure, RunOptions, Subject, measure};
use std::fmt::Write;
use std::fs::File;
use std::path::PathBuf;
use std::process::ExitCode;

/// The shared options that mean something here: a check ends after so many transactions, not after a time.
const OPTIONS: [&str; 4] = ["workers", "seed", "prefetch", "back-off"];

/// Enough for the canaries to be found on two cores, and judged in seconds.
const TRANSACTIONS: u64 = 100_000;

/// What can be typed.
pub fn arguments() -> Command {
    let canaries: Vec<&str> = CanaryName::ALL.iter().map(|canary| canary.name()).collect();
    let option = |name: &'static str, value: &'static str, help: String| {
        Arg::new(name).long(name).value_name(value).help(help).help_heading("Check").global(true)
    };
    let command = Command::new("check")
        .about("Run one system with everything written down, and judge whether it is serializable")
        .after_help("Exits with 0 if the history is strictly serializable, and with 1 if it is not.")
        .arg(option(
            "transactions",
            "N",
            format!("Transactions, of all workers together [default: {TRANSACTIONS}]"),
        ))
        .arg(
            option("canary", "NAME", format!("A broken protocol, to be rejected: {}", canaries.join(", ")))
                .conflicts_with("protocol"),
        )
        .arg(option(
            "history",
            "FILE",
            "Write the history there too, one JSON object an event, as Elle and Jepsen read them".to_owned(),
        ));
    workloads(running(system(command), &OPTIONS, &RunOptions::for_run(engines::cores())))
        .subcommands(Own::all().map(|own| Command::new(own.name()).about(own.summary())))
}

/// Checks.
pub fn check(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let (subject, workload) = selection::check_subject(matches, RunOptions::for_run(engines::cores()))?;
    let selection = selected(matches)?;
    let transactions = transactions(matches)?;
    admit(selection, &subject, transactions)?;
    let history = typed(matches, "history").map(create_history).transpose()?;

    let progress = Progress::new();
    let trial = Trial { selection, subject: &subject, transactions, observer: &progress };
    let (summary, recorded) = trial.check::<Hardware>(&workload)?;

    if let Some((path, file)) = history {
        recorded.write(file).map_err(Failure::write(&path))?;
    }
    if matches.get_flag("json") {
        output::print_json(&summary)?;
    } else {
        output::print(&text(&summary))?;
    }
    Ok(if summary.passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn selected(matches: &ArgMatches) -> Result<Selection, Failure> {
    match typed(matches, "canary") {
        Some(name) => {
            let canary = name.parse().map_err(BadValue::from)?;
            Ok(Selection::Canary(selection::architecture(matches)?, canary))
        }
        None => Ok(Selection::Pair(selection::pair(matches)?)),
    }
}

fn transactions(matches: &ArgMatches) -> Result<u64, Failure> {
    match typed(matches, "transactions") {
        Some(number) => number
            .parse()
            .map_err(|_| BadValue::new("transactions", number, "a whole number, at least 1").into()),
        None => Ok(TRANSACTIONS),
    }
}

fn admit(selection: Selection, subject: &Subject, transactions: u64) -> Result<(), Failure> {
    let workers = subject.options.workers;
    match selection {
        Selection::Pair(pair) => measure::admit::<Hardware>(pair, workers)?,
        Selection::Canary(architecture, _) => measure::admit_workers::<Hardware>(architecture, workers)?,
    }
    check::admit(workers, transactions)
}

/// Makes the file before anything runs: a check may take long, and its history is wanted.
fn create_history(name: &str) -> Result<(PathBuf, File), Failure> {
    let path = PathBuf::from(name);
    let file = File::create(&path)
        .map_err(|error| Failure::Usage(format!("--history {name}: {}", harness::failure::words(&error))))?;
    Ok((path, file))
}

fn text(summary: &CheckSummary) -> String {
    let CheckSummary { architecture, protocol, workload, workers, .. } = summary;
    let mut text = format!(
        "{architecture} {protocol} over {workload}, {workers} {} on {}, seed {}\n",
        if *workers == 1 { "worker" } else { "workers" },
        summary.machine,
        summary.seed
    );
    let _ = writeln!(
        text,
        "{} commits, {} aborts, {} user rollbacks\n",
        thousands(summary.commits as f64),
        thousands(summary.aborts as f64),
        thousands(summary.user_rollbacks as f64),
    );
    if let Some(verdict) = &summary.verdict {
        let _ = writeln!(text, "{verdict}");
    }
    if let Some(judgement) = &summary.judgement {
        let _ = writeln!(text, "{judgement}");
    }
    for check in summary.checks.iter().skip(1).filter(|check| !check.passed) {
        let _ = writeln!(text, "{}: {}", check.name, check.detail);
    }
    for warning in &summary.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    let serializable = summary.checks.first().is_some_and(|check| check.passed);
    text += match (summary.passed, serializable, summary.canary) {
        (true, _, _) => "\npassed\n",
        (false, true, _) => "\nFAILED\n",
        (false, false, false) => "\nREJECTED\n",
        (false, false, true) => "\nrejected, as a canary must be\n",
    };
    text
}
