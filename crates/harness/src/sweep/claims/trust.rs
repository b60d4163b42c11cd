//! How far a number may be from what it stands for, beside the spread of its repetitions.
//!
//! What is measured is what it is. What is simulated comes from a model that is off by a factor, and by how much depends on
//! what is asked of it ([`ModelError`]): of a number itself, of two systems at one point, of one system at two points. So
//! every comparison is judged with a range that goes beyond the slowest and fastest repetition by the factor of its kind:
//!
//! | what is compared | the factor |
//! |---|---|
//! | a number with the claimed one | `value` |
//! | two systems at one point | `between_systems` |
//! | one system at two points: other workers, another parameter, another figure | `along` |
//! | two systems at two points | both, one times the other |
//! | the points of a system's line with each other | `along`; each point by the root of it, so that two are by all of it |
//! | the points of a line of ratios with each other | `along`, each: left and right may both be off along the line |
//!
//! A comparison in which a deployment of several instances takes part has the error of deployments, and that of one instance if no deployment was
//! validated: then the verdict says so ([`ErrorUsed::in_words`]).
//!
//! A 0 stays 0. The errors are typical ones, the root of a mean of squares, measured with few workers: beyond those the
//! error is at least as large. Where nobody knows it, for a measure that `validate` does not compare or because the model is
//! no longer the one that was validated, a simulated claim cannot be told.

use super::Measure;
use super::pairs::Pair;
use crate::text::numbers::counted;
use crate::validation::{ModelError, ModelErrors, SystemKind};
use serde::Serialize;

/// Where points come from.
#[derive(Clone, Copy, Debug)]
pub enum Trust<'a> {
    /// From the hardware.
    Measured,
    /// From a model that is off by so much; or why nobody knows by how much.
    Simulated(Result<&'a ModelErrors, &'a str>),
}

/// What of a model is asked by a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Asked {
    /// How much a number is.
    Value,
    /// How much one system differs from another.
    BetweenSystems,
    /// How one system changes.
    Along,
    /// Both of these.
    BetweenAndAlong,
}

/// The error that a verdict was found with.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ErrorUsed {
    /// Of what.
    pub of: Asked,
    /// At least 1.
    pub factor: f64,
    /// When the model was validated.
    pub measured_on: String,
    /// On which machine.
    pub host: String,
    /// With how many workers at most.
    pub most_workers: usize,
    /// With how many the claim was judged.
    pub workers: usize,
    /// Of which kind the systems are that the claim was judged with: of deployments, if there is one among them.
    pub kind: SystemKind,
    /// Of which kind those are that the error was measured with.
    pub measured_kind: SystemKind,
}

/// By which factor numbers may be off, and by which a line's points against each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Doubt {
    /// Each number.
    pub(super) itself: f64,
    /// Each point of a line, when it is compared with the others.
    pub(super) among: f64,
    /// What of the model is asked; `None` of the hardware.
    pub(super) asked: Option<Asked>,
}

impl Doubt {
    /// The spread is all.
    pub(super) const NONE: Doubt = Doubt { itself: 1.0, among: 1.0, asked: None };

    /// The larger one.
    pub(super) fn or(self, other: Doubt) -> Doubt {
        if other.itself > self.itself { other } else { self }
    }
}

impl Asked {
    /// What the comparison of `pair` asks.
    pub(super) fn by((left, right): Pair<'_, '_>) -> Asked {
        let Some(right) = right else { return Asked::Value };
        match (left.systems() == right.systems(), left.is_beside(right)) {
            (true, _) => Asked::Along,
            (false, true) => Asked::BetweenSystems,
            (false, false) => Asked::BetweenAndAlong,
        }
    }

    fn factor(self, error: ModelError) -> f64 {
        match self {
            Asked::Value => error.value,
            Asked::BetweenSystems => error.between_systems,
            Asked::Along => error.along,
            Asked::BetweenAndAlong => error.between_systems * error.along,
        }
    }

    /// After "the model's error of 1.3".
    pub(super) fn in_words(self) -> &'static str {
        match self {
            Asked::Value => "in value",
            Asked::BetweenSystems => "between systems",
            Asked::Along => "along an axis",
            Asked::BetweenAndAlong => "between systems and along an axis",
        }
    }
}

impl Trust<'_> {
    /// Whether the points come from a model.
    pub(super) fn is_simulated(self) -> bool {
        matches!(self, Trust::Simulated(_))
    }

    /// The doubt about what `pair`, a comparison of this kind, is compared by; `Err` says why nobody knows it.
    pub(super) fn doubt(
        self,
        measure: Measure,
        pair: Pair<'_, '_>,
        kind: SystemKind,
    ) -> Result<Doubt, String> {
        let errors = match self {
            Trust::Measured => return Ok(Doubt::NONE),
            Trust::Simulated(errors) => errors?,
        };
        let error = errors.of_kind(measure.name(), kind);
        let (error, _) = error.ok_or_else(|| format!("it was not validated for the {measure}"))?;
        let asked = Asked::by(pair);
        let among = if pair.1.is_none() { error.along.sqrt() } else { error.along };
        Ok(Doubt { itself: asked.factor(error), among, asked: Some(asked) })
    }

    /// What is said of the error `factor` of what was `asked` of a measure of systems of this kind, with so many `workers`.
    pub(super) fn used(
        self,
        asked: Asked,
        factor: f64,
        (measure, kind): (Measure, SystemKind),
        workers: usize,
    ) -> Option<ErrorUsed> {
        let Trust::Simulated(Ok(errors)) = self else { return None };
        let (_, measured_kind) = errors.of_kind(measure.name(), kind)?;
        Some(ErrorUsed {
            of: asked,
            factor,
            measured_on: errors.measured_on.clone(),
            host: errors.host.clone(),
            most_workers: errors.most_workers,
            workers,
            kind,
            measured_kind,
        })
    }
}

impl ErrorUsed {
    /// When and where it was measured, and whether that says enough.
    pub fn in_words(&self) -> String {
        let ErrorUsed { measured_on, host, most_workers, workers, kind, measured_kind, .. } = self;
        let beyond = match workers > most_workers {
            true => format!("; at {workers} it is at least this"),
            false => String::new(),
        };
        let workers = counted(*most_workers, "worker");
        let of_others = match kind == measured_kind {
            true => String::new(),
            false => {
                format!("; {kind} were not validated for this: it is the error of systems of {measured_kind}")
            }
        };
        format!("error validated on {measured_on}, {host}, with up to {workers}{beyond}{of_others}")
    }
}
