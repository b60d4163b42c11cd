//! Virtual time: one clock for all cores, of one tick a nanosecond, that accesses and `cpu::work` advance.
//!
//! Outside of an exploration, the host's time in nanoseconds.

use super::machine::{self, Access, access};
use crate::hardware;
pub use crate::hardware::clock::Ticks;
use std::time::Duration;

/// Now. A scheduling point, which advances the clock: who waits for a point in time will see it come.
#[inline]
pub fn now() -> Ticks {
    access(Access::Clock);
    Ticks(machine::clock_ns().unwrap_or_else(|| hardware::clock::nanoseconds(hardware::clock::now().0)))
}

/// How long `ticks` are, in nanoseconds.
#[inline]
pub const fn nanoseconds(ticks: u64) -> u64 {
    ticks
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
