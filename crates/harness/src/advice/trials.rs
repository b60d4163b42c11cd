//! Measuring candidates, of whatever numbers of workers, over one workload or its variants.

use super::axes::{AxisKind, AxisOf, Setting, axes_of};
use super::flips::AxisTold;
use super::halving::candidate;
use super::verdict::Decided;
use super::{Candidate, Flip, Goal, HeatTold, Length, OnMachine, command};
use crate::failure::Failure;
use crate::measure::{After, Fit, Stores, fit, measure_over};
use crate::observer::{Event, Observer};
use crate::options::RunOptions;
use crate::results::System;
use crate::subject::{Place, Subject};
use crate::summary::Unmeasured;
use contract::{Engine, PairName};
use std::marker::PhantomData;
use std::time::Duration;
use workloads::audit::Audited;
use workloads::{AnyWorkload, Parameters, build};

/// Where some workers host no transactions, because they have the lock tables (ORTHRUS) or the partitions (asymmetric delegation), one of so many does.
const WORKERS_A_SERVER: usize = 5;

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
        Trials { workload, place, on, goal, model_error, options, observer, engine: PhantomData }
    }

    pub(super) fn options(&self) -> &RunOptions {
        &self.options
    }

    pub(super) fn note(&self, what: &str) {
        self.observer.tell(Event::Note(what));
    }

    fn told_options(&self, workers: usize, length: Length) -> RunOptions {
        let Length { warmup, duration, repeat } = length;
        RunOptions { warmup, duration, repeat, ..self.options_of(workers) }
    }

    /// What is told to candidates with so many workers.
    pub(super) fn options_of(&self, workers: usize) -> RunOptions {
        let mut options = RunOptions { workers, ..self.options.clone() };
        // As the paper's 16 of 80 cores (orthrus 4); servers likewise.
        options.engine.cc_threads = (workers / WORKERS_A_SERVER).max(1);
        options.engine.servers = (workers / WORKERS_A_SERVER).max(1);
        options
    }

    /// Measures those of `candidates` that fit, over the stores of `workload`. Interrupted it answers what there is; nothing after an interrupt.
    pub(super) fn run<W: Audited>(
        &self,
        stores: &mut Stores<'_, E, W>,
        workload: &AnyWorkload,
        candidates: &[Candidate],
        length: Length,
        after: After,
    ) -> Result<Vec<System>, Failure> {
        let mut systems: Vec<System> = Vec::new();
        let mut numbers: Vec<usize> = candidates.iter().map(|candidate| candidate.workers).collect();
        numbers.sort_unstable_by(|one, other| other.cmp(one));
        numbers.dedup();
        for workers in numbers {
            if self.observer.is_interrupted() {
                break;
            }
            let options = self.told_options(workers, length);
            let here = candidates.iter().filter(|candidate| candidate.workers == workers);
            let fits = |pair: &PairName| matches!(fit::<E>(*pair, &options, true), Fit::Fits);
            let pairs: Vec<PairName> = here.map(|candidate| candidate.pair).filter(fits).collect();
            if pairs.is_empty() {
                continue;
            }
            stores.forget_changed();
            match measure_over(stores, &pairs, &options, after, self.observer) {
                Ok((measured, _)) => {
                    let subject = Subject::of(workload, options.clone(), self.place.clone());
                    systems.extend(measured.iter().map(|measured| System::of(&subject, measured)));
                }
                Err(Failure::Interrupted) => break,
                Err(failure) => return Err(failure),
            }
        }
        Ok(systems)
    }

    /// The axes of the workload with a workload for each of their values. A value that does not go with what was typed says nothing about it, and is left out.
    pub(super) fn variants(&self) -> Vec<Variants> {
        let with = |setting: &Setting| {
            let resolved = self.workload.resolved().into_iter();
            let mut given: Parameters = resolved.filter(|(name, _)| *name != "mix").collect();
            setting.iter().for_each(|(name, value)| given.set(*name, *value));
            build(self.workload.name(), &given).ok()
        };
        let of = |axis: AxisOf| {
            let values =
                axis.values.into_iter().filter_map(|(label, setting)| Some((label, with(&setting)?)));
            Variants { kind: axis.kind, name: axis.name, values: values.collect() }
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
        command::of(workload, candidate(system), &self.told_options(summary.workers, length), self.on)
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
            model_error: self.model_error,
            durability: self.options.logging.level.to_string(),
            finding: Vec::new(),
            verdict: decided.verdict,
            ranking: decided.ranking,
            flips,
            axes,
            heats,
            left_out,
        };
        OnMachine { finding: told.in_sentences(self.goal), ..told }
    }
}

/// An axis with a workload for each of its values.
pub(super) struct Variants {
    pub kind: AxisKind,
    pub name: &'static str,
    pub values: Vec<(String, AnyWorkload)>,
}
