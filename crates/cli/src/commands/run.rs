//! `run`: one system over one workload.

use crate::arguments::{measuring, system, workloads};
use crate::engines::{self, Hardware};
use crate::progress::Progress;
use crate::{output, selection, table};
use ::workloads::WorkloadVisitor;
use clap::{ArgMatches, Command};
use contract::{PairName, Workload};
use harness::folder::Folder;
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
    measure::admit::<Hardware>(pair, subject.options.workers)?;
    let folder = Folder::create(&selection::out(matches, "run", &subject.workload))?;
    let surroundings = Surroundings::new(line.to_owned(), &Environment::of_this_machine());

    let progress = Progress::new();
    let measured =
        workload.visit(Measure { pairs: &[pair], options: &subject.options, observer: &progress })?;

    let system = System::of(&subject, &measured[0]);
    let result = RunResult { subject: &subject, surroundings: &surroundings, system };
    result.write(&folder)?;
    let summary = &result.system.summary;
    if matches.get_flag("json") {
        output::print_json(summary)?;
    } else {
        output::print(&table::of_run(summary, &folder))?;
    }
    let held = summary.checks.iter().all(|check| check.passed);
    Ok(if held { ExitCode::SUCCESS } else { ExitCode::FAILURE })
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
