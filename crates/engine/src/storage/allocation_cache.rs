//! What a worker has at hand of the partitions' memory: records, and nodes of their indexes; and its values.
//!
//! The cache for a partition is made when the worker first needs it: a thousand workers over a thousand partitions have few
//! of the million that there could be.
//!
//! Invariants: a cache that has records in its garbage is named once in `with_garbage`, and no other is. Making one moves
//! the others, so nothing of a cache may be lent to a step ([`crate::transaction`]) while another is asked for; a caller that lends
//! waits for the step's answer.

use super::tombs::Tombs;
use crate::facade::heap::Heap;
use crate::facade::shared::Arc;
use crate::index::ordered;
use crate::record::RecordRef;
use crate::record::arena::RecordCache;
use crate::record::value::ValueCache;
use crate::versions::VersionCache;
use contract::{PartitionId, TableId};

/// One worker's allocation cache for one partition of a table.
#[derive(Default)]
pub(crate) struct PartitionCache {
    pub records: RecordCache,
    /// Of an ordered index.
    pub nodes: ordered::AllocationCache,
    /// Of its graveyard.
    pub grave_nodes: ordered::AllocationCache,
}

/// One worker's caches. Aligned, because those of all workers lie side by side.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct AllocationCache {
    /// That each table has.
    partitions: usize,
    /// By table and partition: 1 + its place in `made`, or 0.
    places: Box<[u32]>,
    made: Vec<PartitionCache>,
    /// Places in `made` where records wait for their epoch.
    with_garbage: Vec<u32>,
    /// Of all tables whose rows vary in length.
    pub values: ValueCache,
    /// Of all tables, if there are snapshots.
    pub versions: VersionCache,
    /// Of all tables, what deletes have left linked.
    pub tombs: Tombs,
}

impl AllocationCache {
    /// An empty one, for a store of so many tables of so many partitions each, with values of this heap.
    pub fn new(tables: usize, partitions: usize, heap: &Arc<Heap>) -> Self {
        AllocationCache {
            partitions,
            places: vec![0; tables * partitions].into(),
            values: ValueCache::new(heap),
            versions: VersionCache::new(heap),
            ..AllocationCache::default()
        }
    }

    /// The store has one table more.
    pub fn add_table(&mut self) {
        let places = std::mem::take(&mut self.places).into_iter();
        self.places = places.chain(std::iter::repeat_n(0, self.partitions)).collect();
    }

    /// The last table does not come to be.
    pub fn remove_last_table(&mut self) {
        let last = TableId((self.places.len() / self.partitions - 1) as u16);
        self.forget_table(last);
        self.places = self.places[..last.index() * self.partitions].into();
    }

    /// Nothing is at hand of a table any more: its memory is gone.
    pub fn forget_table(&mut self, table: TableId) {
        self.versions.forget_table(table);
        self.tombs.forget_table(table);
        let first = table.index() * self.partitions;
        for place in &mut self.places[first..first + self.partitions] {
            if *place > 0 {
                self.made[*place as usize - 1] = PartitionCache::default();
                self.with_garbage.retain(|with_garbage| with_garbage + 1 != *place);
                *place = 0;
            }
        }
    }

    /// What is at hand for a partition.
    #[inline(always)]
    pub fn at(&mut self, table: TableId, partition: PartitionId) -> &mut PartitionCache {
        let place = self.place(table, partition);
        &mut self.made[place as usize]
    }

    #[inline(always)]
    fn place(&mut self, table: TableId, partition: PartitionId) -> u32 {
        let position = table.index() * self.partitions + partition.index();
        match self.places[position] {
            0 => self.make(position),
            place => place - 1,
        }
    }

    #[cold]
    fn make(&mut self, position: usize) -> u32 {
        self.made.push(PartitionCache::default());
        self.places[position] = u32::try_from(self.made.len()).expect("no more than tables times partitions");
        self.places[position] - 1
    }

    /// Goes on with what is left of another worker's allocation cache for a partition that this one has none for.
    pub fn take_over(&mut self, table: TableId, partition: PartitionId, leftover: PartitionCache) {
        assert!(!leftover.records.has_garbage(), "garbage of another worker's epochs");
        let before = self.made.len();
        *self.at(table, partition) = leftover;
        assert!(self.made.len() == before + 1, "what was at hand would be lost");
    }

    /// Takes back a record that was unlinked by a transaction of local epoch `epoch`.
    pub fn retire(&mut self, table: TableId, partition: PartitionId, record: RecordRef, epoch: u64) {
        let place = self.place(table, partition);
        let records = &mut self.made[place as usize].records;
        if !records.has_garbage() {
            self.with_garbage.push(place);
        }
        records.retire(record, epoch);
    }

    /// Frees the records, the values, the graves and the replaced rows that were unlinked at epoch `reclaimable` or before.
    pub fn reclaim(&mut self, reclaimable: u64) {
        let made = &mut self.made;
        self.with_garbage.retain(|&place| {
            let records = &mut made[place as usize].records;
            records.reclaim(reclaimable);
            records.has_garbage()
        });
        self.values.reclaim(reclaimable);
        self.versions.reclaim_unlinked(reclaimable);
    }

    /// What a row that is deleted is buried with.
    pub fn for_graveyard(
        &mut self,
        table: TableId,
        partition: PartitionId,
    ) -> (&mut ordered::AllocationCache, &Heap) {
        let place = self.place(table, partition);
        (&mut self.made[place as usize].grave_nodes, self.versions.heap())
    }

    /// Frees what only snapshots before `needed` show.
    pub fn reclaim_versions(&mut self, needed: u64) {
        self.versions.reclaim(needed, &mut self.values);
    }

    /// Records that are neither linked nor in use.
    pub fn unused_records(&self) -> u64 {
        self.made.iter().map(|allocations| allocations.records.unused()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::{AllocationCache, Arc, Heap};
    use contract::{PartitionId, TableId};

    #[test]
    fn what_is_never_needed_is_never_made() {
        let mut allocations = AllocationCache::new(3, 1024, &Arc::new(Heap::new()));
        for (table, partition) in [(0, 1023), (1, 0), (2, 1023), (1, 0)] {
            allocations.at(TableId(table), PartitionId(partition));
        }
        assert_eq!(allocations.made.len(), 3);
        assert_eq!(allocations.places[1023], 1, "a table's last partition is not the next one's first");
        assert_eq!(allocations.places[1024], 2);
    }
}
