//! The processor's own counters, by thread: instructions, cycles, and what was waited for (`perf_event_open`).
//!
//! Each counts in user mode, from [`Counters::begin`] to [`Counters::end`], what one thread does, on whichever core. Where a processor has fewer
//! counters than are asked for, the system lets them take turns, and what is read is scaled up to the whole time; one that never had its turn has counted nothing. A system
//! that gives none (a virtual machine, mostly; `perf_event_paranoid` above 2; a container's filter; another system than Linux) says why ([`refusal`]). Page faults the kernel counts itself,
//! and may give where the processor's counters are not there.
//!
//! Every counter is an open file of the process. Where the limit on those is reached, threads go without.

use std::fmt;
use std::io;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Instructions that were retired.
    Instructions,
    /// Cycles in which the thread ran.
    Cycles,
    /// What Linux calls cache misses: of the last level on Intel's processors, of the second on AMD's, and of the first on many of Arm's.
    CacheMisses,
    /// Loads whose page was in no buffer of translations (Intel's since Skylake), or not in the first.
    TlbMisses,
    /// Branches that were predicted wrongly.
    BranchMisses,
    /// Pages that the system had to give.
    PageFaults,
}

impl Counted {
    /// All of them, in the order of [`Counts`].
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

/// Why there are no counters of the processor's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The processor shows none to the system.
    NoneShown,
    /// The system does not give them to this process; its `perf_event_paranoid`, if that can be read.
    Forbidden(Option<i64>),
    /// The system has no such call.
    NoCall,
    /// Anything else, in the system's words.
    Other(String),
}

/// User mode is given to everybody up to this `perf_event_paranoid`.
const PARANOID: i64 = 2;

impl Refusal {
    fn of(error: &io::Error, paranoid: impl FnOnce() -> Option<i64>) -> Refusal {
        use rustix::io::Errno;
        match Errno::from_io_error(error) {
            Some(Errno::NOENT | Errno::NODEV | Errno::NXIO | Errno::OPNOTSUPP) => Refusal::NoneShown,
            Some(Errno::ACCESS | Errno::PERM) => Refusal::Forbidden(paranoid()),
            Some(Errno::NOSYS) => Refusal::NoCall,
            _ => Refusal::Other(error.to_string()),
        }
    }

    /// What to do about it.
    pub fn remedy(&self) -> &'static str {
        match self {
            Refusal::NoneShown => {
                "measure on a machine that is not virtual, or have its host pass the counters on (a virtual PMU)"
            }
            Refusal::Forbidden(Some(paranoid)) if *paranoid > PARANOID => {
                "as root: sysctl kernel.perf_event_paranoid=2"
            }
            Refusal::Forbidden(_) => {
                "in a container, allow it perf_event_open: with Docker --cap-add PERFMON, or a seccomp profile"
            }
            Refusal::NoCall | Refusal::Other(_) => {
                "measure on Linux, outside of sandboxes that answer system calls themselves"
            }
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NoneShown => write!(f, "the processor shows none, as is usual in a virtual machine"),
            Refusal::Forbidden(Some(paranoid)) => {
                write!(f, "the system forbids it (kernel.perf_event_paranoid is {paranoid})")
            }
            Refusal::Forbidden(None) => write!(f, "the system forbids it"),
            Refusal::NoCall => write!(f, "the system has no perf_event_open"),
            Refusal::Other(words) => write!(f, "{words}"),
        }
    }
}

/// Why this system gives no counter of the processor's to a thread of this process; `None`: it gives instructions.
pub fn refusal() -> Option<Refusal> {
    system::Counter::open(Counted::Instructions).err().map(|error| Refusal::of(&error, system::paranoid))
}

/// The counters of the thread that has opened them.
pub struct Counters([Option<system::Counter>; Counted::ALL.len()]);

impl Counters {
    /// Those of this thread that the system gives, at rest.
    pub fn of_this_thread() -> Counters {
        Counters(Counted::ALL.map(|counted| system::Counter::open(counted).ok()))
    }

