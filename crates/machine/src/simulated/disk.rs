//! A disk in memory, as [`crate::hardware::disk`] is one of the system's, that keeps a journal of what is done to it, so that it
//! can be had as it would be after a crash at any point ([`Disk::after_crash`]), and that fails where it is told to ([`Fault`]).
//!
//! Folders are those of the disk that the thread is [`on`](Disk::on); without one, each folder that is opened is on an empty disk of
//! its own. An operation lets other cores go on before and after it.
//!
//! **On a machine with clocks** operations take the time that its file says ([`description::Disk`](super::description::Disk)), if a core does them:
//! what is appended is copied, and a sync waits for the disk, which does one after the other. There is no journal then.
//!
//! **What survives a crash.** Of a file: what was synced; of the bytes appended since, up to a length drawn at random, each sector of
//! 512 bytes or zeroes in its place. Of the names of a folder: what was synced, and the first few of the changes since. So bytes
//! that were written later may be there and earlier ones not, and a file may be there without its bytes.

use super::access::{Access, access, timed};
use super::{clock, worker};
use fastrand::Rng;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is written or lost as a whole.
const SECTOR_BYTES: usize = 512;

thread_local! {
    static CURRENT: RefCell<Option<Disk>> = const { RefCell::new(None) };
}

/// What is done to a disk.
#[derive(Clone, Debug)]
enum Operation {
    Create { folder: PathBuf, name: String, file: usize },
    Append { file: usize, bytes: Vec<u8> },
    Sync { file: usize },
    Rename { folder: PathBuf, from: String, to: String },
    Remove { folder: PathBuf, name: String },
    SyncFolder { folder: PathBuf },
}

/// How an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failing {
    /// With an error of the device, and it may have been done or not.
    Device,
    /// For lack of room: an append is done in part.
    NoSpace,
    /// An append is done in part, and says so.
    Short,
}

/// A fault: the operation of this number fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Among the operations that change the disk, from 0.
    pub operation: usize,
    /// How.
    pub failing: Failing,
}

/// Names and files, as they are or as they would be.
#[derive(Clone, Debug, Default)]
struct Contents {
    /// By folder and name, the file's number.
    names: BTreeMap<PathBuf, BTreeMap<String, usize>>,
    files: Vec<Vec<u8>>,
}

impl Contents {
    fn change_name(&mut self, operation: &Operation) {
        match operation {
            Operation::Create { folder, name, file } => {
                self.names.entry(folder.clone()).or_default().insert(name.clone(), *file);
            }
            Operation::Rename { folder, from, to } => {
                let names = self.names.entry(folder.clone()).or_default();
                if let Some(file) = names.remove(from) {
                    names.insert(to.clone(), file);
                }
            }
            Operation::Remove { folder, name } => {
                self.names.entry(folder.clone()).or_default().remove(name);
            }
            Operation::Append { .. } | Operation::Sync { .. } | Operation::SyncFolder { .. } => {}
        }
    }
}

#[derive(Debug, Default)]
struct State {
    /// Before the first operation.
    before: Contents,
    now: Contents,
    /// Each with what was acknowledged before it.
    journal: Vec<(Operation, u64)>,
    faults: Vec<Fault>,
    /// Operations begun, those that failed included.
    begun: usize,
    /// By file: bytes appended that were not synced. On a machine with clocks.
    dirty: BTreeMap<usize, u64>,
    /// When the disk has done all that it was asked to, likewise.
    idle_from_ns: u64,
}

/// A disk; what was cloned from it is the same one.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    state: Arc<Mutex<State>>,
    acknowledged: Arc<AtomicU64>,
}

impl Disk {
    /// An empty one.
    pub fn new() -> Disk {
        Disk::default()
    }

