//! The core's clock: nothing is shared. What a slot reads has its number behind it, so that no other draws the same (*thousand-cores* 4.3).
//!
//! | bits | what |
//! |---|---|
//! | 0..s | the slot; s is as many bits as the run's slots take |
//! | s..60 | ticks since the run began, or since the store was opened, without their finest bits |
//!
//! With four ticks in a nanosecond, and sixteen at a time, they last for 2.2 years with 64 slots, and 52 days with 1024, the most that
//! there are; then drawing panics.
//!
//! It takes clocks that agree ([`clock::agrees`]). Two readings that are equal are in the order of their slots; no transaction is as short as
//! sixteen ticks, nor are two readings with a fence and a line's way, or an exchange, between them, so one that begins after another has ended has the larger timestamp.

use crate::facade::clock;

/// When a run began, and how many bits its slots take.
pub(crate) struct Origin {
    began: clock::Ticks,
    slot_bits: u32,
}

impl Origin {
    /// Now, for `slots` slots.
    pub(super) fn now(slots: usize) -> Self {
        Origin { began: clock::origin(), slot_bits: slots.next_power_of_two().ilog2() }
    }

    /// The time now, after the slot's `last` timestamp.
    #[inline]
    pub(super) fn next(&self, slot: u32, last: u64) -> u64 {
        // Not in release: every timestamp would compare it; slots are dealt from the number that the bits were taken from.
        debug_assert!(u64::from(slot) >> self.slot_bits == 0, "slot {slot} in {} bits", self.slot_bits);
        let ticks = clock::now_in_order().since(self.began) >> clock::FINEST_BITS;
        // Two readings may be the same.
        let later = ticks.max((last >> self.slot_bits) + 1);
        later << self.slot_bits | u64::from(slot)
    }
}
