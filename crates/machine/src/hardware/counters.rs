//! The processor's own counters, by thread: instructions, cycles, and what was waited for (`perf_event_open`).
//!
//! Each counts in user mode, from [`Counters::begin`] to [`Counters::end`]. Where a processor has fewer counters than are asked for, the system takes them by turns, and what is read is scaled up. A
//! system that gives none (a virtual machine without them, `perf_event_paranoid` above 2, another system than Linux) says why ([`refusal`]), and nothing is counted.

use std::fmt;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Instructions that were retired.
    Instructions,
    /// Cycles in which the thread ran.
    Cycles,
    /// Accesses that missed the last level of the caches.
    CacheMisses,
    /// Loads whose page was not in the first buffer of translations.
    TlbMisses,
    /// Branches that went the other way.
    BranchMisses,
    /// Pages that the system had to give.
    PageFaults,
}

impl Counted {
    /// All of them, in their order.
    pub const ALL: [Counted; 6] = [
        Counted::Instructions,
        Counted::Cycles,
        Counted::CacheMisses,
        Counted::TlbMisses,
        Counted::BranchMisses,
        Counted::PageFaults,
    ];
}

/// Counts by [`Counted::ALL`]; `None` where the system gives no such counter.
pub type Counts = [Option<u64>; Counted::ALL.len()];

/// Why there are no counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(String);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why this system gives no counter of the processor's; `None`: it gives some.
pub fn refusal() -> Option<Refusal> {
    system::open(Counted::Instructions).err().map(|error| Refusal(error.to_string().to_lowercase()))
}

/// The counters of the thread that has opened them.
pub struct Counters([Option<system::Counter>; Counted::ALL.len()]);

impl Counters {
    /// Those of this thread that the system gives, at rest.
    pub fn of_this_thread() -> Counters {
        Counters(Counted::ALL.map(|counted| system::open(counted).ok()))
    }

    /// None at all.
    pub fn none() -> Counters {
        Counters(Counted::ALL.map(|_| None))
    }

    /// Counts from now on. A system call for each.
    pub fn begin(&mut self) {
        for counter in self.0.iter_mut().flatten() {
            // Who cannot be begun has counted nothing.
            let _ = system::begin(counter);
        }
    }

    /// Counts no more; what has been counted.
    pub fn end(&mut self) -> Counts {
        let mut counts = Counts::default();
        for (count, counter) in counts.iter_mut().zip(&mut self.0) {
            *count = counter.as_mut().and_then(system::end);
        }
        counts
    }
}

#[cfg(target_os = "linux")]
mod system {
    use super::Counted;
    pub use perf_event::Counter;
    use perf_event::events::{Cache, CacheOp, CacheResult, Event, Hardware, Software, WhichCache};
    use perf_event::{Builder, CountAndTime};
    use std::io;

    pub fn open(counted: Counted) -> io::Result<Counter> {
        let tlb = Cache { which: WhichCache::DTLB, operation: CacheOp::READ, result: CacheResult::MISS };
        let event: Event = match counted {
            Counted::Instructions => Hardware::INSTRUCTIONS.into(),
            Counted::Cycles => Hardware::CPU_CYCLES.into(),
            Counted::CacheMisses => Hardware::CACHE_MISSES.into(),
            Counted::TlbMisses => tlb.into(),
            Counted::BranchMisses => Hardware::BRANCH_MISSES.into(),
            Counted::PageFaults => Software::PAGE_FAULTS.into(),
        };
        Builder::new().kind(event).build()
    }

    pub fn begin(counter: &mut Counter) -> io::Result<()> {
        counter.reset()?;
        counter.enable()
    }

    /// `None`: it never had its turn.
    pub fn end(counter: &mut Counter) -> Option<u64> {
        counter.disable().ok()?;
        scaled(counter.read_count_and_time().ok()?)
    }

    pub(super) fn scaled(CountAndTime { count, time_enabled, time_running }: CountAndTime) -> Option<u64> {
        let whole = u128::from(count) * u128::from(time_enabled);
        (time_running > 0).then(|| (whole / u128::from(time_running)) as u64)
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::Counted;
    use std::io;

    pub enum Counter {}

    pub fn open(_: Counted) -> io::Result<Counter> {
        Err(io::Error::other("only Linux has perf_event_open"))
    }

    pub fn begin(counter: &mut Counter) -> io::Result<()> {
        match *counter {}
    }

    pub fn end(counter: &mut Counter) -> Option<u64> {
        match *counter {}
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use perf_event::CountAndTime;
    use std::hint::black_box;

    #[test]
    fn turns_are_made_up_for() {
        let scaled = |count, time_enabled, time_running| {
            system::scaled(CountAndTime { count, time_enabled, time_running })
        };
        assert_eq!(scaled(10, 100, 100), Some(10));
        assert_eq!(scaled(10, 100, 25), Some(40));
        assert_eq!(scaled(0, 100, 0), None);
        assert_eq!(scaled(u64::MAX / 2, 200, 100), Some(u64::MAX - 1));
    }

    /// What the system gives counts this thread's own work, between beginning and end.
    #[test]
    fn a_thread_counts_its_own_work() {
        let mut counters = Counters::of_this_thread();
        let mut pages = |number: usize| {
            counters.begin();
            let mut bytes = vec![0u8; number << 12];
            bytes.iter_mut().step_by(1 << 12).for_each(|byte| *byte = black_box(1));
            drop(black_box(bytes));
            counters.end()
        };
        let (few, many) = (pages(16), pages(16_384));
        assert!(pages(16)[0].is_none_or(|again| again < many[0].expect("it is given or not")));
        match refusal() {
            None => assert!(many[0] > few[0] && few[0] > Some(16), "{few:?}, {many:?}"),
            Some(refusal) => assert!(few[0].is_none() && !refusal.to_string().is_empty(), "{refusal}"),
        }
        // Pages the kernel counts itself, unless nobody may ask.
        if let (Some(few), Some(many)) = (few[5], many[5]) {
            assert!(many > few, "{few} and {many} pages");
        }
        assert_eq!(Counters::none().end(), Counts::default());
    }
}