    /// Counts from now on. Two system calls for each.
    pub fn begin(&mut self) {
        self.0.iter_mut().flatten().for_each(system::Counter::begin);
    }

    /// Counts no more; answers what has been counted since the last [`Counters::begin`]. Two system calls for each.
    pub fn end(&mut self) -> Counts {
        let mut counts = Counts::default();
        for (count, counter) in counts.iter_mut().zip(&mut self.0) {
            *count = counter.as_mut().and_then(system::Counter::end);
        }
        counts
    }
}

#[cfg(target_os = "linux")]
mod system {
    use super::Counted;
    use perf_event::events::{Cache, CacheOp, CacheResult, Event, Hardware, Software, WhichCache};
    use perf_event::{Builder, CountAndTime};
    use std::{fs, io};

    impl From<Counted> for Event {
        fn from(counted: Counted) -> Event {
            let tlb = Cache { which: WhichCache::DTLB, operation: CacheOp::READ, result: CacheResult::MISS };
            match counted {
                Counted::Instructions => Hardware::INSTRUCTIONS.into(),
                Counted::Cycles => Hardware::CPU_CYCLES.into(),
                Counted::CacheMisses => Hardware::CACHE_MISSES.into(),
                Counted::TlbMisses => tlb.into(),
                Counted::BranchMisses => Hardware::BRANCH_MISSES.into(),
                Counted::PageFaults => Software::PAGE_FAULTS.into(),
            }
        }
    }

    pub fn paranoid() -> Option<i64> {
        fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok()?.trim().parse().ok()
    }

    /// A counter of the thread that has opened it.
    pub struct Counter {
        counter: perf_event::Counter,
        /// What it read when it was last begun; `None`: it was not, or could not be.
        began: Option<CountAndTime>,
    }

    impl Counter {
        /// At rest; in user mode only, and on any core, as the crate's builder has it unless told otherwise.
        pub fn open(event: impl Into<Event>) -> io::Result<Counter> {
            Ok(Counter { counter: Builder::new().kind(event).build()?, began: None })
        }

        pub fn begin(&mut self) {
            let begin = |counter: &mut perf_event::Counter| {
                let began = counter.read_count_and_time()?;
                counter.enable().map(|()| began)
            };
            self.began = begin(&mut self.counter).ok();
        }

        /// What has been counted since it was begun, once; `None`: it had no turn.
        pub fn end(&mut self) -> Option<u64> {
            let began = self.began.take()?;
            self.counter.disable().ok()?;
            scaled(&began, &self.counter.read_count_and_time().ok()?)
        }
    }

