//! What a database with a folder has when it is opened again.

mod shared;

use contract::{ArchitectureName, LogOptions, PairName, ProtocolName};
use engine::embedded::{Embedded, OpenOptions};
use shared::block_on;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;
use tempfile::{TempDir, tempdir};
use trireme::{Bytes, Database, Durability, Error, Index, LogError, OpenError, Serde, Table};

const NUMBERS: Table<u64, u64> = Table::new("numbers");
const TEXTS: Table<String, Bytes> = Table::new("texts");
const TASKS: Table<u64, Serde<(u8, String)>> = Table::new("tasks");
const BY_STATE: Index<u64, Serde<(u8, String)>, u8> = TASKS.index("by_state", |_, (state, _)| Some(*state));

fn folder() -> TempDir {
    tempdir().expect("a folder")
}

#[test]
fn what_committed_is_there_again() -> Result<(), Error> {
    let folder = folder();
    for round in 0..4u64 {
        let db = Database::open(folder.path())?;
        assert_eq!(db.recovered().is_some(), round > 0);
        assert_eq!(db.tables().len(), if round == 0 { 0 } else { 2 });
        let (numbers, texts) = (db.table(NUMBERS)?, db.table(TEXTS)?);
        db.transact(|tx| {
            for before in 0..round {
                assert_eq!(tx.get(numbers, before)?, Some(10 * before + 3));
                let text = tx.get(texts, &format!("text {before}"))?;
                assert_eq!(text, (before % 2 == 0).then(|| vec![before as u8; 100_000]));
            }
            assert_eq!(tx.range(numbers, ..)?.count(), round as usize);
            Ok::<_, Error>(())
        })?;
        db.transact(|tx| tx.insert(numbers, round, &(10 * round)))?;
        db.transact(|tx| tx.insert(texts, &format!("text {round}"), b"short"))?;
        // Some are not waited for: closing does.
        for _ in 0..3 {
            let (_, ticket) = db.submit(|tx| tx.update(numbers, round, |number| *number += 1))?;
            assert!(ticket.epoch().is_some());
        }
        let (_, _ticket) = db.submit(|tx| match round % 2 {
            0 => tx.upsert(texts, &format!("text {round}"), &vec![round as u8; 100_000]),
            _ => tx.remove(texts, &format!("text {round}")).map(|_| ()),
        })?;
        match round {
            0 => db.close()?,
            _ => drop(db),
        }
    }
    Ok(())
}

#[test]
fn tables_and_indexes_survive_and_dropped_ones_do_not() -> Result<(), Error> {
    let folder = folder();
    {
        let db = Database::open(folder.path())?;
        let (tasks, numbers) = (db.table(TASKS)?, db.table(NUMBERS)?);
        db.transact(|tx| tx.insert(numbers, 1, &1))?;
        db.transact(|tx| (0..50).try_for_each(|key| tx.insert(tasks, key, &(0, format!("task {key}")))))?;
        db.index(BY_STATE)?;
        db.transact(|tx| (0..20).try_for_each(|key| tx.update(tasks, key, |task| task.0 = 1).map(|_| ())))?;
        db.drop_table("numbers")?;
    }
    let db = Database::open(folder.path())?;
    let names: Vec<String> = db.tables().into_iter().map(|table| table.name).collect();
    assert_eq!(names, ["tasks", "tasks/by_state"]);
    let tasks = db.table(TASKS)?;
    // What nobody keeps would be wrong.
    let refused = db.transact(|tx| tx.update(tasks, 3, |task| task.0 = 2));
    let (table, index) = ("tasks".to_owned(), "tasks/by_state".to_owned());
    assert_eq!(refused, Err(Error::IndexNotOpen { table, index }));
    let by_state = db.index(BY_STATE)?;
    db.transact(|tx| {
        assert_eq!(tx.find(by_state, 0)?.len(), 30);
        assert_eq!(tx.find_up_to(by_state, 1, 1)?, [(0, (1, "task 0".to_owned()))]);
        tx.update(tasks, 3, |task| task.0 = 2)?;
        assert_eq!(tx.find(by_state, 1)?.len(), 19);
        Ok::<_, Error>(())
    })?;
    let verified = db.verify()?;
    assert_eq!((verified.tables, verified.rows, verified.entries), (1, 50, 50));
    assert!(verified.unverified.is_empty() && verified.torn.is_empty() && verified.log_bytes > 1000);
    // The name may be used again, with other types.
    let again: Table<u32, u32> = Table::new("numbers");
    let numbers = db.table(again)?;
    assert_eq!(db.transact(|tx| tx.get(numbers, 1))?, None);
    drop(db);
    let db = Database::open(folder.path())?;
    assert!(matches!(db.table(NUMBERS), Err(Error::Schema { .. })));
    assert_eq!(db.tables().len(), 3);
    Ok(())
}

