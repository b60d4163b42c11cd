//! An index's memory, and each worker's cache of allocations of it: nodes and pieces of the key heap, fresh, freed, or waiting for
//! their epoch.
//!
//! As for records ([`crate::record::arena`]): a worker takes a chunk at a time, and what it took out of the tree waits
//! in its garbage until nobody can hold it ([`crate::epoch`]), and is then used again.
//!
//! Invariants:
//! - Nodes taken from the region are in a tree, or in one allocation cache; so are units of the key heap.
//! - Under latches nothing is asked of the system: what a change may need is taken before ([`AllocationCache::provide`]).

use super::OVERSIZE;
use super::finger::{Appending, Fingers};
use super::heap::{Heap, MOST_UNITS, units_of};
use super::node::{NODE_BYTES, prefetch_to_write};
use super::state::MOST_LEVELS;
use crate::epoch::Line;
use crate::facade::atomic::{AtomicU32, Ordering};
use crate::facade::region::{Pages, Region, RegionError};
use crate::facade::shared::Arc;
use crate::record::ready::Ready;
use std::collections::VecDeque;
use std::ops::Range;
use std::ptr::NonNull;

/// Address space is reserved for so many nodes at least.
const LEAST_NODES: u64 = 1 << 18;
/// Nodes that a worker takes at once.
const CHUNK_NODES: u32 = 64;
/// Nodes that one change may retire, and a piece; pieces of several are no more than the units that it may take.
const MOST_RETIRED: usize = 2 * MOST_LEVELS;
/// Units of the key heap that a worker takes at once.
const CHUNK_UNITS: u64 = 512;

/// The memory of a table's nodes. Aligned, so that its place in lines is the same in every run.
#[repr(align(128))]
pub(super) struct NodeMemory {
    region: Region,
    ready: Ready,
    taken: Line<AtomicU32>,
    room: u32,
}

impl NodeMemory {
    /// For about `nodes` nodes, and as many more as `most` bytes of address space have room for.
    pub fn reserve(nodes: u64, most: usize, pages: Pages) -> Result<Self, RegionError> {
        let bytes_of = |nodes: u64| nodes.min(u32::MAX.into()) as usize * NODE_BYTES;
        let address_space = bytes_of((nodes * OVERSIZE).max(LEAST_NODES)).max(most.min(bytes_of(u64::MAX)));
        let region = Region::reserve_to_grow(address_space, bytes_of(nodes), pages)?;
        let room = u32::try_from(region.len() / NODE_BYTES).expect("bounded");
        // Number 0 means none.
        Ok(NodeMemory { region, ready: Ready::default(), taken: Line(AtomicU32::new(1)), room })
    }

    /// Faults in what the next run is expected to take, up to `left` bytes.
    pub fn get_ready(&self, left: &mut u64) {
        let used = (self.taken() as usize + 1) * NODE_BYTES;
        self.ready.before_run(&self.region, used, left);
    }

    /// Nodes taken; number 0 is not one.
    pub fn taken(&self) -> u32 {
        // Relaxed: a counter.
        self.taken.0.load(Ordering::Relaxed) - 1
    }

    /// Takes consecutive nodes, faulted in. Panics when the address space is used up.
    pub fn take(&self, nodes: u32) -> Range<u32> {
        // Relaxed: a counter; nodes are only reached through nodes that are unlatched by a Release.
        let first = self.taken.0.fetch_add(nodes, Ordering::Relaxed);
        let end = first.saturating_add(nodes);
        assert!(end <= self.room, "the address space of an ordered index is used up: {} nodes", self.room);
        self.ready.taken(&self.region, first as usize * NODE_BYTES..end as usize * NODE_BYTES);
        first..end
    }
}

/// The memory of nodes as an index has it, what every descent needs of it at hand.
pub(super) struct Nodes {
    base: NonNull<u8>,
    room: u32,
    memory: Arc<NodeMemory>,
}

// SAFETY: `base` is a place in the region, which `memory` keeps; the user of what is there answers for exclusion.
unsafe impl Send for Nodes {}
// SAFETY: as above.
unsafe impl Sync for Nodes {}

impl Nodes {
    /// Nodes of this memory.
    pub fn of(memory: &Arc<NodeMemory>) -> Self {
        let base = NonNull::new(memory.region.base()).expect("a region is not at address 0");
        Nodes { base, room: memory.room, memory: Arc::clone(memory) }
    }

    /// Nodes taken of the memory.
    pub fn taken(&self) -> u32 {
        self.memory.taken()
    }

    /// The first byte of a node, which lies within the region.
    #[inline(always)]
    pub fn base(&self, number: u32) -> *mut u8 {
        assert!(number < self.room, "no such node");
        // SAFETY: below `room`, so within the region.
        unsafe { self.base.as_ptr().byte_add(number as usize * NODE_BYTES) }
    }
}

/// What waits for its epoch.
#[derive(Clone, Copy, Debug)]
enum Garbage {
    Node(u32),
    Piece { piece: u32, units: u8 },
}

/// One worker's cache of allocations of one index's memory.
/// Aligned, because the caches of all workers are made together and would share lines.
#[repr(align(128))]
pub(crate) struct AllocationCache {
    /// Of the operation that runs.
    epoch: u64,
    chunk: Range<u32>,
    free: Vec<u32>,
    units: Range<u32>,
    /// By units; as many as were needed yet, for most indexes have no pieces.
    free_pieces: Vec<Vec<u32>>,
    garbage: VecDeque<(u64, Garbage)>,
    /// The leaves where the worker linked last, or was about to.
    pub(super) fingers: Fingers,
    /// The leaves that the worker's splits made last.
    pub(super) appending: Appending,
}

