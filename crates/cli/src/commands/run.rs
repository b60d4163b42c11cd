//! `run`: one system over one workload.

use super::verdict;
use crate::agreement::{self, agreed};
use crate::arguments::{measuring, system, workloads};
use crate::baseline::{self, Baseline};
use crate::engines::{self, Job, Machine};
use crate::load_advice::Watching;
use crate::nodes::with_cluster;
use crate::progress::Progress;
use crate::{answer, export, interrupt, narrow, output, selection, surroundings};
use ::workloads::audit::Audited;
use ::workloads::{AnyWorkload, WorkloadVisitor};
use clap::{ArgMatches, Command};
use contract::{Engine, PairName};
use harness::failure::INTERRUPTED;
use harness::measure::{self, After, Point};
use harness::results::{RunResult, System};
use harness::summary::warnings::too_much_spread;
use harness::summary::{Measured, Turns};
use harness::{Failure, Observer, RunOptions, Subject};
use std::marker::PhantomData;
use std::process::ExitCode;

/// What can be typed.
pub fn arguments() -> Command {
    let command = Command::new("run").about("Measure one system over one workload");
    let command = measuring(system(command), &RunOptions::for_run(engines::cores()));
    with_cluster(workloads(export::arguments(baseline::arguments(command))))
}

/// Measures.
pub fn run(matches: &ArgMatches, line: &str) -> Result<ExitCode, Failure> {
    let machine = selection::machine(matches)?;
    let (baseline, forms) = (Baseline::of(matches)?, export::typed_forms(matches)?);
    let subject = selection::subject(matches, machine, RunOptions::for_run);
    let (mut subject, workload) = agreed(subject, |(subject, _)| agreement::of_point(subject))?;
    let pair = selection::pair(matches)?;
    machine.run(Admit { pairs: &[pair], options: &subject.options })?;
    let folder = selection::out(matches, "run", &subject.workload)?;
    let mut surroundings = surroundings::of_line(line);

    let progress = Progress::on(machine, matches);
    let options = &subject.options;
    let job =
        Measure { workload: &workload, pairs: &[pair], options, after: After::Audit, observer: &progress };
    interrupt::heed();
    let watching = Watching::of_workers(options.workers);
    let (measured, turns) = machine.run(job)?;
    let load = watching.end();
    surroundings::tell_load(&mut surroundings, &load);
    subject.options.repeat = measured[0].repetitions.len();

    let mut system = System::of(&subject, &measured[0]);
    system.summary.warnings.extend(machine.run(Idle::of_measured(&subject, &measured)));
    system.summary.warnings.extend(turns.interrupted.clone());
    if matches!(machine, Machine::Hardware) && too_much_spread(&system.summary).is_some() {
        system.summary.warnings.extend(load.warnings_of_meanwhile());
    }
    let result = RunResult { subject: &subject, surroundings: &surroundings, system };
    // A full disk must not take what was measured: it is printed first.
    let kept = result
        .write(&folder)
        .and_then(|()| export::systems(&folder, std::iter::once(&result.system), &forms));
    let summary = &result.system.summary;
    if matches.get_flag("json") {
        output::print_json(summary)?;
    } else {
        output::print(&answer::of_run(summary, kept.is_ok().then_some(&folder), narrow::columns()))?;
    }
    kept?;
    if turns.interrupted.is_some() {
        return Ok(ExitCode::from(INTERRUPTED));
    }
    let passed = summary.checks.iter().all(|check| check.passed);
    let is_as_good = baseline.hold_against(&folder, passed, matches.get_flag("json"))?;
    Ok(verdict(is_as_good && passed))
}

/// Refuses what some pairs cannot be told, and a log where there is one.
pub struct Admit<'a> {
    /// Which.
    pub pairs: &'a [PairName],
    /// What they are told.
    pub options: &'a RunOptions,
}

impl Job for Admit<'_> {
    type Output = Result<(), Failure>;

    fn on<E: Engine>(self) -> Self::Output {
        self.pairs.iter().try_for_each(|&pair| measure::admit::<E>(pair, self.options))?;
        measure::admit_division(self.pairs, self.options)?;
        // A pair's store is loaded anew for a repetition at most.
        measure::admit_logs::<E>(self.options, (self.pairs.len() * self.options.repeat) as u64)
    }
}

/// Tells which choices decide nothing.
pub struct Idle<'a>(Vec<Point<'a>>);

impl<'a> Idle<'a> {
    /// Of what was told to one system.
    pub fn of(pair: PairName, subject: &'a Subject) -> Idle<'a> {
        Idle(vec![Point { pair, subject, chosen: None }])
    }

    /// Of what was told to systems that were measured.
    pub fn of_measured(subject: &'a Subject, measured: &[Measured]) -> Idle<'a> {
        let chosen = |one: &Measured| one.cc_threads_chosen.as_ref().map(|chosen| chosen.cc_threads);
        let point = |one: &Measured| Point { pair: one.pair, subject, chosen: chosen(one) };
        Idle(measured.iter().map(point).collect())
    }
}

impl Job for Idle<'_> {
    type Output = Vec<String>;

    fn on<E: Engine>(self) -> Vec<String> {
        measure::idle::<E>(&self.0)
    }
}

/// Measures some pairs.
pub struct Measure<'a> {
    /// Over what.
    pub workload: &'a AnyWorkload,
    /// Which.
    pub pairs: &'a [PairName],
    /// How.
    pub options: &'a RunOptions,
    /// And what then.
    pub after: After,
    /// Who is told.
    pub observer: &'a dyn Observer,
}

impl Job for Measure<'_> {
    type Output = Result<(Vec<Measured>, Turns), Failure>;

    fn on<E: Engine>(self) -> Self::Output {
        self.workload.visit(Over::<E>(self, PhantomData))
    }
}

/// Measures over a workload of whatever type.
struct Over<'a, E>(Measure<'a>, PhantomData<E>);

impl<E: Engine> WorkloadVisitor for Over<'_, E> {
    type Output = Result<(Vec<Measured>, Turns), Failure>;

    fn visit<W: Audited>(self, workload: &W) -> Self::Output {
        let Measure { pairs, options, after, observer, .. } = self.0;
        measure::measure::<E, W>(workload, pairs, options, after, observer)
    }
}
