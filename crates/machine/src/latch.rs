//! Latches: mutual exclusion for a few instructions, the physical synchronisation of shared metadata.
//!
//! Every latch is one word of four bytes, and zero bytes are an unlocked latch, so latches may be laid over
//! fresh memory. Which one is fastest depends on how many wait and on whether all of them run, so the kind of
//! latch is a type parameter wherever one is used.
//!
//! | type | one attempt to lock | under contention |
//! |---|---|---|
//! | [`TestAndSet`] | one exchange | every waiter takes the line for itself at every attempt |
//! | [`TestAndTestAndSet`] | a load, then one exchange | waiters read their own copy until the holder writes |
//! | [`Ticket`] | one addition | first come, first served; one that does not run stops all behind it |
//! | [`NoLatch`] | none | for a single owner; not to be entered twice |
//!
//! This text is compiled against the hardware's words, against the simulated machine's, and in a test against
//! `loom`'s; it names only `super::atomic`, `super::cell` and `super::cpu`.
//!
//! The exchanges compare. An unconditional swap would do, but then every waiter's store competes with the
//! holder's unlocking for a place in the modification order, and `loom` 0.7 follows executions without end in
//! which the unlocking is never seen.
//!
//! Orderings, the same for all: taking a latch is an Acquire that pairs with the Release of the unlocking
//! before it, so that the new holder sees all that the last one wrote.

use super::atomic::{AtomicU32, Ordering};
use super::cell::Cell;
use super::cpu::Spin;

/// Mutual exclusion. [`Latch::unlock`] is for the holder alone.
pub trait Latch: Default {
    /// Name in results: kebab-case.
    const NAME: &'static str;

    /// Waits until nobody holds the latch, and holds it.
    fn lock(&self);

    /// Holds the latch if nobody does.
    #[must_use]
    fn try_lock(&self) -> bool;

    /// Lets go. The caller must be the holder.
    fn unlock(&self);
}

const UNLOCKED: u32 = 0;
const LOCKED: u32 = 1;

/// Sets the word, and tells whether it was free.
#[inline(always)]
fn set(word: &AtomicU32) -> bool {
    // Acquire: pairs with the Release in either latch's `unlock`. Relaxed on failure: nothing was taken.
    word.compare_exchange(UNLOCKED, LOCKED, Ordering::Acquire, Ordering::Relaxed).is_ok()
}

/// Exchanges until the latch was free.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct TestAndSet {
    word: AtomicU32,
}

impl Latch for TestAndSet {
    const NAME: &'static str = "test-and-set";

    #[inline]
    fn lock(&self) {
        let mut spin = Spin::new();
        while !self.try_lock() {
            spin.pause();
        }
    }

    #[inline]
    fn try_lock(&self) -> bool {
        set(&self.word)
    }

    // No assertion that it was locked: the load would fetch the line from a waiter that is about to lose it
    // again.
    #[inline]
    fn unlock(&self) {
        // Release: hands over what the holder wrote; pairs with the Acquire in `set`.
        self.word.store(UNLOCKED, Ordering::Release);
    }
}

/// Reads until the latch looks free, then exchanges.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct TestAndTestAndSet {
    word: AtomicU32,
}

impl Latch for TestAndTestAndSet {
    const NAME: &'static str = "test-and-test-and-set";

    #[inline]
    fn lock(&self) {
        let mut spin = Spin::new();
        while !self.try_lock() {
            spin.pause();
        }
    }

    #[inline]
    fn try_lock(&self) -> bool {
        // Relaxed: only a hint, the exchange decides.
        self.word.load(Ordering::Relaxed) == UNLOCKED && set(&self.word)
    }

    #[inline]
    fn unlock(&self) {
        // Release: hands over what the holder wrote; pairs with the Acquire in `set`.
        self.word.store(UNLOCKED, Ordering::Release);
    }
}

/// Draws a ticket and waits until it is served.
///
/// State: the next ticket in the upper half of the word, the ticket being served in the lower half; equal
/// halves are an unlocked latch. Invariant: at most `u16::MAX` workers wait. Only the holder changes the
/// lower half.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Ticket {
    word: AtomicU32,
}

impl Ticket {
    const ONE_TICKET: u32 = 1 << 16;

    const fn next(word: u32) -> u16 {
        (word >> 16) as u16
    }

    const fn served(word: u32) -> u16 {
        word as u16
    }
}

impl Latch for Ticket {
    const NAME: &'static str = "ticket";

    #[inline]
    fn lock(&self) {
        // The ticket after 65,535 is 0: the carry leaves the word. Acquire, here for a latch that is free and
        // below for one that is not: pairs with the Release in `unlock`.
        let drawn = self.word.fetch_add(Self::ONE_TICKET, Ordering::Acquire);
        let mine = Self::next(drawn);
        if Self::served(drawn) == mine {
            return;
        }
        let mut spin = Spin::new();
        while Self::served(self.word.load(Ordering::Acquire)) != mine {
            spin.pause();
        }
    }

    #[inline]
    fn try_lock(&self) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        // Acquire: pairs with the Release in `unlock`. Relaxed on failure: nothing was taken.
        Self::served(word) == Self::next(word)
            && self
                .word
                .compare_exchange(
                    word,
                    word.wrapping_add(Self::ONE_TICKET),
                    Ordering::Acquire,
                    Ordering::Relaxed,
                )
                .is_ok()
    }

    #[inline]
    fn unlock(&self) {
        let word = self.word.load(Ordering::Relaxed);
        assert!(Self::served(word) != Self::next(word), "a ticket latch is unlocked that nobody holds");
        // Release: hands over what the holder wrote; pairs with the Acquires in `lock` and `try_lock`.
        if Self::served(word) == u16::MAX {
            // Serves ticket 0 without a carry into the upper half.
            self.word.fetch_sub(u32::from(u16::MAX), Ordering::Release);
        } else {
            self.word.fetch_add(1, Ordering::Release);
        }
    }
}

/// No latch at all, for metadata that one worker owns. Asserts that nobody enters twice.
///
/// Not for sharing:
///
/// ```
/// fn share<T: Sync>() {}
/// share::<machine::hardware::latch::Ticket>();
/// ```
/// ```compile_fail,E0277
/// fn share<T: Sync>() {}
/// share::<machine::hardware::latch::NoLatch>();
/// ```
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct NoLatch {
    word: Cell<u32>,
}

impl Latch for NoLatch {
    const NAME: &'static str = "none";

    #[inline]
    fn lock(&self) {
        assert!(self.try_lock(), "the single owner entered twice");
    }

    #[inline]
    fn try_lock(&self) -> bool {
        let free = self.word.get() == UNLOCKED;
        self.word.set(LOCKED);
        free
    }

    #[inline]
    fn unlock(&self) {
        assert!(self.word.get() == LOCKED, "the single owner left without entering");
        self.word.set(UNLOCKED);
    }
}
