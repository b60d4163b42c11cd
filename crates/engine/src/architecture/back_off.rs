//! Back-off: after its n-th abort a transaction waits a random time below first x 2^(n-1), at most a cap.
//!
//! Retrying at once livelocks: NO_WAIT under updates on two cores, and delegation under contention, abort each other
//! for ever. The time is random so that two that met do not meet again, and grows so that many spread out. It is the
//! same under every architecture; what an architecture does meanwhile is its own.

use crate::facade::clock::{self, Ticks};
use contract::EngineOptions;
use fastrand::Rng;
use std::time::Duration;

/// One worker's source of back-off times.
pub(crate) struct BackOff {
    first_ticks: u64,
    cap_ticks: u64,
    random: Rng,
}

impl BackOff {
    /// The transaction in the way is running, and soon done; after so many attempts in a row it may be waiting for this very core.
    pub const ATTEMPTS_BEFORE_YIELDING: u32 = 10;

    /// The times of worker `worker`, decided by the options and their seed.
    pub fn new(options: &EngineOptions, worker: u32) -> Self {
        let ticks = |ns| clock::ticks_of(Duration::from_nanos(ns));
        let seed = options.seed ^ u64::from(worker + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        BackOff {
            first_ticks: ticks(options.back_off_first_ns),
            cap_ticks: ticks(options.back_off_cap_ns),
            random: Rng::with_seed(seed),
        }
    }

    /// How long to wait after the `attempt`-th attempt, from 1, which has ended now.
    pub fn until(&mut self, attempt: u32) -> Ticks {
        let now = clock::now();
        Ticks(now.0 + self.ticks(attempt))
    }

    fn ticks(&mut self, attempt: u32) -> u64 {
        let doublings = (attempt - 1).min(32);
        let bound = self.first_ticks.saturating_mul(1 << doublings).min(self.cap_ticks);
        if bound == 0 { 0 } else { self.random.u64(0..bound) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_grow_to_the_cap_and_replay() {
        let options =
            EngineOptions { back_off_first_ns: 1000, back_off_cap_ns: 8000, ..EngineOptions::default() };
        let (mut one, mut two) = (BackOff::new(&options, 0), BackOff::new(&options, 0));
        let mut largest = [0; 8];
        for _ in 0..1000 {
            for attempt in 1..=8 {
                let ticks = one.ticks(attempt);
                assert_eq!(ticks, two.ticks(attempt), "the seed decides");
                largest[attempt as usize - 1] = largest[attempt as usize - 1].max(clock::nanoseconds(ticks));
            }
        }
        assert!(largest[0] <= 1001 && largest[3] > 4000 && largest[7] <= 8001, "{largest:?}");
        assert_eq!(BackOff::new(&EngineOptions { back_off_first_ns: 0, ..options }, 0).ticks(5), 0);
    }
}