    /// What would have been counted between two readings, had it been counted for as long as it was asked for.
    pub(super) fn scaled(began: &CountAndTime, ended: &CountAndTime) -> Option<u64> {
        let counted = u128::from(ended.count - began.count);
        let asked = u128::from(ended.time_enabled - began.time_enabled);
        let ran = u128::from(ended.time_running - began.time_running);
        (ran > 0).then(|| (counted * asked / ran) as u64)
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::Counted;
    use std::io;

    pub fn paranoid() -> Option<i64> {
        None
    }

    /// There is none.
    pub enum Counter {}

    impl Counter {
        pub fn open(_: Counted) -> io::Result<Counter> {
            Err(rustix::io::Errno::NOSYS.into())
        }

        pub fn begin(&mut self) {
            match *self {}
        }

        pub fn end(&mut self) -> Option<u64> {
            match *self {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_is_the_matter_and_what_to_do() {
        let of = |errno: rustix::io::Errno, paranoid| {
            let refusal = Refusal::of(&errno.into(), || paranoid);
            format!("{refusal}: {}", refusal.remedy())
        };
        use rustix::io::Errno;
        let none = of(Errno::NOENT, Some(2));
        assert!(none.starts_with("the processor shows none") && none.contains("not virtual"), "{none}");
        assert_eq!(of(Errno::OPNOTSUPP, None), none);
        let forbidden = of(Errno::ACCESS, Some(3));
        assert!(forbidden.contains("(kernel.perf_event_paranoid is 3): as root: sysctl"), "{forbidden}");
        for paranoid in [Some(2), Some(-1), None] {
            let filtered = of(Errno::PERM, paranoid);
            assert!(filtered.contains("forbids it") && filtered.contains("in a container"), "{filtered}");
        }
        let no_call = of(Errno::NOSYS, None);
        assert!(no_call.starts_with("the system has no perf_event_open: "), "{no_call}");
        assert!(of(Errno::MFILE, None).contains("open files"), "{}", of(Errno::MFILE, None));
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests_of_system {
    use super::system::{Counter, scaled};
    use super::*;
    use perf_event::CountAndTime;
    use perf_event::events::Software;
    use rustix::time::{ClockId, clock_gettime};
    use std::hint::black_box;
    use std::thread;
    use std::time::Duration;

    #[test]
    fn turns_are_made_up_for() {
        let nothing = CountAndTime { count: 0, time_enabled: 0, time_running: 0 };
        let from = |began: &CountAndTime, [count, time_enabled, time_running]: [u64; 3]| {
            scaled(began, &CountAndTime { count, time_enabled, time_running })
        };
        assert_eq!(from(&nothing, [10, 100, 100]), Some(10));
        assert_eq!(from(&nothing, [10, 100, 25]), Some(40));
        assert_eq!(from(&nothing, [0, 100, 0]), None);
        assert_eq!(from(&nothing, [u64::MAX / 2, 200, 100]), Some(u64::MAX - 1));
        // The system's times go on from one beginning to the next.
        let before = CountAndTime { count: 1000, time_enabled: 500, time_running: 500 };
        assert_eq!(from(&before, [1010, 600, 525]), Some(40));
        assert_eq!(from(&before, [1010, 600, 500]), None);
    }

    /// The way of all counters, with one that the kernel keeps itself: nanoseconds for which the thread ran.
    #[test]
    fn what_lies_between_beginning_and_end_is_counted() {
        let Ok(mut clock) = Counter::open(Software::TASK_CLOCK) else {
            let refusal = refusal().expect("who gives instructions gives a clock");
            assert!(!refusal.to_string().is_empty(), "it may be forbidden, and says so");
            return;
        };
        // The system's own account of it: others may run meanwhile.
        let ran = || {
            let time = clock_gettime(ClockId::ThreadCPUTime);
            Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
        };
        let spin = move |time: Duration| {
            let until = ran() + time;
            while ran() < until {
                black_box(0);
            }
        };
        assert_eq!(clock.end(), None, "it was not begun");
        spin(Duration::from_millis(50));
        for milliseconds in [4, 16] {
            let before = ran();
            clock.begin();
            let begun = ran();
            spin(Duration::from_millis(milliseconds));
            // Another thread's time is not this one's.
            thread::spawn(move || spin(Duration::from_millis(100))).join().expect("it spins");
            let at_least = ran() - begun;
            let counted = Duration::from_nanos(clock.end().expect("the kernel's clock has its turn always"));
            let at_most = ran() - before;
            let margin = at_most / 20;
            assert!(
                at_least - margin <= counted && counted <= at_most + margin,
                "{at_least:?} <= {counted:?} <= {at_most:?}"
            );
            assert_eq!(clock.end(), None, "it is told once");
        }
    }

    #[test]
    fn a_thread_counts_its_own_work() {
        let mut counters = Counters::of_this_thread();
        assert_eq!(counters.end(), Counts::default(), "they were not begun");
        let mut touch = |pages: usize| {
            counters.begin();
            let mut bytes = vec![0u8; pages << 12];
            bytes.iter_mut().step_by(1 << 12).for_each(|byte| *byte = black_box(1));
            drop(black_box(bytes));
            counters.end()
        };
        let (few, many) = (touch(16), touch(16_384));
        match refusal() {
            None => assert!(many[0] > few[0] && few[0] > Some(16), "{few:?}, {many:?}"),
            Some(refusal) => assert!(few[0].is_none(), "{refusal}"),
        }
        // Pages the kernel counts itself, unless nobody may ask.
        if let (Some(few), Some(many)) = (few[5], many[5]) {
            assert!(many > few, "{few} and {many} pages");
        }
    }
}
