//! Time, read in a few nanoseconds and comparable between workers.
//!
//! On x86-64 the time-stamp counter, read without serialisation: a reading may drift by some tens of
//! instructions against its neighbours, which is less than what is measured with it. On aarch64 the virtual
//! counter. Elsewhere the system's monotonic clock. Counters of today's processors tick at one rate whatever
//! the core's frequency (`constant_tsc`, `nonstop_tsc`: `doctor` tells), and the rate is measured once
//! against the monotonic clock.
//!
//! A point in time that leaves the process is in nanoseconds of its host's clock ([`reading_ns`]). Those of several hosts have nothing to do with each other, which can be rehearsed on one ([`rehearse`]).

use super::cpu::Spin;
use super::worker;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A point in time, in ticks of the machine's counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticks(pub u64);

impl Ticks {
    /// Ticks from `earlier` to here; 0 if it was not earlier.
    #[inline]
    pub const fn since(self, earlier: Ticks) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// Now.
#[inline(always)]
pub fn now() -> Ticks {
    Ticks(counter::read())
}

/// Now: after what the core has done before, and before what it does later.
#[inline(always)]
pub fn now_in_order() -> Ticks {
    Ticks(counter::read_in_order())
}

/// Whether a reading of [`now_in_order`] is always larger than one on another core that it comes after, by cause and effect: the
/// cores' counters agree, and tick faster than a line travels. Measured once, in some milliseconds, unless the machine does not
/// promise it.
///
/// A token goes round the cores, each of which reads its counter while it has it.
pub fn is_one_for_all_cores() -> bool {
    static AGREED: OnceLock<bool> = OnceLock::new();
    *AGREED.get_or_init(|| counter::is_steady() && ticks_per_second() >= 1e9 && readings_ascend())
}

fn readings_ascend() -> bool {
    let cores = worker::cores();
    let steps = 256 * cores as u64;
    // Any order will do in which everybody passes it to everybody.
    let holder = |step: u64| (step.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize % cores;
    let (turn, last, descents) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    worker::run(cores, |me| {
        for step in (0..steps).filter(|&step| holder(step) == me) {
            let mut spin = Spin::new();
            // Acquire: pairs with the Release below.
            while turn.load(Ordering::Acquire) != step {
                spin.pause();
            }
            let now = now_in_order().0;
            // Relaxed, both: the token orders them.
            if now <= last.swap(now, Ordering::Relaxed) {
                descents.fetch_add(1, Ordering::Relaxed);
            }
            // Release: pairs with the Acquire above.
            turn.store(step + 1, Ordering::Release);
        }
    });
    descents.into_inner() == 0
}

/// When a run that is about to begin begins, or before.
pub fn origin() -> Ticks {
    now()
}

/// Bits of a reading that are finer than what matters between cores: no line travels in so few ticks.
pub const FINEST_BITS: u32 = 4;

/// Whether readings of [`now_in_order`] on several cores are in the order of cause and effect, or equal.
pub fn agrees() -> bool {
    is_one_for_all_cores()
}

/// Whether there is a counter in hardware ([`count`]).
pub const HAS_HARDWARE_COUNTER: bool = false;

/// No processor that we know of has one: simulated machines do.
pub fn count() -> u64 {
    unreachable!("asked for a number of a counter that this machine does not have")
}

/// How long `ticks` are, in nanoseconds.
#[inline]
pub fn nanoseconds(ticks: u64) -> u64 {
    rate().nanoseconds(ticks)
}

/// A point in time as others are told it, in nanoseconds: comparable between processes of one host that [share](share_rate) a rate.
#[inline]
pub fn reading_ns(at: Ticks) -> u64 {
    let rate = rate();
    rate.nanoseconds(at.0) + rate.ahead_ns
}

/// What is to be added to a reading if it is to be larger than those of other processes, as far as is known at the start: nothing, unless another clock is [rehearsed](rehearse).
pub fn ticks_ahead() -> u64 {
    ticks_of(Duration::from_nanos(rate().ahead_ns))
}

/// How many ticks a duration has.
pub fn ticks_of(duration: Duration) -> u64 {
    let ticks = duration.as_secs_f64() * ticks_per_second();
    // A float too large for the integer becomes its largest value.
    ticks.round() as u64
}

/// The counter's rate.
pub fn ticks_per_second() -> f64 {
    rate().ticks_per_second
}

/// Measures the counter's rate now, if it has not been: takes about 20 ms. To be called ahead of measuring.
pub fn calibrate() {
    rate();
}

/// Nanoseconds per tick are kept as a 64-bit number with so many bits behind the point: with a counter of 1
/// GHz exact to 2^-32, and large enough for counters down to 1 kHz.
const FRACTION_BITS: u32 = 32;

struct Rate {
    ticks_per_second: f64,
    nanoseconds_per_tick: u64,
    /// Added to points in time that others are told.
    ahead_ns: u64,
}

static RATE: OnceLock<Rate> = OnceLock::new();

/// Another host's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rehearsed {
    /// How far it is ahead of this host's.
    pub ahead: Duration,
    /// How much faster it is, in millionths.
    pub gains_per_million: u32,
}

static REHEARSED: OnceLock<Rehearsed> = OnceLock::new();

/// From now on, what others are told of this process's clock is what they would be told on a host with that one; for tests, and to try on one host what is to run on several. The counter itself cannot
/// be changed, so the process goes on by it: it measures its durations as much wrong as the rate is. To be called before anything asks for the rate; once.
pub fn rehearse(clock: Rehearsed) {
    assert!(RATE.get().is_none(), "the clock has been asked already");
    REHEARSED.set(clock).expect("a process has one clock");
}

fn rate() -> &'static Rate {
    RATE.get_or_init(|| {
        let measured = counter::KNOWN_TICKS_PER_SECOND.unwrap_or_else(measure_ticks_per_second);
        let gains = REHEARSED.get().map_or(0, |clock| clock.gains_per_million);
        Rate::of(measured / (1.0 + f64::from(gains) / 1e6))
    })
}

