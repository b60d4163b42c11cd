//! What a database with a folder has when it is opened again.

use std::fs;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
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

/// Parks the thread that waits.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park_timeout(Duration::from_secs(30)),
        }
    }
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
    let (folder, copy) = (folder(), folder());
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
    // As the process would have left it, had it ended here.
    for entry in fs::read_dir(folder.path()).expect("a folder") {
        let entry = entry.expect("an entry");
        fs::copy(entry.path(), copy.path().join(entry.file_name())).expect("a copy");
    }
    let copied = builder.open(copy.path())?;
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
    let lasting = db.begin();
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
