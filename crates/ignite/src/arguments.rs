//! What can be typed: two commands, each with the workloads and their parameters as `trireme` has them, and some of its options.

use clap::{Arg, ArgAction, ArgMatches, Command};
use contract::{EngineOptions, Instances};
use harness::check::{CheckWorkload, Own, defaults};
use harness::options::OptionDescription;
use harness::{BadValue, Failure, Place, RunOptions, Subject};
use ignite::session::patient;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use workloads::{Parameters, build, descriptions};

/// The options that decide something over Ignite, by their names in `trireme`.
const OPTIONS: [&str; 7] = ["workers", "warmup", "duration", "repeat", "seed", "back-off", "prefetch"];

/// What is not as it is elsewhere where nothing is typed: by workload, name and value.
const DEFAULTS: [(&str, &str, &str); 2] = [("tpcc", "mix", "payment"), ("ycsb", "records", "100000")];

/// The line.
pub fn command() -> Command {
    let measured = || {
        descriptions().iter().map(|workload| {
            let parameters = workload.parameters.iter().map(|parameter| {
                let help = format!("{} [{}]", parameter.help.trim_end_matches('.'), parameter.allowed);
                let option = Arg::new(parameter.name).long(parameter.name).value_name("VALUE");
                option.help(help).help_heading("Workload").allow_hyphen_values(true)
            });
            Command::new(workload.name).about(workload.summary).args(parameters)
        })
    };
    let options = |is_check: bool| {
        let nodes = Arg::new("nodes").long("nodes").value_name("N").global(true).help_heading("Measuring");
        let nodes = nodes.help("Nodes of Ignite, and instances of ours beside them [default: 2]");
        let shared = OPTIONS.iter().filter_map(|name| OptionDescription::named(name));
        let shared = shared.filter(move |option| !is_check || option.in_checks).map(move |option| {
            let shared = Arg::new(option.name).long(option.name).value_name(option.value).global(true);
            shared.help(help_of(option, is_check)).help_heading("Measuring").allow_hyphen_values(true)
        });
        let json = Arg::new("json").long("json").action(ArgAction::SetTrue).global(true);
        [nodes, json.help("Print one JSON object and nothing else")].into_iter().chain(shared)
    };
    let needs_workload = |command: Command, is_check| {
        let command = command.subcommand_required(true).subcommand_value_name("WORKLOAD");
        command.disable_help_subcommand(true).args(options(is_check)).subcommands(measured())
    };
    let compare = Command::new("compare").about("Measure ours and Ignite over one workload, by turns");
    let check = Command::new("check")
        .about("Run Ignite with everything written down, and judge whether it is serializable");
    let own = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).global(true).help(help).help_heading("Check")
    };
    let check = check
        .arg(own("transactions", "Transactions, of all workers together [default: 4000]").value_name("N"))
        .arg(own("canary", "Read without validation, which is to be rejected").action(ArgAction::SetTrue))
        .subcommands(Own::all().map(|own| Command::new(own.name()).about(own.summary())));
    Command::new("ignite")
        .about("The workloads' transactions over Apache Ignite: measured beside ours, and judged by the same checker")
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .subcommands([needs_workload(compare, false), needs_workload(check, true)])
}

/// What an option is for, and what is not as it is in `trireme`.
fn help_of(option: &OptionDescription, is_check: bool) -> String {
    if option.name != "back-off" {
        return option.help();
    }
    let shown = |engine| option.get(&RunOptions { engine, ..RunOptions::for_run(1) });
    let (ours, ignite) = (shown(EngineOptions::default()), shown(patient(EngineOptions::default())));
    let defaults = if is_check { ignite } else { format!("{ours} for ours, {ignite} for Ignite") };
    format!("{} [default: {defaults}]", option.help())
}

/// What was typed for an option.
fn typed<'a>(matches: &'a ArgMatches, name: &str) -> Option<&'a str> {
    matches.try_get_one::<String>(name).ok().flatten().map(String::as_str)
}

/// A number that was typed.
fn number(matches: &ArgMatches, name: &str, default: usize) -> Result<usize, Failure> {
    let value = typed(matches, name);
    value.map_or(Ok(default), |value| {
        value.parse().map_err(|_| BadValue::new(name, value, "a whole number, at least 1").into())
    })
}

/// How many nodes of Ignite, and instances of ours beside them.
pub fn nodes(matches: &ArgMatches) -> Result<NonZeroUsize, Failure> {
    number(matches, "nodes", 2).and_then(|nodes| {
        NonZeroUsize::new(nodes)
            .ok_or_else(|| BadValue::new("nodes", "0", "a whole number, at least 1").into())
    })
}

