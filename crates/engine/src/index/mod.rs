//! Indexes: from a key to its record, and what protects the keys that have none.
//!
//! A partition has one of two kinds. They are told apart by a branch that is always taken the same way for a table: the hash
//! index is in the way of every operation, and nothing else is.

mod buckets;
pub(crate) mod hash;
pub(crate) mod ordered;
mod walk;

pub(crate) use walk::{KeyList, WalkPosition};

use crate::facade::atomic::AtomicU64;
use crate::facade::latch::TestAndTestAndSet;
use crate::facade::region::{Pages, RegionError};
use crate::facade::shared::Arc;
use crate::physical::{Metadata, Physical};
use crate::record::RecordRef;
use buckets::Buckets;
use contract::Indexing;
use hash::{Hash, HashIndex};
use ordered::{KeyBytes, LeafRef};
use std::ops::Range;

/// The latch of index buckets: writers are few and hold it for nanoseconds.
pub(crate) type IndexLatch = TestAndTestAndSet;
/// A hash index as partitions have it.
pub(crate) type Hashed = HashIndex<IndexLatch>;
/// A bucket of such an index.
pub(crate) type Bucket = hash::Bucket<IndexLatch>;
/// The synchronization policy in which ordered indexes are loaded, and read by whichever thread looks.
pub(crate) type OrderedPolicy = ordered::synchronization_policy::Shared;
/// An ordered index as partitions have it. Steps change it in their synchronization policy's way ([`OrderedAs`]).
pub(crate) type Ordered = ordered::OrderedIndex<OrderedPolicy>;
/// An ordered index as the steps of one synchronization policy use it.
pub(crate) type OrderedAs<P> = ordered::OrderedIndex<<P as Physical>::Ordered>;

/// The index of a partition.
pub(crate) enum Index {
    /// By key only.
    Hashed(Hashed),
    /// In the order of the keys.
    Ordered(Ordered),
}

/// What an attempt to link a record came to.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Linked<T> {
    /// The record is linked, and this is what the caller made of it under the latch.
    Done(T),
    /// The key is linked already, to this record; nothing was changed.
    Exists(RecordRef),
}

impl<T> Linked<T> {
    /// The same, with something else made of it.
    pub fn map<U>(self, make: impl FnOnce(T) -> U) -> Linked<U> {
        match self {
            Linked::Done(made) => Linked::Done(make(made)),
            Linked::Exists(record) => Linked::Exists(record),
        }
    }
}

/// What protects missing keys, known by what means the same wherever a step runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GapId {
    /// The bucket that would hold keys of this hash.
    Bucket(Hash),
    /// A leaf.
    Leaf(LeafRef),
}

/// The memory of a table's indexes, which its partitions share.
pub(crate) enum Memory {
    /// Buckets.
    Hashed(Arc<Buckets>),
    /// Nodes, and keys that do not fit into them.
    Ordered(ordered::Memory),
}

impl Memory {
    /// Bytes of the keys, as an ordered index has them.
    fn key_bytes(indexing: Indexing) -> KeyBytes {
        match indexing {
            Indexing::Hashed | Indexing::Ordered => KeyBytes::Number,
            Indexing::OrderedBytes { most } => KeyBytes::Most(most),
        }
    }

    /// Bytes that an index of `records` entries is expected to take.
    pub fn bytes_for(indexing: Indexing, records: u64) -> u64 {
        match indexing {
            Indexing::Hashed => Buckets::bytes_for(records),
            Indexing::Ordered | Indexing::OrderedBytes { .. } => {
                ordered::Memory::bytes_for(records, Self::key_bytes(indexing))
            }
        }
    }

    /// For indexes of `partitions` partitions of about `records` entries each; each region may grow to `most` bytes of address
    /// space.
    pub fn reserve(
        indexing: Indexing,
        records: u64,
        partitions: u32,
        most: usize,
        pages: Pages,
    ) -> Result<Self, RegionError> {
        Ok(match indexing {
            Indexing::Hashed => Memory::Hashed(Arc::new(Buckets::reserve(records, partitions, most, pages)?)),
            Indexing::Ordered | Indexing::OrderedBytes { .. } => {
                let entries = u64::from(partitions) * records;
                Memory::Ordered(ordered::Memory::reserve(entries, Self::key_bytes(indexing), most, pages)?)
            }
        })
    }

