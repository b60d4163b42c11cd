//! `compare`: every system of the matrix over one workload, ranked.

use super::run::{Admit, Idle, Measure};
use super::verdict;
use crate::arguments::{measuring, workloads};
use crate::baseline::{self, Baseline};
use crate::engines::{self, Job};
use crate::nodes::with_cluster;
use crate::progress::Progress;
use crate::{answer, interrupt, output, selection, validated};
use clap::{ArgMatches, Command};
use contract::{Engine, PairName};
use harness::failure::INTERRUPTED;
use harness::measure::{self, After};
use harness::results::{CompareResult, Surroundings};
use harness::summary::{Turns, Unmeasured};
use harness::{Failure, RunOptions};
use machine::hardware::environment::Environment;
use std::process::ExitCode;

/// What can be typed.
pub fn arguments() -> Command {
    let command = Command::new("compare").about("Measure every system over one workload, and rank them");
    let command = measuring(command, &RunOptions::for_compare(engines::cores()));
    with_cluster(workloads(baseline::arguments(command)))
}

/// Compares.
pub fn compare(matches: &ArgMatches, line: &str) -> Result<ExitCode, Failure> {
    let machine = selection::machine(matches)?;
    let baseline = Baseline::of(matches)?;
    let (mut subject, workload) = selection::subject(matches, machine, RunOptions::for_compare)?;
    subject.options.logging.each_apart = true;
    let (pairs, mut unmeasured) = machine.run(Supported { options: &subject.options });
    machine.run(Admit { pairs: &pairs, options: &subject.options })?;
    let folder = selection::out(matches, "compare", &subject.workload)?;
    let surroundings = Surroundings::new(line.to_owned(), &Environment::of_this_machine());
    let surroundings = validated::beside(surroundings, std::iter::once(machine));

    let progress = Progress::on(machine, matches);
    let options = &subject.options;
    let job =
        Measure { workload: &workload, pairs: &pairs, options, after: After::Audit, observer: &progress };
    interrupt::heed();
    let measured = machine.run(job)?;
    if let (systems, Turns { interrupted: Some(_), .. }) = &measured {
        let is_missing = |pair: &&PairName| !systems.iter().any(|system| system.pair == **pair);
        let why = "interrupted before its first repetition had ended";
        unmeasured.extend(pairs.iter().filter(is_missing).map(|&pair| Unmeasured::new(pair, why)));
        subject.options.repeat = systems[0].repetitions.len();
    }

    let idle = machine.run(Idle::of_measured(&subject, &measured.0));
    let result = CompareResult { idle, ..CompareResult::of(&subject, &surroundings, &measured, unmeasured) };
    // A full disk must not take what was measured: it is printed first.
    let kept = result.write(&folder);
    if matches.get_flag("json") {
        output::print_json(&result.comparison())?;
    } else {
        output::print(&answer::of_comparison(&result, kept.is_ok().then_some(&folder)))?;
    }
    kept?;
    if result.turns.interrupted.is_some() {
        return Ok(ExitCode::from(INTERRUPTED));
    }
    let is_as_good = baseline.hold_against(&folder, matches.get_flag("json"))?;
    Ok(verdict(
        is_as_good
            && result.systems.iter().flat_map(|system| &system.summary.checks).all(|check| check.passed),
    ))
}

/// The systems that a machine's engine has for the options, and why it lacks the others: not all machines have the same ways to draw timestamps.
struct Supported<'a> {
    options: &'a RunOptions,
}

impl Job for Supported<'_> {
    type Output = (Vec<PairName>, Vec<Unmeasured>);

    fn on<E: Engine>(self) -> Self::Output {
        measure::supported::<E>(self.options)
    }
}
