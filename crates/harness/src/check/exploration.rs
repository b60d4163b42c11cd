//! Many short checked runs, each under a schedule of its own, until one is found wanting.
//!
//! A schedule follows from its seed alone, and so does all that is random in the run, so that a find is replayed by its
//! seed. Several host threads share the seeds out; the find with the lowest seed is the one that is told, however many
//! threads there are: nobody stops before all seeds below a find have been tried.

use super::happened::{Conclusion, Happened};
use super::summary::CheckSummary;
use crate::failure::Failure;
use crate::text::names;
use contract::{EngineOptions, PairName};
use history::Dependencies;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Name and version of [`ExplorationSummary`]'s fields.
pub const SCHEMA: &str = "trireme.exploration/2";

/// One schedule, tried.
pub enum Tried {
    /// The run came to its end, and was judged.
    Judged(Box<CheckSummary>),
    /// The engine panicked: an assertion of its own, or no progress.
    Panicked(String),
}

/// What a schedule showed.
#[derive(Clone, Debug, Serialize)]
pub struct Find {
    /// The schedule's seed.
    pub seed: u64,
    /// The panic's words, if the engine tripped over itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub panic: Option<String>,
    /// What the run was judged to be, otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckSummary>,
    /// The command that plays it again.
    pub replay: String,
}

/// What `check --explore --json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct ExplorationSummary {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Whether every schedule's run was found right, and enough happened for that to mean something.
    pub passed: bool,
    /// The architecture's name.
    pub architecture: String,
    /// The protocol's name, or the canary's.
    pub protocol: String,
    /// Whether it is a canary, which must not pass.
    pub canary: bool,
    /// The workload's name.
    pub workload: String,
    /// Workers, each on a virtual core.
    pub workers: usize,
    /// Always: interleavings are explored on the simulated machine.
    pub simulated: bool,
    /// How schedules choose the next core.
    pub schedule: String,
    /// The first schedule's seed; the others follow it.
    pub first_seed: u64,
    /// Schedules tried: all that were asked for, or those up to the find.
    pub schedules: u64,
    /// Transactions asked for under each, of all workers together.
    pub transactions: u64,
    /// Committed transactions, under all schedules, if nothing was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commits: Option<u64>,
    /// Aborted attempts by reason, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aborts: Option<BTreeMap<String, u64>>,
    /// Locks of hot records that were got before they were read, likewise, if there were any (MOCC).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hot_locks: Option<u64>,
    /// Dependencies between transactions, of all schedules together, likewise; of scenarios there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dependencies: Option<Dependencies>,
    /// Of a scenario, rounds in which roles ran at the same time, of all schedules together, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlapping: Option<u64>,
    /// Of what too little happened, what is needed and what would bring more, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub too_little: Option<String>,
    /// What the engine was told.
    #[serde(flatten)]
    pub engine: EngineOptions,
    /// The workload's effective parameters.
    pub parameters: BTreeMap<String, String>,
    /// What is odd, and what to do about it.
    pub warnings: Vec<String>,
    /// What was found, if something was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub find: Option<Find>,
}

impl ExplorationSummary {
    /// The system, or the one that the canary breaks.
    pub fn pair(&self) -> Option<PairName> {
        names::pair_or_broken(&self.architecture, &self.protocol)
    }

    /// What came of it, in a few words.
    pub fn outcome(&self) -> &'static str {
        match (self.conclusion(), self.canary) {
            (Conclusion::Held, false) => "passed",
            (Conclusion::Held, true) => "MISSED: the canary passed",
            (Conclusion::TooLittle, _) => "too little happened",
            (Conclusion::Failed, false) => "REJECTED",
            (Conclusion::Failed, true) => "rejected, as a canary must be",
        }
    }

    /// What it says of the system.
    pub fn conclusion(&self) -> Conclusion {
        Conclusion::of(self.find.is_none(), self.too_little.as_deref())
    }
}

/// What many schedules add up to. With a find, some of those after it have been tried too: only the find counts.
#[derive(Debug, Default)]
pub struct Explored {
    /// Committed transactions.
    pub commits: u64,
    /// Aborted attempts by reason.
    pub aborts: BTreeMap<String, u64>,
    /// Locks of hot records.
    pub hot_locks: u64,
    /// What happened, of all together.
    pub happened: Option<Happened>,
    /// The find with the lowest seed: its number among the schedules, from 0, and what it is.
    pub find: Option<(u64, Tried)>,
}

impl std::fmt::Debug for Tried {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Tried::Judged(summary) => write!(f, "judged: {}", summary.outcome()),
            Tried::Panicked(words) => write!(f, "panicked: {words}"),
        }
    }
}

impl Tried {
    /// Whether the engine did something wrong.
    fn is_a_find(&self) -> bool {
        match self {
            Tried::Judged(summary) => summary.conclusion() == Conclusion::Failed,
            Tried::Panicked(_) => true,
        }
    }
}

