//! A store: a workload's tables, loaded, with each worker's allocation cache.
//!
//! A store outlives the systems that run over it. It serves every protocol that has its metadata in
//! headers of its layout; all-zero metadata means present and free under each, so changing the protocol costs one pass over the
//! metadata.

use super::allocation_cache::AllocationCache;
use super::fill::fill;
use super::link::{Leftover, Linker};
use super::table::{Table, pages_of};
use super::tombs::Tomb;
use crate::durability::Log;
use crate::durability::manifest::RecoveredLog;
use crate::epoch::Epochs;
use crate::facade::heap::Heap;
use crate::facade::region::RegionError;
use crate::facade::shared::Arc;
use crate::facade::{memory, unobserved, worker};
use crate::index::Index;
use crate::index::hash::Hash;
use crate::index::ordered::{Pruned, Unlinked};
use crate::record::RecordRef;
use crate::record::header::{Narrow, Versioned, Wide};
use crate::record::value::{Value, Word};
use contract::{Header, Layout, LoadError, PartitionId, Selection, TableDescription, TableId, Workload};
use std::ops::Range;

/// Versions that slots are expected to keep until their epochs have passed, under a protocol that makes one of each row that is replaced: what
/// is to be allocated for them is before a run. It is address space; memory is what is used of it.
const VERSIONS_EXPECTED: usize = 1 << 20;
const VERSIONS_EXPECTED_OF_A_SLOT: usize = 1 << 17;

/// A loaded database.
pub struct Store {
    pub(crate) tables: Vec<Table>,
    /// Of all tables.
    layout: Layout,
    /// They go on from one run to the next, and so does reclamation.
    epochs: Epochs,
    /// By transaction slot of a run.
    caches: Vec<AllocationCache>,
    /// Who left the metadata as it is.
    pub(crate) last: Option<Selection>,
    /// For whom it has been prepared, and nobody has run since.
    prepared: Option<Selection>,
    /// Where commits are logged, if they are.
    log: Option<Log>,
    /// Where rows that vary in length are.
    heap: Arc<Heap>,
    /// The log that the rows were recovered from: it may go on.
    pub(crate) recovered: Option<RecoveredLog>,
}

/// What a store consists of.
pub(crate) struct Parts {
    pub tables: Vec<Table>,
    pub epochs: Epochs,
    pub log: Option<Log>,
    pub heap: Arc<Heap>,
    pub caches: Vec<AllocationCache>,
}

