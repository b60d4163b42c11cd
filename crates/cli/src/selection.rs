//! From the line that was typed to what is measured.

use crate::arguments::typed;
use crate::engines::{Hardware, Machine};
use crate::nodes;
use clap::ArgMatches;
use contract::{ArchitectureName, CanaryName, CountersName, DeploymentCanary, Engine, PairName, Support};
use harness::check::happened::HOSTS_NEEDED;
use harness::check::{CheckWorkload, Own, defaults};
use harness::failure::conflict;
use harness::folder::Folder;
use harness::measure::pairs_of;
use harness::options::{OPTIONS, OptionDescription};
use harness::text::dates::Utc;
use harness::{BadValue, Failure, RunOptions, Subject};
use std::collections::BTreeMap;
use std::path::Path;
use workloads::{AnyWorkload, ParameterError, Parameters};

/// `--on`.
pub fn machine(matches: &ArgMatches) -> Result<Machine, Failure> {
    match nodes::group(matches)? {
        Some(group) => Ok(Machine::Cluster(group)),
        None => Machine::named(typed(matches, "on")),
    }
}

/// The workload with everything that was typed about it; `defaults` are those on the hardware.
pub fn subject(
    matches: &ArgMatches,
    machine: Machine,
    defaults: fn(usize) -> RunOptions,
) -> Result<(Subject, AnyWorkload), Failure> {
    subject_with(matches, machine, machine.defaults(defaults), &Parameters::default())
}

fn subject_with(
    matches: &ArgMatches,
    machine: Machine,
    defaults: RunOptions,
    unless_typed: &Parameters,
) -> Result<(Subject, AnyWorkload), Failure> {
    let mut options = options(matches, machine, defaults)?;
    nodes::note_division(machine, &mut options);
    let (name, below) = matches.subcommand().expect("a measuring command has a workload");
    let workload = workload(name, below, unless_typed)?;
    let subject = Subject::of(&workload, options, machine.place());
    Ok((subject, workload))
}

/// What a check runs: a workload as above, or one made for checks.
pub fn check_subject(
    matches: &ArgMatches,
    machine: Machine,
    defaults: fn(usize) -> RunOptions,
) -> Result<(Subject, CheckWorkload), Failure> {
    check_subject_of(matches, machine, machine.defaults(defaults), false)
}

/// What an exploration runs: as a check, on tables that are smaller still.
pub fn explored_subject(
    matches: &ArgMatches,
    defaults: RunOptions,
) -> Result<(Subject, CheckWorkload), Failure> {
    check_subject_of(matches, Machine::Hardware, defaults, true)
}

fn check_subject_of(
    matches: &ArgMatches,
    machine: Machine,
    defaults: RunOptions,
    explored: bool,
) -> Result<(Subject, CheckWorkload), Failure> {
    options(matches, machine, defaults.clone())?.admit_no_choice("a check measures nothing")?;
    let name = matches.subcommand_name().expect("a check has a workload");
    let own = Own::all().find(|own| own.name() == name);
    let hosts = own.map_or(HOSTS_NEEDED, Own::workers);
    let architecture = architecture_of_check(matches)?;
    let mut defaults = RunOptions { workers: defaults.workers.max(hosts), ..defaults };
    // A check measures nothing.
    defaults.engine.counters = CountersName::Off;
    if architecture == ArchitectureName::Orthrus {
        defaults = forwarding(matches, defaults, hosts);
    }
    let has_slots = |option: &OptionDescription| option.is_used_by(pairs_of::<Hardware>(architecture)[0]);
    if let Some(Own::Scenario(_)) = own
        && architecture != ArchitectureName::SharedEverything
        && OptionDescription::named("in-flight").is_some_and(has_slots)
    {
        // A player does one thing after the other: whatever else is in flight rests, and takes the turns of an explored schedule. Under
        // shared-everything nothing is, by default.
        defaults.engine.in_flight = 1.into();
    }
    if typed(matches, "workers").is_none() {
        let options = options(matches, machine, defaults.clone())?;
        defaults.workers += missing_hosts(architecture, &options, hosts);
    }
    let Some(own) = own else {
        let unless_typed = defaults::parameters(name, explored).collect();
        let (subject, workload) = subject_with(matches, machine, defaults, &unless_typed)?;
        return Ok((subject, CheckWorkload::Measured(Box::new(workload))));
    };
    let options = options(matches, machine, defaults)?;
    let place = machine.place();
    let subject = Subject { workload: name.to_owned(), parameters: BTreeMap::new(), options, place };
    Ok((subject, CheckWorkload::Own(own)))
}

/// Concurrency-control threads of a check under ORTHRUS: one alone forwards nothing, and keeps no order with others.
const CC_THREADS: usize = 2;

/// As many of them by default as [`CC_THREADS`] says, with workers to suit, unless too few workers were typed for that.
fn forwarding(matches: &ArgMatches, mut defaults: RunOptions, hosts: usize) -> RunOptions {
    let workers = hosts + CC_THREADS;
    let are_enough = match typed(matches, "workers") {
        Some(typed) => typed.parse().is_ok_and(|typed: usize| typed >= workers),
        None => true,
    };
    if typed(matches, "cc-threads").is_none() && are_enough {
        defaults.engine.cc_threads = CC_THREADS;
        defaults.workers = defaults.workers.max(workers);
    }
    defaults
}

/// `subject` with the parameters that were typed and no others: nobody is warned of what a check has chosen itself.
pub fn as_typed(subject: &Subject, matches: &ArgMatches) -> Subject {
    let (_, below) = matches.subcommand().expect("a check has a workload");
    let mut subject = subject.clone();
    subject.parameters.retain(|name, _| typed(below, name).is_some());
    subject
}

