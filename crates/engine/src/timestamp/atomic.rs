//! A counter to which everybody adds: its line goes from core to core for each timestamp, through the whole chip where it is large.

use crate::epoch::Line;
use crate::facade::atomic::{AtomicU64, Ordering};

/// The next timestamp.
pub(crate) struct Counter(Line<AtomicU64>);

impl Counter {
    pub(super) fn new() -> Self {
        Counter(Line(AtomicU64::new(1)))
    }

    /// The first of `count` timestamps, which nobody else draws.
    #[inline]
    pub(super) fn take(&self, count: u64) -> u64 {
        // SeqCst: in one order with the locks and looks of the transaction before and after.
        self.0.0.fetch_add(count, Ordering::SeqCst)
    }
}
