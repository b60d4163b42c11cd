//! What a node will be, while a split or a removal works it out: its entries or separators taken out of the node, moved,
//! and cut to another prefix.
//!
//! A node's prefix grows when a split narrows its range, and shrinks when a removal widens it. Then every slice begins
//! elsewhere in its key: a key out of line may come to fit into its slice, and its piece is retired; or the other way
//! round.

use super::OrderedIndex;
use super::allocation_cache::AllocationCache;
use super::heap::units_of;
use super::keys::{
    Fence, KeyBuffer, LONG, Probe, SLICE_BYTES, common_of_slice, common_prefix, fits_inline, inline_length,
    slice_of,
};
use super::node::{Entry, Inner, SEPARATORS, UNUSED, Value};
use super::state::State;
use super::synchronization_policy::{SynchronizationPolicy, Word};

/// Bytes of the piece with the numbers of pieces of an inner node's separators.
pub(super) const TAILS_BYTES: usize = SEPARATORS * size_of::<u64>();

/// A separator as a node has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Separator {
    pub slice: u64,
    /// The piece that has it, 0 if its slice does.
    pub piece: u32,
}

impl Separator {
    const NONE: Separator = Separator { slice: UNUSED, piece: 0 };
}

/// What an inner node will be; with room for one child more than a node has.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub count: usize,
    pub separators: [Separator; SEPARATORS + 1],
    pub children: [u32; SEPARATORS + 2],
}

impl Draft {
    /// One child, responsible for everything.
    pub fn of(child: u32) -> Self {
        let mut draft =
            Draft { count: 0, separators: [Separator::NONE; SEPARATORS + 1], children: [0; SEPARATORS + 2] };
        draft.children[0] = child;
        draft
    }

    /// Puts a separator at `position`, and what is right of it.
    pub fn insert(&mut self, position: usize, separator: Separator, right: u32) {
        self.separators.copy_within(position..self.count, position + 1);
        self.children.copy_within(position + 1..=self.count, position + 2);
        (self.separators[position], self.children[position + 1]) = (separator, right);
        self.count += 1;
    }

    /// Takes out a child, and one of the separators beside it, which it answers.
    pub fn remove(&mut self, child: usize, separator: usize) -> Separator {
        let removed = self.separators[separator];
        self.separators.copy_within(separator + 1..self.count, separator);
        self.children.copy_within(child + 1..=self.count, child);
        self.count -= 1;
        self.separators[self.count] = Separator::NONE;
        removed
    }

    /// Keeps what is left of the separator at `middle`; answers it, and what is right of it.
    pub fn split_off(&mut self, middle: usize) -> (Separator, Draft) {
        let separator = self.separators[middle];
        let mut right = Draft::of(0);
        right.count = self.count - middle - 1;
        right.separators[..right.count].copy_from_slice(&self.separators[middle + 1..self.count]);
        right.children[..=right.count].copy_from_slice(&self.children[middle + 1..=self.count]);
        self.separators[middle..].fill(Separator::NONE);
        self.count = middle;
        (separator, right)
    }
}

impl<F: SynchronizationPolicy> OrderedIndex<F> {
    /// What a latched inner node is.
    pub(super) fn load(&self, inner: &Inner<F>, state: State) -> Draft {
        let mut draft = Draft::of(inner.children[0].get());
        let long = inner.long.get();
        for position in 0..state.count() {
            let piece = if long >> position & 1 == 1 { self.tail(inner, position) } else { 0 };
            let separator = Separator { slice: inner.slices[position].get(), piece };
            (draft.separators[position], draft.children[position + 1]) =
                (separator, inner.child_at(position + 1));
        }
        draft.count = state.count();
        draft
    }