/// Workers that are lacking until so many host transactions, because some host none.
fn missing_hosts(architecture: ArchitectureName, options: &RunOptions, hosts: usize) -> usize {
    let pair = pairs_of::<Hardware>(architecture)[0];
    let arrangement = Hardware::arrange(pair, options.workers, &options.engine_options(0));
    arrangement.map_or(0, |arrangement| hosts.saturating_sub(arrangement.clients))
}

/// The shared options as they were typed, for `machine`.
pub fn options(matches: &ArgMatches, machine: Machine, defaults: RunOptions) -> Result<RunOptions, Failure> {
    let mut options = defaults;
    for (name, value) in options_typed(matches) {
        options.set(name, value).expect("a name of OPTIONS")?;
    }
    machine.admit(options.workers)?;
    machine.admit_logging(&options.logging)?;
    machine.admit_instances(options.workers, &options.engine)?;
    Ok(options)
}

/// The shared options that were typed, with their values.
pub fn options_typed(matches: &ArgMatches) -> impl Iterator<Item = (&'static str, &str)> {
    OPTIONS.iter().filter_map(|option| Some((option.name, typed(matches, option.name)?)))
}

/// The workload called `name`, with what was typed of it, and with as much of `unless_typed` as goes together with that.
pub fn workload(name: &str, matches: &ArgMatches, unless_typed: &Parameters) -> Result<AnyWorkload, Failure> {
    let description = workloads::descriptions()
        .iter()
        .find(|workload| workload.name == name)
        .expect("a subcommand for each");
    let is_typed = |name: &str| typed(matches, name).is_some();
    let mut left: Vec<(&str, &str)> = unless_typed.iter().filter(|(name, _)| !is_typed(name)).collect();
    let built = loop {
        let was_typed = description
            .parameters
            .iter()
            .filter_map(|parameter| Some((parameter.name, typed(matches, parameter.name)?)));
        let built = workloads::build(name, &was_typed.chain(left.iter().copied()).collect());
        let before = left.len();
        if let Err(ParameterError::Conflict { parameter, with, .. }) = &built {
            left.retain(|(name, _)| name != parameter && name != with);
        }
        if left.len() == before {
            break built;
        }
    };
    built.map_err(|error| match error {
        ParameterError::BadValue { parameter, value, allowed } => {
            BadValue::new(parameter, value, allowed).into()
        }
        ParameterError::Conflict { .. } => Failure::Usage(conflict(&error, is_typed, "--")),
        other => Failure::Usage(other.to_string()),
    })
}

/// `--architecture`, or the default.
pub fn architecture(matches: &ArgMatches) -> Result<ArchitectureName, Failure> {
    match typed(matches, "architecture") {
        Some(name) => Ok(name.parse().map_err(BadValue::from)?),
        None => Ok(ArchitectureName::SharedEverything),
    }
}

/// The architecture of a check: the one that was typed, or else its canary's.
pub fn architecture_of_check(matches: &ArgMatches) -> Result<ArchitectureName, Failure> {
    match (typed(matches, "architecture"), typed(matches, "canary")) {
        (None, Some(name)) if !is_between_nodes(name) => Ok(canary(name)?.architecture()),
        _ => architecture(matches),
    }
}

/// A canary that takes the place of a protocol.
pub fn canary(name: &str) -> Result<CanaryName, BadValue> {
    name.parse().map_err(|_| {
        let all: Vec<&str> = CanaryName::ALL.iter().map(|canary| canary.name()).collect();
        let between = DeploymentCanary::ALL.map(DeploymentCanary::name).join(", ");
        BadValue::new("canary", name, format!("{}; with --cluster {between}", all.join(", ")))
    })
}

/// Whether a canary is one of what nodes do together, which goes with any protocol.
pub fn is_between_nodes(canary: &str) -> bool {
    DeploymentCanary::ALL.iter().any(|known| known.name() == canary)
}

/// `--architecture` and `--protocol`. An architecture with one protocol needs no second word.
pub fn pair(matches: &ArgMatches) -> Result<PairName, Failure> {
    let architecture = architecture(matches)?;
    if let Some(name) = typed(matches, "protocol") {
        return Ok(PairName { architecture, protocol: name.parse().map_err(BadValue::from)? });
    }
    let is_supported = |pair: &PairName| Hardware::support(*pair) == Support::Supported;
    let pairs = PairName::all().filter(|pair| pair.architecture == architecture).filter(is_supported);
    match *pairs.collect::<Vec<_>>() {
        [pair] => Ok(pair),
        ref pairs => {
            let allowed: Vec<&str> = pairs.iter().map(|pair| pair.protocol.name()).collect();
            Err(Failure::Usage(format!("--protocol is missing; allowed: {}", allowed.join(", "))))
        }
    }
}

/// `--out`, or a new folder below `results/`.
pub fn out(matches: &ArgMatches, command: &str, workload: &str) -> Result<Folder, Failure> {
    nodes::folder(|| out_by(Folder::create_for_results, matches, command, workload))
}

/// As [`out`], for a command that goes on with what an earlier call has left in `journal`.
pub fn out_to_go_on(
    matches: &ArgMatches,
    command: &str,
    workload: &str,
    journal: &str,
) -> Result<Folder, Failure> {
    out_by(|path| Folder::create_to_go_on(path, journal), matches, command, workload)
}

fn out_by(
    given: impl FnOnce(&Path) -> Result<Folder, Failure>,
    matches: &ArgMatches,
    command: &str,
    workload: &str,
) -> Result<Folder, Failure> {
    match typed(matches, "out") {
        Some(folder) => given(Path::new(folder)),
        None => {
            let folder = format!("results/{command}-{workload}-{}", Utc::now().compact());
            Folder::create_new(Path::new(&folder))
        }
    }
}
