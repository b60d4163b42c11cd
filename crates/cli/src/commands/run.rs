//! `run`: one system over one workload.

use super::verdict;
use crate::arguments::{measuring, system, workloads};
use crate::engines::{self, Hardware};
use crate::progress::Progress;
use crate::{answer, output, selection};
use ::workloads::WorkloadVisitor;
use clap::{ArgMatches, Command};
use contract::{PairName, Workload};
use harness::measure::{self, Measured};
use harness::results::{RunResult, Surroundings, System};
use harness::{Failure, Observer, RunOptions};
use machine::hardware::environment::Environment;
use std::process::ExitCode;

/// What can be typed.
pub fn arguments() -> Command {
    let command = Command::new("run").about("Measure one system over one workload");
    workloads(measuring(system(command), &RunOptions::for_run(engines::cores())))
}

/// Measures.
pub fn run(matches: &ArgMatches, line: &str) -> Result<ExitCode, Failure> {
    let (subject, workload) = selection::subject(matches, RunOptions::for_run(engines::cores()))?;
    let pair = selection::pair(matches)?;
    measure::admit::<Hardware>(pair, &subject.options)?;
    let folder = selection::out(matches, "run", &subject.workload)?;
    let surroundings = Surroundings::new(line.to_owned(), &Environment::of_this_machine());

    let progress = Progress::new();
    let measured =
        workload.visit(Measure { pairs: &[pair], options: &subject.options, observer: &progress })?;

    let system = System::of(&subject, &measured[0]);
    let result = RunResult { subject: &subject, surroundings: &surroundings, system };
    // A full disk must not take what was measured: it is printed first.
    let kept = result.write(&folder);
    let summary = &result.system.summary;
    if matches.get_flag("json") {
        output::print_json(summary)?;
    } else {
        output::print(&answer::of_run(summary, kept.is_ok().then_some(&folder)))?;
    }
    kept?;
    Ok(verdict(summary.checks.iter().all(|check| check.passed)))
}

/// Measures some pairs over a workload of whatever type.
pub struct Measure<'a> {
    /// Which.
    pub pairs: &'a [PairName],
    /// How.
    pub options: &'a RunOptions,
    /// Who is told.
    pub observer: &'a dyn Observer,
}

impl WorkloadVisitor for Measure<'_> {
    type Output = Result<Vec<Measured>, Failure>;

    fn visit<W: Workload>(self, workload: &W) -> Self::Output {
        measure::measure::<Hardware, W>(workload, self.pairs, self.options, self.observer)
    }
}