    /// Makes a latched inner node, or one that nobody can reach, what the draft says.
    pub(super) fn store(&self, inner: &Inner<F>, draft: &Draft, allocations: &mut AllocationCache) {
        assert!(draft.count <= SEPARATORS, "an inner node is too full");
        let mut long = 0;
        for (position, slice) in inner.slices.iter().enumerate() {
            let separator = draft.separators[position];
            slice.set(separator.slice);
            long |= u32::from(separator.piece != 0) << position;
        }
        for (child, &number) in inner.children.iter().zip(&draft.children) {
            child.set(number);
        }
        self.store_tails(inner, draft, long, allocations);
        inner.long.set(long);
    }

    fn store_tails(&self, inner: &Inner<F>, draft: &Draft, long: u32, allocations: &mut AllocationCache) {
        let mut tails = inner.tails.get();
        match (tails, long) {
            (0, 0) => return,
            (0, _) => {
                tails = allocations.take_piece(&self.heap, TAILS_BYTES);
                self.heap.write_words(tails, SEPARATORS);
            }
            (_, 0) => {
                self.drop_tails(inner, allocations);
                return;
            }
            _ => {}
        }
        for position in 0..draft.count {
            self.heap.set(tails, position, u64::from(draft.separators[position].piece));
        }
        inner.tails.set(tails);
    }

    /// Retires the piece with the numbers of pieces of a node that has none any more.
    pub(super) fn drop_tails(&self, inner: &Inner<F>, allocations: &mut AllocationCache) {
        let tails = inner.tails.get();
        if tails != 0 {
            inner.tails.set(0);
            allocations.retire_piece(tails, TAILS_BYTES);
        }
    }

    /// The separator of a node of prefix `prefix` that is `key`.
    pub(super) fn separator(
        &self,
        key: &[u8],
        prefix: usize,
        allocations: &mut AllocationCache,
    ) -> Separator {
        let suffix = &key[prefix..];
        let slice = slice_of(&suffix[..suffix.len().min(SLICE_BYTES)]);
        if fits_inline(suffix) {
            return Separator { slice, piece: 0 };
        }
        let piece = allocations.take_piece(&self.heap, key.len());
        self.heap.write(piece, 0, key);
        Separator { slice, piece }
    }

    /// A separator's bytes; `prefix` are those of its node.
    pub(super) fn separator_key(&self, separator: Separator, prefix: &[u8]) -> KeyBuffer {
        match separator.piece {
            0 => KeyBuffer::join(prefix, separator.slice, inline_length(separator.slice)),
            piece => self.heap.key(piece),
        }
    }

    /// A fence's bytes; `key` is that of the descent which met it.
    pub(super) fn fence_key(&self, fence: Fence, key: &[u8]) -> Option<KeyBuffer> {
        match fence {
            Fence::Open => None,
            Fence::Inline { prefix, slice } => {
                Some(KeyBuffer::join(&key[..prefix], slice, inline_length(slice)))
            }
            Fence::Long(piece) => Some(self.heap.key(piece)),
        }
    }

    /// Bytes that a key, a fence of a range, has in common with the other one.
    pub(super) fn common_with(&self, fence: Fence, descended: &[u8], key: &[u8]) -> usize {
        match fence {
            Fence::Open => 0,
            Fence::Inline { prefix, slice } => match common_prefix(&descended[..prefix], key) {
                all if all == prefix => prefix + common_of_slice(slice, &key[prefix..]),
                less => less,
            },
            Fence::Long(piece) => common_prefix(&self.heap.key(piece), key),
        }
    }

    /// Makes entries of a leaf whose prefix is `from` those of a leaf whose prefix has `to` bytes.
    pub(super) fn rebase_entries(
        &self,
        entries: &mut [Entry],
        from: &[u8],
        to: usize,
        allocations: &mut AllocationCache,
    ) {
        if to == from.len() {
            return;
        }
        let is_further = to > from.len();
        let further = to.saturating_sub(from.len());
        for entry in entries {
            let class = entry.value.class();
            *entry = if is_further && class != LONG {
                let slice = entry.slice.unbounded_shl(8 * further as u32);
                Entry { slice, value: Value::new(entry.value.bits(), class - further) }
            } else {
                self.rebase_entry(*entry, from, to, allocations)
            };
        }
    }

