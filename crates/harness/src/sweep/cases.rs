//! All points of an experiment: every name and value resolved and checked before anything is measured.

use super::case::{Case, Named};
use super::experiment::{Axis, Experiment};
use crate::failure::Failure;
use crate::measure::{Fit, Point, admit_division, fit, idle};
use crate::options::{BadValue, Division, RunOptions};
use crate::subject::Place;
use crate::summary::Unmeasured;
use contract::{Engine, PairName};
use std::collections::{BTreeMap, BTreeSet};

/// More points than this are a mistake: at a second each they take days.
const MOST_POINTS: usize = 100_000;

/// All points of an experiment.
#[derive(Clone, Debug)]
pub struct Cases {
    /// In the order of the axes, the last one changing fastest.
    pub cases: Vec<Case>,
    /// The pairs that the engine does not have, or that do not fit the options of some point.
    pub left_out: Vec<Unmeasured>,
    /// Choices that decide nothing at any point that has them ([`crate::measure::idle`]).
    pub idle: Vec<String>,
    /// Why the points of those pairs are left out, by their values by axis.
    reasons: BTreeMap<Vec<String>, String>,
}

impl Cases {
    /// Resolves the points of `experiment`; what it does not name is as `defaults` say.
    pub fn resolve<E: Engine>(
        experiment: &Experiment,
        defaults: &RunOptions,
        place: &Place,
    ) -> Result<Cases, Failure> {
        admit_points(experiment)?;
        let mut cases = Vec::new();
        let mut known = BTreeMap::new();
        for at in combinations(experiment) {
            let case = Case::resolve::<E>(experiment, at, defaults, place)?;
            if let Some(same) = known.insert(case.settings.clone(), case.at.clone()) {
                return Err(refuse_twice(experiment, &same, &case.at));
            }
            cases.push(case);
        }
        Cases::fitting::<E>(experiment, cases)
    }

    /// Those of `cases` that can be measured, by the rule of [`fit`].
    fn fitting<E: Engine>(experiment: &Experiment, cases: Vec<Case>) -> Result<Cases, Failure> {
        let fits = |case: &&Case| matches!(fit::<E>(case.pair, &case.subject.options, true), Fit::Fits);
        let fitting: BTreeSet<PairName> = cases.iter().filter(fits).map(|case| case.pair).collect();
        let mut resolved =
            Cases { cases: Vec::new(), left_out: Vec::new(), idle: Vec::new(), reasons: BTreeMap::new() };
        let mut misfit = None;
        for case in cases {
            let refused = |bad: BadValue| Named::of(experiment, &case.at).refuse(bad);
            match fit::<E>(case.pair, &case.subject.options, fitting.contains(&case.pair)) {
                Fit::Fits => resolved.cases.push(case),
                Fit::NoPair(why) => resolved.leave_out(&case, why),
                Fit::LeftOut(why) => {
                    resolved.leave_out(&case, why.to_string());
                    misfit.get_or_insert_with(|| refused(why.into()));
                }
                Fit::Refused(bad) => return Err(refused(bad)),
            }
        }
        match misfit {
            // A sweep of nothing would hide the reason.
            Some(misfit) if resolved.cases.is_empty() => Err(misfit),
            _ => resolved.with_what_is_idle::<E>().with_what_is_divided(experiment),
        }
    }

    fn with_what_is_idle<E: Engine>(self) -> Cases {
        let points =
            self.cases.iter().map(|case| Point { pair: case.pair, subject: &case.subject, chosen: None });
        let idle = idle::<E>(&points.collect::<Vec<_>>());
        Cases { idle, ..self }
    }

    /// Refuses a choice of threads that is for no system here.
    fn with_what_is_divided(self, experiment: &Experiment) -> Result<Cases, Failure> {
        let choosing: Vec<&Case> =
            self.cases.iter().filter(|case| case.subject.options.division == Division::Measured).collect();
        let pairs: Vec<PairName> = choosing.iter().map(|case| case.pair).collect();
        if let Some(first) = choosing.first() {
            let admitted = admit_division(&pairs, &first.subject.options);
            admitted.map_err(|bad| Named::of(experiment, &first.at).refuse(bad))?;
        }
        Ok(self)
    }

    fn leave_out(&mut self, case: &Case, why: impl Into<String>) {
        let left_out = Unmeasured::new(case.pair, why);
        self.reasons.insert(case.at.clone(), left_out.why.clone());
        if !self.left_out.contains(&left_out) {
            self.left_out.push(left_out);
        }
    }

