//! How long a worker had nothing to do: none of its fibers could go on.
//!
//! A fiber that waits while another runs is none of it, and one that looks whether it can go on is busy; but not one that finds nothing to begin. The clock is read at the first turn
//! that finds no fiber, and before the next one runs; a worker that always has a fiber never reads it. What lies in the counted interval
//! counts.

use crate::facade::clock::{self, Ticks};
use std::ops::Range;

/// See the module.
pub(crate) struct Idleness {
    counted: Range<Ticks>,
    /// Since when no fiber can go on.
    since: Option<Ticks>,
    ticks: u64,
}

impl Idleness {
    /// Of a worker that is busy.
    pub fn within(counted: Range<Ticks>) -> Self {
        Idleness { counted, since: None, ticks: 0 }
    }

    /// No fiber can go on.
    pub fn begins(&mut self) {
        if self.since.is_none() {
            self.since = Some(clock::now());
        }
    }

    /// When it would end, if one could go on now; none if it has not begun.
    #[inline(always)]
    pub fn would_end(&self) -> Option<Ticks> {
        self.since.map(|_| clock::now())
    }

    /// One could go on then.
    pub fn ends(&mut self, then: Ticks) {
        if let Some(since) = self.since.take() {
            self.add(since, then);
        }
    }

    fn add(&mut self, since: Ticks, until: Ticks) {
        let Range { start, end } = self.counted;
        self.ticks += until.min(end).since(since.max(start));
    }

    /// How long it was, in nanoseconds.
    pub fn ns(&self) -> u64 {
        clock::nanoseconds(self.ticks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_in_the_interval_counts() {
        let mut idleness = Idleness::within(Ticks(100)..Ticks(200));
        let periods = [
            (0, 50, 0),
            (0, 100, 0),
            (90, 110, 10),
            (120, 150, 30),
            (190, 500, 10),
            (200, 300, 0),
            (0, 900, 100),
        ];
        for (since, until, counts) in periods {
            let before = idleness.ticks;
            idleness.add(Ticks(since), Ticks(until));
            assert_eq!(idleness.ticks - before, counts, "{since} to {until}");
        }
    }
}
