//! Who else wants the cores: what the system counts, and what a thread sees that wants a core for itself.
//!
//! Three witnesses, for each is blind somewhere. The *load average* sees who was there before us, and nothing of the last
//! seconds. The counters of `/proc/stat` over the measurement say what the hypervisor *stole* and what *others* took, if the
//! kernel is told of it. And a thread pinned to each core that does nothing but look at the clock sees every moment in
//! which it did not run, whatever had the core: interrupts, other processes, a host that tells nobody.

use super::affinity::pin_to;
use super::clock::{nanoseconds, now, ticks_of};
use super::frequency::{self, Frequency};
use super::topology::Topology;
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// What others took while something was measured. `None` where the system does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ForeignLoad {
    /// Processes that wanted to run, over the minute before.
    pub load_average: Option<f64>,
    /// Of the time of the cores that we may use, the part that a hypervisor gave to others, 0 to 1.
    pub stolen: Option<f64>,
    /// The part that other processes took, 0 to 1.
    pub others: Option<f64>,
}

impl ForeignLoad {
    /// The part of the cores' time that others took, within the system or outside of it; 0 where the system does not tell.
    pub fn taken(&self) -> f64 {
        self.stolen.unwrap_or(0.0) + self.others.unwrap_or(0.0)
    }
}

/// Watches from [`Watch::begin`] to [`Watch::end`].
pub struct Watch {
    root: PathBuf,
    cpus: Vec<usize>,
    load_average: Option<f64>,
    before: Option<Times>,
    frequency: Option<Frequency>,
}

impl Watch {
    /// Of the cores that this process may use.
    pub fn begin() -> Watch {
        let threads = &Topology::of_this_machine().fill_order;
        Watch::below(Path::new("/"), threads.iter().map(|thread| thread.cpu).collect())
    }

    /// Of the cores that so many workers fill.
    pub fn of_workers(workers: usize) -> Watch {
        let threads = Topology::of_this_machine().fill_order.iter().take(workers);
        Watch::below(Path::new("/"), threads.map(|thread| thread.cpu).collect())
    }

    /// With the files of the system under `root`, of the processors `cpus`.
    pub fn below(root: &Path, cpus: Vec<usize>) -> Watch {
        let load_average =
            fs::read_to_string(root.join("proc/loadavg")).ok().and_then(|text| load_average(&text));
        let before = Times::read(root, &cpus);
        Watch { root: root.to_owned(), cpus, load_average, before, frequency: frequency::below(root) }
    }

    /// The slowest and the fastest that a processor was at the beginning, or is now; `None` where the system does not say. In between nobody looks: on some systems a look wakes every processor.
    pub fn frequency(&self) -> Option<Frequency> {
        [self.frequency, frequency::below(&self.root)].into_iter().flatten().reduce(Frequency::with)
    }

    /// What others took since the beginning.
    pub fn end(&self) -> ForeignLoad {
        let during = self
            .before
            .zip(Times::read(&self.root, &self.cpus))
            .map(|(before, after)| after.since(before))
            .filter(|during| during.all > 0);
        let part = |ticks: u64, all: u64| ticks as f64 / all as f64;
        ForeignLoad {
            load_average: self.load_average,
            stolen: during.map(|during| part(during.stolen, during.all)),
            // The system counts in ticks, and not all of them at once: ours may be ahead.
            others: during.map(|during| part(during.busy.saturating_sub(during.own), during.all)),
        }
    }
}

/// Ticks since the system started, but for `own`: since the process did, with those of processes that it has started and that have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Times {
    all: u64,
    busy: u64,
    stolen: u64,
    own: u64,
}

impl Times {
    fn read(root: &Path, cpus: &[usize]) -> Option<Times> {
        let text = |file: &str| fs::read_to_string(root.join(file)).ok();
        let own = own_ticks(&text("proc/self/stat")?)?;
        Some(Times { own, ..core_ticks(&text("proc/stat")?, cpus)? })
    }

    fn since(self, before: Times) -> Times {
        let since = |ticks: fn(&Times) -> u64| ticks(&self).saturating_sub(ticks(&before));
        Times {
            all: since(|times| times.all),
            busy: since(|times| times.busy),
            stolen: since(|times| times.stolen),
            own: since(|times| times.own),
        }
    }
}

/// The first field of `/proc/loadavg`: `0.20 0.18 0.12 1/80 11206`.
fn load_average(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok()
}

/// Of `/proc/stat`, the lines of `cpus`: `cpu0 user nice system idle iowait irq softirq steal guest guest_nice`. What guests
/// take is among what users take.
fn core_ticks(text: &str, cpus: &[usize]) -> Option<Times> {
    let mut sum = Times { all: 0, busy: 0, stolen: 0, own: 0 };
    for cpu in cpus {
        let name = format!("cpu{cpu}");
        let mut fields = text
            .lines()
            .map(str::split_whitespace)
            .find_map(|mut fields| (fields.next() == Some(name.as_str())).then_some(fields))?;
        let mut next = || fields.next()?.parse::<u64>().ok();
        let (user, nice, system, idle) = (next()?, next()?, next()?, next()?);
        // Old kernels know fewer.
        let [waiting, interrupts, soft, stolen] = [(); 4].map(|()| next().unwrap_or(0));
        let busy = user + nice + system + interrupts + soft;
        sum.busy += busy;
        sum.stolen += stolen;
        sum.all += busy + idle + waiting + stolen;
    }
    Some(sum)
}

