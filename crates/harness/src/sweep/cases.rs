//! From an experiment to its points: every name and value resolved and checked before anything is measured.

use super::experiment::{Axis, Experiment, Setting};
use crate::failure::Failure;
use crate::measure::admit;
use crate::options::{BadValue, OPTIONS, RunOptions};
use crate::subject::{Place, Subject};
use crate::summary::Unmeasured;
use contract::{ArchitectureName, Engine, PairName, ProtocolName};
use std::collections::BTreeMap;
use workloads::{AnyWorkload, ParameterError, Parameters};

/// More points than this are a mistake: at a second each they take days.
const MOST_POINTS: usize = 100_000;

/// One point.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its values by axis.
    pub at: Vec<String>,
    /// The system.
    pub pair: PairName,
    /// What is measured.
    pub subject: Subject,
    /// The workload itself.
    pub workload: AnyWorkload,
    /// Everything resolved, under its name: what identifies the point.
    pub settings: BTreeMap<String, String>,
}

/// All points of an experiment.
#[derive(Clone, Debug)]
pub struct Cases {
    /// In the order of the axes, the last one changing fastest.
    pub cases: Vec<Case>,
    /// The pairs that the engine does not have.
    pub left_out: Vec<Unmeasured>,
}

impl Cases {
    /// Resolves the points of `experiment`; what it does not name is as `defaults` say.
    pub fn resolve<E: Engine>(
        experiment: &Experiment,
        defaults: &RunOptions,
        place: &Place,
    ) -> Result<Cases, Failure> {
        admit_points(experiment)?;
        let mut resolved = Cases { cases: Vec::new(), left_out: Vec::new() };
        let mut known = BTreeMap::new();
        let mut misfit = None;
        for at in combinations(experiment) {
            let case = Case::resolve(experiment, at, defaults, place)?;
            if let Some(same) = known.insert(case.settings.clone(), case.at.clone()) {
                return Err(refuse_twice(experiment, &same, &case.at));
            }
            match admit::<E>(case.pair, &case.subject.options) {
                Ok(()) => resolved.cases.push(case),
                Err(Failure::Unsupported { pair, why }) => resolved.leave_out(pair, why),
                Err(Failure::Value(bad)) => match misfit_of::<E>(&case) {
                    Some(why) => {
                        resolved.leave_out(case.pair, why);
                        misfit.get_or_insert(Named::of(experiment, &case.at).refuse(bad));
                    }
                    None => return Err(Named::of(experiment, &case.at).refuse(bad)),
                },
                Err(other) => return Err(other),
            }
        }
        match misfit {
            Some(misfit) if resolved.cases.is_empty() => Err(misfit),
            _ => Ok(resolved),
        }
    }

