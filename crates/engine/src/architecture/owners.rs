//! Who owns which partition, where ownership is logical and may change between transactions (*trireme* 2.4).
//!
//! State. A word a partition names its owner, the worker on whose thread its records' metadata is touched; everybody
//! reads it. On a line of its own, for it changes all the time, the owner keeps how many transactions are in the
//! partition, and whom it wants to hand it to. No record moves.
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

/// What the owner knows of a partition.
#[derive(Default)]
struct Inside {
    /// Transactions in it.
    visitors: Cell<u32>,
    /// The worker to hand over to, from 1; 0 for none.
    wanted: Cell<u32>,
}

/// The owners of all partitions.
pub(crate) struct Owners {
    words: Box<[Line<AtomicU32>]>,
    insides: Box<[Line<Inside>]>,
}

// SAFETY: the cells of a partition are touched by its owner only. The next owner comes after the last: it learns of its
// ownership from the word (Release, Acquire), or from a fiber that did and came to it through a ring.
unsafe impl Sync for Owners {}

impl Owners {
    /// Partition `p` belongs to worker `p % workers`.
    pub fn new(partitions: u32, workers: usize) -> Self {
        let word = |partition: u32| Line(AtomicU32::new(partition % workers as u32));
        Owners {
            words: (0..partitions).map(word).collect(),
            insides: (0..partitions).map(|_| Line::default()).collect(),
        }
    }

    fn inside(&self, partition: PartitionId) -> &Inside {
        &self.insides[partition.index()].0
    }

    /// The owner of a partition; exact if the answer is the worker that asks.
    #[inline(always)]
    pub fn owner(&self, partition: PartitionId) -> usize {
        // Acquire: pairs with the Release in `hand_over`.
        self.words[partition.index()].0.load(Ordering::Acquire) as usize
    }

    /// A transaction comes in. Called by the owner.
    #[inline(always)]
    pub fn enter(&self, partition: PartitionId) -> Result<(), AbortReason> {
        let inside = self.inside(partition);
        if inside.wanted.get() != 0 {
            return Err(AbortReason::HandOver);
        }
        inside.visitors.set(inside.visitors.get() + 1);
        Ok(())
    }

    /// A transaction leaves. Called by the owner, who may not be it any more afterwards.
    #[inline(always)]
    pub fn leave(&self, partition: PartitionId) {
        let inside = self.inside(partition);
        let visitors = inside.visitors.get();
        assert!(visitors > 0, "a transaction leaves a partition that it has not entered");
        inside.visitors.set(visitors - 1);
        if visitors == 1 && inside.wanted.get() != 0 {
            self.hand_over(partition);
        }
    }

    /// Wants `to` to own a partition as soon as nobody is in it. Called by the owner, who may not be it any more
    /// afterwards.
    pub fn offer(&self, partition: PartitionId, to: usize) {
        let inside = self.inside(partition);
        inside.wanted.set(to as u32 + 1);
        if inside.visitors.get() == 0 {
            self.hand_over(partition);
        }
    }

    #[cold]
    fn hand_over(&self, partition: PartitionId) {
        let inside = self.inside(partition);
        let to = inside.wanted.get() - 1;
        inside.wanted.set(0);
        // Release: all that was done under this owner comes before; pairs with the Acquire in `owner`.
        self.words[partition.index()].0.store(to, Ordering::Release);
    }

    /// The partitions that `worker`, who asks, owns.
    pub fn of(&self, worker: usize) -> impl Iterator<Item = PartitionId> {
        (0..self.words.len() as u32)
            .map(PartitionId)
            .filter(move |&partition| self.owner(partition) == worker)
    }
}
