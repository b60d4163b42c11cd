//! The compilations of the engine that this binary links, and the machines that they run on.
//!
//! `--on hardware` is the machine at hand. `--on FILE` is a machine that the file describes: the same engine's source,
//! compiled against the simulated machine ([`crate::simulation`]). A command is a [`Job`], generic over the engine;
//! [`Machine::run`] picks the compilation.

use crate::simulation::{self, OnDescription};
use crate::{nodes, shipped};
use cluster::{Group, Together};
use contract::{ChannelName, Durability, Engine, EngineOptions, Instances};
use harness::options::Logging;
use harness::{BadValue, Failure, Place, RunOptions};
use machine::simulated::Description;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use workloads::described::FileKind;

/// The engine on the machine at hand.
pub type Hardware = engine::ThisEngine;
/// The engine on virtual cores whose interleaving is chosen.
pub type Explored = engine_simulated::ThisEngine;

/// What `--on` names.
#[derive(Clone, Copy)]
pub enum Machine {
    /// The machine at hand.
    Hardware,
    /// One that a file describes.
    Simulated(&'static Description),
    /// The machine at hand, and others perhaps, with a process for each instance.
    Cluster(&'static Group),
}

/// Something to do on a machine.
pub trait Job {
    /// What comes of it.
    type Output;

    /// Does it, by the engine for the machine.
    fn on<E: Engine>(self) -> Self::Output;
}

/// Refuses to log where a log of the other kind lies, of which neither could be recovered then.
fn refuse_beside(logging: &Logging, name: &str, what: &str) -> Result<(), Failure> {
    let is_there = |folder: &&PathBuf| !logging.each_apart && folder.join(name).exists();
    match logging.folders.iter().find(is_there) {
        Some(folder) => {
            let allowed = format!("a folder without {what}");
            Err(BadValue::new("log", folder.display(), allowed).into())
        }
        None => Ok(()),
    }
}

impl Machine {
    /// What `--on` says.
    pub fn named(on: Option<&str>) -> Result<Machine, Failure> {
        let given = match on {
            None | Some("hardware") => return Ok(Machine::Hardware),
            Some(given) => given,
        };
        let (file, text) = shipped::machine(given)?;
        let description = Description::parse(&text).map_err(|error| {
            let what = format!("{error}{}", FileKind::Machine.but(&text));
            Failure::Input { place: file, what }
        })?;
        // Few, and needed until the end.
        Ok(Machine::Simulated(Box::leak(Box::new(description))))
    }

    /// Where measurements run.
    pub fn place(self) -> Place {
        match self {
            Machine::Hardware => Place::hardware(cores()),
            Machine::Cluster(group) => {
                Place { machine: nodes::place(group).to_owned(), ..Place::hardware(group.cores()) }
            }
            Machine::Simulated(description) => {
                Place::simulated(description.name.clone(), description.cores, fingerprint(description))
            }
        }
    }

    /// The defaults of a command whose defaults on the hardware are `on_hardware`.
    pub fn defaults(self, on_hardware: fn(usize) -> RunOptions) -> RunOptions {
        match self {
            Machine::Hardware => on_hardware(cores()),
            Machine::Cluster(group) => nodes::given(group, on_hardware(group.cores())),
            Machine::Simulated(description) => RunOptions::for_simulation(description.cores),
        }
    }

    /// Refuses more workers than a simulated machine has cores: nobody would switch between them.
    pub fn admit(self, workers: usize) -> Result<(), Failure> {
        match self {
            Machine::Simulated(Description { cores, name, .. }) if workers > *cores => {
                let allowed = format!("1 <= workers <= {cores}, the cores of {name}");
                Err(BadValue::new("workers", workers, allowed).into())
            }
            _ => Ok(()),
        }
    }

    /// Refuses a level without a folder, and a log on a simulated machine that has no disk.
    pub fn admit_logging(self, logging: &Logging) -> Result<(), Failure> {
        logging.admit().map_err(Failure::Usage)?;
        match self {
            Machine::Simulated(Description { disk: None, name, .. }) if logging.level != Durability::None => {
                Err(Failure::Usage(format!(
                    "--durability {}: {name} has no disk: its file has no table [disk]",
                    logging.level
                )))
            }
            Machine::Simulated(_) => Ok(()),
            Machine::Hardware => refuse_beside(logging, "instance-0", "a log of several instances"),
            Machine::Cluster(_) => refuse_beside(logging, "MANIFEST", "a log of one process"),
        }
    }

    /// Refuses a channel that a simulated machine does not have, and instances that are not nodes.
    pub fn admit_instances(self, workers: usize, engine: &EngineOptions) -> Result<(), Failure> {
        let Description { channels, name, .. } = match self {
            Machine::Hardware => return nodes::admit_within_process(engine.channel),
            Machine::Cluster(group) => return nodes::admit(group, workers, engine),
            Machine::Simulated(description) => description,
        };
        let there = match engine.channel {
            ChannelName::SharedMemory => return Ok(()),
            ChannelName::Unix => channels.unix,
            ChannelName::Tcp => channels.tcp,
            ChannelName::Mpi => return nodes::admit_within_process(engine.channel),
        };
        match there {
            None if engine.instances != Instances::ONE => {
                let has = |channel: &&ChannelName| match channel {
                    ChannelName::SharedMemory => true,
                    ChannelName::Unix => channels.unix.is_some(),
                    ChannelName::Tcp => channels.tcp.is_some(),
                    ChannelName::Mpi => false,
                };
                let there: Vec<&str> =
                    ChannelName::ALL.iter().filter(has).map(|channel| channel.name()).collect();
                let allowed = format!(
                    "{}, for the file of {name} has no table [channels.{}]",
                    there.join(", "),
                    engine.channel
                );
                Err(BadValue::new("channel", engine.channel, allowed).into())
            }
            _ => Ok(()),
        }
    }

    /// Does `job` on it.
    pub fn run<J: Job>(self, job: J) -> J::Output {
        match self {
            Machine::Hardware => job.on::<Hardware>(),
            Machine::Cluster(_) => job.on::<Together>(),
            Machine::Simulated(description) => simulation::on(description, || job.on::<OnDescription>()),
        }
    }
}

/// Tells a machine's numbers from others. Another build may give another one: then points are simulated anew.
fn fingerprint(description: &Description) -> String {
    let mut hasher = DefaultHasher::new();
    format!("{description:?}").hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// Hardware threads that this process may use: what `cores` means on the command line.
pub fn cores() -> usize {
    machine::hardware::topology::Topology::of_this_machine().hardware_threads()
}
