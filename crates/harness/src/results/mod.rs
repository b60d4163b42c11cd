//! What `run`, `compare` and `check` bring home, and how it is laid down in a result folder. A sweep lays its points
//! down one by one: [`crate::sweep`].
//!
//! Here are measured systems, what stands around them, and a run, which is one of them. How several stand beside each other is in `compare.rs`, and a judged history in `check.rs`.

mod check;
mod compare;

pub use check::CheckResult;
pub use compare::CompareResult;

use crate::failure::Failure;
use crate::folder::samples::{self, Sample};
use crate::folder::{Folder, file_name, latency, parameters, series};
use crate::report;
use crate::subject::Subject;
use crate::summary::{Measured, Summary, merged_latency};
use crate::text::dates::Utc;
use crate::validation::ModelErrors;
use contract::{LatencyHistogram, Series};
use serde::Serialize;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// One measured system.
pub struct System {
    /// What was measured.
    pub summary: Summary,
    /// Its repetitions.
    pub samples: Vec<Sample>,
    /// Its latencies, all repetitions together.
    pub latency_ns: LatencyHistogram,
    /// Its repetitions over time, if they were counted by slices.
    pub series: Vec<Series>,
}

impl System {
    /// The system whose repetitions are `measured`.
    pub fn of(subject: &Subject, measured: &Measured) -> System {
        System {
            summary: Summary::of(subject, measured),
            samples: Sample::all(&measured.repetitions, &subject.options),
            latency_ns: merged_latency(&measured.repetitions),
            series: measured.repetitions.iter().filter_map(|one| one.series.clone()).collect(),
        }
    }

    /// By repetition.
    pub fn throughputs(&self) -> Vec<f64> {
        self.samples.iter().map(|sample| sample.throughput_per_s).collect()
    }
}

/// What stands around the numbers.
#[derive(Clone)]
pub struct Surroundings {
    /// The line that was typed.
    pub command: String,
    /// When the measurement began, for reading.
    pub began: String,
    /// The machine, its system and its settings.
    pub environment: Value,
    /// How far the model of simulated machines is off; or why nobody knows.
    pub validated: Result<ModelErrors, String>,
}

impl Surroundings {
    /// The same, with what is known of the model's error.
    pub fn validated(self, validated: Result<ModelErrors, String>) -> Surroundings {
        Surroundings { validated, ..self }
    }

    /// Adds a fact to the environment.
    pub fn tell(&mut self, name: &str, value: impl Serialize) {
        self.environment[name] = serde_json::to_value(value).expect("facts have text keys");
    }

    /// Those of results that were laid down in `folder`; nothing if there are none.
    pub fn laid_down(folder: &Path) -> Option<Surroundings> {
        let environment = fs::read_to_string(folder.join("environment.json")).ok()?;
        let environment: Value = serde_json::from_str(&environment).ok()?;
        let parameters = fs::read_to_string(folder.join("parameters.toml")).ok()?;
        let command = parameters.lines().next()?.strip_prefix("# ")?.to_owned();
        let began = environment["measured"].as_str()?.to_owned();
        let validated = Err("no validation was read".to_owned());
        Some(Surroundings { command, began, environment, validated })
    }

    /// `environment` is what the machine says of itself; what this program says of itself is added.
    pub fn new(command: String, environment: &impl Serialize) -> Surroundings {
        let began = Utc::now().readable();
        let environment = serde_json::to_value(environment).expect("facts have text keys");
        let mut environment = match environment {
            Value::Object(fields) => fields,
            _ => serde_json::Map::new(),
        };
        let build = if cfg!(debug_assertions) { "debug" } else { "release" };
        for (name, value) in
            [("trireme_version", env!("CARGO_PKG_VERSION")), ("trireme_build", build), ("measured", &began)]
        {
            environment.insert(name.to_owned(), value.into());
        }
        let validated = Err("no validation was read".to_owned());
        Surroundings { command, began, environment: Value::Object(environment), validated }
    }
}

/// What `run` brings home.
pub struct RunResult<'a> {
    /// What was measured.
    pub subject: &'a Subject,
    /// What stands around it.
    pub surroundings: &'a Surroundings,
    /// The system.
    pub system: System,
}

