//! Virtual time, of one tick a nanosecond.
//!
//! In an exploration one clock for all cores, which accesses and `cpu::work` advance. In a simulation every core's own.
//! Outside of both, the host's time in nanoseconds.

use super::access::{Access, Control, access, control, timed};
use super::exploration::machine as exploring;
use super::timed::machine::Machine;
use super::unobserved;
use crate::hardware;
pub use crate::hardware::clock::Ticks;
use std::time::Duration;

/// Now. It advances the clock: who waits for a point in time will see it come.
#[inline]
pub fn now() -> Ticks {
    access(Access::Clock);
    Ticks(passed_ns())
}

/// The time, without looking at the clock.
pub(super) fn passed_ns() -> u64 {
    match (control(), timed()) {
        (_, Some(machine)) => machine.clock_ns(),
        (Control::Exploring, _) => exploring::clock_ns(),
        (Control::Unobserved, _) => unobserved::clock_ns(),
        _ => hardware::clock::nanoseconds(hardware::clock::now().0),
    }
}

/// Now, where cores have clocks of their own finer than by ticks: in picoseconds. Who has seen what another core did after it had read its
/// clock reads a later time, since a core does nothing before those that are behind it.
#[inline]
pub fn now_in_order() -> Ticks {
    access(Access::Clock);
    Ticks(timed().map_or_else(passed_ns, Machine::clock_ps))
}

/// In a simulation, in the sense of [`now_in_order`]. In an exploration two readings may be the same.
pub fn is_one_for_all_cores() -> bool {
    timed().is_some()
}

/// When a run that is about to begin begins, or before: a run's clock starts at 0.
pub const fn origin() -> Ticks {
    Ticks(0)
}

/// Bits of a reading that are finer than what matters between cores.
pub const FINEST_BITS: u32 = 0;

/// Whether readings of [`now_in_order`] on several cores are in the order of cause and effect, or equal.
pub const fn agrees() -> bool {
    true
}

/// Whether there is a counter in hardware ([`count`]).
pub const HAS_HARDWARE_COUNTER: bool = true;

/// The next number of a counter that is a part of the chip: it comes at the cost of the way there and back, and takes a cycle for each
/// number (*thousand-cores* 4.3). Of an exploration, a number that ascends with its clock.
pub fn count() -> u64 {
    match timed() {
        Some(machine) => machine.count(),
        None => {
            access(Access::Counter);
            passed_ns()
        }
    }
}

/// How long `ticks` are, in nanoseconds.
#[inline]
pub const fn nanoseconds(ticks: u64) -> u64 {
    ticks
}

/// A point in time as others are told it, in nanoseconds.
#[inline]
pub const fn reading_ns(at: Ticks) -> u64 {
    at.0
}

/// What is to be added to a reading if it is to be larger than those of other processes, as far as is known at the start.
pub const fn ticks_ahead() -> u64 {
    0
}

/// How many ticks a duration has.
pub fn ticks_of(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The clock's rate.
pub const fn ticks_per_second() -> f64 {
    1e9
}

/// Nothing to measure here.
pub const fn calibrate() {}
