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
//! 512 bytes or zeroes in its place; where they replaced zeroes that had been synced, each sector as it was or as it is. Zeroes that were
//! taken back may be there again. Of the names of a folder: what was synced, and the first few of the changes since. So bytes
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
    Create {
        folder: PathBuf,
        name: String,
        file: usize,
    },
    /// At a byte up to which the file was appended to; whether that is all that was to be appended.
    Append {
        file: usize,
        at: usize,
        bytes: Vec<u8>,
        is_whole: bool,
    },
    /// Zeroes from the file's end on, up to there.
    Zero {
        file: usize,
        end: usize,
    },
    /// Only what was appended, which ends there, stays.
    Trim {
        file: usize,
        len: usize,
    },
    Sync {
        file: usize,
    },
    Rename {
        folder: PathBuf,
        from: String,
        to: String,
    },
    Remove {
        folder: PathBuf,
        name: String,
    },
    SyncFolder {
        folder: PathBuf,
    },
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
    /// It is not done, and whoever does it panics.
    Panic,
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
            Operation::Append { .. } | Operation::Zero { .. } | Operation::Trim { .. } => {}
            Operation::Sync { .. } | Operation::SyncFolder { .. } => {}
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

/// A bit that was flipped.
#[derive(Clone, Debug)]
pub struct Flipped {
    /// Of which file.
    pub path: PathBuf,
    /// In which byte.
    pub byte: u64,
    /// Whether somebody may know that the byte had been synced: something was appended to its file since, and not only a part of that. Who
    /// writes down what had been synced writes a checksum, too, and of a part nobody can tell what it says.
    pub is_known: bool,
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
                Operation::Append { file, bytes, .. } => {
                    format!("append {} bytes to file {file}", bytes.len())
                }
                Operation::Zero { file, end } => format!("zeroes in file {file} up to byte {end}"),
                Operation::Trim { file, len } => format!("trim file {file} to {len} bytes"),
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

    /// The disk as it is after the first `operations` operations, everything written: what survives the end of a process. It has the
    /// journal until then: what was not synced, a crash may still lose.
    pub fn after(&self, operations: usize) -> Disk {
        let state = self.lock();
        let (before, journal) = (state.before.clone(), state.journal[..operations].to_vec());
        let mut now = before.clone();
        for (operation, _) in &journal {
            apply(&mut now, operation);
        }
        let state = State { before, now, journal, ..State::default() };
        Disk { state: Arc::new(Mutex::new(state)), acknowledged: Arc::default() }
    }

    /// The disk as it may be after a crash that came when the first `operations` operations had ended, and the next one had
    /// perhaps begun.
    pub fn after_crash(&self, operations: usize, random: &mut Rng) -> Disk {
        self.after_crash_of(operations, random, |_| true)
    }

    /// The same where only some folders are of the machine that crashed; what others have written is there, whether it was synced or not.
    pub fn after_crash_of(
        &self,
        operations: usize,
        random: &mut Rng,
        crashed: impl Fn(&Path) -> bool,
    ) -> Disk {
        let state = self.lock();
        let mut written = state.before.clone();
        let mut unsynced: Vec<Unsynced> = written.files.iter().map(|bytes| Unsynced::none(bytes)).collect();
        let (mut names, mut pending) = (state.before.clone(), BTreeMap::<PathBuf, Vec<&Operation>>::new());
        let begun = state.journal.len().min(operations + 1);
        for (number, (operation, _)) in state.journal[..begun].iter().enumerate() {
            let has_ended = number < operations;
            match operation {
                Operation::Append { file, .. }
                | Operation::Zero { file, .. }
                | Operation::Trim { file, .. } => {
                    unsynced[*file].note(&written.files[*file], operation);
                    apply(&mut written, operation);
                }
                Operation::Sync { file } if has_ended => {
                    unsynced[*file] = Unsynced::none(&written.files[*file]);
                }
                Operation::SyncFolder { folder } if has_ended => {
                    pending.remove(folder).iter().flatten().for_each(|change| names.change_name(change));
                }
                Operation::Sync { .. } | Operation::SyncFolder { .. } => {}
                Operation::Create { folder, .. }
                | Operation::Rename { folder, .. }
                | Operation::Remove { folder, .. } => {
                    apply(&mut written, operation);
                    unsynced.resize_with(written.files.len(), Unsynced::default);
                    pending.entry(folder.clone()).or_default().push(operation);
                }
            }
        }
        for (folder, changes) in &pending {
            let survive = if crashed(folder) { random.usize(..=changes.len()) } else { changes.len() };
            changes[..survive].iter().for_each(|change| names.change_name(change));
        }
        let mut loses = vec![true; written.files.len()];
        for (_, names) in written.names.iter().filter(|(folder, _)| !crashed(folder)) {
            names.values().for_each(|file| loses[*file] = false);
        }
        for ((bytes, unsynced), loses) in written.files.iter_mut().zip(&unsynced).zip(loses) {
            if loses {
                unsynced.lose(bytes, random);
            }
        }
        Disk::with(Contents { names: names.names, files: written.files })
    }

