//! Recovery: replaying a log into a store whose rows are as they were when the log was opened.
//!
//! The loggers' streams are read side by side, in windows of epochs: the slowest goes on to its next mark until the window is large
//! enough, and then all that is of an epoch up to the least of the marks is replayed. What is of a later epoch waits for the next
//! window. So a log that is larger than memory is recovered, and of one that is corrupt, the longest prefix of epochs that is intact
//! has been replayed when that is found.
//!
//! A window is replayed by several threads, each for the keys that fall to it by a hash: a thread goes through the window's records,
//! sorts its own by epoch and id, and applies them in this order, in transactions of a few dozen over the ordinary engine
//! (shared-everything SILO). Records are physical: to apply an update to a row that already has a later one does no harm, since the
//! later one follows.
//!
//! If the log has a checkpoint, its rows are loaded first ([`checkpoint`]), and the log is replayed from its first epoch on. They mean
//! nothing before its last one: a log that ends before is refused, and cannot be salvaged.

mod checkpoint;

use crate::durability::checkpoint::files::remove_outdated;
use crate::durability::format::{Change, RedoRecord, Transactions};
use crate::durability::log::{Log, io_error};
use crate::durability::manifest::{self, Checkpoint, Earlier, LoggedTable, Manifest, RecoveredLog};
use crate::durability::scan::{self, End, LogFile, LogFileName, Payload, Stream, find_folders};
use crate::facade::clock;
use crate::facade::disk::{Folder, FolderLock};
use crate::facade::shared::Arc;
use crate::facade::{unobserved, worker};
use crate::storage::Store;
use contract::{
    Abort, ArchitectureName, Arrival, Client, Completion, DurabilityCanary, EngineOptions, ErasedClient,
    Insertion, Key, LogError, LogOptions, Outcome, PairName, Presence, Procedure, ProtocolName, Recovered,
    RecoveryOptions, RunError, RunOutcome, Selection, TableDescription, TableId, Transaction,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes of transactions that are replayed at once, about.
const WINDOW_BYTES: usize = 64 << 20;
/// Records that are applied in one transaction.
const RECORDS_AT_ONCE: usize = 32;

fn lock(folder: &Folder) -> Result<FolderLock, LogError> {
    let locked = folder.lock("LOCK").map_err(|why| io_error("lock", folder.path(), &why))?;
    locked.ok_or_else(|| LogError::Locked { folder: folder.path().to_owned() })
}

/// What the log in these folders is of; `None`: there is none.
pub(crate) fn manifest(paths: &[PathBuf]) -> Result<Option<Manifest>, LogError> {
    match find_folders(paths) {
        Ok(folders) => manifest::read(&folders[0]),
        Err(LogError::Nothing { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Gives a store a log: a new one, or the next generation of that which it was recovered from.
pub(crate) fn open_log(store: &mut Store, options: &LogOptions) -> Result<Log, LogError> {
    let open = |path: &PathBuf| Folder::open(path).map_err(|why| io_error("open", path, &why));
    let folders: Vec<Folder> = options.folders.iter().map(open).collect::<Result<_, _>>()?;
    let lock = lock(&folders[0])?;
    let there = manifest::read(&folders[0])?;
    let manifest = match (there, store.recovered.take()) {
        (None, _) => Manifest {
            log: format!("{:032x}", fastrand::Rng::with_seed(clock::now().0).u128(1..)),
            generation: 0,
            loggers: options.loggers as u32,
            earlier: Vec::new(),
            tables: logged_tables(store),
            origin: options.origin.clone(),
            checkpoint: None,
        },
        (Some(there), Some(RecoveredLog { manifest, epoch })) if there == manifest => {
            let mut next =
                Manifest { generation: manifest.generation + 1, loggers: options.loggers as u32, ..manifest };
            next.earlier.push(Earlier { loggers: there.loggers, epoch });
            next
        }
        (Some(_), _) => return Err(LogError::Occupied { folder: folders[0].path().to_owned() }),
    };
    // Files of a generation that was begun, and of which no manifest ever told.
    let (files, _) = scan::files(&folders, manifest.log())?;
    for file in files.into_values().flatten().filter(|file| file.header.generation >= manifest.generation) {
        file.folder.remove(&file.name).map_err(|why| io_error("remove", &file.path(), &why))?;
    }
    remove_outdated(&folders, &manifest)?;
    Log::open(options, &folders, lock, &manifest, store.epochs().current())
}

fn logged_tables(store: &Store) -> Vec<LoggedTable> {
    store.tables.iter().map(|table| LoggedTable::of(&table.description)).collect()
}

/// Runs clients over a store.
pub(crate) type RunClients<'r> = &'r dyn Fn(
    &mut Store,
    Selection,
    Vec<ErasedClient>,
    &EngineOptions,
) -> Result<RunOutcome<ErasedClient>, RunError>;

/// Runs them until they are at their end, over shared-everything SILO; no machine charges for it.
fn run_clients<C: Client>(
    store: &mut Store,
    clients: Vec<C>,
    run: RunClients<'_>,
) -> Result<Vec<C>, LogError> {
    let pair = PairName { architecture: ArchitectureName::SharedEverything, protocol: ProtocolName::Silo };
    let options = EngineOptions { prefetch: false, sample_one_in: 0, ..EngineOptions::default() };
    let ran = unobserved(|| {
        contract::erased(clients, |clients| run(store, Selection::Pair(pair), clients, &options))
    });
    ran.map(|outcome| outcome.clients).map_err(|error| LogError::Refused { why: error.to_string() })
}

/// Replays the log in these folders, by clients that `run` runs.
pub(crate) fn recover(
    store: &mut Store,
    paths: &[PathBuf],
    options: &RecoveryOptions,
    run: RunClients<'_>,
) -> Result<Recovered, LogError> {
    let began = clock::now();
    let folders = find_folders(paths)?;
    let _lock = lock(&folders[0])?;
    let manifest =
        manifest::read(&folders[0])?.ok_or_else(|| LogError::Nothing { folder: paths[0].clone() })?;
    manifest.admit(&logged_tables(store))?;
    let (files, unreadable) = scan::files(&folders, manifest.log())?;
    let threads = if options.threads == 0 { worker::cores() } else { options.threads };
    let skipped: Arc<[bool]> = manifest.tables.iter().map(|table| table.is_dropped).collect();
    let loaded = checkpoint::load(store, &folders, &manifest, threads, options.canary, run)?;
    let mut recovery = Recovery {
        store,
        threads,
        files,
        unreadable,
        folders: &folders,
        recovered: Recovered { origin: manifest.origin.clone(), checkpoint: loaded, ..Recovered::default() },
        skipped,
        latest: 0,
        canary: options.canary,
        run,
    };
    let corrupt = recovery.all_generations(&manifest)?;
    let Recovery { mut recovered, latest, .. } = recovery;
    if let Some(corrupt) = corrupt {
        let is_whole = loaded.is_none_or(|loaded| recovered.epoch >= loaded.to_epoch);
        if !options.salvage || !is_whole {
            return Err(corrupt);
        }
        recovered.lost = corrupt.to_string();
    }
    store.epochs_mut().go_on_after(latest.max(recovered.epoch));
    recovered.elapsed = Duration::from_nanos(clock::nanoseconds(clock::now().since(began)));
    store.recovered = Some(RecoveredLog { manifest, epoch: recovered.epoch });
    Ok(recovered)
}

struct Recovery<'a> {
    store: &'a mut Store,
    threads: usize,
    files: BTreeMap<(u32, u32), Vec<LogFile>>,
    unreadable: Vec<(PathBuf, String)>,
    folders: &'a [Folder],
    recovered: Recovered,
    /// By table: whether it was dropped.
    skipped: Arc<[bool]>,
    /// The last epoch of anything in the log.
    latest: u64,
    /// A step that is left out.
    canary: Option<DurabilityCanary>,
    run: RunClients<'a>,
}

impl Recovery<'_> {
    /// Replays the generations in order; answers what is corrupt, where that is found.
    fn all_generations(&mut self, manifest: &Manifest) -> Result<Option<LogError>, LogError> {
        let first = manifest.checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.generation);
        for generation in first..=manifest.generation {
            if let Some(corrupt) = self.generation(generation, manifest)? {
                return Ok(Some(corrupt));
            }
        }
        Ok(None)
    }

    /// Replays a generation: all that is durable of it, or, if it has ended, up to the epoch in which it has. What a checkpoint stands
    /// for is left out.
    fn generation(&mut self, generation: u32, manifest: &Manifest) -> Result<Option<LogError>, LogError> {
        let earlier = manifest.earlier.get(generation as usize);
        let loggers = earlier.map_or(manifest.loggers, |earlier| earlier.loggers);
        let ended = earlier.map(|earlier| earlier.epoch);
        let checkpoint = manifest.checkpoint.as_ref();
        let mut streams = Vec::new();
        for logger in 0..loggers {
            let first = checkpoint.map_or(Some(0), |checkpoint| checkpoint.first_segment(generation, logger));
            let first = first.expect("the manifest was held against this");
            let mut files = self.files.remove(&(generation, logger)).unwrap_or_default();
            files.retain(|file| file.header.segment >= first);
            if files.is_empty() {
                return Ok(Some(self.missing(LogFileName { generation, logger, segment: first })));
            }
            self.recovered.files += files.len() as u64;
            match Stream::open(files, first) {
                Ok(mut stream) => {
                    stream.is_checked = self.canary != Some(DurabilityCanary::UncheckedChecksum);
                    streams.push(stream);
                }
                Err(corrupt @ LogError::Corrupt { .. }) => return Ok(Some(corrupt)),
                Err(error) => return Err(error),
            }
        }
        let most = ended.unwrap_or(u64::MAX);
        let least =
            |streams: &[Stream]| streams.iter().map(|stream| stream.marked).min().unwrap_or(0).min(most);
        // What is of an epoch before the checkpoint's first is in its rows.
        let before = checkpoint.map_or(0, |checkpoint| checkpoint.from_epoch - 1);
        let mut from = least(&streams).max(before);
        let mut window: Vec<Payload> = Vec::new();
        let corrupt = loop {
            let stopped = self.fill(&mut streams, &mut window, most, from)?;
            let to = least(&streams);
            if to > from {
                self.replay(&mut window, from, to)?;
                self.recovered.epoch = to;
            }
            from = from.max(to);
            if to == most || stopped.is_some() {
                break stopped.flatten();
            }
        };
        self.recovered.bytes += streams.iter().map(|stream| stream.read).sum::<u64>();
        streams.iter_mut().for_each(|stream| window.append(&mut stream.after_last_mark));
        if self.canary == Some(DurabilityCanary::OneEpochTooMany) {
            self.replay(&mut window, from, from + 1)?;
        }
        self.leave_out(&window, from);
        let attested = streams.iter().map(|stream| stream.attested).max().unwrap_or(0);
        let is_of_checkpoint = |checkpoint: &&Checkpoint| checkpoint.generation == generation;
        let needed = checkpoint.filter(is_of_checkpoint).map_or(0, |checkpoint| checkpoint.to_epoch);
        let known = ended.unwrap_or(attested).max(needed);
        Ok(corrupt.or_else(|| (from < known).then(|| cut_off(&streams, from, known))))
    }

    /// Reads on until a window is full or the streams are at epoch `most`; `Some`: a stream has ended, perhaps because it is corrupt.
    #[allow(clippy::option_option, reason = "whether it has ended, and whether that is wrong")]
    fn fill(
        &mut self,
        streams: &mut [Stream],
        window: &mut Vec<Payload>,
        most: u64,
        from: u64,
    ) -> Result<Option<Option<LogError>>, LogError> {
        loop {
            let slowest = streams.iter_mut().min_by_key(|stream| stream.marked).expect("a log has a logger");
            if slowest.marked >= most {
                return Ok(None);
            }
            match slowest.next_mark(window) {
                Ok(Some(_)) => {}
                Ok(None) => {
                    let end = slowest.end.as_ref().expect("it has ended");
                    return Ok(Some(corruption(end)));
                }
                Err(corrupt @ LogError::Corrupt { .. }) => return Ok(Some(Some(corrupt))),
                Err(error) => return Err(error),
            }
            let bytes: usize = window.iter().map(|payload| payload.bytes().len()).sum();
            let to = streams.iter().map(|stream| stream.marked).min().expect("a log has a logger");
            if bytes >= WINDOW_BYTES && to > from {
                return Ok(None);
            }
        }
    }

    /// Replays what of a window is of an epoch after `from` and up to `to`; leaves what is of a later one.
    fn replay(&mut self, window: &mut Vec<Payload>, from: u64, to: u64) -> Result<(), LogError> {
        let tables: Arc<[TableDescription]> =
            self.store.tables.iter().map(|table| table.description.clone()).collect();
        let shared = Arc::new(Window { payloads: std::mem::take(window), from, to });
        let client = |thread| Replayer {
            window: Arc::clone(&shared),
            tables: Arc::clone(&tables),
            skipped: Arc::clone(&self.skipped),
            share: (thread, self.threads),
            entries: None,
            next: 0,
            counts: Counts::default(),
            wrong: None,
        };
        let clients: Vec<Replayer> = (0..self.threads).map(client).collect();
        let clients = run_clients(self.store, clients, self.run)?;
        for client in &clients {
            if let Some(why) = &client.wrong {
                return Err(LogError::Refused { why: format!("the log cannot be replayed: {why}") });
            }
            self.recovered.transactions += client.counts.transactions;
            self.recovered.records += client.counts.records;
        }
        drop(clients);
        let shared = Arc::into_inner(shared).expect("the clients are gone");
        window.extend(shared.payloads.into_iter().filter(|payload| payload.last_epoch > to));
        Ok(())
    }

    /// Counts what is of an epoch after the last one that counts.
    fn leave_out(&mut self, window: &[Payload], last: u64) {
        for payload in window {
            self.latest = self.latest.max(payload.last_epoch);
            let later =
                Transactions::of(payload.bytes()).flatten().filter(|transaction| transaction.epoch > last);
            self.recovered.left_out += later.count() as u64;
        }
    }

    fn missing(&self, name: LogFileName) -> LogError {
        let folder = self.folders[name.logger as usize % self.folders.len()].path();
        let file = folder.join(name.to_string());
        let unreadable = self.unreadable.iter().find(|(path, _)| *path == file);
        let why = unreadable.map_or("it is missing".to_owned(), |(_, why)| why.clone());
        LogError::Corrupt { file, offset: 0, why }
    }
}

/// What is wrong where a stream ends, unless it is a tail that was torn.
fn corruption(end: &End) -> Option<LogError> {
    let synced = end.synced.as_ref()?;
    let wrong = end.wrong.as_deref().unwrap_or("the file ends");
    let why = format!("{wrong}; it had been synced, for {synced}");
    Some(LogError::Corrupt { file: end.file.clone(), offset: end.offset, why })
}

/// A stream ends too early: epoch `known` was durable.
fn cut_off(streams: &[Stream], epoch: u64, known: u64) -> LogError {
    let slowest = streams.iter().min_by_key(|stream| stream.marked).expect("a log has a logger");
    let (file, offset) = match &slowest.end {
        Some(end) => (end.file.clone(), end.offset),
        None => (Path::new("the log").to_owned(), 0),
    };
    let why = format!("it is intact up to epoch {epoch} only, and epoch {known} was durable");
    LogError::Corrupt { file, offset, why }
}

/// What is replayed at once.
struct Window {
    payloads: Vec<Payload>,
    from: u64,
    to: u64,
}

/// Where a record of a window is, and its place in the serial order.
#[derive(Clone, Copy)]
struct Entry {
    epoch: u64,
    id: u64,
    payload: u32,
    /// In the payload.
    at: u32,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    transactions: u64,
    records: u64,
}

/// Applies the records of a window whose keys fall to it.
pub(crate) struct Replayer {
    window: Arc<Window>,
    tables: Arc<[TableDescription]>,
    skipped: Arc<[bool]>,
    /// Which, of how many.
    share: (usize, usize),
    /// Its records, in the serial order, once it has looked for them.
    entries: Option<Arc<Vec<Entry>>>,
    next: usize,
    counts: Counts,
    wrong: Option<String>,
}

impl Replayer {
    /// Goes through the window.
    fn find(&mut self) -> Result<Vec<Entry>, String> {
        let mut entries = Vec::new();
        let window = Arc::clone(&self.window);
        for (payload, bytes) in window.payloads.iter().map(Payload::bytes).enumerate() {
            for transaction in Transactions::of(bytes) {
                let transaction = transaction?;
                if transaction.epoch <= window.from || transaction.epoch > window.to {
                    continue;
                }
                self.counts.transactions += u64::from(self.share.0 == 0);
                let mut records = transaction.records();
                loop {
                    let at = bytes.len() - records.rest_until_end_of(bytes);
                    let Some(record) = records.next() else { break };
                    let record = record?;
                    admit(&self.tables, &record)?;
                    if self.skipped[record.table as usize] {
                        continue;
                    }
                    if share_of(&record) as usize % self.share.1 == self.share.0 {
                        let (payload, at) = (payload as u32, at as u32);
                        entries.push(Entry { epoch: transaction.epoch, id: transaction.id, payload, at });
                    }
                }
            }
        }
        // Stable: what one transaction did to a row stays in its order.
        entries.sort_by_key(|entry| (entry.epoch, entry.id));
        self.counts.records += entries.len() as u64;
        Ok(entries)
    }
}

/// Refuses what the tables cannot have.
fn admit(tables: &[TableDescription], record: &RedoRecord<'_>) -> Result<(), String> {
    let Some(table) = tables.get(record.table as usize) else {
        return Err(format!("a record of table number {}, of {}", record.table, tables.len()));
    };
    let name = table.name;
    let fits = match table.indexing {
        contract::Indexing::OrderedBytes { most } => record.key.len() <= most,
        contract::Indexing::Hashed | contract::Indexing::Ordered => record.key.len() == 8,
    };
    if !fits {
        return Err(format!("a record of table '{name}' with a key of {} bytes", record.key.len()));
    }
    match record.change {
        Change::Insert(row) if !table.admits(row.len()) => {
            let most = if table.varies() { "up to " } else { "" };
            let (bytes, row_bytes) = (row.len(), table.row_bytes);
            Err(format!("a row of {bytes} bytes for table '{name}', which has {most}{row_bytes}"))
        }
        Change::Update { .. } if table.varies() => {
            Err(format!("bytes of a row of table '{name}', whose rows are replaced whole"))
        }
        Change::Update { offset, bytes } if offset as usize + bytes.len() > table.row_bytes => Err(format!(
            "bytes {offset}..{} of a row of table '{name}', which has {}",
            offset as usize + bytes.len(),
            table.row_bytes
        )),
        _ => Ok(()),
    }
}

/// To whom a record falls.
fn share_of(record: &RedoRecord<'_>) -> u32 {
    crc32fast::hash(record.key) ^ u32::from(record.table).wrapping_mul(0x9E37_79B9)
}

impl Client for Replayer {
    type Procedure = Apply;

    fn arrival(&mut self) -> Arrival {
        if self.entries.is_none() {
            let found = self.find();
            self.entries = Some(Arc::new(found.unwrap_or_else(|why| {
                self.wrong = Some(why);
                Vec::new()
            })));
        }
        let entries = self.entries.as_ref().expect("looked for");
        if self.next < entries.len() { Arrival::Ready } else { Arrival::Closed }
    }

    fn next(&mut self) -> Apply {
        let entries = self.entries.as_ref().expect("there is an arrival");
        let from = self.next;
        self.next = (from + RECORDS_AT_ONCE).min(entries.len());
        Apply {
            window: Arc::clone(&self.window),
            tables: Arc::clone(&self.tables),
            entries: Arc::clone(entries),
            range: (from, self.next),
        }
    }

    fn finished(&mut self, _: Apply, _: &Completion<'_>) {}
}

/// Applies some records.
pub(crate) struct Apply {
    window: Arc<Window>,
    tables: Arc<[TableDescription]>,
    entries: Arc<Vec<Entry>>,
    range: (usize, usize),
}

impl Procedure for Apply {
    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        for entry in &self.entries[self.range.0..self.range.1] {
            let payload = self.window.payloads[entry.payload as usize].bytes();
            let record = RedoRecord::decode(&payload[entry.at as usize..]).expect("it was read before");
            Self::one(&self.tables, txn, record)?;
        }
        Ok(Outcome::Commit)
    }
}

impl Apply {
    /// Applies one record.
    fn one<T: Transaction + ?Sized>(
        tables: &[TableDescription],
        txn: &mut T,
        record: RedoRecord<'_>,
    ) -> Result<(), Abort> {
        let table = TableId(record.table);
        let key = match tables[table.index()].indexing {
            contract::Indexing::OrderedBytes { .. } => txn.key(table, record.key),
            contract::Indexing::Hashed | contract::Indexing::Ordered => {
                Key(u64::from_be_bytes(record.key.try_into().expect("a number of eight bytes")))
            }
        };
        match record.change {
            Change::Insert(row) => {
                if txn.insert(table, key, row)? == Insertion::Exists {
                    let _: Presence = txn.replace(table, key, row)?;
                }
            }
            // A row that is not there is deleted by what follows.
            Change::Update { offset, bytes } => {
                let _: Presence = txn.write(table, key, offset as usize, bytes)?;
            }
            Change::Delete => {
                let _: Presence = txn.delete(table, key)?;
            }
        }
        Ok(())
    }
}
