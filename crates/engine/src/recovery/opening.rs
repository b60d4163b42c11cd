//! Opening a log, to write to it: a new one, or the next generation of one that a store was recovered from.
//!
//! A folder belongs to one log. All folders of a log are locked while it is open; one that has files of another log is refused, and so
//! is one that has what a log wrote and no manifest.
//!
//! 1. What was recovered is made durable. The process before may have ended after it wrote and before it synced: recovery has read, from the
//!    system's memory, what the machine may still lose. (That a sync of that process had failed, nobody can tell any more.)
//! 2. What was begun and never counted is removed: files of an opening that was cut off before its manifest was there. Such files have
//!    nothing but their header, or less; others are of a later manifest than that which is there, and the log is refused.
//! 3. What a checkpoint has made superfluous is removed.
//! 4. The generation's files are begun, and its manifest is written ([`Log::open`]).

use crate::durability::checkpoint::files::{is_rows_file, remove_outdated};
use crate::durability::format::{FILE_HEADER_BYTES, FileHeader};
use crate::durability::log::{Log, io_error};
use crate::durability::manifest::{self, Earlier, LoggedTable, Manifest, RecoveredLog};
use crate::durability::scan::{LogFileName, is_log_file};
use crate::facade::clock;
use crate::facade::disk::{Folder, FolderLock};
use crate::storage::Store;
use contract::{DurabilityCanary, LogError, LogOptions};
use std::io;
use std::path::PathBuf;

/// The file by which processes keep each other out.
pub(crate) const LOCK: &str = "LOCK";

/// The lock, or who else has it.
pub(crate) fn locked(folder: &Folder, lock: io::Result<Option<FolderLock>>) -> Result<FolderLock, LogError> {
    let lock = lock.map_err(|why| io_error("lock", folder.path(), &why))?;
    lock.ok_or_else(|| LogError::Locked { folder: folder.path().to_owned() })
}

/// Refuses folders in which [`open_log`] would not begin a new log. Changes nothing.
pub(crate) fn admit_new_log(folders: &[PathBuf]) -> Result<(), LogError> {
    let find = |path: &PathBuf| Folder::find(path).map_err(|why| io_error("open", path, &why));
    let folders: Vec<Option<Folder>> = folders.iter().map(find).collect::<Result<_, _>>()?;
    let lock = |folder: &Folder| locked(folder, folder.lock_to_read(LOCK));
    let _locks: Vec<FolderLock> = folders.iter().flatten().map(lock).collect::<Result<_, _>>()?;
    if let Some(Some(first)) = folders.first()
        && manifest::read(first)?.is_some()
    {
        return Err(LogError::Occupied { folder: first.path().to_owned() });
    }
    let there = (0..).zip(&folders).filter_map(|(number, folder)| Some((number, folder.as_ref()?)));
    Found::list(there)?.begun(None, 0).map(drop)
}

/// Gives a store a log: a new one, or the next generation of that which it was recovered from.
pub(crate) fn open_log(store: &mut Store, options: &LogOptions) -> Result<Log, LogError> {
    let open = |path: &PathBuf| Folder::open(path).map_err(|why| io_error("open", path, &why));
    let folders: Vec<Folder> = options.folders.iter().map(open).collect::<Result<_, _>>()?;
    let is_first = |&(number, folder): &(usize, &Folder)| {
        folders[..number].iter().all(|other| other.path() != folder.path())
    };
    let locks = folders.iter().enumerate().filter(is_first);
    let locks = locks.map(|(_, folder)| locked(folder, folder.lock(LOCK)));
    let locks: Vec<FolderLock> = locks.collect::<Result<_, _>>()?;
    let there = manifest::read(&folders[0])?;
    let found = Found::list((0..).zip(&folders))?;
    let manifest = match (there, store.recovered.take()) {
        (None, _) => {
            found.remove_begun(None, 0)?;
            Manifest {
                log: format!("{:032x}", fastrand::Rng::with_seed(clock::now().0).u128(1..)),
                generation: 0,
                loggers: options.loggers as u32,
                earlier: Vec::new(),
                tables: logged_tables(store),
                origin: options.origin.clone(),
                checkpoint: None,
            }
        }
        (Some(there), Some(RecoveredLog { manifest, epoch })) if there == manifest => {
            let next = next_generation(manifest, epoch, options.loggers as u32);
            if options.canary != Some(DurabilityCanary::UnsyncedRecovery) {
                found.make_durable(&folders)?;
            }
            found.remove_begun(Some(next.log()), next.generation)?;
            next
        }
        (Some(_), _) => return Err(LogError::Occupied { folder: folders[0].path().to_owned() }),
    };
    remove_outdated(&folders, &manifest)?;
    Log::open(options, &folders, locks, &manifest, store.epochs().current())
}

