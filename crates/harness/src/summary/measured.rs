//! What measuring one system brings back, and a summary is made of.

use super::{Check, ChosenThreads, Memory};
use contract::{LogReport, Measurement, PairName};

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
}

impl Measured {
    /// A system before its first repetition.
    pub fn nothing_yet(pair: PairName) -> Measured {
        Measured {
            pair,
            repetitions: Vec::new(),
            memory: Memory::default(),
            log: None,
            checks: Vec::new(),
            cc_threads_chosen: None,
        }
    }
}
