//! What a check says: the object that `check --json` prints and `summary.json` holds.

use crate::options::EngineChoices;
use crate::summary::Check;
use history::Verdict;
use history::anomalies::Judgement;
use serde::Serialize;
use std::collections::BTreeMap;

/// Name and version of [`CheckSummary`]'s fields.
pub const SCHEMA: &str = "trireme.check/2";

/// What `check --json` prints. Fields may be added under one [`SCHEMA`]; one that goes or changes its meaning makes a
/// new one.
#[derive(Clone, Debug, Serialize)]
pub struct CheckSummary {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Whether the history is strictly serializable and every other check held.
    pub passed: bool,
    /// The architecture's name.
    pub architecture: String,
    /// The protocol's name, or the canary's.
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
    /// Transactions that the procedures rolled back by their own will.
    pub user_rollbacks: u64,
    /// Seed of everything random.
    pub seed: u64,
    /// What the engine was told.
    #[serde(flatten)]
    pub engine: EngineChoices,
    /// The workload's effective parameters.
    pub parameters: BTreeMap<String, String>,
    /// What was checked; the first is whether the history is serializable.
    pub checks: Vec<Check>,
    /// What is odd, and what to do about it.
    pub warnings: Vec<String>,
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
        format!("{} {}", self.architecture, self.protocol)
    }

    /// What came of it, in a few words.
    pub fn outcome(&self) -> &'static str {
        let serializable = self.checks.first().is_some_and(|check| check.passed);
        match (self.passed, serializable, self.canary) {
            (true, _, false) => "passed",
            (true, _, true) => "passed, though a canary must not",
            (false, true, _) => "FAILED",
            (false, false, false) => "REJECTED",
            (false, false, true) => "rejected, as a canary must be",
        }
    }
}
