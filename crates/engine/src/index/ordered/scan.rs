//! Scans: loops over copies of leaves, in both directions.
//!
//! Leaves have no links to each other, so a removal need not find its leaf's neighbours. A scan goes on at the fence of the
//! leaf that it has read: in the next child of the same parent, as long as that has not changed, or from the root. While a
//! leaf is copied, the one after it is on its way to the cache.
//!
//! A key in a leaf is the prefix of the bound that led there, which all keys of the leaf share, and its slice.

use super::descend::{End, Step, Stop, Target};
use super::finger::{Finger, Rank};
use super::keys::{Probe, SLICE_BYTES, slice_of};
use super::node::{Leaf, Version, prefetch};
use super::synchronization_policy::SynchronizationPolicy;
use super::{LeafRef, OrderedIndex};
use crate::record::RecordRef;
use contract::Direction;
use std::ops::{Bound, Range};

/// How a scan goes on after a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Onward {
    Included,
    Excluded,
    End,
}

/// Where an entry's key is in the copy, and its record's address.
#[derive(Clone, Copy, Debug)]
struct CopiedEntry {
    key_start: u32,
    key_end: u32,
    record_bits: u64,
}

/// A leaf's entries beyond a bound, as they were at one moment. To be used again and again.
#[derive(Debug)]
pub(crate) struct LeafCopy {
    leaf: LeafRef,
    version: Version,
    keys: Vec<u8>,
    entries: Vec<CopiedEntry>,
    onward: Onward,
    next: Vec<u8>,
    /// What `next` was, while the scan goes on.
    last: Vec<u8>,
    /// If the leaf was copied to its end: its parent then.
    parent: Option<Step>,
}

/// What is asked of a leaf.
#[derive(Clone, Copy)]
struct Wish<'a> {
    target: Target<'a>,
    /// Whether the target's key itself is meant, too.
    is_included: bool,
    /// Keys beyond this need not be copied.
    until: Option<&'a [u8]>,
    direction: Direction,
    limit: usize,
}

impl Default for LeafCopy {
    fn default() -> Self {
        let (keys, next, last) = (Vec::new(), Vec::new(), Vec::new());
        let version = Version(super::state::State(0));
        let (entries, onward) = (Vec::new(), Onward::End);
        LeafCopy { leaf: LeafRef(0), version, keys, entries, onward, next, last, parent: None }
    }
}

impl LeafCopy {
    /// The leaf that was copied: it is responsible for all keys from the bound to the next one.
    pub fn leaf(&self) -> LeafRef {
        self.leaf
    }

    /// Its version then.
    pub fn version(&self) -> Version {
        self.version
    }

    /// A finger at the leaf, for its entries from the first one to the last, if they were copied in ascending order.
    pub fn finger(&self) -> Finger {
        let rank = |nth: usize| Rank::of(&Probe::new(self.entry(nth).0));
        match self.entries.len().checked_sub(1) {
            None => Finger::NONE,
            Some(last) => {
                Finger::at_entries(Stop { node: self.leaf.0, state: self.version.0 }, rank(0), rank(last))
            }
        }
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The nth key and record, in the scan's direction.
    #[inline(always)]
    pub fn entry(&self, nth: usize) -> (&[u8], RecordRef) {
        let CopiedEntry { key_start, key_end, record_bits } = self.entries[nth];
        // SAFETY: as in `entries`.
        (&self.keys[key_start as usize..key_end as usize], unsafe { RecordRef::from_bits(record_bits) })
    }

    /// The records of these entries.
    #[inline(always)]
    pub fn records(&self, entries: Range<usize>) -> impl Iterator<Item = RecordRef> {
        // SAFETY: as in `entries`.
        self.entries[entries].iter().map(|entry| unsafe { RecordRef::from_bits(entry.record_bits) })
    }

    /// What is read next begins elsewhere, or in another epoch: what was next to the leaf may not be there any more.
    pub fn begin(&mut self) {
        self.parent = None;
    }

    /// Keys and records, in the scan's direction.
    pub fn entries(&self) -> impl Iterator<Item = (&[u8], RecordRef)> {
        self.entries.iter().map(|entry| {
            let key = &self.keys[entry.key_start as usize..entry.key_end as usize];
            // SAFETY: validated: a leaf's entry held the address of a record that its arena's owner keeps, and the
            // reader's epoch keeps that a record.
            (key, unsafe { RecordRef::from_bits(entry.record_bits) })
        })
    }

    /// The bound at which to go on in the same direction; `None` at the end of the index, or of what was asked for.
    pub fn next_bound(&self) -> Option<Bound<&[u8]>> {
        match self.onward {
            Onward::Included => Some(Bound::Included(&self.next)),
            Onward::Excluded => Some(Bound::Excluded(&self.next)),
            Onward::End => None,
        }
    }

    fn clear(&mut self) {
        self.keys.clear();
        self.entries.clear();
    }
}

impl<F: SynchronizationPolicy> OrderedIndex<F> {
    /// Copies up to `limit` entries of the leaf that is responsible for `bound` in `direction`: going forward, those above
    /// the bound, going backward, those below it, in that order. There may be none.
    pub fn read_leaf(&self, bound: Bound<&[u8]>, direction: Direction, limit: usize, copy: &mut LeafCopy) {
        copy.begin();
        self.read_leaf_seeing((bound, None), direction, limit, copy, |_| ());
    }

