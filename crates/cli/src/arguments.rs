//! What can be typed. Only the shape is decided here; values are read where they are understood, so that the command
//! line and an experiment file refuse the same things in the same words.

use crate::commands::{
    advise, check, compare, completions, crash, diff, doctor, list, log, node, recover, report, reproduce,
    run, sweep, validate,
};
use clap::builder::Str;
use clap::{Arg, ArgAction, ArgMatches, Command};
use contract::{ArchitectureName, ProtocolName};
use harness::options::{OPTIONS, OptionDescription};
use harness::{Failure, RunOptions};
use std::env;
use std::ffi::OsString;
use workloads::described::{FILE, is_file};
use workloads::{Described, ParameterDescription};

/// The line that was typed.
pub struct Typed {
    /// What it says. An option may stand before or after the workload.
    pub matches: ArgMatches,
    /// The line itself, for results.
    pub line: String,
    options: Vec<String>,
}

/// Reads the line. Asking for help stops here too.
pub fn read() -> Result<Typed, clap::Error> {
    read_words(env::args_os().collect())
}

/// Reads these words, the program's name first.
pub fn read_words(words: Vec<OsString>) -> Result<Typed, clap::Error> {
    let line = words.iter().skip(1).map(|word| quoted(&word.to_string_lossy()));
    let line = std::iter::once("trireme".to_owned()).chain(line).collect::<Vec<_>>().join(" ");
    let options = options(&words);
    let words = naming_files(asking_for_help(words));
    command().try_get_matches_from(words).map(|matches| Typed { matches, line, options })
}

/// `trireme help run` as `trireme run --help`.
fn asking_for_help(mut words: Vec<OsString>) -> Vec<OsString> {
    if words.get(1).is_some_and(|word| word == "help") {
        words.remove(1);
        words.push("--help".into());
    }
    words
}

/// A workload's file in the place of a workload as the workload of files, with that file: `bank.toml` as `described --file bank.toml`.
pub fn naming_files(words: Vec<OsString>) -> Vec<OsString> {
    let mut all = Vec::new();
    let mut here = command();
    let mut is_value = false;
    for word in words {
        let text = word.to_string_lossy();
        if is_value {
            is_value = false;
        } else if let Some(found) = here.find_subcommand(&*text) {
            here = found.clone();
        } else if is_file(&text) && here.find_subcommand(Described::DESCRIPTION.name).is_some() {
            here = here.find_subcommand(Described::DESCRIPTION.name).expect("just found").clone();
            all.extend([Described::DESCRIPTION.name.into(), format!("--{FILE}").into()]);
        } else {
            is_value = wants_value(&here, &text);
        }
        all.push(word);
    }
    all
}

/// Whether the next word is the value of the option `word`.
pub fn wants_value(command: &Command, word: &str) -> bool {
    let mut options = command.get_arguments();
    word.strip_prefix("--").is_some_and(|name| {
        options.any(|option| option.get_long() == Some(name) && option.get_action().takes_values())
    })
}

/// The options among `words`, without their values. What is behind `--` is another program's.
fn options(words: &[OsString]) -> Vec<String> {
    let words = words.iter().map(|word| word.to_string_lossy()).take_while(|word| word != "--");
    let options = words.filter(|word| word.len() > 2 && word.starts_with("--"));
    options.map(|word| word.split('=').next().unwrap_or_default().to_owned()).collect()
}

impl Typed {
    /// The same line behind what has started this process.
    pub fn launched_by(self, launcher: &str) -> Typed {
        let line = self.line.strip_prefix("trireme").map(|line| format!("{launcher}{line}"));
        Typed { line: line.unwrap_or(self.line), ..self }
    }

    /// Refuses an option before the workload that is there again behind it. Two on one side are refused by the parser.
    pub fn refuse_repeated(&self) -> Result<(), Failure> {
        let is_repeated = |(position, option): &(usize, &String)| self.options[..*position].contains(option);
        match self.options.iter().enumerate().find(is_repeated) {
            Some((_, option)) => Err(Failure::Usage(format!("{option} is given twice; allowed: once"))),
            None => Ok(()),
        }
    }
}

/// The whole command line.
pub fn command() -> Command {
    Command::new("trireme")
        .version(clap::crate_version!())
        .about("A main-memory OLTP engine whose design is chosen on the command line, and measured")
        .disable_help_subcommand(true)
        .after_help(
            "Exit codes: 0 done, and all that was checked held; 1 a check or the run itself failed; 2 other input would have helped; 3 results cannot be written; 130 interrupted.",
        )
        .subcommands([
            run::arguments(),
            compare::arguments(),
            sweep::arguments(),
            advise::arguments(),
            diff::arguments(),
            report::arguments(),
            reproduce::arguments(),
            validate::arguments(),
            check::arguments(),
            crash::arguments(),
            recover::arguments(),
            log::arguments(),
            node::arguments(),
            list::arguments(),
            completions::arguments(),
            doctor::arguments(),
        ])
}

/// The options that every measuring command shares, with the defaults that this one has.
pub fn measuring(command: Command, defaults: &RunOptions) -> Command {
    running(command, OPTIONS.iter(), defaults)
        .arg(out("Folder of the results [default: a new one below results/]"))
}

/// `--out`.
pub fn out(help: &'static str) -> Arg {
    Arg::new("out").long("out").value_name("FOLDER").help(help).help_heading("Results").global(true)
}

/// The default of a shared option, for help.
pub fn default_of(option: &OptionDescription, defaults: &RunOptions) -> String {
    match option.name {
        "workers" => "all cores".to_owned(),
        _ => option.get(defaults),
    }
}

