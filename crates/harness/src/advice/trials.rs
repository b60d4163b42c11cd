//! Measuring candidates, of whatever numbers of workers, over one workload or its variants.

use super::axes::{AxisKind, AxisOf, Setting, axes_of};
use super::flips::AxisTold;
use super::verdict::{Decided, failed_checks, with_failures_of};
use super::{Candidate, Flip, Goal, HeatTold, Length, OnMachine, command};
use crate::failure::Failure;
use crate::measure::{After, Fit, Stores, fit, measure_over};
use crate::observer::{Event, Observer};
use crate::options::RunOptions;
use crate::results::System;
use crate::subject::{Place, Subject};
use crate::summary::{Check, Measured, Unmeasured};
use crate::text::durations;
use contract::{Durability, Engine, PairName};
use std::cmp::Reverse;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::time::Duration;
use workloads::audit::Audited;
use workloads::{AnyWorkload, Parameters, build};

/// Who has committed nothing runs once more, so many times as long: that is not measured yet.
const LONGER_AGAIN: u32 = 4;

/// Where what commits can be logged.
pub struct Disk {
    /// A folder for the logs, each of which goes with its store.
    pub folder: PathBuf,
    /// How often the epoch advances where levels of durability are compared, or one was asked for; `None`: as by default.
    pub epoch: Option<Duration>,
}

/// What is measured, where, and for whom.
pub struct Trials<'a, E> {
    /// The workload that was asked about.
    pub workload: &'a AnyWorkload,
    /// The machine.
    pub place: Place,
    /// What `--on` takes for it; `None` for the machine at hand.
    pub on: Option<&'a str>,
    /// What is wanted.
    pub goal: Goal,
    /// How far the model of a simulated machine may be off between systems: a factor, if it is known.
    pub model_error: Option<f64>,
    /// Where levels of durability can be measured that nobody has asked for; `None` of a machine without a disk.
    pub disk: Option<Disk>,
    options: RunOptions,
    observer: &'a dyn Observer,
    engine: PhantomData<E>,
}

