//! Claims: sentences of a paper that the points of a sweep bear out or not.
//!
//! ```toml
//! [[claims]]
//! that = "With 72 threads Delegation outperforms shared-everything by 7 times"
//! section = "4.2.1"                # of the paper
//! says = "outperform SE by 7x and 3x respectively with 72 threads"    # its own words
//! fitted = "the latch was chosen by it"    # or `ours = true`; left out, the claim is the paper's, and counted
//! left = { system = "delegation dl-detect" }
//! right = { system = "shared-everything dl-detect" }
//! at = { workers = 72 }            # where both are
//! measure = "throughput"           # or another of `Measure::names`
//! about = 7                        # left / right; or `at_least` and/or `at_most`
//! within = 0.25                    # what is still `about`, as a part of it; 0.25 if left out
//! paper_number = 7                 # the number that the text gives, where it is not `about`
//! about_workers = 72               # of how many the paper speaks: with fewer it is not applicable
//! explanation = "..."              # why it comes out as it does; told where something came out
//! ```
//!
//! *Points.* Left and right select points by axis: a value, a list, on an axis of numbers `"most"` or `"least"`, or a
//! range such as `{ from = 2, to = 16 }`, `{ below = 18 }`, `{ not = 1 }`. Left and right name the same axes; what
//! they do not name they share, so that each left point is compared with the right points at its own values of the
//! other axes, of which `at` may say which ones. Without `right`, the bounds are for the measure itself.
//! `best_of = { system = ["a", "b"] }` takes only the best point along its axes.
//! `right = { experiment = "fig-2a", ... }` takes another experiment's points, which [`tell`] has to be given, as a
//! sweep does with results that lie beside its own, and shares with the left ones all axes that it does not name.
//!
//! *Numbers.* Medians over the repetitions are compared. A ratio's lower end is the left side's worst repetition over
//! the right side's best, its upper end the other way round. With `per = "workers"` the ratio is divided by how many
//! times as many workers the left point has: 1 is linear growth. A speed or a time without a right side has two ends, for one
//! end alone says nothing of how much it is. *Shapes* are claimed of whole lines:
//! `over = "workers"` and `shape = "rises"`, with the keys of the table in `shape`.
//!
//! *Trust.* What is simulated may be off by the validated error of the model: the ranges of simulated points are judged that
//! much wider, by what the comparison asks of the model (`trust`). Where nobody knows the error, nothing simulated can be told.
//!
//! *Verdicts.* A claim is *reproduced* if all its comparisons keep the bounds with the whole of their ranges. It
//! keeps its *direction only* if they are at least on the claimed side of 1, or have the shape elsewhere on the axis.
//! It is *not reproduced* if one comparison certainly is not. It *cannot be told* if the repetitions spread too far
//! for any of these, or lack the measure, or if the model is off by too much: the reason names the points. It is *not applicable here* to points that it
//! is not about: with fewer workers than it speaks of, or where a system, a value of an axis or another figure is
//! missing; what it says of others is told by them. A verdict of part of the paper's points says so (`part`).
//!
//! A claim that is not reproduced is a result like any other.
//!
//! | question | file |
//! |---|---|
//! | how does a file say it, and how is it written back? | `file`, `shape_text`; `written` |
//! | which points are meant? | `selection`, and on one axis: `wanted` |
//! | what is known of them? | `figure` |
//! | which are compared with which? | `pairs` |
//! | which number is compared, and how far does it spread? | `measure` |
//! | what is claimed of a number, or of a line? | `bounds`, `shape` |
//! | what comes of one comparison, of one line, of all? | `comparison`, `line`, `judge` |
//! | how far may the points be off? | `trust` |
//! | how much of it is certain? | `outcome` |
//! | at which of the paper's points? | `part` |
//! | whose sentence is it, and how many came out how? | `standing`, `sum` |
//! | what is answered? | `verdict`, and why nothing can be: `untold` |

