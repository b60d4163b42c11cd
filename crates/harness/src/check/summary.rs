//! What a check says: the object that `check --json` prints and `summary.json` holds.

use super::happened::{Conclusion, Happened};
use crate::summary::Check;
use crate::text::names;
use contract::{EngineOptions, PairName};
use history::Verdict;
use history::anomalies::Judgement;
use serde::Serialize;
use std::collections::BTreeMap;

/// Name and version of [`CheckSummary`]'s fields.
pub const SCHEMA: &str = "trireme.check/4";

/// What `check --json` prints. Fields may be added under one [`SCHEMA`]; one that goes or changes its meaning makes a
/// new one.
#[derive(Clone, Debug, Serialize)]
pub struct CheckSummary {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Whether the history is strictly serializable, every other check held, and enough happened for that to mean something.
    pub passed: bool,
    /// The architecture's name.
    pub architecture: String,
    /// The protocol's name, or the canary's if it is one of a protocol.
    pub protocol: String,
    /// Whether it is a canary, which must not pass.
    pub canary: bool,
    /// The workload's name.
    pub workload: String,
    /// Workers.
    pub workers: usize,
    /// `hardware`, or the name of a simulated machine.
    pub machine: String,
    /// Whether the machine is simulated.
    pub simulated: bool,
    /// Transactions asked for, of all workers together.
    pub transactions: u64,
    /// Committed transactions.
    pub commits: u64,
    /// Aborted attempts per commit.
    pub abort_rate: f64,
    /// Aborted attempts by reason.
    pub aborts: BTreeMap<String, u64>,
    /// Locks of hot records that were got before they were read, by aborted attempts, too, if there were any (MOCC).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hot_locks: Option<u64>,
    /// Transactions that the procedures rolled back by their own will.
    pub user_rollbacks: u64,
    /// What the engine was told.
    #[serde(flatten)]
    pub engine: EngineOptions,
    /// The workload's effective parameters.
    pub parameters: BTreeMap<String, String>,
    /// What was checked; the first is whether the history is serializable.
    pub checks: Vec<Check>,
    /// Of what too little happened, what is needed and what would bring more, if so; a run that failed did so however little
    /// happened, and says nothing here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub too_little: Option<String>,
    /// What is odd, and what to do about it.
    pub warnings: Vec<String>,
    /// Of nodes on several hosts: between how many nanoseconds of the first one's clock a time of another one lies, at most. Transactions of several hosts that are closer than
    /// that are in no order of time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clocks_within_ns: Option<u64>,
    /// What the checker found in the history, if one was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// What the judge of scenarios found, if one was played.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judgement: Option<Judgement>,
}

impl CheckSummary {
    /// The system, for people.
    pub fn system(&self) -> String {
        names::system(&self.architecture, &self.protocol)
    }

    /// The system, or the one that the canary breaks.
    pub fn pair(&self) -> Option<PairName> {
        names::pair_or_broken(&self.architecture, &self.protocol)
    }

    /// What came of it, in a few words.
    pub fn outcome(&self) -> &'static str {
        let serializable = self.checks.first().is_some_and(|check| check.passed);
        match (self.conclusion(), serializable, self.canary) {
            (Conclusion::Held, _, false) => "passed",
            (Conclusion::Held, _, true) => "MISSED: the canary passed",
            (Conclusion::TooLittle, _, _) => "too little happened",
            (Conclusion::Failed, true, _) => "FAILED",
            (Conclusion::Failed, false, false) => "REJECTED",
            (Conclusion::Failed, false, true) => "rejected, as a canary must be",
        }
    }

    /// What it says of the system.
    pub fn conclusion(&self) -> Conclusion {
        Conclusion::of(self.checks.iter().all(|check| check.passed), self.too_little.as_deref())
    }

    /// What happened in the run, as it was judged.
    pub fn happened(&self) -> Option<Happened> {
        let dependencies = self.verdict.as_ref().map(|verdict| Happened::Dependencies(verdict.dependencies));
        let overlapping = || self.judgement.as_ref().map(|judged| Happened::Overlapping(judged.overlapping));
        dependencies.or_else(overlapping)
    }
}
