//! A store that is embedded in a program: it stays open, its threads run transactions, and tables come and go.
//!
//! ```text
//!  open:   the manifest's tables, empty   recovered from the log   the log goes on   slots are made
//!  then:   threads of the program borrow slots; threads that serve advance epochs and write the log
//!  tables: are made and dropped while all slots are back
//!  close:  slots are back, nobody serves; what was logged is durable
//! ```
//!
//! What a store has beside its tables ([`Services`]) is owned together with those that serve it. Tables are owned together with the
//! slots that are lent ([`crate::session::lent`]): they change only while none is.

mod services;
mod slot;

pub use services::Services;
pub use slot::Slot;

use crate::commit_id::CommitIds;
use crate::durability::manifest::{LoggedTable, Manifest};
pub use crate::durability::redo::{MOST_WRITTEN_BYTES, written_bytes};
use crate::engine::ThisEngine;
use crate::facade::heap::Heap;
use crate::facade::region::RegionError;
use crate::facade::shared::Arc;
use crate::facade::{clock, memory};
use crate::matrix;
use crate::protocol::SlotId;
use crate::recovery;
use crate::session::Precedence;
pub use crate::session::lent::Committed;
use crate::session::lent::{Lender, Runtime};
use crate::storage::store::{Parts, for_each_value};
use crate::storage::{AllocationCache, Table};
use crate::system::MakeLender;
pub use crate::transaction::SnapshotRead;
use contract::table::MOST_CAPACITY;
use contract::{
    Engine, EngineOptions, Indexing, Key, Layout, LoadError, LogError, LogOptions, PairName,
    PartitionFunction, PartitionId, Recovered, RecoveryOptions, RowLength, Seat, Support, TableDescription,
    TableId, Workload,
};
use std::fmt;

/// How a store is opened.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// The system. Its transactions run in the thread that asks.
    pub pair: PairName,
    /// Transactions that may run at once.
    pub slots: usize,
    /// Where and how commits are logged, if they are; a log that is there is recovered first.
    pub log: Option<LogOptions>,
    /// How it is recovered.
    pub recovery: RecoveryOptions,
    /// Everything else; `epoch_interval` above all.
    pub engine: EngineOptions,
}

/// A store that cannot be opened, or a table that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// There is no such system, or its transactions do not run in the thread that asks.
    Unsupported {
        /// The system.
        pair: PairName,
        /// Why.
        why: &'static str,
    },
    /// Its tables do not fit in memory.
    Load(LoadError),
    /// Its log cannot be recovered, or not go on.
    Log(LogError),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Unsupported { pair, why } => write!(f, "{pair}: {why}"),
            OpenError::Load(error) => error.fmt(f),
            OpenError::Log(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for OpenError {}

impl From<LoadError> for OpenError {
    fn from(error: LoadError) -> Self {
        OpenError::Load(error)
    }
}

impl From<LogError> for OpenError {
    fn from(error: LogError) -> Self {
        OpenError::Log(error)
    }
}

/// A table that is to be made.
#[derive(Clone, Copy, Debug)]
pub struct NewTable<'a> {
    /// Its name.
    pub name: &'a str,
    /// Bytes of a row; of the longest, if they vary.
    pub row_bytes: usize,
    /// Whether they do.
    pub length: RowLength,
    /// How its rows are found.
    pub indexing: Indexing,
    /// Rows to expect: a hashed index is made for so many, and finds more of them more slowly.
    pub capacity: u64,
    /// What its rows mean.
    pub schema: &'a str,
}

/// A table of a store that is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableWords {
    /// Its number.
    pub id: TableId,
    /// Its name.
    pub name: String,
    /// Bytes of a row; of the longest, if they vary.
    pub row_bytes: usize,
    /// Whether they do.
    pub length: RowLength,
    /// How its rows are found.
    pub indexing: Indexing,
    /// What its rows mean, in the words of whoever made it.
    pub schema: String,
}

/// A store that is open.
pub struct Embedded {
    lender: Box<dyn Lender>,
    tables: Arc<Vec<Table>>,
    /// By table.
    logged: Vec<LoggedTable>,
    services: Services,
    /// By slot; `None`: it is lent.
    caches: Vec<Option<Box<AllocationCache>>>,
    /// Where rows that vary in length are.
    heap: Arc<Heap>,
    /// Of its tables.
    layout: Layout,
}

