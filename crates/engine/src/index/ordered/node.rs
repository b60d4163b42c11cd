//! Nodes: four cache lines, the first word of which is the [`State`].
//!
//! | bytes of a leaf | what |
//! |---|---|
//! | 0..8 | state |
//! | 8..16 | the protocol's metadata: it protects the keys of the leaf's range that the leaf does *not* hold |
//! | 16..136 | 15 slices, ascending; unused ones are `u64::MAX` |
//! | 136..256 | 15 values: 48 bits of a record's address or the number of a piece of the key heap, 16 of the key's class |
//!
//! | bytes of an inner node | what |
//! |---|---|
//! | 0..8 | state |
//! | 8..12 | a bit for each separator that is out of line |
//! | 12..16 | the piece of the key heap that has the pieces' numbers of those, 0 for none |
//! | 16..168 | 19 slices of separators, ascending; unused ones are `u64::MAX` |
//! | 168..248 | 20 numbers of children |
//! | 248..256 | unused |

use super::MAX_KEY_BYTES;
use super::keys::LONG;
use super::state::{COUNTS, POSITIONS, PREFIXES, State};
use super::synchronization_policy::{SynchronizationPolicy, Word};
use crate::facade::atomic::{AtomicU64, Ordering};
use crate::physical::Metadata;
use crate::record::META_BYTES;

/// Bytes of a node.
pub(super) const NODE_BYTES: usize = 256;
const LINE_BYTES: usize = 64;

/// Entries of a leaf.
pub(super) const LEAF_ENTRIES: usize = 15;
/// Separators of an inner node, which has one child more.
pub(super) const SEPARATORS: usize = 19;

const _: () = {
    assert!(LEAF_ENTRIES < POSITIONS && LEAF_ENTRIES < COUNTS);
    assert!(SEPARATORS < COUNTS);
    assert!(MAX_KEY_BYTES < PREFIXES);
};

/// A slice that is not in use: not less than any.
pub(super) const UNUSED: u64 = u64::MAX;

/// A leaf, as the protocols see it.
#[repr(C, align(256))]
pub struct Leaf<F: SynchronizationPolicy> {
    pub(super) state: F::Word64,
    meta: [AtomicU64; META_BYTES / 8],
    pub(super) slices: [F::Word64; LEAF_ENTRIES],
    pub(super) values: [F::Word64; LEAF_ENTRIES],
}

/// An inner node.
#[repr(C, align(256))]
pub(super) struct Inner<F: SynchronizationPolicy> {
    pub state: F::Word64,
    /// Which separators are out of line.
    pub long: F::Word32,
    /// The piece with their pieces' numbers.
    pub tails: F::Word32,
    pub slices: [F::Word64; SEPARATORS],
    pub children: [F::Word32; SEPARATORS + 1],
    unused: [F::Word32; 2],
}

impl<F: SynchronizationPolicy> Leaf<F> {
    pub(super) const LAYOUT: () =
        assert!(size_of::<Self>() == NODE_BYTES && size_of::<Inner<F>>() == NODE_BYTES);

    /// The protocol's metadata that protects the keys which the leaf does not hold.
    ///
    /// # Safety
    /// As for [`RecordRef::meta`](crate::storage::RecordRef::meta).
    #[inline(always)]
    pub unsafe fn meta<M: Metadata>(&self) -> &M {
        const { assert!(size_of::<M>() == META_BYTES && align_of::<M>() <= META_BYTES) };
        // SAFETY: 8 bytes, 8-aligned, live with `self`; any bits are a valid `M`, which has interior mutability.
        unsafe { &*(&raw const self.meta).cast::<M>() }
    }

    /// Whether the leaf is out of the tree: its range is another's.
    #[inline(always)]
    pub fn is_dead(&self) -> bool {
        F::look(&self.state).is_dead()
    }

    /// Whether the leaf has not changed since its version was `version`.
    #[inline(always)]
    pub fn is_at(&self, version: Version) -> bool {
        F::look(&self.state) == version.0
    }

