//! What measuring one system brings back, and a summary is made of.

use super::{Check, ChosenThreads, Memory};
use crate::options::RunOptions;
use contract::{LogReport, Measurement, OpenLoop, PairName};
use std::num::NonZeroU64;

/// What one system's repetitions measured.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The system.
    pub pair: PairName,
    /// Its repetitions, in order.
    pub repetitions: Vec<Measurement>,
    /// What its store takes.
    pub memory: Memory,
    /// What its store's log has taken, if it has one.
    pub log: Option<LogReport>,
    /// What was checked after them.
    pub checks: Vec<Check>,
    /// How many concurrency-control threads it had, if that was left to short runs.
    pub cc_threads_chosen: Option<ChosenThreads>,
    /// What it committed in a second in a closed loop, if the rate of its open loop is a part of that.
    pub capacity_per_s: Option<f64>,
}

impl Measured {
    /// What is told for its repetitions: `options`, with the rate that is its own.
    pub fn told(&self, options: &RunOptions) -> RunOptions {
        let mut told = options.clone();
        if let (Some(capacity), Some(percent)) = (self.capacity_per_s, options.percent_of_capacity) {
            let rate = (capacity * f64::from(percent) / 100.0).round() as u64;
            told.set_rate(NonZeroU64::new(rate.min(OpenLoop::MOST_PER_S)).unwrap_or(NonZeroU64::MIN));
        }
        told
    }

    /// A system before its first repetition.
    pub fn nothing_yet(pair: PairName) -> Measured {
        Measured {
            pair,
            repetitions: Vec::new(),
            memory: Memory::default(),
            log: None,
            checks: Vec::new(),
            cc_threads_chosen: None,
            capacity_per_s: None,
        }
    }
}