#[test]
fn an_index_that_was_not_finished_is_made_anew() -> Result<(), Error> {
    const PANICS: Index<u64, Serde<(u8, String)>, u8> = TASKS.index("by_state", |&key, (state, _)| {
        assert!(key < 2500, "a defect of the program");
        Some(*state)
    });
    let folder = folder();
    let fill = |db: &Database| -> Result<(), Error> {
        let tasks = db.table(TASKS)?;
        db.transact(|tx| (0..3000).try_for_each(|key| tx.insert(tasks, key, &(1, String::new()))))
    };
    let panics = |db: &Database| {
        let index = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| db.index(PANICS).map(|_| ())));
        assert!(index.is_err());
    };
    let db = Database::open(folder.path())?;
    fill(&db)?;
    panics(&db);
    let by_state = db.index(BY_STATE)?;
    assert_eq!(db.transact(|tx| tx.find(by_state, 1))?.len(), 3000);
    db.drop_index(BY_STATE)?;
    panics(&db);
    drop(db);
    let db = Database::open(folder.path())?;
    assert_eq!(db.tables().len(), 1, "what was begun is not there");
    let by_state = db.index(BY_STATE)?;
    assert_eq!(db.transact(|tx| tx.find(by_state, 1))?.len(), 3000);
    Ok(())
}

#[test]
fn an_index_that_is_not_as_its_table_is_found() -> Result<(), Error> {
    static STATE: AtomicU8 = AtomicU8::new(1);
    const CHANGES: Index<u64, Serde<(u8, String)>, u8> =
        TASKS.index("changes", |_, _| Some(STATE.load(Ordering::Relaxed)).filter(|&state| state > 0));
    let db = Database::in_memory()?;
    let tasks = db.table(TASKS)?;
    db.transact(|tx| (0..2000).try_for_each(|key| tx.insert(tasks, key, &(1, String::new()))))?;
    db.index(CHANGES)?;
    assert_eq!(db.verify()?.entries, 2000);
    for (state, why) in [(2, "a row of table 'tasks' has no entry"), (0, "2000 entries for 0 rows")] {
        STATE.store(state, Ordering::Relaxed);
        let (index, why) = ("tasks/changes".to_owned(), why.to_owned());
        assert_eq!(db.verify(), Err(Error::Inconsistent { index, why }));
    }
    Ok(())
}

#[test]
fn a_folder_is_one_process_s() -> Result<(), Error> {
    let folder = folder();
    let db = Database::open(folder.path())?;
    let clone = db.clone();
    assert!(matches!(Database::open(folder.path()), Err(Error::Locked { .. })));
    assert_eq!(db.close(), Err(Error::InUse));
    drop(clone);
    Database::open(folder.path())?.close()
}

#[test]
fn every_level_is_recovered() -> Result<(), Error> {
    for durability in [Durability::Buffered, Durability::Group, Durability::Sync] {
        let folder = folder();
        let open =
            || Database::builder().durability(durability).loggers(2).compress(true).open(folder.path());
        let db = open()?;
        let numbers = db.table(NUMBERS)?;
        for key in 0..20 {
            db.transact(|tx| tx.insert(numbers, key, &key))?;
        }
        assert!(db.stats().log.expect("a log").bytes > 0);
        drop(db);
        let db = open()?;
        let numbers = db.table(NUMBERS)?;
        assert_eq!(db.transact(|tx| Ok::<_, Error>(tx.range(numbers, ..)?.count()))?, 20, "{durability}");
    }
    Ok(())
}

