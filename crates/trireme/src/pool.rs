//! The pool of transaction slots, which threads borrow for a transaction.
//!
//! A thread begins to look at a place of its own, so that it finds the slot that it had before, whose memory is in its caches; and
//! waits there if all are taken. A slot is lent by the engine when its place is first asked for.

use crate::registry::Registry;
use crate::ticket::Counter;
use contract::AbortReason;
use crossbeam_utils::CachePadded;
use engine::embedded::Slot;
use std::cell::{Cell, RefCell};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

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

/// See the module.
pub(crate) struct Pool {
    /// Of which database.
    database: u64,
    places: Box<[CachePadded<Place>]>,
}

thread_local! {
    /// Where this thread begins to look.
    static FIRST: Cell<Option<usize>> = const { Cell::new(None) };
    /// Databases that this thread has transactions of.
    static OPEN: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
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
        Pool { database, places: (0..slots).map(|_| CachePadded::default()).collect() }
    }

    /// Waits for a place; `lend` lends its slot, if that has not been done.
    pub fn take(&self, lend: impl FnOnce(usize) -> Lent) -> Seat<'_> {
        let first = first();
        let places = (0..self.places.len()).map(|after| (first + after) % self.places.len());
        let free =
            places.map(|number| (number, self.places[number].lent.try_lock())).find_map(|(number, tried)| {
                match tried {
                    Ok(guard) => Some((number, guard)),
                    // A panic in a transaction undoes it and leaves the slot as good as before.
                    Err(TryLockError::Poisoned(guard)) => Some((number, guard.into_inner())),
                    Err(TryLockError::WouldBlock) => None,
                }
            });
        let (number, mut guard) = free.unwrap_or_else(|| {
            let number = first % self.places.len();
            (number, locked(&self.places[number].lent))
        });
        if guard.is_none() {
            *guard = Some(lend(number));
        }
        OPEN.with_borrow_mut(|open| open.push(self.database));
        Seat { guard, counts: &self.places[number].counts, database: self.database }
    }

    /// Waits until no transaction runs, and keeps others from beginning until the answer is dropped: all places. `None`: this very thread
    /// has a transaction.
    pub fn take_all(&self) -> Option<Vec<MutexGuard<'_, Option<Lent>>>> {
        if self.has_open() {
            return None;
        }
        Some(self.places.iter().map(|place| locked(&place.lent)).collect())
    }

    /// Whether this very thread has a transaction.
    pub fn has_open(&self) -> bool {
        OPEN.with_borrow(|open| open.contains(&self.database))
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
    database: u64,
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

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        OPEN.with_borrow_mut(|open| {
            let last = open.iter().rposition(|&database| database == self.database);
            open.swap_remove(last.expect("it was entered when the seat was taken"));
        });
    }
}
