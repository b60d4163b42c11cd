//! A hot set (*orthrus* 4.1 and A): the first accesses of a transaction are on a few rows, each as likely, and the others on the rest, whose
//! popularity is `theta`'s. What is hot is drawn first, so that its locks are held longest.
//!
//! The hot rows are the first ones: of a table the keys from 0 on, of a partition its first ranks. Each partition then has as many, rounded up, and as many
//! as a transaction draws of them.

use super::parameters::{Distinct, YcsbParameters};
use crate::zipf::Zipf;
use fastrand::Rng;

/// The first ranks, and how many accesses are on them.
#[derive(Clone, Copy, Debug)]
pub(super) struct HotSet {
    ranks: u64,
    accesses: usize,
}

impl HotSet {
    /// Of the table.
    pub fn of_table(parameters: &YcsbParameters) -> Self {
        HotSet::of_one_of(parameters, 1)
    }

    /// Of each of so many partitions.
    pub fn of_one_of(parameters: &YcsbParameters, partitions: u64) -> Self {
        let (rows, accesses) = (parameters.hot_records.get(), parameters.hot.get());
        let least = match parameters.distinct {
            Distinct::No => accesses.min(1),
            Distinct::Yes => accesses,
        };
        HotSet { ranks: rows.div_ceil(partitions).max(least), accesses: accesses as usize }
    }

    /// Whether any access is on it.
    pub fn is_drawn(&self) -> bool {
        self.accesses > 0
    }

    /// How many ranks it has. Those from there on are cold.
    pub fn ranks(&self) -> u64 {
        self.ranks
    }

    /// A rank for the transaction's access number `nth`; `cold` draws of the others.
    #[inline]
    pub fn draw(&self, nth: usize, cold: &Zipf, rng: &mut Rng) -> u64 {
        if nth < self.accesses { rng.u64(..self.ranks) } else { self.ranks + cold.draw(rng) }
    }
}