impl Store {
    /// Reserves the workload's tables and fills them with as many threads as there are cores. No machine charges for it.
    pub(crate) fn load<W: Workload>(
        workload: &W,
        layout: Layout,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Self, LoadError> {
        unobserved(|| Self::load_tables(workload, layout, None, progress))
    }

    /// The same with the rows of these partitions only.
    pub(crate) fn load_part<W: Workload>(
        workload: &W,
        layout: Layout,
        of: Range<u32>,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Self, LoadError> {
        unobserved(|| Self::load_tables(workload, layout, Some(&of), progress))
    }

    /// Bytes of memory that the tables need to be loaded, indexes included.
    pub(crate) fn needed_bytes(tables: &[TableDescription], layout: Layout) -> u64 {
        tables.iter().map(|table| Table::bytes_for(table, layout)).sum()
    }

    fn load_tables<W: Workload>(
        workload: &W,
        layout: Layout,
        of: Option<&Range<u32>>,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Self, LoadError> {
        let mut store = Self::without_rows(&workload.tables(), layout)?;
        for number in 0..store.tables.len() {
            let id = TableId(number as u16);
            let leftovers = fill(workload, id, &store.tables[number], &store.heap, of, progress);
            store.keep(id, leftovers);
        }
        Ok(store)
    }

    /// These tables, without rows; refused if there is no memory for what they are described with.
    pub(crate) fn without_rows(descriptions: &[TableDescription], layout: Layout) -> Result<Self, LoadError> {
        let needed_bytes = Self::needed_bytes(descriptions, layout);
        let available_bytes = memory::available_bytes();
        if needed_bytes > available_bytes {
            return Err(LoadError::Memory { needed_bytes, available_bytes });
        }
        let heap = Arc::new(Heap::of_pages(pages_of(layout)));
        let (tables, first) = Self::reserve(descriptions, layout, &heap)
            .map_err(|error| LoadError::Refused { bytes: needed_bytes, why: error.to_string() })?;
        let mut store = Store {
            tables,
            layout,
            epochs: Epochs::new(layout.snapshot_every),
            caches: Vec::new(),
            last: None,
            prepared: None,
            log: None,
            heap,
            recovered: None,
        };
        store.caches =
            std::iter::repeat_with(|| store.empty_allocation_cache()).take(worker::cores()).collect();
        store.caches.push(first);
        Ok(store)
    }

    /// Links rows by as many threads as there are cores, or `threads` if these are fewer: `link` does what falls to thread `n`, with a
    /// linker for each table. Of a store without rows, that nobody runs over.
    pub(crate) fn link<R: Send>(
        &mut self,
        threads: usize,
        records_at_once: u64,
        link: impl Fn(usize, &mut [Linker<'_>]) -> R + Sync,
    ) -> Vec<R> {
        let linked = worker::run(threads.min(worker::cores()), |thread| {
            let linker = |table| Linker::new(table, &self.heap, records_at_once);
            let mut linkers: Vec<Linker<'_>> = self.tables.iter().map(linker).collect();
            let answer = link(thread, &mut linkers);
            (answer, linkers.into_iter().map(Linker::leave).collect::<Vec<_>>())
        });
        let (answers, leftovers): (Vec<R>, Vec<Vec<Leftover>>) = linked.into_iter().unzip();
        let mut leftovers: Vec<_> = leftovers.into_iter().map(Vec::into_iter).collect();
        for id in (0..self.tables.len() as u16).map(TableId) {
            self.keep(id, leftovers.iter_mut().map(|of| of.next().expect("one by table")).collect());
        }
        answers
    }

    /// Keeps what threads that have linked a table's rows have not used up.
    fn keep(&mut self, id: TableId, leftovers: Vec<Leftover>) {
        for (allocations, (leftovers, values)) in self.caches.iter_mut().zip(leftovers) {
            allocations.values.take_over(&values);
            for (partition, leftover) in (0..).map(PartitionId).zip(leftovers) {
                allocations.take_over(id, partition, leftover);
            }
        }
    }

    /// Empty tables, and what their indexes have taken of their memory and not used.
    fn reserve(
        descriptions: &[TableDescription],
        layout: Layout,
        heap: &Arc<Heap>,
    ) -> Result<(Vec<Table>, AllocationCache), RegionError> {
        let regions = descriptions.len().max(1) * Table::regions(layout);
        let mut most = memory::address_space_among(regions);
        assert!(descriptions.len() < 1 << 16, "{} tables; up to 65,535 are allowed", descriptions.len());
        let ids = || (0..).map(TableId);
        loop {
            let mut first = AllocationCache::new(descriptions.len(), layout.partitions as usize, heap);
            let reserve = |(id, table): (TableId, &TableDescription)| {
                Table::reserve(table.clone(), id, layout, most, &mut first)
            };
            match ids().zip(descriptions).map(reserve).collect::<Result<_, RegionError>>() {
                Ok(tables) => return Ok((tables, first)),
                // A system that does not give address space for nothing: less will do.
                Err(_) if most > 0 => most /= 2,
                Err(error) => return Err(error),
            }
        }
    }

    /// Frees the values that records have; the tables are to go.
    fn free_values(&self) {
        self.for_each_value(|value| {
            // SAFETY: of this heap; a value is in one record's row, and nobody will look at it any more.
            unsafe { value.free(&self.heap) };
        });
        let partitions = self.tables.iter().flat_map(Table::partitions);
        partitions.filter_map(|partition| partition.graveyard.as_ref()).for_each(|graveyard| {
            graveyard.free_tombs(&self.heap);
        });
    }

    fn empty_allocation_cache(&self) -> AllocationCache {
        AllocationCache::new(self.tables.len(), self.layout.partitions as usize, &self.heap)
    }

    /// Makes the metadata what `selection` expects to start from, and faults in what the run is expected to insert.
    pub(crate) fn prepare(&mut self, selection: Selection) {
        if self.prepared.take() == Some(selection) {
            return;
        }
        // Also for the same system again: a run that panicked may have left anything.
        if self.last.is_some() {
            unobserved(|| {
                self.unlink_tombs();
                self.reset();
            });
        }
        self.last = Some(selection);
        let mut left = memory::available_bytes() / 2;
        self.tables.iter().for_each(|table| table.get_ready(&mut left));
    }

    /// The same for the run that comes next, ahead of it.
    pub(crate) fn prepare_ahead(&mut self, selection: Selection) {
        self.prepare(selection);
        self.prepared = Some(selection);
    }

    /// What a run with `slots` transaction slots works on: the tables, the epochs, and an allocation cache for each slot, which
    /// goes on with what it has of earlier runs; what was retired in them is free.
    pub(crate) fn work_on(
        &mut self,
        slots: usize,
    ) -> (&[Table], &Epochs, &mut [AllocationCache], Option<&Log>) {
        let missing = slots.saturating_sub(self.caches.len());
        let fresh: Vec<AllocationCache> =
            std::iter::repeat_with(|| self.empty_allocation_cache()).take(missing).collect();
        self.caches.extend(fresh);
        self.epochs.provide(slots);
        if let Some(log) = &mut self.log {
            log.provide(slots);
            log.checkpoints().provide(self.tables.iter().flat_map(Table::parts).collect());
        }
        let (reusable, caches) = (self.epochs.reusable(), &mut self.caches[..slots]);
        caches.iter_mut().for_each(|cache| cache.reclaim(reusable));
        if self.layout.header == Header::Versioned {
            self.heap.provide();
            let each = (VERSIONS_EXPECTED / slots.max(1)).min(VERSIONS_EXPECTED_OF_A_SLOT);
            caches.iter_mut().for_each(|cache| cache.versions.expect(each));
        }
        (&self.tables, &self.epochs, caches, self.log.as_ref())
    }

    /// What it consists of, for who keeps it open: its tables, epochs and log, and what is at hand of the tables' memory.
    pub(crate) fn into_parts(mut self) -> Parts {
        self.epochs.provide(0);
        let reclaimable = self.epochs.reclaimable();
        self.caches.iter_mut().for_each(|cache| cache.reclaim(reclaimable));
        Parts {
            tables: std::mem::take(&mut self.tables),
            epochs: std::mem::replace(&mut self.epochs, Epochs::new(self.layout.snapshot_every)),
            log: self.log.take(),
            heap: Arc::clone(&self.heap),
            caches: std::mem::take(&mut self.caches),
        }
    }

    /// From now on, commits are logged.
    pub(crate) fn log_to(&mut self, log: Log) {
        self.log = Some(log);
    }

    /// It is that of instance `own` of so many, each a process.
    pub(crate) fn is_of_instances(&mut self, own: usize, instances: usize) {
        if let Some(log) = &mut self.log {
            log.is_of_instances(own, instances);
        }
    }

    /// After a run: what was logged is durable; the log.
    pub(crate) fn finish_log(&mut self) -> Option<&Log> {
        let log = self.log.as_ref()?;
        log.finish(&mut self.epochs);
        Some(log)
    }

    /// After a run: unlinks what deletes have left linked, which to the next protocol would be rows; and frees versions that nobody finds any
    /// more, once the metadata is reset.
    pub(crate) fn unlink_tombs(&mut self) {
        let (epoch, reusable) = (self.epochs.current(), self.epochs.reusable());
        for cache in &mut self.caches {
            let mut tombs = std::mem::take(&mut cache.tombs);
            while let Some((tomb, key)) = tombs.next(u64::MAX) {
                let Tomb { record, table: id, partition, word } = tomb;
                if record.first_word(self.layout.header) != word {
                    continue;
                }
                let table = &self.tables[id.index()];
                match &table.partition(partition).index {
                    Index::Hashed(index) => index.unlink(Hash::of(record.key()), record, |_| ()),
                    Index::Ordered(index) => {
                        let number = record.key().bytes();
                        let key = if table.has_byte_strings() { key } else { &number };
                        let nodes = &mut cache.at(id, partition).nodes;
                        nodes.refresh(epoch, reusable);
                        if index.unlink(nodes, key, record, |_| ()) == Unlinked::Emptied {
                            let _: Pruned = index.prune(nodes, key, |_| true, |_, _| ());
                        }
                    }
                }
                if table.varies() {
                    // SAFETY: the record was linked until now, and nobody else unlinks it.
                    unsafe { cache.values.retire(value_of(record, self.layout.header), epoch) };
                }
                cache.retire(id, partition, record, epoch);
            }
            cache.tombs = tombs;
            if self.layout.header == Header::Versioned {
                cache.reclaim_versions(u64::MAX);
            }
        }
    }

    /// Where commits are logged.
    pub(crate) fn log(&self) -> Option<&Log> {
        self.log.as_ref()
    }

    /// The epochs, which are the store's.
    pub(crate) fn epochs(&self) -> &Epochs {
        &self.epochs
    }

    /// The same, while nobody runs.
    pub(crate) fn epochs_mut(&mut self) -> &mut Epochs {
        &mut self.epochs
    }

    /// How its tables are laid out.
    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    fn reset(&self) {
        self.tables.iter().for_each(|table| reset(table, self.layout.header));
    }

    /// Bytes of memory taken, indexes and rows that vary in length included.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let values: i64 = self.caches.iter().map(|cache| cache.values.bytes()).sum();
        self.tables.iter().map(Table::bytes_taken).sum::<u64>() + not_negative(values)
    }

    /// Bytes of records, those in an epoch's garbage or kept for reuse included.
    pub(crate) fn record_bytes(&self) -> u64 {
        self.tables.iter().map(|table| table.records_taken() * table.shape.stride as u64).sum()
    }

    /// Bytes of previous versions: those that wait to be freed, and the most that ever did.
    pub(crate) fn version_bytes(&self) -> (u64, u64) {
        let each = self.caches.iter().map(|cache| cache.versions.bytes());
        each.fold((0, 0), |(now, most), (bytes, most_bytes)| (now + bytes, most + most_bytes))
    }

    /// Bytes of replaced rows and graves that wait for their epochs.
    pub(crate) fn unlinked_bytes(&self) -> u64 {
        self.caches.iter().map(|cache| cache.versions.unlinked_bytes()).sum()
    }

    /// Values that were made and not retired.
    pub(crate) fn allocated_values(&self) -> u64 {
        not_negative(self.caches.iter().map(|cache| cache.values.made()).sum())
    }

    /// Visits the value of every linked record; nobody runs.
    pub(crate) fn for_each_value(&self, mut visit: impl FnMut(Value)) {
        self.tables.iter().for_each(|table| for_each_value(table, self.layout.header, &mut visit));
    }

    /// Records taken from the arenas and not returned.
    pub(crate) fn allocated_records(&self) -> u64 {
        let taken: u64 = self.tables.iter().map(Table::records_taken).sum();
        let unused: u64 = self.caches.iter().map(AllocationCache::unused_records).sum();
        taken - unused
    }
}

/// What the workers have taken and given back, together.
fn not_negative(sum: i64) -> u64 {
    u64::try_from(sum).expect("no more is given back than was taken")
}

/// Visits the value of every linked record of a table, if its rows vary in length; nobody runs.
pub(crate) fn for_each_value(table: &Table, header: Header, visit: &mut impl FnMut(Value)) {
    if table.varies() {
        for partition in table.partitions() {
            partition.index.for_each_record(|record| visit(value_of(record, header)));
        }
    }
}

/// The value of a record of a table whose rows vary in length.
fn value_of(record: RecordRef, header: Header) -> Value {
    let mut word = Word::default();
    // SAFETY: the record has this header, and its row is a word; nobody runs.
    unsafe {
        match header {
            Header::Narrow => record.row::<Narrow>().copy_out(0, &mut word),
            Header::Wide => record.row::<Wide>().copy_out(0, &mut word),
            Header::Versioned => record.row::<Versioned>().copy_out(0, &mut word),
        }
        Value::of(&word)
    }
}

/// Frees the values that records have; those that wait for their epochs go with their caches.
impl Drop for Store {
    fn drop(&mut self) {
        unobserved(|| {
            self.free_values();
            self.caches.clear();
        });
    }
}

/// Forgets what the last protocol left in the metadata of a table.
fn reset(table: &Table, header: Header) {
    let threads = worker::cores() as u64;
    worker::run(threads as usize, |thread| {
        let share = |whole: u64| {
            let thread = thread as u64;
            whole * thread / threads..whole * (thread + 1) / threads
        };
        for arena in table.arenas() {
            arena.for_each(share(arena.taken()), |record| record.reset(header));
        }
        table.partitions().iter().for_each(|partition| partition.index.reset(share));
    });
}