impl RunResult<'_> {
    /// Lays everything down.
    pub fn write(&self, folder: &Folder) -> Result<(), Failure> {
        write_systems(folder, self.subject, self.surroundings, &[&self.system])?;
        folder.write_json("summary.json", &self.system.summary)?;
        folder.write("report.html", &report::of_run(self))
    }
}

/// What tells a system's rows of a file from others'.
fn labels_of(summary: &Summary) -> Vec<(&str, &str)> {
    vec![("architecture", &*summary.architecture), ("protocol", &*summary.protocol)]
}

fn write_systems(
    folder: &Folder,
    subject: &Subject,
    surroundings: &Surroundings,
    systems: &[&System],
) -> Result<(), Failure> {
    let values = |name: fn(&Summary) -> &str| {
        let mut values: Vec<&str> = systems.iter().map(|system| name(&system.summary)).collect();
        values.sort_unstable();
        values.dedup();
        parameters::list(&values)
    };
    let axes = vec![("architecture", values(|s| &s.architecture)), ("protocol", values(|s| &s.protocol))];
    let title = format!("Again: {}", surroundings.command);
    let base = parameters::of_subject(subject);
    let machine = subject.place.written();
    let again = parameters::Again {
        command: &surroundings.command,
        title: &title,
        paper: None,
        claim: None,
        machine: machine.as_deref(),
        workload: &subject.workload,
        x: None,
        base: &base,
        followers: Vec::new(),
        axes,
    };
    folder.write("parameters.toml", &again.toml())?;
    folder.write_json("environment.json", &surroundings.environment)?;
    folder.write(
        "samples.csv",
        &samples::csv(systems.iter().map(|system| (labels_of(&system.summary), &system.samples[..]))),
    )?;
    let slices = series::csv(
        systems
            .iter()
            .map(|system| (labels_of(&system.summary), system.summary.latency_of, &system.series[..])),
    );
    if !slices.is_empty() {
        folder.write(series::FILE_NAME, &slices)?;
    }
    for system in systems {
        let name = format!(
            "latency/{}.csv",
            file_name(&format!("{} {}", system.summary.architecture, system.summary.protocol))
        );
        folder.write(&name, &latency::csv(&system.latency_ns, system.summary.latency_of))?;
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::measure::{After, measure, supported};
    use crate::mock::{Counting, MockEngine};
    use crate::observer::Silent;
    use crate::options::RunOptions;
    use crate::subject::Place;
    use std::collections::BTreeMap;

    pub const ROWS: u64 = 100;

    pub fn subject() -> Subject {
        Subject {
            workload: "counting".to_owned(),
            parameters: BTreeMap::from([("rows".to_owned(), ROWS.to_string())]),
            options: RunOptions { workers: 2, repeat: 3, ..RunOptions::for_compare(2) },
            place: Place::hardware(2),
        }
    }

    pub fn surroundings() -> Surroundings {
        Surroundings::new("trireme compare counting".to_owned(), &BTreeMap::from([("cores", 2)]))
    }

    #[test]
    fn a_run_is_laid_down_whole() {
        let (subject, surroundings) = (subject(), surroundings());
        let (pairs, _) = supported::<MockEngine>(&subject.options);
        let silo = pairs.into_iter().filter(|pair| pair.protocol.name() == "silo").collect::<Vec<_>>();
        let measured = measure::<MockEngine, _>(
            &Counting { rows: ROWS },
            &silo,
            &subject.options,
            After::Nothing,
            &Silent,
        )
        .expect("measured");
        let system = System::of(&subject, &measured.0[0]);
        assert_eq!(system.summary.commits, 3 * 200);
        assert!((system.summary.abort_rate - 0.25).abs() < 1e-9, "every fourth aborts once");
        assert!(system.summary.checks.iter().all(|check| check.passed));
        let scratch = tempfile::tempdir().expect("a folder for the test");
        let folder = Folder::create(scratch.path()).expect("a folder");
        RunResult { subject: &subject, surroundings: &surroundings, system }
            .write(&folder)
            .expect("laid down");
        let html = fs::read_to_string(folder.report()).expect("a report");
        assert!(html.contains("shared-everything silo over counting"));
    }
}
