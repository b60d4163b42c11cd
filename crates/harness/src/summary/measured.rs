//! What measuring one system brings back, and a summary is made of.

use super::{Check, Memory};
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
}

impl Measured {
    /// A system before its first repetition.
    pub fn nothing_yet(pair: PairName) -> Measured {
        Measured { pair, repetitions: Vec::new(), memory: Memory::default(), log: None, checks: Vec::new() }
    }
}
