//! The ordered index: a B+-tree over byte strings, read without writing, written under latches of a few nodes.
//!
//! **Idea.** Nodes are four cache lines and are fetched whole. A node does not store the bytes that all keys of its range
//! have in common (its *prefix*, by the separators around it: prefix B-trees), and of what follows it keeps the first
//! eight bytes as a number (a *slice*), so keys of eight bytes, and most others, are compared without a branch and without
//! leaving the node; longer ones are out of line and compared when slices are equal. Every node has a *state*, one word of
//! version, count and prefix: readers look at it, read, and look again (optimistic lock coupling).
//!
//! | file | what |
//! |---|---|
//! | [`synchronization_policy`] | who reads and writes: `Shared`, `SingleWriter`, `Owned`; the memory orderings are argued there |
//! | [`state`], [`node`], [`keys`], [`heap`] | a node's word, its layout, keys as numbers, long keys |
//! | [`search`], [`descend`], [`finger`] | in a node; from the root to a leaf; where the last key went |
//! | [`insert`], [`remove`], [`draft`] | linking and splits; unlinking and empty leaves; nodes rewritten |
//! | [`scan`] | copies of leaves |
//! | [`memory`], [`allocation_cache`] | nodes and pieces: a table's, each worker's, and those that wait for their epoch |
//! | [`check`] | what must hold |
//! | [`parts`], [`wrong`] | the index by itself, for tests and benches; synchronization policies that they must find to be wrong |
//!
//! **State of the tree.** One node is the root, always, and an inner node. There are no links between leaves. A leaf is
//! responsible for the keys from one separator to the next, and for those it does not hold (*gaps*) it carries eight
//! bytes of the protocol's metadata.
//!
//! **Invariants.**
//! - Leaves' ranges part the set of all keys: every key has one leaf responsible for it, linked or not.
//! - A node's range and content change under its latch only, and then its version changes, also if only the range did. A
//!   number is a node's in its next life with a later version.
//! - A child is unlatched before anybody can meet it, and a node that has left the tree is dead for ever: a waiter for
//!   it starts again.
//! - Nobody waits with a latch in hand; latches are taken top-down, at a version that was seen.
//! - What was read at version v of a leaf is what it held then; a reader that is told so has read nothing torn.
//! - Nodes and pieces that have left the tree keep what they hold until their epoch has passed: a reader may still be there.
//!
//! **Gaps.** How protocols use a leaf's metadata:
//! - Locking: a miss, and a scan, find the leaf, acquire its metadata `Shared`, and read the leaf *again*; if the key's
//!   leaf is another now, they let go and start over. An insert acquires it `Insert` and links with
//!   [`OrderedIndex::link_if`], which does nothing if the leaf is not the key's any more.
//! - Optimistic: a reader observes the metadata before it reads the leaf, and validates it at commit. Linking
//!   advances it under the latch, so who observes the new one waits, and reads the new leaf.
//! - A split shows both halves to the callback while both are out of reach, so it can give the fresh one what the old one
//!   has; a leaf dies only if its metadata could be taken, and its heir is shown to the callback.
//!
//! A thread that looks at the tree, or holds a [`LeafRef`], a record found or a [`LeafCopy`], does so within an epoch
//! ([`crate::epoch`]); also to prefetch.
//!
//! *silo* 3, 4.5, 4.6 and 4.8. We differ: Masstree is a trie of B+-trees with eight bytes of key each, and its leaves are
//! linked; here, one tree, whose nodes leave their prefix out, and scans that go on at fences. Silo's node set has the tree's
//! versions; ours has tokens of the protocol's, apart from the tree's own versions, so that rebuilding a node aborts nobody.
//! Empty leaves go, others are not merged, as there.

mod allocation_cache;
pub mod check;
mod descend;
mod draft;
mod finger;
mod heap;
mod insert;
mod keys;
mod memory;
mod node;
pub mod parts;
mod remove;
mod scan;
mod search;
mod stack;
pub mod wrong;

