//! The pool of transaction slots, which threads borrow for a transaction.
//!
//! A thread begins to look at a place of its own, so that it finds the slot that it had before, whose memory is in its caches. A slot is
//! lent by the engine when its place is first asked for.
//!
//! If all places are taken, a thread waits until any is free. Who has a place does not wait for another one: it might wait for itself, or for
//! others that wait likewise, and is answered an error. So everybody waits for threads only that wait for no place.
//!
//! Who leaves a place looks whether somebody waits, by a word that nobody writes otherwise, and only then takes a lock. Nothing orders that
//! look after the place became free; should it come too early, who waits looks again by itself.

use crate::error::Error;
use crate::registry::Registry;
use crate::ticket::Counter;
use contract::AbortReason;
use crossbeam_utils::CachePadded;
use engine::embedded::Slot;
use std::cell::{Cell, RefCell};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

/// How long nobody looks whether a place is free, who waits for one.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// A slot, the tables of its time, and room for what its transactions need for a while.
pub(crate) struct Lent {
    pub slot: Slot,
    pub registry: Arc<Registry>,
    /// Of its tickets.
    pub counter: Counter,
    /// A key in bytes.
    pub key: Vec<u8>,
    /// A row as it was.
    pub old: Vec<u8>,
}

/// What came of the transactions of a place. Who has the place writes.
#[derive(Default)]
pub(crate) struct Counts {
    commits: AtomicU64,
    roll_backs: AtomicU64,
    aborts: [AtomicU64; AbortReason::ALL.len()],
}

impl Counts {
    /// A transaction has committed.
    pub fn committed(&self) {
        add_one(&self.commits);
    }

    /// A transaction was undone: by an abort, or by its own will.
    pub fn rolled_back(&self, reason: Option<AbortReason>) {
        match reason {
            Some(reason) => add_one(&self.aborts[reason.index()]),
            None => add_one(&self.roll_backs),
        }
    }
}

