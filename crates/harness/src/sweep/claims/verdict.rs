//! What is answered to a claim.

use super::{Bounds, Measure};
use serde::Serialize;
use std::fmt;

/// What came of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The points bear it out.
    Reproduced,
    /// More is more, as claimed, but by another size.
    DirectionOnly,
    /// The points are against it.
    NotReproduced,
    /// It is not about these points: they have too few workers, or lack a system or a figure that it speaks of.
    NotApplicable,
    /// It is about these points, and they do not tell: they spread too far, or lack the measure.
    CannotBeTold,
}

impl Verdict {
    /// Every verdict, in the order in which they are counted.
    pub const ALL: [Verdict; 5] = [
        Verdict::Reproduced,
        Verdict::DirectionOnly,
        Verdict::NotReproduced,
        Verdict::NotApplicable,
        Verdict::CannotBeTold,
    ];

    /// Whether there is something to explain: the points differ from what is claimed, or may.
    pub fn is_a_finding(self) -> bool {
        matches!(self, Verdict::DirectionOnly | Verdict::NotReproduced | Verdict::CannotBeTold)
    }
}

/// A claim with its verdict: what `--json` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Told {
    /// The sentence.
    pub that: String,
    /// What was compared.
    pub measure: Measure,
    /// Which points.
    pub left: String,
    /// With which.
    pub right: Option<String>,
    /// Where both are.
    pub at: String,
    /// The axis along which a shape is claimed.
    pub over: Option<String>,
    /// What is claimed of left / right, or of left alone.
    #[serde(flatten)]
    pub bounds: Bounds,
    /// The same in words, or the shape that is claimed.
    pub claimed: String,
    /// Of how many workers, if the claim says so.
    pub about_workers: Option<usize>,
    /// What came of it.
    pub verdict: Verdict,
    /// Left / right by their medians, of the comparison that decides, or left alone; `None` if there is none, if right
    /// is 0, or if a shape is claimed.
    pub ratio: Option<f64>,
    /// The verdict's reason: what was found, beside what is claimed.
    pub why: String,
    /// What the experiment's author makes of it; only where there is something to explain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<String>,
}

impl Told {
    /// The reason, and what its author makes of it.
    pub fn reason(&self) -> String {
        match &self.explanation {
            Some(explanation) => format!("{}. Explanation: {explanation}", self.why),
            None => self.why.clone(),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Reproduced => "reproduced",
            Verdict::DirectionOnly => "direction only",
            Verdict::NotReproduced => "not reproduced",
            Verdict::NotApplicable => "not applicable here",
            Verdict::CannotBeTold => "cannot be told",
        })
    }
}
