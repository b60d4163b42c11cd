//! What is known of an experiment's points: from it come its claims, its report, and what `sweep --json` prints.

use super::case::Case;
use super::cases::Cases;
use super::claims::{self, Figure, Told, Trust};
use super::experiment::Experiment;
use super::files;
use super::journal::{self, Finished, Header, SCHEMA};
use super::siblings::{self, Sibling};
use crate::failure::Failure;
use crate::options::extras_of_points;
use crate::report::{SweepReport, page::Way};
use crate::results::Surroundings;
use crate::subject::Place;
use crate::summary::warnings::of_points;
use crate::summary::{Summary, Unmeasured};
use contract::{Engine, PairName};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What a sweep brought home: what `sweep --json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct Conducted {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Heading of the report.
    pub title: String,
    /// Where the experiment comes from.
    pub paper: Option<String>,
    /// What it checks, in words.
    pub claim: Option<String>,
    /// Its claims, with what came of them.
    pub claims: Vec<Told>,
    /// How the points were taken, and with which choices of ours, in words.
    pub taken: String,
    /// The axes with their values.
    pub axes: BTreeMap<String, Vec<String>>,
    /// The finished points, in the order of the axes.
    pub points: Vec<PointResult>,
    /// The pairs that the engine does not have, or that do not fit the options of some point.
    pub left_out: Vec<Unmeasured>,
    /// What is odd, and what to do about it.
    pub warnings: Vec<String>,
    /// Of the points, those that were measured just now and not earlier.
    #[serde(skip)]
    pub measured_now: usize,
}

/// One finished point.
#[derive(Clone, Debug, Serialize)]
pub struct PointResult {
    /// Its value on each axis.
    pub at: BTreeMap<String, String>,
    /// What was measured.
    pub summary: Summary,
}

/// How points were taken, and with which choices of ours, in words: what changes every figure.
pub fn taken<'a>(points: impl Iterator<Item = &'a Summary>, place: &Place) -> String {
    let turns = match place.simulated {
        true => "Each repetition as over a newly loaded store: what is simulated repeats bit for bit",
        false => {
            "In each repetition the systems of a point interleaved, as far as memory has room for their stores"
        }
    };
    let points: Vec<&Summary> = points.collect();
    if points.is_empty() {
        return format!("{turns}.");
    }
    let pairs: Vec<PairName> = points.iter().filter_map(|point| point.pair()).collect();
    format!("{turns}; {}.", extras_of_points(points.iter().map(|point| &point.engine), &pairs))
}

/// What is odd: the choices that decide nothing, and the finished points' numbers. A point is given by its values by axis.
pub fn warnings<'a>(
    experiment: &Experiment,
    idle: &[String],
    points: impl Iterator<Item = (&'a Vec<String>, &'a Summary)>,
) -> Vec<String> {
    idle.iter().cloned().chain(of_points(&named(experiment, points))).collect()
}

/// The finished points, each with its values by axis in words.
pub fn named<'a>(
    experiment: &Experiment,
    points: impl Iterator<Item = (&'a Vec<String>, &'a Summary)>,
) -> Vec<(String, &'a Summary)> {
    let name = |at: &[String]| {
        let values = experiment.axes.iter().zip(at);
        values.map(|(axis, value)| format!("{} {value}", axis.name)).collect::<Vec<_>>().join(", ")
    };
    points.map(|(at, summary)| (name(at), summary)).collect()
}

/// What the results in `folder` say of `experiment`; nothing there is measured, and nothing is written. A folder that is not there has no points.
pub fn known<'a, E: Engine>(
    experiment: &'a Experiment,
    cases: &'a Cases,
    folder: &Path,
    surroundings: &'a Surroundings,
    place: &'a Place,
) -> Result<Points<'a>, Failure> {
    let finished = match folder.join(journal::FILE_NAME).exists() {
        true => journal::read(folder, &Header::new(&experiment.name, place))?,
        false => Vec::new(),
    };
    let siblings = Sibling::all::<E>(experiment, folder, place);
    Ok(Points { experiment, cases, surroundings, place, folder: folder.to_owned(), finished, siblings })
}

/// An experiment with the points that are finished.
pub struct Points<'a> {
    pub(super) experiment: &'a Experiment,
    pub(super) cases: &'a Cases,
    pub(super) surroundings: &'a Surroundings,
    pub(super) place: &'a Place,
    /// Where they lie.
    pub(super) folder: PathBuf,
    pub(super) finished: Vec<Finished>,
    pub(super) siblings: Vec<Sibling>,
}

impl Points<'_> {
    pub(super) fn finished(&self, case: &Case) -> Option<&Finished> {
        self.finished.iter().find(|point| point.settings == case.settings)
    }

    /// What the system of a case can, if its rate is a part of that and an earlier point has found it out: all rates of a system are parts of the same.
    pub(super) fn capacity(&self, case: &Case) -> Option<f64> {
        case.subject.options.percent_of_capacity?;
        let but_arrivals = |settings: &BTreeMap<String, String>| -> BTreeMap<String, String> {
            let of_arrivals = |name: &str| ["rate", "arrivals", "series"].contains(&name);
            settings.clone().into_iter().filter(|(name, _)| !of_arrivals(name)).collect()
        };
        let asked = but_arrivals(&case.settings);
        let alike = self.finished.iter().filter(|point| but_arrivals(&point.settings) == asked);
        alike.filter_map(|point| point.summary.arrivals.as_ref()?.capacity_per_s).next()
    }

    /// The cases that are finished, in the order of the axes.
    pub(super) fn of_cases(&self) -> impl Iterator<Item = (&Case, &Finished)> {
        self.cases.cases.iter().filter_map(|case| Some((case, self.finished(case)?)))
    }

    /// The claims, by what is known so far.
    pub(super) fn told(&self) -> Vec<Told> {
        let others: Vec<Figure<'_>> = self.siblings.iter().map(Sibling::figure).collect();
        let trust = match self.place.simulated {
            true => Trust::Simulated(self.surroundings.validated.as_ref().map_err(String::as_str)),
            false => Trust::Measured,
        };
        claims::tell(&siblings::figure(self.experiment, self.cases, &self.finished), &others, trust)
    }

    /// Whether none is finished.
    pub fn is_empty(&self) -> bool {
        self.of_cases().next().is_none()
    }

    /// What a report in the folder of the points is made from; `trail`: the pages above it.
    pub fn reported(&self, trail: Vec<Way>) -> SweepReport<'_> {
        let cases = self.cases.cases.iter();
        let way =
            |case: &Case| Some((case.at.clone(), files::way_to_series(self.experiment, case, &self.folder)?));
        SweepReport {
            experiment: self.experiment,
            place: self.place,
            common: self.cases.common(),
            surroundings: self.surroundings,
            points: cases
                .map(|case| (case.at.clone(), self.finished(case).map(|point| &point.summary)))
                .collect(),
            series: self.of_cases().filter_map(|(case, _)| way(case)).collect(),
            left_out: self.cases.left_out.clone(),
            idle: &self.cases.idle,
            claims: self.told(),
            trail,
        }
    }

    /// What came of it so far.
    pub fn conducted(&self) -> Conducted {
        let axes = &self.experiment.axes;
        Conducted {
            schema: SCHEMA,
            title: self.experiment.title.clone(),
            paper: self.experiment.paper.clone(),
            claim: self.experiment.claim.clone(),
            claims: self.told(),
            taken: taken(self.of_cases().map(|(_, point)| &point.summary), self.place),
            axes: axes.iter().map(|axis| (axis.name.clone(), axis.values.clone())).collect(),
            points: self
                .of_cases()
                .map(|(case, point)| PointResult {
                    at: axes.iter().map(|axis| axis.name.clone()).zip(case.at.iter().cloned()).collect(),
                    summary: point.summary.clone(),
                })
                .collect(),
            left_out: self.cases.left_out.clone(),
            warnings: warnings(
                self.experiment,
                &self.cases.idle,
                self.of_cases().map(|(case, point)| (&case.at, &point.summary)),
            ),
            measured_now: 0,
        }
    }
}