    /// One that fails where it is told to.
    pub fn failing(faults: Vec<Fault>) -> Disk {
        let disk = Disk::default();
        disk.lock().faults = faults;
        disk
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // What it holds is sound after any panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `f` on this disk: folders that it opens on this thread are here.
    pub fn on<R>(&self, f: impl FnOnce() -> R) -> R {
        struct Before(Option<Disk>);
        impl Drop for Before {
            fn drop(&mut self) {
                CURRENT.with(|current| current.replace(self.0.take()));
            }
        }
        let _before = Before(CURRENT.with(|current| current.replace(Some(self.clone()))));
        f()
    }

    /// Says what somebody was told: kept beside every operation from now on. It only grows.
    pub fn acknowledge(&self, what: u64) {
        // Relaxed: on one thread with the operations.
        self.acknowledged.fetch_max(what, Ordering::Relaxed);
    }

    /// Operations that have changed it.
    pub fn operations(&self) -> usize {
        self.lock().journal.len()
    }

    /// The operations, one a line, each with what had been acknowledged before it.
    pub fn journal(&self) -> String {
        let state = self.lock();
        let line = |(number, (operation, acknowledged)): (usize, &(Operation, u64))| {
            let operation = match operation {
                Operation::Append { file, bytes } => format!("append {} bytes to file {file}", bytes.len()),
                Operation::Create { name, file, .. } => format!("create {name}, file {file}"),
                Operation::Sync { file } => format!("sync file {file}"),
                Operation::Rename { from, to, .. } => format!("rename {from} to {to}"),
                Operation::Remove { name, .. } => format!("remove {name}"),
                Operation::SyncFolder { folder } => format!("sync folder {}", folder.display()),
            };
            format!("{number}: {operation}, acknowledged before: {acknowledged}\n")
        };
        state.journal.iter().enumerate().map(line).collect()
    }

    /// What somebody had been told before operation `number`; after the last one, what they have been told by now.
    pub fn acknowledged_before(&self, number: usize) -> u64 {
        // Relaxed: as above.
        let by_now = || self.acknowledged.load(Ordering::Relaxed);
        self.lock().journal.get(number).map_or_else(by_now, |(_, acknowledged)| *acknowledged)
    }

    /// The disk as it is after the first `operations` operations, everything written: what survives the end of a process.
    pub fn after(&self, operations: usize) -> Disk {
        let state = self.lock();
        let mut contents = state.before.clone();
        for (operation, _) in &state.journal[..operations] {
            apply(&mut contents, operation);
        }
        Disk::with(contents)
    }

    /// The disk as it may be after a crash that came when the first `operations` operations had ended, and the next one had
    /// perhaps begun.
    pub fn after_crash(&self, operations: usize, random: &mut Rng) -> Disk {
        let state = self.lock();
        let mut written = state.before.clone();
        let mut synced: Vec<usize> = written.files.iter().map(Vec::len).collect();
        let (mut names, mut pending) = (state.before.clone(), BTreeMap::<PathBuf, Vec<&Operation>>::new());
        let begun = state.journal.len().min(operations + 1);
        for (number, (operation, _)) in state.journal[..begun].iter().enumerate() {
            let has_ended = number < operations;
            match operation {
                Operation::Append { .. } => apply(&mut written, operation),
                Operation::Sync { file } if has_ended => synced[*file] = written.files[*file].len(),
                Operation::SyncFolder { folder } if has_ended => {
                    pending.remove(folder).iter().flatten().for_each(|change| names.change_name(change));
                }
                Operation::Sync { .. } | Operation::SyncFolder { .. } => {}
                Operation::Create { folder, .. }
                | Operation::Rename { folder, .. }
                | Operation::Remove { folder, .. } => {
                    apply(&mut written, operation);
                    synced.resize(written.files.len(), 0);
                    pending.entry(folder.clone()).or_default().push(operation);
                }
            }
        }
        for changes in pending.values() {
            let survive = random.usize(..=changes.len());
            changes[..survive].iter().for_each(|change| names.change_name(change));
        }
        for (bytes, synced) in written.files.iter_mut().zip(&synced) {
            lose(bytes, *synced, random);
        }
        Disk::with(Contents { names: names.names, files: written.files })
    }

    /// Flips one bit of one file, drawn at random; answers which file's, and at which byte. `None`: there is no byte.
    pub fn flip(&self, random: &mut Rng) -> Option<(PathBuf, u64)> {
        let mut state = self.lock();
        let State { now, before, .. } = &mut *state;
        let named = now
            .names
            .iter()
            .flat_map(|(folder, names)| names.iter().map(move |(name, file)| (folder.join(name), *file)));
        let filled: Vec<(PathBuf, usize)> = named.filter(|(_, file)| !now.files[*file].is_empty()).collect();
        let (path, file) = random.choice(filled)?;
        let byte = random.usize(..now.files[file].len());
        now.files[file][byte] ^= 1 << random.u8(..8);
        *before = now.clone();
        Some((path, byte as u64))
    }

    fn with(contents: Contents) -> Disk {
        let state = State { before: contents.clone(), now: contents, ..State::default() };
        Disk { state: Arc::new(Mutex::new(state)), acknowledged: Arc::default() }
    }

    /// Does an operation, if it does not fail; `None`: it is done. Otherwise what is left of it to do.
    fn begin(&self) -> Option<Failing> {
        let mut state = self.lock();
        let number = state.begun;
        state.begun += 1;
        state.faults.iter().find(|fault| fault.operation == number).map(|fault| fault.failing)
    }

    fn done(&self, operation: Operation) {
        // Relaxed: as in `acknowledge`.
        let acknowledged = self.acknowledged.load(Ordering::Relaxed);
        let mut state = self.lock();
        apply(&mut state.now, &operation);
        if timed().is_none() {
            state.journal.push((operation, acknowledged));
        }
    }

    /// Lets the time pass that an operation takes.
    fn take_time(&self, operation: &Operation) {
        let Some(machine) = timed().filter(|machine| machine.core().is_some()) else { return others_go_on() };
        let Some(times) = machine.disk() else {
            panic!("the machine has no disk: its file has no table [disk]")
        };
        let now = clock::passed_ns();
        let end = match operation {
            Operation::Append { file, bytes } => {
                *self.lock().dirty.entry(*file).or_default() += bytes.len() as u64;
                now + times.write_ns(bytes.len() as u64)
            }
            Operation::Sync { .. } | Operation::SyncFolder { .. } => {
                let mut state = self.lock();
                let bytes = match operation {
                    Operation::Sync { file } => state.dirty.remove(file).unwrap_or(0),
                    _ => 0,
                };
                state.idle_from_ns = now.max(state.idle_from_ns) + times.sync_ns(bytes);
                state.idle_from_ns
            }
            Operation::Create { .. } | Operation::Rename { .. } | Operation::Remove { .. } => {
                now + times.call_ns
            }
        };
        // If all workers have ended, nobody is there to whom the rest of it would matter.
        machine.sleep_until(end);
    }

    /// An operation that is done or is not.
    fn whole(&self, operation: Operation) -> io::Result<()> {
        self.take_time(&operation);
        let failing = self.begin();
        // Of a device that fails nobody knows what it has done: here, nothing.
        let result = match failing {
            None | Some(Failing::Short) => {
                self.done(operation);
                Ok(())
            }
            Some(Failing::Device) => Err(io::Error::other("the device failed")),
            Some(Failing::NoSpace) => Err(io::Error::new(ErrorKind::StorageFull, "no space left on device")),
        };
        others_go_on();
        result
    }
}

fn apply(contents: &mut Contents, operation: &Operation) {
    contents.change_name(operation);
    match operation {
        Operation::Create { file, .. } => {
            let files = contents.files.len().max(file + 1);
            contents.files.resize_with(files, Vec::new);
        }
        Operation::Append { file, bytes } => contents.files[*file].extend_from_slice(bytes),
        _ => {}
    }
}

/// What a crash leaves of a file of which so many bytes were synced.
fn lose(bytes: &mut Vec<u8>, synced: usize, random: &mut Rng) {
    let length = random.usize(synced..=bytes.len());
    bytes.truncate(length);
    let keep_one_in = random.usize(1..=3);
    let mut at = synced;
    while at < bytes.len() {
        let end = ((at / SECTOR_BYTES + 1) * SECTOR_BYTES).min(bytes.len());
        if random.usize(..4) >= keep_one_in {
            bytes[at..end].fill(0);
        }
        at = end;
    }
}

/// Lets other cores go on, if a core does this.
fn others_go_on() {
    if worker::current().is_some() {
        access(Access::Pause);
    }
}

fn missing(name: &str) -> io::Error {
    io::Error::new(ErrorKind::NotFound, format!("no file '{name}'"))
}

/// A folder of files; what was cloned from it is the same one.
#[derive(Clone, Debug)]
pub struct Folder {
    path: Arc<PathBuf>,
    disk: Disk,
}

impl Folder {
    /// The folder at a path of the disk that the thread is on; of an empty one, if it is on none.
    pub fn open(path: &Path) -> io::Result<Folder> {
        let disk = CURRENT.with(|current| current.borrow().clone()).unwrap_or_default();
        Ok(Folder { path: Arc::new(path.to_owned()), disk })
    }

