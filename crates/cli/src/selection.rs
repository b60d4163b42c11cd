//! From the line that was typed to what is measured.

use crate::arguments::typed;
use crate::engines::{Hardware, Machine};
use clap::ArgMatches;
use contract::{ArchitectureName, Engine, PairName, Support};
use harness::check::{CheckWorkload, Own};
use harness::folder::Folder;
use harness::options::OPTIONS;
use harness::text::dates::Utc;
use harness::{BadValue, Failure, RunOptions, Subject};
use std::collections::BTreeMap;
use std::path::Path;
use workloads::{AnyWorkload, ParameterError, Parameters};

/// `--on`.
pub fn machine(matches: &ArgMatches) -> Result<Machine, Failure> {
    Machine::named(typed(matches, "on"))
}

/// The workload with everything that was typed about it; `defaults` are those on the hardware.
pub fn subject(
    matches: &ArgMatches,
    machine: Machine,
    defaults: fn(usize) -> RunOptions,
) -> Result<(Subject, AnyWorkload), Failure> {
    subject_with(matches, machine, machine.defaults(defaults), None)
}

fn subject_with(
    matches: &ArgMatches,
    machine: Machine,
    defaults: RunOptions,
    records: Option<&str>,
) -> Result<(Subject, AnyWorkload), Failure> {
    let options = options(matches, machine, defaults)?;
    let (name, below) = matches.subcommand().expect("a measuring command has a workload");
    let workload = workload(name, below, records)?;
    let subject = Subject::of(&workload, options, machine.place());
    Ok((subject, workload))
}

/// What a check runs: a workload as above, or one made for checks.
pub fn check_subject(
    matches: &ArgMatches,
    machine: Machine,
    defaults: fn(usize) -> RunOptions,
) -> Result<(Subject, CheckWorkload), Failure> {
    check_subject_of(matches, machine, machine.defaults(defaults), None)
}

/// What an exploration runs: as a check, with tables of `records` rows if their size can be given and was not.
pub fn explored_subject(
    matches: &ArgMatches,
    defaults: RunOptions,
    records: &str,
) -> Result<(Subject, CheckWorkload), Failure> {
    check_subject_of(matches, Machine::Hardware, defaults, Some(records))
}

fn check_subject_of(
    matches: &ArgMatches,
    machine: Machine,
    defaults: RunOptions,
    records: Option<&str>,
) -> Result<(Subject, CheckWorkload), Failure> {
    let name = matches.subcommand_name().expect("a check has a workload");
    let Some(own) = Own::all().find(|own| own.name() == name) else {
        let (subject, workload) = subject_with(matches, machine, defaults, records)?;
        return Ok((subject, CheckWorkload::Measured(Box::new(workload))));
    };
    let mut options =
        options(matches, machine, RunOptions { workers: defaults.workers.max(own.workers()), ..defaults })?;
    if typed(matches, "workers").is_none() {
        options.workers += missing_hosts(architecture(matches)?, &options, own);
    }
    let place = machine.place();
    let subject = Subject { workload: name.to_owned(), parameters: BTreeMap::new(), options, place };
    Ok((subject, CheckWorkload::Own(own)))
}

/// Workers that `own` lacks because some of them host no transactions.
fn missing_hosts(architecture: ArchitectureName, options: &RunOptions, own: Own) -> usize {
    let arrangement = Hardware::arrange(architecture, options.workers, &options.engine_options(0));
    arrangement.map_or(0, |arrangement| own.workers().saturating_sub(arrangement.clients))
}

/// The shared options as they were typed, for `machine`.
pub fn options(matches: &ArgMatches, machine: Machine, defaults: RunOptions) -> Result<RunOptions, Failure> {
    let mut options = defaults;
    for (name, value) in options_typed(matches) {
        options.set(name, value).expect("a name of OPTIONS")?;
    }
    machine.admit(options.workers)?;
    Ok(options)
}

/// The shared options that were typed, with their values.
pub fn options_typed(matches: &ArgMatches) -> impl Iterator<Item = (&'static str, &str)> {
    OPTIONS.iter().filter_map(|option| Some((option.name, typed(matches, option.name)?)))
}

/// Parameters that say how many rows a table has. A warehouse is more than a row.
const SIZES: [&str; 4] = ["records", "items", "customers", "subscribers"];

/// The workload called `name`, with what was typed of it. `records`: its sizes, unless typed.
pub fn workload(name: &str, matches: &ArgMatches, records: Option<&str>) -> Result<AnyWorkload, Failure> {
    let description = workloads::descriptions()
        .iter()
        .find(|workload| workload.name == name)
        .expect("a subcommand for each");
    let given: Parameters = description
        .parameters
        .iter()
        .filter_map(|parameter| {
            let default = records.filter(|_| SIZES.contains(&parameter.name));
            Some((parameter.name, typed(matches, parameter.name).or(default)?))
        })
        .collect();
    workloads::build(name, &given).map_err(|error| match error {
        ParameterError::BadValue { parameter, value, allowed } => {
            BadValue::new(parameter, value, allowed).into()
        }
        ParameterError::Conflict { parameter, value, with, with_value, allowed } => Failure::Usage(format!(
            "--{parameter} {value} does not go with --{with} {with_value}: allowed: {allowed}"
        )),
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
    match typed(matches, "out") {
        Some(folder) => Folder::create(Path::new(folder)),
        None => {
            let folder = format!("results/{command}-{workload}-{}", Utc::now().compact());
            Folder::create_new(Path::new(&folder))
        }
    }
}
