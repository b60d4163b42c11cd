//! Latches whose kind is an option of the run: those of metadata and of partitions.
//!
//! A latch is one word, which has no room for its kind: who locks or unlocks it says the kind, the same for all latches of a run.
//! A branch on it is predicted, and costs less than a system compiled for every kind (`docs/results/build.md`).

use crate::facade::latch::{Latch, NoLatch, TestAndSet, TestAndTestAndSet, Ticket};
use contract::LatchName;
use std::mem::ManuallyDrop;

/// Protects metadata of more than one word.
pub trait MetadataLatch: 'static {
    /// Waits until nobody holds it, and holds it.
    fn lock(&self, kind: LatchName);

    /// Lets go. The caller must be the holder.
    fn unlock(&self, kind: LatchName);
}

/// A latch of any kind. All-zero bytes are an unlocked latch of every kind.
#[repr(C)]
pub union ChosenLatch {
    test_and_set: ManuallyDrop<TestAndSet>,
    test_and_test_and_set: ManuallyDrop<TestAndTestAndSet>,
    ticket: ManuallyDrop<Ticket>,
}

impl Default for ChosenLatch {
    fn default() -> Self {
        ChosenLatch { test_and_set: ManuallyDrop::default() }
    }
}

impl ChosenLatch {
    #[inline(always)]
    fn test_and_set(&self) -> &TestAndSet {
        // SAFETY: one word with interior mutability, of which any bits are valid.
        unsafe { &self.test_and_set }
    }

    #[inline(always)]
    fn test_and_test_and_set(&self) -> &TestAndTestAndSet {
        // SAFETY: as above.
        unsafe { &self.test_and_test_and_set }
    }

    #[inline(always)]
    fn ticket(&self) -> &Ticket {
        // SAFETY: as above.
        unsafe { &self.ticket }
    }
}

impl MetadataLatch for ChosenLatch {
    #[inline(always)]
    fn lock(&self, kind: LatchName) {
        match kind {
            LatchName::TestAndSet => self.test_and_set().lock(),
            LatchName::TestAndTestAndSet => self.test_and_test_and_set().lock(),
            LatchName::Ticket => self.ticket().lock(),
        }
    }

    #[inline(always)]
    fn unlock(&self, kind: LatchName) {
        match kind {
            LatchName::TestAndSet => self.test_and_set().unlock(),
            LatchName::TestAndTestAndSet => self.test_and_test_and_set().unlock(),
            LatchName::Ticket => self.ticket().unlock(),
        }
    }
}

impl MetadataLatch for NoLatch {
    #[inline(always)]
    fn lock(&self, _: LatchName) {
        Latch::lock(self);
    }

    #[inline(always)]
    fn unlock(&self, _: LatchName) {
        Latch::unlock(self);
    }
}
