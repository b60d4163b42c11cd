//! The text of the latches under `loom`: every interleaving, with the weak orderings that the simulated
//! machine lacks.

mod atomic {
    pub use loom::sync::atomic::{AtomicU32, Ordering};
}
mod cell {
    pub use std::cell::Cell;
}
mod cpu {
    /// A spinner says that it waits for another thread. There are endlessly many ways to wait, so that an
    /// execution in which one has spun for a while is let run to its end without trying its variations: one
    /// more round of waiting finds the words no different.
    pub struct Spin {
        pauses: u32,
    }

    impl Spin {
        const EXPLORED: u32 = 2;

        pub fn new() -> Self {
            Spin { pauses: 0 }
        }

        pub fn pause(&mut self) {
            self.pauses += 1;
            if self.pauses > Self::EXPLORED {
                loom::skip_branch();
            }
            loom::thread::yield_now();
        }
    }
}
#[allow(dead_code, reason = "`loom` has no business with `NoLatch`")]
#[path = "../src/latch.rs"]
mod latch;

use atomic::{AtomicU32, Ordering};
use latch::{Latch, TestAndSet, TestAndTestAndSet, Ticket};
use loom::cell::UnsafeCell;
use loom::sync::Arc;

/// Threads that add 1 to a plain word under a latch. `loom` reports every unordered pair of accesses to it.
fn excludes<L: Latch + Send + Sync + 'static>(threads: usize) {
    let mut model = loom::model::Builder::new();
    // Enough for every known bug of such a latch, and keeps three threads within seconds.
    model.preemption_bound = Some(3);
    model.check(move || {
        let shared = Arc::new((L::default(), UnsafeCell::new(0)));
        let add_one = |shared: &(L, UnsafeCell<usize>), attempt: bool| {
            if attempt {
                if !shared.0.try_lock() {
                    return false;
                }
            } else {
                shared.0.lock();
            }
            // SAFETY: under the latch, which is what is tested: `loom` panics if another access is
            // concurrent.
            shared.1.with_mut(|word| unsafe { *word += 1 });
            shared.0.unlock();
            true
        };
        let others: Vec<_> = (1..threads)
            .map(|w| {
                let shared = Arc::clone(&shared);
                loom::thread::spawn(move || usize::from(add_one(&shared, w == 2)))
            })
            .collect();
        let mine = usize::from(add_one(&shared, false));
        let sum = mine + others.into_iter().map(|other| other.join().expect("no panic")).sum::<usize>();
        shared.0.lock();
        // SAFETY: under the latch.
        shared.1.with(|word| assert_eq!(unsafe { *word }, sum));
    });
}

#[test]
fn test_and_set_excludes() {
    excludes::<TestAndSet>(2);
    excludes::<TestAndSet>(3);
}

#[test]
fn test_and_test_and_set_excludes() {
    excludes::<TestAndTestAndSet>(2);
    excludes::<TestAndTestAndSet>(3);
}

#[test]
fn ticket_excludes() {
    excludes::<Ticket>(2);
    excludes::<Ticket>(3);
}

/// A latch whose unlocking publishes nothing, to see that the tests above can fail.
#[derive(Default)]
struct Relaxed(AtomicU32);

impl Latch for Relaxed {
    const NAME: &'static str = "relaxed";

    fn lock(&self) {
        let mut spin = cpu::Spin::new();
        while !self.try_lock() {
            spin.pause();
        }
    }

    fn try_lock(&self) -> bool {
        self.0.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn unlock(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_latch_without_release_is_caught() {
    excludes::<Relaxed>(2);
}