    /// Bytes of memory taken.
    pub fn bytes_taken(&self) -> u64 {
        match self {
            Memory::Hashed(buckets) => buckets.bytes_taken(),
            Memory::Ordered(memory) => memory.bytes_taken(),
        }
    }

    /// Faults in what the next run is expected to take, up to `left` bytes.
    pub fn get_ready(&self, left: &mut u64) {
        if let Memory::Ordered(memory) = self {
            memory.get_ready(left);
        }
    }
}

impl Index {
    /// An empty index of partition `number`; `allocations` is an ordered one's, and is to be kept.
    pub fn within(memory: &Memory, number: u32, allocations: &mut ordered::AllocationCache) -> Self {
        match memory {
            Memory::Hashed(buckets) => Index::Hashed(Hashed::within(buckets, number)),
            Memory::Ordered(memory) => Index::Ordered(Ordered::within(memory, allocations)),
        }
    }

    /// The index of a table that is hashed.
    #[inline(always)]
    pub fn hashed(&self) -> &Hashed {
        match self {
            Index::Hashed(index) => index,
            Index::Ordered(_) => unreachable!("an ordered table"),
        }
    }

    /// The index of a table that is ordered.
    #[inline(always)]
    pub fn ordered(&self) -> &Ordered {
        match self {
            Index::Ordered(index) => index,
            Index::Hashed(_) => unreachable!("a hashed table"),
        }
    }

    /// The protocol's metadata that protects missing keys.
    ///
    /// # Safety
    /// As for [`RecordRef::meta`].
    #[inline(always)]
    pub unsafe fn gap<M: Metadata>(&self, gap: GapId) -> &M {
        match (self, gap) {
            // SAFETY: by the caller's contract.
            (Index::Hashed(index), GapId::Bucket(hash)) => unsafe { index.bucket(hash).meta() },
            // SAFETY: as above.
            (Index::Ordered(index), GapId::Leaf(leaf)) => unsafe { index.leaf(leaf).meta() },
            _ => unreachable!("another table's"),
        }
    }

    /// Where it is, to tell it from others while an epoch lasts.
    #[inline(always)]
    pub fn gap_address(&self, gap: GapId) -> usize {
        // SAFETY: it is not touched.
        (&raw const *unsafe { self.gap::<AtomicU64>(gap) }).addr()
    }

    /// Visits every linked record of a quiet index.
    pub fn for_each_record(&self, visit: impl FnMut(RecordRef)) {
        match self {
            Index::Hashed(index) => index.for_each_record(visit),
            Index::Ordered(index) => index.for_each_record(visit),
        }
    }

    /// How many records are linked in a quiet index.
    pub fn records(&self) -> u64 {
        match self {
            Index::Hashed(index) => index.records(),
            Index::Ordered(index) => {
                let mut records = 0;
                index.for_each_record(|_| records += 1);
                records
            }
        }
    }

    /// Visits all that protects missing keys of a quiet index.
    ///
    /// # Safety
    /// `M` is the metadata of the gaps of the protocol that ran last.
    pub unsafe fn for_each_gap<M: Metadata>(&self, mut visit: impl FnMut(&M)) {
        match self {
            Index::Hashed(index) => {
                index.for_each_bucket(0..index.buckets(), |bucket| {
                    // SAFETY: by the caller's contract; nobody runs.
                    visit(unsafe { bucket.meta() });
                });
            }
            Index::Ordered(index) => index.for_each_leaf(|leaf| {
                // SAFETY: as above.
                visit(unsafe { index.leaf(leaf).meta() });
            }),
        }
    }

    /// Forgets what the last protocol left in a share of a quiet index.
    pub fn reset(&self, share: impl Fn(u64) -> Range<u64>) {
        match self {
            Index::Hashed(index) => index.for_each_bucket(share(index.buckets()), Bucket::reset),
            // The thread that has the first of its parts resets it all: leaves are few.
            Index::Ordered(index) if share(1 << 32).start == 0 => index.reset(),
            Index::Ordered(_) => {}
        }
    }
}
