//! What must hold of a quiet index, and how much of it there is.

use super::draft::Separator;
use super::heap::{Heap, units_of};
use super::keys::common_prefix;
use super::node::{LEAF_ENTRIES, NODE_BYTES, SEPARATORS, UNUSED};
use super::state::State;
use super::synchronization_policy::{SynchronizationPolicy, Word};
use super::{LeafRef, OrderedIndex};

/// What an index consists of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Levels, that of the leaves included.
    pub height: usize,
    /// Inner nodes.
    pub inners: u64,
    /// Leaves.
    pub leaves: u64,
    /// Leaves without an entry.
    pub empty_leaves: u64,
    /// Keys linked.
    pub entries: u64,
    /// Units of the key heap that nodes lead to.
    pub units: u64,
}

impl Census {
    /// Nodes of the tree.
    pub fn nodes(&self) -> u64 {
        self.inners + self.leaves
    }

    /// Bytes of the tree's nodes.
    pub fn node_bytes(&self) -> u64 {
        self.nodes() * NODE_BYTES as u64
    }

    /// The share of leaves' entries that are in use.
    pub fn fill(&self) -> f64 {
        self.entries as f64 / (self.leaves * LEAF_ENTRIES as u64) as f64
    }
}

/// A node's range; `None` is open.
struct Ends<'a> {
    lower: Option<&'a [u8]>,
    upper: Option<&'a [u8]>,
}

impl Ends<'_> {
    /// Bytes that all keys of the range have in common.
    fn common(&self) -> &[u8] {
        match (self.lower, self.upper) {
            (Some(lower), Some(upper)) => &lower[..common_prefix(lower, upper)],
            _ => &[],
        }
    }

    fn hold(&self, key: &[u8]) -> bool {
        self.lower.is_none_or(|lower| lower <= key) && self.upper.is_none_or(|upper| key < upper)
    }
}

impl<F: SynchronizationPolicy> OrderedIndex<F> {
    /// Walks a quiet index; panics unless ranges, order, prefixes, levels, states and unused places are as they must be.
    pub fn census(&self) -> Census {
        let mut census = Census { height: F::look(self.state(self.root)).level() + 1, ..Census::default() };
        self.walk(self.root, census.height - 1, &Ends { lower: None, upper: None }, &mut census);
        census
    }

    fn walk(&self, number: u32, level: usize, ends: &Ends<'_>, census: &mut Census) {
        let state = F::look(self.state(number));
        assert!(!state.is_latched() && !state.is_dead(), "node {number} is in the tree: {state:?}");
        assert_eq!(state.level(), level, "node {number}");
        assert!(
            state.prefix() <= ends.common().len(),
            "node {number} leaves out more than its range has in common"
        );
        if state.is_leaf() {
            self.walk_leaf(number, state, ends, census);
        } else {
            self.walk_inner(number, state, ends, census);
        }
    }

    fn walk_leaf(&self, number: u32, state: State, ends: &Ends<'_>, census: &mut Census) {
        let leaf = self.leaf_of(number);
        census.leaves += 1;
        census.empty_leaves += u64::from(state.count() == 0);
        census.entries += state.count() as u64;
        let prefix = &ends.common()[..state.prefix()];
        let mut last: Option<Vec<u8>> = None;
        for position in 0..state.count() {
            let entry = leaf.entry(position);
            let key = self.entry_key(entry, prefix).to_vec();
            assert!(ends.hold(&key), "leaf {number} holds {key:?}, which is not in its range");
            assert!(
                last.as_ref().is_none_or(|last| *last < key),
                "leaf {number} holds {last:?} before {key:?}"
            );
            assert_eq!(entry.value.class(), (key.len() - prefix.len()).min(super::keys::LONG));
            assert!(self.record_bits(entry.value) != 0, "leaf {number} holds no record for {key:?}");
            census.units += entry.value.piece().map_or(0, |piece| units(&self.heap, piece));
            last = Some(key);
        }
        for position in state.count()..LEAF_ENTRIES {
            assert_eq!(leaf.slices[position].get(), UNUSED, "leaf {number}");
        }
    }

    fn walk_inner(&self, number: u32, state: State, ends: &Ends<'_>, census: &mut Census) {
        let inner = self.inner(number);
        census.inners += 1;
        census.units += self.units_of_inner(inner, state);
        let draft = self.load(inner, state);
        let prefix = &ends.common()[..state.prefix()];
        let key = |separator: &Separator| self.separator_key(*separator, prefix).to_vec();
        let separators: Vec<Vec<u8>> = draft.separators[..draft.count].iter().map(key).collect();
        assert!(separators.is_sorted_by(|a, b| a < b), "inner node {number}: {separators:?}");
        for separator in &separators {
            // Above the lower end, for it parts two ranges.
            let is_above = ends.lower.is_none_or(|lower| lower < separator.as_slice());
            assert!(is_above && ends.hold(separator), "inner node {number} parts at {separator:?}");
        }
        for position in 0..=draft.count {
            let lower = position.checked_sub(1).map(|n| separators[n].as_slice()).or(ends.lower);
            let upper = separators.get(position).map(Vec::as_slice).or(ends.upper);
            self.walk(draft.children[position], state.level() - 1, &Ends { lower, upper }, census);
        }
        for position in state.count()..SEPARATORS {
            assert_eq!(inner.slices[position].get(), UNUSED, "inner node {number}");
        }
    }

    /// Nodes and units of the key heap taken from the system: those of the census, and those of all caches.
    pub fn taken(&self) -> (u64, u64) {
        (u64::from(self.nodes.taken()), self.heap.taken())
    }

    /// Visits every leaf of a quiet index.
    pub fn for_each_leaf(&self, mut visit: impl FnMut(LeafRef)) {
        let mut nodes = vec![self.root];
        while let Some(number) = nodes.pop() {
            let state = F::look(self.state(number));
            if state.is_leaf() {
                visit(LeafRef(number));
            } else {
                let inner = self.inner(number);
                nodes.extend((0..=state.count()).rev().map(|position| inner.child_at(position)));
            }
        }
    }
}

fn units(heap: &Heap, piece: u32) -> u64 {
    units_of(heap.length(piece)) as u64
}