/// Some of the shared options, and those on the machine and the form of the answer.
pub fn running<'a>(
    command: Command,
    options: impl Iterator<Item = &'a OptionDescription>,
    defaults: &RunOptions,
) -> Command {
    let heading = Some("Measuring");
    let options = options.map(|option| {
        Arg::new(option.name)
            .long(option.name)
            .value_name(option.value)
            .help(format!("{} [default: {}]", option.help(), default_of(option, defaults)))
            .help_heading(heading)
            .global(true)
            .allow_hyphen_values(true)
    });
    let machine = Arg::new("on")
        .long("on")
        .value_name("MACHINE")
        .help("'hardware', or the file of a simulated machine, which runs for 1ms after 200us, three times, and samples one in 8, unless told [default: hardware]")
        .help_heading(heading)
        .global(true);
    let progress = progress().help_heading(heading).global(true);
    command.args(options).arg(machine).arg(progress).arg(json().help_heading("Results").global(true))
}

/// `--progress`.
pub fn progress() -> Arg {
    Arg::new("progress").long("progress").action(ArgAction::SetTrue).help(
        "Say on standard error how far it is, every second, even if that is no terminal: simulated time, transactions, time left",
    )
}

/// `--json`.
pub fn json() -> Arg {
    Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print one JSON object and nothing else")
}

/// `--architecture` and `--protocol`.
pub fn system(command: Command) -> Command {
    let architectures: Vec<&str> = ArchitectureName::ALL.iter().map(|name| name.name()).collect();
    let protocols: Vec<&str> = ProtocolName::ALL.iter().map(|name| name.name()).collect();
    let named = |name: &'static str, help: String| {
        Arg::new(name).long(name).value_name("NAME").help(help).help_heading("System").global(true)
    };
    command
        .arg(named(
            "architecture",
            format!("{} [default: {}]", architectures.join(", "), ArchitectureName::SharedEverything),
        ))
        .arg(named(
            "protocol",
            format!("{}; can be left out where the architecture has only one", protocols.join(", ")),
        ))
}

/// `--only`.
pub fn system_list(help: &'static str) -> Arg {
    Arg::new("only").long("only").value_name("SYSTEMS").help(help).global(true)
}

/// A subcommand for each workload, with its parameters as options.
pub fn workloads(command: Command) -> Command {
    workloads_by(command, |_, parameter| parameter.default.to_owned())
}

/// The same for a command with defaults of its own: by workload and parameter.
pub fn workloads_by(command: Command, default_of: impl Fn(&str, &ParameterDescription) -> String) -> Command {
    let own =
        format!("'trireme {} WORKLOAD --help' shows the workload's own parameters.", command.get_name());
    let help = match command.get_after_help() {
        Some(help) => format!("{help}\n\n{own}"),
        None => own,
    };
    command
        .after_help(help)
        .subcommand_required(true)
        .subcommand_value_name("WORKLOAD")
        .subcommand_help_heading("Workloads")
        .disable_help_subcommand(true)
        .subcommands(workloads::descriptions().iter().map(|workload| {
            let parameters = workload.parameters.iter().map(|parameter| {
                Arg::new(parameter.name)
                    .long(parameter.name)
                    .value_name("VALUE")
                    .help(help_of(parameter.help, parameter.allowed, &default_of(workload.name, parameter)))
                    .help_heading(Str::from("Workload"))
                    .allow_hyphen_values(true)
            });
            Command::new(workload.name).about(workload.summary).args(parameters)
        }))
}

/// What a workload's parameter is for, and what it takes.
pub fn help_of(help: &str, allowed: &str, default: &str) -> String {
    let help = help.trim_end_matches('.');
    match default {
        "" => format!("{help} [{allowed}]"),
        default => format!("{help} [{allowed}; default: {default}]"),
    }
}

/// The value of an option of the command line, if it was typed.
pub fn typed<'a>(matches: &'a ArgMatches, name: &str) -> Option<&'a str> {
    matches.try_get_one::<String>(name).ok().flatten().map(String::as_str)
}

/// A word as a shell would take it.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,%+@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
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
    fn help_is_a_command_too() {
        let asked = |line: &str| asking_for_help(line.split(' ').map(OsString::from).collect());
        assert_eq!(asked("trireme help"), ["trireme", "--help"]);
        assert_eq!(asked("trireme help run micro"), ["trireme", "run", "micro", "--help"]);
        assert_eq!(asked("trireme run help"), ["trireme", "run", "help"]);
    }

    #[test]
    fn a_file_is_a_workload_where_one_stands() {
        let named = |line: &str| naming_files(line.split(' ').map(OsString::from).collect());
        assert_eq!(
            named("trireme run --protocol silo a/bank.toml --theta 0.5"),
            ["trireme", "run", "--protocol", "silo", "described", "--file", "a/bank.toml", "--theta", "0.5"]
        );
        let as_they_are =
            ["trireme run ycsb --on m.toml", "trireme run --on m.toml ycsb", "trireme sweep e.toml"];
        for line in as_they_are {
            assert_eq!(named(line), line.split(' ').collect::<Vec<_>>());
        }
    }

    #[test]
    fn options_are_told_from_their_values() {
        let words =
            ["trireme", "run", "--seed=1", "ycsb", "--seed", "2", "-1", "--", "--json"].map(OsString::from);
        assert_eq!(options(&words), ["--seed", "--seed"]);
    }

    #[test]
    fn words_are_quoted_only_if_they_must_be() {
        assert_eq!(quoted("--theta=0.5"), "--theta=0.5");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
    }
}
