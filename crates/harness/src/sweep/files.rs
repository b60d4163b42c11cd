//! What lies beside the journal: files of each point.
//!
//! | file | what |
//! |---|---|
//! | `latency/POINT.csv` | latency by percentile, all repetitions together |
//! | `latency/POINT.hlog` | a histogram of latencies a repetition, some kilobytes, of which `--export hlog` makes one log |
//! | `series/POINT.csv` | its repetitions by slices, if they were counted so |
//! | `took.json` | how long points took where they were measured, in seconds, by point |
//!
//! They are whole before the point's line is appended to the journal, so that a point which is there has them, and one that was interrupted
//! writes them anew. Points that an earlier version has measured may lack some.

use super::case::Case;
use super::cases::Cases;
use super::experiment::Experiment;
use crate::failure::Failure;
use crate::folder::hlog::{self, Tagged};
use crate::folder::{Folder, export, file_name, latency, series};
use crate::summary::{Measured, Summary, merged_latency};
use contract::Series;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

const TOOK: &str = "took.json";

/// A point in words: its values by axis.
pub(super) fn label(experiment: &Experiment, case: &Case) -> String {
    let values: Vec<String> = values(experiment, case).collect();
    if values.is_empty() { case.pair.to_string() } else { values.join(",") }
}

fn values<'a>(experiment: &'a Experiment, case: &'a Case) -> impl Iterator<Item = String> + 'a {
    let axes = experiment.axes.iter().zip(&case.at);
    axes.map(|(axis, value)| format!("{}={value}", axis.name))
}

/// What tells a point's rows from others': the system, with the options that systems of the sweep have of their own, and its values on the other axes.
pub(super) fn labels<'a>(experiment: &'a Experiment, case: &'a Case) -> Vec<(&'a str, &'a str)> {
    let system = ["architecture", "protocol"];
    let axes = experiment.axes.iter().map(|axis| axis.name.as_str()).zip(case.at.iter().map(String::as_str));
    let others = axes.filter(|(name, _)| *name != "system" && !system.contains(name));
    let own = options_of_systems(experiment);
    system.into_iter().chain(own).map(|name| (name, case.settings[name].as_str())).chain(others).collect()
}

/// The options that some value of the axis of systems sets, each once.
fn options_of_systems(experiment: &Experiment) -> Vec<&str> {
    let systems = experiment.axes.iter().filter(|axis| axis.name == "system");
    let words = systems.flat_map(|axis| &axis.values).flat_map(|system| system.split(' '));
    let mut names = Vec::new();
    for (name, _) in words.filter_map(|word| word.split_once('=')) {
        let is_axis = experiment.axes.iter().any(|axis| axis.name == name);
        if !is_axis && !names.contains(&name) {
            names.push(name);
        }
    }
    // Whatever the order of systems: who compares two results holds labels against each other.
    names.sort_unstable();
    names
}

/// The series of a point, seen from the sweep's folder.
fn series_of(experiment: &Experiment, case: &Case) -> String {
    format!("series/{}.csv", file_name(&label(experiment, case)))
}

/// Where the series of a point is, seen from the sweep's folder; nothing if it has none.
pub(super) fn way_to_series(experiment: &Experiment, case: &Case, folder: &Path) -> Option<String> {
    Some(series_of(experiment, case)).filter(|name| folder.join(name).exists())
}

/// Lays down what was measured at a point, but for its line in the journal.
pub(super) fn keep(
    folder: &Folder,
    experiment: &Experiment,
    case: &Case,
    (measured, summary): (&Measured, &Summary),
) -> Result<(), Failure> {
    let name = format!("latency/{}", file_name(&label(experiment, case)));
    let merged = merged_latency(&measured.repetitions);
    folder.write(&format!("{name}.csv"), &latency::csv(&merged, summary.latency_of))?;
    folder.write(&format!("{name}.hlog"), &histograms(experiment, case, measured, summary))?;
    let series: Vec<Series> = measured.repetitions.iter().filter_map(|one| one.series.clone()).collect();
    if series.is_empty() {
        return Ok(());
    }
    let group = (labels(experiment, case), summary.latency_of, &series[..]);
    folder.write(&series_of(experiment, case), &series::csv([group]))
}

/// A log with a histogram a repetition.
fn histograms(experiment: &Experiment, case: &Case, measured: &Measured, summary: &Summary) -> String {
    let what = hlog::what([summary.latency_of]);
    let comment = format!("{}: {what}; nanoseconds", label(experiment, case));
    let values: Vec<String> = match case.at.is_empty() {
        true => vec![case.pair.to_string()],
        false => values(experiment, case).collect(),
    };
    let repetitions = measured.repetitions.iter().enumerate().map(|(number, one)| {
        let repetition = format!("repetition={}", number + 1);
        let tag = hlog::tag(values.iter().map(String::as_str).chain([repetition.as_str()]));
        Tagged { tag, counted: one.elapsed, latency_ns: &one.latency_ns }
    });
    hlog::log(&[comment], repetitions)
}

/// Writes the latencies of all points as one log; answers how many points have kept none.
pub fn export_log(folder: &Folder, experiment: &Experiment, cases: &Cases) -> Result<usize, Failure> {
    let read = |case: &Case| {
        let name = format!("latency/{}.hlog", file_name(&label(experiment, case)));
        fs::read_to_string(folder.path().join(name)).ok()
    };
    let logs: Vec<String> = cases.cases.iter().filter_map(read).collect();
    let comment = format!("{}: a histogram for each point and repetition", export::SCHEMA);
    folder.write("latency.hlog", &hlog::joined(&[comment], &logs))?;
    Ok(cases.cases.len() - logs.len())
}

/// How long points took, by point; nothing if nobody has kept that.
pub(super) fn took(folder: &Path) -> BTreeMap<String, f64> {
    let text = fs::read_to_string(folder.join(TOOK)).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Keeps how long points took.
pub(super) fn keep_took(folder: &Folder, points: &[String], each: Duration) -> Result<(), Failure> {
    let mut took = took(folder.path());
    took.extend(points.iter().map(|point| (point.clone(), each.as_secs_f64())));
    folder.write_json(TOOK, &took)
}
