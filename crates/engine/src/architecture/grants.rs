//! Grant words: what a transaction that waits in a record's queue was told, one word a slot.
//!
//! Whoever releases the record writes the word, whoever waits reads it; each has a cache line of its own.

use crate::epoch::Line;
use crate::facade::atomic::{AtomicU32, Ordering};
use crate::protocol::{SlotId, Wake, Waker};

const UNDECIDED: u32 = 0;
const GRANTED: u32 = 1;
const AGAIN: u32 = 2;

/// A word for every slot.
pub(crate) struct Grants(Box<[Line<AtomicU32>]>);

impl Grants {
    /// For `slots` slots, none of which waits.
    pub fn new(slots: usize) -> Self {
        Grants((0..slots).map(|_| Line(AtomicU32::new(UNDECIDED))).collect())
    }

    /// Whether the queued request of `slot` was decided.
    #[inline]
    pub fn is_decided(&self, slot: SlotId) -> bool {
        // Relaxed: whoever goes on takes the word.
        self.0[slot.0 as usize].0.load(Ordering::Relaxed) != UNDECIDED
    }

    /// What the queued request of `slot` was told, once it was; its next request may then be queued.
    #[inline]
    pub fn take(&self, slot: SlotId) -> Option<Wake> {
        let word = &self.0[slot.0 as usize].0;
        // Acquire: what the releasing transaction wrote; pairs with the Release in `wake`.
        let wake = match word.load(Ordering::Acquire) {
            UNDECIDED => return None,
            GRANTED => Wake::Granted,
            _ => Wake::Retry,
        };
        // Relaxed: the next request of this slot is queued under a latch, or by a message, that orders it.
        word.store(UNDECIDED, Ordering::Relaxed);
        Some(wake)
    }
}

impl Waker for Grants {
    fn wake(&self, slot: SlotId, wake: Wake) {
        let told = match wake {
            Wake::Granted => GRANTED,
            Wake::Retry => AGAIN,
        };
        // Release: pairs with the Acquire in `take`.
        self.0[slot.0 as usize].0.store(told, Ordering::Release);
    }
}
