//! Who waits for a ticket, or awaits it, while others go: nobody waits for ever, whoever closes the database, and whatever a waker does.

mod shared;

use shared::block_on;
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;
use tempfile::tempdir;
use trireme::{Builder, Database, Durability, Error, Table, Ticket};

const NUMBERS: Table<u64, u64> = Table::new("numbers");

const LEVELS: [Durability; 3] = [Durability::Buffered, Durability::Group, Durability::Sync];

/// Longer than who waits, and the epochs' service, try to end an epoch that a transaction keeps open, unless the machine is busy.
const LASTS: Duration = Duration::from_millis(100);

/// As long as nothing in a test takes.
const FOR_EVER: Duration = Duration::from_secs(60);

fn builder(durability: Durability, loggers: usize) -> Builder {
    Database::builder().durability(durability).loggers(loggers)
}

fn count(folder: &Path) -> Result<usize, Error> {
    let db = Database::open(folder)?;
    let numbers = db.table(NUMBERS)?;
    db.transact(|tx| Ok(tx.range(numbers, ..)?.count()))
}

#[test]
fn a_database_is_closed_while_threads_wait_and_await() -> Result<(), Error> {
    const THREADS: u64 = 6;
    for durability in LEVELS {
        for loggers in [1, 2] {
            for round in 0..12 {
                let folder = tempdir().expect("a folder");
                let db = builder(durability, loggers).open(folder.path())?;
                let numbers = db.table(NUMBERS)?;
                let (told, tells) = channel();
                for thread in 0..THREADS {
                    let (_, ticket) = db.submit(|tx| tx.insert(numbers, thread, &thread))?;
                    let told = told.clone();
                    thread::spawn(move || {
                        let waited = if thread % 2 == 0 { ticket.wait() } else { block_on(ticket) };
                        told.send(waited).expect("somebody listens");
                    });
                }
                thread::sleep(Duration::from_micros(round * 100));
                db.close()?;
                for _ in 0..THREADS {
                    let waited = tells.recv_timeout(FOR_EVER).expect("nobody waits for ever");
                    assert_eq!(waited, Ok(()), "{durability}, {loggers} loggers");
                }
                assert_eq!(count(folder.path())?, THREADS as usize);
            }
        }
    }
    Ok(())
}

/// Each of more threads than there are slots leaves its slot before it waits.
#[test]
fn more_threads_than_slots_wait() -> Result<(), Error> {
    const THREADS: u64 = 12;
    const COMMITS: u64 = 20;
    for durability in LEVELS {
        let folder = tempdir().expect("a folder");
        let db = builder(durability, 1).slots(2).epoch(Duration::from_millis(1)).open(folder.path())?;
        let numbers = db.table(NUMBERS)?;
        let commit = |thread: u64| {
            (0..COMMITS).try_for_each(|nth| {
                let key = thread * COMMITS + nth;
                match nth % 3 {
                    0 => db.transact(|tx| tx.insert(numbers, key, &key)),
                    1 => db.submit(|tx| tx.insert(numbers, key, &key))?.1.wait(),
                    _ => block_on(db.submit(|tx| tx.insert(numbers, key, &key))?.1),
                }
            })
        };
        thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || commit(thread))).collect();
            threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
        })?;
        drop(db);
        assert_eq!(count(folder.path())?, (THREADS * COMMITS) as usize);
    }
    Ok(())
}

