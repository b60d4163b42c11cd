//! One point: from the names and values at its place to what is measured.

use super::experiment::{Experiment, Setting};
use crate::failure::{Failure, conflict};
use crate::measure::pairs_of;
use crate::options::{BadValue, OPTIONS, RunOptions};
use crate::subject::{Place, Subject};
use contract::{ArchitectureName, Engine, PairName};
use std::collections::BTreeMap;
use workloads::{AnyWorkload, ParameterError, Parameters, WorkloadDescription};

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

/// The names of one point with their values, and where each stands.
pub(super) struct Named<'a> {
    experiment: &'a Experiment,
    settings: Vec<Setting>,
}

impl<'a> Named<'a> {
    pub(super) fn of(experiment: &'a Experiment, at: &[String]) -> Named<'a> {
        let on_axes = experiment.axes.iter().zip(at).map(|(axis, value)| Setting {
            name: axis.name.clone(),
            value: value.clone(),
            follows: false,
            place: Some(axis.place.clone()),
        });
        let here = |setting: &Setting| match setting.follows {
            true => {
                let mut axes = experiment.axes.iter().zip(at);
                let (_, value) =
                    axes.find(|(axis, _)| axis.name == setting.value).expect("checked when it was read");
                Setting { value: value.clone(), ..setting.clone() }
            }
            false => setting.clone(),
        };
        Named { experiment, settings: experiment.base.iter().map(here).chain(on_axes).collect() }
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

    /// The setting that gives the option called `name` its value: a system tells options of its own.
    fn giver(&self, name: &str) -> Option<&Setting> {
        let tells = |system: &&Setting| {
            system.value.split(' ').any(|word| word.split_once('=').is_some_and(|(told, _)| told == name))
        };
        self.setting("system").filter(tells).or_else(|| self.setting(name))
    }

    /// A default may be refused, too: it stands nowhere.
    pub(super) fn refuse(&self, bad: BadValue) -> Failure {
        match self.giver(&bad.option) {
            Some(setting) => setting.refuse(bad),
            None => Failure::Input { place: self.experiment.path.clone(), what: bad.to_string() },
        }
    }
}

impl Case {
    pub(super) fn resolve<E: Engine>(
        experiment: &Experiment,
        at: Vec<String>,
        defaults: &RunOptions,
        place: &Place,
    ) -> Result<Case, Failure> {
        let mut named = Named::of(experiment, &at);
        // A misspelt `protocol` is an unknown name; that there is no protocol follows from it.
        let pair =
            pair::<E>(&mut named).map_err(|failure| refuse_unknown(experiment, &named).unwrap_or(failure))?;
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

/// `system`, or `architecture` and `protocol`.
fn pair<E: Engine>(named: &mut Named<'_>) -> Result<PairName, Failure> {
    if let Some(setting) = named.take("system") {
        let (pair, told) = system::<E>(&setting)?;
        for (name, value) in told {
            // In the place of what is said for all systems.
            named.take(&name);
            named.settings.push(Setting { name, value, follows: false, place: setting.place.clone() });
        }
        return Ok(pair);
    }
    let architecture = architecture(named)?;
    if let Some(setting) = named.take("protocol") {
        let unknown = |unknown| setting.refuse(BadValue::from(unknown));
        return Ok(PairName { architecture, protocol: setting.value.parse().map_err(unknown)? });
    }
    match *pairs_of::<E>(architecture) {
        [pair] => Ok(pair),
        ref pairs => {
            let allowed: Vec<&str> = pairs.iter().map(|pair| pair.protocol.name()).collect();
            let what = format!("it names no protocol; allowed under {architecture}: {}", allowed.join(", "));
            Err(Failure::Input { place: named.experiment.path.clone(), what })
        }
    }
}

/// An architecture and a protocol, and what only this system is told: names with values.
type Told = (PairName, Vec<(String, String)>);

fn system<E: Engine>(setting: &Setting) -> Result<Told, Failure> {
    let unknown = |unknown| setting.refuse(BadValue::from(unknown));
    let malformed = || {
        let allowed = "an architecture and a protocol, such as 'shared-everything silo'; an architecture with one \
                       protocol needs no second word; behind them its options, such as deadlock-timeout=100us";
        setting.refuse(BadValue::new("system", &setting.value, allowed))
    };
    let mut words: Vec<&str> = setting.value.split_whitespace().collect();
    let names = words.iter().position(|word| word.contains('=')).unwrap_or(words.len());
    let mut told = Vec::new();
    for word in words.drain(names..) {
        let (name, value) = word.split_once('=').ok_or_else(malformed)?;
        if !OPTIONS.iter().any(|option| option.name == name) {
            return Err(malformed());
        }
        told.push((name.to_owned(), value.to_owned()));
    }
    let pair = match words[..] {
        [architecture, protocol] => PairName {
            architecture: architecture.parse().map_err(unknown)?,
            protocol: protocol.parse().map_err(unknown)?,
        },
        [alone] => match *pairs_of::<E>(alone.parse().map_err(|_| malformed())?) {
            [pair] => pair,
            _ => return Err(malformed()),
        },
        _ => return Err(malformed()),
    };
    Ok((pair, told))
}

/// A name that is neither an option's nor a parameter's of the workload, if there is one.
fn refuse_unknown(experiment: &Experiment, named: &Named<'_>) -> Option<Failure> {
    let is_it = |workload: &&WorkloadDescription| workload.name == experiment.workload.value;
    let workload = workloads::descriptions().iter().find(is_it)?;
    let parameters: Vec<&str> = workload.parameters.iter().map(|parameter| parameter.name).collect();
    let is_known = |name: &str| {
        SYSTEM.contains(&name)
            || OPTIONS.iter().any(|option| option.name == name)
            || parameters.contains(&name)
    };
    let unknown = named.settings.iter().find(|setting| !is_known(&setting.name))?;
    Some(unknown_name(named, workload.name, &unknown.name, &parameters))
}

/// The names of a system's parts.
const SYSTEM: [&str; 3] = ["system", "architecture", "protocol"];

fn unknown_name(named: &Named<'_>, workload: &str, given: &str, parameters: &[&str]) -> Failure {
    let options = SYSTEM.into_iter().chain(OPTIONS.iter().map(|option| option.name));
    let all: Vec<&str> = options.chain(parameters.iter().copied()).collect();
    let what = format!("unknown name {given}; allowed with {workload}: {}", all.join(", "));
    Failure::Input { place: named.place_of(given), what }
}

fn refuse_parameter(experiment: &Experiment, named: &Named<'_>, error: ParameterError) -> Failure {
    match error {
        ParameterError::UnknownWorkload { given, allowed } => {
            experiment.workload.refuse(BadValue::new("workload", given, allowed.join(", ")))
        }
        ParameterError::UnknownParameter { workload, given, allowed } => {
            unknown_name(named, workload, &given, &allowed)
        }
        ParameterError::BadValue { parameter, value, allowed } => {
            named.refuse(BadValue::new(parameter, value, allowed))
        }
        ParameterError::Conflict { parameter, with, .. } => {
            let is_given = |name: &str| named.setting(name).is_some();
            let place = named.place_of(if is_given(parameter) { parameter } else { with });
            Failure::Input { place, what: conflict(&error, is_given, "") }
        }
        ParameterError::Input { place, what } => Failure::Input { place, what },
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