/// Tables without rows.
struct Empty(Vec<TableDescription>);

impl Workload for Empty {
    type Client = recovery::Replayer;

    fn tables(&self) -> Vec<TableDescription> {
        self.0.clone()
    }

    fn fill(&self, _: TableId, _: Key, _: &mut [u8]) {}

    fn client(&self, _: Seat) -> Self::Client {
        unreachable!("nobody runs clients over a store that is embedded")
    }
}

fn described(table: &LoggedTable) -> TableDescription {
    TableDescription {
        // A table's name is needed as long as anybody can ask what went wrong. There are few.
        name: Box::leak(table.name.clone().into_boxed_str()),
        row_bytes: table.row_bytes as usize,
        length: table.length(),
        kept_bytes: table.row_bytes as usize,
        rows: 0,
        capacity: table.capacity.max(least_capacity(table)),
        indexing: table.indexing(),
        partition: PartitionFunction::Remainder,
    }
}

/// Rows that a table is expected to have at least when it is made: it grows.
fn least_capacity(table: &LoggedTable) -> u64 {
    const ROWS: u64 = 1 << 12;
    /// If they are large, only so many bytes of them.
    const BYTES: u64 = 16 << 20;
    match table.length() {
        RowLength::Fixed => (BYTES / table.row_bytes.max(1)).clamp(1, ROWS),
        RowLength::Varying => ROWS,
    }
}

/// More tables than these get less address space.
const USUAL_TABLES: usize = 64;

impl Embedded {
    /// Opens a store; what was recovered, if there was a log. One of another [origin](LogOptions::origin) is refused, and left as it is.
    pub fn open(options: &OpenOptions) -> Result<(Embedded, Option<Recovered>), OpenError> {
        clock::calibrate();
        let OpenOptions { pair, slots, engine, .. } = options;
        let unsupported = |why| OpenError::Unsupported { pair: *pair, why };
        if let Support::Unsupported { why } = ThisEngine::support(*pair) {
            return Err(unsupported(why));
        }
        if ThisEngine::support(*pair) == Support::SingleRecords {
            return Err(unsupported("it has no transactions"));
        }
        let lender = matrix::run((*pair).into(), MakeLender { slots: *slots, options: engine })
            .ok_or_else(|| unsupported("its transactions do not run in the thread that asks"))?;
        let folders = options.log.as_ref().map_or(&[][..], |log| &log.folders);
        let manifest = if folders.is_empty() { None } else { recovery::manifest(folders)? };
        if let (Some(Manifest { origin, .. }), Some(log)) = (&manifest, &options.log)
            && *origin != log.origin
        {
            let why = format!("it begins from '{origin}', and is to be gone on with from '{}'", log.origin);
            return Err(LogError::Mismatch { why }.into());
        }
        let is_there = manifest.is_some();
        let mut logged = manifest.map_or(Vec::new(), |Manifest { tables, .. }| tables);
        let tables = Empty(logged.iter().map(described).collect());
        let snapshot_every = match matrix::has_snapshots((*pair).into()) {
            true => engine.snapshots_of_layout(),
            false => 0,
        };
        let layout = Layout::of(1).for_protocol(pair.protocol).with_snapshots(snapshot_every);
        let (mut store, recovered) = match is_there {
            true => {
                let (store, found) =
                    ThisEngine::recover(&tables, layout, folders, &options.recovery, &|_| ())?;
                (store, Some(found))
            }
            false => (ThisEngine::load(&tables, layout, &|_| ())?, None),
        };
        if let Some(log) = &options.log {
            ThisEngine::open_log(&mut store, log)?;
            logged = store.log().expect("just opened").manifest().tables;
        }
        store.prepare((*pair).into());
        let Parts { tables, mut epochs, mut log, heap, caches } = store.into_parts();
        epochs.provide(*slots);
        if let Some(log) = &mut log {
            log.provide(*slots);
        }
        let runtime = Arc::new(Runtime {
            epochs,
            ids: log.is_some().then(CommitIds::new),
            log,
            precedence: Precedence::after(engine.precedence_after),
            options: engine.clone(),
        });
        let mut caches: Vec<_> = caches.into_iter().map(|cache| Some(Box::new(cache))).collect();
        let empty = || Some(Box::new(AllocationCache::new(tables.len(), 1, &heap)));
        caches.resize_with(caches.len().max(*slots), empty);
        let (tables, services) = (Arc::new(tables), Services { runtime });
        let embedded = Embedded { lender, tables, logged, services, caches, heap, layout };
        embedded.provide();
        Ok((embedded, recovered))
    }

