//! Who uses an index, and with which instructions: the index's own synchronization policy, apart from the metadata's.
//!
//! | synchronization policy | who reads | who writes | a look is validated | a latch is |
//! |---|---|---|---|---|
//! | [`Shared`] | any thread | any thread | yes | a bit, taken by compare-and-swap |
//! | [`SingleWriter`] | any thread | one thread at a time | yes | a bit, stored by the writer, for readers to see |
//! | [`Owned`] | one thread | the same | there is nothing to validate | nothing |
//!
//! The algorithm is one text over [`SynchronizationPolicy`]; where a synchronization policy has nothing to validate, the restarts vanish at compile
//! time. That only the owner comes is the architecture's promise, as it is for metadata ([`crate::physical`]).
//!
//! In partitions that have an owner, the engine's steps use [`SingleWriter`]: no atomic read-modify-write is left but
//! one for each chunk of memory, and on x86-64 no fence. Others may look: Silo under delegation observes from other threads,
//! and validates; prefetching under partitioned serial execution looks at partitions that others have latched, and may see
//! anything. [`Owned`] is for an index that nobody else reads at all.

use super::node_state::State;
use crate::facade::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use crate::facade::cell::Cell;
use crate::facade::cpu::Spin;
use crate::facade::unobserved;

/// A word of a node that its latch protects; readers validate what they saw.
pub trait Word<T: Copy> {
    /// The value, which may be in the middle of a change.
    fn get(&self) -> T;
    /// Sets it; the caller has latched the node, or nobody else can reach it.
    fn set(&self, value: T);
}

macro_rules! words {
    ($($atomic:ident, $value:ident;)+) => { $(
        impl Word<$value> for $atomic {
            #[inline(always)]
            fn get(&self) -> $value {
                // Relaxed: the reader validates the node's state afterwards.
                self.load(Ordering::Relaxed)
            }

            #[inline(always)]
            fn set(&self, value: $value) {
                // Relaxed: published by the Release that unlatches the node.
                self.store(value, Ordering::Relaxed);
            }
        }

        impl Word<$value> for Cell<$value> {
            #[inline(always)]
            fn get(&self) -> $value {
                Cell::get(self)
            }

            #[inline(always)]
            fn set(&self, value: $value) {
                Cell::set(self, value);
            }
        }
    )+ };
}

words! {
    AtomicU64, u64;
    AtomicU32, u32;
}

/// Who uses an index. All-zero bytes are words of value zero.
pub trait SynchronizationPolicy: 'static {
    /// A 64-bit word of a node.
    type Word64: Word<u64>;
    /// A 32-bit word of a node.
    type Word32: Word<u32>;

    /// The state of a node that nobody is changing; what was written before it was set is visible.
    fn stable(word: &Self::Word64) -> State;

    /// The state as it is; what was written before it was set is visible.
    fn look(word: &Self::Word64) -> State;

    /// Whether the state still is what [`SynchronizationPolicy::stable`] answered: if so, what was read in between is what the node
    /// held then.
    #[must_use]
    fn is_unchanged(word: &Self::Word64, seen: State) -> bool;

    /// Latches the node if its state still is `seen`; on success, what was read since then is what it holds.
    #[must_use]
    fn try_latch(word: &Self::Word64, seen: State) -> bool;

    /// Sets the state of a latched node; what was written before is visible to a thread that reads it.
    fn unlatch(word: &Self::Word64, state: State);
}

/// Waits for the latch, mostly held for nanoseconds.
#[cold]
fn wait(word: &AtomicU64) -> State {
    let mut spin = Spin::new();
    loop {
        spin.pause();
        // Acquire: as in `stable`.
        let state = State(word.load(Ordering::Acquire));
        if !state.is_latched() {
            return state;
        }
    }
}

#[inline(always)]
pub(crate) fn stable(word: &AtomicU64) -> State {
    // Acquire: pairs with the Release in `unlatch`, so that what is read next is at least as new as the state.
    let state = State(word.load(Ordering::Acquire));
    if state.is_latched() { wait(word) } else { state }
}

