//! What is measured, apart from the system: the workload with its parameters, the options, the machine.

use crate::options::{Origin, RunOptions};
use contract::EngineOptions;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use workloads::AnyWorkload;

/// What is measured, apart from the system.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The workload's name.
    pub workload: String,
    /// Its effective parameters.
    pub parameters: BTreeMap<String, String>,
    /// How it is measured.
    pub options: RunOptions,
    /// Where.
    pub place: Place,
}

impl Subject {
    /// `workload` with its effective parameters.
    pub fn of(workload: &AnyWorkload, mut options: RunOptions, place: Place) -> Subject {
        options.engine.single_records = workload.is_of_single_records();
        let parameters = workload.resolved().into_iter().map(|(name, value)| (name.to_owned(), value));
        let (workload, parameters) = (workload.name().to_owned(), parameters.collect::<BTreeMap<_, _>>());
        let origin =
            Origin { workload: workload.clone(), parameters: parameters.clone(), ..options.logging.origin };
        options.logging.origin = origin;
        Subject { workload, parameters, options, place }
    }
}

/// Where a measurement runs, as far as the numbers and the warnings depend on it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Place {
    /// `hardware`, or the name of a simulated machine.
    pub machine: String,
    /// Whether the machine is simulated.
    pub simulated: bool,
    /// Cores that the process may use.
    pub cores: usize,
    /// Whether the engine was compiled with debug assertions or without optimisation.
    pub debug_build: bool,
    /// Of a simulated machine: what tells its numbers from others under the same name, so that points of one are not gone on
    /// with on the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

impl Subject {
    /// What the engine was told, with what it was left to choose.
    pub fn engine_options(&self) -> EngineOptions {
        let engine = self.options.engine.clone();
        let latch = engine.latch_of_partitions(self.options.workers, self.place.cores);
        EngineOptions { partition_latch: Some(latch), ..engine }
    }
}

impl Place {
    /// The machine at hand.
    pub fn hardware(cores: usize) -> Place {
        Place {
            machine: "hardware".to_owned(),
            simulated: false,
            cores,
            debug_build: cfg!(debug_assertions),
            description: None,
        }
    }

    /// Its name, for people: nobody is to take a simulated number for a measured one.
    pub fn shown(&self) -> String {
        shown(&self.machine, self.simulated)
    }

    /// What tells a simulated machine from any other, as `parameters.toml` says it.
    pub fn written(&self) -> Option<String> {
        self.description.as_ref().map(|description| format!("{} {description}", self.machine))
    }

    /// A simulated machine. How the simulator was built changes no number.
    /// `description` tells its numbers from others under the same name.
    pub fn simulated(machine: String, cores: usize, description: String) -> Place {
        Place { machine, simulated: true, cores, debug_build: false, description: Some(description) }
    }
}

/// A machine's name, for people.
pub fn shown(machine: &str, simulated: bool) -> String {
    if simulated { format!("{machine} (simulated)") } else { machine.to_owned() }
}
