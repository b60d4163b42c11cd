//! The core's clock: nothing is shared. What a slot reads has its number behind it, so that no other draws the same (*thousand-cores* 4.3).
//!
//! | bits | what |
//! |---|---|
//! | 0..10 | the slot |
//! | 10..61 | ticks since the run began, or since the store was opened, without their finest bits |
//!
//! With four ticks in a nanosecond, and sixteen at a time, they last for 104 days; then drawing panics.
//!
//! It takes clocks that agree ([`clock::agrees`]). Two readings that are equal are in the order of their slots; no transaction is as short as
//! sixteen ticks, so one that begins after another has ended has the larger timestamp.

use crate::facade::clock;
use crate::protocol::SlotId;
use crate::protocol::waits_for::MOST_SLOTS;

const SLOT_BITS: u32 = 10;
const _: () = assert!(MOST_SLOTS <= 1 << SLOT_BITS, "a timestamp has room for the slot");

/// When a run began.
pub(crate) struct Origin(clock::Ticks);

impl Origin {
    pub(super) fn now() -> Self {
        Origin(clock::origin())
    }

    /// The time now, after the slot's `last` timestamp.
    #[inline]
    pub(super) fn next(&self, SlotId(slot): SlotId, last: u64) -> u64 {
        let ticks = clock::now_in_order().since(self.0) >> clock::FINEST_BITS;
        // Two readings may be the same.
        let later = ticks.max((last >> SLOT_BITS) + 1);
        later << SLOT_BITS | u64::from(slot)
    }
}