/// Tries `schedules` seeds from `first_seed` on, on `threads` host threads, until one is a find. `tried_one` is called
/// after each, from several threads.
pub fn explore(
    first_seed: u64,
    schedules: u64,
    threads: usize,
    try_seed: impl Fn(u64) -> Result<Tried, Failure> + Sync,
    tried_one: impl Fn() + Sync,
) -> Result<Explored, Failure> {
    let next = AtomicU64::new(0);
    let lowest_find = AtomicU64::new(u64::MAX);
    let (explored, failure) = (Mutex::new(Explored::default()), Mutex::new(None));
    let work = || loop {
        // Relaxed: a counter, and a hint when to stop; what was found passes through the mutex.
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= schedules || number > lowest_find.load(Ordering::Relaxed) {
            return;
        }
        match try_seed(first_seed.wrapping_add(number)) {
            Ok(tried) => {
                tried_one();
                if tried.is_a_find() {
                    lowest_find.fetch_min(number, Ordering::Relaxed);
                }
                explored.lock().expect("nobody panics with it").add(number, tried);
            }
            Err(failed) => {
                lowest_find.fetch_min(0, Ordering::Relaxed);
                *failure.lock().expect("nobody panics with it") = Some(failed);
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(work);
        }
    });
    match failure.into_inner().expect("nobody panics with it") {
        Some(failure) => Err(failure),
        None => Ok(explored.into_inner().expect("nobody panics with it")),
    }
}

impl Explored {
    fn add(&mut self, number: u64, tried: Tried) {
        if let Tried::Judged(summary) = &tried {
            self.commits += summary.commits;
            self.hot_locks += summary.hot_locks.unwrap_or(0);
            self.happened = match (self.happened, summary.happened()) {
                (Some(one), Some(other)) => Some(one.and(other)),
                (one, other) => one.or(other),
            };
            for (reason, count) in &summary.aborts {
                *self.aborts.entry(reason.clone()).or_default() += count;
            }
        }
        let is_lower = self.find.as_ref().is_none_or(|(found, _)| number < *found);
        if tried.is_a_find() && is_lower {
            self.find = Some((number, tried));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Trial;
    use crate::mock::{Counting, MockEngine};
    use crate::observer::Silent;
    use crate::options::RunOptions;
    use crate::subject::{Place, Subject};
    use crate::summary::Check;
    use contract::{ArchitectureName, PairName, ProtocolName, Selection};
    use history::Deletes;

    /// A run in which everything is right, but for the checks named.
    fn judged(failed: &[&str]) -> Tried {
        let subject = Subject {
            workload: "counting".to_owned(),
            parameters: BTreeMap::new(),
            options: RunOptions::for_run(2),
            place: Place::hardware(2),
        };
        let pair =
            PairName { architecture: ArchitectureName::SharedEverything, protocol: ProtocolName::NoWait };
        let selection = Selection::Pair(pair);
        let trial = Trial { selection, subject: &subject, transactions: 6, observer: &Silent };
        let (mut summary, _) =
            trial.of_workload::<MockEngine, _>(&Counting { rows: 5 }, Deletes::None).expect("checked");
        let wrong = failed.iter().map(|name| Check::new(name, false, String::new));
        summary.checks.extend(wrong);
        Tried::Judged(Box::new(summary))
    }

    /// However many threads look, the same find is told.
    #[test]
    fn the_lowest_seed_is_told() {
        let try_seed = |seed| match seed {
            50 => Ok(judged(&["nothing-held"])),
            51 | 60.. => Ok(Tried::Panicked("broken".to_owned())),
            _ => Ok(judged(&[])),
        };
        for threads in [1, 2, 5] {
            let explored = explore(7, 1000, threads, try_seed, || ()).expect("nothing fails");
            let (number, find) = explored.find.expect("there are some");
            assert_eq!(number, 43, "{find:?}");
            assert!(matches!(find, Tried::Judged(_)));
        }
    }

    #[test]
    fn all_that_passes_is_added_up() {
        let explored = explore(1, 20, 3, |_| Ok(judged(&[])), || ()).expect("nothing fails");
        assert_eq!(explored.commits, 20 * 6);
        let Some(Happened::Dependencies(all)) = explored.happened else { panic!("{explored:?}") };
        let Tried::Judged(one) = judged(&[]) else { panic!("nothing panicked") };
        let one = one.verdict.expect("judged").dependencies.write_write;
        assert_eq!(all.write_write.between_workers, 20 * one.between_workers);
        assert!(one.between_workers > 0, "{one:?}");
        assert!(explored.find.is_none());
    }

    #[test]
    fn a_run_in_which_little_happened_is_no_find() {
        let little = || {
            let Tried::Judged(mut summary) = judged(&[]) else { panic!("nothing panicked") };
            summary.too_little = Some("nobody met".to_owned());
            Tried::Judged(summary)
        };
        let explored = explore(1, 20, 3, |_| Ok(little()), || ()).expect("nothing fails");
        assert!(explored.find.is_none());
    }

    #[test]
    fn a_failure_ends_it() {
        let refuse = |_| Err(Failure::Usage("no memory".to_owned()));
        let failed = explore(1, 1000, 2, refuse, || panic!("nothing was tried"));
        assert_eq!(failed.expect_err("refused").to_string(), "no memory");
    }
}
