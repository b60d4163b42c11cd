//! What reads a log, given files that no logger has written: it answers, or refuses them; it never panics, and allocates no more than
//! what is there can be worth, whatever lengths the files claim.
//!
//! The files are those of logs that the repository keeps, changed in a few places and given checksums that fit again, so that the
//! readers behind the checksums are reached. `cargo test` tries some hundreds of changes and replays the corpus beside this file;
//! `cargo bolero test -p trireme-engine --test readers` searches for more.

use bolero::{TypeGenerator, check};
use contract::{
    ArchitectureName, Durability, Engine, EngineOptions, LogOptions, PairName, ProtocolName, RecoveryOptions,
};
use engine::ThisEngine;
use engine::embedded::{Embedded, OpenOptions};
use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator, with the bytes that are taken and the most that ever were.
struct Counted;

static TAKEN: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the system's, counted.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let taken = TAKEN.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(taken, Ordering::Relaxed);
        // SAFETY: as the caller says.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        TAKEN.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller says.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counted = Counted;

/// What a store takes that is opened with the logs as they are, and more: buffers of loggers and recovery.
const USUAL_BYTES: usize = 64 << 20;

const FILE_HEADER_BYTES: usize = 64;
const BLOCK_HEADER_BYTES: usize = 48;

/// A file, by its name.
type Files = Vec<(String, Vec<u8>)>;

/// The logs that the repository keeps.
static LOGS: LazyLock<Vec<Files>> = LazyLock::new(|| {
    let logs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/tests/logs");
    let mut folders: Vec<PathBuf> =
        fs::read_dir(logs).expect("logs").map(|entry| entry.expect("a log").path()).collect();
    folders.sort();
    let read = |folder: &PathBuf| {
        let mut files: Files = fs::read_dir(folder)
            .expect("a log")
            .map(|file| file.expect("a file"))
            .map(|file| (file.file_name().into_string().expect("text"), fs::read(file.path()).expect("read")))
            .collect();
        files.sort();
        files
    };
    folders.iter().map(read).collect()
});

/// A change of a file.
#[derive(Clone, Debug, TypeGenerator)]
enum Change {
    Byte {
        file: u8,
        at: u16,
        value: u8,
    },
    Word {
        file: u8,
        at: u16,
        value: u32,
    },
    Cut {
        file: u8,
        at: u16,
    },
    /// The nth number of the manifest.
    Number {
        nth: u8,
        value: u64,
    },
    Gone {
        file: u8,
    },
}

#[derive(Clone, Debug, TypeGenerator)]
struct Input {
    log: u8,
    changes: Vec<Change>,
    /// Without it the checksums are what finds the changes.
    fits_again: bool,
    salvage: bool,
}

/// Where blocks begin in a file as it was written.
fn blocks(file: &[u8]) -> Vec<usize> {
    let (mut at, mut found) = (FILE_HEADER_BYTES, Vec::new());
    while let Some(header) = file.get(at..at + BLOCK_HEADER_BYTES) {
        found.push(at);
        let stored = u32::from_le_bytes(header[8..12].try_into().expect("four bytes"));
        at += BLOCK_HEADER_BYTES + stored as usize;
    }
    found
}

/// Gives a file of the log checksums that fit, where its blocks began.
fn seal(file: &mut [u8], blocks: &[usize]) {
    if file.len() >= FILE_HEADER_BYTES {
        let checksum = crc32fast::hash(&file[..60]);
        file[60..64].copy_from_slice(&checksum.to_le_bytes());
    }
    let bytes = file.len();
    for &at in blocks.iter().filter(|&&at| at + BLOCK_HEADER_BYTES <= bytes) {
        let stored = u32::from_le_bytes(file[at + 8..at + 12].try_into().expect("four bytes")) as usize;
        let from = at + BLOCK_HEADER_BYTES;
        if let Some(payload) = from.checked_add(stored).and_then(|end| file.get(from..end)) {
            let in_file = u32::from_le_bytes(file[60..64].try_into().expect("four bytes"));
            let mut hasher = crc32fast::Hasher::new_with_initial(in_file);
            hasher.update(&(at as u64).to_le_bytes());
            hasher.update(&file[at..at + 44]);
            hasher.update(payload);
            let checksum = hasher.finalize();
            file[at + 44..from].copy_from_slice(&checksum.to_le_bytes());
        }
    }
}

