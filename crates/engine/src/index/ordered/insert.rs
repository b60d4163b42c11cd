//! Linking a key, and splits.
//!
//! A key goes into its leaf under the leaf's latch alone, unless the leaf is full. Then the leaf's parent is latched, too,
//! and a fresh leaf takes the upper part; it is filled, and the caller has set its metadata, before the parent is
//! unlatched and anybody can come. A parent that is full itself has been split before, from the root down, so a split
//! latches two nodes and no more.
//!
//! Latches are taken top-down at a version that was seen, and an inserter that fails unlatches all and starts again: nobody waits
//! with a latch in hand.
//!
//! A full leaf is cut in the middle, with two exceptions. If the new key goes behind all others, the leaf stays full, and the
//! fresh one begins with that key. If it follows the key that was linked there last, keys ascend there, and the leaf is cut
//! right behind it. So keys that are linked in ascending order, also in several places of the tree at once, fill their leaves; and who does so
//! notes where the fresh leaf is in its parent, and needs no descent to split it in turn.

use super::allocation_cache::AllocationCache;
use super::descend::{End, Place, Step, Stop, Target};
use super::draft::Draft;
use super::finger::{Finger, Rank};
use super::keys::{KeyBuffer, Probe, fits_inline, separator_length, slice_of};
use super::node::{Entry, LEAF_ENTRIES, SEPARATORS};
use super::stack::Stack;
use super::state::{MOST_LEVELS, State};
use super::synchronization_policy::{SynchronizationPolicy, Word};
use super::{Found, Half, LeafAt, LeafRef, Linked, OrderedIndex, Split};
use crate::record::RecordRef;

/// The inner nodes from the root to a leaf.
pub(super) type Trail = Stack<Step, MOST_LEVELS>;

/// A full leaf and its parent, which are latched together.
pub(super) struct Room {
    place: Place,
    leaf: End,
}

impl<F: SynchronizationPolicy> OrderedIndex<F> {
    /// Links `record` under `key` unless the key is linked already.
    ///
    /// `linked` runs under the latches, before anybody can see the change: it is shown the leaf that holds the key now, and
    /// if that was split, the other half. A fresh half's metadata is all zero.
    pub fn link<T>(
        &self,
        allocations: &mut AllocationCache,
        key: &[u8],
        record: RecordRef,
        linked: impl FnOnce(LeafAt<'_, F>, Option<Split<'_, F>>) -> T,
    ) -> Linked<T> {
        self.link_where(allocations, None, key, record, linked).expect("any leaf will do")
    }

    /// As [`OrderedIndex::link`], if `expected` still is the leaf responsible for the key; else `None`, and nothing was changed.
    #[must_use]
    pub fn link_if<T>(
        &self,
        allocations: &mut AllocationCache,
        expected: LeafRef,
        key: &[u8],
        record: RecordRef,
        linked: impl FnOnce(LeafAt<'_, F>, Option<Split<'_, F>>) -> T,
    ) -> Option<Linked<T>> {
        self.link_where(allocations, Some(expected), key, record, linked)
    }

    fn link_where<T>(
        &self,
        allocations: &mut AllocationCache,
        expected: Option<LeafRef>,
        key: &[u8],
        record: RecordRef,
        linked: impl FnOnce(LeafAt<'_, F>, Option<Split<'_, F>>) -> T,
    ) -> Option<Linked<T>> {
        let key = Probe::new(key);
        let rank = Rank::of(&key);
        loop {
            allocations.provide(&self.nodes, &self.heap, super::memory::NODES_TO_LINK, self.units_to_link);
            let Some(at) = self.approach(allocations.fingers.of(&key), &key, rank) else { continue };
            if expected.is_some_and(|expected| expected.0 != at.node) {
                return None;
            }
            let leaf = self.leaf_of(at.node);
            match self.search(leaf, at.state, &key) {
                Ok(position) => {
                    let bits = self.record_bits(leaf.entry(position).value);
                    if F::is_unchanged(&leaf.state, at.state) {
                        return Some(Linked::Exists(self.record(bits)));
                    }
                }
                Err(_) if at.state.count() == LEAF_ENTRIES => {
                    let Some(room) = self.make_room(at, &key, allocations) else { continue };
                    return Some(Linked::Done(self.link_splitting(room, &key, record, allocations, linked)));
                }
                Err(position) => {
                    if F::try_latch(&leaf.state, at.state) {
                        let entry = self.entry(&key, at.state.prefix(), record.to_bits(), allocations);
                        leaf.insert(position, at.state.count(), entry);
                        let made = linked(LeafAt { number: LeafRef(at.node), leaf }, None);
                        let state = at.state.changed(at.state.count() + 1).with_last(position);
                        F::unlatch(&leaf.state, state);
                        allocations.fingers.of(&key).advance(at, state);
                        return Some(Linked::Done(made));
                    }
                }
            }
        }
    }