    /// As [`OrderedIndex::read_leaf`]; of the keys beyond the second bound as many as it pleases. Answers what `before` saw of
    /// the leaf before it was copied, when it already was what was copied. If the scan goes on in the copy's direction behind the
    /// leaf that it has, in the same epoch, the next one is looked for beside it first.
    #[inline]
    pub fn read_leaf_seeing<R>(
        &self,
        (bound, until): (Bound<&[u8]>, Option<&[u8]>),
        direction: Direction,
        limit: usize,
        copy: &mut LeafCopy,
        mut before: impl FnMut(&Leaf<F>) -> R,
    ) -> R {
        assert!(limit > 0, "a scan of nothing");
        let is_included = !matches!(bound, Bound::Excluded(_));
        let wish = Wish { target: target_of(bound, direction), is_included, until, direction, limit };
        let is_at_fence = match direction {
            Direction::Forward => matches!(bound, Bound::Included(_)),
            Direction::Backward => matches!(bound, Bound::Excluded(_)),
        };
        if copy.parent.is_some()
            && is_at_fence
            && copy.next_bound() == Some(bound)
            && let Some(seen) = self.try_read_beside(&wish, copy, &mut before)
        {
            return seen;
        }
        loop {
            if let Some(seen) = self.try_read_leaf(&wish, copy, &mut before) {
                return seen;
            }
        }
    }

    /// Copies the leaf after the one in `copy`; answers whether there is one. In the same epoch.
    pub fn read_on(&self, direction: Direction, limit: usize, copy: &mut LeafCopy) -> bool {
        let mut last = std::mem::take(&mut copy.last);
        std::mem::swap(&mut last, &mut copy.next);
        let bound = match copy.onward {
            Onward::Included => Some(Bound::Included(last.as_slice())),
            Onward::Excluded => Some(Bound::Excluded(last.as_slice())),
            Onward::End => None,
        };
        if let Some(bound) = bound {
            let target = target_of(bound, direction);
            let wish = Wish { target, is_included: true, until: None, direction, limit };
            if self.try_read_beside(&wish, copy, &mut |_| ()).is_none() {
                self.read_leaf(bound, direction, limit, copy);
            }
        }
        let is_there = bound.is_some();
        copy.last = last;
        is_there
    }

    /// The leaf that [`OrderedIndex::read_leaf`] would copy.
    pub fn leaf_for(&self, bound: Bound<&[u8]>, direction: Direction) -> LeafRef {
        let target = target_of(bound, direction);
        loop {
            if let Some(end) = self.descend_noting(target, |_| ()) {
                return LeafRef(end.at.node);
            }
        }
    }