impl Rate {
    fn of(ticks_per_second: f64) -> Rate {
        assert!(ticks_per_second >= 1e3, "a counter that ticks {ticks_per_second} times a second is none");
        let nanoseconds_per_tick = (1e9 / ticks_per_second * (1u64 << FRACTION_BITS) as f64).round() as u64;
        let ahead = REHEARSED.get().map_or(Duration::ZERO, |clock| clock.ahead);
        let ahead_ns = u64::try_from(ahead.as_nanos()).expect("a clock that is less than 500 years ahead");
        Rate { ticks_per_second, nanoseconds_per_tick, ahead_ns }
    }

    #[inline]
    fn nanoseconds(&self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.nanoseconds_per_tick)) >> FRACTION_BITS) as u64
    }
}

/// Lets this process take another one's rate, as [`ticks_per_second`] told it there, for its own: then nanoseconds are the same in both, if they are on one host. To be called
/// before anything asks for the rate.
pub fn share_rate(ticks_per_second: f64) {
    RATE.get_or_init(|| Rate::of(ticks_per_second));
}

/// The median of five windows of 4 ms each.
fn measure_ticks_per_second() -> f64 {
    const WINDOW: Duration = Duration::from_millis(4);
    let mut rates = [0.0; 5];
    let mut from = both_clocks();
    for rate in &mut rates {
        let to = loop {
            let to = both_clocks();
            if to.1 - from.1 >= WINDOW {
                break to;
            }
        };
        *rate = to.0.since(from.0) as f64 / (to.1 - from.1).as_secs_f64();
        from = to;
    }
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// Both clocks at one time: of a few tries, the one in which the two readings were closest together.
fn both_clocks() -> (Ticks, Instant) {
    let tries = std::array::from_fn::<_, 8, _>(|_| {
        let before = now();
        let instant = Instant::now();
        let distance = now().since(before);
        (distance, Ticks(before.0 + distance / 2), instant)
    });
    let (_, ticks, instant) = tries.into_iter().min_by_key(|&(distance, ..)| distance).expect("eight tries");
    (ticks, instant)
}

#[cfg(target_arch = "x86_64")]
mod counter {
    pub(super) const KNOWN_TICKS_PER_SECOND: Option<f64> = None;

    #[inline(always)]
    pub(super) fn read() -> u64 {
        // SAFETY: every x86-64 processor has the instruction, and no system that we run on forbids it to
        // users.
        unsafe { std::arch::x86_64::_rdtsc() }
    }

    #[inline(always)]
    pub(super) fn read_in_order() -> u64 {
        use std::arch::x86_64::_mm_lfence;
        // SAFETY: every x86-64 processor has the instruction, which waits until all before it are done, and lets none begin that
        // comes after it.
        unsafe { _mm_lfence() };
        let ticks = read();
        // SAFETY: as above.
        unsafe { _mm_lfence() };
        ticks
    }

    /// It ticks at one rate, in every state of the core.
    pub(super) fn is_steady() -> bool {
        use std::arch::x86_64::__cpuid;
        const POWER_MANAGEMENT: u32 = 0x8000_0007;
        const INVARIANT_TSC: u32 = 1 << 8;
        #[allow(unused_unsafe, reason = "the oldest Rust that will do calls it unsafe, later ones do not")]
        // SAFETY: every x86-64 processor has the instruction.
        let leaf = |number| unsafe { __cpuid(number) };
        leaf(0x8000_0000).eax >= POWER_MANAGEMENT && leaf(POWER_MANAGEMENT).edx & INVARIANT_TSC != 0
    }
}

#[cfg(target_arch = "aarch64")]
mod counter {
    pub(super) const KNOWN_TICKS_PER_SECOND: Option<f64> = None;

    #[inline(always)]
    pub(super) fn read() -> u64 {
        let ticks: u64;
        // SAFETY: reads a register that Linux and macOS open to users; no memory, no flags, no stack.
        unsafe {
            std::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags));
        }
        ticks
    }

    #[inline(always)]
    pub(super) fn read_in_order() -> u64 {
        let ticks: u64;
        // SAFETY: as in `read`, between two barriers of the instruction stream; memory is not to be moved across them. The barrier before them
        // waits until what the core has stored is seen by all others.
        unsafe {
            std::arch::asm!("dsb ish", "isb", "mrs {}, cntvct_el0", "isb", out(reg) ticks, options(nostack, preserves_flags));
        }
        ticks
    }

    pub(super) fn is_steady() -> bool {
        true
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod counter {
    use std::sync::OnceLock;
    use std::time::Instant;

    pub(super) const KNOWN_TICKS_PER_SECOND: Option<f64> = Some(1e9);

    #[inline]
    pub(super) fn read() -> u64 {
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed().as_nanos() as u64
    }

    pub(super) fn read_in_order() -> u64 {
        read()
    }

    /// Two readings of it may be the same.
    pub(super) const fn is_steady() -> bool {
        false
    }
}
