//! What is answered to a claim.

use super::{Bounds, ErrorUsed, Interval, Measure, Part, Standing};
use serde::Serialize;
use std::fmt;

/// What came of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
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
    /// It is about these points, and they do not tell: they spread too far, come from a model whose error is too large or
    /// not known, or lack the measure.
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

    /// Whether something came out that could be explained.
    pub fn says_what_came_out(self) -> bool {
        !matches!(self, Verdict::NotApplicable | Verdict::CannotBeTold)
    }
}

/// A claim with its verdict: what `--json` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Told {
    /// The sentence, in our words.
    pub that: String,
    /// The section of the paper that it is from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// The paper's own words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
    /// Whose sentence it is.
    pub standing: Standing,
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
    /// Where it was judged: the left points by their values, in the order of the axes.
    #[serde(skip)]
    pub places: Vec<Vec<String>>,
    /// What is claimed of left / right, or of left alone.
    #[serde(flatten)]
    pub bounds: Bounds,
    /// The same in words, or the shape that is claimed.
    pub claimed: String,
    /// Of how many workers, if the claim says so.
    pub about_workers: Option<usize>,
    /// The number that the paper's text gives, of the same thing as [`Told::interval`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paper_number: Option<f64>,
    /// What came of it.
    pub verdict: Verdict,
    /// Of what cannot be told: whether at least its direction is certain.
    pub direction_holds: bool,
    /// Where it was judged, if that is not all of where the paper has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    /// Left / right by their medians, of the comparison that decides, or left alone; `None` if there is none, if right
    /// is 0, or if a shape is claimed.
    pub ratio: Option<f64>,
    /// The number of the comparison that decides, or the height of a peak, and how far it may reach; `None` where that is
    /// not finite, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// The model's error that it was judged with; `None` of hardware, and where nobody knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorUsed>,
    /// The verdict's reason: what was found, beside what is claimed.
    pub why: String,
    /// What the experiment's author makes of what came out; not where the claim is not applicable, or cannot be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<String>,
}

impl Told {
    /// The verdict, and of which part of the points it is, if it is of a part.
    pub fn outcome(&self) -> String {
        match &self.part {
            Some(part) => format!("{}, {part}", self.verdict),
            None => self.verdict.to_string(),
        }
    }

    /// The reason, why it was used for fitting, and what its author makes of it.
    pub fn reason(&self) -> String {
        let mut reason = self.why.clone();
        if let Standing::Fitted(why) = &self.standing {
            reason += &format!(". Used for fitting, and not counted: {why}");
        }
        if let Some(explanation) = &self.explanation {
            reason += &format!(". Explanation: {explanation}");
        }
        reason
    }

    /// The same, and which error of the model was used.
    pub fn whole_reason(&self) -> String {
        match &self.error {
            Some(error) => format!("{} ({})", self.reason(), error.in_words()),
            None => self.reason(),
        }
    }

    /// The section and the words of the paper, if the claim says them.
    pub fn source(&self) -> Option<String> {
        let says = self.says.as_ref().map(|says| format!("\u{201c}{says}\u{201d}"));
        match (&self.section, says) {
            (Some(section), Some(says)) => Some(format!("{section}: {says}")),
            (section, says) => says.or(section.clone()),
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
