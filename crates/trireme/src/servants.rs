//! The threads that serve a database: one ends its epochs, one for each logger writes the log, and one takes checkpoints.
//!
//! The last also walks the tables for them: between two of its rounds it borrows a slot, for a millisecond at a time, as long as there
//! is something to walk and room for what it has read. And it has slots that rest give back their memory: nobody knows when they will run
//! another transaction.

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
            let services = shared.store().embedded_ref().services();
            let name = if number == 0 { "trireme-epochs" } else { "trireme-log" };
            let servant = Servant {
                services,
                shared: Arc::clone(shared),
                durable: Arc::clone(durable),
                ended: Arc::clone(&ended),
                reclaimed: Mutex::new(Instant::now()),
            };
            let serve = move || servant.serve(number, number + 1 == count);
            thread::Builder::new()
                .name(name.to_owned())
                .spawn(serve)
                .expect("the system has a thread for a service")
        };
        let threads = Mutex::new((0..count).map(engage).collect());
        Servants { threads, ended }
    }

    /// Waits until all have ended.
    pub fn dismiss(&self) {
        // Release: pairs with the Acquires in `Servant`.
        self.ended.store(true, Ordering::Release);
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        for servant in threads.drain(..) {
            servant.thread().unpark();
            servant.join().expect("services do not panic");
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
    fn serve(&self, number: usize, is_last: bool) {
        let done = || {
            self.durable.tell(self.services.durable_epoch(), self.services.failure());
            if is_last {
                self.walk();
                self.reclaim();
            }
        };
        self.services.serve(number, &|| self.has_ended(), &done);
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
