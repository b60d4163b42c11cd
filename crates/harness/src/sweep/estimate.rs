//! How long a sweep will take: told before it is begun, without measuring anything.
//!
//! On hardware a repetition takes its warm-up and its interval; loading, audits and trials come on top, so that the sum is the least.
//!
//! On a simulated machine what takes time is the *work*: simulated milliseconds, times the cores that are simulated, which have a worker each. The repetitions of a point run side by
//! side on the host's cores, and points one after the other. A millisecond of one simulated core takes a host core between [`LEAST_MS`] and [`MOST_MS`], by two figures that were timed.
//!
//! Once points are there, they tell more: how long each took stands in the folder, and what is left takes as much by its work, or on hardware by its measuring.

use super::cases::Cases;
use super::experiment::Experiment;
use super::files;
use super::journal::{self, Finished, Header};
use crate::options::RunOptions;
use crate::subject::Place;
use crate::summary::Unmeasured;
use crate::text::durations;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// Name and version of [`Estimate`]'s fields.
const ESTIMATE_SCHEMA: &str = "trireme.estimate/1";

/// A millisecond of a simulated core, in milliseconds of a host core, in a release build: `thousand-cores/fig-6`, whose transactions read one row, with three repetitions of 1.5 ms, took 102 s of processor time for 36,855 ms of cores
/// (`trireme reproduce --help` has both figures).
pub const LEAST_MS: f64 = 3.0;

/// The same of `thousand-cores/fig-7b`, which took 521 s: larger transactions over 20,000,000 rows, with contention.
pub const MOST_MS: f64 = 14.0;

/// What is known of a sweep before it is begun, or gone on with.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Name and version of these fields: `trireme.estimate/1`.
    pub schema: &'static str,
    /// Heading of the report.
    pub title: String,
    /// `hardware`, or the name of a simulated machine.
    pub machine: String,
    /// Whether the machine is simulated.
    pub simulated: bool,
    /// The axes with their values.
    pub axes: BTreeMap<String, Vec<String>>,
    /// All points.
    pub points: usize,
    /// Those that are in the folder already.
    pub finished: usize,
    /// Warm-ups and intervals of all repetitions of the points that are left, in seconds of the machine's own time.
    pub counted_s: f64,
    /// The same times the cores that are simulated; `null` on hardware.
    pub core_s: Option<f64>,
    /// About how long what is left takes here, in seconds: at least.
    pub least_s: f64,
    /// And at most, as far as one can tell; `null`: nobody knows.
    pub most_s: Option<f64>,
    /// How that was estimated, in words.
    pub how: String,
    /// The pairs that the engine does not have, or that do not fit the options of some point.
    pub left_out: Vec<Unmeasured>,
}

impl Estimate {
    /// How long what is left takes, for people: `about 2 min 3 s to 9 min 30 s`.
    pub fn shown(&self) -> String {
        let roughly = |seconds: f64| durations::roughly(Duration::from_secs_f64(seconds));
        let (least, most) = (roughly(self.least_s), self.most_s.map(roughly));
        match most {
            None => format!("at least {least}"),
            Some(most) if most == least => format!("about {least}"),
            Some(most) => format!("about {least} to {most}"),
        }
    }
}

/// Estimates how long the points take that `folder` does not have yet. `host_cores`: those that simulate side by side.
pub fn estimate(
    experiment: &Experiment,
    cases: &Cases,
    place: &Place,
    folder: &Path,
    host_cores: usize,
) -> Estimate {
    // A folder that the sweep could not go on in has nothing to tell.
    let finished = journal::read(folder, &Header::new(&experiment.name, place)).unwrap_or_default();
    let took = files::took(folder);
    let is_there = |point: &Finished, case: &super::Case| point.settings == case.settings;
    let (done, left): (Vec<&super::Case>, Vec<&super::Case>) =
        cases.cases.iter().partition(|case| finished.iter().any(|point| is_there(point, case)));
    let timed = done.iter().filter_map(|case| {
        Some((case, *took.get(&files::label(experiment, case)).filter(|seconds| seconds.is_finite())?))
    });
    let weight = |options: &RunOptions| weight_s(options, place, host_cores);
    let (mut points, mut their_s, mut their_weight_s) = (0, 0.0, 0.0);
    for (case, seconds) in timed {
        points += 1;
        their_s += seconds;
        their_weight_s += weight(&case.subject.options);
    }
    let left_s: f64 = left.iter().map(|case| weight(&case.subject.options)).sum();
    let counted = |options: &RunOptions| options.repetition().as_secs_f64() * options.repeat as f64;
    let counted_s: f64 = left.iter().map(|case| counted(&case.subject.options)).sum();
    let core_s = left.iter().map(|case| counted(&case.subject.options) * case.subject.options.workers as f64);
    let (least_s, most_s, how) = if left.is_empty() {
        (0.0, Some(0.0), "all points are there".to_owned())
    } else if their_weight_s > 0.0 {
        let about = left_s * their_s / their_weight_s;
        let by = if place.simulated { "simulated milliseconds times cores" } else { "time to be measured" };
        let how = format!(
            "by {points} of the points that are there, which took {}, in proportion to their {by}",
            durations::roughly(Duration::from_secs_f64(their_s))
        );
        (about, Some(about), how)
    } else if place.simulated {
        let how = format!(
            "by a rule: {LEAST_MS} to {MOST_MS} ms of a host core, in a release build, for each millisecond of a simulated core, the repetitions of a point on {host_cores} of them; \
             loading comes on top, and once points are there, they tell more"
        );
        (left_s * LEAST_MS, Some(left_s * MOST_MS), how)
    } else {
        let how = "the measuring alone, without the time to load the tables, to audit them, and for trials if a rate is a part of what a system can; \
                   once points are there, they tell more";
        (left_s, None, how.to_owned())
    };
    Estimate {
        schema: ESTIMATE_SCHEMA,
        title: experiment.title.clone(),
        machine: place.machine.clone(),
        simulated: place.simulated,
        axes: experiment.axes.iter().map(|axis| (axis.name.clone(), axis.values.clone())).collect(),
        points: cases.cases.len(),
        finished: done.len(),
        counted_s,
        core_s: place.simulated.then(|| core_s.sum()),
        least_s,
        most_s,
        how,
        left_out: cases.left_out.clone(),
    }
}