    /// The folder at a path, if there is something in it.
    pub fn find(path: &Path) -> io::Result<Option<Folder>> {
        let folder = Folder::open(path)?;
        let is_there = folder.disk.lock().now.names.contains_key(path);
        Ok(is_there.then_some(folder))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The names of its files, in their order.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let state = self.disk.lock();
        Ok(state.now.names.get(&*self.path).map_or_else(Vec::new, |names| names.keys().cloned().collect()))
    }

    fn file(&self, name: &str) -> Option<usize> {
        self.disk.lock().now.names.get(&*self.path).and_then(|names| names.get(name)).copied()
    }

    fn folder(&self) -> PathBuf {
        PathBuf::clone(&self.path)
    }

    /// A new file, to be appended to; an error if there is one of this name.
    pub fn create(&self, name: &str) -> io::Result<File> {
        if self.file(name).is_some() {
            return Err(io::Error::new(ErrorKind::AlreadyExists, format!("file '{name}' is there")));
        }
        // Reserved before others go on.
        let file = {
            let mut state = self.disk.lock();
            state.now.files.push(Vec::new());
            state.now.files.len() - 1
        };
        self.disk.whole(Operation::Create { folder: self.folder(), name: name.to_owned(), file })?;
        Ok(File { disk: self.disk.clone(), file, len: 0 })
    }

