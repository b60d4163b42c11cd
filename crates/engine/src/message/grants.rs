//! Grant words: what a transaction that waits in a record's queue was told, one word a slot.
//!
//! The releaser of the record writes the word, the waiter reads it; each has a cache line of its own. A second word in the
//! line, and a row of a waits-for graph, are for those who wait for long ([`crate::architecture`]).

use crate::epoch::Line;
use crate::facade::atomic::{AtomicU32, Ordering};
use crate::facade::clock;
use crate::facade::worker;
use crate::protocol::waits_for::{SlotSet, WaitsFor};
use crate::protocol::{SlotId, Wake, Waker};
use std::time::Duration;

const UNDECIDED: u32 = 0;
const GRANTED: u32 = 1;
const RETRY: u32 = 2;

/// The slot waits for a short time, or not at all.
const IN_TIME: u32 = 0;
/// It has waited for longer than the run's patience.
const OVERDUE: u32 = 1;
/// It was found to wait for ever, and has given up.
const DEAD: u32 = 2;
/// It is in nobody's way: it has asked for nothing. Only where that is said.
const AWAY: u32 = 3;

/// A slot's line.
#[derive(Default)]
struct Word {
    told: AtomicU32,
    waits: AtomicU32,
}

/// A word for every slot.
pub(crate) struct Grants {
    words: Box<[Line<Word>]>,
    /// What those say who have waited for so long.
    waits_for: WaitsFor,
    /// Whether a slot was found to wait for ever.
    has_dead: AtomicU32,
    patience_ticks: u64,
}

impl Grants {
    /// For `slots` slots, none of which waits; they wait for so long before they ask whether it is for ever, or for as long
    /// as the machine says.
    pub fn new(slots: usize, patience: Option<Duration>) -> Self {
        let words = (0..slots).map(|_| Line::default()).collect();
        let patience_ticks = clock::ticks_of(patience.unwrap_or_else(worker::patience));
        Grants { words, waits_for: WaitsFor::new(slots, false), has_dead: AtomicU32::new(0), patience_ticks }
    }

    /// How long a slot waits before it asks whether it waits for ever, in ticks.
    pub fn patience(&self) -> u64 {
        self.patience_ticks
    }

    /// `slot` has waited for so long, for these.
    pub fn set_overdue(&self, slot: SlotId, others: &SlotSet) {
        self.waits_for.publish(slot.0, 0, others);
        // Release: whom it waits for; pairs with the Acquire in `is_stuck`. The rest of this word is Relaxed: it is looked at
        // again and again, and orders nothing.
        self.words[slot.0 as usize].0.waits.store(OVERDUE, Ordering::Release);
    }

    /// Whom `slot`, which is stuck, waits for; it said so when it looked last.
    pub fn waits_for(&self, slot: SlotId) -> SlotSet {
        self.waits_for.of(slot.0)
    }

    /// `slot` has asked for nothing.
    #[inline]
    pub fn set_away(&self, slot: SlotId) {
        self.words[slot.0 as usize].0.waits.store(AWAY, Ordering::Relaxed);
    }

    /// All that may be in the way of `slot`, where they say when they are not.
    pub fn others_present(&self, slot: SlotId) -> SlotSet {
        let mut others = SlotSet::EMPTY;
        for (number, word) in (0u32..).zip(&self.words) {
            if number != slot.0 && word.0.waits.load(Ordering::Relaxed) != AWAY {
                others.insert(number);
            }
        }
        others
    }

    /// `slot` waits not at all, or for a short time again.
    #[inline]
    pub fn set_in_time(&self, slot: SlotId) {
        self.words[slot.0 as usize].0.waits.store(IN_TIME, Ordering::Relaxed);
    }

    /// `slot` was found to wait for ever, and gives up: its request stays, and the waiters behind it wait for ever.
    pub fn set_dead(&self, slot: SlotId) {
        self.words[slot.0 as usize].0.waits.store(DEAD, Ordering::Relaxed);
        self.has_dead.store(1, Ordering::Relaxed);
    }

    /// Whether a slot has given up: its request stands in somebody's way for ever.
    pub fn has_dead(&self) -> bool {
        self.has_dead.load(Ordering::Relaxed) != 0
    }

    /// Whether `slot` has waited for long and still does, or has given up.
    pub fn is_stuck(&self, slot: SlotId) -> bool {
        // Acquire: pairs with the Release in `set_overdue`.
        match self.words[slot.0 as usize].0.waits.load(Ordering::Acquire) {
            IN_TIME | AWAY => false,
            DEAD => true,
            _ => !self.is_decided(slot),
        }
    }

    /// Whether the queued request of `slot` was decided.
    #[inline]
    pub fn is_decided(&self, slot: SlotId) -> bool {
        // Relaxed: a waiter that goes on takes the word.
        self.words[slot.0 as usize].0.told.load(Ordering::Relaxed) != UNDECIDED
    }

    /// What the queued request of `slot` was told, once it was; its next request may then be queued.
    #[inline]
    pub fn take(&self, slot: SlotId) -> Option<Wake> {
        let word = &self.words[slot.0 as usize].0.told;
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
            Wake::Retry => RETRY,
        };
        // Release: pairs with the Acquire in `take`.
        self.words[slot.0 as usize].0.told.store(told, Ordering::Release);
    }
}