    /// As [`OrderedIndex::find`], for a key that is about to be linked: starts where the last one went.
    pub fn find_to_link(&self, allocations: &mut AllocationCache, key: &[u8]) -> Found {
        let key = Probe::new(key);
        let rank = Rank::of(&key);
        loop {
            let at = self.approach(allocations.fingers.of(&key), &key, rank);
            if let Some(found) = at.and_then(|at| self.look_into(at, &key)) {
                return found;
            }
        }
    }

    /// As [`OrderedIndex::find`]; starts where a key that is near has gone.
    #[inline]
    pub fn find_near(&self, finger: &mut Finger, key: &[u8]) -> Found {
        self.find_near_fetching(finger, key, || ())
    }

    /// The same; calls `fetch` as [`OrderedIndex::find_fetching`] does.
    #[inline(always)]
    pub fn find_near_fetching(&self, finger: &mut Finger, key: &[u8], mut fetch: impl FnMut()) -> Found {
        let key = Probe::new(key);
        let rank = Rank::of(&key);
        loop {
            let at = self.approach_fetching(finger, &key, rank, &mut fetch);
            if let Some(found) = at.and_then(|at| self.look_into(at, &key)) {
                return found;
            }
        }
    }

    /// Goes where a key is to be linked, and asks for the lines on the way; calls `fetch` as [`OrderedIndex::find_fetching`] does. If key and
    /// fence have ranks, the finger is there afterwards.
    pub fn fetch_to_link(&self, allocations: &mut AllocationCache, key: &[u8], fetch: impl FnMut()) {
        let key = Probe::new(key);
        let _: Option<Stop> =
            self.approach_fetching(allocations.fingers.of(&key), &key, Rank::of(&key), fetch);
    }

    /// One attempt to find the leaf responsible for a key. The finger is there afterwards, if key and fence have ranks.
    #[inline(always)]
    pub(super) fn approach(&self, finger: &mut Finger, key: &Probe<'_>, rank: Option<Rank>) -> Option<Stop> {
        self.approach_fetching(finger, key, rank, || ())
    }

    /// The same; `fetch` is called on the way.
    #[inline(always)]
    fn approach_fetching(
        &self,
        finger: &mut Finger,
        key: &Probe<'_>,
        rank: Option<Rank>,
        fetch: impl FnMut(),
    ) -> Option<Stop> {
        if let Some(at) = finger.towards(rank)
            && F::look(self.state(at.node)) == at.state
        {
            return Some(at);
        }
        let (at, upper) = self.descend_with_upper(key, fetch)?;
        *finger = Finger::new(at, rank, upper);
        Some(at)
    }

    /// Latches the full leaf `at`, which does not hold the key, and a parent that has room for one child more. `None`:
    /// something has changed, or an inner node was split; look again.
    fn make_room(&self, at: Stop, key: &Probe<'_>, allocations: &mut AllocationCache) -> Option<Room> {
        if let Some(room) = self.noted_room(at, key, allocations) {
            return self.try_latch_room(room);
        }
        allocations.appending.provide();
        let mut trail = Trail::new();
        let leaf = self.descend_noting(Target::Key(*key), |step| trail.push(step))?;
        if leaf.at.node != at.node || leaf.at.state != at.state {
            return None;
        }
        if let Some(full) = trail.iter().position(|step| step.at.state.count() == SEPARATORS) {
            match full.checked_sub(1) {
                None => self.grow(trail[0], allocations),
                Some(above) => self.split_inner(trail[above], trail[full], key, allocations),
            }
            return None;
        }
        let place = trail.last().expect("the root is an inner node").place();
        self.try_latch_room(Room { place, leaf })
    }

    /// Latches a leaf and its parent, or neither.
    fn try_latch_room(&self, room: Room) -> Option<Room> {
        let (parent, leaf) = (room.place.parent, room.leaf.at);
        if !self.try_latch_both(parent, leaf) {
            return None;
        }
        if self.inner(parent.node).child_at(room.place.position) != leaf.node {
            // Nobody waits for them while the panic unwinds.
            F::unlatch(self.state(leaf.node), leaf.state);
            F::unlatch(self.state(parent.node), parent.state);
            panic!("a latched leaf is not where its parent has it");
        }
        Some(room)
    }

