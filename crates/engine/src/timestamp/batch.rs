//! Batches: a slot takes several timestamps with one atomic addition, and uses them up. Contention for the counter's line goes down
//! as the batch grows; what is drawn from an old batch is older than what others have drawn since, and a transaction with it meets
//! younger ones that it should have come before (*thousand-cores* 4.3: batches abort more under contention).
//!
//! So their order is not that of time: a transaction that begins after another one has ended may come before it.

use super::atomic::Counter;

/// What is left of a slot's batch.
#[derive(Default)]
pub(crate) struct Batch {
    next: u64,
    left: u64,
}

impl Batch {
    #[inline]
    pub(super) fn next(&mut self, of: u64, counter: &Counter) -> u64 {
        if self.left == 0 {
            *self = Batch { next: counter.take(of), left: of };
        }
        let next = self.next;
        *self = Batch { next: next + 1, left: self.left - 1 };
        next
    }
}