impl Default for AllocationCache {
    fn default() -> Self {
        AllocationCache {
            epoch: 0,
            chunk: 0..0,
            free: Vec::new(),
            units: 0..0,
            free_pieces: Vec::new(),
            garbage: VecDeque::new(),
            fingers: Fingers::NONE,
            appending: Appending::default(),
        }
    }
}

impl AllocationCache {
    /// The local epoch at which what is unlinked from here on is unlinked.
    #[inline(always)]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// What is unlinked from here on is unlinked at local epoch `epoch`; what was at `reclaimable` or before is free.
    #[inline]
    pub fn refresh(&mut self, epoch: u64, reclaimable: u64) {
        assert!(epoch >= self.epoch, "epochs do not go back");
        self.epoch = epoch;
        while let Some(&(epoch, garbage)) = self.garbage.front() {
            if epoch > reclaimable {
                break;
            }
            self.garbage.pop_front();
            match garbage {
                Garbage::Node(number) => self.free.push(number),
                Garbage::Piece { piece, units } => self.free_piece(piece, usize::from(units)),
            }
        }
    }

    /// Takes memory for `nodes` nodes and `units` units in pieces, and makes room for what is retired meanwhile. Called before
    /// latches are taken: nothing is asked of the system under one.
    #[inline(always)]
    pub(super) fn provide(&mut self, index: &Nodes, heap: &Heap, nodes: usize, units: usize) {
        let room = self.garbage.capacity() - self.garbage.len();
        let is_there = self.free.len() + self.chunk.len() >= nodes
            && self.units.len() >= units
            && room >= MOST_RETIRED + units;
        if !is_there {
            self.provide_more(index, heap, nodes, units);
        }
    }

    #[cold]
    fn provide_more(&mut self, index: &Nodes, heap: &Heap, nodes: usize, units: usize) {
        if self.free.len() + self.chunk.len() < nodes {
            self.provide_nodes(index);
        }
        if self.units.len() < units {
            self.provide_units(heap, units);
        }
        self.garbage.reserve(MOST_RETIRED + units);
    }

    #[cold]
    fn provide_nodes(&mut self, nodes: &Nodes) {
        self.free.extend(self.chunk.by_ref());
        self.chunk = nodes.memory.take(CHUNK_NODES);
    }

    #[cold]
    fn provide_units(&mut self, heap: &Heap, units: usize) {
        while !self.units.is_empty() {
            let rest = self.units.len().min(MOST_UNITS);
            self.free_piece(self.units.start, rest);
            self.units.start += rest as u32;
        }
        // Several times as many, because of these the last are lost to all but pieces of just their size.
        self.units = heap.take(CHUNK_UNITS.max(4 * units as u64));
    }

    /// A node's number, its memory as it was left. The lines of the one that is taken next are asked for: by then they are here.
    pub(super) fn take_node(&mut self, nodes: &Nodes) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| self.take_fresh_node(nodes));
        let next = self.free.last().copied().or_else(|| self.chunk.clone().next());
        if let Some(next) = next {
            prefetch_to_write(nodes.base(next));
        }
        number
    }

    fn take_fresh_node(&mut self, nodes: &Nodes) -> u32 {
        if self.chunk.is_empty() {
            // Not in release: it goes on, and those who wait for the latch wait for longer.
            debug_assert!(false, "a node's memory is taken under a latch");
            self.provide_nodes(nodes);
        }
        self.chunk.next().expect("a chunk just taken")
    }

    /// A piece for `bytes` bytes, its memory as it was left.
    pub(super) fn take_piece(&mut self, heap: &Heap, bytes: usize) -> u32 {
        let units = units_of(bytes);
        if let Some(piece) = self.free_pieces.get_mut(units).and_then(Vec::pop) {
            return piece;
        }
        if self.units.len() < units {
            // Not in release: as in `take_node`.
            debug_assert!(false, "a piece's memory is taken under a latch");
            self.provide_units(heap, units);
        }
        let piece = self.units.start;
        self.units.start += units as u32;
        piece
    }

    fn free_piece(&mut self, piece: u32, units: usize) {
        if self.free_pieces.is_empty() {
            self.free_pieces.resize_with(MOST_UNITS + 1, Vec::new);
        }
        self.free_pieces[units].push(piece);
    }

    /// Takes back a node that was taken out of the tree.
    pub(super) fn retire_node(&mut self, number: u32) {
        self.garbage.push_back((self.epoch, Garbage::Node(number)));
    }

    /// Takes back a piece of `bytes` bytes that no node leads to any more.
    pub(super) fn retire_piece(&mut self, piece: u32, bytes: usize) {
        let units = units_of(bytes) as u8;
        self.garbage.push_back((self.epoch, Garbage::Piece { piece, units }));
    }

    /// Nodes that are not in the tree: free, in garbage, or not yet handed out.
    pub fn unused_nodes(&self) -> u64 {
        let garbage = self.garbage.iter().filter(|(_, garbage)| matches!(garbage, Garbage::Node(_)));
        (self.free.len() + self.chunk.len() + garbage.count()) as u64
    }

    /// Units of the key heap that no node leads to.
    pub fn unused_units(&self) -> u64 {
        let free = self.free_pieces.iter().enumerate().map(|(units, pieces)| units * pieces.len());
        let garbage = self.garbage.iter().map(|&(_, garbage)| match garbage {
            Garbage::Node(_) => 0,
            Garbage::Piece { units, .. } => usize::from(units),
        });
        (free.sum::<usize>() + garbage.sum::<usize>() + self.units.len()) as u64
    }
}
const _: () = assert!(MOST_UNITS <= u8::MAX as usize && (MOST_UNITS as u64) < CHUNK_UNITS);