/// Once a transaction that lasted has ended, nobody waits for the end of an epoch that has been asked to end early.
#[test]
fn who_waits_for_a_transaction_that_lasts_goes_on_when_that_has_ended() -> Result<(), Error> {
    let day = Duration::from_secs(24 * 60 * 60);
    for durability in [Durability::Buffered, Durability::Sync] {
        for loggers in [1, 2] {
            for awaits in [false, true] {
                if awaits && durability == Durability::Buffered {
                    // Nothing ends an epoch for who awaits under `buffered`.
                    continue;
                }
                let folder = tempdir().expect("a folder");
                let db = builder(durability, loggers).epoch(day).open(folder.path())?;
                let numbers = db.table(NUMBERS)?;
                let lasting = db.begin()?;
                let (told, tells) = channel();
                // The first has the epoch end in which the transaction began; the second is of the next one, which cannot end.
                for key in 0..2 {
                    let commit = || db.submit(|tx| tx.insert(numbers, key, &key));
                    let ((), ticket) = thread::scope(|scope| scope.spawn(commit).join().expect("no panic"))?;
                    let told = told.clone();
                    thread::spawn(move || {
                        let waited = if awaits { block_on(ticket) } else { ticket.wait() };
                        told.send(waited).expect("somebody listens");
                    });
                    thread::sleep(LASTS);
                    assert!(tells.try_recv().is_err(), "its epoch is not complete");
                }
                drop(lasting);
                for _ in 0..2 {
                    let waited = tells.recv_timeout(FOR_EVER);
                    assert_eq!(waited, Ok(Ok(())), "{durability}, {loggers} loggers, awaits: {awaits}");
                }
                db.close()?;
            }
        }
    }
    Ok(())
}

/// A task of an executor that has gone: whoever wakes it drops it, with all that it has.
struct Last(Mutex<Option<Database>>);

impl Wake for Last {
    fn wake(self: Arc<Self>) {
        drop(self.0.lock().expect("alone").take());
    }
}

#[test]
fn a_waker_may_drop_the_last_handle() -> Result<(), Error> {
    for durability in LEVELS {
        for loggers in [1, 2] {
            let folder = tempdir().expect("a folder");
            let db = builder(durability, loggers).open(folder.path())?;
            let numbers = db.table(NUMBERS)?;
            let (_, mut first) = db.submit(|tx| tx.insert(numbers, 1, &1))?;
            let last = Last(Mutex::new(Some(db.clone())));
            let waker = Waker::from(Arc::new(last));
            // The first may have become durable meanwhile; then the waker is dropped here.
            if Pin::new(&mut first).poll(&mut Context::from_waker(&waker)).is_pending() {
                drop(waker);
            }
            let (_, second) = db.submit(|tx| tx.insert(numbers, 2, &2))?;
            drop(db);
            let (told, tells) = channel();
            let waiting = second.clone();
            thread::spawn(move || told.send(waiting.wait()).expect("somebody listens"));
            let waited = tells.recv_timeout(FOR_EVER).expect("nobody waits for ever");
            assert_eq!(waited, Ok(()), "{durability}, {loggers} loggers");
            assert!(first.is_durable());
            // Another thread may still be closing it.
            let opened = (0..1000).find_map(|_| {
                thread::sleep(Duration::from_millis(5));
                count(folder.path()).ok()
            });
            assert_eq!(opened, Some(2), "{durability}, {loggers} loggers");
        }
    }
    Ok(())
}

struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("of the program's own");
    }
}

#[derive(Default)]
struct Counts(AtomicUsize);

impl Wake for Counts {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A panic in a program's waker is not the database's, nor that of others who are woken with it.
#[test]
fn a_waker_that_panics_harms_nobody_else() -> Result<(), Error> {
    for durability in LEVELS {
        let folder = tempdir().expect("a folder");
        let db = builder(durability, 1).epoch(Duration::from_millis(50)).open(folder.path())?;
        let numbers = db.table(NUMBERS)?;
        let (_, ticket) = db.submit(|tx| tx.insert(numbers, 1, &1))?;
        let counts = Arc::new(Counts::default());
        let wakers = [Waker::from(Arc::new(Panics)), Waker::from(Arc::clone(&counts))];
        let poll = |ticket: &Ticket, waker| {
            Pin::new(&mut ticket.clone()).poll(&mut Context::from_waker(waker)).is_pending()
        };
        let pending: Vec<bool> = wakers.iter().map(|waker| poll(&ticket, waker)).collect();
        ticket.wait()?;
        for key in 2..5 {
            db.transact(|tx| tx.insert(numbers, key, &key))?;
        }
        assert_eq!(counts.0.load(Ordering::Relaxed), usize::from(pending[1]), "{durability}");
        db.close()?;
        assert_eq!(count(folder.path())?, 4);
    }
    Ok(())
}
