//! What is told of whatever was measured in rounds with others of its sort: a system of the final, a share of a system's workers, a level of durability.

use super::Trials;
use crate::results::System;
use contract::Engine;
use serde::Serialize;

/// Figures of a measurement, beside the first of those that ran in the same rounds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Commits per second, where commits are logged those that were acknowledged: the median over the repetitions.
    pub throughput_per_s: f64,
    /// The slowest repetition.
    pub throughput_min: f64,
    /// The fastest.
    pub throughput_max: f64,
    /// So often it ran.
    pub repetitions: usize,
    /// In nanoseconds, retries included, and where commits are logged the time until they are acknowledged; `null` if it is not known.
    pub latency_p99_ns: Option<u64>,
    /// Whether it fulfils the goal.
    pub meets_goal: bool,
    /// Whether repetitions tell it apart from the first, the model's error allowed for, or, unless they are levels, only one of the two keeps the goal; false of the first itself.
    pub is_told_apart: bool,
    /// The line that measures it again.
    pub command: String,
}

impl Figures {
    pub(super) fn of<E: Engine>(trials: &Trials<'_, E>, system: &System, is_told_apart: bool) -> Figures {
        let summary = &system.summary;
        Figures {
            throughput_per_s: summary.throughput_per_s,
            throughput_min: summary.throughput_min,
            throughput_max: summary.throughput_max,
            repetitions: summary.repetitions,
            latency_p99_ns: summary.latency_ns.as_ref().map(|latency| latency.p99),
            meets_goal: trials.goal.is_met(system),
            is_told_apart,
            command: trials.command(trials.workload, system),
        }
    }
}
