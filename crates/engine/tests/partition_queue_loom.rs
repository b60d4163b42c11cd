//! The queues of partitions under `loom`: their own source, with the latches', compiled against loom's atomics. And the order in which
//! they let in.

mod atomic {
    pub use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};
}
mod cell {
    pub use std::cell::Cell;
}
mod cpu {
    /// A spinner says that it waits for another thread, and is not followed for ever.
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
#[allow(dead_code, reason = "the queues have one of them")]
#[path = "../../machine/src/latch.rs"]
mod latch;

mod facade {
    pub(crate) use crate::{atomic, cpu, latch};
}

mod epoch {
    pub struct Line<T>(pub T);
}

#[allow(dead_code, reason = "the architecture uses all of it")]
#[path = "../src/architecture/partition_queue.rs"]
mod partition_queue;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use partition_queue::PartitionQueues;

fn check(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(model);
}

/// Workers that enter a partition at once, with these timestamps, and count there; loom reports unordered accesses.
fn excludes(timestamps: &'static [u64]) {
    check(move || {
        let shared = Arc::new((PartitionQueues::new(1, timestamps.len()), UnsafeCell::new(0)));
        let count = |shared: &(PartitionQueues, UnsafeCell<usize>), worker: usize| {
            shared.0.enter(0, worker, timestamps[worker]);
            // SAFETY: the partition is the worker's.
            shared.1.with_mut(|counted| unsafe { *counted += 1 });
            shared.0.leave(0);
        };
        let others: Vec<_> = (1..timestamps.len())
            .map(|worker| {
                let shared = shared.clone();
                thread::spawn(move || count(&shared, worker))
            })
            .collect();
        count(&shared, 0);
        others.into_iter().for_each(|other| other.join().expect("no panic"));
        // SAFETY: everybody has left.
        shared.1.with(|counted| assert_eq!(unsafe { *counted }, timestamps.len()));
        assert_eq!(shared.0.waiting(0), 0);
    });
}

#[test]
fn one_at_a_time_has_a_partition() {
    excludes(&[1, 2]);
    excludes(&[3, 1, 2]);
}

/// Two workers with two partitions each, in ascending order, the younger and the older one: nobody waits in a circle.
#[test]
fn who_asks_in_ascending_order_goes_on() {
    check(|| {
        let queues = Arc::new(PartitionQueues::new(2, 2));
        let run = |queues: &PartitionQueues, worker: usize| {
            for partition in [0, 1] {
                queues.enter(partition, worker, 2 - worker as u64);
            }
            for partition in [1, 0] {
                queues.leave(partition);
            }
        };
        let other = {
            let queues = queues.clone();
            thread::spawn(move || run(&queues, 1))
        };
        run(&queues, 0);
        other.join().expect("no panic");
    });
}

/// Whoever has waited when a partition was left gets it in the order of age, however they came.
#[test]
fn the_oldest_is_let_in_first() {
    check(|| {
        let shared = Arc::new((PartitionQueues::new(1, 3), UnsafeCell::new(Vec::new())));
        shared.0.enter(0, 0, 9);
        let others: Vec<_> = [(1, 7), (2, 5)]
            .map(|(worker, timestamp)| {
                let shared = shared.clone();
                thread::spawn(move || {
                    shared.0.enter(0, worker, timestamp);
                    // SAFETY: the partition is the worker's.
                    shared.1.with_mut(|order| unsafe { (*order).push(timestamp) });
                    shared.0.leave(0);
                })
            })
            .into();
        let both_wait = shared.0.waiting(0) == 2;
        shared.0.leave(0);
        others.into_iter().for_each(|other| other.join().expect("no panic"));
        shared.1.with(|order| {
            // SAFETY: everybody has left.
            let order = unsafe { &*order };
            assert!(order.len() == 2 && (!both_wait || *order == [5, 7]), "{order:?}");
        });
    });
}