    /// Flips one bit of one file, drawn at random, as if it had always been so. `None`: there is no byte.
    pub fn flip(&self, random: &mut Rng) -> Option<Flipped> {
        let mut state = self.lock();
        let State { now, before, journal, .. } = &mut *state;
        let named = now
            .names
            .iter()
            .flat_map(|(folder, names)| names.iter().map(move |(name, file)| (folder.join(name), *file)));
        let filled: Vec<(PathBuf, usize)> = named.filter(|(_, file)| !now.files[*file].is_empty()).collect();
        let (path, file) = random.choice(filled)?;
        let byte = random.usize(..now.files[file].len());
        now.files[file][byte] ^= 1 << random.u8(..8);
        let is_known = byte < known_to_be_synced(before, journal, file);
        *before = now.clone();
        journal.clear();
        Some(Flipped { path, byte: byte as u64, is_known })
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
        let failing = state.faults.iter().find(|fault| fault.operation == number).map(|fault| fault.failing);
        drop(state);
        assert!(failing != Some(Failing::Panic), "operation {number} of the disk panics");
        failing
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
            Operation::Append { file, .. } | Operation::Zero { file, .. } => {
                let bytes = match operation {
                    Operation::Append { bytes, .. } => bytes.len(),
                    Operation::Zero { end, .. } => end - self.lock().now.files[*file].len(),
                    _ => 0,
                };
                *self.lock().dirty.entry(*file).or_default() += bytes as u64;
                now + times.write_ns(bytes as u64)
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
            Operation::Create { .. }
            | Operation::Rename { .. }
            | Operation::Remove { .. }
            | Operation::Trim { .. } => now + times.call_ns,
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
            Some(Failing::Panic) => unreachable!("it has panicked"),
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
        Operation::Append { file, at, bytes, .. } => {
            let content = &mut contents.files[*file];
            let length = content.len().max(at + bytes.len());
            content.resize(length, 0);
            content[*at..at + bytes.len()].copy_from_slice(bytes);
        }
        Operation::Zero { file, end } => contents.files[*file].resize(*end, 0),
        Operation::Trim { file, len } => contents.files[*file].truncate(*len),
        _ => {}
    }
}

/// Bytes at the start of a file of which somebody may know that they had been synced: those that were when the last of it was appended as a
/// whole, or the last part of it.
fn known_to_be_synced(before: &Contents, journal: &[(Operation, u64)], wanted: usize) -> usize {
    let length = before.files.get(wanted).map_or(0, Vec::len);
    let (mut length, mut synced, mut known) = (length, length, length);
    for (operation, _) in journal {
        match operation {
            Operation::Append { file, at, bytes, is_whole } if *file == wanted => {
                length = at + bytes.len();
                known = if *is_whole { synced } else { known };
            }
            Operation::Sync { file } if *file == wanted => synced = length,
            _ => {}
        }
    }
    known
}

/// What of a file a crash may lose.
#[derive(Clone, Debug, Default)]
struct Unsynced {
    /// Bytes that were synced, whatever they were then, and are there.
    synced: usize,
    /// By number: sectors among them that were written since, as they had been synced.
    replaced: BTreeMap<usize, Vec<u8>>,
    /// Where zeroes ended that were taken back since.
    zeroes_to: usize,
}

impl Unsynced {
    /// Nothing, of a file with these bytes.
    fn none(bytes: &[u8]) -> Self {
        Unsynced { synced: bytes.len(), ..Unsynced::default() }
    }