    fn leave_out(&mut self, pair: PairName, why: impl Into<String>) {
        let left_out = Unmeasured::new(pair, why);
        if !self.left_out.contains(&left_out) {
            self.left_out.push(left_out);
        }
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

/// Why a point does not fit its architecture, if others of the same axes may: asymmetric delegation needs more workers
/// than one, and fewer servers than workers.
fn misfit_of<E: Engine>(case: &Case) -> Option<String> {
    let (architecture, options) = (case.pair.architecture, &case.subject.options);
    let may_be_left_out = architecture == ArchitectureName::AsymmetricDelegation
        && options.workers <= E::most_workers(architecture);
    let arranged = E::arrange(architecture, options.workers, &options.engine_options(0));
    arranged.err().filter(|_| may_be_left_out).map(|misfit| misfit.to_string())
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

/// The names of one point with their values, and where each stands.
struct Named<'a> {
    experiment: &'a Experiment,
    settings: Vec<Setting>,
}

impl<'a> Named<'a> {
    fn of(experiment: &'a Experiment, at: &[String]) -> Named<'a> {
        let on_axes = experiment.axes.iter().zip(at).map(|(axis, value)| Setting {
            name: axis.name.clone(),
            value: value.clone(),
            place: Some(axis.place.clone()),
        });
        Named { experiment, settings: experiment.base.iter().cloned().chain(on_axes).collect() }
    }

    /// Takes the setting called `name` out.
    fn take(&mut self, name: &str) -> Option<Setting> {
        let position = self.settings.iter().position(|setting| setting.name == name)?;
        Some(self.settings.remove(position))
    }

    fn setting(&self, name: &str) -> Option<&Setting> {
        self.settings.iter().find(|setting| setting.name == name)
    }

    /// The place of the setting called `name`, or the file if it does not name it.
    fn place_of(&self, name: &str) -> String {
        let place = self.setting(name).and_then(|setting| setting.place.clone());
        place.unwrap_or_else(|| self.experiment.path.clone())
    }

    /// A default may be refused, too: it stands nowhere.
    fn refuse(&self, bad: BadValue) -> Failure {
        match self.setting(&bad.option) {
            Some(setting) => setting.refuse(bad),
            None => Failure::Input { place: self.experiment.path.clone(), what: bad.to_string() },
        }
    }
}

impl Case {
    fn resolve(
        experiment: &Experiment,
        at: Vec<String>,
        defaults: &RunOptions,
        place: &Place,
    ) -> Result<Case, Failure> {
        let mut named = Named::of(experiment, &at);
        let pair = pair(&mut named)?;
        let mut options = defaults.clone();
        for option in OPTIONS {
            if let Some(setting) = named.take(option.name) {
                let set = options.set(&setting.name, &setting.value).expect("a name of OPTIONS");
                set.map_err(|bad| setting.refuse(bad))?;
            }
        }
        let given: Parameters =
            named.settings.iter().map(|setting| (setting.name.clone(), setting.value.clone())).collect();
        let workload = workloads::build(&experiment.workload.value, &given)
            .map_err(|error| refuse_parameter(experiment, &named, error))?;
        let subject = Subject::of(&workload, options, place.clone());
        let settings = identity(&subject, pair);
        Ok(Case { at, pair, subject, workload, settings })
    }
}

fn architecture(named: &mut Named<'_>) -> Result<ArchitectureName, Failure> {
    match named.take("architecture") {
        Some(setting) => setting.value.parse().map_err(|unknown| setting.refuse(BadValue::from(unknown))),
        None => Ok(ArchitectureName::SharedEverything),
    }
}

fn protocol(named: &mut Named<'_>, architecture: ArchitectureName) -> Result<ProtocolName, Failure> {
    match named.take("protocol") {
        Some(setting) => setting.value.parse().map_err(|unknown| setting.refuse(BadValue::from(unknown))),
        None if architecture == ArchitectureName::PartitionedSerial => Ok(ProtocolName::Unprotected),
        None => {
            let allowed: Vec<&str> = ProtocolName::ALL.iter().map(|protocol| protocol.name()).collect();
            let what = format!("it names no protocol; allowed: {}", allowed.join(", "));
            Err(Failure::Input { place: named.experiment.path.clone(), what })
        }
    }
}

/// `system`, or `architecture` and `protocol`.
fn pair(named: &mut Named<'_>) -> Result<PairName, Failure> {
    let Some(setting) = named.take("system") else {
        let architecture = architecture(named)?;
        return Ok(PairName { architecture, protocol: protocol(named, architecture)? });
    };
    let unknown = |unknown| setting.refuse(BadValue::from(unknown));
    let words: Vec<&str> = setting.value.split_whitespace().collect();
    match words[..] {
        [architecture, protocol] => Ok(PairName {
            architecture: architecture.parse().map_err(unknown)?,
            protocol: protocol.parse().map_err(unknown)?,
        }),
        [alone] if alone == ArchitectureName::PartitionedSerial.name() => Ok(PairName {
            architecture: ArchitectureName::PartitionedSerial,
            protocol: ProtocolName::Unprotected,
        }),
        _ => {
            let allowed =
                "an architecture and a protocol, such as 'shared-everything silo'; or partitioned-serial";
            Err(setting.refuse(BadValue::new("system", &setting.value, allowed)))
        }
    }
}

fn refuse_parameter(experiment: &Experiment, named: &Named<'_>, error: ParameterError) -> Failure {
    match error {
        ParameterError::UnknownWorkload { given, allowed } => {
            experiment.workload.refuse(BadValue::new("workload", given, allowed.join(", ")))
        }
        ParameterError::UnknownParameter { workload, given, allowed } => {
            let options =
                ["system", "architecture", "protocol"].into_iter().chain(OPTIONS.iter().map(|o| o.name));
            let all: Vec<&str> = options.chain(allowed).collect();
            let what = format!("unknown name {given}; allowed with {workload}: {}", all.join(", "));
            Failure::Input { place: named.place_of(&given), what }
        }
        ParameterError::BadValue { parameter, value, allowed } => {
            named.refuse(BadValue::new(parameter, value, allowed))
        }
        ParameterError::Conflict { parameter, value, with, with_value, allowed } => {
            let what =
                format!("{parameter} {value} does not go with {with} {with_value}: allowed: {allowed}");
            Failure::Input { place: named.place_of(parameter), what }
        }
    }
}

fn identity(subject: &Subject, pair: PairName) -> BTreeMap<String, String> {
    let mut settings = subject.options.resolved();
    settings.extend(subject.parameters.clone());
    settings.insert("workload".to_owned(), subject.workload.clone());
    settings.insert("architecture".to_owned(), pair.architecture.to_string());
    settings.insert("protocol".to_owned(), pair.protocol.to_string());
    settings
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
    fn a_system_is_an_architecture_with_a_protocol() {
        let of = |axes: &str| {
            let resolved = resolve(&format!("workload = 'micro'\n[axes]\n{axes}")).expect("an experiment");
            let name = |left_out: &Unmeasured| format!("{} {}", left_out.architecture, left_out.protocol);
            let pairs: Vec<String> = resolved.cases.iter().map(|case| case.pair.to_string()).collect();
            (pairs.join(", "), resolved.left_out.iter().map(name).collect::<Vec<_>>().join(", "))
        };
        let systems =
            "system = ['delegation  no-wait', 'partitioned-serial', 'dora silo', 'shared-everything silo']";
        let (measured, left_out) = of(systems);
        assert_eq!(measured, "delegation no-wait, shared-everything silo");
        assert_eq!(left_out, "partitioned-serial none, dora silo");
        let (_, left_out) = of("architecture = ['partitioned-serial']");
        assert_eq!(left_out, "partitioned-serial none", "it needs no protocol");
    }

    #[test]
    fn a_point_that_does_not_fit_its_architecture_is_left_out() {
        let text = "workload = 'micro'\n[base]\nsystem = 'asymmetric-delegation no-wait'\n[axes]\n";
        let resolved = resolve(&format!("{text}workers = [1, 2]")).expect("one point fits");
        assert_eq!(resolved.cases.len(), 1);
        assert_eq!(resolved.left_out[0].why, "workers 1: allowed: others");
        let refused = resolve(&format!("{text}workers = [1]")).expect_err("none fits").to_string();
        assert_eq!(refused, "e.toml:5:11: workers 1: allowed: others");
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
            ("[axes]\nworkers = [1]", "e.toml: it names no protocol; allowed: "),
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
