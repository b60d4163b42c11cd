//! A table: partitions, each with an index of its own, over memory that they share; in a deployment those of an instance share theirs, so that instances take memory
//! without a line that others write.

use super::allocation_cache::{AllocationCache, PartitionCache};
use crate::durability::checkpoint::{Beginning, PARTS_OF_PARTITION};
use crate::facade::cpu;
use crate::facade::region::{Pages, RegionError};
use crate::facade::shared::Arc;
use crate::index::hash::Hash;
use crate::index::ordered::MAX_KEY_BYTES;
use crate::index::{self, Index};
use crate::record::Shape;
use crate::record::arena::Arena;
use crate::versions::Graveyard;
use contract::table::MOST_VARYING_BYTES;
use contract::{Indexing, Key, Layout, PartitionId, Span, TableDescription, TableId};

/// One partition of a table.
pub(crate) struct Partition {
    /// Holds its records, and perhaps those of other partitions.
    pub arena: Arc<Arena>,
    /// Finds the partition's records.
    pub index: Index,
    /// Where the last versions of records are that were deleted, if the store has snapshots.
    pub graveyard: Option<Graveyard>,
}

/// Keys of rows that were deleted that a graveyard is expected to have.
const GRAVES: u64 = 256;

/// A table.
pub(crate) struct Table {
    /// Its number in the store.
    pub id: TableId,
    /// As the workload described it.
    pub description: TableDescription,
    /// The size of its records.
    pub shape: Shape,
    /// Within these bytes of a row a span must lie; none, if rows vary in length.
    span_bytes: usize,
    /// That it takes when it holds its capacity.
    bytes: u64,
    /// By instance.
    memories: Box<[Memory]>,
    partitions: Box<[Partition]>,
}

/// What partitions share that are all of a table's, or those of one instance.
struct Memory {
    arena: Arc<Arena>,
    indexes: index::Memory,
    /// Of graveyards.
    graves: Option<index::Memory>,
}

impl Memory {
    /// For partitions of about so many records each; each region may grow to `most` bytes of address space.
    fn reserve(
        description: &TableDescription,
        layout: Layout,
        records: u64,
        most: usize,
    ) -> Result<Self, RegionError> {
        let (partitions, pages) = (layout.partitions / layout.instances, pages_of(layout));
        let arena = Arena::reserve(Shape::of(layout, description), records, partitions, most, pages)?;
        let indexes = index::Memory::reserve(description.indexing, records, partitions, most, pages)?;
        let graves = match layout.snapshot_every {
            0 => None,
            _ => {
                let in_order = Table::in_order(description);
                Some(index::Memory::reserve(in_order, GRAVES, partitions, most, pages)?)
            }
        };
        Ok(Memory { arena: Arc::new(arena), indexes, graves })
    }

    fn bytes_taken(&self) -> u64 {
        let graves = self.graves.as_ref().map_or(0, index::Memory::bytes_taken);
        self.arena.bytes_taken() + self.indexes.bytes_taken() + graves
    }
}

/// What backs the memory of a store of this layout.
pub(super) fn pages_of(layout: Layout) -> Pages {
    if layout.huge_pages { Pages::Huge } else { Pages::Small }
}

impl Table {
    /// Regions that a table may consist of, for each instance: records, nodes, keys; with snapshots, nodes and keys of graveyards.
    pub fn regions(layout: Layout) -> usize {
        layout.instances as usize * if layout.snapshot_every > 0 { 5 } else { 3 }
    }

    /// Address space of each region for every partition, at least. A worker takes memory for a partition in chunks: a thousand workers
    /// that insert into some of a thousand partitions each take many, and use little of them.
    const LEAST_BYTES_A_PARTITION: usize = 4 << 20;

    /// An empty table, the number `id` of its store, each region of which may grow to `most` bytes of address space. What
    /// its indexes have taken of their memory and not used goes to `allocations`.
    pub fn reserve(
        description: TableDescription,
        id: TableId,
        layout: Layout,
        most: usize,
        allocations: &mut AllocationCache,
    ) -> Result<Self, RegionError> {
        if let Indexing::OrderedBytes { most } = description.indexing {
            assert!(
                most <= MAX_KEY_BYTES,
                "table '{}': keys of up to {most} bytes; {MAX_KEY_BYTES} are allowed",
                description.name
            );
        }
        let partitions_of_one = layout.partitions / layout.instances;
        let most = most.max(partitions_of_one as usize * Self::LEAST_BYTES_A_PARTITION);
        if description.varies() {
            assert!(
                description.row_bytes <= MOST_VARYING_BYTES,
                "table '{}': rows of up to {} bytes; {MOST_VARYING_BYTES} are allowed",
                description.name,
                description.row_bytes
            );
        }
        let shape = Shape::of(layout, &description);
        let bytes = Self::bytes_for(&description, layout);
        let span_bytes = if description.varies() { 0 } else { description.row_bytes };
        let records = Self::records_by_partition(&description, layout.partitions);
        let memory = |_| Memory::reserve(&description, layout, records, most);
        let memories = (0..layout.instances).map(memory).collect::<Result<Box<[_]>, _>>()?;
        let partition = |number| {
            let Memory { arena, indexes, graves } = &memories[(number / partitions_of_one) as usize];
            let PartitionCache { nodes, grave_nodes, .. } = allocations.at(id, PartitionId(number));
            Partition {
                arena: Arc::clone(arena),
                index: Index::within(indexes, number % partitions_of_one, nodes),
                graveyard: graves.as_ref().map(|memory| Graveyard::within(memory, grave_nodes)),
            }
        };
        let partitions = (0..layout.partitions).map(partition).collect();
        Ok(Table { id, description, shape, span_bytes, bytes, memories, partitions })
    }

