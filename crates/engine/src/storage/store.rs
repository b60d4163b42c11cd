//! A store: a workload's tables, loaded, with each worker's supply of records.
//!
//! A store outlives the systems that run over it. The record layout is the same for every protocol and all-zero
//! metadata means present and free under each, so changing the protocol costs one pass over the metadata.

use super::arena::{Chunk, RecordCache};
use super::record::RecordRef;
use super::table::{Bucket, Partition, Table};
use crate::facade::atomic::{AtomicU64, Ordering};
use crate::facade::region::RegionError;
use crate::facade::{memory, unobserved, worker};
use crate::index::hash::Linked;
use contract::{Key, LatchName, Layout, LoadError, Selection, Span, TableId, Workload};

/// Rows that a loading thread takes at once.
const LOAD_BLOCK: u64 = 1024;
/// Rows whose buckets are asked for ahead while loading.
const LOAD_AHEAD: usize = 16;

/// One worker's supplies, by table and partition.
pub(crate) type Supply = Vec<Vec<RecordCache>>;

/// A loaded database.
pub struct Store {
    pub(crate) tables: Vec<Table>,
    /// By worker of the last runs.
    pub(crate) supplies: Vec<Supply>,
    /// Who left the metadata as it is.
    pub(crate) last: Option<(Selection, LatchName)>,
}

impl Store {
    /// Reserves the workload's tables and fills them with as many threads as there are cores. No machine charges for it.
    pub(crate) fn load<W: Workload>(
        workload: &W,
        layout: Layout,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Self, LoadError> {
        unobserved(|| Self::load_tables(workload, layout, progress))
    }

    fn load_tables<W: Workload>(
        workload: &W,
        layout: Layout,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Self, LoadError> {
        let descriptions = workload.tables();
        let needed_bytes = descriptions.iter().map(|table| Table::bytes_for(table, layout.partitions)).sum();
        let available_bytes = memory::available_bytes();
        if needed_bytes > available_bytes {
            return Err(LoadError::Memory { needed_bytes, available_bytes });
        }
        let refused = |error: RegionError| LoadError::Refused { bytes: needed_bytes, why: error.to_string() };
        let tables = descriptions.into_iter().map(|table| Table::reserve(table, layout.partitions));
        let tables: Vec<Table> = tables.collect::<Result<_, _>>().map_err(refused)?;
        let mut store = Store { supplies: Vec::new(), last: None, tables };
        store
            .supplies
            .resize_with(worker::cores(), || store.tables.iter().map(Table::empty_supply).collect());
        for (number, table) in store.tables.iter().enumerate() {
            let id = TableId(u16::try_from(number).expect("fewer than 65,536 tables"));
            let leftovers = fill(workload, id, table, progress);
            for (supply, leftovers) in store.supplies.iter_mut().zip(leftovers) {
                supply[number] = leftovers.into_iter().map(RecordCache::of).collect();
            }
        }
        Ok(store)
    }

    /// Makes the metadata what `selection` with `latch` expects to start from.
    pub(crate) fn prepare(&mut self, selection: Selection, latch: LatchName) {
        // Also for the same system again: a run's epochs start anew, and versions must not come from later ones.
        if self.last.is_some() {
            unobserved(|| self.tables.iter().flat_map(Table::partitions).for_each(reset));
        }
        self.last = Some((selection, latch));
    }

    /// Takes one supply for each of `workers` workers; those of earlier runs first.
    pub(crate) fn hand_out(&mut self, workers: usize) -> Vec<Supply> {
        let missing = workers.saturating_sub(self.supplies.len());
        let fresh = || self.tables.iter().map(Table::empty_supply).collect();
        let fresh: Vec<Supply> = std::iter::repeat_with(fresh).take(missing).collect();
        self.supplies.extend(fresh);
        self.supplies.drain(..workers).collect()
    }

    /// Takes supplies back from a run that has ended: nobody holds a pointer into their garbage.
    pub(crate) fn take_back(&mut self, supplies: impl IntoIterator<Item = Supply>) {
        self.supplies.extend(supplies);
        self.supplies.iter_mut().flatten().flatten().for_each(RecordCache::reclaim_all);
    }

    /// Bytes of memory taken, indexes included.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let partitions = self.tables.iter().flat_map(Table::partitions);
        partitions.map(|partition| partition.index.bytes_taken() + partition.arena.bytes_taken()).sum()
    }

    /// Records taken from the arenas and not given back.
    pub(crate) fn allocated_records(&self) -> u64 {
        let taken: u64 = self.tables.iter().flat_map(Table::partitions).map(|p| p.arena.taken()).sum();
        let unused: u64 = self.supplies.iter().flatten().flatten().map(RecordCache::unused).sum();
        taken - unused
    }
}

/// Forgets what the last protocol left in the metadata of a partition.
fn reset(partition: &Partition) {
    let (arena, index) = (&partition.arena, &partition.index);
    let threads = worker::cores() as u64;
    worker::run(threads as usize, |thread| {
        let share = |whole: u64| {
            let thread = thread as u64;
            whole * thread / threads..whole * (thread + 1) / threads
        };
        arena.for_each(share(arena.taken()), RecordRef::reset);
        index.for_each_bucket(share(index.buckets()), Bucket::reset);
    });
}

/// Loads one table in parallel; records are taken in the order of their rows within each block.
/// Answers what each thread did not use up, by partition.
fn fill<W: Workload>(
    workload: &W,
    id: TableId,
    table: &Table,
    progress: &(dyn Fn(u64) + Sync),
) -> Vec<Vec<Chunk>> {
    let rows = table.description.rows;
    let next = AtomicU64::new(0);
    worker::run(worker::cores(), |_| {
        let mut chunks: Vec<Chunk> = table.partitions().iter().map(|_| Chunk::default()).collect();
        loop {
            // Relaxed: a counter.
            let first = next.fetch_add(LOAD_BLOCK, Ordering::Relaxed);
            if first >= rows {
                break chunks;
            }
            let last = (first + LOAD_BLOCK).min(rows);
            fill_block(workload, id, table, first..last, &mut chunks);
            progress(last - first);
        }
    })
}

fn fill_block<W: Workload>(
    workload: &W,
    id: TableId,
    table: &Table,
    rows: std::ops::Range<u64>,
    chunks: &mut [Chunk],
) {
    let keys: Vec<Key> = rows.map(|row| workload.loaded_key(id, row)).collect();
    for (position, &key) in keys.iter().enumerate() {
        if let Some(&ahead) = keys.get(position + LOAD_AHEAD) {
            let (partition, hash) = table.locate(ahead);
            table.partition(partition).index.prefetch(hash);
        }
        let (partition, hash) = table.locate(key);
        let (chunk, partition) = (&mut chunks[partition.index()], table.partition(partition));
        let record = chunk.next(&partition.arena).unwrap_or_else(|| {
            // What is left of the partition's rows is not known to this thread: a block's worth, or what is left.
            *chunk = partition.arena.take(LOAD_BLOCK.min(table.description.rows.max(1)));
            chunk.next(&partition.arena).expect("a chunk just taken")
        });
        record.initialise(key);
        let whole = Span::whole(table.shape.row_bytes);
        // SAFETY: the record is private to this thread until it is linked.
        unsafe { record.view_mut(whole, |row| workload.fill(id, key, row)) };
        match partition.index.link(hash, record, |_| {}) {
            Linked::Done => {}
            Linked::Exists(_) => {
                panic!("table '{}' is loaded with key {} twice", table.description.name, key.0)
            }
        }
    }
}
