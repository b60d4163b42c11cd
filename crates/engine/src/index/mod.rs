//! Indexes: from a key to its record, and what protects the keys that have none.
//!
//! A partition has one of two kinds. They are told apart by a branch that is always taken the same way for a table: the hash
//! index is in the way of every operation, and nothing else is.

pub(crate) mod hash;
pub(crate) mod ordered;

use crate::facade::atomic::AtomicU64;
use crate::facade::latch::TestAndTestAndSet;
use crate::facade::region::RegionError;
use crate::physical::{Metadata, Physical};
use crate::storage::RecordRef;
use contract::Indexing;
use hash::{Hash, HashIndex};
use ordered::LeafRef;
use std::ops::Range;

/// The latch of index buckets: writers are few and hold it for nanoseconds.
pub(crate) type IndexLatch = TestAndTestAndSet;
/// A hash index as partitions have it.
pub(crate) type Hashed = HashIndex<IndexLatch>;
/// A bucket of such an index.
pub(crate) type Bucket = hash::Bucket<IndexLatch>;
/// The synchronization policy in which ordered indexes are loaded, and read by whichever thread looks.
pub(crate) type OrderedFlavour = ordered::synchronization_policy::Shared;
/// An ordered index as partitions have it. Steps change it in their synchronization policy's way ([`OrderedAs`]).
pub(crate) type Ordered = ordered::OrderedIndex<OrderedFlavour>;
/// An ordered index as the steps of one synchronization policy use it.
pub(crate) type OrderedAs<P> = ordered::OrderedIndex<<P as Physical>::Ordered>;

/// The index of a partition.
pub(crate) enum Index {
    /// By key only.
    Hashed(Hashed),
    /// In the order of the keys.
    Ordered(Ordered),
}

/// What protects missing keys, known by what means the same wherever a step runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GapId {
    /// The bucket that would hold keys of this hash.
    Bucket(Hash),
    /// A leaf.
    Leaf(LeafRef),
}

impl Index {
    /// Bytes of the keys, as an ordered index has them.
    fn key_bytes(indexing: Indexing) -> usize {
        match indexing {
            Indexing::Hashed | Indexing::Ordered => size_of::<u64>(),
            Indexing::OrderedBytes { most } => most,
        }
    }

    /// Bytes that an index of `records` entries is expected to take.
    pub fn bytes_for(indexing: Indexing, records: u64) -> u64 {
        match indexing {
            Indexing::Hashed => Hashed::bytes_for(records),
            Indexing::Ordered | Indexing::OrderedBytes { .. } => {
                Ordered::bytes_for(records, Self::key_bytes(indexing))
            }
        }
    }

    /// An empty index for about `records` entries, which may grow to `most` bytes of address space; `allocations` is an ordered
    /// one's, and is to be kept.
    pub fn reserve(
        indexing: Indexing,
        records: u64,
        most: usize,
        allocations: &mut ordered::AllocationCache,
    ) -> Result<Self, RegionError> {
        Ok(match indexing {
            Indexing::Hashed => Index::Hashed(Hashed::reserve(records, most)?),
            Indexing::Ordered | Indexing::OrderedBytes { .. } => {
                Index::Ordered(Ordered::reserve(records, Self::key_bytes(indexing), most, allocations)?)
            }
        })
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

    /// Bytes of memory behind the index.
    pub fn bytes_taken(&self) -> u64 {
        match self {
            Index::Hashed(index) => index.bytes_taken(),
            Index::Ordered(index) => index.bytes_taken(),
        }
    }

    /// Visits every linked record of a quiet index.
    pub fn for_each_record(&self, visit: impl FnMut(RecordRef)) {
        match self {
            Index::Hashed(index) => index.for_each_record(visit),
            Index::Ordered(index) => index.for_each_record(visit),
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
                // One that is dead is taken for ever.
                let leaf = index.leaf(leaf);
                if !leaf.is_dead() {
                    // SAFETY: as above.
                    visit(unsafe { leaf.meta() });
                }
            }),
        }
    }

    /// Forgets what the last protocol left in a share of a quiet index.
    pub fn reset(&self, share: impl Fn(u64) -> Range<u64>) {
        match self {
            Index::Hashed(index) => index.for_each_bucket(share(index.buckets()), Bucket::reset),
            // Whoever has the first of its parts resets it all: leaves are few.
            Index::Ordered(index) if share(1 << 32).start == 0 => index.reset(),
            Index::Ordered(_) => {}
        }
    }
}
