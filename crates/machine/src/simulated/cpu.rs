//! The virtual core that runs: waiting, hints, and accounting for computation.

use super::access::{Access, Control, access, control, timed};
use super::clock::{self, Ticks};
use super::exploration::machine as exploring;
use crate::hardware::cpu as hardware;
use std::time::Duration;

const LINE_BYTES: usize = 64;

/// Tells the machine that the core waits, so that another one may go on.
#[inline]
pub fn pause() {
    access(Access::Pause);
}

/// As [`pause`], in a loop that ends at `deadline` even if nothing that it looks at changes.
#[inline]
pub fn pause_until(deadline: Ticks) {
    match timed() {
        Some(machine) => machine.pause_until(deadline.0),
        None => pause(),
    }
}

/// Waiting for another worker.
#[derive(Debug, Default)]
pub struct Spin {
    rests: u32,
    expected: Option<Ticks>,
}

impl Spin {
    const BEFORE_SLEEPING: u32 = 256;
    const SLEEP: Duration = Duration::from_micros(16);

    /// A wait that begins.
    #[inline]
    pub const fn new() -> Self {
        Spin { rests: 0, expected: None }
    }

    /// Waits a little.
    #[inline]
    pub fn pause(&mut self) {
        pause();
    }

    /// As [`pause_until`].
    #[inline]
    pub fn pause_until(&mut self, deadline: Ticks) {
        pause_until(deadline);
    }

    /// As [`give_way`], again and again.
    #[inline]
    pub fn give_way(&mut self) {
        give_way();
    }

    /// Whether [`Spin::rest`] sleeps by now.
    #[inline]
    pub fn sleeps(&self) -> bool {
        self.rests >= Self::BEFORE_SLEEPING
    }

    /// What is waited for comes then, or `None`: nobody knows when.
    #[inline]
    pub fn expect_at(&mut self, time: Option<Ticks>) {
        self.expected = time;
    }

    /// Waits for what may be long in coming; in the end as a core that sleeps and looks.
    #[cold]
    pub fn rest(&mut self) {
        if let Some(time) = self.expected {
            return self.pause_until(time);
        }
        if self.rests < Self::BEFORE_SLEEPING || timed().is_none() {
            self.rests = self.rests.saturating_add(1);
            return pause();
        }
        let until = Ticks(clock::now().0 + clock::ticks_of(Self::SLEEP));
        while clock::now() < until {
            pause_until(until);
        }
    }
}

/// Accounts for `cycles` of computation that accesses nothing shared. In an exploration the clock advances by as many
/// nanoseconds.
#[inline]
pub fn work(cycles: u64) {
    match (control(), timed()) {
        (_, Some(machine)) => machine.work(cycles),
        (Control::Exploring, _) => exploring::compute(cycles),
        _ => {}
    }
}

/// Tells the machine that the core tries again at once what others kept it from. In an exploration it is a [`pause`], without which a
/// schedule might let nobody else go on, and where nobody looks, without which the core would never be left; in a simulation it is nothing.
#[inline]
pub fn give_way() {
    if let Control::Exploring | Control::Unobserved = control() {
        pause();
    }
}

/// As on the hardware; in an exploration, whose runs are short, fewer, so that garbage is looked at in them.
#[inline]
pub fn transactions_between_looks() -> u64 {
    match control() {
        Control::Exploring => 4,
        _ => crate::hardware::cpu::transactions_between_looks(),
    }
}

/// As on the hardware; in an exploration none, so that whoever waits for far lines does so wherever he may.
#[inline]
pub fn near_bytes() -> u64 {
    match control() {
        Control::Exploring => 0,
        _ => crate::hardware::cpu::near_bytes(),
    }
}

/// Holds the core up for a random time, up to the machine's jitter: what a real core is held up by without doing it. Free in
/// an exploration, whose schedules are random by themselves.
#[inline]
pub fn jitter() {
    if let Some(machine) = timed() {
        machine.jitter();
    }
}

/// Where a fiber's frames are said to end, for who takes them over: so that the lines down from `base` are of `bytes` bytes, whatever the
/// compiler has made of them. A simulation repeats bit for bit in another build. Elsewhere at `top`, where they do.
#[inline]
pub fn top_of_frames(top: usize, base: usize, bytes: usize) -> usize {
    match timed() {
        Some(_) => (base & !(LINE_BYTES - 1)) + LINE_BYTES - bytes,
        None => top,
    }
}

/// Accounts for taking over `bytes` bytes at `at` that another worker had: the frames of a fiber that has come, whose
/// accesses bypass the facade. Their lines are fetched to be written.
#[inline]
pub fn take_over(at: *const u8, bytes: usize) {
    if let Some(machine) = timed() {
        machine.take_over(at.addr(), bytes);
    }
}

/// Asks for the cache line at `at`, to read it. Free in an exploration; who is not looked at asks the host.
#[inline(always)]
pub fn prefetch_read(at: *const u8) {
    match control() {
        Control::Outside | Control::Unobserved => hardware::prefetch_read(at),
        Control::Exploring => {}
        // SAFETY: as in `timed`.
        Control::Timed(machine) => unsafe { machine.as_ref() }.prefetch(at.addr(), false),
    }
}

/// Asks for the cache line at `at`, to write it. Free in an exploration; who is not looked at asks the host.
#[inline(always)]
pub fn prefetch_write(at: *const u8) {
    match control() {
        Control::Outside | Control::Unobserved => hardware::prefetch_write(at),
        Control::Exploring => {}
        // SAFETY: as in `timed`.
        Control::Timed(machine) => unsafe { machine.as_ref() }.prefetch(at.addr(), true),
    }
}
