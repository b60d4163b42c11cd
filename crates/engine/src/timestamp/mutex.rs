//! A counter behind a latch: the naive way of *thousand-cores* 4.3.

use crate::epoch::Line;
use crate::facade::atomic::{AtomicU64, Ordering};
use crate::facade::latch::{Latch, TestAndTestAndSet};

/// The next timestamp and its latch.
pub(crate) struct Counter(Line<Latched>);

struct Latched {
    latch: TestAndTestAndSet,
    /// Changed by who has the latch.
    next: AtomicU64,
}

impl Counter {
    pub(super) fn new() -> Self {
        Counter(Line(Latched { latch: TestAndTestAndSet::default(), next: AtomicU64::new(1) }))
    }

    pub(super) fn next(&self) -> u64 {
        let Latched { latch, next } = &self.0.0;
        latch.lock();
        // Relaxed, both: the latch orders them.
        let drawn = next.load(Ordering::Relaxed);
        next.store(drawn + 1, Ordering::Relaxed);
        latch.unlock();
        drawn
    }
}
