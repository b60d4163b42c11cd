//! Checkpoints and backups of a database whose transactions go on.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use tempfile::tempdir;
use trireme::{ArchitectureName, Bytes, Database, Durability, Error, Index, ProtocolName, Table};

const ACCOUNTS: Table<u64, i64> = Table::new("accounts");
const HASHED: Table<u64, i64> = Table::new("hashed").hashed(1000);
const NOTES: Table<String, Bytes> = Table::new("notes");
const BY_LENGTH: Index<String, Bytes, u32> = NOTES.index("by_length", |_, note| Some(note.len() as u32));
const NUMBER: u64 = 1000;
const SUM: i64 = 100 * NUMBER as i64;

/// Bytes of a folder's files whose names begin so.
fn bytes(folder: &Path, beginning: &str) -> u64 {
    let files = fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file"));
    let named = files.filter(|file| file.file_name().to_string_lossy().starts_with(beginning));
    named.map(|file| file.metadata().expect("a file").len()).sum()
}

fn note(number: u64, round: u64) -> (String, Vec<u8>) {
    (format!("note {number}"), vec![number as u8; (1 + number * round * 37 % 5000) as usize])
}

/// Fills a database, and changes all of it some times.
fn fill(db: &Database) -> Result<(), Error> {
    let (accounts, hashed, notes) = (db.table(ACCOUNTS)?, db.table(HASHED)?, db.table(NOTES)?);
    db.index(BY_LENGTH)?;
    for round in 1..=5 {
        for number in 0..NUMBER {
            let (key, text) = note(number, round);
            let (_, _ticket) = db.submit(|tx| {
                tx.upsert(accounts, number, &100)?;
                tx.upsert(hashed, number, &(round as i64))?;
                match number % 3 == round % 3 {
                    true => tx.remove(notes, &key).map(|_| ()),
                    false => tx.upsert(notes, &key, &text),
                }
            })?;
        }
    }
    db.submit(|_| Ok::<_, Error>(()))?.1.wait()
}

/// Holds a database against what [`fill`] has left.
fn check(db: &Database) -> Result<(), Error> {
    let (accounts, hashed, notes) = (db.table(ACCOUNTS)?, db.table(HASHED)?, db.table(NOTES)?);
    db.index(BY_LENGTH)?;
    db.verify()?;
    db.transact(|tx| {
        let all: Vec<_> = tx.range(accounts, ..)?.collect::<Result<_, _>>()?;
        assert_eq!(all.len() as u64, NUMBER);
        assert_eq!(all.iter().map(|(_, balance)| balance).sum::<i64>(), SUM);
        for number in 0..NUMBER {
            assert_eq!(tx.get(hashed, number)?, Some(5));
            let (key, text) = note(number, 5);
            assert_eq!(tx.get(notes, &key)?, (number % 3 != 2).then_some(text), "{key}");
        }
        Ok(())
    })
}

#[test]
fn a_checkpoint_takes_the_place_of_the_log_before_it() -> Result<(), Error> {
    let folder = tempdir().expect("a folder");
    {
        let db = Database::open(folder.path())?;
        // Of a database without tables, too.
        assert_eq!(db.checkpoint()?.rows, 0);
        fill(&db)?;
        let before = bytes(folder.path(), "log-");
        let taken = db.checkpoint()?;
        let notes = (0..NUMBER).filter(|number| number % 3 != 2).count() as u64;
        assert_eq!(taken.rows, 2 * NUMBER + 2 * notes);
        assert_eq!(taken.bytes, bytes(folder.path(), "checkpoint-"));
        assert!(
            bytes(folder.path(), "log-") < before / 100,
            "of {before} bytes of the log something is left"
        );
        check(&db)?;
    }
    {
        // The log goes on after it: a table comes, and one goes, of which the checkpoint has rows.
        let db = Database::open(folder.path())?;
        let recovered = db.recovered().expect("it was there");
        assert!(recovered.checkpoint.is_some_and(|checkpoint| checkpoint.rows > NUMBER));
        check(&db)?;
        db.drop_table("hashed")?;
        let late = db.table(Table::<u64, u64>::new("late"))?;
        db.transact(|tx| tx.insert(late, 1, &2))?;
        db.transact(|tx| tx.remove(db.table(ACCOUNTS)?, 3).map(|_| ()))?;
    }
    let db = Database::open(folder.path())?;
    let (late, hashed) = (db.table(Table::<u64, u64>::new("late"))?, db.table(HASHED)?);
    let accounts = db.table(ACCOUNTS)?;
    db.transact(|tx| {
        assert_eq!(tx.get(late, 1)?, Some(2));
        assert_eq!(tx.get(hashed, 1)?, None);
        assert_eq!((tx.get(accounts, 3)?, tx.get(accounts, 4)?), (None, Some(100)));
        Ok::<_, Error>(())
    })
}