#[test]
fn under_sync_an_epoch_ends_for_who_waits_for_it_or_awaits_it() -> Result<(), Error> {
    for loggers in [1, 2] {
        let folder = folder();
        let day = Duration::from_secs(24 * 60 * 60);
        let builder = Database::builder().durability(Durability::Sync).loggers(loggers).epoch(day);
        let db = builder.open(folder.path())?;
        let numbers = db.table(NUMBERS)?;
        db.transact(|tx| tx.insert(numbers, 0, &0))?;
        let insert = |key| db.submit(|tx| tx.insert(numbers, key, &key)).map(|((), ticket)| ticket);
        insert(1)?.wait()?;
        block_on(insert(2)?)?;
        let nobody = insert(3)?;
        assert!(!nobody.is_durable(), "nobody has waited for it");
        thread::scope(|scope| {
            let waiting = (4..12).map(insert).collect::<Result<Vec<_>, _>>()?;
            let waiting: Vec<_> =
                waiting.into_iter().map(|ticket| scope.spawn(move || ticket.wait())).collect();
            waiting.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
        })?;
        assert!(nobody.is_durable(), "an epoch ends for all");
    }
    Ok(())
}

#[test]
fn zeroes_that_a_process_has_left_in_its_log_are_its_end() -> Result<(), Error> {
    let original = folder();
    let open = |folder: &Path| Database::builder().durability(Durability::Sync).open(folder);
    let log = "log-000000-0000-00000000.trl";
    let zeroes = |folder: &Path| {
        let bytes = fs::read(folder.join(log)).expect("a log");
        bytes.iter().rev().take_while(|&&byte| byte == 0).count()
    };
    let db = open(original.path())?;
    let numbers = db.table(NUMBERS)?;
    (0..20).try_for_each(|key| db.transact(|tx| tx.insert(numbers, key, &key)))?;
    let left = copy(original.path());
    assert!(zeroes(left.path()) > 100_000, "they were written ahead");
    db.close()?;
    assert!(zeroes(original.path()) < 100, "and taken back");
    for generation in 1..3 {
        let db = open(left.path())?;
        let numbers = db.table(NUMBERS)?;
        let there = db.transact(|tx| Ok::<_, Error>(tx.range(numbers, ..)?.count()))?;
        assert_eq!(there, 19 + generation, "nothing is lost, and nothing else is wrong");
        db.transact(|tx| tx.insert(numbers, 100 + generation as u64, &1))?;
        db.verify()?;
    }
    Ok(())
}

#[test]
fn tickets_can_be_awaited() -> Result<(), Error> {
    let folder = folder();
    let db = Database::builder().epoch(Duration::from_millis(30)).open(folder.path())?;
    let numbers = db.table(NUMBERS)?;
    let ((), ticket) = db.submit(|tx| tx.insert(numbers, 1, &1))?;
    assert!(!ticket.is_durable(), "not within a part of an epoch");
    block_on(ticket.clone())?;
    assert!(ticket.is_durable() && db.durable_epoch() >= ticket.epoch().expect("a log"));
    let ((), last) = db.submit(|tx| tx.insert(numbers, 2, &2))?;
    drop(db);
    assert!(last.is_durable(), "a ticket outlives its database, which was closed");
    let in_memory = Database::in_memory()?;
    let numbers = in_memory.table(NUMBERS)?;
    let ((), ticket) = in_memory.submit(|tx| tx.insert(numbers, 1, &1))?;
    assert_eq!((ticket.epoch(), ticket.is_durable()), (None, true));
    block_on(ticket)
}

#[test]
fn what_is_corrupt_is_refused_by_file_and_byte() -> Result<(), Error> {
    let folder = folder();
    let db = Database::open(folder.path())?;
    let numbers = db.table(NUMBERS)?;
    for key in 0..30 {
        db.transact(|tx| tx.insert(numbers, key, &key))?;
    }
    drop(db);
    let log = folder.path().join("log-000000-0000-00000000.trl");
    let mut bytes = fs::read(&log).expect("the log");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::write(&log, bytes).expect("written");
    let refused = Database::open(folder.path()).map(|_| ());
    let is_named =
        matches!(&refused, Err(Error::Open(OpenError::Log(LogError::Corrupt { file, .. }))) if *file == log);
    assert!(is_named, "{refused:?}");
    let db = Database::builder().salvage(true).open(folder.path())?;
    assert!(!db.recovered().expect("a log").lost.is_empty());
    let numbers = db.table(NUMBERS)?;
    let keys = db.transact(|tx| {
        tx.range(numbers, ..)?.map(|row| row.map(|(key, _)| key)).collect::<Result<Vec<_>, _>>()
    })?;
    assert!(
        keys.len() < 30 && keys == (0..keys.len() as u64).collect::<Vec<_>>(),
        "the first ones: {keys:?}"
    );
    Ok(())
}

