//! The horizon under `loom`: its own source, compiled against loom's atomics, around versions that loom watches for races.
//!
//! *Writers* draw timestamps from clocks, install, and go on or rest. *Readers* read the past, at the horizon. *Rounds* raise it, and what is
//! freed was needed by nobody. `loom` tries every order that the orderings allow, and fails at an access to a version that is not
//! ordered after its installation, or before it is freed.
//!
//! Clocks order nothing: they are a counter that is Relaxed. One that is not would stand in for the fences.
//!
//! A fence orders more to loom than it does: what other threads have read, too, if that comes before it. So where no fence is needed, there is
//! none: it would hide that an Acquire is missing.
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

            #[track_caller]
            pub fn fetch_max(&self, value: u64, order: Ordering) -> u64 {
                self.0.fetch_max(value, weakened(order))
            }
        }

        #[track_caller]
        pub fn fence(order: Ordering) {
            if weakened(order) == order && crate::FENCES.get() == crate::Fences::There {
                loom::sync::atomic::fence(order);
            }
        }
    }
}

mod epoch {
    /// Nothing is false sharing to loom.
    #[derive(Default)]
    pub struct Line<T>(pub T);
}

#[allow(dead_code, reason = "the engine uses all of it")]
#[path = "../src/horizon.rs"]
mod horizon;

use horizon::Horizon;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fences {
    There,
    LeftOut,
}

thread_local! {
    static FENCES: Cell<Fences> = const { Cell::new(Fences::There) };
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

/// The memory of a version.
struct Version(UnsafeCell<u64>);

// SAFETY: who may touch the memory is what is tested, and loom checks it.
unsafe impl Sync for Version {}
// SAFETY: as above.
unsafe impl Send for Version {}

impl Version {
    fn read(&self) {
        // SAFETY: the horizon says that it is installed, and not freed.
        self.0.with(|memory| unsafe { std::hint::black_box(*memory) });
    }

    /// Installs it, or frees it for another.
    fn write(&self) {
        // SAFETY: the horizon says that nobody reads it, yet or any more.
        self.0.with_mut(|memory| unsafe { *memory += 1 });
    }
}

const WRITER: usize = 0;
const READER: usize = 1;
const OTHER: usize = 2;
const SLOTS: usize = 3;

type Shared = Arc<(Horizon, Version)>;

fn model(f: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(f);
}

/// A model of what is seen, in which nothing races with a look at who is there.
fn model_without_fences(f: impl Fn() + Sync + Send + 'static) {
    struct Restored;
    impl Drop for Restored {
        fn drop(&mut self) {
            FENCES.set(Fences::There);
        }
    }
    let _restored = Restored;
    FENCES.set(Fences::LeftOut);
    model(f);
}

fn spawn<T: 'static>(
    shared: &Shared,
    body: impl FnOnce(&Horizon, &Version) -> T + 'static,
) -> thread::JoinHandle<T> {
    let shared = Shared::clone(shared);
    thread::spawn(move || body(&shared.0, &shared.1))
}

fn shared() -> Shared {
    Arc::new((Horizon::new(SLOTS, true), Version(UnsafeCell::new(0))))
}

/// A slot stops resting, and draws a timestamp.
fn begin(horizon: &Horizon, slot: usize, time: impl FnOnce() -> u64) -> u64 {
    let _ = horizon.before_drawing(slot);
    let time = time();
    horizon.drawn(slot, time);
    time
}

/// A slot that has rested begins while another one makes a round: its timestamp is above the horizon. (1)
fn beginning_writer() {
    model(|| {
        let (shared, clock) = (shared(), Arc::new(AtomicU64::new(1)));
        // Relaxed: clocks order nothing.
        let now = move |clock: &AtomicU64| clock.fetch_add(1, Ordering::Relaxed);
        begin(&shared.0, OTHER, || now(&clock));
        let writer = {
            let clock = Arc::clone(&clock);
            spawn(&shared, move |horizon, _| begin(horizon, WRITER, || now(&clock)))
        };
        let (horizon, _) = &*shared;
        let own = now(&clock);
        horizon.drawn(OTHER, own);
        horizon.advance(own);
        let time = writer.join().expect("no race");
        let reached = horizon.begin_to_read(OTHER);
        assert!(reached < time, "the horizon is {reached}, and {time} runs");
    });
}

/// A writer that installs at 1, and goes on at 3, or rests; a round; and a reader of what is at the horizon. (2)
fn installing_writer(go_on: impl Fn(&Horizon) + Sync + Send + Copy + 'static) {
    model_without_fences(move || {
        let shared = shared();
        begin(&shared.0, WRITER, || 1);
        let writer = spawn(&shared, move |horizon, version| {
            version.write();
            go_on(horizon);
        });
        let reader = spawn(&shared, |horizon, version| {
            if horizon.begin_to_read(READER) >= 1 {
                version.read();
            }
        });
        shared.0.advance(4);
        writer.join().expect("no race");
        reader.join().expect("no race");
    });
}

fn writer_that_goes_on() {
    installing_writer(|horizon| horizon.drawn(WRITER, 3));
}

fn writer_that_rests() {
    installing_writer(|horizon| horizon.rest(WRITER));
}

