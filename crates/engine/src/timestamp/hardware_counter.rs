//! A counter in hardware, at the centre of the chip: it takes a cycle for each number, and the way there and back (*thousand-cores* 4.3,
//! 6.1). Processors do not have one; simulated machines do.

use crate::facade::clock;

#[inline]
pub(super) fn next() -> u64 {
    clock::count()
}