#[test]
fn a_long_log_has_a_checkpoint_taken() -> Result<(), Error> {
    let folder = tempdir().expect("a folder");
    let most = 1 << 20;
    let builder = Database::builder().checkpoint_after(most);
    let db = builder.open(folder.path())?;
    fill(&db)?;
    while db.stats().log.expect("it has one").checkpoints == 0 {
        thread::sleep(Duration::from_millis(1));
    }
    drop(db);
    check(&builder.open(folder.path())?)?;
    // One that was opened with a long log takes one at once.
    let folder = tempdir().expect("a folder");
    fill(&Database::open(folder.path())?)?;
    assert!(bytes(folder.path(), "log-") > most);
    let db = builder.open(folder.path())?;
    while db.stats().log.expect("it has one").checkpoints == 0 {
        thread::sleep(Duration::from_millis(1));
    }
    check(&db)
}

#[test]
fn a_backup_has_what_had_committed_under_every_protocol_and_goes_on() -> Result<(), Error> {
    let protocols = [
        ProtocolName::Silo,
        ProtocolName::Mocc,
        ProtocolName::TicToc,
        ProtocolName::NoWait,
        ProtocolName::TwoVersionNoWait,
        ProtocolName::WaitDie,
        ProtocolName::DlDetect,
    ];
    for (protocol, level) in
        protocols.into_iter().zip([Durability::Group, Durability::Buffered].into_iter().cycle())
    {
        let folder = tempdir().expect("a folder");
        let builder = Database::builder().system(ArchitectureName::SharedEverything, protocol);
        let builder = builder.durability(level).loggers(2);
        let db = builder.open(folder.path().join("db"))?;
        fill(&db)?;
        let accounts = db.table(ACCOUNTS)?;
        let counts = db.table(Table::<u64, u64>::new("counts"))?;
        db.transact(|tx| (0..2).try_for_each(|thread| tx.insert(counts, thread, &0)))?;
        let (has_ended, acknowledged) = (AtomicBool::new(false), [AtomicU64::new(0), AtomicU64::new(0)]);
        thread::scope(|scope| {
            for writer in 0..2u64 {
                let (db, has_ended, acknowledged) = (&db, &has_ended, &acknowledged[writer as usize]);
                scope.spawn(move || {
                    for round in 1u64.. {
                        if has_ended.load(Ordering::Relaxed) {
                            break;
                        }
                        let (from, to) = ((round * 7 + writer) % NUMBER, (round * 13 + 5) % NUMBER);
                        let moved = db.transact(|tx| {
                            tx.update(accounts, from, |balance| *balance -= 1)?;
                            tx.update(accounts, to, |balance| *balance += 1)?;
                            tx.update(counts, writer, |count| *count = round)
                        });
                        moved.expect("it commits");
                        acknowledged.store(round, Ordering::Release);
                    }
                });
            }
            let backed_up = (0..2).try_for_each(|round| {
                thread::sleep(Duration::from_millis(5));
                let to = folder.path().join(format!("backup-{round}"));
                let before = acknowledged.each_ref().map(|count| count.load(Ordering::Acquire));
                let backup = db.backup_to(&to)?;
                assert!(backup.files >= 3 && backup.bytes > 0);
                let copy = builder.open(&to)?;
                check(&copy)?;
                let counts = copy.table(Table::<u64, u64>::new("counts"))?;
                copy.transact(|tx| {
                    for (writer, &before) in (0..2).zip(&before) {
                        let count = tx.get(counts, writer)?.expect("it is there");
                        assert!(count >= before, "{protocol} {level}: {count} of {before} are there");
                    }
                    tx.upsert(counts, 9, &round)
                })?;
                // A copy is a database.
                copy.backup_to(to.join("again"))?;
                drop(copy);
                let copy = builder.open(to.join("again"))?;
                assert_eq!(
                    copy.transact(|tx| tx.get(copy.table(Table::<u64, u64>::new("counts"))?, 9))?,
                    Some(round)
                );
                check(&copy)
            });
            has_ended.store(true, Ordering::Relaxed);
            backed_up
        })?;
    }
    Ok(())
}

#[test]
fn what_cannot_be_copied_is_refused() -> Result<(), Error> {
    let db = Database::in_memory()?;
    assert_eq!(db.checkpoint(), Err(Error::InMemory));
    assert!(db.backup_to(tempdir().expect("a folder").path()).is_err());
    let folder = tempdir().expect("a folder");
    let db = Database::open(folder.path())?;
    let transaction = db.begin()?;
    assert_eq!(db.checkpoint(), Err(Error::InTransaction));
    drop(transaction);
    let refused = db.backup_to(folder.path()).expect_err("its own folder");
    assert!(refused.to_string().contains("is not empty"), "{refused}");
    db.backup_to(folder.path().join("copy"))?;
    assert!(db.backup_to(folder.path().join("copy")).is_err());
    Ok(())
}
