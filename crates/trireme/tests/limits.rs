//! What is too much is refused, by name and number, and everything else goes on.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};
use tempfile::tempdir;
use trireme::{Bytes, Database, Error, LogError, OpenError, Table};

const NUMBERS: Table<u64, u64> = Table::new("numbers");
const TEXTS: Table<u64, Bytes> = Table::new("texts");
const PAGES: Table<u64, [u8; 1 << 16]> = Table::new("pages");

#[test]
fn who_writes_more_than_a_gibibyte_is_refused_and_nobody_else() -> Result<(), Error> {
    let folder = tempdir().expect("a folder");
    let db = Database::open(folder.path())?;
    let (numbers, texts, pages) = (db.table(NUMBERS)?, db.table(TEXTS)?, db.table(PAGES)?);
    db.transact(|tx| tx.upsert(pages, 1, &[1; 1 << 16]))?;
    let text = vec![7; 16 << 20];
    let mut written = (0, 0);
    let refused = db.transact(|tx| {
        // The 64th such text would not fit in, nor do the last of 256 pages.
        (0..63).try_for_each(|key| tx.upsert(texts, key, &text))?;
        written.0 += 1;
        (0..=255).try_for_each(|nth| {
            tx.update(pages, 1, |page| page[0] = nth)?;
            written.1 += 1;
            Ok(())
        })
    });
    let Err(Error::WritesTooMuch { most }) = refused else { panic!("{refused:?}") };
    assert!((1_000_000_000..1 << 30).contains(&most), "{most}");
    assert_eq!(written, (1, 253));
    db.transact(|tx| tx.upsert(numbers, 1, &1))?;
    db.transact(|tx| {
        assert!(!tx.contains(texts, 0)? && tx.contains(numbers, 1)?);
        assert_eq!(tx.get_with(pages, 1, |page| page[0])?, Some(1));
        Ok::<_, Error>(())
    })?;
    db.close()
}

#[test]
fn loggers_are_refused_before_anything_is_written() -> Result<(), Error> {
    let folder = tempdir().expect("a folder");
    for loggers in [0, 1025] {
        let refused = Database::builder().loggers(loggers).open(folder.path()).map(|_| ());
        let why = format!("{loggers} loggers; 1 to 1024 are allowed");
        assert_eq!(refused, Err(Error::Open(OpenError::Log(LogError::Refused { why }))));
        for file in fs::read_dir(folder.path()).expect("a folder") {
            let name = file.expect("a file").file_name().into_string().expect("a name");
            assert!(!name.starts_with("log-") && !name.starts_with("MANIFEST"), "{name}");
        }
    }
    Database::open(folder.path())?.close()
}

#[test]
fn tables_for_too_many_rows_are_refused_and_the_rest_goes_on() -> Result<(), Error> {
    let folder = tempdir().expect("a folder");
    let db = Database::open(folder.path())?;
    let numbers = db.table(NUMBERS)?;
    let asked = |rows: u64| db.table(Table::<u64, u64>::new("hashed").hashed(rows)).map(|_| ());
    let most = 1u64 << 36;
    let why = format!("table 'hashed' for {} rows; up to {most} are allowed", most + 1);
    assert_eq!(asked(most + 1), Err(Error::Open(OpenError::Log(LogError::Refused { why }))));
    // More than a machine has of memory.
    let refused = asked(most);
    assert!(matches!(refused, Err(Error::Open(OpenError::Load(_)))), "{refused:?}");
    db.transact(|tx| tx.upsert(numbers, 1, &1))?;
    asked(1000)?;
    db.close()?;
    assert_eq!(Database::open(folder.path())?.tables().len(), 2);
    Ok(())
}

/// One thread deletes all, and has nothing to do any more.
#[test]
fn memory_of_what_was_deleted_is_given_back_while_its_slot_rests() -> Result<(), Error> {
    for snapshots in [false, true] {
        let limit = 64 << 20;
        let builder =
            Database::builder().memory_limit(limit).snapshots(snapshots).epoch(Duration::from_millis(1));
        let db = builder.in_memory()?;
        let texts = db.table(TEXTS)?;
        let (text, deadline) = (vec![1; 1 << 20], Instant::now() + Duration::from_secs(60));
        for round in 0..2 {
            let mut keys = 0;
            let full = loop {
                match db.transact(|tx| tx.upsert(texts, keys, &text)) {
                    Ok(()) => keys += 1,
                    Err(error) => break error,
                }
            };
            assert!(matches!(full, Error::Memory { .. }) && keys > 20, "{full}, with {keys} rows");
            db.transact(|tx| (0..keys).try_for_each(|key| tx.remove(texts, key).map(|_| ())))?;
            match round {
                // Whether or not somebody asks for it.
                0 => {
                    while db.stats().memory_bytes > limit / 2 {
                        assert!(Instant::now() < deadline, "{} bytes are taken", db.stats().memory_bytes);
                        thread::sleep(Duration::from_millis(1));
                    }
                }
                _ => thread::scope(|scope| {
                    let add = || {
                        while let Err(error) = db.transact(|tx| tx.upsert(texts, 1, &text)) {
                            assert!(Instant::now() < deadline, "{error}");
                            thread::sleep(Duration::from_millis(1));
                        }
                    };
                    scope.spawn(add).join().expect("there is room");
                }),
            }
        }
    }
    Ok(())
}

#[test]
fn a_table_that_was_dropped_takes_no_memory() -> Result<(), Error> {
    const LARGE: Table<u64, u64> = Table::new("large").hashed(2_000_000);
    let folder = tempdir().expect("a folder");
    let taken = |db: &Database| db.stats().memory_bytes;
    let db = Database::open(folder.path())?;
    let before = taken(&db);
    db.table(LARGE)?;
    assert!(taken(&db) > before + (8 << 20), "{} bytes", taken(&db));
    db.drop_table("large")?;
    assert!(taken(&db) < before + (8 << 20), "{} bytes", taken(&db));
    db.close()?;
    let db = Database::open(folder.path())?;
    assert!(taken(&db) < before + (8 << 20), "{} bytes, opened again", taken(&db));
    Ok(())
}