impl<'a, E: Engine> Trials<'a, E> {
    /// On `place`. Of `options` workers are the most that there are, and times do not matter.
    pub fn new(
        workload: &'a AnyWorkload,
        (place, on): (Place, Option<&'a str>),
        goal: Goal,
        model_error: Option<f64>,
        options: RunOptions,
        observer: &'a dyn Observer,
    ) -> Self {
        let options = Subject::of(workload, options, place.clone()).options;
        Trials { workload, place, on, goal, model_error, disk: None, options, observer, engine: PhantomData }
    }

    /// The same on a machine with a disk, if there is one.
    pub fn with_disk(self, disk: Option<Disk>) -> Self {
        Trials { disk, ..self }
    }

    pub(super) fn options(&self) -> &RunOptions {
        &self.options
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.observer.is_interrupted()
    }

    /// Says what comes; and on the machine at hand, how long its runs take.
    pub(super) fn announce(&self, what: &str, runs: usize, length: Length) {
        let each = (length.warmup + length.duration) * length.repeat as u32;
        let seconds = (each * runs as u32).as_secs_f64();
        self.observer.tell(Event::Note(&match self.place.simulated {
            true => what.to_owned(),
            false => format!("{what}: {seconds:.1} s of runs, and loading and audits beside them"),
        }));
    }

    /// By which factor systems that are simulated may be off; by any, where that was not measured.
    pub(super) fn model_factor(&self) -> f64 {
        let unknown = if self.place.simulated { f64::INFINITY } else { 1.0 };
        self.model_error.unwrap_or(unknown).max(1.0)
    }

    /// Why who ran for `length` and longer was not measured.
    pub(super) fn why_silent(length: Length) -> String {
        let shown = |times: u32| durations::show(length.duration * times);
        format!("it committed nothing, neither in {} nor in {}", shown(1), shown(LONGER_AGAIN))
    }

    fn told_options(&self, candidate: Candidate, length: Length) -> RunOptions {
        let Length { warmup, duration, repeat } = length;
        RunOptions { warmup, duration, repeat, ..self.options_of(candidate) }
    }

    /// What is told to a candidate, and to all others with as many workers and servers whose commits count at the same level.
    pub(super) fn options_of(&self, Candidate { workers, servers, level, .. }: Candidate) -> RunOptions {
        let mut options = RunOptions { workers, ..self.options.clone() };
        options.engine.cc_threads = servers;
        options.engine.servers = servers;
        if level != self.options.logging.level {
            let disk = self.disk.as_ref().filter(|_| level != Durability::None);
            options.logging.level = level;
            options.logging.each_apart = true;
            options.logging.folders = disk.map(|disk| disk.folder.clone()).into_iter().collect();
            options.engine.epoch_interval =
                disk.and_then(|disk| disk.epoch).unwrap_or(options.engine.epoch_interval);
        }
        options
    }

    /// Measures those of `candidates` that fit, over the stores of `workload`. Who commits nothing in a repetition runs once more and for longer, and is left out if nothing
    /// comes of that. Interrupted it answers what there is; nothing after an interrupt.
    pub(super) fn run<W: Audited>(
        &self,
        stores: &mut Stores<'_, E, W>,
        workload: &AnyWorkload,
        candidates: &[Candidate],
        length: Length,
        after: After,
    ) -> Result<Ran, Failure> {
        let ran = Ran::of(self.run_once(stores, workload, candidates, length, after)?);
        if ran.uncounted.is_empty() {
            return Ok(ran);
        }
        let again: Vec<Candidate> = ran.uncounted.iter().map(Candidate::of).collect();
        let longer = Length { duration: length.duration * LONGER_AGAIN, ..length };
        Ok(ran.and_longer(self.run_once(stores, workload, &again, longer, after)?))
    }

    /// The same, whoever commits nothing. On the machine at hand each repetition goes through all numbers of workers, all shares of them that serve, and all levels, so that repetitions are rounds of all
    /// candidates. A system is audited once, with the most workers, after its last repetition.
    fn run_once<W: Audited>(
        &self,
        stores: &mut Stores<'_, E, W>,
        workload: &AnyWorkload,
        candidates: &[Candidate],
        length: Length,
        after: After,
    ) -> Result<Vec<System>, Failure> {
        let alike = |candidate: &Candidate| (candidate.workers, candidate.servers, candidate.level);
        let mut groups: Vec<Candidate> = candidates.to_vec();
        groups.sort_by_key(|candidate| Reverse(alike(candidate)));
        groups.dedup_by_key(|candidate| alike(candidate));
        let rounds = if E::REPEATS { 1 } else { length.repeat };
        let mut measured: Vec<Vec<Measured>> = vec![Vec::new(); groups.len()];
        let mut audited: Vec<PairName> = Vec::new();
        'rounds: for round in 0..rounds {
            for (group, measured) in groups.iter().zip(&mut measured) {
                if self.observer.is_interrupted() {
                    break 'rounds;
                }
                let mut options = self.told_options(*group, length);
                if rounds > 1 {
                    options.engine.seed = options.repetition_seed(round);
                    options.repeat = 1;
                }
                let here = candidates.iter().filter(|candidate| alike(candidate) == alike(group));
                let fits = |pair: &PairName| matches!(fit::<E>(*pair, &options, true), Fit::Fits);
                let pairs: Vec<PairName> = here.map(|candidate| candidate.pair).filter(fits).collect();
                if pairs.is_empty() {
                    continue;
                }
                let is_due = round + 1 == rounds && pairs.iter().any(|pair| !audited.contains(pair));
                let after = if is_due { after } else { After::Nothing };
                stores.forget_changed();
                match measure_over(stores, &pairs, &options, after, self.observer) {
                    Ok((further, _)) => join(measured, further),
                    Err(Failure::Interrupted) => break 'rounds,
                    Err(failure) => return Err(failure),
                }
                if is_due {
                    audited.extend(pairs);
                }
            }
        }
        let with = |(group, measured): (&Candidate, &Vec<Measured>)| -> Vec<System> {
            let options = self.told_options(*group, length);
            let subject = Subject::of(workload, options, self.place.clone());
            measured.iter().map(|measured| System::of(&subject, measured)).collect()
        };
        Ok(groups.iter().zip(&measured).flat_map(with).collect())
    }

    /// The axes of the workload with a workload for each of their values. A value that does not go with what was typed says nothing about it, and is left out.
    pub(super) fn variants(&self) -> Vec<Variants> {
        let with = |setting: &Setting| {
            let resolved = self.workload.resolved().into_iter();
            // YCSB's mixes are names for what else is there; others' are parameters of their own.
            let is_ycsb = matches!(self.workload, AnyWorkload::Ycsb(_));
            let mut given: Parameters = resolved.filter(|(name, _)| !(is_ycsb && *name == "mix")).collect();
            setting.iter().for_each(|(name, value)| given.set(*name, *value));
            build(self.workload.name(), &given).ok()
        };
        let of = |axis: AxisOf| {
            let values =
                axis.values.into_iter().filter_map(|(label, setting)| Some((label, with(&setting)?)));
            Variants { kind: axis.kind, name: axis.name, own: axis.own, values: values.collect() }
        };
        axes_of(self.workload).into_iter().map(of).collect()
    }

    /// The line that measures a system again.
    pub(super) fn command(&self, workload: &AnyWorkload, system: &System) -> String {
        let summary = &system.summary;
        let length = Length {
            warmup: Duration::from_secs_f64(summary.warmup_s),
            duration: Duration::from_secs_f64(summary.duration_s),
            repeat: summary.repetitions,
        };
        let candidate = Candidate::of(system);
        command::of(workload, candidate, &self.told_options(candidate, length), self.on)
    }