/// The manifest of the generation that follows on one that was recovered up to `epoch`. If that was salvaged, nothing later counts in the
/// generations before, either.
fn next_generation(manifest: Manifest, epoch: u64, loggers: u32) -> Manifest {
    let last = Earlier { loggers: manifest.loggers, epoch };
    let mut next = Manifest { generation: manifest.generation + 1, loggers, ..manifest };
    next.earlier.push(last);
    next.earlier.iter_mut().for_each(|earlier| earlier.epoch = earlier.epoch.min(epoch));
    next
}

fn logged_tables(store: &Store) -> Vec<LoggedTable> {
    store.tables.iter().map(|table| LoggedTable::of(&table.description)).collect()
}

/// A log's files in its folders, and whatever calls itself one.
struct Found(Vec<FoundFile>);

struct FoundFile {
    folder: Folder,
    /// Whether that is the log's first.
    is_first_folder: bool,
    name: String,
    bytes: u64,
    /// Of a file of redo records, if it can be read.
    header: Option<FileHeader>,
}

impl Found {
    /// What is in the log's folders, by their numbers.
    fn list<'f>(folders: impl Iterator<Item = (usize, &'f Folder)>) -> Result<Found, LogError> {
        let mut found = Vec::new();
        for (number, folder) in folders {
            for name in folder.names().map_err(|why| io_error("list", folder.path(), &why))? {
                if number > 0 && name == manifest::NAME {
                    return Err(LogError::Occupied { folder: folder.path().to_owned() });
                }
                if is_log_file(&name) || is_rows_file(&name) {
                    found.push(FoundFile::look_at(folder, number == 0, name)?);
                }
            }
        }
        Ok(Found(found))
    }

    /// Makes the files and their names durable.
    fn make_durable(&self, folders: &[Folder]) -> Result<(), LogError> {
        for file in &self.0 {
            let synced = file.folder.open_file(&file.name).and_then(|file| file.sync());
            synced.map_err(|why| io_error("sync", &file.path(), &why))?;
        }
        let sync = |folder: &Folder| folder.sync().map_err(|why| io_error("sync", folder.path(), &why));
        folders.iter().try_for_each(sync)
    }

    /// Removes what an opening that was cut off has left of generation `next`, or of a log that never was.
    fn remove_begun(&self, log: Option<u128>, next: u32) -> Result<(), LogError> {
        self.begun(log, next)?.into_iter().try_for_each(FoundFile::remove)
    }

    /// What [`Found::remove_begun`] removes; refuses what is of another log, or of a later manifest than the one there.
    fn begun(&self, log: Option<u128>, next: u32) -> Result<Vec<&FoundFile>, LogError> {
        let mut begun = Vec::new();
        // Those whose first manifest was never written: it would be where the first logger's first file is.
        let never_were: Vec<u128> = self
            .0
            .iter()
            .filter(|file| log.is_none() && file.is_first_folder && file.is_empty())
            .filter_map(|file| file.header.filter(|header| header.logger == 0).map(|header| header.log))
            .collect();
        for file in &self.0 {
            let generation = LogFileName::read(&file.name).map(|name| name.generation);
            let is_later = generation.is_some_and(|generation| generation >= next);
            match file.header {
                Some(header) if Some(header.log) == log && !is_later => {}
                Some(header) if Some(header.log) == log || never_were.contains(&header.log) => {
                    begun.push(file.must_be_empty(next)?);
                }
                Some(_) if log.is_none() => return Err(file.has_no_manifest()),
                Some(_) => return Err(LogError::Occupied { folder: file.folder.path().to_owned() }),
                None if is_later || log.is_none() => begun.push(file.must_be_empty(next)?),
                // Recovery knows whether it is needed; rows of a checkpoint that is not there any more go with the next step.
                None => {}
            }
        }
        Ok(begun)
    }
}

impl FoundFile {
    fn look_at(folder: &Folder, is_first_folder: bool, name: String) -> Result<FoundFile, LogError> {
        let path = folder.path().join(&name);
        let mut file = folder.open_file(&name).map_err(|why| io_error("open", &path, &why))?;
        let mut bytes = [0; FILE_HEADER_BYTES];
        let read = file.read_at(0, &mut bytes).map_err(|why| io_error("read", &path, &why))?;
        let header = FileHeader::decode(&bytes[..read]).ok();
        Ok(FoundFile { folder: folder.clone(), is_first_folder, name, bytes: file.len(), header })
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join(&self.name)
    }

    /// Whether it has a header at most.
    fn is_empty(&self) -> bool {
        self.bytes <= FILE_HEADER_BYTES as u64
    }

    fn remove(&self) -> Result<(), LogError> {
        self.folder.remove(&self.name).map_err(|why| io_error("remove", &self.path(), &why))
    }

    fn must_be_empty(&self, next: u32) -> Result<&FoundFile, LogError> {
        match self.is_empty() {
            true => Ok(self),
            false if next == 0 => Err(self.has_no_manifest()),
            false => Err(LogError::Corrupt {
                file: self.folder.path().join(manifest::NAME),
                offset: 0,
                why: format!("the log had been opened {next} times, it says, and {} is later", self.name),
            }),
        }
    }

    fn has_no_manifest(&self) -> LogError {
        manifest::missing(&self.folder, &self.name)
    }
}
