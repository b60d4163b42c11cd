//! Loading a table: every core takes blocks of rows, and links them as it goes.

use super::allocation_cache::PartitionCache;
use super::table::Table;
use crate::facade::atomic::{AtomicU64, Ordering};
use crate::facade::heap::Heap;
use crate::facade::shared::Arc;
use crate::facade::worker;
use crate::index::Linked;
use crate::record::RecordRef;
use crate::record::arena::Chunk;
use crate::record::header::{Narrow, Wide};
use crate::record::value::ValueCache;
use contract::{Header, Key, Span, TableId, Workload};

/// Rows that a loading thread takes at once.
const BLOCK: u64 = 1024;
/// Records that it takes for a partition at least.
const LEAST_RECORDS: u64 = 16;
/// Rows whose buckets are asked for ahead.
const AHEAD: usize = 16;

/// Loads one table in parallel; records are taken in the order of their rows within each block.
/// Answers what each thread has not used up, by partition, and what it has made of values.
pub(super) fn fill<W: Workload>(
    workload: &W,
    id: TableId,
    table: &Table,
    heap: &Arc<Heap>,
    progress: &(dyn Fn(u64) + Sync),
) -> Vec<(Vec<PartitionCache>, ValueCache)> {
    let next = AtomicU64::new(0);
    worker::run(worker::cores(), |_| {
        let chunks = table.partitions().iter().map(|_| Chunk::default()).collect();
        let allocations = table.partitions().iter().map(|_| PartitionCache::default()).collect();
        let rows = table.description.rows;
        // How many rows of a partition this thread will load is not known: not many more than its share.
        let share = rows / (table.partitions().len() as u64 * worker::cores() as u64);
        let records_at_once = share.clamp(LEAST_RECORDS, BLOCK);
        let values = ValueCache::new(heap);
        let (bytes, row) = (Vec::new(), Vec::new());
        let mut loader =
            Loader { workload, id, table, allocations, chunks, records_at_once, values, bytes, row };
        loop {
            // Relaxed: a counter.
            let first = next.fetch_add(BLOCK, Ordering::Relaxed);
            if first >= rows {
                break loader.leave();
            }
            let last = (first + BLOCK).min(rows);
            let keys: Vec<Key> = (first..last).map(|row| workload.loaded_key(id, row)).collect();
            loader.fill_block(&keys);
            progress(last - first);
        }
    })
}

/// A thread that loads.
struct Loader<'a, W> {
    workload: &'a W,
    id: TableId,
    table: &'a Table,
    allocations: Vec<PartitionCache>,
    /// By partition.
    chunks: Vec<Chunk>,
    /// Records of a chunk.
    records_at_once: u64,
    values: ValueCache,
    /// A key that is a byte string.
    bytes: Vec<u8>,
    /// A row that varies in length.
    row: Vec<u8>,
}

impl<W: Workload> Loader<'_, W> {
    fn fill_block(&mut self, keys: &[Key]) {
        for (position, &key) in keys.iter().enumerate() {
            let is_linked = if self.table.is_ordered() {
                self.link_in_order(key)
            } else {
                if let Some(&ahead) = keys.get(position + AHEAD) {
                    let (partition, hash) = self.table.locate(ahead);
                    self.table.partition(partition).index.hashed().prefetch(hash);
                }
                self.link_by_hash(key)
            };
            assert!(is_linked, "table '{}' is loaded with key {} twice", self.table.description.name, key.0);
        }
    }

    fn link_by_hash(&mut self, key: Key) -> bool {
        let (number, hash) = self.table.locate(key);
        let partition = self.table.partition(number);
        let record = self.record(number.index(), key, key);
        partition.index.hashed().link(hash, record, |_| {}) == Linked::Done(())
    }

    fn link_in_order(&mut self, key: Key) -> bool {
        self.bytes.clear();
        if self.table.has_byte_strings() {
            self.workload.loaded_bytes(self.id, key, &mut self.bytes);
            self.table.check_key(&self.bytes);
        } else {
            self.bytes.extend(key.bytes());
        }
        let prefix = Key::prefix_of(&self.bytes);
        let number = self.table.partition_of(prefix);
        let partition = self.table.partition(number);
        let record = self.record(number.index(), key, prefix);
        let nodes = &mut self.allocations[number.index()].nodes;
        partition.index.ordered().link(nodes, &self.bytes, record, |_, _| {}) == Linked::Done(())
    }

    /// A record with the row of `key`, under the key that it keeps.
    fn record(&mut self, number: usize, key: Key, kept: Key) -> RecordRef {
        let (arena, chunk) = (&self.table.arena, &mut self.chunks[number]);
        let record = chunk.next(arena).unwrap_or_else(|| {
            *chunk = arena.take(self.records_at_once);
            chunk.next(arena).expect("a chunk just taken")
        });
        record.initialise(self.table.shape.header, kept);
        let whole = Span::whole(self.table.shape.row_bytes);
        let fill = |row: &mut [u8]| match self.table.varies() {
            false => self.workload.fill(self.id, key, row),
            true => {
                self.row.clear();
                self.workload.fill_varying(self.id, key, &mut self.row);
                self.table.check_row(self.row.len());
                row.copy_from_slice(&self.values.make(&self.row).word());
            }
        };
        // SAFETY: the record has this header, and is private to this thread until it is linked.
        unsafe {
            match self.table.shape.header {
                Header::Narrow => record.row::<Narrow>().view_mut(whole, fill),
                Header::Wide => record.row::<Wide>().view_mut(whole, fill),
            }
        }
        record
    }

    fn leave(mut self) -> (Vec<PartitionCache>, ValueCache) {
        for (allocations, chunk) in self.allocations.iter_mut().zip(self.chunks) {
            allocations.records.go_on_with(chunk);
        }
        (self.allocations, self.values)
    }
}
