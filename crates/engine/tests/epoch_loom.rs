//! Epochs under `loom`: their own source, compiled against loom's atomics, around memory that loom watches for races.
//!
//! A *deleter* unlinks a record and reuses its memory when the epochs say so, *readers* follow the link while they are in a
//! transaction, and the *service* advances the epoch. `loom` tries every order that the orderings allow, and fails at an
//! access to the memory that is not ordered after its reuse, or before.
//!
//! Whether the test would notice is tested as well: each of the orderings that the proof relies on is weakened in turn, and
//! must be missed.

mod facade {
    pub mod atomic {
        use crate::weakened;
        pub use loom::sync::atomic::Ordering;

        /// Loom's, with the orderings that [`crate::weakened`] leaves.
        #[derive(Default)]
        pub struct AtomicU64(loom::sync::atomic::AtomicU64);

        impl AtomicU64 {
            pub fn new(value: u64) -> Self {
                AtomicU64(loom::sync::atomic::AtomicU64::new(value))
            }

            #[track_caller]
            pub fn load(&self, order: Ordering) -> u64 {
                self.0.load(weakened(order))
            }

            #[track_caller]
            pub fn store(&self, value: u64, order: Ordering) {
                self.0.store(value, weakened(order));
            }

            pub fn fetch_max(&self, value: u64, order: Ordering) -> u64 {
                self.0.fetch_max(value, order)
            }
        }

        #[track_caller]
        pub fn fence(order: Ordering) {
            if weakened(order) == order {
                loom::sync::atomic::fence(order);
            }
        }
    }
}

#[allow(dead_code, reason = "the engine uses all of it")]
#[path = "../src/epoch.rs"]
mod epoch;

use epoch::Epochs;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};

thread_local! {
    /// The line of the source whose ordering is left out.
    static LEFT_OUT: Cell<Option<u32>> = const { Cell::new(None) };
    /// Lines that have an ordering.
    static ORDERED: RefCell<BTreeSet<u32>> = const { RefCell::new(BTreeSet::new()) };
}

/// The ordering asked for by the caller's line, or none. Loom's threads all run on the host thread that checks the model.
#[track_caller]
fn weakened(order: Ordering) -> Ordering {
    let line = Location::caller().line();
    if order != Ordering::Relaxed {
        ORDERED.with_borrow_mut(|lines| lines.insert(line));
    }
    if LEFT_OUT.get() == Some(line) { Ordering::Relaxed } else { order }
}

/// A record's memory, and the link to it.
struct Record {
    link: AtomicU64,
    memory: UnsafeCell<u64>,
}

// SAFETY: who may touch the memory is what is tested, and loom checks it.
unsafe impl Sync for Record {}
// SAFETY: as above.
unsafe impl Send for Record {}

impl Record {
    fn linked() -> Record {
        Record { link: AtomicU64::new(1), memory: UnsafeCell::new(1) }
    }

    fn unlink(&self) {
        // Release, and Acquire below: as in the indexes.
        self.link.store(0, Ordering::Release);
    }

    /// A transaction that follows the link.
    fn read(&self) {
        if self.link.load(Ordering::Acquire) == 1 {
            // SAFETY: within an epoch.
            self.memory.with(|memory| assert_eq!(unsafe { *memory }, 1));
        }
    }

    fn reuse(&self) {
        // SAFETY: the epochs say that nobody can have a pointer to it.
        self.memory.with_mut(|memory| unsafe { *memory = 2 });
    }
}

const READER: usize = 0;
const DELETER: usize = 1;

fn model(f: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    // The threads yield where they should be interrupted; this keeps three of them within seconds.
    model.preemption_bound = Some(3);
    model.check(f);
}

fn epochs() -> Epochs {
    let mut epochs = Epochs::new(0);
    epochs.provide(2);
    epochs
}

