//! The core that runs: waiting, hints, and accounting for computation.

use super::clock::Ticks;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Tells the core that it spins.
#[inline(always)]
pub fn pause() {
    std::hint::spin_loop();
}

/// As [`pause`], in a loop that ends at `deadline` even if nothing that it looks at changes: a simulated machine need
/// not follow its every turn.
#[inline(always)]
pub fn pause_until(deadline: Ticks) {
    let _ = deadline;
    pause();
}

thread_local! {
    /// Of the next waits so many sleep, because the core has others to run.
    static SLEEPS: Cell<u32> = const { Cell::new(0) };
}

/// A yield that took so long was a slice of somebody else's.
const SLICE: Duration = Duration::from_millis(1);
/// Sleeps in place of yields after such a one, before it is found out anew whether the core is shared.
const SLEEPS_AFTER_A_SLICE: u32 = 64;
/// One of them. The system makes it some ten microseconds longer.
const SLEEP: Duration = Duration::from_micros(10);

/// Offers the core to the system.
///
/// Linux, from 6.6 on, lets who yields wait until the others have had their slices, some milliseconds each: when what is waited for has long
/// come. Who sleeps it lets in again as soon as the time is up. So where a yield has taken a slice, the next ones are short sleeps.
#[cold]
fn offer() {
    let sleeps = SLEEPS.get();
    if sleeps > 0 {
        SLEEPS.set(sleeps - 1);
        std::thread::sleep(SLEEP);
        return;
    }
    let begun = Instant::now();
    std::thread::yield_now();
    if begun.elapsed() >= SLICE {
        SLEEPS.set(SLEEPS_AFTER_A_SLICE);
    }
}

/// Waiting for another worker, for a short time at best.
///
/// The first [`Spin::BEFORE_YIELDING`] pauses keep the core; later ones offer it to the system, because there
/// may be more workers than cores and the one that is waited for may not be running.
#[derive(Debug, Default)]
pub struct Spin {
    pauses: u32,
    /// When what is waited for comes, if that is known.
    expected: Option<Ticks>,
}

impl Spin {
    /// Pauses that keep the core: a few microseconds, longer than a latch is held by a worker that runs.
    pub const BEFORE_YIELDING: u32 = 128;

    /// Calls of [`Spin::rest`] before it sleeps.
    const BEFORE_SLEEPING: u32 = 2 * Self::BEFORE_YIELDING;
    /// What [`Spin::rest`] sleeps first.
    const SHORTEST_SLEEP: Duration = Duration::from_micros(16);
    /// What it sleeps in the end.
    pub const LONGEST_SLEEP: Duration = Duration::from_millis(1);

    /// A wait that begins.
    #[inline]
    pub const fn new() -> Self {
        Spin { pauses: 0, expected: None }
    }

    /// Waits a little.
    #[inline]
    pub fn pause(&mut self) {
        if self.pauses < Self::BEFORE_YIELDING {
            self.pauses += 1;
            pause();
        } else {
            offer();
        }
    }

    /// As [`Spin::pause`], in a loop that ends at `deadline`; see [`pause_until`].
    #[inline]
    pub fn pause_until(&mut self, deadline: Ticks) {
        let _ = deadline;
        self.pause();
    }

    /// As [`give_way`], again and again: as many times as [`Spin::pause`] pauses it keeps the core and loses no time, later it
    /// offers it to the system.
    #[inline]
    pub fn give_way(&mut self) {
        if self.pauses < Self::BEFORE_YIELDING {
            self.pauses += 1;
            give_way();
        } else {
            offer();
        }
    }

    /// Whether [`Spin::rest`] sleeps by now.
    #[inline]
    pub fn sleeps(&self) -> bool {
        self.pauses >= Self::BEFORE_SLEEPING
    }

    /// What is waited for comes then, or `None`: nobody knows when. Who knows keeps the core, or offers it: he does not sleep longer and longer, for he would wake too late.
    #[inline]
    pub fn expect_at(&mut self, time: Option<Ticks>) {
        self.expected = time;
    }

    /// Waits for what may be long in coming: keeps the core at first, then offers it to the system, and in the end sleeps, longer
    /// and longer, [`Spin::LONGEST_SLEEP`] at most.
    #[cold]
    pub fn rest(&mut self) {
        if let Some(time) = self.expected {
            return self.pause_until(time);
        }
        match self.pauses.checked_sub(Self::BEFORE_SLEEPING) {
            None if self.pauses < Self::BEFORE_YIELDING => pause(),
            None => offer(),
            Some(slept) => {
                let sleep = Self::SHORTEST_SLEEP * 2u32.saturating_pow(slept);
                std::thread::sleep(sleep.min(Self::LONGEST_SLEEP));
            }
        }
        self.pauses = self.pauses.saturating_add(1);
    }
}

/// Transactions of a slot between two looks at its garbage.
#[inline(always)]
pub const fn transactions_between_looks() -> u64 {
    64
}

/// Bytes that a core's own caches keep of what it has touched lately, beside the rest: a quarter of a mebibyte, which they have had for long.
#[inline(always)]
pub const fn near_bytes() -> u64 {
    256 << 10
}

/// Accounts for `cycles` of computation that accesses nothing shared. On hardware the computation itself
/// does.
#[inline(always)]
pub fn work(cycles: u64) {
    let _ = cycles;
}

/// Tells the machine that the core tries again at once what others kept it from. A schedule that is being explored lets them go
/// first, as after a pause; elsewhere it is nothing.
#[inline(always)]
pub fn give_way() {}

/// Holds the core up for a random time where the machine does not by itself. On hardware it does.
#[inline(always)]
pub fn jitter() {}

/// Where a fiber's frames are said to end, for who takes them over: where they do, at `top`. `base` and `bytes` are for machines that
/// say otherwise.
#[inline(always)]
pub fn top_of_frames(top: usize, base: usize, bytes: usize) -> usize {
    let _ = (base, bytes);
    top
}

/// Accounts for taking over `bytes` bytes at `at` that another worker had: the frames of a fiber that has come. On
/// hardware the accesses themselves do.
#[inline(always)]
pub fn take_over(at: *const u8, bytes: usize) {
    let _ = (at, bytes);
}

/// Asks for the cache line at `at`, to read it. A hint: any address will do.
#[inline(always)]
pub fn prefetch_read(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: SSE is part of x86-64, and a prefetch neither faults nor changes anything but the caches.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: `prfm` neither faults nor changes anything but the caches; no flags, no stack.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{at}]", at = in(reg) at, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = at;
}

/// Asks for the cache line at `at`, to write it. A hint: any address will do.
#[inline(always)]
pub fn prefetch_write(at: *const u8) {
    // Not `_mm_prefetch` with `_MM_HINT_ET0`: without the target feature `prfchw` it compiles to a read
    // prefetch.
    #[cfg(target_arch = "x86_64")]
    // SAFETY: `prefetchw` neither faults nor changes anything but the caches, and does nothing on the few
    // 64-bit processors that lack it; no flags, no stack.
    unsafe {
        std::arch::asm!("prefetchw [{at}]", at = in(reg) at, options(nostack, preserves_flags, readonly));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as for `prefetch_read`.
    unsafe {
        std::arch::asm!("prfm pstl1keep, [{at}]", at = in(reg) at, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = at;
}
