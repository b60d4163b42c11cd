//! Loading a table: every core takes blocks of rows, and links them as it goes ([`super::link`]).

use super::link::{Leftover, Linker};
use super::table::Table;
use crate::facade::atomic::{AtomicU64, Ordering};
use crate::facade::heap::Heap;
use crate::facade::shared::Arc;
use crate::facade::worker;
use contract::{Key, TableId, Workload};
use std::ops::Range;

/// Rows that a loading thread takes at once.
const BLOCK: u64 = 1024;
/// Records that it takes for a partition at least.
const LEAST_RECORDS: u64 = 16;
/// Rows whose buckets are asked for ahead.
const AHEAD: usize = 16;

/// Loads one table in parallel, or the rows of these of its partitions; records are taken in the order of their rows within each block.
/// Answers what each thread has not used up.
pub(super) fn fill<W: Workload>(
    workload: &W,
    id: TableId,
    table: &Table,
    heap: &Arc<Heap>,
    of: Option<&Range<u32>>,
    progress: &(dyn Fn(u64) + Sync),
) -> Vec<Leftover> {
    let next = AtomicU64::new(0);
    worker::run(worker::cores(), |_| {
        let rows = table.description.rows;
        // How many rows of a partition this thread will load is not known: not many more than its share.
        let share = rows / (table.partitions().len() as u64 * worker::cores() as u64);
        let linker = Linker::new(table, heap, share.clamp(LEAST_RECORDS, BLOCK));
        let (bytes, row) = (Vec::new(), Vec::new());
        let mut loader = Loader { workload, id, table, linker, of, bytes, row };
        loop {
            // Relaxed: a counter.
            let first = next.fetch_add(BLOCK, Ordering::Relaxed);
            if first >= rows {
                break loader.linker.leave();
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
    linker: Linker<'a>,
    /// Partitions whose rows are loaded, if not all.
    of: Option<&'a Range<u32>>,
    /// A key, as an ordered index has it.
    bytes: Vec<u8>,
    row: Vec<u8>,
}

impl<W: Workload> Loader<'_, W> {
    fn fill_block(&mut self, keys: &[Key]) {
        let Loader { workload, id, table, linker, of, bytes, row } = self;
        for (position, &key) in keys.iter().enumerate() {
            if let Some(&ahead) = keys.get(position + AHEAD)
                && !table.is_ordered()
            {
                let (partition, hash) = table.locate(ahead);
                table.partition(partition).index.hashed().prefetch(hash);
            }
            bytes.clear();
            match table.has_byte_strings() {
                true => workload.loaded_bytes(*id, key, bytes),
                false => bytes.extend(key.bytes()),
            }
            if of.is_some_and(|of| !of.contains(&table.partition_of(Key::prefix_of(bytes)).0)) {
                continue;
            }
            let is_linked = match table.varies() {
                false => linker.link(bytes, |row| workload.fill(*id, key, row)),
                true => {
                    row.clear();
                    workload.fill_varying(*id, key, row);
                    linker.link_varying(bytes, row)
                }
            };
            assert!(is_linked, "table '{}' is loaded with key {} twice", table.description.name, key.0);
        }
    }
}