    /// Leaves out the points that `misfit` says do not fit where this runs, such as instances that are not the processes that there are; refused if none fits.
    pub fn leave_out_misfits(
        &mut self,
        experiment: &Experiment,
        misfit: impl Fn(&Case) -> Option<BadValue>,
    ) -> Result<(), Failure> {
        let mut refused = None;
        for case in std::mem::take(&mut self.cases) {
            match misfit(&case) {
                None => self.cases.push(case),
                Some(bad) => {
                    self.leave_out(&case, bad.to_string());
                    refused.get_or_insert_with(|| Named::of(experiment, &case.at).refuse(bad));
                }
            }
        }
        match refused {
            // As above.
            Some(refused) if self.cases.is_empty() => Err(refused),
            _ => Ok(()),
        }
    }

    /// Why the point at `place` is left out; `None` if it is not.
    pub fn reason_at(&self, place: &[String]) -> Option<&str> {
        self.reasons.get(place).map(String::as_str)
    }

    /// The settings that are the same at all points.
    pub fn common(&self) -> BTreeMap<String, String> {
        let mut cases = self.cases.iter();
        let mut common = cases.next().map_or(BTreeMap::new(), |case| case.settings.clone());
        for case in cases {
            common.retain(|name, value| case.settings.get(name) == Some(value));
        }
        common
    }
}

/// Refuses more points than anybody waits for, before they are made.
fn admit_points(experiment: &Experiment) -> Result<(), Failure> {
    let points =
        experiment.axes.iter().try_fold(1usize, |points, axis| points.checked_mul(axis.values.len()));
    match points {
        Some(points) if points <= MOST_POINTS => Ok(()),
        _ => {
            let factors: Vec<String> =
                experiment.axes.iter().map(|axis| axis.values.len().to_string()).collect();
            let what = format!("{} points; allowed: at most {MOST_POINTS}", factors.join(" x "));
            Err(Failure::Input { place: experiment.path.clone(), what })
        }
    }
}

/// Two places on the axes, such as `0.5` and `0.50`, that would be measured as one point.
fn refuse_twice(experiment: &Experiment, first: &[String], second: &[String]) -> Failure {
    let differs = |(axis, (one, other)): (&Axis, (&String, &String))| {
        (one != other).then(|| (axis.place.clone(), format!("{} {one} and {other}", axis.name)))
    };
    let pairs = first.iter().zip(second);
    let (places, names): (Vec<String>, Vec<String>) =
        experiment.axes.iter().zip(pairs).filter_map(differs).unzip();
    Failure::Input {
        place: places.into_iter().next().unwrap_or_else(|| experiment.path.clone()),
        what: format!("{} are the same point; name it once", names.join(", ")),
    }
}