/// A writer that makes a round, another round, which may raise the horizon further without having seen more, and a reader of either's.
fn reader_after_two_rounds() {
    model_without_fences(|| {
        let shared = shared();
        begin(&shared.0, WRITER, || 1);
        let reader = spawn(&shared, |horizon, version| {
            if horizon.begin_to_read(READER) >= 1 {
                version.read();
            }
        });
        let other = spawn(&shared, |horizon, _| _ = horizon.advance(9));
        let (horizon, version) = &*shared;
        version.write();
        horizon.drawn(WRITER, 5);
        horizon.advance(4);
        reader.join().expect("no race");
        other.join().expect("no race");
    });
}

/// A transaction at 1, which has read a version that was replaced at 5, and ends; a round; and another one, which goes on from there and frees
/// the version. (2)
fn reader_that_ends() {
    model_without_fences(|| {
        let shared = shared();
        begin(&shared.0, WRITER, || 1);
        let reader = spawn(&shared, |horizon, version| {
            version.read();
            horizon.drawn(WRITER, 9);
        });
        let other = spawn(&shared, |horizon, version| {
            if horizon.advance(9) >= 5 {
                version.write();
            }
        });
        shared.0.advance(9);
        reader.join().expect("no race");
        other.join().expect("no race");
    });
}

/// A reader that looks at a version, if the horizon is below 5, at which that was replaced; the writer, which makes two rounds; and
/// somebody who frees the version once it is not needed. (3)
fn replaced_version(free: impl Fn(&Horizon) -> u64 + Sync + Send + Copy + 'static) {
    model(move || {
        let shared = shared();
        begin(&shared.0, WRITER, || 5);
        shared.0.advance(5);
        let reader = spawn(&shared, |horizon, version| {
            if horizon.begin_to_read(READER) < 5 {
                version.read();
            }
            horizon.end_reading(READER);
        });
        let other = spawn(&shared, move |horizon, version| {
            thread::yield_now();
            if free(horizon) >= 5 {
                version.write();
            }
        });
        let (horizon, _) = &*shared;
        horizon.drawn(WRITER, 9);
        (0..2).for_each(|_| _ = horizon.advance(9));
        reader.join().expect("no race");
        other.join().expect("no race");
    });
}

/// Who frees it has made no round.
fn who_asks_frees() {
    replaced_version(Horizon::needed);
}

/// Who frees it has made a round, and perhaps found less than another.
fn who_makes_a_round_frees() {
    replaced_version(|horizon| horizon.advance(8));
}

const MODELS: [fn(); 7] = [
    beginning_writer,
    writer_that_goes_on,
    writer_that_rests,
    reader_after_two_rounds,
    reader_that_ends,
    who_asks_frees,
    who_makes_a_round_frees,
];

#[test]
fn who_begins_is_above_the_horizon() {
    beginning_writer();
}

#[test]
fn what_is_at_the_horizon_is_installed() {
    writer_that_goes_on();
    writer_that_rests();
    reader_after_two_rounds();
}

#[test]
fn what_is_read_is_not_freed() {
    reader_that_ends();
    who_asks_frees();
    who_makes_a_round_frees();
}

#[test]
fn none_of_the_orderings_can_be_left_out() {
    MODELS.iter().for_each(|model| model());
    let ordered = ORDERED.take();
    assert!(ordered.len() > 8, "{ordered:?} are not all");
    let missed: Vec<u32> = ordered
        .into_iter()
        .filter(|&line| {
            LEFT_OUT.set(Some(line));
            MODELS.iter().all(|model| catch_unwind(AssertUnwindSafe(model)).is_ok())
        })
        .collect();
    LEFT_OUT.set(None);
    assert_eq!(missed, [0; 0], "lines of src/horizon.rs whose orderings nobody misses");
}

#[test]
fn the_horizon_is_below_who_runs_and_rests_hold_nothing_back() {
    loom::model(|| {
        let horizon = Horizon::new(3, true);
        let begin = |slot, time| {
            let has_rested = horizon.before_drawing(slot);
            horizon.drawn(slot, time);
            has_rested
        };
        assert!(begin(0, 5), "it begins");
        assert!(begin(1, 9), "it begins");
        assert_eq!(horizon.advance(9), 0, "nothing was known before");
        assert_eq!(horizon.advance(9), 4);
        assert!(!begin(0, 12), "it goes on");
        // About to draw.
        assert!(horizon.before_drawing(2), "it begins");
        horizon.advance(12);
        assert_eq!(horizon.advance(12), 4);
        horizon.drawn(2, 13);
        horizon.advance(12);
        assert_eq!(horizon.advance(12), 8);
        horizon.rest(1);
        horizon.advance(12);
        assert_eq!(horizon.advance(12), 11);
        assert!(begin(1, 13), "it has rested, and may be below the horizon with what it had left of a batch");
    });
}

#[test]
fn what_a_reader_reads_is_needed_until_it_has_read() {
    loom::model(|| {
        let horizon = Horizon::new(2, true);
        assert!(horizon.before_drawing(0), "it begins");
        horizon.drawn(0, 20);
        horizon.advance(20);
        assert_eq!(horizon.begin_to_read(1), 19);
        horizon.drawn(0, 30);
        horizon.advance(30);
        assert_eq!((horizon.advance(30), horizon.needed()), (19, 19));
        horizon.end_reading(1);
        assert_eq!(horizon.advance(30), 29);
        assert_eq!(horizon.begin_to_read(1), 29);
    });
}
