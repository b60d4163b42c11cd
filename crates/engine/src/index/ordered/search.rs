//! Where a key is, or would be, in a node.
//!
//! Slices are compared without branches, a few at a time: first every fourth, then the three between two of those. A
//! search reads 6 or 7 slices of 15 or 19, and only the next node's address depends on the outcome. Ties are rare, and
//! resolved by classes and, for keys beyond their slices, out of line.

use super::OrderedIndex;
use super::keys::{LONG, Probe, inline_length};
use super::node::{Inner, LEAF_ENTRIES, Leaf, SEPARATORS, Value};
use super::state::State;
use super::synchronization_policy::{SynchronizationPolicy, Word};
use std::cmp::Ordering;

/// Slices that lie between two pivots.
const BETWEEN: usize = 3;
const STEP: usize = BETWEEN + 1;

const _: () = {
    // All but the pivots' blocks are whole: every position is reached, and none beyond.
    assert!(LEAF_ENTRIES % STEP == BETWEEN);
    assert!(SEPARATORS % STEP == BETWEEN);
};

/// How many of ascending slices `goes_before` a place.
#[inline(always)]
fn count<W: Word<u64>, const N: usize>(slices: &[W; N], goes_before: impl Fn(u64) -> bool) -> usize {
    let mut block = 0;
    for pivot in 0..N / STEP {
        block += usize::from(goes_before(slices[pivot * STEP + BETWEEN].get()));
    }
    let first = block * STEP;
    let mut position = first;
    for between in 0..BETWEEN {
        position += usize::from(goes_before(slices[first + between].get()));
    }
    position
}

impl<F: SynchronizationPolicy> OrderedIndex<F> {
    /// Where the key is in a leaf, or where it would be.
    #[inline(always)]
    pub(super) fn search(&self, leaf: &Leaf<F>, state: State, key: &Probe<'_>) -> Result<usize, usize> {
        let slice = key.slice_at(state.prefix());
        let class = key.class_at(state.prefix());
        let mut position = count(&leaf.slices, |other| other < slice);
        while position < state.count() && leaf.slices[position].get() == slice {
            let value = Value(leaf.values[position].get());
            match value.class().cmp(&class) {
                Ordering::Less => {}
                Ordering::Greater => return Err(position),
                Ordering::Equal if class != LONG => return Ok(position),
                Ordering::Equal => match self.heap.compare(value.bits() as u32, key, state.prefix()) {
                    Ordering::Less => {}
                    Ordering::Equal => return Ok(position),
                    Ordering::Greater => return Err(position),
                },
            }
            position += 1;
        }
        Err(position)
    }

    /// The child that is responsible for the key: how many separators are not above it.
    #[inline(always)]
    pub(super) fn child(&self, inner: &Inner<F>, state: State, key: &Probe<'_>) -> usize {
        let slice = key.slice_at(state.prefix());
        // Unused slices are not above a slice of all ones.
        let position = count(&inner.slices, |other| other <= slice).min(state.count());
        match inner.long.get() {
            0 => position,
            long => self.without_long_ties(inner, state, key, position, long),
        }
    }

    /// Separators out of line may be above the key although their slices are equal.
    #[inline(never)]
    fn without_long_ties(
        &self,
        inner: &Inner<F>,
        state: State,
        key: &Probe<'_>,
        mut position: usize,
        long: u32,
    ) -> usize {
        let slice = key.slice_at(state.prefix());
        while let Some(last) = position.checked_sub(1) {
            let is_tie = inner.slices[last].get() == slice && long >> last & 1 == 1;
            if !is_tie || self.compare_long(inner, last, key, state) != Ordering::Greater {
                break;
            }
            position = last;
        }
        position
    }

    /// The child that is responsible for what lies just below the key: how many separators are below it.
    pub(super) fn child_below(&self, inner: &Inner<F>, state: State, key: &Probe<'_>) -> usize {
        let position = self.child(inner, state, key);
        match position.checked_sub(1) {
            Some(last) if self.is_separator(inner, state, last, key) => last,
            _ => position,
        }
    }

    /// Whether the key is the separator at `position`.
    fn is_separator(&self, inner: &Inner<F>, state: State, position: usize, key: &Probe<'_>) -> bool {
        if inner.long.get() >> position & 1 == 1 {
            return self.compare_long(inner, position, key, state) == Ordering::Equal;
        }
        let slice = inner.slices[position].get();
        slice == key.slice_at(state.prefix()) && inline_length(slice) == key.class_at(state.prefix())
    }

    /// How a separator that is out of line compares to the key.
    fn compare_long(&self, inner: &Inner<F>, position: usize, key: &Probe<'_>, state: State) -> Ordering {
        self.heap.compare(self.tail(inner, position), key, state.prefix())
    }

    /// The piece of a separator that is out of line.
    pub(super) fn tail(&self, inner: &Inner<F>, position: usize) -> u32 {
        self.heap.get(inner.tails.get(), position) as u32
    }
}
