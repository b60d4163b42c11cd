//! Recovery: a store whose rows are what a log says: those of its checkpoint, if it has one ([`checkpoint`]), else those that were loaded when
//! it began; and the log replayed over them ([`replay`]).
//!
//! The loggers' streams are read side by side, in windows of epochs: the slowest goes on to its next mark until the window is large
//! enough, and then all that is of an epoch up to the least of the marks is replayed. What is of a later epoch waits for the next
//! window. So a log that is larger than memory is recovered, and of one that is corrupt, the longest prefix of epochs that is intact
//! has been replayed when that is found.
//!
//! Over a checkpoint the log is replayed from its first epoch on. Its rows mean nothing before its last one: a log that ends before is
//! refused, and cannot be salvaged.
//!
//! Nothing is written: a log that only is read may be on a medium that cannot be written.

mod checkpoint;
mod replay;

pub(crate) use replay::Replayer;
use replay::{Window, admit};

use crate::durability::checkpoint::files::remove_outdated;
use crate::durability::format::Transactions;
use crate::durability::log::{Log, io_error};
use crate::durability::manifest::{self, Checkpoint, Earlier, LoggedTable, Manifest, RecoveredLog};
use crate::durability::scan::{self, End, LogFile, LogFileName, Payload, Stream, find_folders};
use crate::facade::clock::{self, Ticks};
use crate::facade::disk::{Folder, FolderLock};
use crate::facade::shared::Arc;
use crate::facade::{unobserved, worker};
use crate::storage::Store;
use contract::{
    ArchitectureName, Client, DurabilityCanary, EngineOptions, ErasedClient, Layout, LogError, LogManifest,
    LogOptions, PairName, ProtocolName, Recovered, RecoveryOptions, RunError, RunOutcome, Selection,
    TableDescription, Workload,
};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes of transactions that are replayed at once, about.
const WINDOW_BYTES: usize = 128 << 20;
/// Of the file by which processes keep each other out.
const LOCK: &str = "LOCK";

/// The lock, or who else has it.
fn locked(folder: &Folder, lock: io::Result<Option<FolderLock>>) -> Result<FolderLock, LogError> {
    let lock = lock.map_err(|why| io_error("lock", folder.path(), &why))?;
    lock.ok_or_else(|| LogError::Locked { folder: folder.path().to_owned() })
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
    let lock = locked(&folders[0], folders[0].lock(LOCK))?;
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
    let options = EngineOptions { sample_one_in: 0, ..EngineOptions::default() };
    // What the window before has left in the metadata serves this one, of the same system.
    store.last = None;
    let ran = unobserved(|| {
        contract::erased(clients, |clients| run(store, Selection::Pair(pair), clients, &options))
    });
    ran.map(|outcome| outcome.clients).map_err(|error| LogError::Refused { why: error.to_string() })
}

/// What the manifest of the log in these folders says.
pub(crate) fn told(paths: &[PathBuf]) -> Result<LogManifest, LogError> {
    let manifest = manifest(paths)?.ok_or_else(|| LogError::Nothing { folder: paths[0].clone() })?;
    let checkpoint = manifest.checkpoint.as_ref().map(Checkpoint::report);
    Ok(LogManifest { origin: manifest.origin, checkpoint })
}

