//! Where a sampled transaction's time goes: one clock reading at every change of class.
//!
//! A transaction that is not sampled pays a predicted branch at each change. A sampled one pays two clock readings an
//! operation, and where a key is looked up and locked in one step, looks it up once more, to tell the index from the
//! lock; that is why one in 64 is sampled, not all, and why its latency is not among those that are reported.

use crate::facade::clock::{self, Ticks};
use contract::{Sampled, TimeClass, TimeShare};

/// Measures the transaction that runs, if it is sampled.
pub(crate) struct Stopwatch {
    on: bool,
    class: TimeClass,
    since: Ticks,
    /// Of the attempt that runs.
    attempt: [u64; 6],
    /// Of all sampled transactions.
    total: [u64; 6],
    samples: u64,
    /// When the attempt that runs got its first lock.
    held_since: Option<Ticks>,
    lock_hold: Sampled,
}

impl Stopwatch {
    /// Stopped, with nothing measured.
    pub fn new() -> Self {
        Stopwatch {
            on: false,
            class: TimeClass::Useful,
            since: Ticks(0),
            attempt: [0; 6],
            total: [0; 6],
            samples: 0,
            held_since: None,
            lock_hold: Sampled::default(),
        }
    }

    /// Whether the transaction that runs is sampled.
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// Starts on a transaction.
    pub fn start(&mut self) {
        *self =
            Stopwatch { on: true, since: clock::now(), attempt: [0; 6], class: TimeClass::Useful, ..*self };
        self.samples += 1;
    }

    /// From now on, time is of this class; answers the class before.
    #[inline(always)]
    pub fn enter(&mut self, class: TimeClass) -> TimeClass {
        if self.on { self.change_to(class) } else { self.class }
    }

    #[cold]
    fn change_to(&mut self, class: TimeClass) -> TimeClass {
        let (before, now) = (self.class, clock::now());
        self.attempt[before.index()] += now.since(self.since);
        self.since = now;
        self.class = class;
        before
    }

    /// The attempt got a lock: of a record, a gap or a partition, or of a record that it has prepared to write.
    #[inline(always)]
    pub fn holds_something(&mut self) {
        if self.on {
            self.note_hold();
        }
    }

    #[cold]
    fn note_hold(&mut self) {
        self.held_since.get_or_insert_with(clock::now);
    }

    /// The attempt has given everything back.
    #[inline(always)]
    pub fn holds_nothing(&mut self) {
        if self.on {
            self.note_release();
        }
    }

    #[cold]
    fn note_release(&mut self) {
        if let Some(since) = self.held_since.take() {
            self.lock_hold.add(clock::nanoseconds(clock::now().since(since)));
        }
    }

    /// How long locks were held, by attempt, and forgets it.
    pub fn take_lock_hold(&mut self) -> Sampled {
        std::mem::take(&mut self.lock_hold)
    }

    /// The attempt was aborted: all its time was in vain.
    pub fn aborted(&mut self) {
        if self.on {
            self.enter(TimeClass::Abort);
            self.total[TimeClass::Abort.index()] += self.attempt.iter().sum::<u64>();
            self.attempt = [0; 6];
        }
    }

    /// Ends the transaction.
    pub fn stop(&mut self) {
        self.enter(TimeClass::Useful);
        for (total, attempt) in self.total.iter_mut().zip(self.attempt) {
            *total += attempt;
        }
        self.on = false;
    }

    /// Whether a sampled transaction has ended that was not taken yet.
    #[inline(always)]
    pub fn has_samples(&self) -> bool {
        self.samples > 0
    }

    /// What was measured so far, and forgets it.
    pub fn take(&mut self) -> TimeShare {
        let share = TimeShare { ns: self.total.map(clock::nanoseconds), samples: self.samples };
        (self.total, self.samples) = ([0; 6], 0);
        share
    }
}
