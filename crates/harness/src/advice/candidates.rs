//! Who is measured: systems with so many workers.

use contract::PairName;

/// A system with a number of workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The system.
    pub pair: PairName,
    /// Its workers.
    pub workers: usize,
}

/// Everybody with all cores and with a quarter of them: who collapses with many may be the best with few.
pub(super) fn of(pairs: &[PairName], cores: usize) -> Vec<Candidate> {
    let mut numbers = vec![cores, cores.div_ceil(4)];
    numbers.dedup();
    with(pairs, &numbers)
}

/// `pairs` with all cores, half of them, a quarter, and one.
pub(super) fn with_all_workers(pairs: &[PairName], cores: usize) -> Vec<Candidate> {
    with(pairs, &numbers_of_workers(cores))
}

/// Falling.
fn numbers_of_workers(cores: usize) -> Vec<usize> {
    let mut numbers = vec![cores, cores.div_ceil(2), cores.div_ceil(4), 1];
    numbers.dedup();
    numbers
}

fn with(pairs: &[PairName], numbers: &[usize]) -> Vec<Candidate> {
    let with = |workers: &usize| {
        let workers = *workers;
        pairs.iter().map(move |&pair| Candidate { pair, workers })
    };
    numbers.iter().flat_map(with).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_workers_are_each_there_once() {
        assert_eq!(numbers_of_workers(72), [72, 36, 18, 1]);
        assert_eq!(numbers_of_workers(2), [2, 1]);
        assert_eq!(numbers_of_workers(1), [1]);
        let pairs: Vec<PairName> = PairName::all().take(3).collect();
        assert_eq!(of(&pairs, 1).len(), 3);
        assert_eq!(of(&pairs, 16).iter().map(|one| one.workers).collect::<Vec<_>>(), [16, 16, 16, 4, 4, 4]);
    }
}
