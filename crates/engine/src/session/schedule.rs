//! When transactions arrive at a worker, in an open loop.
//!
//! Each of `n` workers has an `n`-th of the rate, of its own. Where arrivals are constant it begins an `n`-th of a gap after the worker before it, so that all together are constant, too;
//! independent Poisson processes are one together. A worker's seed says when transactions arrive, and nothing that happens in the run.

use crate::facade::clock::{self, Ticks};
use contract::{ArrivalsName, OpenLoop};
use fastrand::Rng;
use std::time::Duration;

/// Where a worker is among all of a run that host transactions: in all processes, if those are several.
#[derive(Clone, Copy)]
pub(crate) struct Among {
    /// Its number; of a run's workers: the first's.
    pub number: usize,
    /// How many there are.
    pub hosts: usize,
}

/// A worker's.
pub(super) struct Schedule {
    arrivals: ArrivalsName,
    start: Ticks,
    /// Ticks from one to the next, the mean.
    gap: f64,
    /// When the next one arrives, in ticks after the start.
    due: f64,
    random: Rng,
}

impl Schedule {
    /// Of a run that began at `start`.
    pub fn new(of: OpenLoop, among: Among, start: Ticks, seed: u64) -> Self {
        let second = clock::ticks_of(Duration::from_secs(1)) as f64;
        let gap = second * among.hosts as f64 / of.rate_per_s.get() as f64;
        // Of other numbers than any other worker's, and than clients'.
        let random = Rng::with_seed(seed ^ (among.number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut schedule = Schedule { arrivals: of.arrivals, start, gap, due: 0.0, random };
        schedule.due = match of.arrivals {
            ArrivalsName::Constant => gap * among.number as f64 / among.hosts as f64,
            ArrivalsName::Poisson => schedule.until_next(),
        };
        schedule
    }

    /// When the next one arrives.
    #[inline(always)]
    pub fn peek(&self) -> Ticks {
        Ticks(self.start.0.saturating_add(self.due as u64))
    }

    /// The same, and goes on to the one after it.
    #[inline(always)]
    pub fn next(&mut self) -> Ticks {
        let due = self.peek();
        self.due += self.until_next();
        due
    }

    #[inline(always)]
    fn until_next(&mut self) -> f64 {
        match self.arrivals {
            ArrivalsName::Constant => self.gap,
            // What is drawn is below 1.
            ArrivalsName::Poisson => -(1.0 - self.random.f64()).ln() * self.gap,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU64;

    fn arrivals(arrivals: ArrivalsName, hosts: usize, until: Duration) -> Vec<Ticks> {
        let of = OpenLoop { rate_per_s: NonZeroU64::new(100_000).expect("not zero"), arrivals };
        let mut all = Vec::new();
        for number in 0..hosts {
            let mut schedule = Schedule::new(of, Among { number, hosts }, Ticks(1000), 7);
            while schedule.peek().0 < 1000 + clock::ticks_of(until) {
                all.push(schedule.next());
            }
        }
        all.sort_unstable_by_key(|at| at.0);
        all
    }

    /// The differences between what comes one after the other, in ticks: the mean and the standard deviation.
    fn spread(all: &[Ticks]) -> (f64, f64) {
        let gaps: Vec<f64> = all.windows(2).map(|pair| (pair[1].0 - pair[0].0) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        (mean, variance.sqrt())
    }

    #[test]
    fn all_workers_together_have_the_rate() {
        let gap = clock::ticks_of(Duration::from_micros(10)) as f64;
        for hosts in [1, 3] {
            let constant = arrivals(ArrivalsName::Constant, hosts, Duration::from_secs(1));
            let (mean, deviation) = spread(&constant);
            assert!((constant.len() as i64 - 100_000).abs() <= hosts as i64, "{}", constant.len());
            assert!((mean / gap - 1.0).abs() < 0.001 && deviation <= 1.0, "{mean} {deviation} {gap}");
            let poisson = arrivals(ArrivalsName::Poisson, hosts, Duration::from_secs(1));
            let (mean, deviation) = spread(&poisson);
            assert!((mean / gap - 1.0).abs() < 0.02, "{mean}, not {gap}");
            // Exponential: as far apart as they are long.
            assert!((deviation / gap - 1.0).abs() < 0.02, "{deviation}, not {gap}");
        }
    }
}