pub(crate) use allocation_cache::AllocationCache;
pub use contract::Direction;
pub(crate) use finger::{Finger, place_of};
pub(crate) use memory::{KeyBytes, Memory};
pub(crate) use node::{Leaf, Version};
pub(crate) use scan::LeafCopy;

use self::allocation_cache::Nodes;
use self::descend::Stop;
use self::draft::Draft;
use self::heap::Heap;
use self::keys::Probe;
use self::node::{Inner, prefetch};
use self::state::State;
use self::synchronization_policy::{SynchronizationPolicy, Word};
use super::Linked;
use crate::facade::shared::Arc;
use crate::physical::node_state as state;
pub use crate::physical::synchronization_policy;
use crate::record::RecordRef;
use std::marker::PhantomData;

/// Bytes of the longest key.
pub const MAX_KEY_BYTES: usize = 1024;

/// Keys whose lines are asked for at once.
pub const MOST_AHEAD: usize = 16;

/// Address space is reserved for so many times the nodes and pieces that are expected.
const OVERSIZE: u64 = 4;

/// An ordered index of one partition. Laid out as it is told, for [`OrderedIndex::used_as`].
#[repr(C)]
pub(crate) struct OrderedIndex<F: SynchronizationPolicy> {
    nodes: Nodes,
    heap: Arc<Heap>,
    root: u32,
    /// Of the key heap, that linking a key may take; none if all keys are numbers.
    units_to_link: usize,
    policy: PhantomData<fn() -> F>,
}

/// A leaf by its number: means the same to every worker. While an epoch lasts, the number is no other leaf's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct LeafRef(u32);

impl LeafRef {
    /// No leaf.
    pub const NONE: LeafRef = LeafRef(0);
}

/// A leaf that a callback is shown.
pub(crate) struct LeafAt<'a, F: SynchronizationPolicy> {
    /// Its number.
    pub number: LeafRef,
    /// Itself.
    pub leaf: &'a Leaf<F>,
}

/// A leaf was split for an insert.
pub(crate) struct Split<'a, F: SynchronizationPolicy> {
    /// The half that does not hold the key.
    pub other: LeafAt<'a, F>,
    /// The half that is a fresh leaf; the rest of the leaf's gaps stays where it was.
    pub fresh: Half,
}

/// One of the leaves of a split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    /// The one that holds the key.
    Key,
    /// The other one.
    Other,
}

/// What a look-up met.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    /// The record linked under the key.
    pub record: Option<RecordRef>,
    /// The leaf responsible for the key.
    pub leaf: LeafRef,
    /// Its version then.
    pub version: Version,
}

/// What unlinking left behind.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unlinked {
    /// The leaf has other entries.
    Done,
    /// The leaf is empty: [`OrderedIndex::prune`].
    Emptied,
}

/// What pruning came to.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pruned {
    /// The leaf is out of the tree.
    Done,
    /// It is not empty.
    Occupied,
    /// The callback did not agree.
    Refused,
    /// It is the last leaf.
    Last,
}

impl<F: SynchronizationPolicy> OrderedIndex<F> {
    /// An empty index. What it consists of comes from `allocations`, which is no other index's.
    ///
    /// If the synchronization policy is [`synchronization_policy::Owned`], one thread at a time uses the index; if it is [`synchronization_policy::SingleWriter`], one
    /// thread at a time links, unlinks and prunes: the caller's promise.
    pub fn within(memory: &Memory, allocations: &mut AllocationCache) -> Self {
        let () = Leaf::<F>::LAYOUT;
        let (nodes, heap) = (Nodes::of(&memory.nodes), Arc::clone(&memory.heap));
        allocations.provide(&nodes, &heap, 2, 0);
        let root = allocations.take_node(&nodes);
        let units_to_link = memory.units_to_link();
        let index = OrderedIndex { nodes, heap, root, units_to_link, policy: PhantomData };
        let number = allocations.take_node(&index.nodes);
        let (root, leaf) = (index.inner(root), index.leaf_of(number));
        leaf.fill(&[]);
        index.store(root, &Draft::of(number), allocations);
        F::unlatch(&root.state, State(0).reborn(1, 0, 0));
        index
    }