    /// Makes separators of a node whose prefix is `from` those of a node whose prefix has `to` bytes.
    pub(super) fn rebase(
        &self,
        draft: &mut Draft,
        from: &[u8],
        to: usize,
        allocations: &mut AllocationCache,
    ) {
        if to == from.len() {
            return;
        }
        for separator in &mut draft.separators[..draft.count] {
            let key = self.separator_key(*separator, from);
            if separator.piece != 0 && !fits_inline(&key[to..]) {
                separator.slice = self.heap.slice_at(separator.piece, to);
                continue;
            }
            self.retire_separator(*separator, allocations);
            *separator = self.separator(&key, to, allocations);
        }
    }

    /// Retires the piece of a separator that no node has any more.
    pub(super) fn retire_separator(&self, separator: Separator, allocations: &mut AllocationCache) {
        if separator.piece != 0 {
            allocations.retire_piece(separator.piece, self.heap.length(separator.piece));
        }
    }

    /// The entry of a leaf of prefix `prefix` for a key and the record at an address.
    #[inline(always)]
    pub(super) fn entry(
        &self,
        key: &Probe<'_>,
        prefix: usize,
        record_bits: u64,
        allocations: &mut AllocationCache,
    ) -> Entry {
        let (slice, class) = (key.slice_at(prefix), key.class_at(prefix));
        if class != LONG {
            return Entry { slice, value: Value::new(record_bits, class) };
        }
        let piece = allocations.take_piece(&self.heap, key.bytes.len());
        self.heap.write(piece, record_bits, key.bytes);
        Entry { slice, value: Value::new(u64::from(piece), LONG) }
    }

    /// An entry's key; `prefix` is that of its leaf.
    pub(super) fn entry_key(&self, entry: Entry, prefix: &[u8]) -> KeyBuffer {
        match entry.value.piece() {
            None => KeyBuffer::join(prefix, entry.slice, entry.value.class()),
            Some(piece) => self.heap.key(piece),
        }
    }

    /// The address of an entry's record.
    #[inline(always)]
    pub(super) fn record_bits(&self, value: Value) -> u64 {
        match value.piece() {
            None => value.bits(),
            Some(piece) => self.heap.record_bits(piece),
        }
    }

    /// The same of one that is long, or whose leaf is to have a shorter prefix.
    pub(super) fn rebase_entry(
        &self,
        entry: Entry,
        from: &[u8],
        to: usize,
        allocations: &mut AllocationCache,
    ) -> Entry {
        match entry.value.piece() {
            _ if to == from.len() => entry,
            None => {
                let key = self.entry_key(entry, from);
                self.entry(&Probe::new(&key), to, entry.value.bits(), allocations)
            }
            Some(piece) if self.heap.length(piece) - to > SLICE_BYTES => {
                Entry { slice: self.heap.slice_at(piece, to), ..entry }
            }
            Some(piece) => {
                let (key, record) = (self.heap.key(piece), self.heap.record_bits(piece));
                allocations.retire_piece(piece, key.len());
                self.entry(&Probe::new(&key), to, record, allocations)
            }
        }
    }

    /// Units of the key heap that an inner node leads to, its children aside.
    pub(super) fn units_of_inner(&self, inner: &Inner<F>, state: State) -> u64 {
        let draft = self.load(inner, state);
        let pieces = draft.separators[..draft.count].iter().filter(|separator| separator.piece != 0);
        let units: usize = pieces.map(|separator| units_of(self.heap.length(separator.piece))).sum();
        let tails = if inner.tails.get() == 0 { 0 } else { units_of(TAILS_BYTES) };
        (units + tails) as u64
    }
}