    pub(super) fn told(
        &self,
        decided: Decided,
        axes: Vec<AxisTold>,
        heats: Vec<HeatTold>,
        left_out: Vec<Unmeasured>,
    ) -> OnMachine {
        let flips: Vec<Flip> = axes.iter().flat_map(|axis| axis.flips.clone()).collect();
        let told = OnMachine {
            machine: self.place.machine.clone(),
            simulated: self.place.simulated,
            cores: self.place.cores,
            interrupted: self.is_interrupted(),
            took_s: 0.0,
            model_error: self.model_error,
            durability: self.options.logging.level.to_string(),
            finding: Vec::new(),
            verdict: decided.verdict,
            ranking: decided.ranking,
            shares: decided.shares,
            durability_levels: decided.levels,
            flips,
            axes,
            heats,
            left_out,
            failed_checks: Vec::new(),
            failures: decided.failures,
            warnings: decided.warnings,
            noise: decided.noise,
        };
        OnMachine { finding: told.in_sentences(self.goal), ..told }
    }
}

/// What came of candidates.
pub(super) struct Ran {
    /// What was measured of those that have committed something.
    pub systems: Vec<System>,
    /// What was measured and does not count: of those that ran once more, and of those that were left out.
    pub uncounted: Vec<System>,
}

impl Ran {
    /// Who has committed nothing in a repetition does not count.
    fn of(systems: Vec<System>) -> Ran {
        let (systems, uncounted) =
            systems.into_iter().partition(|system| system.summary.throughput_min > 0.0);
        Ran { systems, uncounted }
    }

    /// With what came of those that did not count, and ran for longer. That makes good that nothing was committed, and not that a check has failed.
    fn and_longer(mut self, longer: Vec<System>) -> Ran {
        let (heard, still): (Vec<System>, Vec<System>) =
            longer.into_iter().partition(|system| system.summary.throughput_per_s > 0.0);
        self.uncounted.extend(still);
        self.systems.extend(with_failures_of(std::slice::from_ref(&self.uncounted), heard));
        self
    }

    /// The checks that have failed, in words; of a final those that its ranking does not have.
    pub fn failed_checks(&self, workload: &AnyWorkload, is_ranked: bool) -> Vec<String> {
        let systems = if is_ranked { &[] } else { &self.systems[..] };
        failed_checks(systems.iter().chain(&self.uncounted), workload)
    }
}

/// An axis with a workload for each of its values.
pub(super) struct Variants {
    pub kind: AxisKind,
    pub name: &'static str,
    /// Where the workload that was asked about lies.
    pub own: String,
    pub values: Vec<(String, AnyWorkload)>,
}

/// Adds what further repetitions have brought.
fn join(all: &mut Vec<Measured>, further: Vec<Measured>) {
    for one in further {
        match all.iter_mut().find(|known| known.pair == one.pair) {
            Some(known) => {
                known.repetitions.extend(one.repetitions);
                (known.memory, known.log) = (one.memory, one.log);
                Check::join(&mut known.checks, one.checks);
            }
            None => all.push(one),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::{measured, some_subject};
    use contract::{ArchitectureName, ProtocolName};

    fn ran(protocol: ProtocolName, has_committed: bool, has_passed: bool) -> System {
        let pair = PairName { architecture: ArchitectureName::SharedEverything, protocol };
        let mut system = System::of(&some_subject(), &Measured { pair, ..measured(&[10.0]) });
        if !has_committed {
            (system.summary.throughput_min, system.summary.throughput_per_s) = (0.0, 0.0);
        }
        system.summary.checks.push(Check::new("nothing-held", has_passed, String::new));
        system
    }

    #[test]
    fn who_commits_nothing_keeps_its_failed_checks() {
        let workload = build("micro", &Parameters::new()).expect("the defaults are valid");
        let [heard, never, sound] = [ProtocolName::Occ, ProtocolName::Silo, ProtocolName::NoWait];
        let briefly = [ran(heard, false, false), ran(never, false, true), ran(sound, true, true)];
        let ran_once = Ran::of(briefly.into());
        assert_eq!((ran_once.systems.len(), ran_once.uncounted.len()), (1, 2));
        let all = ran_once.and_longer(vec![ran(heard, true, true), ran(never, false, false)]);
        let of = |systems: &[System]| -> Vec<_> {
            systems.iter().map(|system| Candidate::of(system).pair.protocol).collect()
        };
        assert_eq!((of(&all.systems), of(&all.uncounted)), (vec![sound, heard], vec![heard, never, never]));
        let names = |told: Vec<String>| told.iter().map(|told| told.contains(" occ,")).collect::<Vec<_>>();
        // Who was heard when it ran for longer has failed, too; and those that are in no ranking are told beside one.
        assert_eq!(names(all.failed_checks(&workload, false)), [true, true, false]);
        assert_eq!(names(all.failed_checks(&workload, true)), [true, false]);
    }
}
