//! The threads that serve a database: one ends its epochs, one for each logger writes the log, and one takes checkpoints.
//!
//! The last also walks the tables for them: between two of its rounds it borrows a slot, for a millisecond at a time, as long as there
//! is something to walk and room for what it has read. And it has slots that rest give back their memory: nobody knows when they will run
//! another transaction.
//!
//! **They wake who awaits a ticket,** and a waker may drop the last handle of the database. None of them can wait for itself, so another thread
//! then closes it ([`Servants::is_here`]). If one of them panics, the log stops: nobody waits for what nobody does any more.

use crate::pool::Use;
use crate::store::Shared;
use crate::ticket::Durable;
use engine::embedded::Services;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long a slot is borrowed.
const WALK: Duration = Duration::from_millis(1);
/// How often slots that rest give back their memory.
const RECLAIM: Duration = Duration::from_millis(100);

/// See the module.
pub(crate) struct Servants {
    threads: Mutex<Vec<JoinHandle<()>>>,
    ended: Arc<AtomicBool>,
}

impl Servants {
    /// Threads for all of a store's services.
    pub fn engage(shared: &Arc<Shared>, durable: &Arc<Durable>) -> Servants {
        let ended = Arc::new(AtomicBool::new(false));
        let count = shared.store().embedded_ref().services().count();
        let engage = |number| {
            let name = if number == 0 { "trireme-epochs" } else { "trireme-log" };
            let servant = Servant::new(shared, durable, &ended);
            let serve = move || servant.serve(number, number + 1 == count);
            thread::Builder::new()
                .name(name.to_owned())
                .spawn(serve)
                .expect("the system has a thread for a service")
        };
        let threads = Mutex::new((0..count).map(engage).collect());
        Servants { threads, ended }
    }

    /// Whether the thread that asks is one of them.
    pub fn is_here(&self) -> bool {
        let here = thread::current().id();
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.iter().any(|servant| servant.thread().id() == here)
    }

    /// Waits until all have ended; not called by one of them.
    pub fn dismiss(&self) {
        // Release: pairs with the Acquires in `Servant`.
        self.ended.store(true, Ordering::Release);
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        for servant in threads.drain(..) {
            servant.thread().unpark();
            // One that has panicked has stopped the log.
            let _ = servant.join();
        }
    }
}

/// One that serves; if a panic ends that, it says so.
struct Serving<'a>(&'a Servant);

impl Drop for Serving<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.has_panicked();
        }
    }
}

/// One of them.
struct Servant {
    services: Services,
    shared: Arc<Shared>,
    durable: Arc<Durable>,
    ended: Arc<AtomicBool>,
    /// When slots that rested gave back their memory.
    reclaimed: Mutex<Instant>,
}

impl Servant {
    fn new(shared: &Arc<Shared>, durable: &Arc<Durable>, ended: &Arc<AtomicBool>) -> Servant {
        Servant {
            services: shared.store().embedded_ref().services(),
            shared: Arc::clone(shared),
            durable: Arc::clone(durable),
            ended: Arc::clone(ended),
            reclaimed: Mutex::new(Instant::now()),
        }
    }

    fn serve(&self, number: usize, is_last: bool) {
        let _serving = Serving(self);
        let done = || {
            self.durable.tell(self.services.durable_epoch(), self.services.failure());
            if is_last {
                self.walk();
                self.reclaim();
            }
        };
        self.services.serve(number, &|| self.has_ended(), &done);
    }

    /// See the module.
    fn has_panicked(&self) {
        self.services.stop("a thread that serves the database has panicked");
        self.durable.tell(0, self.services.failure());
    }

    fn has_ended(&self) -> bool {
        // Acquire: pairs with the Release in `dismiss`.
        self.ended.load(Ordering::Acquire)
    }

    /// Has slots that rest give back their memory, now and then.
    fn reclaim(&self) {
        let mut reclaimed = self.reclaimed.lock().unwrap_or_else(PoisonError::into_inner);
        if reclaimed.elapsed() >= RECLAIM {
            self.shared.pool.reclaim();
            *reclaimed = Instant::now();
        }
    }

    /// Walks as long as there is something to walk.
    fn walk(&self) {
        while self.services.is_walked() {
            let Ok(mut seat) = self.shared.seat(Use::Transaction) else { return };
            let began = Instant::now();
            while began.elapsed() < WALK {
                if self.has_ended() || !seat.slot.walk() {
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Database, Durability, Error, Table};
    use std::sync::mpsc::channel;

    const NUMBERS: Table<u64, u64> = Table::new("numbers");

    #[test]
    fn nobody_waits_for_a_thread_that_has_panicked() -> Result<(), Error> {
        for durability in [Durability::Buffered, Durability::Group, Durability::Sync] {
            let folder = tempfile::tempdir().expect("a folder");
            let builder =
                Database::builder().durability(durability).loggers(2).epoch(Duration::from_secs(3600));
            let db = builder.open(folder.path())?;
            let numbers = db.table(NUMBERS)?;
            let lasting = db.begin()?;
            let insert = || db.submit(|tx| tx.insert(numbers, 1, &1));
            let ((), ticket) = thread::scope(|scope| scope.spawn(insert).join().expect("no panic"))?;
            let (told, tells) = channel();
            thread::spawn(move || told.send(ticket.wait()).expect("somebody listens"));
            let servant = db.with_parts(|shared, durable| Servant::new(shared, durable, &Arc::default()));
            thread::spawn(move || {
                let _serving = Serving(&servant);
                panic!("on purpose");
            })
            .join()
            .expect_err("it panics");
            let waited = tells.recv_timeout(Duration::from_secs(60)).expect("nobody waits for ever");
            assert!(matches!(waited, Err(Error::LogStopped { .. })), "{durability}: {waited:?}");
            drop(lasting);
            let stopped = db.transact(|tx| tx.insert(numbers, 2, &2));
            assert!(matches!(stopped, Err(Error::LogStopped { .. })), "{durability}: {stopped:?}");
            assert!(matches!(db.checkpoint(), Err(Error::LogStopped { .. })));
            assert!(matches!(db.close(), Err(Error::LogStopped { .. })));
        }
        Ok(())
    }
}
