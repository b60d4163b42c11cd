//! `compare`: every system of the matrix over one workload, ranked.

use super::run::{Admit, Idle, Measure};
use super::verdict;
use crate::agreement::{self, agreed};
use crate::arguments::{measuring, system_list, typed, workloads};
use crate::baseline::{self, Baseline};
use crate::engines::{self, Job};
use crate::load_advice::Watching;
use crate::nodes::with_cluster;
use crate::progress::Progress;
use crate::{answer, export, interrupt, output, selection, surroundings, validated};
use clap::{ArgMatches, Command};
use contract::{Engine, PairName};
use harness::failure::INTERRUPTED;
use harness::measure::{self, After};
use harness::results::CompareResult;
use harness::summary::{Turns, Unmeasured};
use harness::{BadValue, Failure, RunOptions};
use std::process::ExitCode;

/// What can be typed.
pub fn arguments() -> Command {
    let command = Command::new("compare").about("Measure every system over one workload, and rank them");
    let command = measuring(command, &RunOptions::for_compare(engines::cores())).arg(
        system_list("Measure these systems and no others: 'silo', 'dora', 'delegation no-wait', several between commas")
            .help_heading("System"),
    );
    with_cluster(workloads(export::arguments(baseline::arguments(command))))
}

/// Compares.
pub fn compare(matches: &ArgMatches, line: &str) -> Result<ExitCode, Failure> {
    let machine = selection::machine(matches)?;
    let (baseline, forms) = (Baseline::of(matches)?, export::typed_forms(matches)?);
    let subject = selection::subject(matches, machine, RunOptions::for_compare);
    let (mut subject, workload) = agreed(subject, |(subject, _)| agreement::of_point(subject))?;
    subject.options.logging.each_apart = true;
    let (mut pairs, mut unmeasured) = machine.run(Supported { options: &subject.options });
    if let Some(given) = typed(matches, "only") {
        let only = only(given, &pairs)?;
        pairs.retain(|pair| only.contains(pair));
        unmeasured.clear();
    }
    machine.run(Admit { pairs: &pairs, options: &subject.options })?;
    let folder = selection::out(matches, "compare", &subject.workload)?;
    let surroundings = surroundings::of_line(line);
    let mut surroundings = validated::beside(surroundings, std::iter::once(machine));

    let progress = Progress::on(machine, matches);
    let options = &subject.options;
    let job =
        Measure { workload: &workload, pairs: &pairs, options, after: After::Audit, observer: &progress };
    interrupt::heed();
    let watching = Watching::of_workers(options.workers);
    let measured = machine.run(job)?;
    surroundings::tell_load(&mut surroundings, &watching.end());
    if let (systems, Turns { interrupted: Some(_), .. }) = &measured {
        let is_missing = |pair: &&PairName| !systems.iter().any(|system| system.pair == **pair);
        let why = "interrupted before it had as many repetitions as those that are kept";
        unmeasured.extend(pairs.iter().filter(is_missing).map(|&pair| Unmeasured::new(pair, why)));
        subject.options.repeat = systems[0].repetitions.len();
    }

    let idle = machine.run(Idle::of_measured(&subject, &measured.0));
    let result = CompareResult { idle, ..CompareResult::of(&subject, &surroundings, &measured, unmeasured) };
    // A full disk must not take what was measured: it is printed first.
    let kept = result.write(&folder).and_then(|()| export::systems(&folder, result.systems.iter(), &forms));
    if matches.get_flag("json") {
        output::print_json(&result.comparison())?;
    } else {
        output::print(&answer::of_comparison(&result, kept.is_ok().then_some(&folder)))?;
    }
    kept?;
    if result.turns.interrupted.is_some() {
        return Ok(ExitCode::from(INTERRUPTED));
    }
    let passed = result.systems.iter().flat_map(|system| &system.summary.checks).all(|check| check.passed);
    let is_as_good = baseline.hold_against(&folder, passed, matches.get_flag("json"))?;
    Ok(verdict(is_as_good && passed))
}

/// The systems of `pairs` that a list names: architectures, protocols, or both with a blank between.
pub(super) fn only(given: &str, pairs: &[PairName]) -> Result<Vec<PairName>, Failure> {
    let mut wanted = Vec::new();
    for name in given.split(',').map(str::trim) {
        let is_it = |pair: &&PairName| {
            [pair.to_string(), pair.shown()].contains(&name.to_owned())
                || [pair.architecture.name(), pair.protocol.name()].contains(&name)
        };
        let before = wanted.len();
        wanted.extend(pairs.iter().filter(is_it));
        if wanted.len() == before {
            let all: Vec<String> = pairs.iter().map(|pair| pair.shown()).collect();
            let allowed =
                format!("architectures, protocols, or systems, between commas, of {}", all.join(", "));
            return Err(BadValue::new("only", name, allowed).into());
        }
    }
    Ok(wanted)
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