/// To what a point's time is in proportion, in seconds: what is measured one repetition after the other, or what is simulated of all cores, as many repetitions at a time as the host has
/// cores for.
fn weight_s(options: &RunOptions, place: &Place, host_cores: usize) -> f64 {
    let repetition_s = options.repetition().as_secs_f64();
    match place.simulated {
        false => repetition_s * options.repeat as f64,
        true => {
            let one_after_the_other = options.repeat.div_ceil(host_cores.max(1));
            repetition_s * options.workers as f64 * one_after_the_other as f64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::Folder;
    use crate::mock::MockEngine;
    use crate::summary::tests::some_summary;

    const TEXT: &str = "title = 'T'\nworkload = 'ycsb'\n[base]\nrecords = 100\nrepeat = 3\nwarmup = '1ms'\nduration = '3ms'\nprotocol = 'silo'\n\
                        [axes]\nworkers = [1, 4]";

    fn planned(place: &Place, folder: &Path) -> (Estimate, Cases) {
        let experiment = Experiment::parse("t.toml", TEXT, 4).expect("an experiment");
        let cases = Cases::resolve::<MockEngine>(&experiment, &RunOptions::for_compare(4), place)
            .unwrap_or_else(|failure| panic!("{failure}"));
        (estimate(&experiment, &cases, place, folder, 2), cases)
    }

    #[test]
    fn what_is_left_takes_as_long_as_a_rule_or_what_is_there_says() {
        let scratch = tempfile::tempdir().expect("a folder for the test");
        let folder = Folder::create(scratch.path()).expect("a folder");
        let simulated = Place::simulated("m".to_owned(), 4, String::new());
        let (by_rule, cases) = planned(&simulated, folder.path());
        // Three repetitions of 4 ms on two cores: two of them one after the other, with one core, and with four.
        let near = |one: f64, other: f64| (one - other).abs() < 1e-9;
        assert!(near(by_rule.least_s, 0.04 * LEAST_MS), "{by_rule:?}");
        assert!(by_rule.most_s.is_some_and(|most| near(most, 0.04 * MOST_MS)));
        assert!(near(by_rule.counted_s, 0.024) && by_rule.core_s.is_some_and(|all| near(all, 0.06)));
        assert!(by_rule.how.starts_with("by a rule: 3 to 14 ms"), "{}", by_rule.how);

        // The point with one worker took 2 s; the other has four times its work.
        let (mut journal, _) = journal::open(folder.path(), &Header::new("t", &simulated)).expect("begun");
        let settings = cases.cases[0].settings.clone();
        journal
            .append(&Finished { settings, summary: some_summary(), samples: Vec::new() })
            .expect("appended");
        files::keep_took(&folder, &["workers=1".to_owned()], Duration::from_secs(2)).expect("kept");
        let (by_points, _) = planned(&simulated, folder.path());
        assert_eq!((by_points.points, by_points.finished), (2, 1));
        assert!(near(by_points.least_s, 8.0), "{by_points:?}");
        assert_eq!(by_points.shown(), "about 8.0 s");
        assert!(by_points.how.starts_with("by 1 of the points that are there, which took 2.0 s"));

        let (on_hardware, _) = planned(&Place::hardware(4), &folder.path().join("elsewhere"));
        assert_eq!((on_hardware.most_s, on_hardware.core_s), (None, None));
        assert!(near(on_hardware.least_s, 0.024), "{on_hardware:?}");
    }
}
