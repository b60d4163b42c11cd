//! How far the simulated machine is from the hardware, as a verdict on simulated points has to know it.
//!
//! A simulated number is judged with the error of the model beside the spread of the seeds. Three questions are asked of a
//! model, and it is better at some than at others: how much a number *is*, how much one system differs *from another*,
//! and how a system changes *along* an axis. Each error is the root of the mean square of logarithms of simulated over
//! measured, as a factor of at least 1: a model that is off by 1.3 says of a true 100 something like 77 or 130.
//!
//! Systems of one instance and deployments of several are told apart ([`SystemKind`]): what messages cost is another part of the model. A file in which
//! no deployment was validated still judges them, by the errors of one instance, and verdicts say so.
//!
//! `trireme validate --commit` measures the errors and writes the file; it is committed, with the
//! fingerprints of the model and of the machine file, and a test fails when the model is another one by now.

use super::kind::SystemKind;
use crate::Failure;
use crate::failure::words;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Name and version of the fields of [`ModelErrors`].
pub const SCHEMA: &str = "trireme.validated/1";

/// How far the model is off in one measure, by what is asked of it: factors of at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelError {
    /// Of a number itself.
    pub value: f64,
    /// Of the ratio of two systems at one point.
    pub between_systems: f64,
    /// Of the ratio of one system at two points: other workers, or other settings of the workload.
    pub along: f64,
}

/// From how many comparisons each factor of a [`ModelError`] comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comparisons {
    /// Numbers.
    pub value: usize,
    /// Ratios of two systems.
    pub between_systems: usize,
    /// Ratios of two points.
    pub along: usize,
}

/// The errors of one kind of systems.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KindErrors {
    /// How they were deployed on the hardware, in words.
    pub deployed: String,
    /// The workloads, with the parameters that were set.
    pub workloads: Vec<String>,
    /// The errors, by the measure's name.
    pub errors: BTreeMap<String, ModelError>,
    /// From how many comparisons they come, by the measure's name.
    pub comparisons: BTreeMap<String, Comparisons>,
}

/// What `validate` found of the model, when and where: the file that is committed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelErrors {
    /// [`SCHEMA`].
    pub schema: String,
    /// The day, as 2026-11-22.
    pub measured_on: String,
    /// The processor of the machine that was measured and simulated.
    pub host: String,
    /// The line that was typed.
    pub command: String,
    /// The largest number of workers that was measured and simulated: beyond it nobody knows.
    pub most_workers: usize,
    /// Of the model that was validated: what its accesses cost and what it is told of computation.
    pub model_fingerprint: String,
    /// Of the numbers of the machine file that it was validated with.
    pub machine_fingerprint: String,
    /// How far the rounds of one measurement on the hardware were from their median, as a factor of at least 1: errors
    /// below it are the hardware's as much as the model's.
    pub hardware_spread: f64,
    /// What the measuring noticed of the host.
    pub warnings: Vec<String>,
    /// The workloads, with the parameters that were set.
    pub workloads: Vec<String>,
    /// The errors of systems of one instance, by the measure's name.
    pub errors: BTreeMap<String, ModelError>,
    /// From how many comparisons they come, by the measure's name.
    pub comparisons: BTreeMap<String, Comparisons>,
    /// The same of deployments; nothing: none was validated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployments: Option<KindErrors>,
}

impl ModelErrors {
    /// Where the file is committed, from the repository's root.
    pub const COMMITTED: &str = "machines/validated.json";

    /// Of a measure of this kind of systems, and the kind that it was measured on: where no deployment was validated for the measure, it is that of one
    /// instance. `None` as of [`ModelErrors::of`].
    pub fn of_kind(&self, measure: &str, kind: SystemKind) -> Option<(ModelError, SystemKind)> {
        let of_deployments = || self.deployments.as_ref()?.errors.get(measure).copied();
        let own = if kind == SystemKind::Deployments { of_deployments() } else { None };
        own.map(|error| (error, SystemKind::Deployments))
            .or_else(|| Some((self.of(measure)?, SystemKind::OneInstance)))
    }

    /// Of a measure of systems of one instance by its name in claims: `throughput`, `mean_ns`, `abort_rate` or `retried_share`. `None` where nothing was compared in
    /// one of the three ways, and for every other measure: then nobody knows how far the model is off.
    pub fn of(&self, measure: &str) -> Option<ModelError> {
        self.errors.get(measure).copied()
    }

    /// What a file says. Refused with one line: what is no such file, and factors below 1.
    pub fn parse(text: &str) -> Result<ModelErrors, String> {
        let errors: ModelErrors = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if errors.schema != SCHEMA {
            return Err(format!("schema {}: allowed: {SCHEMA}", errors.schema));
        }
        admit_factors("errors", &errors.errors)?;
        if let Some(deployments) = &errors.deployments {
            admit_factors("deployments.errors", &deployments.errors)?;
        }
        Ok(errors)
    }