    /// The full leaf `at` in its parent, where it was when a key near this one split it off, if the parent has not changed since and has room for
    /// one child more.
    pub(super) fn noted_room(
        &self,
        at: Stop,
        key: &Probe<'_>,
        allocations: &AllocationCache,
    ) -> Option<Room> {
        let place = allocations.appending.place_of(key, at.node)?;
        let Place { parent, position, .. } = place;
        // Under a policy without latches nothing else asks: there, latching succeeds whatever the state.
        let is_there = F::look(self.state(parent.node)) == parent.state;
        if !is_there || parent.state.count() == SEPARATORS {
            return None;
        }
        let inner = self.inner(parent.node);
        let fence = |position| self.fence(inner, parent.state, position);
        let upper = if position < parent.state.count() { fence(position) } else { place.upper };
        Some(Room { place, leaf: End { at, lower: fence(position - 1), upper } })
    }

    /// Latches a node and its child, or neither.
    fn try_latch_both(&self, parent: Stop, child: Stop) -> bool {
        if !F::try_latch(self.state(parent.node), parent.state) {
            return false;
        }
        let both = F::try_latch(self.state(child.node), child.state);
        if !both {
            F::unlatch(self.state(parent.node), parent.state);
        }
        both
    }

    fn link_splitting<T>(
        &self,
        room: Room,
        key: &Probe<'_>,
        record: RecordRef,
        allocations: &mut AllocationCache,
        linked: impl FnOnce(LeafAt<'_, F>, Option<Split<'_, F>>) -> T,
    ) -> T {
        let Room { place, leaf: End { at, lower, upper } } = room;
        let prefix = &key.bytes[..at.state.prefix()];
        let leaf = self.leaf_of(at.node);
        let Err(position) = self.search(leaf, at.state, key) else {
            unreachable!("the leaf has not changed")
        };
        let mut entries = [Entry::NONE; LEAF_ENTRIES + 1];
        for n in 0..LEAF_ENTRIES {
            entries[n + usize::from(n >= position)] = leaf.entry(n);
        }
        entries[position] = self.entry(key, prefix.len(), record.to_bits(), allocations);
        let cut = Self::cut_of(at.state, position);
        let separator = self.separator_between(entries[cut - 1], entries[cut], prefix);
        let lower_prefix = self.common_with(lower, key.bytes, &separator);
        let upper_prefix = self.common_with(upper, key.bytes, &separator);
        let (below, above) = entries.split_at_mut(cut);
        self.rebase_entries(below, prefix, lower_prefix, allocations);
        self.rebase_entries(above, prefix, upper_prefix, allocations);

        let number = allocations.take_node(&self.nodes);
        let fresh = self.leaf_of(number);
        fresh.reset();
        fresh.fill(&entries[cut..]);
        let mut lower_state = at.state.changed(cut).with_prefix(lower_prefix);
        let mut upper_state = F::look(&fresh.state).reborn(0, entries.len() - cut, upper_prefix);
        let rank = Rank::of(key);
        *allocations.fingers.of(key) = match position.checked_sub(cut) {
            None => {
                lower_state = lower_state.with_last(position);
                let at = Stop { node: at.node, state: lower_state };
                Finger::between(at, rank, Rank::of(&Probe::new(&separator)))
            }
            Some(position) => {
                upper_state = upper_state.with_last(position);
                Finger::new(Stop { node: number, state: upper_state }, rank, upper)
            }
        };
        // Nobody can reach it.
        F::unlatch(&fresh.state, upper_state);
        if position < cut || lower_prefix != prefix.len() {
            leaf.fill(&entries[..cut]);
        } else {
            // The key went behind all others of a leaf that stays as it is, or a part of it.
            (cut..LEAF_ENTRIES).for_each(|position| leaf.put(position, Entry::NONE));
        }
        self.put_beside(place, &separator, number, key, allocations);
        let parent = Stop {
            node: place.parent.node,
            state: place.parent.state.changed(place.parent.state.count() + 1),
        };
        if position >= cut {
            allocations.appending.note(key, number, Place { parent, position: place.position + 1, ..place });
        }

        let (old, fresh) =
            (LeafAt { number: LeafRef(at.node), leaf }, LeafAt { number: LeafRef(number), leaf: fresh });
        let made = if position < cut {
            linked(old, Some(Split { other: fresh, fresh: Half::Other }))
        } else {
            linked(fresh, Some(Split { other: old, fresh: Half::Key }))
        };
        F::unlatch(&leaf.state, lower_state);
        F::unlatch(self.state(parent.node), parent.state);
        made
    }

