//! Folders that were damaged, or that somebody else's log is in: what was acknowledged is there, or the folder is refused, and nothing in
//! it is lost.

use std::fs;
use std::path::{Path, PathBuf};
use tempfile::{TempDir, tempdir};
use trireme::{Builder, Bytes, Database, Error, LogError, OpenError, Table};

const NUMBERS: Table<u64, u64> = Table::new("numbers");
const TEXTS: Table<u64, Bytes> = Table::new("texts");

/// Bytes of a file of the log before its first block, and of a block before its payload.
const FILE_HEADER_BYTES: usize = 64;
const BLOCK_HEADER_BYTES: usize = 48;

fn folder() -> TempDir {
    tempdir().expect("a folder")
}

fn log_file(folder: &Path, generation: u32, logger: u32) -> PathBuf {
    folder.join(format!("log-{generation:06}-{logger:04}-00000000.trl"))
}

/// The names of a folder's files, with what is in them.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut contents: Vec<_> = entries.map(|path| (path.clone(), fs::read(path).expect("a file"))).collect();
    contents.sort();
    contents
}

/// Commits one transaction after the other, each in an epoch of its own, and closes.
fn write(builder: &Builder, folder: &Path, keys: std::ops::Range<u64>) -> Result<(), Error> {
    let db = builder.open(folder)?;
    let numbers = db.table(NUMBERS)?;
    keys.into_iter().try_for_each(|key| db.transact(|tx| tx.insert(numbers, key, &key)))?;
    db.close()
}

fn read(builder: &Builder, folder: &Path) -> Result<Vec<u64>, Error> {
    let db = builder.open(folder)?;
    let numbers = db.table(NUMBERS)?;
    db.transact(|tx| tx.range(numbers, ..)?.map(|row| row.map(|(key, _)| key)).collect())
}

/// How a folder is refused.
fn refusal(builder: &Builder, folder: &Path) -> LogError {
    match builder.open(folder).map(|_| "a database") {
        Err(Error::Open(OpenError::Log(error))) => error,
        other => panic!("{other:?}"),
    }
}

fn is_corrupt(builder: &Builder, folder: &Path) -> bool {
    matches!(refusal(builder, folder), LogError::Corrupt { .. })
}

/// Where the blocks of a file begin, with their kinds.
fn blocks(file: &[u8]) -> Vec<(usize, u8)> {
    let mut blocks = Vec::new();
    let mut at = FILE_HEADER_BYTES;
    while at < file.len() {
        blocks.push((at, file[at + 4]));
        let stored = u32::from_le_bytes(file[at + 8..at + 12].try_into().expect("four bytes"));
        at += BLOCK_HEADER_BYTES + stored as usize;
    }
    blocks
}

#[test]
fn what_is_committed_after_a_salvage_stays() -> Result<(), Error> {
    let (folder, builder) = (folder(), Database::builder());
    write(&builder, folder.path(), 0..20)?;
    write(&builder, folder.path(), 100..120)?;
    let file = log_file(folder.path(), 0, 0);
    let mut bytes = fs::read(&file).expect("a file");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&file, bytes).expect("written");
    assert!(is_corrupt(&builder, folder.path()));
    let salvaged = read(&builder.clone().salvage(true), folder.path())?;
    assert!((1..20).contains(&salvaged.len()) && salvaged.iter().all(|&key| key < 20), "{salvaged:?}");
    for generation in 0..3 {
        let before = read(&builder, folder.path())?;
        assert_eq!(before.len(), salvaged.len() + generation);
        let key = 1000 + generation as u64;
        write(&builder, folder.path(), key..key + 1)?;
    }
    let found = read(&builder, folder.path())?;
    assert_eq!(found, [&salvaged[..], &[1000, 1001, 1002]].concat());
    Ok(())
}

#[test]
fn a_logger_that_was_cut_is_told_by_the_others() -> Result<(), Error> {
    let builder = Database::builder().loggers(3);
    for logger in 0..3 {
        let folder = folder();
        write(&builder, folder.path(), 0..20)?;
        let file = log_file(folder.path(), 0, logger);
        let bytes = fs::read(&file).expect("a file");
        // After its third mark; later ones of the others say that it had synced more.
        let marks: Vec<usize> =
            blocks(&bytes).into_iter().filter(|&(_, kind)| kind == 2).map(|(at, _)| at).collect();
        assert!(marks.len() > 10, "{} marks", marks.len());
        fs::write(&file, &bytes[..marks[2] + BLOCK_HEADER_BYTES + 8]).expect("written");
        assert!(is_corrupt(&builder, folder.path()), "logger {logger}");
    }
    Ok(())
}

#[test]
fn a_header_that_cannot_be_read_is_told() -> Result<(), Error> {
    for loggers in [1, 2] {
        let builder = Database::builder().loggers(loggers);
        let folder = folder();
        write(&builder, folder.path(), 0..20)?;
        // The newest file of its logger, and behind it one that was begun when the machine stopped.
        let file = log_file(folder.path(), 0, 0);
        fs::write(folder.path().join("log-000000-0000-00000001.trl"), b"TRIR").expect("written");
        assert_eq!(read(&builder, folder.path())?.len(), 20);
        let mut bytes = fs::read(&file).expect("a file");
        bytes[20] ^= 4;
        fs::write(&file, bytes).expect("written");
        assert!(is_corrupt(&builder, folder.path()), "{loggers} loggers");
    }
    Ok(())
}