    /// What serves the store.
    pub fn services(&self) -> Services {
        Services { runtime: Arc::clone(&self.services.runtime) }
    }

    /// The tables that there are.
    pub fn tables(&self) -> Vec<TableWords> {
        let there = (0..).map(TableId).zip(&self.logged).filter(|(_, table)| !table.is_dropped);
        let words = |(id, table): (TableId, &LoggedTable)| TableWords {
            id,
            name: table.name.clone(),
            row_bytes: table.row_bytes as usize,
            length: table.length(),
            indexing: table.indexing(),
            schema: table.schema.clone(),
        };
        there.map(words).collect()
    }

    /// Lends slot `number`. Panics if it is lent.
    pub fn lend(&mut self, number: usize) -> Slot {
        let allocations = self.caches[number].take().expect("a slot is lent once");
        let (tables, runtime) = (&self.tables, &self.services.runtime);
        let lent = self.lender.lend(tables, runtime, SlotId(number as u32), allocations);
        Slot { number, lent, heap: Arc::clone(&self.heap) }
    }

    /// Takes a slot back.
    pub fn take_back(&mut self, slot: Slot) {
        self.caches[slot.number] = Some(slot.lent.end());
    }

    /// Makes a table, which will be there whenever the store is opened, until it is dropped. One for more than [`MOST_CAPACITY`] rows, or for more
    /// than there is memory for, is refused. All slots must be back.
    pub fn create_table(&mut self, table: &NewTable<'_>) -> Result<TableId, OpenError> {
        let &NewTable { name, row_bytes, length, indexing, capacity, schema } = table;
        let id = TableId(u16::try_from(self.tables.len()).map_err(|_| LogError::Refused {
            why: format!("table '{name}': a store has made 65,536 tables, and numbers are not used again"),
        })?);
        if capacity > MOST_CAPACITY {
            let why = format!("table '{name}' for {capacity} rows; up to {MOST_CAPACITY} are allowed");
            return Err(LogError::Refused { why }.into());
        }
        let key_bytes = match indexing {
            Indexing::OrderedBytes { most } => Some(most as u64),
            Indexing::Ordered | Indexing::Hashed => None,
        };
        let logged = LoggedTable {
            name: name.to_owned(),
            row_bytes: row_bytes as u64,
            rows_vary: length == RowLength::Varying,
            key_bytes,
            is_ordered: indexing == Indexing::Ordered,
            capacity,
            schema: schema.to_owned(),
            is_dropped: false,
        };
        let tables = Arc::get_mut(&mut self.tables).expect("no slot is lent");
        self.caches.iter_mut().flatten().for_each(|cache| cache.add_table());
        let first = self.caches[0].as_mut().expect("no slot is lent");
        let made = reserve(&logged, id, self.layout, first).map_err(OpenError::from);
        let made = made.and_then(|table| {
            if let Some(log) = &self.services.runtime.log {
                log.change_manifest(|manifest| manifest.tables.push(logged.clone()))?;
            }
            Ok(table)
        });
        match made {
            Ok(table) => {
                tables.push(table);
                self.logged.push(logged);
                self.provide();
                Ok(id)
            }
            Err(error) => {
                self.caches.iter_mut().flatten().for_each(|cache| cache.remove_last_table());
                Err(error)
            }
        }
    }

    /// Whether a table has no rows. All slots must be back.
    pub fn is_empty(&self, table: TableId) -> bool {
        self.tables[table.index()].partitions().iter().all(|partition| partition.index.records() == 0)
    }

    /// Says anew what a table's rows mean; durable when this returns, with all that has committed. All slots must be back.
    pub fn set_schema(&mut self, table: TableId, schema: &str) -> Result<(), OpenError> {
        let schema = schema.to_owned();
        self.replace(table, LoggedTable { schema, ..self.logged[table.index()].clone() })
    }

    /// Says in the manifest what a table is from now on. That is of a later time than all that has committed, so that is made durable
    /// first, whatever the level.
    fn replace(&mut self, table: TableId, by: LoggedTable) -> Result<(), OpenError> {
        let Runtime { log, epochs, .. } = &*self.services.runtime;
        if let Some(log) = log {
            log.sync(epochs)?;
            log.change_manifest(|manifest| manifest.tables[table.index()] = by.clone())?;
        }
        self.logged[table.index()] = by;
        Ok(())
    }

