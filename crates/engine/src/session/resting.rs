//! For how long a worker had nothing to do, in an open loop: no transaction of its own had begun and not ended, and none had arrived.
//!
//! The clock is read only while there is nothing to do: when a rest is noticed, and when the next transaction has arrived. What can be put off is done meanwhile, so
//! that it takes nobody's time: the transactions to come are drawn, and those that ended are counted ([`super::put_off`]).

use super::interval::Interval;
use crate::facade::clock::{self, Ticks};

/// A worker's.
pub(super) struct Resting {
    interval: Interval,
    /// Transactions that have begun and not ended.
    active: usize,
    since: Option<Ticks>,
    /// In the interval, all rests together.
    ticks: u64,
}

impl Resting {
    /// Of a worker that has not begun anything.
    pub fn new(interval: Interval) -> Self {
        Resting { interval, active: 0, since: None, ticks: 0 }
    }

    /// A transaction begins.
    #[inline(always)]
    pub fn begin(&mut self, now: Ticks) {
        self.active += 1;
        if let Some(since) = self.since.take() {
            self.add(since, now);
        }
    }

    /// A transaction has ended.
    #[inline(always)]
    pub fn end(&mut self) {
        self.active -= 1;
    }

    /// None has arrived: whether there is nothing to do.
    #[inline]
    pub fn nothing_has_arrived(&mut self) -> bool {
        let rests = self.active == 0;
        if rests && self.since.is_none() {
            self.since = Some(clock::now());
        }
        rests
    }

    /// Time of the interval until now, in nanoseconds; the worker does nothing more. A run of so many transactions has an interval without end.
    pub fn ns(mut self) -> u64 {
        if let Some(since) = self.since.take() {
            self.add(since, clock::now());
        }
        clock::nanoseconds(self.ticks)
    }

    #[inline]
    fn add(&mut self, since: Ticks, until: Ticks) {
        let Interval { from, to, .. } = self.interval;
        self.ticks += until.min(to).since(since.max(from));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_rests_in_the_interval_and_while_it_has_nothing() {
        let interval = Interval { from: Ticks(1_000), to: Ticks(u64::MAX), given_up_at: Ticks(u64::MAX) };
        let mut resting = Resting::new(interval);
        resting.begin(Ticks(100));
        assert!(!resting.nothing_has_arrived(), "one runs");
        resting.end();
        assert!(resting.nothing_has_arrived());
        let since = resting.since.expect("it rests");
        assert!(resting.nothing_has_arrived());
        assert_eq!(resting.since, Some(since), "since then");
        resting.begin(Ticks(since.0 + 500));
        assert_eq!(resting.ticks, 500);
        assert_eq!(resting.since, None);
        // From before the interval on.
        resting.since = Some(Ticks(10));
        resting.begin(Ticks(1_400));
        assert_eq!((resting.ticks, resting.active), (900, 2));
        // It is resting when the run ends.
        let rests = Resting { since: Some(clock::now()), ticks: 0, ..resting };
        assert!(rests.ns() < 1_000_000_000_000, "and not for ever");
    }
}
