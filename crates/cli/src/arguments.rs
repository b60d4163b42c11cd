//! What can be typed. Only the shape is decided here; values are read where they are understood, so that the command
//! line and an experiment file refuse the same things in the same words.

use crate::commands::{check, compare, doctor, list, run, sweep};
use clap::builder::Str;
use clap::{Arg, ArgAction, ArgMatches, Command};
use contract::{ArchitectureName, ProtocolName};
use harness::RunOptions;
use harness::options::OPTIONS;
use std::env;
use std::ffi::OsString;

/// The line that was typed.
pub struct Typed {
    /// What it says.
    pub matches: ArgMatches,
    /// The line itself, for results.
    pub line: String,
}

/// Reads the line. Asking for help stops here too.
pub fn read() -> Result<Typed, clap::Error> {
    let words: Vec<OsString> = env::args_os().collect();
    let line = words.iter().skip(1).map(|word| quoted(&word.to_string_lossy()));
    let line = std::iter::once("trireme".to_owned()).chain(line).collect::<Vec<_>>().join(" ");
    command().try_get_matches_from(words).map(|matches| Typed { matches, line })
}

/// The whole command line.
pub fn command() -> Command {
    Command::new("trireme")
        .version(clap::crate_version!())
        .about("A main-memory OLTP engine whose design is chosen on the command line, and measured")
        .disable_help_subcommand(true)
        .subcommands([
            run::arguments(),
            compare::arguments(),
            sweep::arguments(),
            check::arguments(),
            list::arguments(),
            doctor::arguments(),
        ])
}

/// The options that every measuring command shares, with the defaults that this one has.
pub fn measuring(command: Command, defaults: &RunOptions) -> Command {
    let names: Vec<&str> = OPTIONS.iter().map(|option| option.name).collect();
    let folder = Arg::new("out")
        .long("out")
        .value_name("FOLDER")
        .help("Folder of the results [default: a new one below results/]")
        .help_heading("Results")
        .global(true);
    running(command, &names, defaults).arg(folder)
}

/// Some of the shared options, and those on the machine and the form of the answer.
pub fn running(command: Command, names: &[&str], defaults: &RunOptions) -> Command {
    let heading = Some("Measuring");
    let named = OPTIONS.iter().filter(|option| names.contains(&option.name));
    let options = named.map(|option| {
        let default = match option.name {
            "workers" => "all cores".to_owned(),
            name => defaults.get(name),
        };
        Arg::new(option.name)
            .long(option.name)
            .value_name(option.value)
            .help(format!("{} [default: {default}]", option.help))
            .help_heading(heading)
            .global(true)
            .allow_hyphen_values(true)
    });
    let machine = Arg::new("on")
        .long("on")
        .value_name("MACHINE")
        .help("'hardware', or the file of a simulated machine [default: hardware]")
        .help_heading(heading)
        .global(true);
    command.args(options).arg(machine).arg(json().help_heading("Results").global(true))
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
        .arg(named("protocol", protocols.join(", ")))
}

/// A subcommand for each workload, with its parameters as options.
pub fn workloads(command: Command) -> Command {
    command
        .subcommand_required(true)
        .subcommand_value_name("WORKLOAD")
        .subcommand_help_heading("Workloads")
        .disable_help_subcommand(true)
        .subcommands(workloads::descriptions().iter().map(|workload| {
            let parameters = workload.parameters.iter().map(|parameter| {
                let (help, allowed) = (parameter.help.trim_end_matches('.'), parameter.allowed);
                let default = match parameter.default {
                    "" => String::new(),
                    default => format!("; default: {default}"),
                };
                let help = format!("{help} [{allowed}{default}]");
                Arg::new(parameter.name)
                    .long(parameter.name)
                    .value_name("VALUE")
                    .help(help)
                    .help_heading(Str::from("Workload"))
                    .allow_hyphen_values(true)
            });
            Command::new(workload.name).about(workload.summary).args(parameters)
        }))
}

/// The value of an option of the command line, if it was typed.
pub fn typed<'a>(matches: &'a ArgMatches, name: &str) -> Option<&'a str> {
    matches.try_get_one::<String>(name).ok().flatten().map(String::as_str)
}

/// A word as a shell would take it.
fn quoted(word: &str) -> String {
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
    fn words_are_quoted_only_if_they_must_be() {
        assert_eq!(quoted("--theta=0.5"), "--theta=0.5");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
    }
}