/// A deleter that unlinks in one transaction, and a reader, both an epoch behind; and two rounds of the service. All yield, so
/// that each has its turn between the rounds.
fn unlink_and_reuse(read: impl Fn(&Epochs, &Record, u64) + Sync + Send + Copy + 'static) {
    model(move || {
        let shared = Arc::new((epochs(), Record::linked()));
        let before = shared.0.enter(READER);
        assert_eq!(shared.0.enter(DELETER), before);
        shared.0.advance();
        let reader = {
            let shared = shared.clone();
            thread::spawn(move || read(&shared.0, &shared.1, before))
        };
        let deleter = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (epochs, record) = &*shared;
                record.unlink();
                epochs.leave(DELETER);
                thread::yield_now();
                if epochs.reclaimable() >= before {
                    record.reuse();
                }
            })
        };
        shared.0.advance();
        thread::yield_now();
        shared.0.advance();
        reader.join().expect("no race");
        deleter.join().expect("no race");
    });
}

/// A reader that is active all the time, and refreshes before its transaction.
fn refreshing_reader() {
    unlink_and_reuse(|epochs, record, local| {
        let local = epochs.refresh(READER, local);
        thread::yield_now();
        epochs.refresh(READER, local);
        record.read();
    });
}

/// A reader that is active all the time, and refreshes after its transaction.
fn lingering_reader() {
    unlink_and_reuse(|epochs, record, local| {
        record.read();
        let local = epochs.refresh(READER, local);
        thread::yield_now();
        epochs.refresh(READER, local);
    });
}

/// A reader that leaves, and comes back for a transaction.
fn returning_reader() {
    unlink_and_reuse(|epochs, record, _| {
        epochs.leave(READER);
        thread::yield_now();
        epochs.enter(READER);
        record.read();
    });
}

/// A reader that leaves after its transaction, and comes back for another.
fn restless_reader() {
    unlink_and_reuse(|epochs, record, local| {
        epochs.refresh(READER, local);
        record.read();
        thread::yield_now();
        epochs.leave(READER);
        epochs.enter(READER);
    });
}

/// A reader that comes when the epochs have gone on without it.
fn entering_reader() {
    model(|| {
        let shared = Arc::new((epochs(), Record::linked()));
        let before = shared.0.enter(DELETER);
        let reader = {
            let shared = shared.clone();
            thread::spawn(move || {
                shared.0.enter(READER);
                shared.1.read();
            })
        };
        let (epochs, record) = &*shared;
        record.unlink();
        epochs.leave(DELETER);
        (0..3).for_each(|_| epochs.advance());
        if epochs.reclaimable() >= before {
            record.reuse();
        }
        reader.join().expect("no race");
    });
}

/// A slot that commits, hands over what it has logged before it goes on to the next epoch, commits again, and leaves; and a logger
/// that asks which epochs are complete. What of them was committed has been handed over by then.
fn logging_slot() {
    model(|| {
        let shared = Arc::new((epochs(), AtomicU64::new(0)));
        let local = shared.0.enter(READER);
        let slot = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (epochs, handed_over) = &*shared;
                let first = epochs.current();
                thread::yield_now();
                epochs.refresh_after(READER, local, || handed_over.store(first, Ordering::Relaxed));
                let second = epochs.current();
                handed_over.store(second, Ordering::Relaxed);
                epochs.leave(READER);
                [first, second]
            })
        };
        let (epochs, handed_over) = &*shared;
        epochs.advance();
        thread::yield_now();
        epochs.advance();
        let complete = epochs.complete();
        let seen = handed_over.load(Ordering::Relaxed);
        for committed in slot.join().expect("no race") {
            assert!(committed > complete || committed <= seen, "{committed}, {complete}, {seen}");
        }
    });
}

/// A slot that enters, commits, hands over what it has logged, and leaves; and a logger that asks meanwhile.
fn entering_logging_slot() {
    model(|| {
        let shared = Arc::new((epochs(), AtomicU64::new(0)));
        let slot = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (epochs, handed_over) = &*shared;
                epochs.enter(READER);
                let committed = epochs.current();
                handed_over.store(committed, Ordering::Relaxed);
                epochs.leave(READER);
                committed
            })
        };
        let (epochs, handed_over) = &*shared;
        epochs.advance();
        let complete = epochs.complete();
        let seen = handed_over.load(Ordering::Relaxed);
        let committed = slot.join().expect("no race");
        assert!(committed > complete || committed <= seen, "{committed}, {complete}, {seen}");
    });
}