    /// A file, to be read from its first byte on.
    pub fn open_file(&self, name: &str) -> io::Result<Reader> {
        let file = self.file(name).ok_or_else(|| missing(name))?;
        let len = self.disk.lock().now.files[file].len() as u64;
        Ok(Reader { disk: self.disk.clone(), file, len })
    }

    /// Gives a file another name, in the place of any that has it.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.file(from).ok_or_else(|| missing(from))?;
        self.disk.whole(Operation::Rename { folder: self.folder(), from: from.to_owned(), to: to.to_owned() })
    }

    /// Removes a file; nothing, if there is none.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        match self.file(name) {
            Some(_) => self.disk.whole(Operation::Remove { folder: self.folder(), name: name.to_owned() }),
            None => Ok(()),
        }
    }

    /// Makes the names of its files durable.
    pub fn sync(&self) -> io::Result<()> {
        self.disk.whole(Operation::SyncFolder { folder: self.folder() })
    }

    /// Nobody else is there to be kept out.
    pub fn lock(&self, _name: &str) -> io::Result<Option<FolderLock>> {
        Ok(Some(FolderLock {}))
    }

    /// The same.
    pub fn lock_to_read(&self, _name: &str) -> io::Result<Option<FolderLock>> {
        Ok(Some(FolderLock {}))
    }
}

/// A folder that is locked.
#[derive(Debug)]
pub struct FolderLock {}

/// A file that is appended to.
#[derive(Debug)]
pub struct File {
    disk: Disk,
    file: usize,
    len: u64,
}

impl File {
    /// Appends some of the bytes, and answers how many.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let operation = |bytes: &[u8]| Operation::Append { file: self.file, bytes: bytes.to_vec() };
        self.disk.take_time(&operation(bytes));
        let failing = self.disk.begin();
        let written = match failing {
            None => bytes.len(),
            Some(Failing::Device) => 0,
            Some(Failing::Short | Failing::NoSpace) => bytes.len() / 2,
        };
        if written > 0 {
            self.disk.done(operation(&bytes[..written]));
            self.len += written as u64;
        }
        others_go_on();
        match failing {
            Some(Failing::Device) => Err(io::Error::other("the device failed")),
            Some(Failing::NoSpace) => Err(io::Error::new(ErrorKind::StorageFull, "no space left on device")),
            None | Some(Failing::Short) => Ok(written),
        }
    }

    /// Bytes appended.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether nothing was appended.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Asks for room: nothing to do.
    pub fn reserve(&self, _bytes: u64) {}

    /// Makes what was appended durable.
    pub fn sync(&mut self) -> io::Result<()> {
        self.disk.whole(Operation::Sync { file: self.file })
    }
}

/// A file that is read.
#[derive(Debug)]
pub struct Reader {
    disk: Disk,
    file: usize,
    len: u64,
}

impl Reader {
    /// Bytes that it had when it was opened.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether it had none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Reads from byte `offset` on, until `into` is full or the file has ended; answers how many bytes.
    pub fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let state = self.disk.lock();
        let content = &state.now.files[self.file];
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(content.len());
        let read = into.len().min(content.len() - from);
        into[..read].copy_from_slice(&content[from..from + read]);
        Ok(read)
    }
}

#[cfg(test)]
mod tests;
