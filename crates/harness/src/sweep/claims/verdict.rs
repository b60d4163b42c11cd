//! What is answered to a claim.

use super::measure::Range;
use super::{Bounds, Measure};
use serde::Serialize;
use std::fmt;

/// What came of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The points bear it out.
    Holds,
    /// The points are against it.
    DoesNotHold,
    /// These points do not tell.
    CannotBeToldHere,
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
    /// What is claimed of left / right.
    #[serde(flatten)]
    pub bounds: Bounds,
    /// What came of it.
    pub verdict: Verdict,
    /// Left / right by their medians, of the comparison that decides; `None` if there is none, or if right is 0.
    pub ratio: Option<f64>,
    /// The verdict's reason.
    pub why: String,
}

impl Verdict {
    /// Whether `range` keeps the bounds.
    pub(super) fn of(range: Range, bounds: Bounds) -> Verdict {
        let (least, most) = (bounds.at_least.unwrap_or(0.0), bounds.at_most.unwrap_or(f64::INFINITY));
        if range.low >= least && range.high <= most {
            Verdict::Holds
        } else if range.high < least || range.low > most {
            Verdict::DoesNotHold
        } else {
            Verdict::CannotBeToldHere
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Holds => "holds",
            Verdict::DoesNotHold => "does not hold",
            Verdict::CannotBeToldHere => "cannot be told here",
        })
    }
}