/// All combinations of the axes' values, the last axis changing fastest.
pub(crate) fn combinations(experiment: &Experiment) -> Vec<Vec<String>> {
    let mut all: Vec<Vec<String>> = vec![Vec::new()];
    for axis in &experiment.axes {
        let continued = |start: &Vec<String>| {
            let start = start.clone();
            axis.values.iter().map(move |value| {
                let mut longer = start.clone();
                longer.push(value.clone());
                longer
            })
        };
        all = all.iter().flat_map(continued).collect();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mock::MockEngine;

    fn resolve(text: &str) -> Result<Cases, Failure> {
        let experiment = Experiment::parse("e.toml", text, 2)?;
        Cases::resolve::<MockEngine>(&experiment, &RunOptions::for_compare(2), &Place::hardware(2))
    }

    #[test]
    fn all_combinations_in_the_order_of_the_axes() {
        let text = "workload = 'ycsb'\n[base]\nrecords = 100\nduration = '2s'\n\
                    [axes]\nprotocol = ['silo', '2v-no-wait', 'no-wait']\ntheta = [0, 0.5]";
        let resolved = resolve(text).expect("an experiment");
        let at: Vec<String> = resolved.cases.iter().map(|case| case.at.join(" ")).collect();
        assert_eq!(at, ["silo 0", "silo 0.5", "no-wait 0", "no-wait 0.5"]);
        assert_eq!(resolved.left_out.len(), 1, "2v-no-wait, once");
        let settings = &resolved.cases[1].settings;
        assert_eq!((&*settings["theta"], &*settings["duration"], &*settings["workers"]), ("0.5", "2s", "2"));
        let common = resolved.common();
        assert!(!common.contains_key("theta") && !common.contains_key("protocol"));
        assert_eq!(common["records"], "100");
    }

    #[test]
    fn a_setting_follows_an_axis() {
        let text = "workload = 'ycsb'\n[base]\nrecords = { as = 'seed' }\n[axes]\nsystem = ['shared-everything silo']\nseed = [100, 200]";
        let resolved = resolve(text).expect("an experiment");
        let records: Vec<&str> = resolved.cases.iter().map(|case| &*case.settings["records"]).collect();
        assert_eq!(records, ["100", "200"]);
    }

    #[test]
    fn a_system_is_an_architecture_with_a_protocol() {
        let of = |axes: &str| {
            let resolved = resolve(&format!("workload = 'micro'\n[axes]\n{axes}")).expect("an experiment");
            let name = |left_out: &Unmeasured| format!("{} {}", left_out.architecture, left_out.protocol);
            let pairs: Vec<String> = resolved.cases.iter().map(|case| case.pair.to_string()).collect();
            (pairs.join(", "), resolved.left_out.iter().map(name).collect::<Vec<_>>().join(", "))
        };
        let systems =
            "system = ['delegation', 'partitioned-serial  none', 'dora silo', 'shared-everything silo']";
        let (measured, left_out) = of(systems);
        assert_eq!(
            measured, "delegation no-wait, shared-everything silo",
            "the fake delegation has one protocol"
        );
        assert_eq!(left_out, "partitioned-serial none, dora silo");
        assert_eq!(of("architecture = ['delegation']").0, "delegation no-wait");
    }

    #[test]
    fn a_system_is_told_options_of_its_own() {
        let text = "workload = 'micro'\n[base]\nprefetch = false\n[axes]\nsystem = ";
        let systems =
            "['shared-everything silo', 'shared-everything silo prefetch=on seed=7', 'delegation seed=8']";
        let resolved = resolve(&format!("{text}{systems}")).expect("an experiment");
        let told = |case: &Case| (case.settings["prefetch"].clone(), case.settings["seed"].clone());
        let told: Vec<_> = resolved.cases.iter().map(told).collect();
        let expected = [("off", "1"), ("on", "7"), ("off", "8")];
        assert_eq!(told, expected.map(|(prefetch, seed)| (prefetch.to_owned(), seed.to_owned())));
        let refused = |systems: &str| resolve(&format!("{text}{systems}")).expect_err("refused").to_string();
        assert_eq!(
            refused("['shared-everything silo prefetch=maybe']"),
            "e.toml:5:10: prefetch maybe: allowed: off, planned, on"
        );
        for systems in
            ["['shared-everything silo theta=1']", "['shared-everything silo seed=1 silo']", "['seed=1']"]
        {
            assert!(refused(systems).contains("allowed: an architecture and a protocol"), "{systems}");
        }
    }

    #[test]
    fn a_point_that_does_not_fit_its_architecture_is_left_out() {
        let text = "workload = 'micro'\n[base]\nsystem = 'asymmetric-delegation no-wait'\n";
        let resolved = resolve(&format!("{text}[axes]\nworkers = [1, 2]")).expect("one point fits");
        assert_eq!(resolved.cases.len(), 1);
        assert_eq!(resolved.left_out[0].why, "workers 1: allowed: others");
        let refused = resolve(&format!("{text}[axes]\nworkers = [1]")).expect_err("none fits").to_string();
        assert_eq!(refused, "e.toml:5:11: workers 1: allowed: others");
        let told =
            "workload = 'micro'\n[axes]\nsystem = ['asymmetric-delegation no-wait servers=2']\nworkers = [2]";
        let refused = resolve(told).expect_err("none fits").to_string();
        assert_eq!(refused, "e.toml:3:10: servers 2: allowed: others", "where the system says it");
        // An option is meant for the points that it fits, if there are any.
        let resolved =
            resolve(&format!("{text}servers = 2\n[axes]\nworkers = [2, 4]")).expect("4 workers fit");
        assert_eq!((resolved.cases.len(), resolved.left_out.len()), (1, 1));
    }

    #[test]
    fn a_point_that_does_not_fit_where_it_runs_is_left_out() {
        let text = "workload = 'micro'\n[base]\nprotocol = 'silo'\n[axes]\nseed = [7, 8]";
        let experiment = Experiment::parse("e.toml", text, 2).expect("an experiment");
        let but = |allowed: &'static [u64]| {
            let mut resolved = resolve(text).expect("points");
            let misfit = |case: &Case| {
                let seed = case.subject.options.engine.seed;
                (!allowed.contains(&seed)).then(|| BadValue::new("seed", seed, "others"))
            };
            resolved.leave_out_misfits(&experiment, misfit).map(|()| resolved)
        };
        let resolved = but(&[7]).expect("one fits");
        assert_eq!((resolved.cases.len(), &*resolved.cases[0].at[0]), (1, "7"));
        assert_eq!(resolved.left_out[0].why, "seed 8: allowed: others");
        assert_eq!(resolved.reason_at(&["8".to_owned()]), Some("seed 8: allowed: others"));
        assert_eq!(but(&[]).expect_err("none fits").to_string(), "e.toml:5:8: seed 7: allowed: others");
        assert_eq!(but(&[7, 8]).expect("both fit").left_out, []);
    }

    #[test]
    fn an_option_that_fits_nowhere_is_refused_if_somebody_set_it() {
        let text = "workload = 'micro'\n[axes]\nsystem = ['shared-everything silo', 'asymmetric-delegation no-wait']\n";
        let resolved = resolve(&format!("{text}workers = [1]")).expect("shared-everything fits");
        assert_eq!((resolved.cases.len(), resolved.left_out.len()), (1, 1), "nobody set the servers");
        let refused = resolve(&format!("{text}workers = [1, 2]\n[base]\nservers = 2")).expect_err("set");
        assert_eq!(refused.to_string(), "e.toml:6:11: servers 2: allowed: others");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place_before_anything_runs() {
        let cases = [
            ("[axes]\nprotocol = ['silo', 'sillo']", "e.toml:3:12: protocol sillo: allowed: no-wait, "),
            ("[base]\nprotocol = 'silo'\narchitecture = 'x'", "e.toml:4:16: architecture x: allowed: shared"),
            ("[base]\nprotocol = 'silo'\ntheta = 1.5", "e.toml:4:9: theta 1.5: allowed: 0 <= theta < 1"),
            (
                "[base]\nprotocol = 'silo'\nthetta = 1.5",
                "e.toml:4:10: unknown name thetta; allowed with ycsb: ",
            ),
            (
                "[base]\nprotocol = 'silo'\n[axes]\nworkers = [1, 0]",
                "e.toml:5:11: workers 0: allowed: a whole",
            ),
            (
                "[base]\nprotocol = 'silo'\n[axes]\nworkers = [1, 99]",
                "e.toml:5:11: workers 99: allowed: 1 <= wo",
            ),
            (
                "[base]\nprotocol = 'silo'\n[axes]\ncc-threads = [1, 'auto']",
                "e.toml:5:14: cc-threads auto: allowed: where orthrus is measured, ",
            ),
            (
                "[axes]\nworkers = [1]",
                "e.toml: it names no protocol; allowed under shared-everything: no-wait, ",
            ),
            (
                "[axes]\nsystem = ['silo']",
                "e.toml:3:10: system silo: allowed: an architecture and a protocol, such as 'shared-everything silo'",
            ),
            ("[axes]\nsystem = ['dora sillo']", "e.toml:3:10: protocol sillo: allowed: no-wait, "),
            (
                "[base]\nprotocol = 'silo'\n[axes]\nseed = [1, 2]\ntheta = ['0.5', '0.50']",
                "e.toml:6:9: theta 0.5 and 0.50 are the same point; name it once",
            ),
            (
                "[base]\nprotocol = 'silo'\n[axes]\nseed = { from = 1, to = 1000, step = 1 }\n\
                 records = { from = 1, to = 1000, step = 1 }",
                "e.toml: 1000 x 1000 points; allowed: at most 100000",
            ),
        ];
        for (text, message) in cases {
            let failure = resolve(&format!("workload = 'ycsb'\n{text}")).expect_err(text);
            assert!(failure.to_string().starts_with(message), "{failure}");
            assert_eq!(failure.exit_code(), 2);
        }
        let mut typed = Experiment::parse("e.toml", "workload = 'ycsb'\n[base]\nprotocol = 'silo'", 2)
            .expect("an experiment");
        typed.replace("workers", "99").expect("not an axis");
        let (defaults, place) = (RunOptions::for_compare(2), Place::hardware(2));
        let failure =
            Cases::resolve::<MockEngine>(&typed, &defaults, &place).expect_err("crowded").to_string();
        assert!(failure.starts_with("--workers 99: allowed: 1 <= workers <= 8 "), "{failure}");
        let failure = resolve("workload = 'tpcd'\n[base]\nprotocol = 'silo'").expect_err("unknown");
        assert!(failure.to_string().starts_with("e.toml:1:12: workload tpcd: allowed: micro"), "{failure}");
    }
}
