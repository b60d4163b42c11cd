//! Timestamps of transactions: where they come from, for the protocols that order transactions by them (*thousand-cores* 4.3).
//!
//! | [`TimestampsName`] | file | a timestamp costs |
//! |---|---|---|
//! | `mutex` | [`mutex`] | a latch, and the counter's line |
//! | `atomic` | [`atomic`] | an atomic addition, and the counter's line |
//! | `batch-8`, `batch-16` | [`batch`] | the same once for eight, or sixteen |
//! | `clock` | [`clock`] | a look at the core's clock; an atomic addition where clocks do not agree |
//! | `hardware-counter` | [`hardware_counter`] | a way to the centre of the chip and back |
//!
//! Every timestamp of a run is drawn once, and is larger than 0. A slot's ascend. By all but batches, one that is drawn after another was
//! drawn, by cause and effect, is larger, if the cores' clocks agree.
//!
//! Runs begin with metadata of which nobody knows anything ([`crate::storage::Store`]'s `prepare`), so each begins to count anew.

mod atomic;
mod batch;
mod clock;
mod hardware_counter;
mod mutex;

use crate::facade::clock::agrees;
use batch::Batch;
use contract::TimestampsName;

/// A timestamp: below [`END_OF_TIME`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Timestamp(pub u64);

/// A timestamp as it travels with a step, in halves: stamps are aligned as 32-bit words are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Halves {
    high: u32,
    low: u32,
}

impl Halves {
    /// Of a timestamp.
    #[inline(always)]
    pub const fn of(Timestamp(time): Timestamp) -> Self {
        Halves { high: (time >> 32) as u32, low: time as u32 }
    }

    /// The timestamp.
    #[inline(always)]
    pub const fn time(self) -> u64 {
        (self.high as u64) << 32 | self.low as u64
    }
}

/// More than all timestamps of a run: metadata has room for it beside four bits of a status.
pub(crate) const END_OF_TIME: u64 = 1 << 60;

/// Where a run's timestamps come from.
pub(crate) enum Timestamps {
    Mutex(mutex::Counter),
    Atomic(atomic::Counter),
    Batches { counter: atomic::Counter, of: u64 },
    Clock(clock::Origin),
    HardwareCounter,
}

/// What a slot keeps to draw timestamps.
pub(crate) struct Draws {
    slot: u32,
    last: u64,
    batch: Batch,
}

impl Draws {
    /// Of the slot of a number, which has drawn none.
    pub fn new(slot: u32) -> Self {
        Draws { slot, last: 0, batch: Batch::default() }
    }

    /// What is left of a batch is lost: when the slot goes on to another epoch, so that a timestamp that is drawn in an epoch is larger than
    /// those of all who had ended in the last epoch but one, or before; and when it has rested, so that it is above the horizon
    /// ([`crate::horizon`]).
    #[inline]
    pub fn lose_batch(&mut self) {
        self.batch = Batch::default();
    }
}

impl Timestamps {
    /// For a run with `slots` transaction slots.
    pub fn new(way: TimestampsName, slots: usize) -> Self {
        match way {
            TimestampsName::Mutex => Timestamps::Mutex(mutex::Counter::new()),
            TimestampsName::Atomic => Timestamps::Atomic(atomic::Counter::new()),
            TimestampsName::Batch8 => Timestamps::Batches { counter: atomic::Counter::new(), of: 8 },
            TimestampsName::Batch16 => Timestamps::Batches { counter: atomic::Counter::new(), of: 16 },
            TimestampsName::Clock if agrees() => Timestamps::Clock(clock::Origin::now(slots)),
            TimestampsName::Clock => Timestamps::Atomic(atomic::Counter::new()),
            TimestampsName::HardwareCounter => Timestamps::HardwareCounter,
        }
    }

    /// The next timestamp of a slot.
    #[inline]
    pub fn draw(&self, draws: &mut Draws) -> Timestamp {
        let drawn = match self {
            Timestamps::Mutex(counter) => counter.next(),
            Timestamps::Atomic(counter) => counter.take(1),
            Timestamps::Batches { counter, of } => draws.batch.next(*of, counter),
            Timestamps::Clock(origin) => origin.next(draws.slot, draws.last),
            Timestamps::HardwareCounter => hardware_counter::next(),
        };
        assert!(draws.last < drawn && drawn < END_OF_TIME, "timestamp {drawn} after {}", draws.last);
        draws.last = drawn;
        Timestamp(drawn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facade::{clock, worker};

    #[test]
    fn every_timestamp_is_drawn_once_and_a_slots_ascend() {
        const SLOTS: usize = 3;
        const EACH: usize = 1_000;
        for &way in TimestampsName::ALL {
            if way == TimestampsName::HardwareCounter {
                continue;
            }
            let timestamps = Timestamps::new(way, SLOTS);
            let drawn = worker::run(SLOTS, |me| {
                let mut draws = Draws::new(me as u32);
                std::iter::repeat_with(|| timestamps.draw(&mut draws)).take(EACH).collect::<Vec<_>>()
            });
            assert!(drawn.iter().all(|slots| slots.is_sorted()), "{way}");
            let mut all: Vec<_> = drawn.into_iter().flatten().collect();
            all.sort();
            all.dedup();
            assert_eq!(all.len(), SLOTS * EACH, "{way}");
        }
    }

    #[test]
    fn a_batch_does_not_outlast_its_epoch() {
        let timestamps = Timestamps::new(TimestampsName::Batch8, 2);
        let mut slots = [Draws::new(0), Draws::new(1)];
        let [first, other] = [0, 1].map(|slot| timestamps.draw(&mut slots[slot]));
        assert!(timestamps.draw(&mut slots[0]) < other, "of the batch of the first");
        slots[0].lose_batch();
        assert!(timestamps.draw(&mut slots[0]) > other && first < other);
    }

    #[test]
    fn what_is_drawn_later_is_larger() {
        for way in [TimestampsName::Mutex, TimestampsName::Atomic, TimestampsName::Clock] {
            let timestamps = Timestamps::new(way, 2);
            let mut slots = [Draws::new(1), Draws::new(0)];
            let draw = |turn: usize| {
                let drawn = timestamps.draw(&mut slots[turn % 2]);
                // As a transaction would: readings of the same sixteen ticks are in the order of their slots.
                let began = clock::now_in_order();
                while clock::now_in_order().since(began) >> clock::FINEST_BITS == 0 {}
                drawn
            };
            let drawn: Vec<_> = (0..100).map(draw).collect();
            assert!(drawn.is_sorted(), "{way}");
        }
    }
}