mod bounds;
mod comparison;
mod figure;
mod file;
mod judge;
mod line;
mod measure;
mod outcome;
mod pairs;
mod part;
mod selection;
mod shape;
mod shape_text;
mod standing;
mod sum;
#[cfg(test)]
mod tests;
mod trust;
mod untold;
mod verdict;
mod wanted;
mod written;

pub use bounds::Bounds;
pub use figure::{Figure, Known};
pub(super) use file::ClaimText;
pub use judge::{Interval, tell};
pub use measure::Measure;
pub use part::Part;
pub use standing::Standing;
pub use sum::{Count, Counts, Sum};
pub use trust::{Asked, ErrorUsed, Trust};
pub use verdict::{Told, Verdict};
pub(super) use written::toml;

use selection::Selection;
use shape::Shape;
use std::fmt;

/// A claim that can be told.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The sentence, in our words.
    pub that: String,
    /// The section of the paper that it is from.
    section: Option<String>,
    /// The paper's own words.
    says: Option<String>,
    /// Whose sentence it is.
    pub standing: Standing,
    /// What is claimed to be more, or less.
    left: Selection,
    /// What it is compared with; `None` compares the measure itself.
    right: Option<Selection>,
    /// Where both are, on axes that neither names.
    at: Selection,
    /// What is compared.
    measure: Measure,
    /// What is claimed of it.
    claimed: Claimed,
    /// The number that the paper's text gives, where it is not `about`.
    paper_number: Option<f64>,
    /// Of how many workers the paper speaks.
    about_workers: Option<usize>,
    /// With fewer workers than this the claim says nothing, whatever the paper speaks of.
    fewest_workers: Option<usize>,
    /// What its author makes of what comes of it.
    explanation: Option<String>,
}

/// What is claimed.
#[derive(Clone, Debug, PartialEq)]
enum Claimed {
    /// Of left / right, or of left alone; divided by how many times as many there are along the axis `per`.
    Number { bounds: Bounds, per: Option<String> },
    /// Of the line along the axis `over`.
    Line { over: String, shape: Shape },
}

impl Claim {
    /// The experiment that it compares with, if it is another one: [`tell`] needs its points.
    pub fn needs(&self) -> Option<&str> {
        self.right.as_ref()?.experiment.as_deref()
    }

    /// What its author makes of what came out where it was measured: no finding of anybody who has not.
    pub fn explanation(&self) -> Option<&str> {
        self.explanation.as_deref().map(str::trim)
    }

    fn fewest_workers(&self) -> usize {
        self.fewest_workers.or(self.about_workers).unwrap_or(1)
    }

    /// What is claimed, in words, for points of so many workers.
    fn claimed_of(&self, workers: usize) -> String {
        match self.about_workers {
            Some(about) if about != workers => {
                format!("{}, of {about} workers, here {workers}", self.claimed)
            }
            _ => self.claimed.to_string(),
        }
    }

    /// The number that the paper's text gives of what is claimed. "About 1" is how a file says that two are the same, and
    /// no number of a text.
    fn paper_number(&self) -> Option<f64> {
        let of_the_paper = self.standing != Standing::Ours;
        self.paper_number.or(self.bounds().about.filter(|&about| of_the_paper && about != 1.0))
    }

    fn over(&self) -> Option<&str> {
        match &self.claimed {
            Claimed::Number { .. } => None,
            Claimed::Line { over, .. } => Some(over),
        }
    }

    /// What is claimed of a number, the top of a peak among them.
    fn bounds(&self) -> Bounds {
        match &self.claimed {
            Claimed::Number { bounds, .. } => *bounds,
            Claimed::Line { shape: Shape::Peaks { top: Some(bounds), .. }, .. } => *bounds,
            Claimed::Line { .. } => Bounds::default(),
        }
    }
}

impl fmt::Display for Claimed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Claimed::Number { bounds, per: None } => write!(f, "{bounds}"),
            Claimed::Number { bounds, per: Some(axis) } => write!(f, "{bounds}, by the number of {axis}"),
            Claimed::Line { over, shape } => write!(f, "{shape} over {over}"),
        }
    }
}