    /// Asks for the lines on the way to that leaf; calls `fetch` as [`OrderedIndex::find_fetching`] does.
    pub fn fetch_leaf(&self, bound: Bound<&[u8]>, direction: Direction, fetch: impl FnMut()) {
        // If it fails, who reads the leaf goes there again.
        let _: Option<End> = self.descend_noting_fetching(target_of(bound, direction), |_| (), fetch);
    }

    #[inline]
    fn try_read_leaf<R>(
        &self,
        wish: &Wish<'_>,
        copy: &mut LeafCopy,
        before: &mut impl FnMut(&Leaf<F>) -> R,
    ) -> Option<R> {
        let mut parent = None;
        let leaf = self.descend_noting(wish.target, |step| parent = Some(step))?;
        let parent = parent.expect("the root is an inner node");
        self.prefetch_beside(&parent, wish.direction);
        let seen = before(self.leaf_of(leaf.at.node));
        let window = self.window(wish, &leaf);
        self.try_copy(wish, parent, &leaf, window, copy).then_some(seen)
    }

    /// Goes on in the next child of the last leaf's parent, if that still is what it was.
    fn try_read_beside<R>(
        &self,
        wish: &Wish<'_>,
        copy: &mut LeafCopy,
        before: &mut impl FnMut(&Leaf<F>) -> R,
    ) -> Option<R> {
        let last = copy.parent.take()?;
        let (inner, count) = (self.inner(last.at.node), last.at.state.count());
        let position = beside(&last, wish.direction)?;
        let lower = if position == 0 { last.lower } else { self.fence(inner, last.at.state, position - 1) };
        let upper = if position == count { last.upper } else { self.fence(inner, last.at.state, position) };
        let child = inner.child_at(position);
        let at = self.go_down(inner, last.at.state, child)?;
        let parent = Step { position, ..last };
        self.prefetch_beside(&parent, wish.direction);
        let seen = before(self.leaf_of(at.node));
        self.try_copy(wish, parent, &End { at, lower, upper }, 0..at.state.count(), copy).then_some(seen)
    }

    /// Copies a part of a leaf and says how to go on; `false` if the leaf has changed meanwhile.
    fn try_copy(
        &self,
        wish: &Wish<'_>,
        parent: Step,
        leaf: &End,
        window: Range<usize>,
        copy: &mut LeafCopy,
    ) -> bool {
        copy.clear();
        let taken = window.len().min(wish.limit);
        let is_all = match wish.direction {
            Direction::Forward => self.copy_entries(leaf, wish, window.clone().take(taken), copy),
            Direction::Backward => self.copy_entries(leaf, wish, window.clone().rev().take(taken), copy),
        };
        if !F::is_unchanged(self.state(leaf.at.node), leaf.at.state) {
            return false;
        }
        (copy.leaf, copy.version) = (LeafRef(leaf.at.node), Version(leaf.at.state));
        if !is_all {
            copy.next.clear();
            copy.onward = Onward::End;
            copy.parent = None;
        } else if taken < window.len() {
            self.stop_early(copy);
            copy.parent = None;
        } else {
            self.stop_at_fence(leaf, &wish.target, wish.direction, copy);
            copy.parent = Some(parent);
        }
        true
    }

    /// The entries of a leaf that lie beyond the bound.
    fn window(&self, wish: &Wish<'_>, leaf: &End) -> Range<usize> {
        let count = leaf.at.state.count();
        let key = match wish.target {
            Target::Key(key) | Target::Below(key) => key,
            Target::End => return 0..count,
        };
        let found = self.search(self.leaf_of(leaf.at.node), leaf.at.state, &key);
        let (Ok(position) | Err(position)) = found;
        match wish.direction {
            Direction::Forward => position + usize::from(found.is_ok() && !wish.is_included)..count,
            Direction::Backward => 0..position + usize::from(found.is_ok() && wish.is_included),
        }
    }

