//! The queues of partitions, in the order of timestamps (*thousand-cores* 2.2: H-STORE): of the transactions that wait for a partition
//! the oldest gets it next.
//!
//! State. A partition's queue is a list of the workers that wait for it, the oldest transaction first, and whether somebody has the
//! partition. A latch protects both. A worker waits for one partition at a time, so it has one place in all lists together, a line of
//! its own, in which it also waits until it is let in.
//!
//! - Who comes gets the partition if nobody has it, and otherwise puts itself behind all who are older.
//! - Who leaves lets the oldest in, so that the partition passes from one to the other and nobody else can come between; if nobody
//!   waits, the partition is free.
//!
//! Invariants: one worker at a time has a partition; while somebody waits for it somebody has it; timestamps are drawn once, so the
//! order is one.
//!
//! The workers ask for their partitions in ascending order ([`super::partitioned_serial`]), whatever their timestamps: who waits for a
//! partition holds lower ones only. So the owner of the highest partition for which anybody waits does not wait, and somebody goes on.
//! Timestamps say who of those that wait at one partition is next, and close no circle, as they all wait for its owner.
//!
//! We differ: the paper's transactions stand in the queues of all their partitions from the beginning, and the partition goes to the oldest
//! that stands there. It does not say what becomes of one that finds a younger one in possession, which waits elsewhere for the older;
//! its authors' code aborts it. Here it waits, and nobody aborts.
//!
//! This file uses the machine only through `crate::facade`, so that its test compiles it against `loom`.

use crate::epoch::Line;
use crate::facade::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::facade::cpu::Spin;
use crate::facade::latch::{Latch, TestAndTestAndSet};

/// No worker; they are numbered from 1.
const NOBODY: u32 = 0;

/// A partition.
#[derive(Default)]
struct Queue {
    latch: TestAndTestAndSet,
    /// The oldest that waits.
    first: AtomicU32,
    /// 1 if somebody has the partition.
    is_taken: AtomicU32,
}

/// A worker's place.
#[derive(Default)]
struct Place {
    timestamp: AtomicU64,
    next: AtomicU32,
    /// 1 once it has been let in.
    is_let_in: AtomicU32,
}

/// The queues of all partitions.
pub struct PartitionQueues {
    queues: Box<[Line<Queue>]>,
    places: Box<[Line<Place>]>,
}

impl PartitionQueues {
    /// For so many workers.
    pub fn new(partitions: usize, workers: usize) -> Self {
        PartitionQueues {
            queues: (0..partitions).map(|_| Line(Queue::default())).collect(),
            places: (0..workers).map(|_| Line(Place::default())).collect(),
        }
    }

    /// How many there are.
    pub fn partitions(&self) -> usize {
        self.queues.len()
    }

    fn place(&self, worker: u32) -> &Place {
        &self.places[worker as usize - 1].0
    }

    /// Waits until `worker`, from 0, whose transaction has this timestamp, has the partition.
    pub fn enter(&self, partition: usize, worker: usize, timestamp: u64) {
        let queue = &self.queues[partition].0;
        queue.latch.lock();
        // Relaxed, here and below, unless said: under the latch.
        if queue.is_taken.load(Ordering::Relaxed) == 0 {
            assert!(
                queue.first.load(Ordering::Relaxed) == NOBODY,
                "somebody waits for a partition that nobody has"
            );
            queue.is_taken.store(1, Ordering::Relaxed);
            return queue.latch.unlock();
        }
        self.wait_in_line(queue, worker as u32 + 1, timestamp);
        queue.latch.unlock();
        let mine = &self.places[worker].0;
        let mut spin = Spin::new();
        // Acquire: all that the last owner did in the partition; pairs with the Release in `leave`.
        while mine.is_let_in.load(Ordering::Acquire) == 0 {
            spin.pause();
        }
        mine.is_let_in.store(0, Ordering::Relaxed);
    }

    /// Puts a worker behind all who are older.
    fn wait_in_line(&self, queue: &Queue, worker: u32, timestamp: u64) {
        let mine = self.place(worker);
        mine.timestamp.store(timestamp, Ordering::Relaxed);
        let (mut link, mut next) = (&queue.first, queue.first.load(Ordering::Relaxed));
        while next != NOBODY && self.place(next).timestamp.load(Ordering::Relaxed) <= timestamp {
            link = &self.place(next).next;
            next = link.load(Ordering::Relaxed);
        }
        mine.next.store(next, Ordering::Relaxed);
        link.store(worker, Ordering::Relaxed);
    }

    /// Gives a partition to the oldest that waits for it. The caller has it.
    pub fn leave(&self, partition: usize) {
        let queue = &self.queues[partition].0;
        queue.latch.lock();
        assert!(queue.is_taken.load(Ordering::Relaxed) == 1, "a partition is left that nobody has");
        let oldest = queue.first.load(Ordering::Relaxed);
        match oldest {
            NOBODY => queue.is_taken.store(0, Ordering::Relaxed),
            oldest => queue.first.store(self.place(oldest).next.load(Ordering::Relaxed), Ordering::Relaxed),
        }
        queue.latch.unlock();
        if oldest != NOBODY {
            // Release: pairs with the Acquire in `enter`.
            self.place(oldest).is_let_in.store(1, Ordering::Release);
        }
    }

    /// How many wait for a partition.
    #[cfg(test)]
    #[allow(dead_code, reason = "its test under loom asks")]
    pub fn waiting(&self, partition: usize) -> usize {
        let queue = &self.queues[partition].0;
        queue.latch.lock();
        let (mut next, mut waiting) = (queue.first.load(Ordering::Relaxed), 0);
        while next != NOBODY {
            waiting += 1;
            next = self.place(next).next.load(Ordering::Relaxed);
        }
        queue.latch.unlock();
        waiting
    }
}