fn add_one(count: &AtomicU64) {
    // Relaxed: one thread at a time writes it.
    count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

#[derive(Default)]
struct Place {
    lent: Mutex<Option<Lent>>,
    counts: Counts,
}

impl Place {
    fn free(&self) -> Option<MutexGuard<'_, Option<Lent>>> {
        match self.lent.try_lock() {
            Ok(guard) => Some(guard),
            // A panic in a transaction undoes it and leaves the slot as good as before.
            Err(TryLockError::Poisoned(guard)) => Some(guard.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// See the module.
pub(crate) struct Pool {
    /// Of which database.
    database: u64,
    places: Box<[CachePadded<Place>]>,
    /// Threads that wait for a place.
    waiting: AtomicUsize,
    /// Held while one of them looks at all places.
    looking: Mutex<()>,
    freed: Condvar,
}

/// What a thread has a place for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Use {
    Snapshot,
    Transaction,
}

thread_local! {
    /// Where this thread begins to look.
    static FIRST: Cell<Option<usize>> = const { Cell::new(None) };
    /// Databases of which this thread has places, and what for.
    static OPEN: RefCell<Vec<(u64, Use)>> = const { RefCell::new(Vec::new()) };
}

fn first() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    FIRST.get().unwrap_or_else(|| {
        let first = NEXT.fetch_add(1, Ordering::Relaxed);
        FIRST.set(Some(first));
        first
    })
}

impl Pool {
    /// So many places of a database.
    pub fn new(database: u64, slots: usize) -> Pool {
        let places = (0..slots).map(|_| CachePadded::default()).collect();
        let (waiting, looking, freed) = Default::default();
        Pool { database, places, waiting, looking, freed }
    }

    /// Waits for a place; `lend` lends its slot, if that has not been done. [`Error::InTransaction`] if this very thread has a transaction and
    /// wants another one, and [`Error::NoSlot`] if it has a place and no other is free.
    pub fn take(&self, wanted: Use, lend: impl FnOnce(usize) -> Lent) -> Result<Seat<'_>, Error> {
        let has = self.open();
        if (has, wanted) == (Some(Use::Transaction), Use::Transaction) {
            return Err(Error::InTransaction);
        }
        let (number, mut guard) = match self.find_free() {
            Some(free) => free,
            None if has.is_some() => return Err(Error::NoSlot),
            None => self.wait(),
        };
        if guard.is_none() {
            *guard = Some(lend(number));
        }
        OPEN.with_borrow_mut(|open| open.push((self.database, wanted)));
        Ok(Seat { guard, counts: &self.places[number].counts, _leave: Leave { pool: self, used: wanted } })
    }

    fn find_free(&self) -> Option<(usize, MutexGuard<'_, Option<Lent>>)> {
        let first = first();
        let mut places = (0..self.places.len()).map(|after| (first + after) % self.places.len());
        places.find_map(|number| Some((number, self.places[number].free()?)))
    }

    #[cold]
    fn wait(&self) -> (usize, MutexGuard<'_, Option<Lent>>) {
        let mut looking = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
        // Relaxed: the lock orders it for who leaves a place later, or else nothing does.
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let free = loop {
            match self.find_free() {
                Some(free) => break free,
                None => {
                    let waited = self.freed.wait_timeout(looking, LOOK_AGAIN);
                    looking = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        };
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        free
    }

    /// A place is free again.
    fn tell_freed(&self) {
        // Relaxed: see the module.
        if self.waiting.load(Ordering::Relaxed) > 0 {
            // Who waits has looked and sleeps, or looks later.
            drop(self.looking.lock().unwrap_or_else(PoisonError::into_inner));
            self.freed.notify_one();
        }
    }

    /// Has the slots that rest give back the memory that they need no more.
    pub fn reclaim(&self) {
        for place in &self.places {
            let Some(mut guard) = place.free() else { continue };
            if let Some(lent) = &mut *guard {
                lent.slot.reclaim();
            }
            drop(guard);
            self.tell_freed();
        }
    }

    /// Waits until no transaction runs, and keeps others from beginning until the answer is dropped: all places. `None`: this very thread
    /// has a transaction or a snapshot.
    pub fn take_all(&self) -> Option<All<'_>> {
        self.open().is_none().then(|| self.all(self.places.iter().map(|place| locked(&place.lent)).collect()))
    }

    /// All places, if all are free.
    pub fn take_all_free(&self) -> Option<All<'_>> {
        self.places
            .iter()
            .map(|place| place.free())
            .collect::<Option<Vec<_>>>()
            .map(|places| self.all(places))
    }

    fn all<'p>(&'p self, places: Vec<MutexGuard<'p, Option<Lent>>>) -> All<'p> {
        All { places, _leave: LeaveAll(self) }
    }

    /// Whether this very thread has a transaction or a snapshot.
    pub fn has_open(&self) -> bool {
        self.open().is_some()
    }

    /// What this very thread has a place for; a transaction, if for several.
    fn open(&self) -> Option<Use> {
        OPEN.with_borrow(|open| {
            let here = open.iter().filter(|(database, _)| *database == self.database);
            here.map(|(_, used)| *used).max()
        })
    }

    /// What came of all transactions.
    pub fn counts(&self) -> (u64, u64, [u64; AbortReason::ALL.len()]) {
        let sum = |count: &dyn Fn(&Counts) -> &AtomicU64| {
            self.places.iter().map(|place| count(&place.counts).load(Ordering::Relaxed)).sum()
        };
        let aborts = AbortReason::ALL.map(|reason| sum(&|counts| &counts.aborts[reason.index()]));
        (sum(&|counts| &counts.commits), sum(&|counts| &counts.roll_backs), aborts)
    }
}

fn locked(lent: &Mutex<Option<Lent>>) -> MutexGuard<'_, Option<Lent>> {
    lent.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A place that a thread has.
pub(crate) struct Seat<'db> {
    guard: MutexGuard<'db, Option<Lent>>,
    pub counts: &'db Counts,
    /// Dropped after the guard, as fields are in their order.
    _leave: Leave<'db>,
}

impl Deref for Seat<'_> {
    type Target = Lent;

    fn deref(&self) -> &Lent {
        self.guard.as_ref().expect("a seat has its slot")
    }
}

impl DerefMut for Seat<'_> {
    fn deref_mut(&mut self) -> &mut Lent {
        self.guard.as_mut().expect("a seat has its slot")
    }
}

/// A thread has left its place.
struct Leave<'db> {
    pool: &'db Pool,
    used: Use,
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        OPEN.with_borrow_mut(|open| {
            let last = open.iter().rposition(|&entered| entered == (self.pool.database, self.used));
            open.swap_remove(last.expect("it was entered when the seat was taken"));
        });
        self.pool.tell_freed();
    }
}

/// All places of a pool.
pub(crate) struct All<'db> {
    places: Vec<MutexGuard<'db, Option<Lent>>>,
    /// Dropped after the guards.
    _leave: LeaveAll<'db>,
}

impl All<'_> {
    /// Takes all slots that were lent.
    pub fn slots(&mut self) -> impl Iterator<Item = Slot> {
        self.places.iter_mut().filter_map(|place| place.take()).map(|lent| lent.slot)
    }
}

/// All places have been left.
struct LeaveAll<'db>(&'db Pool);

impl Drop for LeaveAll<'_> {
    fn drop(&mut self) {
        drop(self.0.looking.lock().unwrap_or_else(PoisonError::into_inner));
        self.0.freed.notify_all();
    }
}