#[test]
fn a_folder_belongs_to_one_log() -> Result<(), Error> {
    let (first, second) = (folder(), folder());
    let builder = Database::builder();
    write(&builder, first.path(), 0..20)?;
    let db = builder.open(first.path())?;
    db.checkpoint()?;
    // While it is open, and afterwards.
    let both = builder.clone().log_folders([first.path()]);
    let locked = both.open(second.path()).map(|_| "a database");
    assert!(matches!(locked, Err(Error::Locked { .. })), "{locked:?}");
    db.close()?;
    let before = contents(first.path());
    assert!(matches!(refusal(&both, second.path()), LogError::Occupied { .. }));
    assert_eq!(contents(first.path()), before);
    assert_eq!(read(&builder, first.path())?.len(), 20);
    // And one that is somebody's second.
    let (third, fourth) = (folder(), folder());
    let spread = Database::builder().loggers(2).log_folders([third.path()]);
    write(&spread, fourth.path(), 0..20)?;
    let before = contents(third.path());
    assert!(is_corrupt(&builder, third.path()));
    // Without its second folder it is not all there.
    assert!(is_corrupt(&both, fourth.path()));
    assert_eq!(contents(third.path()), before);
    assert_eq!(read(&spread, fourth.path())?.len(), 20);
    Ok(())
}

#[test]
fn without_its_manifest_a_log_is_refused() -> Result<(), Error> {
    for has_checkpoint in [false, true] {
        let (folder, builder) = (folder(), Database::builder());
        write(&builder, folder.path(), 0..20)?;
        if has_checkpoint {
            builder.open(folder.path())?.checkpoint()?;
        }
        let (manifest, elsewhere) = (folder.path().join("MANIFEST"), folder.path().join("elsewhere"));
        fs::rename(&manifest, &elsewhere).expect("renamed");
        let before = contents(folder.path());
        assert!(is_corrupt(&builder, folder.path()));
        assert!(is_corrupt(&builder.clone().salvage(true), folder.path()));
        assert_eq!(contents(folder.path()), before);
        fs::rename(&elsewhere, &manifest).expect("renamed");
        assert_eq!(read(&builder, folder.path())?.len(), 20);
    }
    Ok(())
}

/// The process may end at any of an opening's steps.
#[test]
fn an_opening_that_was_cut_off_is_done_again() -> Result<(), Error> {
    let (folder, elsewhere) = (folder(), folder());
    let builder = Database::builder().loggers(2).log_folders([elsewhere.path()]);
    // Of a log that never was: a header without a manifest, and a file without all of its header.
    write(&builder, folder.path(), 0..0)?;
    fs::remove_file(folder.path().join("MANIFEST")).expect("removed");
    for (at, logger) in [(folder.path(), 0), (elsewhere.path(), 1)] {
        let file = log_file(at, 0, logger);
        let header = fs::read(&file).expect("a file")[..FILE_HEADER_BYTES].to_vec();
        fs::write(&file, header).expect("written");
    }
    fs::write(folder.path().join("MANIFEST.next"), b"trireme").expect("written");
    write(&builder, folder.path(), 0..20)?;
    // Of the next generation.
    for (at, logger, bytes) in [(folder.path(), 0, &b""[..]), (elsewhere.path(), 1, b"TRIRLOG")] {
        fs::write(log_file(at, 1, logger), bytes).expect("written");
    }
    assert_eq!(read(&builder, folder.path())?.len(), 20);
    // A manifest that is not the last one.
    let manifest = folder.path().join("MANIFEST");
    let before = fs::read(&manifest).expect("a file");
    write(&builder, folder.path(), 20..30)?;
    let last = fs::read(&manifest).expect("a file");
    fs::write(&manifest, before).expect("written");
    assert!(is_corrupt(&builder, folder.path()));
    fs::write(&manifest, last).expect("written");
    assert_eq!(read(&builder, folder.path())?.len(), 30);
    Ok(())
}

#[test]
fn a_row_may_have_a_log_in_it() -> Result<(), Error> {
    let (folder, other, builder) = (folder(), folder(), Database::builder());
    write(&builder, other.path(), 0..50)?;
    let log = fs::read(log_file(other.path(), 0, 0)).expect("a file");
    let db = builder.open(folder.path())?;
    let (numbers, texts) = (db.table(NUMBERS)?, db.table(TEXTS)?);
    db.transact(|tx| tx.insert(numbers, 1, &1))?;
    db.transact(|tx| tx.insert(texts, 1, &log))?;
    db.close()?;
    // Torn within the row, as by a crash before it was synced.
    let file = log_file(folder.path(), 0, 0);
    let bytes = fs::read(&file).expect("a file");
    let (at, _) = blocks(&bytes).into_iter().rfind(|&(_, kind)| kind == 1).expect("a block");
    fs::write(&file, &bytes[..at + log.len() - 100]).expect("written");
    assert_eq!(read(&builder, folder.path())?, [1]);
    Ok(())
}
