//! `compare`: every system of the matrix over one workload, ranked.

use super::run::Measure;
use super::verdict;
use crate::arguments::{measuring, workloads};
use crate::engines::{self, Hardware};
use crate::progress::Progress;
use crate::{answer, output, selection};
use clap::{ArgMatches, Command};
use harness::measure;
use harness::results::{CompareResult, Surroundings};
use harness::{Failure, RunOptions};
use machine::hardware::environment::Environment;
use std::process::ExitCode;

/// What can be typed.
pub fn arguments() -> Command {
    let command = Command::new("compare").about("Measure every system over one workload, and rank them");
    workloads(measuring(command, &RunOptions::for_compare(engines::cores())))
}

/// Compares.
pub fn compare(matches: &ArgMatches, line: &str) -> Result<ExitCode, Failure> {
    let (subject, workload) = selection::subject(matches, RunOptions::for_compare(engines::cores()))?;
    let (pairs, unmeasured) = measure::supported::<Hardware>(&subject.options);
    for &pair in &pairs {
        measure::admit::<Hardware>(pair, &subject.options)?;
    }
    let folder = selection::out(matches, "compare", &subject.workload)?;
    let surroundings = Surroundings::new(line.to_owned(), &Environment::of_this_machine());

    let progress = Progress::new();
    let measured =
        workload.visit(Measure { pairs: &pairs, options: &subject.options, observer: &progress })?;

    let result = CompareResult::of(&subject, &surroundings, &measured, unmeasured);
    // A full disk must not take what was measured: it is printed first.
    let kept = result.write(&folder);
    if matches.get_flag("json") {
        output::print_json(&result.comparison())?;
    } else {
        output::print(&answer::of_comparison(&result, kept.is_ok().then_some(&folder)))?;
    }
    kept?;
    Ok(verdict(result.systems.iter().flat_map(|system| &system.summary.checks).all(|check| check.passed)))
}
