//! From the line that was typed to what is measured.

use crate::arguments::typed;
use crate::engines;
use clap::ArgMatches;
use contract::{ArchitectureName, PairName, ProtocolName};
use harness::check::{CheckWorkload, Own};
use harness::folder::Folder;
use harness::options::OPTIONS;
use harness::text::dates::Utc;
use harness::{BadValue, Failure, Place, RunOptions, Subject};
use std::collections::BTreeMap;
use std::path::Path;
use workloads::{AnyWorkload, ParameterError, Parameters};

/// The workload with everything that was typed about it.
pub fn subject(matches: &ArgMatches, defaults: RunOptions) -> Result<(Subject, AnyWorkload), Failure> {
    let options = options(matches, defaults)?;
    let (name, below) = matches.subcommand().expect("a measuring command has a workload");
    let workload = workload(name, below)?;
    let subject = Subject::of(&workload, options, Place::hardware(engines::cores()));
    Ok((subject, workload))
}

/// What a check runs: a workload as above, or one made for checks.
pub fn check_subject(
    matches: &ArgMatches,
    defaults: RunOptions,
) -> Result<(Subject, CheckWorkload), Failure> {
    let name = matches.subcommand_name().expect("a check has a workload");
    let Some(own) = Own::all().find(|own| own.name() == name) else {
        let (subject, workload) = subject(matches, defaults)?;
        return Ok((subject, CheckWorkload::Measured(Box::new(workload))));
    };
    let subject = Subject {
        workload: name.to_owned(),
        parameters: BTreeMap::new(),
        options: options(matches, RunOptions { workers: defaults.workers.max(own.workers()), ..defaults })?,
        place: Place::hardware(engines::cores()),
    };
    Ok((subject, CheckWorkload::Own(own)))
}

fn options(matches: &ArgMatches, defaults: RunOptions) -> Result<RunOptions, Failure> {
    engines::admit_machine(typed(matches, "on").unwrap_or("hardware"))?;
    let mut options = defaults;
    for (name, value) in options_typed(matches) {
        options.set(name, value).expect("a name of OPTIONS")?;
    }
    Ok(options)
}

/// The shared options that were typed, with their values.
pub fn options_typed(matches: &ArgMatches) -> impl Iterator<Item = (&'static str, &str)> {
    OPTIONS.iter().filter_map(|option| Some((option.name, typed(matches, option.name)?)))
}

fn workload(name: &str, matches: &ArgMatches) -> Result<AnyWorkload, Failure> {
    let description = workloads::descriptions()
        .iter()
        .find(|workload| workload.name == name)
        .expect("a subcommand for each");
    let given: Parameters = description
        .parameters
        .iter()
        .filter_map(|parameter| Some((parameter.name, typed(matches, parameter.name)?)))
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

/// `--architecture` and `--protocol`.
pub fn pair(matches: &ArgMatches) -> Result<PairName, Failure> {
    let architecture = architecture(matches)?;
    match typed(matches, "protocol") {
        None if architecture == ArchitectureName::PartitionedSerial => {
            Ok(PairName { architecture, protocol: ProtocolName::Unprotected })
        }
        Some(name) => Ok(PairName { architecture, protocol: name.parse().map_err(BadValue::from)? }),
        None => {
            let allowed: Vec<&str> = ProtocolName::ALL.iter().map(|protocol| protocol.name()).collect();
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