#[test]
fn under_buffered_who_waits_writes() -> Result<(), Error> {
    const THREADS: u64 = 4;
    const COMMITS: u64 = 50;
    let folder = folder();
    // No epoch ends by itself.
    let builder = Database::builder().durability(Durability::Buffered).epoch(Duration::from_secs(3600));
    let db = builder.open(folder.path())?;
    let numbers = db.table(NUMBERS)?;
    let commit = |thread: u64| {
        for number in (0..COMMITS).map(|nth| thread * COMMITS + nth) {
            match number % 2 {
                0 => db.transact(|tx| tx.insert(numbers, number, &number))?,
                _ => {
                    let ((), ticket) = db.submit(|tx| tx.insert(numbers, number, &number))?;
                    ticket.wait()?;
                    assert!(ticket.is_durable() && ticket.epoch() <= Some(db.durable_epoch()));
                }
            }
        }
        Ok::<_, Error>(())
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || commit(thread))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
    })?;
    let copied = copy(folder.path());
    let copied = builder.open(copied.path())?;
    let numbers = copied.table(NUMBERS)?;
    let found = copied.transact(|tx| tx.range(numbers, ..)?.collect::<Result<Vec<_>, Error>>())?;
    let expected: Vec<_> = (0..THREADS * COMMITS).map(|number| (number, number)).collect();
    assert_eq!(found, expected);
    Ok(())
}

#[test]
fn under_buffered_a_transaction_that_lasts_holds_back_who_waits() -> Result<(), Error> {
    let folder = folder();
    let builder = Database::builder().durability(Durability::Buffered).epoch(Duration::from_millis(1));
    let db = builder.open(folder.path())?;
    let numbers = db.table(NUMBERS)?;
    let lasting = db.begin()?;
    let commit = || db.submit(|tx| tx.insert(numbers, 1, &1));
    let ((), ticket) = thread::scope(|scope| scope.spawn(commit).join().expect("no panic"))?;
    let waiting = {
        let ticket = ticket.clone();
        thread::spawn(move || ticket.wait())
    };
    thread::sleep(Duration::from_millis(30));
    assert!(!ticket.is_durable() && !waiting.is_finished());
    drop(lasting);
    waiting.join().expect("no panic")?;
    assert!(ticket.is_durable());
    db.close()
}

/// What a folder would have if the process ended here.
fn copy(from: &Path) -> TempDir {
    let to = folder();
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        fs::copy(entry.path(), to.path().join(entry.file_name())).expect("a copy");
    }
    to
}

/// Rows move to another table, and theirs goes: they are in one of the two, whenever the process ends.
#[test]
fn a_table_is_dropped_after_what_committed_before() -> Result<(), Error> {
    const FROM: Table<u64, u64> = Table::new("from");
    for durability in [Durability::Buffered, Durability::Group] {
        let folder = folder();
        // No epoch ends by itself.
        let builder = Database::builder().durability(durability).epoch(Duration::from_secs(3600));
        let db = builder.open(folder.path())?;
        let (from, to) = (db.table(FROM)?, db.table(NUMBERS)?);
        let ((), _ticket) = db.submit(|tx| (0..10).try_for_each(|key| tx.insert(from, key, &key)))?;
        let ((), ticket) = db.submit(|tx| {
            (0..10).try_for_each(|key| {
                let row = tx.get(from, key)?.expect("it is there");
                tx.insert(to, key, &row)
            })
        })?;
        assert!(!ticket.is_durable());
        db.drop_table("from")?;
        let copied = copy(folder.path());
        let again = builder.open(copied.path())?;
        assert_eq!(again.tables().len(), 1);
        let to = again.table(NUMBERS)?;
        assert_eq!(again.transact(|tx| Ok::<_, Error>(tx.range(to, ..)?.count()))?, 10, "{durability}");
    }
    Ok(())
}