    /// Drops a table and its rows; durable when this returns, with all that has committed. All slots must be back.
    pub fn drop_table(&mut self, table: TableId) -> Result<(), OpenError> {
        // Its number stays, and a table for no rows in its place: whatever can fail comes first.
        let dropped = LoggedTable { is_dropped: true, capacity: 0, ..self.logged[table.index()].clone() };
        let mut at_hand = AllocationCache::new(self.tables.len(), 1, &self.heap);
        let empty = reserve(&dropped, table, self.layout, &mut at_hand)?;
        self.replace(table, dropped)?;
        let tables = Arc::get_mut(&mut self.tables).expect("no slot is lent");
        self.caches.iter_mut().flatten().for_each(|cache| cache.forget_table(table));
        let first = self.caches[0].as_mut().expect("no slot is lent");
        free_values(&tables[table.index()], first);
        tables[table.index()] = empty;
        first.take_over(table, PartitionId(0), std::mem::take(at_hand.at(table, PartitionId(0))));
        self.provide();
        Ok(())
    }

    /// Tells checkpoints which tables there are.
    fn provide(&self) {
        if let Some(log) = &self.services.runtime.log {
            log.checkpoints().provide(self.tables.iter().flat_map(Table::parts).collect());
        }
    }

    /// Bytes of memory taken, indexes and rows that vary in length included; of the latter, those that a slot has taken or given back
    /// lately, a mebibyte at most, may be missing.
    pub fn memory_bytes(&self) -> u64 {
        memory_bytes(&self.tables, &self.heap)
    }

    /// Closes the store: what has committed is durable when this returns. All slots must be back, and nobody may serve it.
    pub fn close(self) -> Result<(), LogError> {
        let services = self.services();
        drop(self);
        let mut runtime = Arc::into_inner(services.runtime).expect("no slot is lent, and nobody serves");
        let Some(log) = runtime.log.take() else { return Ok(()) };
        log.finish(&mut runtime.epochs);
        log.failure().map_or(Ok(()), |why| Err(LogError::Refused { why }))
    }
}

/// Frees the values of the rows that a table has; nobody runs.
fn free_values(table: &Table, allocations: &mut AllocationCache) {
    for_each_value(table, table.shape.header, &mut |value| {
        // SAFETY: of the store's heap; a value is in one record's row, and the table goes.
        unsafe { allocations.values.drop_linked(value) };
    });
    for graveyard in table.partitions().iter().filter_map(|partition| partition.graveyard.as_ref()) {
        graveyard.free_tombs(allocations.versions.heap());
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        let (tables, caches) = (Arc::get_mut(&mut self.tables), &mut self.caches);
        // Who drops it while slots are lent loses their memory; slots that are dropped with it have lost theirs already.
        if let (Some(tables), Some(allocations)) = (tables, caches.iter_mut().flatten().next()) {
            tables.iter().for_each(|table| free_values(table, allocations));
        }
    }
}

/// Bytes that tables have taken, and what of the heap is taken for their rows.
fn memory_bytes(tables: &[Table], heap: &Heap) -> u64 {
    let values = u64::try_from(heap.told_bytes()).unwrap_or(0);
    tables.iter().map(Table::bytes_taken).sum::<u64>() + values
}

/// A table without rows; refused if there is no memory for what it is described with, as when the store is opened again.
fn reserve(
    table: &LoggedTable,
    id: TableId,
    layout: Layout,
    allocations: &mut AllocationCache,
) -> Result<Table, LoadError> {
    let description = described(table);
    let needed_bytes = Table::bytes_for(&description, layout);
    let available_bytes = memory::available_bytes();
    if needed_bytes > available_bytes {
        return Err(LoadError::Memory { needed_bytes, available_bytes });
    }
    let mut most = memory::address_space_among(USUAL_TABLES * Table::regions(layout));
    loop {
        match Table::reserve(description.clone(), id, layout, most, allocations) {
            Ok(table) => return Ok(table),
            Err(RegionError { .. }) if most > 0 => most /= 2,
            Err(error) => {
                return Err(LoadError::Refused { bytes: most as u64, why: error.to_string() });
            }
        }
    }
}
