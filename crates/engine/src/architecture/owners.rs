//! Who owns which partition, where ownership is logical and may change between transactions (*trireme* 2.4).
//!
//! State. A word a partition names its owner, the worker on whose thread its records' metadata is touched. Beside it, the
//! owner keeps how many transactions are in the partition, and whom it wants to hand it to. No record moves.
//!
//! Handing over. The owner closes the partition: a transaction that is not in it is refused and aborts, those in it go on
//! and leave. When the last one has left, nobody holds a lock in it, and the owner writes the new owner into the word. It
//! aborts newcomers instead of keeping them waiting, because one that waits may hold, elsewhere, what one inside needs.
//!
//! A fiber that was on its way to the old owner finds, when it arrives, that this is not the owner any more, and goes
//! on to the new one. Only the owner changes the word, so a worker that reads itself there can rely on it.

use crate::epoch::Line;
use crate::facade::atomic::{AtomicU32, Ordering};
use crate::facade::cell::Cell;
use contract::{AbortReason, PartitionId};

#[derive(Default)]
struct Ownership {
    owner: AtomicU32,
    /// Transactions in the partition; the owner's.
    visitors: Cell<u32>,
    /// The worker to hand over to, from 1; 0 for none; the owner's.
    wanted: Cell<u32>,
}

/// The owners of all partitions.
pub(crate) struct Owners(Box<[Line<Ownership>]>);

// SAFETY: the cells of a partition are touched by its owner only. The next owner comes after the last: it learns of its
// ownership from the word (Release, Acquire), or from a fiber that did and came to it through a ring.
unsafe impl Sync for Owners {}

impl Owners {
    /// Partition `p` belongs to worker `p % workers`.
    pub fn new(partitions: u32, workers: usize) -> Self {
        let ownership = |partition: u32| {
            let owner = AtomicU32::new(partition % workers as u32);
            Line(Ownership { owner, ..Ownership::default() })
        };
        Owners((0..partitions).map(ownership).collect())
    }

    /// The owner of a partition; exact if the answer is the worker that asks.
    #[inline(always)]
    pub fn owner(&self, partition: PartitionId) -> usize {
        // Acquire: pairs with the Release in `hand_over`.
        self.0[partition.index()].0.owner.load(Ordering::Acquire) as usize
    }

    /// A transaction comes in. Called by the owner.
    #[inline(always)]
    pub fn enter(&self, partition: PartitionId) -> Result<(), AbortReason> {
        let ownership = &self.0[partition.index()].0;
        if ownership.wanted.get() != 0 {
            return Err(AbortReason::HandOver);
        }
        ownership.visitors.set(ownership.visitors.get() + 1);
        Ok(())
    }

    /// A transaction leaves. Called by the owner, who may not be it any more afterwards.
    #[inline(always)]
    pub fn leave(&self, partition: PartitionId) {
        let ownership = &self.0[partition.index()].0;
        let visitors = ownership.visitors.get();
        assert!(visitors > 0, "a transaction leaves a partition that it has not entered");
        ownership.visitors.set(visitors - 1);
        if visitors == 1 && ownership.wanted.get() != 0 {
            self.hand_over(partition);
        }
    }

    /// Wants `to` to own a partition as soon as nobody is in it. Called by the owner, who may not be it any more
    /// afterwards.
    pub fn offer(&self, partition: PartitionId, to: usize) {
        let ownership = &self.0[partition.index()].0;
        ownership.wanted.set(to as u32 + 1);
        if ownership.visitors.get() == 0 {
            self.hand_over(partition);
        }
    }

    #[cold]
    fn hand_over(&self, partition: PartitionId) {
        let ownership = &self.0[partition.index()].0;
        let to = ownership.wanted.get() - 1;
        ownership.wanted.set(0);
        // Release: all that was done under this owner comes before; pairs with the Acquire in `owner`.
        ownership.owner.store(to, Ordering::Release);
    }

    /// The partitions that `worker`, who asks, owns.
    pub fn of(&self, worker: usize) -> impl Iterator<Item = PartitionId> {
        (0..self.0.len() as u32).map(PartitionId).filter(move |&partition| self.owner(partition) == worker)
    }
}
