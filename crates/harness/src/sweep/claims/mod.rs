//! Claims: sentences of a paper that the points of a sweep bear out or not.
//!
//! ```toml
//! [[claims]]
//! that = "Message passing carries DL_DETECT where latches do not"
//! left = { system = "delegation dl-detect", workers = "most" }
//! right = { system = "shared-everything dl-detect", workers = "most" }
//! measure = "throughput"           # or another of `Measure::names`
//! at_least = 7                     # and/or `at_most`: of left / right
//! fewest_workers = 16              # with fewer, the points do not tell; 1 if left out
//! ```
//!
//! Left and right select points by axis: a value, a list of values, and on an axis of numbers `"most"` or `"least"`.
//! Left and right name the same axes; what they do not name they share, so that each left point is compared with the
//! right points at its own values of the other axes. Without `right`, the bounds are for the measure itself.
//!
//! Medians over the repetitions are compared. The ratio's lower end is the left side's worst repetition over the right
//! side's best, its upper end the other way round. A comparison *holds* if the whole of that range keeps the bounds and
//! *does not hold* if none of it does; in between, the repetitions spread wider than the difference, and it cannot be
//! told. A claim holds if all its comparisons do, and does not hold if one does not.
//!
//! A comparison cannot be told either where a repetition lacks the measure, as a sampled cost does that was never
//! sampled: the reason names every point that lacks it.
//!
//! A claim that does not hold is a result like any other.
//!
//! | question | file |
//! |---|---|
//! | how does a file say it, and how is it written back? | `file` |
//! | which points are meant? | `selection` |
//! | which number is compared, and how far does it spread? | `measure` |
//! | what comes of it? | `judge` |
//! | what is answered? | `verdict`, and why nothing can be: `untold` |

mod file;
mod judge;
mod measure;
mod selection;
mod untold;
mod verdict;

pub(super) use file::{ClaimText, toml};
pub use judge::{Known, tell};
pub use measure::Measure;
pub use selection::Selection;
pub use verdict::{Told, Verdict};

use serde::Serialize;
use std::fmt;

/// A claim that can be told.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The sentence.
    pub that: String,
    /// What is claimed to be more, or less.
    pub left: Selection,
    /// What it is compared with; `None` compares the measure itself.
    pub right: Option<Selection>,
    /// What is compared.
    pub measure: Measure,
    /// What is claimed of left / right.
    pub bounds: Bounds,
    /// With fewer workers than this the claim says nothing.
    pub fewest_workers: usize,
}

/// What is claimed of a number: at least one of the two.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bounds {
    /// It is not below this.
    pub at_least: Option<f64>,
    /// It is not above this.
    pub at_most: Option<f64>,
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.at_least, self.at_most) {
            (Some(least), Some(most)) => write!(f, "{least} to {most}"),
            (Some(least), None) => write!(f, "at least {least}"),
            (None, Some(most)) => write!(f, "at most {most}"),
            (None, None) => f.write_str("anything"),
        }
    }
}