/// A reader of a snapshot, which looks at a version if the snapshot shows it; somebody who reuses its memory when no snapshot does that
/// is needed any more; and two rounds of the service, between which the version's snapshots become unneeded.
fn snapshot_reader() {
    model(|| {
        let mut epochs = Epochs::new(1);
        epochs.provide(2);
        let shared = Arc::new((epochs, Record::linked()));
        // The version was superseded in this snapshot's epoch.
        let superseded = shared.0.snapshot_of(shared.0.enter(DELETER));
        shared.0.leave(DELETER);
        (0..2).for_each(|_| shared.0.advance());
        let reader = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (epochs, version) = &*shared;
                if epochs.begin_snapshot(READER) < superseded {
                    version.read();
                }
                epochs.end_snapshot(READER);
            })
        };
        let writer = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (epochs, version) = &*shared;
                thread::yield_now();
                if epochs.needed_snapshot() >= superseded {
                    version.reuse();
                }
            })
        };
        shared.0.advance();
        thread::yield_now();
        shared.0.advance();
        reader.join().expect("no race");
        writer.join().expect("no race");
    });
}

const MODELS: [fn(); 8] = [
    refreshing_reader,
    lingering_reader,
    returning_reader,
    restless_reader,
    entering_reader,
    logging_slot,
    entering_logging_slot,
    snapshot_reader,
];

#[test]
fn a_refreshing_reader_never_meets_what_is_reused() {
    refreshing_reader();
    lingering_reader();
}

#[test]
fn a_returning_reader_never_meets_what_is_reused() {
    returning_reader();
    restless_reader();
}

#[test]
fn an_entering_reader_never_meets_what_is_reused() {
    entering_reader();
}

#[test]
fn a_snapshot_that_is_read_keeps_its_versions() {
    snapshot_reader();
}

#[test]
fn what_was_committed_in_a_complete_epoch_has_been_handed_over() {
    logging_slot();
    entering_logging_slot();
}

#[test]
fn none_of_the_orderings_can_be_left_out() {
    MODELS.iter().for_each(|model| model());
    let ordered = ORDERED.take();
    let missed: Vec<u32> = ordered
        .into_iter()
        .filter(|&line| {
            LEFT_OUT.set(Some(line));
            MODELS.iter().all(|model| catch_unwind(AssertUnwindSafe(model)).is_ok())
        })
        .collect();
    LEFT_OUT.set(None);
    assert_eq!(missed, [0; 0], "lines of src/epoch.rs whose orderings nobody misses");
}

#[test]
fn an_active_slot_holds_reclamation_back() {
    loom::model(|| {
        let epochs = epochs();
        let mut local = epochs.enter(0);
        let retired_at = local;
        (0..3).for_each(|_| epochs.advance());
        assert!(epochs.reclaimable() < retired_at, "slot 0 may still hold what it unlinked");
        assert_eq!(epochs.serialization_point(), local + 1, "at most one ahead of an active slot");
        for _ in 0..3 {
            local = epochs.refresh(0, local);
            epochs.advance();
        }
        assert!(epochs.reclaimable() >= retired_at);
    });
}

#[test]
fn idle_slots_hold_nothing_back_and_epochs_never_go_back() {
    loom::model(|| {
        let mut epochs = epochs();
        let local = epochs.enter(1);
        epochs.leave(1);
        (0..3).for_each(|_| epochs.advance());
        let reclaimable = epochs.reclaimable();
        assert!(reclaimable >= local);
        epochs.provide(5);
        assert!(epochs.reclaimable() > reclaimable, "nobody is active");
        assert!(epochs.enter(4) > local);
    });
}
