//! Linking rows into a table that nobody runs over: one thread's part in it. Others may link beside it.

use super::allocation_cache::PartitionCache;
use super::table::Table;
use crate::facade::heap::Heap;
use crate::facade::shared::Arc;
use crate::index::Linked;
use crate::record::RecordRef;
use crate::record::arena::Chunk;
use crate::record::header::{Narrow, Versioned, Wide};
use crate::record::value::ValueCache;
use contract::{Header, Key, PartitionId, Span};

/// What a thread has not used up, by partition, and what it has made of values.
pub(crate) type Leftover = (Vec<PartitionCache>, ValueCache);

/// Links rows into one table.
pub(crate) struct Linker<'a> {
    table: &'a Table,
    /// By partition.
    allocations: Vec<PartitionCache>,
    chunks: Vec<Chunk>,
    /// Records that are taken at once.
    records_at_once: u64,
    values: ValueCache,
}

impl<'a> Linker<'a> {
    /// Into this table, whose values are of this heap; takes so many records of a partition at once.
    pub fn new(table: &'a Table, heap: &Arc<Heap>, records_at_once: u64) -> Self {
        let chunks = table.partitions().iter().map(|_| Chunk::default()).collect();
        let allocations = table.partitions().iter().map(|_| PartitionCache::default()).collect();
        Linker { table, allocations, chunks, records_at_once, values: ValueCache::new(heap) }
    }

    /// Links a row of a fixed length, which `fill` writes, under a key as an ordered index has it; `false`: the key has one.
    pub fn link(&mut self, key: &[u8], fill: impl FnOnce(&mut [u8])) -> bool {
        if self.table.has_byte_strings() {
            self.table.check_key(key);
        }
        let kept = Key::prefix_of(key);
        let partition = self.table.partition_of(kept);
        let record = self.record(partition.index(), kept, fill);
        let allocations = &mut self.allocations[partition.index()];
        let index = &self.table.partition(partition).index;
        let linked = match self.table.is_ordered() {
            true => index.ordered().link(&mut allocations.nodes, key, record, |_, _| {}),
            false => index.hashed().link(self.table.locate(kept).1, record, |_| {}),
        };
        let is_linked = linked == Linked::Done(());
        if !is_linked {
            allocations.records.put_back(record);
        }
        is_linked
    }

    /// Links a row of a table whose rows vary in length; `false`: the key has one.
    pub fn link_varying(&mut self, key: &[u8], row: &[u8]) -> bool {
        self.table.check_row(row.len());
        let value = self.values.make(row);
        let is_linked = self.link(key, |word| word.copy_from_slice(&value.word()));
        if !is_linked {
            // SAFETY: made just now, and the record that has it was not linked.
            unsafe { self.values.unmake(value) };
        }
        is_linked
    }

    /// A record with a row, under the key that it keeps.
    fn record(&mut self, partition: usize, kept: Key, fill: impl FnOnce(&mut [u8])) -> RecordRef {
        let arena = &self.table.partition(PartitionId(partition as u32)).arena;
        let chunk = &mut self.chunks[partition];
        let record = chunk.next(arena).unwrap_or_else(|| {
            *chunk = arena.take(self.records_at_once);
            chunk.next(arena).expect("a chunk just taken")
        });
        record.initialise(self.table.shape.header, kept);
        let whole = Span::whole(self.table.shape.row_bytes);
        // SAFETY: the record has this header, and is private to this thread until it is linked.
        unsafe {
            match self.table.shape.header {
                Header::Narrow => record.row::<Narrow>().view_mut(whole, fill),
                Header::Wide => record.row::<Wide>().view_mut(whole, fill),
                Header::Versioned => record.row::<Versioned>().view_mut(whole, fill),
            }
        }
        record
    }

    /// Ends.
    pub fn leave(mut self) -> Leftover {
        for (allocations, chunk) in self.allocations.iter_mut().zip(self.chunks) {
            allocations.records.go_on_with(chunk);
        }
        (self.allocations, self.values)
    }
}