    /// Forgets what the last protocol left in the metadata of a quiet index, or of a leaf that nobody can reach.
    pub(super) fn reset(&self) {
        // Relaxed: nobody else is here.
        if self.meta[0].load(Ordering::Relaxed) != 0 {
            self.meta[0].store(0, Ordering::Relaxed);
        }
    }

    #[inline(always)]
    pub(super) fn entry(&self, position: usize) -> Entry {
        Entry { slice: self.slices[position].get(), value: Value(self.values[position].get()) }
    }

    #[inline(always)]
    pub(super) fn put(&self, position: usize, entry: Entry) {
        self.slices[position].set(entry.slice);
        self.values[position].set(entry.value.0);
    }

    /// Makes room at `position` of `count` entries, and puts an entry there.
    pub(super) fn insert(&self, position: usize, count: usize, entry: Entry) {
        for n in (position..count).rev() {
            self.put(n + 1, self.entry(n));
        }
        self.put(position, entry);
    }

    /// Closes the gap that the entry at `position` of `count` leaves.
    pub(super) fn remove(&self, position: usize, count: usize) {
        for n in position + 1..count {
            self.put(n - 1, self.entry(n));
        }
        self.put(count - 1, Entry::NONE);
    }

    /// Fills the leaf with `entries`.
    pub(super) fn fill(&self, entries: &[Entry]) {
        for position in 0..LEAF_ENTRIES {
            self.put(position, entries.get(position).copied().unwrap_or(Entry::NONE));
        }
    }
}

impl<F: SynchronizationPolicy> Inner<F> {
    /// Puts a separator that its slice has at `position` of `count`, and a child right of it, where no separator is out of line.
    pub fn insert(&self, position: usize, count: usize, slice: u64, right: u32) {
        for n in (position..count).rev() {
            self.slices[n + 1].set(self.slices[n].get());
            self.children[n + 2].set(self.children[n + 1].get());
        }
        self.slices[position].set(slice);
        self.children[position + 1].set(right);
    }
}

/// A leaf's version: changes with every change to its entries or its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version(pub(super) State);

/// What an entry stands for: 48 bits and a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Value(pub u64);

impl Value {
    const CLASS_SHIFT: u32 = 48;

    #[inline(always)]
    pub const fn new(bits: u64, class: usize) -> Self {
        assert!(bits >> Self::CLASS_SHIFT == 0);
        Value(bits | (class as u64) << Self::CLASS_SHIFT)
    }

    /// Bytes of the key in the slice, or [`LONG`].
    #[inline(always)]
    pub const fn class(self) -> usize {
        (self.0 >> Self::CLASS_SHIFT) as usize
    }

    /// A record's address, or if the key is long, a piece's number.
    #[inline(always)]
    pub const fn bits(self) -> u64 {
        self.0 & ((1 << Self::CLASS_SHIFT) - 1)
    }

    /// The piece that has the key, if it is long.
    #[inline(always)]
    pub const fn piece(self) -> Option<u32> {
        if self.class() == LONG { Some(self.bits() as u32) } else { None }
    }
}

/// A key's slice and what it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub slice: u64,
    pub value: Value,
}

impl Entry {
    pub const NONE: Entry = Entry { slice: UNUSED, value: Value(0) };
}

/// Asks for the lines of a node.
#[inline(always)]
pub(super) fn prefetch(node: *const u8) {
    for line in 0..NODE_BYTES / LINE_BYTES {
        crate::facade::cpu::prefetch_read(node.wrapping_add(line * LINE_BYTES));
    }
}

/// The same, of a node that will be written.
#[inline(always)]
pub(super) fn prefetch_to_write(node: *const u8) {
    for line in 0..NODE_BYTES / LINE_BYTES {
        crate::facade::cpu::prefetch_write(node.wrapping_add(line * LINE_BYTES));
    }
}