    /// An operation on the file, which has these bytes, is about to be done.
    fn note(&mut self, bytes: &[u8], operation: &Operation) {
        match operation {
            Operation::Append { at, bytes: appended, .. } if *at < self.synced => {
                let end = (at + appended.len()).min(self.synced);
                for sector in at / SECTOR_BYTES..end.div_ceil(SECTOR_BYTES) {
                    let from = sector * SECTOR_BYTES;
                    let to = (from + SECTOR_BYTES).min(self.synced);
                    self.replaced.entry(sector).or_insert_with(|| bytes[from..to].to_vec());
                }
            }
            Operation::Trim { len, .. } => {
                self.zeroes_to = self.zeroes_to.max(self.synced);
                self.synced = self.synced.min(*len);
                self.replaced.retain(|sector, before| {
                    before.truncate(len.saturating_sub(sector * SECTOR_BYTES));
                    !before.is_empty()
                });
            }
            _ => {}
        }
    }

    /// Leaves of the file's bytes what a crash does.
    fn lose(&self, bytes: &mut Vec<u8>, random: &mut Rng) {
        let length = random.usize(self.synced..=bytes.len());
        bytes.truncate(length);
        let keep_one_in = random.usize(1..=3);
        let mut at = self.synced;
        while at < bytes.len() {
            let end = ((at / SECTOR_BYTES + 1) * SECTOR_BYTES).min(bytes.len());
            if random.usize(..4) >= keep_one_in {
                bytes[at..end].fill(0);
            }
            at = end;
        }
        for (sector, before) in &self.replaced {
            if random.bool() {
                let from = sector * SECTOR_BYTES;
                bytes[from..from + before.len()].copy_from_slice(before);
            }
        }
        if self.zeroes_to > bytes.len() && random.bool() {
            bytes.resize(self.zeroes_to, 0);
        }
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
        Ok(File { disk: self.disk.clone(), file, len: 0, zeroed: 0 })
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
    /// Where zeroes end that were written ahead, if that is beyond `len`.
    zeroed: u64,
}

impl File {
    /// Appends some of the bytes, and answers how many.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let at = self.len as usize;
        let all = bytes.len();
        let operation = |bytes: &[u8]| {
            let is_whole = bytes.len() == all;
            Operation::Append { file: self.file, at, bytes: bytes.to_vec(), is_whole }
        };
        self.disk.take_time(&operation(bytes));
        let failing = self.disk.begin();
        let written = match failing {
            None => bytes.len(),
            Some(Failing::Device | Failing::Panic) => 0,
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
            Some(Failing::Panic) => unreachable!("it has panicked"),
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

    /// Zeroes that stand behind what was appended.
    pub fn zeroes_ahead(&self) -> u64 {
        self.zeroed.saturating_sub(self.len)
    }

    /// Writes so many zeroes behind what was appended, for appends to replace. A hint.
    pub fn zero_ahead(&mut self, bytes: u64) {
        let end = self.len + bytes;
        if self.zeroed < end
            && self.disk.whole(Operation::Zero { file: self.file, end: end as usize }).is_ok()
        {
            self.zeroed = end;
        }
    }

    /// Takes the zeroes back that stand behind what was appended.
    pub fn trim(&mut self) -> io::Result<()> {
        if self.zeroes_ahead() > 0 {
            self.disk.whole(Operation::Trim { file: self.file, len: self.len as usize })?;
            self.zeroed = self.len;
        }
        Ok(())
    }

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

    /// Makes all of it durable, whoever wrote it.
    pub fn sync(&self) -> io::Result<()> {
        self.disk.whole(Operation::Sync { file: self.file })
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