#[inline(always)]
pub(crate) fn is_unchanged(word: &AtomicU64, seen: State) -> bool {
    // Acquire: the relaxed loads of the node come before the load below. Who read something that a writer wrote
    // therefore sees its latch bit, or a later state: pairs with the Release fence in `try_latch`.
    fence(Ordering::Acquire);
    word.load(Ordering::Relaxed) == seen.0
}

#[inline(always)]
pub(crate) fn unlatch(word: &AtomicU64, state: State) {
    assert!(!state.is_latched());
    // Release: publishes the changes; pairs with the Acquire in `stable` and `try_latch`.
    word.store(state.0, Ordering::Release);
}

/// Any thread reads and writes.
#[derive(Debug)]
pub struct Shared;

impl SynchronizationPolicy for Shared {
    type Word64 = AtomicU64;
    type Word32 = AtomicU32;

    #[inline(always)]
    fn stable(word: &AtomicU64) -> State {
        stable(word)
    }

    #[inline(always)]
    fn look(word: &AtomicU64) -> State {
        // Acquire: as in `stable`.
        State(word.load(Ordering::Acquire))
    }

    #[inline(always)]
    fn is_unchanged(word: &AtomicU64, seen: State) -> bool {
        is_unchanged(word, seen)
    }

    #[inline(always)]
    fn try_latch(word: &AtomicU64, seen: State) -> bool {
        // Acquire: pairs with the Release in `unlatch`. Relaxed on failure: nothing was taken.
        let taken = word.compare_exchange(seen.0, seen.latched().0, Ordering::Acquire, Ordering::Relaxed);
        // Release: the latch bit comes before every change to the node; pairs with the Acquire fence in `is_unchanged`.
        fence(Ordering::Release);
        taken.is_ok()
    }

    #[inline(always)]
    fn unlatch(word: &AtomicU64, state: State) {
        unlatch(word, state);
    }
}

/// One thread at a time writes, any thread reads.
#[derive(Debug)]
pub struct SingleWriter;

impl SynchronizationPolicy for SingleWriter {
    type Word64 = AtomicU64;
    type Word32 = AtomicU32;

    #[inline(always)]
    fn stable(word: &AtomicU64) -> State {
        stable(word)
    }

    #[inline(always)]
    fn look(word: &AtomicU64) -> State {
        // Acquire: as in `stable`.
        State(word.load(Ordering::Acquire))
    }

    #[inline(always)]
    fn is_unchanged(word: &AtomicU64, seen: State) -> bool {
        is_unchanged(word, seen)
    }

    #[inline(always)]
    fn try_latch(word: &AtomicU64, seen: State) -> bool {
        // Relaxed: the writer reads its own last store, or that of the one before it, which the partition's latch or its
        // hand-over has made visible.
        if word.load(Ordering::Relaxed) != seen.0 {
            return false;
        }
        word.store(seen.latched().0, Ordering::Relaxed);
        // Release: as in `Shared`.
        fence(Ordering::Release);
        true
    }

    #[inline(always)]
    fn unlatch(word: &AtomicU64, state: State) {
        unlatch(word, state);
    }
}

/// One thread reads and writes.
#[derive(Debug)]
pub struct Owned;

impl SynchronizationPolicy for Owned {
    type Word64 = Cell<u64>;
    type Word32 = Cell<u32>;

    #[inline(always)]
    fn stable(word: &Cell<u64>) -> State {
        State(word.get())
    }

    #[inline(always)]
    fn look(word: &Cell<u64>) -> State {
        State(word.get())
    }

    #[inline(always)]
    fn is_unchanged(_: &Cell<u64>, _: State) -> bool {
        true
    }

    #[inline(always)]
    fn try_latch(word: &Cell<u64>, seen: State) -> bool {
        // Not in release: a second look at what was looked at just before, in every change of a node.
        debug_assert!(unobserved(|| word.get()) == seen.0, "the single owner entered twice");
        let _ = (word, seen);
        true
    }

    #[inline(always)]
    fn unlatch(word: &Cell<u64>, state: State) {
        word.set(state.0);
    }
}
