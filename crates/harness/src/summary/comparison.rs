//! What `compare` prints: every pair of the matrix, measured or not.

use super::{Summary, Turns};
use crate::text::names;
use contract::PairName;
use serde::{Deserialize, Serialize};

/// Name and version of [`Comparison`]'s fields.
pub const COMPARISON_SCHEMA: &str = "trireme.compare/5";

/// A pair of the matrix that was not measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unmeasured {
    /// False.
    pub supported: bool,
    /// The architecture's name.
    pub architecture: String,
    /// The protocol's name.
    pub protocol: String,
    /// Why it was not measured, in words.
    pub why: String,
}

impl Unmeasured {
    /// `pair` was not measured.
    pub fn new(pair: PairName, why: impl Into<String>) -> Unmeasured {
        Unmeasured {
            supported: false,
            architecture: pair.architecture.to_string(),
            protocol: pair.protocol.to_string(),
            why: why.into(),
        }
    }

    /// The system, for people.
    pub fn system(&self) -> String {
        names::system(&self.architecture, &self.protocol)
    }
}

/// One row of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Row {
    /// Measured.
    Measured(Box<Summary>),
    /// Not measured.
    Unmeasured(Unmeasured),
}

/// What `compare --json` prints: the measured systems by throughput, best first, those without transactions after the others; then those that were
/// not measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// [`COMPARISON_SCHEMA`].
    pub schema: &'static str,
    /// The systems.
    pub rows: Vec<Row>,
    /// Of each measured system, whether it is slower than the best for certain.
    pub told_apart_from_best: Vec<bool>,
    /// Who is fastest, in words.
    pub finding: String,
    /// How the systems were taken by turns.
    pub turns: Turns,
    /// What is odd, and what to do about it.
    pub warnings: Vec<String>,
}