/// How it is measured.
pub fn options(matches: &ArgMatches, mut options: RunOptions) -> Result<RunOptions, Failure> {
    for name in OPTIONS {
        if let Some(value) = typed(matches, name) {
            options.set(name, value).expect("an option of a run")?;
        }
    }
    options.engine.instances = Instances::Count(nodes(matches)?);
    // Nobody times Ignite's parts of a transaction.
    options.engine.sample_one_in = 0;
    Ok(options)
}

/// The same over Ignite, whose back-off is another where none was typed.
pub fn over_ignite(matches: &ArgMatches, options: RunOptions) -> RunOptions {
    match typed(matches, "back-off") {
        Some(_) => options,
        None => RunOptions { engine: patient(options.engine), ..options },
    }
}

/// Transactions of a check.
pub fn transactions(matches: &ArgMatches) -> Result<u64, Failure> {
    number(matches, "transactions", 4000).map(|number| number as u64)
}

/// The workload that was named, with what was typed of it; in a check with that command's own parameters.
pub fn workload(matches: &ArgMatches, is_check: bool) -> Result<CheckWorkload, Failure> {
    let (name, below) = matches.subcommand().expect("the command wants one");
    if let Some(own) = Own::all().find(|own| own.name() == name) {
        return Ok(CheckWorkload::Own(own));
    }
    let own = DEFAULTS.iter().filter(|(of, ..)| *of == name).map(|(_, name, value)| (*name, *value));
    let of_check = defaults::parameters(name, true).filter(|_| is_check);
    let description =
        descriptions().iter().find(|workload| workload.name == name).expect("a subcommand for each");
    let were_typed = description
        .parameters
        .iter()
        .filter_map(|parameter| Some((parameter.name, typed(below, parameter.name)?)));
    let mut all: BTreeMap<&str, &str> = own.chain(of_check).collect();
    all.extend(were_typed);
    let built = build(name, &all.into_iter().collect::<Parameters>());
    built
        .map(|workload| CheckWorkload::Measured(Box::new(workload)))
        .map_err(|error| Failure::Usage(error.to_string()))
}

/// What is measured or checked, apart from the system.
pub fn subject(workload: &CheckWorkload, options: RunOptions, cores: usize) -> Subject {
    let place = Place::hardware(cores);
    match workload {
        CheckWorkload::Measured(workload) => Subject::of(workload, options, place),
        CheckWorkload::Own(own) => {
            Subject { workload: own.name().to_owned(), parameters: BTreeMap::new(), options, place }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_has_no_contradictions() {
        command().debug_assert();
    }

    #[test]
    fn what_means_nothing_to_a_check_is_not_taken_by_one() {
        for (option, value) in [("--warmup", "1s"), ("--duration", "1s"), ("--repeat", "2")] {
            let takes =
                |name| command().try_get_matches_from(["ignite", name, "smallbank", option, value]).is_ok();
            assert!(takes("compare") && !takes("check"), "{option}");
        }
        let line = ["ignite", "check", "smallbank", "--workers", "3", "--seed", "7", "--back-off", "off"];
        assert!(command().try_get_matches_from(line).is_ok());
    }

    #[test]
    fn a_back_off_that_is_typed_is_what_ignite_has_and_another_one_if_none_is() {
        let of = |typed: &[&str]| {
            let line = ["ignite", "compare", "smallbank"].iter().chain(typed);
            let matches = command().get_matches_from(line);
            let (_, matches) = matches.subcommand().expect("compare");
            let ours = options(matches, RunOptions::for_compare(2)).expect("options");
            let theirs = over_ignite(matches, ours.clone());
            [ours, theirs].map(|options| (options.engine.back_off_first_ns, options.engine.back_off_cap_ns))
        };
        assert_eq!(of(&["--back-off", "700..9000"]), [(700, 9_000); 2]);
        assert_eq!(of(&["--back-off", "off"]), [(0, 0); 2]);
        assert_eq!(of(&[]), [(500, 1_024_000), (500_000, 1_024_000_000)]);
        let help = help_of(OptionDescription::named("back-off").expect("an option"), false);
        assert!(help.ends_with("[default: 500..1024000 for ours, 500000..1024000000 for Ignite]"), "{help}");
    }

    #[test]
    fn what_is_typed_is_what_runs() {
        let matches =
            command().get_matches_from(["ignite", "compare", "tpcc", "--nodes", "3", "--items", "10"]);
        let (_, matches) = matches.subcommand().expect("compare");
        let options = options(matches, RunOptions::for_compare(2)).expect("options");
        assert_eq!(options.engine.instances, Instances::of(3));
        let CheckWorkload::Measured(workload) = workload(matches, false).expect("a workload") else {
            panic!("tpcc is measured")
        };
        let resolved: BTreeMap<_, _> = workload.resolved().into_iter().collect();
        assert_eq!((resolved["mix"].as_str(), resolved["items"].as_str()), ("payment", "10"));
    }
}
