//! The virtual core that runs: waiting, hints, and accounting for computation.

use super::machine::{Access, access, compute};

/// Tells the machine that the core waits, so that a schedule lets another one go on.
#[inline]
pub fn pause() {
    access(Access::Pause);
}

/// Waiting for another worker.
#[derive(Debug, Default)]
pub struct Spin(());

impl Spin {
    /// A wait that begins.
    #[inline]
    pub const fn new() -> Self {
        Spin(())
    }

    /// Waits a little.
    #[inline]
    pub fn pause(&mut self) {
        pause();
    }
}

/// Accounts for `cycles` of computation that accesses nothing shared: the clock advances by as many
/// nanoseconds.
#[inline]
pub fn work(cycles: u64) {
    compute(cycles);
}

/// Asks for the cache line at `at`, to read it. Free here.
#[inline(always)]
pub fn prefetch_read(at: *const u8) {
    let _ = at;
}

/// Asks for the cache line at `at`, to write it. Free here.
#[inline(always)]
pub fn prefetch_write(at: *const u8) {
    let _ = at;
}