    /// Reads a file.
    pub fn read(file: &Path) -> Result<ModelErrors, Failure> {
        let input = |what| Failure::Input { place: file.display().to_string(), what };
        let text = fs::read_to_string(file).map_err(|error| input(words(&error)))?;
        ModelErrors::parse(&text).map_err(input)
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).expect("names, numbers and tables") + "\n"
    }

    /// Errors that nobody measured: for trying out what a verdict makes of them.
    pub fn supposed<'a>(errors: impl IntoIterator<Item = (&'a str, ModelError)>) -> ModelErrors {
        let errors: BTreeMap<String, ModelError> =
            errors.into_iter().map(|(measure, error)| (measure.to_owned(), error)).collect();
        ModelErrors {
            schema: SCHEMA.to_owned(),
            measured_on: "1970-01-01".to_owned(),
            host: "nowhere".to_owned(),
            command: "none".to_owned(),
            most_workers: 1,
            model_fingerprint: "0".to_owned(),
            machine_fingerprint: "0".to_owned(),
            hardware_spread: 1.0,
            warnings: Vec::new(),
            workloads: Vec::new(),
            deployments: None,
            comparisons: errors.keys().map(|measure| (measure.clone(), Comparisons::default())).collect(),
            errors,
        }
    }
}

fn admit_factors(place: &str, errors: &BTreeMap<String, ModelError>) -> Result<(), String> {
    for (measure, ModelError { value, between_systems, along }) in errors {
        for (kind, factor) in [("value", value), ("between_systems", between_systems), ("along", along)] {
            if !factor.is_finite() || *factor < 1.0 {
                return Err(format!("{place}.{measure}.{kind} {factor}: allowed: a factor of at least 1"));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> ModelErrors {
        let throughput = ModelError { value: 1.4, between_systems: 1.3, along: 1.2 };
        ModelErrors::supposed([("throughput", throughput)])
    }

    #[test]
    fn only_what_was_compared_has_an_error() {
        assert_eq!(some().of("throughput").map(|error| error.along), Some(1.2));
        assert_eq!(some().of("p99_ns"), None);
    }

    /// Deployments are off by twice as much.
    fn with_deployments() -> ModelErrors {
        let error = ModelError { value: 2.8, between_systems: 2.6, along: 2.4 };
        let errors = [("throughput".to_owned(), error)].into_iter().collect();
        ModelErrors { deployments: Some(KindErrors { errors, ..KindErrors::default() }), ..some() }
    }

    #[test]
    fn deployments_have_the_error_of_one_instance_until_they_are_validated() {
        let along = |errors: ModelErrors, kind| {
            errors.of_kind("throughput", kind).map(|(error, of)| (error.along, of))
        };
        let (one, several) = (SystemKind::OneInstance, SystemKind::Deployments);
        assert_eq!(along(some(), one), Some((1.2, one)));
        assert_eq!(along(some(), several), Some((1.2, one)));
        assert_eq!(along(with_deployments(), one), Some((1.2, one)));
        assert_eq!(along(with_deployments(), several), Some((2.4, several)));
        assert_eq!(with_deployments().of_kind("p99_ns", several), None);
        assert_eq!(with_deployments().of("throughput").map(|error| error.along), Some(1.2));
    }

    #[test]
    fn a_file_from_before_deployments_is_read_and_one_with_them_too() {
        assert!(!some().text().contains("deployments"));
        let text = with_deployments().text();
        assert_eq!(ModelErrors::parse(&text), Ok(with_deployments()));
        assert_eq!(
            ModelErrors::parse(&text.replace("2.4", "0.4")).expect_err("no factor"),
            "deployments.errors.throughput.along 0.4: allowed: a factor of at least 1"
        );
    }

    #[test]
    fn the_file_is_read_as_it_was_written() {
        assert_eq!(ModelErrors::parse(&some().text()), Ok(some()));
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("validated.json");
        fs::write(&file, some().text()).expect("a file");
        assert_eq!(ModelErrors::read(&file).expect("a file"), some());
        let missing = ModelErrors::read(&folder.path().join("none.toml")).expect_err("no file");
        assert!(missing.to_string().ends_with("none.toml: no such file or directory"), "{missing}");
    }

    #[test]
    fn what_is_no_error_is_refused_by_name() {
        let refused = |from: &str, to: &str| {
            let text = some().text().replace(from, to);
            ModelErrors::parse(&text).expect_err(to)
        };
        assert_eq!(
            refused("\"along\": 1.2", "\"along\": 0.9"),
            "errors.throughput.along 0.9: allowed: a factor of at least 1"
        );
        assert!(
            refused("trireme.validated/1", "trireme.validated/9").ends_with("allowed: trireme.validated/1")
        );
        assert!(refused("\"host\"", "\"hast\"").contains("unknown field `hast`"));
        assert!(refused("\"along\": 1.2", "\"along\": null").contains("invalid type: null"));
    }
}
