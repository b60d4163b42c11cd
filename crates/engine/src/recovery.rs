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
//! A stream that ends before the others may have been cut: they tell, by their marks, up to which epoch all had synced theirs. So all are read
//! to their ends.
//!
//! Nothing is written: a log that only is read may be on a medium that cannot be written.

mod checkpoint;
mod opening;
mod replay;

pub(crate) use opening::{LOCK, admit_new_log, locked, open_log};
pub(crate) use replay::Replayer;
use replay::{Window, admit};

use crate::durability::format::Transactions;
use crate::durability::manifest::{self, Checkpoint, LoggedTable, Manifest, RecoveredLog};
use crate::durability::scan::{self, End, LogFile, LogFileName, Payload, Stream, Unreadable, find_folders};
use crate::facade::clock::{self, Ticks};
use crate::facade::disk::{Folder, FolderLock};
use crate::facade::shared::Arc;
use crate::facade::{unobserved, worker};
use crate::storage::Store;
use contract::{
    ArchitectureName, Client, DurabilityCanary, EngineOptions, ErasedClient, Header, Layout, LogError,
    LogManifest, PairName, ProtocolName, Recovered, RecoveryOptions, RunError, RunOutcome, Selection,
    TableDescription, Workload,
};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes of transactions that are replayed at once, about.
const WINDOW_BYTES: usize = 128 << 20;
/// What the log in these folders is of; `None`: there is none.
pub(crate) fn manifest(paths: &[PathBuf]) -> Result<Option<Manifest>, LogError> {
    match find_folders(paths) {
        Ok(folders) => manifest::read(&folders[0]),
        Err(LogError::Nothing { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Runs clients over a store.
pub(crate) type RunClients<'r> = &'r dyn Fn(
    &mut Store,
    Selection,
    Vec<ErasedClient>,
    &EngineOptions,
) -> Result<RunOutcome<ErasedClient>, RunError>;

/// Runs them until they are at their end, over shared-everything SILO, or TIMESTAMP or MVCC where the layout is that one's; no machine charges for it.
fn run_clients<C: Client>(
    store: &mut Store,
    clients: Vec<C>,
    run: RunClients<'_>,
) -> Result<Vec<C>, LogError> {
    let protocol = match store.layout().header {
        Header::Narrow => ProtocolName::Silo,
        Header::Wide => ProtocolName::Timestamp,
        Header::Versioned => ProtocolName::Mvcc,
    };
    let pair = PairName { architecture: ArchitectureName::SharedEverything, protocol };
    let options = EngineOptions { sample_one_in: 0, ..EngineOptions::default() };
    if protocol == ProtocolName::Silo {
        // What the window before has left in the metadata serves this one, of the same system. Timestamps begin anew.
        store.last = None;
    }
    let ran = unobserved(|| {
        contract::erased(clients, |clients| run(store, Selection::Pair(pair), clients, &options))
    });
    ran.map(|outcome| outcome.clients).map_err(|error| LogError::Refused { why: error.to_string() })
}

/// What the manifest of the log in these folders says.
pub(crate) fn told(paths: &[PathBuf]) -> Result<LogManifest, LogError> {
    let folders = find_folders(paths)?;
    let manifest = scan::manifest_in(&folders)?;
    let checkpoint = manifest.checkpoint.as_ref().map(Checkpoint::report);
    Ok(LogManifest { origin: manifest.origin, checkpoint })
}

/// A store of a workload's tables, with the rows that the log in these folders says; `run` runs clients over it. `progress` is told
/// how many rows more were loaded before the log is replayed over them. `of`: the log is of these partitions only.
pub(crate) fn recover<W: Workload>(
    workload: &W,
    layout: Layout,
    paths: &[PathBuf],
    options: &RecoveryOptions,
    of: Option<Range<u32>>,
    progress: &(dyn Fn(u64) + Sync),
    run: RunClients<'_>,
) -> Result<(Store, Recovered), LogError> {
    let folders = find_folders(paths)?;
    let locks = folders.iter().map(|folder| locked(folder, folder.lock_to_read(LOCK)));
    let _locks: Vec<FolderLock> = locks.collect::<Result<_, _>>()?;
    let manifest = scan::manifest_in(&folders)?;
    let tables: Vec<LoggedTable> = workload.tables().iter().map(LoggedTable::of).collect();
    manifest.admit(&tables)?;
    let (files, unreadable) = scan::files(&folders, manifest.log())?;
    let threads = if options.threads == 0 { worker::cores() } else { options.threads };
    let loaded = match &manifest.checkpoint {
        None => match of {
            None => Store::load(workload, layout, progress),
            Some(of) => Store::load_part(workload, layout, of, progress),
        },
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
        up_to: options.up_to,
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
    unreadable: Vec<Unreadable>,
    folders: &'a [Folder],
    recovered: Recovered,
    tables: Arc<[TableDescription]>,
    /// By table: whether it was dropped.
    skipped: Arc<[bool]>,
    /// The last epoch of anything in the log.
    latest: u64,
    /// See [`RecoveryOptions::up_to`].
    up_to: Option<u64>,
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
        if ended.is_some_and(|ended| ended <= self.recovered.epoch) {
            // Nothing of it counts: nothing was committed in it, or the log was salvaged up to something before it.
            return Ok(None);
        }
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
        let most = ended.unwrap_or(u64::MAX).min(self.up_to.unwrap_or(u64::MAX));
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
        let mut corrupt = corrupt;
        if ended.is_none() {
            for stream in &mut streams {
                let wrong = self.read_to_end(stream, from)?;
                corrupt = corrupt.or(wrong);
            }
        }
        if ended.is_none() && corrupt.is_none() && self.up_to.is_some() {
            // Where this generation begins after the common cut nothing of it is replayed, and yet the log has all up to the cut.
            self.recovered.epoch = self.recovered.epoch.max(least(&streams));
        }
        // As far as the last generation goes is told by all of its files, whatever is wanted of it.
        if ended.is_none() || from < most {
            corrupt = corrupt.or_else(|| self.unreadable_of(generation, manifest));
        }
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
        // The last generation is read to its end, whatever is wanted of it.
        let (there, known) = match ended {
            None => (streams.iter().map(|stream| stream.marked).min().unwrap_or(0).max(from), known),
            Some(_) => (from, known.min(self.up_to.unwrap_or(u64::MAX))),
        };
        Ok(corrupt.or_else(|| (there < known).then(|| cut_off(&streams, there, known))))
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

    /// Reads a stream that goes on after one that has ended, for what it says of that; what is wrong with it.
    fn read_to_end(&mut self, stream: &mut Stream, last: u64) -> Result<Option<LogError>, LogError> {
        let mut window = Vec::new();
        loop {
            match stream.next_mark(&mut window) {
                Ok(Some(_)) => self.leave_out(&window, last),
                Ok(None) => return Ok(stream.end.as_ref().and_then(corruption)),
                Err(corrupt @ LogError::Corrupt { .. }) => return Ok(Some(corrupt)),
                Err(error) => return Err(error),
            }
            window.clear();
        }
    }

    /// What is wrong with the header of a file that is needed of a generation. One that has nothing behind its header counts for nothing: it
    /// was begun, and not yet synced.
    fn unreadable_of(&self, generation: u32, manifest: &Manifest) -> Option<LogError> {
        let is_needed = |name: LogFileName| {
            let checkpoint = manifest.checkpoint.as_ref();
            name.generation == generation && checkpoint.is_none_or(|checkpoint| checkpoint.needs(name))
        };
        let needed = self.unreadable.iter().find(|file| file.is_long && file.name.is_some_and(is_needed))?;
        Some(LogError::Corrupt { file: needed.path.clone(), offset: 0, why: needed.why.clone() })
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
        let unreadable = self.unreadable.iter().find(|unreadable| unreadable.path == file);
        let why = unreadable.map_or("it is missing".to_owned(), |unreadable| unreadable.why.clone());
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