    /// Copies the entries at these positions, up to one that is beyond what was asked for, if its slice tells; answers
    /// whether none was.
    fn copy_entries(
        &self,
        leaf: &End,
        wish: &Wish<'_>,
        positions: impl Iterator<Item = usize>,
        copy: &mut LeafCopy,
    ) -> bool {
        let entries = self.leaf_of(leaf.at.node);
        let key = wish.target.key();
        let prefix = Prefix::new(&key.bytes[..leaf.at.state.prefix()]);
        let until = wish.until.and_then(|until| {
            let rest = until.strip_prefix(prefix.bytes)?;
            Some(slice_of(&rest[..rest.len().min(SLICE_BYTES)]))
        });
        for position in positions {
            let entry = entries.entry(position);
            let is_beyond = until.is_some_and(|until| match wish.direction {
                Direction::Forward => entry.slice > until,
                Direction::Backward => entry.slice < until,
            });
            if is_beyond {
                return false;
            }
            let key_start = copy.keys.len() as u32;
            match entry.value.piece() {
                Some(piece) => self.heap.append_to(piece, &mut copy.keys),
                None => prefix.append_key(entry.slice, entry.value.class(), &mut copy.keys),
            }
            let (record_bits, key_end) = (self.record_bits(entry.value), copy.keys.len() as u32);
            copy.entries.push(CopiedEntry { key_start, key_end, record_bits });
        }
        true
    }

    /// The limit was reached within the leaf.
    fn stop_early(&self, copy: &mut LeafCopy) {
        let last = copy.entries.last().map_or(0, |entry| entry.key_start as usize);
        copy.next.clear();
        copy.next.extend_from_slice(&copy.keys[last..]);
        copy.onward = Onward::Excluded;
    }

    fn stop_at_fence(&self, leaf: &End, target: &Target<'_>, direction: Direction, copy: &mut LeafCopy) {
        let (fence, onward) = match direction {
            Direction::Forward => (leaf.upper, Onward::Included),
            Direction::Backward => (leaf.lower, Onward::Excluded),
        };
        copy.next.clear();
        match self.fence_key(fence, target.key().bytes) {
            None => copy.onward = Onward::End,
            Some(key) => {
                copy.next.extend_from_slice(&key);
                copy.onward = onward;
            }
        }
    }

    /// Asks for the leaf where the scan will go on, if it has the same parent.
    #[inline]
    fn prefetch_beside(&self, parent: &Step, direction: Direction) {
        if let Some(position) = beside(parent, direction) {
            // Whatever is read there, it is only a hint.
            prefetch(self.place(self.inner(parent.at.node).child_at(position)));
        }
    }
}

/// The next child in a direction.
#[inline]
fn beside(parent: &Step, direction: Direction) -> Option<usize> {
    match direction {
        Direction::Forward => {
            Some(parent.position + 1).filter(|&position| position <= parent.at.state.count())
        }
        Direction::Backward => parent.position.checked_sub(1),
    }
}

/// What all keys of a leaf begin with.
struct Prefix<'a> {
    bytes: &'a [u8],
    /// The same as a slice, if it is not longer.
    head: u64,
}

impl<'a> Prefix<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Prefix { bytes, head: if bytes.len() < SLICE_BYTES { slice_of(bytes) } else { 0 } }
    }

    /// Appends the key that ends with the first `class` bytes of a slice.
    #[inline]
    fn append_key(&self, slice: u64, class: usize, into: &mut Vec<u8>) {
        // What is torn may say anything.
        let class = class.min(SLICE_BYTES);
        let length = self.bytes.len() + class;
        let end = into.len() + length;
        if self.bytes.len() < SLICE_BYTES && length <= SLICE_BYTES {
            // The whole key is a slice: written at once, and what is too much is cut off.
            into.extend_from_slice(&(self.head | slice >> (8 * self.bytes.len())).to_be_bytes());
        } else {
            into.extend_from_slice(self.bytes);
            into.extend_from_slice(&slice.to_be_bytes());
        }
        into.truncate(end);
    }
}

fn target_of(bound: Bound<&[u8]>, direction: Direction) -> Target<'_> {
    match (bound, direction) {
        (Bound::Unbounded, Direction::Forward) => Target::Key(Probe::new(b"")),
        (Bound::Unbounded, Direction::Backward) => Target::End,
        (Bound::Excluded(key), Direction::Backward) => Target::Below(Probe::new(key)),
        (Bound::Included(key) | Bound::Excluded(key), _) => Target::Key(Probe::new(key)),
    }
}