#[test]
fn what_the_manifest_stands_for_is_synced_first_under_every_level() -> Result<(), Error> {
    for durability in [Durability::Buffered, Durability::Group, Durability::Sync] {
        let folder = folder();
        let db = Database::builder().durability(durability).open(folder.path())?;
        let tasks = db.table(TASKS)?;
        let change = |change: &dyn Fn() -> Result<(), Error>| {
            db.transact(|tx| tx.upsert(tasks, 1, &(1, String::new())))?;
            let syncs = || db.stats().log.expect("a log").syncs;
            let before = syncs();
            change()?;
            assert!(syncs() > before, "{durability}");
            Ok::<_, Error>(())
        };
        change(&|| db.index(BY_STATE).map(|_| ()))?;
        change(&|| db.drop_index(BY_STATE))?;
        change(&|| db.drop_table("tasks"))?;
    }
    Ok(())
}

#[test]
fn a_log_of_something_else_is_refused_and_left_as_it_is() -> Result<(), Error> {
    let folder = folder();
    let pair = PairName { architecture: ArchitectureName::SharedEverything, protocol: ProtocolName::Silo };
    let mut log = LogOptions::new(Durability::Group, folder.path());
    log.origin = "rows of a benchmark".to_owned();
    let (recovery, engine) = Default::default();
    let (store, _) = Embedded::open(&OpenOptions { pair, slots: 1, log: Some(log), recovery, engine })?;
    store.close().expect("a log without commits");
    let files = || {
        let files = fs::read_dir(folder.path()).expect("a folder").map(|file| file.expect("a file"));
        let mut read: Vec<_> =
            files.map(|file| (file.file_name(), fs::read(file.path()).expect("read"))).collect();
        read.sort();
        read
    };
    let before = files();
    for salvage in [false, true] {
        let refused = Database::builder().salvage(salvage).open(folder.path()).map(|_| ());
        let Err(Error::Open(OpenError::Log(LogError::Mismatch { why }))) = refused else {
            panic!("{refused:?}")
        };
        assert!(why.contains("'rows of a benchmark'") && why.contains("'trireme::Database'"), "{why}");
        assert_eq!(files(), before);
    }
    Ok(())
}

/// A transaction that nobody can end is no reason to wait for it.
#[test]
fn who_forgets_a_transaction_loses_what_was_not_durable_and_hears_of_it() -> Result<(), Error> {
    for is_another_thread in [false, true] {
        let folder = folder();
        let db = Database::open(folder.path())?;
        let numbers = db.table(NUMBERS)?;
        let (told, tells) = channel();
        thread::spawn(move || {
            let forget = || db.begin().map(std::mem::forget);
            let submit = || Ok(db.submit(|tx| tx.insert(numbers, 1, &1))?.1);
            let ticket: Result<_, Error> = thread::scope(|scope| match is_another_thread {
                true => scope.spawn(forget).join().expect("no panic").and_then(|()| submit()),
                false => forget().and_then(|()| scope.spawn(submit).join().expect("no panic")),
            });
            let ticket = ticket.expect("it commits");
            let waiting = thread::spawn(move || ticket.wait());
            told.send((db.close(), waiting.join().expect("no panic"))).expect("somebody waits");
        });
        let (closed, waited) = tells.recv_timeout(Duration::from_secs(60)).expect("nobody waits for ever");
        assert_eq!(closed, Err(Error::InUse));
        assert!(matches!(waited, Err(Error::LogStopped { .. })), "{waited:?}");
    }
    Ok(())
}

/// Whether the folder has the manifest before or the one after nobody knows.
#[test]
fn a_manifest_that_cannot_be_written_stops_the_log() -> Result<(), Error> {
    let folder = folder();
    let db = Database::open(folder.path())?;
    let numbers = db.table(NUMBERS)?;
    db.transact(|tx| tx.insert(numbers, 1, &1))?;
    let in_the_way = folder.path().join("MANIFEST.next");
    fs::create_dir(&in_the_way).expect("a folder");
    assert!(matches!(db.drop_table("numbers"), Err(Error::Open(OpenError::Log(LogError::Io { .. })))));
    fs::remove_dir(&in_the_way).expect("removed");
    let stopped = db.transact(|tx| tx.insert(numbers, 2, &2));
    assert!(matches!(stopped, Err(Error::LogStopped { .. })), "{stopped:?}");
    assert!(matches!(db.drop_table("numbers"), Err(Error::Open(_))));
    assert!(db.close().is_err());
    let db = Database::open(folder.path())?;
    let numbers = db.table(NUMBERS)?;
    assert_eq!(db.transact(|tx| Ok::<_, Error>(tx.range(numbers, ..)?.count()))?, 1);
    Ok(())
}