/// A store of a workload's tables, with the rows that the log in these folders says; `run` runs clients over it. `progress` is told
/// how many rows more were loaded before the log is replayed over them.
pub(crate) fn recover<W: Workload>(
    workload: &W,
    layout: Layout,
    paths: &[PathBuf],
    options: &RecoveryOptions,
    progress: &(dyn Fn(u64) + Sync),
    run: RunClients<'_>,
) -> Result<(Store, Recovered), LogError> {
    let folders = find_folders(paths)?;
    let _lock = locked(&folders[0], folders[0].lock_to_read(LOCK))?;
    let manifest =
        manifest::read(&folders[0])?.ok_or_else(|| LogError::Nothing { folder: paths[0].clone() })?;
    let tables: Vec<LoggedTable> = workload.tables().iter().map(LoggedTable::of).collect();
    manifest.admit(&tables)?;
    let (files, unreadable) = scan::files(&folders, manifest.log())?;
    let threads = if options.threads == 0 { worker::cores() } else { options.threads };
    let loaded = match &manifest.checkpoint {
        None => Store::load(workload, layout, progress),
        Some(_) => unobserved(|| Store::without_rows(&workload.tables(), layout)),
    };
    let mut store = loaded.map_err(|error| LogError::Refused { why: error.to_string() })?;
    let began = clock::now();
    let checkpoint = match &manifest.checkpoint {
        None => None,
        Some(checkpoint) => {
            Some(checkpoint::load(&mut store, &folders, &manifest, checkpoint, threads, options, progress)?)
        }
    };
    let mut recovery = Recovery {
        threads,
        files,
        unreadable,
        folders: &folders,
        recovered: Recovered { origin: manifest.origin.clone(), checkpoint, ..Recovered::default() },
        skipped: manifest.tables.iter().map(|table| table.is_dropped).collect(),
        tables: store.tables.iter().map(|table| table.description.clone()).collect(),
        latest: 0,
        canary: options.canary,
        run,
        store: &mut store,
    };
    let corrupt = recovery.all_generations(&manifest)?;
    let Recovery { mut recovered, latest, .. } = recovery;
    if let Some(corrupt) = corrupt {
        let is_whole = checkpoint.is_none_or(|loaded| recovered.epoch >= loaded.to_epoch);
        if !options.salvage || !is_whole {
            return Err(corrupt);
        }
        recovered.lost = corrupt.to_string();
    }
    store.epochs_mut().go_on_after(latest.max(recovered.epoch));
    recovered.elapsed = elapsed_since(began);
    store.recovered = Some(RecoveredLog { manifest, epoch: recovered.epoch });
    Ok((store, recovered))
}

fn elapsed_since(began: Ticks) -> Duration {
    Duration::from_nanos(clock::nanoseconds(clock::now().since(began)))
}

struct Recovery<'a> {
    store: &'a mut Store,
    threads: usize,
    files: BTreeMap<(u32, u32), Vec<LogFile>>,
    unreadable: Vec<(PathBuf, String)>,
    folders: &'a [Folder],
    recovered: Recovered,
    tables: Arc<[TableDescription]>,
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
            let began = clock::now();
            let stopped = self.fill(&mut streams, &mut window, most, from)?;
            self.recovered.reading += elapsed_since(began);
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
        let mut bytes: usize = window.iter().map(|payload| payload.bytes().len()).sum();
        loop {
            let before = window.len();
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
            bytes += window[before..].iter().map(|payload| payload.bytes().len()).sum::<usize>();
            let to = streams.iter().map(|stream| stream.marked).min().expect("a log has a logger");
            if bytes >= WINDOW_BYTES && to > from {
                return Ok(None);
            }
        }
    }

    /// Replays what of a window is of an epoch after `from` and up to `to`; leaves what is of a later one.
    fn replay(&mut self, payloads: &mut Vec<Payload>, from: u64, to: u64) -> Result<(), LogError> {
        let is_over_checkpoint = self.recovered.checkpoint.is_some();
        let window = Window {
            payloads: std::mem::take(payloads),
            epochs: from + 1..=to,
            tables: Arc::clone(&self.tables),
            skipped: Arc::clone(&self.skipped),
            forgets_deletes: is_over_checkpoint && self.canary == Some(DurabilityCanary::ForgetsADelete),
        };
        let (window, clients, counts) = window
            .shared_out(self.threads)
            .map_err(|why| LogError::Refused { why: format!("the log cannot be replayed: {why}") })?;
        self.recovered.transactions += counts.transactions;
        self.recovered.records += counts.records;
        drop(run_clients(self.store, clients, self.run)?);
        let window = Arc::into_inner(window).expect("the clients are gone");
        payloads.extend(window.payloads.into_iter().filter(|payload| payload.last_epoch > to));
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