    /// The same index, used in another synchronization policy: [`synchronization_policy::SingleWriter`] where one thread at a time changes it, which is the
    /// caller's promise, as in [`OrderedIndex::reserve`].
    #[inline(always)]
    pub fn used_as<G: SynchronizationPolicy<Word64 = F::Word64, Word32 = F::Word32>>(
        &self,
    ) -> &OrderedIndex<G> {
        // SAFETY: the same fields in the same order: the synchronization policy is in no field but an empty one, and nodes consist of
        // the same words.
        unsafe { &*(&raw const *self).cast::<OrderedIndex<G>>() }
    }

    /// The record linked under `key`, and the leaf responsible for it. Writes nothing.
    #[inline]
    pub fn find(&self, key: &[u8]) -> Found {
        let key = Probe::new(key);
        loop {
            if let Some(found) = self.try_find(&key) {
                return found;
            }
        }
    }

    /// As [`OrderedIndex::find`]; calls `fetch` where lines have been asked for that are probably far, once before it reads each. It answers
    /// what was there when it returned, and that may be long after it was called.
    #[inline]
    pub fn find_fetching(&self, key: &[u8], mut fetch: impl FnMut()) -> Found {
        let key = Probe::new(key);
        loop {
            let at = self.descend_fetching(&key, &mut fetch);
            if let Some(found) = at.and_then(|at| self.look_into(at, &key)) {
                return found;
            }
        }
    }

    /// Whether a look-up in this epoch would meet the same as `found`, for the same key.
    #[inline(always)]
    pub fn still_meets(&self, found: &Found) -> bool {
        F::is_unchanged(&self.leaf(found.leaf).state, found.version.0)
    }

    #[inline(always)]
    fn try_find(&self, key: &Probe<'_>) -> Option<Found> {
        self.look_into(self.descend(key)?, key)
    }

    /// What the leaf `at` has of a key that it is responsible for, if it is unchanged.
    #[inline(always)]
    fn look_into(&self, at: Stop, key: &Probe<'_>) -> Option<Found> {
        let leaf = self.leaf_of(at.node);
        let bits = match self.search(leaf, at.state, key) {
            Ok(position) => self.record_bits(leaf.entry(position).value),
            Err(_) => 0,
        };
        if !F::is_unchanged(&leaf.state, at.state) {
            return None;
        }
        let record = (bits != 0).then(|| self.record(bits));
        Some(Found { record, leaf: LeafRef(at.node), version: Version(at.state) })
    }

    /// Asks for the lines of the leaf responsible for `key`, reading the inner nodes on the way.
    #[inline]
    pub fn prefetch(&self, key: &[u8]) {
        self.prefetch_all(&[key]);
    }

    /// Asks for the lines of the leaves responsible for `keys`, level by level, so that the lines that they need on the way
    /// come at the same time. Of more than [`MOST_AHEAD`] keys the first ones count.
    pub fn prefetch_all<K: AsRef<[u8]>>(&self, keys: &[K]) {
        self.ask_ahead(keys);
    }

    /// As [`OrderedIndex::prefetch_all`]; then shows the records that the leaves have under the keys, with the keys' places, none of which is verified: to be asked
    /// for, too.
    pub fn candidates<K: AsRef<[u8]>>(&self, keys: &[K], mut show: impl FnMut(usize, RecordRef)) {
        for (nth, (node, key)) in self.ask_ahead(keys).into_iter().zip(keys).enumerate() {
            let (leaf, key) = (self.leaf_of(node), Probe::new(key.as_ref()));
            let state = F::look(&leaf.state);
            if !state.is_leaf() || state.prefix() > key.bytes.len() {
                continue;
            }
            if let Ok(position) = self.search(leaf, state, &key) {
                let bits = self.record_bits(leaf.entry(position).value);
                // It may have been unlinked since.
                if bits != 0 {
                    show(nth, self.record(bits));
                }
            }
        }
    }

