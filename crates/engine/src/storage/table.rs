//! A table: partitions, each with an index and an arena of its own.

use super::arena::{Arena, RecordCache};
use super::record::Shape;
use crate::facade::latch::TestAndTestAndSet;
use crate::facade::region::RegionError;
use crate::index::hash::{self, Hash, HashIndex};
use contract::{Key, PartitionId, Span, TableDescription};

/// The latch of index buckets: writers are few and hold it for nanoseconds.
pub(crate) type IndexLatch = TestAndTestAndSet;
/// An index as every partition has it.
pub(crate) type Index = HashIndex<IndexLatch>;
/// A bucket of such an index.
pub(crate) type Bucket = hash::Bucket<IndexLatch>;

/// One partition of a table.
pub(crate) struct Partition {
    /// Finds the partition's records.
    pub index: Index,
    /// Holds them.
    pub arena: Arena,
}

/// A table.
pub(crate) struct Table {
    /// As the workload described it.
    pub description: TableDescription,
    /// The size of its records.
    pub shape: Shape,
    partitions: Box<[Partition]>,
}

impl Table {
    /// An empty table.
    pub fn reserve(description: TableDescription, partitions: u32) -> Result<Self, RegionError> {
        let shape = Shape::new(description.row_bytes, description.kept_bytes);
        let records = Self::records_by_partition(&description, partitions);
        let partition =
            |_| Ok(Partition { index: Index::reserve(records)?, arena: Arena::reserve(shape, records)? });
        let partitions = (0..partitions).map(partition).collect::<Result<_, _>>()?;
        Ok(Table { description, shape, partitions })
    }

    /// Bytes that a table will take when it holds its capacity.
    pub fn bytes_for(description: &TableDescription, partitions: u32) -> u64 {
        let records = Self::records_by_partition(description, partitions);
        let shape = Shape::new(description.row_bytes, description.kept_bytes);
        u64::from(partitions) * (Index::bytes_for(records) + Arena::bytes_for(shape, records))
    }

    fn records_by_partition(description: &TableDescription, partitions: u32) -> u64 {
        description.capacity.max(description.rows).div_ceil(u64::from(partitions))
    }

    /// Where a key lives.
    #[inline(always)]
    pub fn partition_of(&self, key: Key) -> PartitionId {
        match self.partitions.len() {
            1 => PartitionId(0),
            several => (self.description.partition)(key, several as u32),
        }
    }

    /// A partition.
    #[inline(always)]
    pub fn partition(&self, partition: PartitionId) -> &Partition {
        &self.partitions[partition.index()]
    }

    /// Every partition.
    pub fn partitions(&self) -> &[Partition] {
        &self.partitions
    }

    /// A worker's supplies before it has taken anything, by partition.
    pub fn empty_supply(&self) -> Vec<RecordCache> {
        self.partitions.iter().map(|_| RecordCache::default()).collect()
    }

    /// A key's partition and hash.
    #[inline(always)]
    pub fn locate(&self, key: Key) -> (PartitionId, Hash) {
        (self.partition_of(key), Hash::of(key))
    }

    /// Panics unless `span` lies in a row.
    #[inline(always)]
    pub fn check(&self, span: Span) {
        if span.end() > self.shape.row_bytes {
            self.refuse(span);
        }
    }

    #[cold]
    fn refuse(&self, span: Span) -> ! {
        panic!(
            "bytes {}..{} of a row of table '{}', which has {} bytes",
            span.start(),
            span.end(),
            self.description.name,
            self.shape.row_bytes
        )
    }
}