/// Gives a manifest a first line that fits.
fn seal_manifest(file: &[u8]) -> Vec<u8> {
    let end = file.iter().position(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let json = &file[end..];
    let mut sealed =
        format!("trireme-manifest 2 {} {:08x}\n", json.len(), crc32fast::hash(json)).into_bytes();
    sealed.extend_from_slice(json);
    sealed
}

/// A manifest with another number in the place of its nth.
fn with_number(manifest: &[u8], nth: usize, value: u64) -> Vec<u8> {
    let mut numbers = Vec::new();
    let mut at = 0;
    while at < manifest.len() {
        let digits = manifest[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits > 0 {
            numbers.push(at..at + digits);
        }
        at += digits.max(1);
    }
    let Some(place) = numbers.get(nth % numbers.len().max(1)) else { return manifest.to_vec() };
    [&manifest[..place.start], value.to_string().as_bytes(), &manifest[place.end..]].concat()
}

impl Input {
    fn files(&self) -> Files {
        let mut files = LOGS[self.log as usize % LOGS.len()].clone();
        let blocks: Vec<Vec<usize>> = files.iter().map(|(_, bytes)| blocks(bytes)).collect();
        let mut gone = vec![false; files.len()];
        let number = files.len();
        for change in &self.changes {
            let bytes = |file: &u8| *file as usize % number;
            match change {
                Change::Byte { file, at, value } => {
                    let file = &mut files[bytes(file)].1;
                    let at = *at as usize % file.len().max(1);
                    file.iter_mut().skip(at).take(1).for_each(|byte| *byte = *value);
                }
                Change::Word { file, at, value } => {
                    let file = &mut files[bytes(file)].1;
                    let at = *at as usize % file.len().max(1);
                    let value = value.to_le_bytes();
                    file.iter_mut().skip(at).zip(value).for_each(|(byte, value)| *byte = value);
                }
                Change::Cut { file, at } => files[bytes(file)].1.truncate(*at as usize),
                Change::Number { nth, value } => {
                    let manifest = files.iter_mut().find(|(name, _)| name == "MANIFEST").expect("it has one");
                    manifest.1 = with_number(&manifest.1, *nth as usize, *value);
                }
                Change::Gone { file } => gone[bytes(file)] = true,
            }
        }
        if self.fits_again {
            for ((name, bytes), blocks) in files.iter_mut().zip(&blocks) {
                match name.as_str() {
                    "MANIFEST" => *bytes = seal_manifest(bytes),
                    _ => seal(bytes, blocks),
                }
            }
        }
        let mut number = 0..;
        files.retain(|_| !gone[number.next().expect("as many")]);
        files
    }
}

/// Has everything read that reads a log; whether a store was opened.
fn read(input: &Input) -> bool {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, bytes) in input.files() {
        fs::write(folder.path().join(name), bytes).expect("written");
    }
    let folders = [folder.path().to_owned()];
    let origin = ThisEngine::inspect_log(&folders).map_or(String::new(), |inspected| inspected.origin);
    let options = OpenOptions {
        pair: PairName { architecture: ArchitectureName::SharedEverything, protocol: ProtocolName::Silo },
        slots: 1,
        log: Some(LogOptions { origin, ..LogOptions::new(Durability::Buffered, folder.path()) }),
        recovery: RecoveryOptions { salvage: input.salvage, threads: 2, ..RecoveryOptions::default() },
        engine: EngineOptions::default(),
    };
    Embedded::open(&options).is_ok()
}

#[test]
fn whatever_files_say_nothing_panics_and_no_memory_is_taken_on_their_word() {
    assert!(LOGS.len() >= 2);
    for log in 0..LOGS.len() {
        for fits_again in [false, true] {
            let as_it_is = Input { log: log as u8, changes: Vec::new(), fits_again, salvage: false };
            assert!(read(&as_it_is), "log {log} is one");
        }
    }
    check!().with_type::<Input>().with_iterations(400).for_each(|input| {
        let before = TAKEN.load(Ordering::Relaxed);
        MOST.store(before, Ordering::Relaxed);
        read(input);
        let taken = MOST.load(Ordering::Relaxed).saturating_sub(before);
        assert!(taken < USUAL_BYTES, "{taken} bytes were allocated");
    });
}
