//! Who is measured: systems with so many workers, of which some serve, and commits that count at some level.

use crate::results::System;
use contract::{ArchitectureName, Durability, PairName};

/// Where some workers host no transactions, because they have the lock tables (ORTHRUS) or the partitions (asymmetric delegation), one of so many does, as the paper's
/// 16 of 80 (*orthrus* 4), unless other shares are tried.
const WORKERS_A_SERVER: usize = 5;

/// Of so many workers one serves: the further shares.
const OTHER_SHARES: [usize; 3] = [10, 3, 2];

/// A system as it is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The system.
    pub pair: PairName,
    /// Its workers.
    pub workers: usize,
    /// Of these, how many serve, if it is a system in which some do.
    pub servers: usize,
    /// When its commits count.
    pub level: Durability,
}

impl Candidate {
    /// A fifth of the workers serve.
    pub fn new(pair: PairName, workers: usize, level: Durability) -> Candidate {
        Candidate { pair, workers, servers: usual(workers), level }
    }

    /// As which a system was measured.
    pub(super) fn of(system: &System) -> Candidate {
        let summary = &system.summary;
        let pair = summary.pair().expect("measured by this build");
        // ORTHRUS is told as many of its own.
        let servers = summary.engine.servers;
        Candidate { pair, workers: summary.workers, servers, level: summary.durability }
    }

    /// What those of its workers have that serve; `None` of a system in which all host transactions.
    pub(super) fn kept_by_servers(&self) -> Option<&'static str> {
        match self.pair.architecture {
            ArchitectureName::Orthrus => Some("lock tables"),
            ArchitectureName::AsymmetricDelegation => Some("partitions"),
            _ => None,
        }
    }

    /// The same with other shares of its workers that serve, each once; none if there is no choice.
    pub(super) fn with_other_shares(self) -> Vec<Candidate> {
        let mut others: Vec<Candidate> = Vec::new();
        if self.kept_by_servers().is_none() || self.workers < 2 {
            return others;
        }
        for one_of in OTHER_SHARES {
            let rounded = (self.workers + one_of / 2) / one_of;
            let other = Candidate { servers: rounded.clamp(1, self.workers - 1), ..self };
            if other != self && !others.contains(&other) {
                others.push(other);
            }
        }
        others
    }
}

/// How many of so many workers serve, unless other shares are tried.
pub(super) fn usual(workers: usize) -> usize {
    (workers / WORKERS_A_SERVER).max(1)
}

/// Everybody with all cores and with a quarter of them: who collapses with many may be the best with few.
pub(super) fn of(pairs: &[PairName], cores: usize, level: Durability) -> Vec<Candidate> {
    let mut numbers = vec![cores, cores.div_ceil(4)];
    numbers.dedup();
    with(pairs, &numbers, level)
}

/// `pairs` with all cores, half of them, a quarter, and one.
pub(super) fn with_all_workers(pairs: &[PairName], cores: usize, level: Durability) -> Vec<Candidate> {
    with(pairs, &numbers_of_workers(cores), level)
}

/// Falling.
fn numbers_of_workers(cores: usize) -> Vec<usize> {
    let mut numbers = vec![cores, cores.div_ceil(2), cores.div_ceil(4), 1];
    numbers.dedup();
    numbers
}

fn with(pairs: &[PairName], numbers: &[usize], level: Durability) -> Vec<Candidate> {
    let with = |workers: &usize| {
        let workers = *workers;
        pairs.iter().map(move |&pair| Candidate::new(pair, workers, level))
    };
    numbers.iter().flat_map(with).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::ProtocolName;

    #[test]
    fn numbers_of_workers_are_each_there_once() {
        assert_eq!(numbers_of_workers(72), [72, 36, 18, 1]);
        assert_eq!(numbers_of_workers(2), [2, 1]);
        assert_eq!(numbers_of_workers(1), [1]);
        let pairs: Vec<PairName> = PairName::all().take(3).collect();
        let of = |cores| of(&pairs, cores, Durability::None);
        assert_eq!(of(1).len(), 3);
        assert_eq!(of(16).iter().map(|one| one.workers).collect::<Vec<_>>(), [16, 16, 16, 4, 4, 4]);
    }

    #[test]
    fn other_shares_differ_and_leave_somebody_on_each_side() {
        let shares = |architecture, workers| -> Vec<usize> {
            let pair = PairName { architecture, protocol: ProtocolName::NoWait };
            let usual = Candidate::new(pair, workers, Durability::None);
            usual.with_other_shares().iter().map(|other| other.servers).collect()
        };
        let of = |workers| shares(ArchitectureName::AsymmetricDelegation, workers);
        assert_eq!(usual(72), 14);
        assert_eq!(of(72), [7, 24, 36]);
        assert_eq!(of(12), [1, 4, 6], "a fifth are 2");
        assert_eq!(of(4), [2], "a fifth, a tenth and a third are 1");
        assert_eq!((of(2), of(1)), (vec![], vec![]));
        assert_eq!(shares(ArchitectureName::Orthrus, 80), [8, 27, 40]);
        assert!(shares(ArchitectureName::SharedEverything, 72).is_empty());
    }
}