    /// Puts a node into its latched parent, right of the one that the descent took.
    fn put_beside(
        &self,
        Place { parent, position, .. }: Place,
        separator: &[u8],
        right: u32,
        key: &Probe<'_>,
        allocations: &mut AllocationCache,
    ) {
        let inner = self.inner(parent.node);
        let prefix = parent.state.prefix();
        assert!(separator[..prefix] == key.bytes[..prefix]);
        if fits_inline(&separator[prefix..]) && inner.long.get() == 0 {
            return inner.insert(position, parent.state.count(), slice_of(&separator[prefix..]), right);
        }
        let mut draft = self.load(inner, parent.state);
        draft.insert(position, self.separator(separator, prefix, allocations), right);
        self.store(inner, &draft, allocations);
    }

    /// The shortest key that parts two entries of a leaf.
    fn separator_between(&self, low: Entry, high: Entry, prefix: &[u8]) -> KeyBuffer {
        let differing = low.slice ^ high.slice;
        if differing != 0 {
            return KeyBuffer::join(prefix, high.slice, differing.leading_zeros() as usize / 8 + 1);
        }
        let (low, high) = (self.entry_key(low, prefix), self.entry_key(high, prefix));
        KeyBuffer::of(&high[..separator_length(&low, &high)])
    }

    /// Where to cut a full leaf and a new key that goes to `position`.
    fn cut_of(state: State, position: usize) -> usize {
        match position {
            LEAF_ENTRIES => LEAF_ENTRIES,
            _ if state.ascends_to(position) => position + 1,
            _ => LEAF_ENTRIES.div_ceil(2),
        }
    }

    /// Where to cut a full inner node, whose child at `position` is about to be split.
    fn middle_of(position: usize) -> usize {
        if position == SEPARATORS { SEPARATORS - 1 } else { SEPARATORS / 2 }
    }

    /// Splits a full inner node whose parent has room, unless something has changed.
    fn split_inner(&self, parent: Step, full: Step, key: &Probe<'_>, allocations: &mut AllocationCache) {
        if !self.try_latch_both(parent.at, full.at) {
            return;
        }
        let state = full.at.state;
        let prefix = &key.bytes[..state.prefix()];
        let inner = self.inner(full.at.node);
        let mut left = self.load(inner, state);
        let (middle, mut right) = left.split_off(Self::middle_of(full.position));
        let separator = self.separator_key(middle, prefix);
        self.retire_separator(middle, allocations);
        let lower_prefix = self.common_with(full.lower, key.bytes, &separator);
        let upper_prefix = self.common_with(full.upper, key.bytes, &separator);
        self.rebase(&mut left, prefix, lower_prefix, allocations);
        self.rebase(&mut right, prefix, upper_prefix, allocations);

        let number = self.make_inner(&right, state.level(), upper_prefix, allocations);
        self.store(inner, &left, allocations);
        self.put_beside(parent.place(), &separator, number, key, allocations);
        F::unlatch(&inner.state, state.changed(left.count).with_prefix(lower_prefix));
        F::unlatch(self.state(parent.at.node), parent.at.state.changed(parent.at.state.count() + 1));
    }

    /// Gives a full root two children, unless something has changed. The root stays where it is.
    fn grow(&self, root: Step, allocations: &mut AllocationCache) {
        let state = root.at.state;
        let inner = self.inner(self.root);
        if !F::try_latch(&inner.state, state) {
            return;
        }
        assert!(state.level() + 1 < MOST_LEVELS, "an ordered index has too many levels");
        // Either half's range is open at one end, as the root's is at both: there is no common prefix.
        assert!(state.prefix() == 0, "the root has a prefix");
        let mut left = self.load(inner, state);
        let (middle, right) = left.split_off(Self::middle_of(root.position));
        let mut both = Draft::of(self.make_inner(&left, state.level(), 0, allocations));
        both.insert(0, middle, self.make_inner(&right, state.level(), 0, allocations));
        self.store(inner, &both, allocations);
        F::unlatch(&inner.state, state.changed(1).with_level(state.level() + 1));
    }

    /// A fresh inner node that nobody can reach.
    pub(super) fn make_inner(
        &self,
        draft: &Draft,
        level: usize,
        prefix: usize,
        allocations: &mut AllocationCache,
    ) -> u32 {
        let number = allocations.take_node(&self.nodes);
        let inner = self.inner(number);
        self.clear(inner);
        self.store(inner, draft, allocations);
        F::unlatch(&inner.state, F::look(&inner.state).reborn(level, draft.count, prefix));
        number
    }
}
