//! `compare`: every system of the matrix over one workload, ranked.

use super::run::{Admit, Measure};
use super::verdict;
use crate::arguments::{measuring, workloads};
use crate::engines::{self, Hardware};
use crate::progress::Progress;
use crate::{answer, output, selection, validated};
use clap::{ArgMatches, Command};
use harness::measure::{self, After};
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
    let machine = selection::machine(matches)?;
    let (mut subject, workload) = selection::subject(matches, machine, RunOptions::for_compare)?;
    subject.options.logging.each_apart = true;
    // The matrix is the same in both compilations.
    let (pairs, unmeasured) = measure::supported::<Hardware>(&subject.options);
    machine.run(Admit { pairs: &pairs, options: &subject.options })?;
    let folder = selection::out(matches, "compare", &subject.workload)?;
    let surroundings = Surroundings::new(line.to_owned(), &Environment::of_this_machine());
    let surroundings = validated::beside(surroundings, std::iter::once(machine));

    let progress = Progress::on(machine, matches);
    let options = &subject.options;
    let job =
        Measure { workload: &workload, pairs: &pairs, options, after: After::Audit, observer: &progress };
    let measured = machine.run(job)?;

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
