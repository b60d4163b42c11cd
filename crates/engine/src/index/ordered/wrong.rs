//! Flavours that leave out a step of [`Shared`], for the tests that must notice.

use super::state::State;
use super::synchronization_policy::{Shared, SynchronizationPolicy, is_unchanged, stable, unlatch};
use crate::facade::atomic::{AtomicU32, AtomicU64, Ordering};

/// A reader believes what it saw.
#[derive(Debug)]
pub struct UnvalidatedReads;

impl SynchronizationPolicy for UnvalidatedReads {
    type Word64 = AtomicU64;
    type Word32 = AtomicU32;

    fn stable(word: &AtomicU64) -> State {
        stable(word)
    }

    fn look(word: &AtomicU64) -> State {
        // Acquire: as in `stable`.
        State(word.load(Ordering::Acquire))
    }

    fn is_unchanged(_: &AtomicU64, _: State) -> bool {
        true
    }

    fn try_latch(word: &AtomicU64, seen: State) -> bool {
        Shared::try_latch(word, seen)
    }

    fn unlatch(word: &AtomicU64, state: State) {
        unlatch(word, state);
    }
}

/// A change leaves the version as it was.
#[derive(Debug)]
pub struct Unversioned;

impl SynchronizationPolicy for Unversioned {
    type Word64 = AtomicU64;
    type Word32 = AtomicU32;

    fn stable(word: &AtomicU64) -> State {
        stable(word)
    }

    fn look(word: &AtomicU64) -> State {
        // Acquire: as in `stable`.
        State(word.load(Ordering::Acquire))
    }

    fn is_unchanged(word: &AtomicU64, seen: State) -> bool {
        is_unchanged(word, seen)
    }

    fn try_latch(word: &AtomicU64, seen: State) -> bool {
        Shared::try_latch(word, seen)
    }

    fn unlatch(word: &AtomicU64, state: State) {
        unlatch(word, state.without_version());
    }
}