/// Of `/proc/self/stat`, what the process took for itself and in the kernel, and what processes took that it has started and that
/// have ended: the 14th to 17th field. The second is the name in brackets, which may hold blanks and brackets.
fn own_ticks(text: &str) -> Option<u64> {
    let (_, behind) = text.rsplit_once(')')?;
    let mut fields = behind.split_whitespace().skip(11);
    let mut next = || fields.next()?.parse::<u64>().ok();
    Some(next()? + next()? + next()? + next()?)
}

/// What a core did not give to the only thread that wanted it here.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Withheld {
    /// The system's number of the processor.
    pub cpu: usize,
    /// The part of the time, 0 to 1.
    pub part: f64,
    /// The longest while.
    pub longest_us: f64,
}

/// Between two looks at the clock a thread that runs lets nothing like this pass.
const GAP: Duration = Duration::from_micros(5);

/// Looks at the clock for `time`, by a thread pinned to each core that we may use, all at once.
pub fn idle_test(time: Duration) -> Vec<Withheld> {
    let threads = &Topology::of_this_machine().fill_order;
    thread::scope(|scope| {
        let looking = |cpu: usize| {
            scope.spawn(move || {
                pin_to(cpu);
                let gaps = gaps(ticks_of(time), || now().0);
                gaps.withheld(cpu)
            })
        };
        let running: Vec<_> = threads.iter().map(|thread| looking(thread.cpu)).collect();
        running.into_iter().map(|thread| thread.join().expect("looking does not panic")).collect()
    })
}

/// Several tests as one: the mean part, and the longest while of all. Each has looked at the same cores.
pub fn together(tests: &[Vec<Withheld>]) -> Vec<Withheld> {
    let core = |place: usize| {
        let all = || tests.iter().map(|test| test[place]);
        Withheld {
            cpu: tests[0][place].cpu,
            part: all().map(|core| core.part).sum::<f64>() / tests.len() as f64,
            longest_us: all().map(|core| core.longest_us).fold(0.0, f64::max),
        }
    };
    (0..tests.first().map_or(0, Vec::len)).map(core).collect()
}

/// Ticks that passed, those that were lost, and the most at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Gaps {
    passed: u64,
    lost: u64,
    longest: u64,
}

impl Gaps {
    fn withheld(self, cpu: usize) -> Withheld {
        let part = self.lost as f64 / self.passed.max(1) as f64;
        Withheld { cpu, part, longest_us: nanoseconds(self.longest) as f64 / 1e3 }
    }
}

/// Looks at `clock` until `ticks` have passed.
fn gaps(ticks: u64, mut clock: impl FnMut() -> u64) -> Gaps {
    let gap = ticks_of(GAP);
    let began = clock();
    let (mut last, mut lost, mut longest) = (began, 0, 0);
    while last - began < ticks {
        let look = clock();
        let passed = look.saturating_sub(last);
        if passed > gap {
            lost += passed;
            longest = longest.max(passed);
        }
        last = look;
    }
    Gaps { passed: last - began, lost, longest }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_does_not_run_sees_a_gap() {
        let gap = ticks_of(GAP);
        // Looks one after the other, but for a pause of ten gaps in the middle.
        let looks = [0, 1, 2, 3, 3 + 10 * gap, 4 + 10 * gap, 30 * gap];
        let mut next = looks.iter();
        let gaps = gaps(4 + 10 * gap, || *next.next().expect("enough looks"));
        assert_eq!(gaps, Gaps { passed: 4 + 10 * gap, lost: 10 * gap, longest: 10 * gap });
        assert!((gaps.withheld(3).part - 1.0).abs() < 0.01);
    }

    #[test]
    fn tests_of_the_same_cores_are_joined() {
        let core = |cpu, part, longest_us| Withheld { cpu, part, longest_us };
        let tests = [vec![core(0, 0.1, 9.0), core(2, 0.0, 0.0)], vec![core(0, 0.3, 7.0), core(2, 0.0, 6.0)]];
        assert_eq!(together(&tests), [core(0, 0.2, 9.0), core(2, 0.0, 6.0)]);
        assert_eq!(together(&[]), []);
    }

    #[test]
    fn names_with_blanks_and_brackets_hide_no_field() {
        let fields = "S 1 2 3 0 -1 4194304 98 0 0 0 70 5 30 2 20 0 1 0 83792";
        assert_eq!(
            own_ticks(&format!("17 (a) b) (c) {fields}")),
            Some(107),
            "and of those that it has started"
        );
        assert_eq!(own_ticks("17 (cut off) S 1 2"), None);
    }

    #[test]
    fn what_is_no_counter_is_not_told() {
        assert_eq!(load_average("0.20 0.18 0.12 1/80 11206\n"), Some(0.2));
        assert_eq!(load_average(""), None);
        assert_eq!(core_ticks("cpu 1 2 3 4\ncpu0 1 2 x 4\n", &[0]), None);
        assert_eq!(core_ticks("cpu 1 2 3 4\ncpu0 1 2 3 4\n", &[1]), None);
        let old = core_ticks("cpu 1 2 3 4\ncpu0 1 2 3 4\n", &[0]);
        assert_eq!(old, Some(Times { all: 10, busy: 6, stolen: 0, own: 0 }));
    }
}