    /// The nodes that were come to, leaves but for what was being changed.
    #[inline(always)]
    fn ask_ahead<K: AsRef<[u8]>>(&self, keys: &[K]) -> [u32; MOST_AHEAD] {
        let keys = &keys[..keys.len().min(MOST_AHEAD)];
        let mut nodes = [self.root; MOST_AHEAD];
        for level in (1..=F::look(self.state(self.root)).level()).rev() {
            for (node, key) in nodes.iter_mut().zip(keys) {
                let (inner, key) = (self.inner(*node), Probe::new(key.as_ref()));
                let state = F::look(&inner.state);
                // What is being changed is left to the look-up; a look that is torn leads to some node all the same.
                if state.level() == level && state.prefix() <= key.bytes.len() {
                    *node = inner.child_at(self.child(inner, state, &key));
                    prefetch(self.place(*node));
                }
            }
        }
        nodes
    }

    /// A leaf by its number.
    #[inline(always)]
    pub fn leaf(&self, leaf: LeafRef) -> &Leaf<F> {
        self.leaf_of(leaf.0)
    }

    /// Forgets what the last protocol left in the leaves of a quiet index.
    pub fn reset(&self) {
        self.for_each_leaf(|leaf| self.leaf(leaf).reset());
    }

    /// Visits every linked record of a quiet index, in no order of keys.
    pub fn for_each_record(&self, mut visit: impl FnMut(RecordRef)) {
        self.for_each_leaf(|number| {
            let leaf = self.leaf(number);
            for position in 0..F::look(&leaf.state).count() {
                visit(self.record(self.record_bits(leaf.entry(position).value)));
            }
        });
    }

    #[inline(always)]
    fn record(&self, bits: u64) -> RecordRef {
        // SAFETY: not zero, and validated: an entry held the address of a record of this partition's arena, which lives as
        // long as the index; its memory is not reused for another key while the looker's epoch lasts.
        unsafe { RecordRef::from_bits(bits) }
    }

    #[inline(always)]
    fn place(&self, node: u32) -> *const u8 {
        self.nodes.base(node)
    }

    #[inline(always)]
    fn state(&self, node: u32) -> &F::Word64 {
        // SAFETY: the node lies within the region, which is zeroed and lives as long as `self`; its first word is its state,
        // whatever the node is, aligned for it and with interior mutability.
        unsafe { &*self.nodes.base(node).cast::<F::Word64>() }
    }

    #[inline(always)]
    fn inner(&self, node: u32) -> &Inner<F> {
        // SAFETY: as for `state`; a node is made of words with interior mutability, for which all bytes are valid. Whether
        // it is an inner node its state says, which the caller has read; within an epoch it does not become a leaf.
        unsafe { &*self.nodes.base(node).cast::<Inner<F>>() }
    }

    #[inline(always)]
    fn leaf_of(&self, node: u32) -> &Leaf<F> {
        // SAFETY: as for `inner`.
        unsafe { &*self.nodes.base(node).cast::<Leaf<F>>() }
    }

    fn leaf_at(&self, number: LeafRef) -> LeafAt<'_, F> {
        LeafAt { number, leaf: self.leaf(number) }
    }

    /// Makes memory that was another node's an inner node without anything out of line.
    fn clear(&self, inner: &Inner<F>) {
        inner.long.set(0);
        inner.tails.set(0);
    }
}

impl<F: SynchronizationPolicy> Inner<F> {
    #[inline(always)]
    fn child_at(&self, position: usize) -> u32 {
        self.children[position].get()
    }
}
