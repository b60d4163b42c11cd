//! Computation that the simulated machine cannot see: it is told of accesses, and of what is in between by these.
//!
//! Estimates, in cycles of a wide core of today with everything at hand; none was measured one by one. What a machine makes
//! of a cycle of computation is its file's to say, and calibration scales them all together until one worker is as fast as
//! it was measured to be. On the hardware this is nothing.

use crate::facade::cpu;

/// Drawing a transaction, beginning it, ending it and counting it.
const TRANSACTION_CYCLES: u64 = 140;
/// Beginning an attempt and ending it.
const ATTEMPT_CYCLES: u64 = 40;
/// Finding a key's partition and hash, asking the access set, calling the procedure back.
const OPERATION_CYCLES: u64 = 25;
/// Suspending a fiber and resuming another.
const SWITCH_CYCLES: u64 = 30;
/// Sixteen bytes of a row, read or copied.
const SIXTEEN_BYTES_CYCLES: u64 = 1;

/// Lines of a fiber's frames that a visit touches: those of the operation, nearest to the top, and what it needs of the
/// transaction and the procedure below. An estimate, which decides what a migration costs on a simulated machine; charged for
/// all its frames, DORA does about half as much there. Always those next to the yielder's
/// ([`crate::facade::cpu::top_of_frames`]): the same ones are fetched by each worker that the fiber comes to.
pub(crate) const TOUCHED_LINES: usize = 24;

/// All of it, for who has to know whether two simulations were told the same: the cycles above in their order, and the lines
/// of a fiber's frames that a visit is charged for.
pub fn estimates() -> [u64; 6] {
    [
        TRANSACTION_CYCLES,
        ATTEMPT_CYCLES,
        OPERATION_CYCLES,
        SWITCH_CYCLES,
        SIXTEEN_BYTES_CYCLES,
        TOUCHED_LINES as u64,
    ]
}

/// A transaction has been drawn.
#[inline(always)]
pub(crate) fn transaction() {
    cpu::work(TRANSACTION_CYCLES);
}

/// An attempt begins.
#[inline(always)]
pub(crate) fn attempt() {
    cpu::work(ATTEMPT_CYCLES);
    cpu::jitter();
}

/// An operation begins, on so many bytes.
#[inline(always)]
pub(crate) fn operation(bytes: usize) {
    cpu::work(OPERATION_CYCLES + bytes as u64 / 16 * SIXTEEN_BYTES_CYCLES);
}

/// A worker goes on with another fiber.
#[inline(always)]
pub(crate) fn switch() {
    cpu::work(SWITCH_CYCLES);
}
