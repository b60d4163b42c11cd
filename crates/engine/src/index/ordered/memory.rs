//! The memory of a table's ordered indexes, and what of it a change may need.

use super::allocation_cache::NodeMemory;
use super::draft::TAILS_BYTES;
use super::heap::{Heap, MOST_UNITS, UNIT_BYTES, units_of};
use super::keys::SLICE_BYTES;
use super::node::{NODE_BYTES, SEPARATORS};
use crate::facade::region::{Pages, RegionError};
use crate::facade::shared::Arc;

/// Nodes that an attempt to link a key may take: a root that grows gets two.
pub(super) const NODES_TO_LINK: usize = 2;

/// Units of the key heap that it may take: for the key, for what parts two nodes, and for the numbers of such pieces of three
/// inner nodes. (Ranges become smaller where nodes are split, prefixes longer: no other key goes out of line.)
pub(super) const UNITS_TO_LINK: usize = 2 * MOST_UNITS + 3 * units_of(TAILS_BYTES);

/// Units that making a node's prefix shorter may take: all that it holds goes out of line.
pub(super) const UNITS_TO_WIDEN: usize = SEPARATORS * MOST_UNITS + units_of(TAILS_BYTES);

/// Entries that a leaf is expected to have, after inserts in no order.
const EXPECTED_ENTRIES: u64 = 10;

/// How long keys are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyBytes {
    /// Eight bytes each: they and what parts them fit into nodes.
    Number,
    /// So many bytes at most, as far as is known.
    Most(usize),
}

/// The memory of a table's ordered indexes, which its partitions share.
pub(crate) struct Memory {
    pub(super) nodes: Arc<NodeMemory>,
    pub(super) heap: Arc<Heap>,
    keys: KeyBytes,
}

impl Memory {
    /// For about `entries` keys in all. There is address space for `most` bytes of nodes, and as many of keys.
    pub fn reserve(entries: u64, keys: KeyBytes, most: usize, pages: Pages) -> Result<Self, RegionError> {
        let nodes = Arc::new(NodeMemory::reserve(nodes_for(entries), most, pages)?);
        let heap = Arc::new(Heap::reserve(units_for(entries, keys) * UNIT_BYTES as u64, most, pages)?);
        Ok(Memory { nodes, heap, keys })
    }

    /// Bytes that an index of `entries` keys is expected to take, and may take less.
    pub fn bytes_for(entries: u64, keys: KeyBytes) -> u64 {
        nodes_for(entries) * NODE_BYTES as u64 + units_for(entries, keys) * UNIT_BYTES as u64
    }

    /// Units that linking a key may take.
    pub fn units_to_link(&self) -> usize {
        if self.keys == KeyBytes::Number { 0 } else { UNITS_TO_LINK }
    }

    /// Faults in what the next run is expected to take, up to `left` bytes.
    pub fn get_ready(&self, left: &mut u64) {
        self.nodes.get_ready(left);
        self.heap.get_ready(left);
    }

    /// Bytes of memory taken.
    pub fn bytes_taken(&self) -> u64 {
        u64::from(self.nodes.taken()) * NODE_BYTES as u64 + self.heap.taken() * UNIT_BYTES as u64
    }
}

fn nodes_for(entries: u64) -> u64 {
    // A fifteenth of them are inner nodes; the root and its leaf.
    entries.div_ceil(EXPECTED_ENTRIES) * 16 / 15 + 2
}

fn units_for(entries: u64, keys: KeyBytes) -> u64 {
    match keys {
        KeyBytes::Most(bytes) if bytes > SLICE_BYTES => entries * units_of(bytes) as u64,
        _ => 0,
    }
}