    /// Bytes that a table will take when it holds its capacity, without rows that vary in length: how long they are is not known.
    pub fn bytes_for(description: &TableDescription, layout: Layout) -> u64 {
        let records = Self::records_by_partition(description, layout.partitions);
        let shape = Shape::of(layout, description);
        u64::from(layout.partitions) * index::Memory::bytes_for(description.indexing, records)
            + Arena::bytes_for(shape, records, layout.partitions)
    }

    /// Bytes of memory taken, indexes included.
    pub fn bytes_taken(&self) -> u64 {
        self.memories.iter().map(Memory::bytes_taken).sum()
    }

    /// Where its records are.
    pub fn arenas(&self) -> impl Iterator<Item = &Arena> {
        self.memories.iter().map(|memory| &*memory.arena)
    }

    /// Records' memory that was taken, used or not.
    pub fn records_taken(&self) -> u64 {
        self.arenas().map(Arena::taken).sum()
    }

    /// Whether its lines are mostly not in a core's own caches, for who asks: an explored run may be over a table that was loaded unobserved.
    #[inline(always)]
    pub fn is_far(&self) -> bool {
        self.bytes >= cpu::near_bytes()
    }

    /// How the keys of its graveyards are indexed.
    fn in_order(description: &TableDescription) -> Indexing {
        match description.indexing {
            Indexing::Hashed => Indexing::Ordered,
            in_order => in_order,
        }
    }

    fn records_by_partition(description: &TableDescription, partitions: u32) -> u64 {
        description.capacity.max(description.rows).div_ceil(u64::from(partitions))
    }

    /// Whether its rows vary in length, and are values ([`crate::record::value`]).
    #[inline(always)]
    pub fn varies(&self) -> bool {
        self.description.varies()
    }

    /// Whether its keys are in order, so that it can be scanned.
    #[inline(always)]
    pub fn is_ordered(&self) -> bool {
        !matches!(self.description.indexing, Indexing::Hashed)
    }

    /// Whether its keys are byte strings.
    #[inline(always)]
    pub fn has_byte_strings(&self) -> bool {
        matches!(self.description.indexing, Indexing::OrderedBytes { .. })
    }

    /// Where a key lives; of a byte string, that which begins with this prefix.
    #[inline(always)]
    pub fn partition_of(&self, key: Key) -> PartitionId {
        match self.partitions.len() {
            1 => PartitionId(0),
            several => self.description.partition.of(key, several as u32),
        }
    }

    /// A partition.
    #[inline(always)]
    pub fn partition(&self, partition: PartitionId) -> &Partition {
        &self.partitions[partition.index()]
    }

    /// Faults in what the next run is expected to insert, up to `left` bytes.
    pub fn get_ready(&self, left: &mut u64) {
        for memory in &self.memories {
            memory.arena.get_ready(left);
            memory.indexes.get_ready(left);
        }
    }

    /// Every partition.
    pub fn partitions(&self) -> &[Partition] {
        &self.partitions
    }

    /// A key's partition and hash, if the table is hashed.
    #[inline(always)]
    pub fn locate(&self, key: Key) -> (PartitionId, Hash) {
        (self.partition_of(key), Hash::of(key))
    }

    /// Panics unless `bytes` can be a key, which is a byte string.
    pub fn check_key(&self, bytes: &[u8]) {
        let name = self.description.name;
        let Indexing::OrderedBytes { most } = self.description.indexing else {
            panic!("the keys of table '{name}' are numbers")
        };
        assert!(bytes.len() <= most, "a key of {} bytes; table '{name}' has up to {most}", bytes.len());
    }

    /// The parts in which it is walked for a checkpoint.
    pub fn parts(&self) -> impl Iterator<Item = Beginning> {
        (0..).zip(self.partitions()).flat_map(move |(number, partition)| {
            let walks = partition.index.walks(PARTS_OF_PARTITION);
            walks.into_iter().map(move |position| Beginning {
                table: self.id,
                partition: PartitionId(number),
                row_bytes: self.shape.row_bytes,
                has_byte_strings: self.has_byte_strings(),
                position,
            })
        })
    }

    /// Panics unless a row of so many bytes can be the table's.
    #[inline]
    pub fn check_row(&self, bytes: usize) {
        let TableDescription { name, row_bytes, .. } = self.description;
        assert!(
            self.description.admits(bytes),
            "a row of {bytes} bytes for table '{name}', which has {}{row_bytes}",
            if self.varies() { "up to " } else { "" }
        );
    }

    /// Panics unless `span` lies in a row.
    #[inline(always)]
    pub fn check(&self, span: Span) {
        if span.end() > self.span_bytes {
            self.refuse(span);
        }
    }

    #[cold]
    fn refuse(&self, span: Span) -> ! {
        let name = self.description.name;
        assert!(
            !self.varies(),
            "bytes {}..{} of a row of table '{name}', whose rows vary in length: they are read and replaced whole",
            span.start(),
            span.end()
        );
        panic!(
            "bytes {}..{} of a row of table '{}', which has {} bytes",
            span.start(),
            span.end(),
            name,
            self.span_bytes
        )
    }
}
