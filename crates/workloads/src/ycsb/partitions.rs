//! Which partitions a transaction touches (*thousand-cores* 5.5): its worker's home, and as many others, drawn anew for each transaction, as it
//! is to touch. Its accesses go to them by turns.
//!
//! A key's partition is its remainder by the number of partitions, so rank r of partition p is the key r · partitions + p, and every
//! partition has rows as popular as those of any other. Where rows do not divide evenly, the last few are not drawn.

use super::hot_set::HotSet;
use super::parameters::{Distinct, TouchedPartitions, YcsbParameters};
use crate::random::Chance;
use crate::touches::MOST_TOUCHES;
use contract::Seat;
use fastrand::Rng;

/// Draws the partitions of a client's transactions.
#[derive(Clone, Debug)]
pub(super) struct Locality {
    /// All of them.
    partitions: u64,
    /// Rows of each that are drawn.
    ranks: u64,
    hot: HotSet,
    /// How many a transaction touches, if it touches more than it must.
    touched: usize,
    /// How many it must touch: more than its home only if there are too few rows for keys that differ.
    least: usize,
    multi_partition: Chance,
    /// Those of the transaction that is being drawn; the first is the home.
    drawn: Drawn,
}

/// Partitions of a transaction.
#[derive(Clone, Debug)]
struct Drawn {
    partitions: [u64; MOST_TOUCHES],
    count: usize,
}

impl Locality {
    /// `None`: the parameters know no locality, or the table has one partition, or too few rows for each to have one, or to have hot ones and
    /// as many others as a transaction has accesses.
    pub fn new(parameters: &YcsbParameters, seat: Seat) -> Option<Self> {
        let TouchedPartitions::Touched(touched) = parameters.touched_partitions else { return None };
        let (accesses, partitions) = (parameters.accesses.get(), u64::from(seat.homes));
        let ranks = parameters.records.get() / partitions;
        let hot = HotSet::of_one_of(parameters, partitions);
        let least = match parameters.distinct {
            Distinct::No => 1,
            Distinct::Yes => accesses.div_ceil(ranks.max(1)),
        };
        if partitions == 1 || ranks == 0 || least > partitions {
            return None;
        }
        if hot.is_drawn() && ranks < hot.ranks() + accesses {
            return None;
        }
        let (home, touched) = (u64::from(seat.home().0), touched.clamp(least, partitions.max(least)));
        Some(Locality {
            partitions,
            ranks,
            hot,
            touched: touched as usize,
            least: least as usize,
            multi_partition: Chance::percent(parameters.multi_partition.0),
            drawn: Drawn { partitions: [home; MOST_TOUCHES], count: 1 },
        })
    }

    /// Rows that are drawn of each partition and are not hot.
    pub fn cold_ranks(&self) -> u64 {
        self.ranks - self.hot.ranks()
    }

    /// The hot rows of each partition.
    pub fn hot(&self) -> HotSet {
        self.hot
    }

    /// Draws the partitions of the next transaction.
    pub fn draw(&mut self, rng: &mut Rng) {
        let count = if self.multi_partition.happens(rng.u64(..)) { self.touched } else { self.least };
        let drawn = &mut self.drawn.partitions;
        for place in 1..count {
            drawn[place] = loop {
                let partition = rng.u64(..self.partitions);
                if !drawn[..place].contains(&partition) {
                    break partition;
                }
            };
        }
        self.drawn.count = count;
    }

    /// The row of a rank, for the transaction's access number `nth`.
    #[inline]
    pub fn key(&self, rank: u64, nth: usize) -> u64 {
        rank * self.partitions + self.drawn.partitions[nth % self.drawn.count]
    }
}
