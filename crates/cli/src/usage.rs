//! What is wrong with a line that the command line's shape does not allow, in one line: the option, the value, and
//! what is allowed.

use crate::{arguments, output};
use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use harness::Failure;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use workloads::Described;

/// Says it on standard error, or prints the help that was asked for.
pub fn explain(stopped: &clap::Error) -> ExitCode {
    match stopped.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => match stopped.print() {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                let failure = Failure::write(Path::new("standard output"))(error);
                output::complain(&failure.to_string());
                ExitCode::from(failure.exit_code())
            }
            _ => ExitCode::SUCCESS,
        },
        _ => {
            output::complain(&in_one_line(stopped, &commands_typed()));
            ExitCode::from(2)
        }
    }
}

/// The commands in front: `["run", "ycsb"]`.
fn commands_typed() -> Vec<String> {
    let words = arguments::naming_files(std::env::args_os().collect());
    in_front(words.iter().skip(1).map(|word| word.to_string_lossy().into_owned()))
}

fn in_front(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut command = arguments::command();
    let mut commands = Vec::new();
    let mut is_value = false;
    for word in words {
        if is_value {
            is_value = false;
        } else if let Some(found) = command.find_subcommand(&word) {
            command = found.clone();
            commands.push(word);
        } else {
            is_value = arguments::wants_value(&command, &word);
        }
    }
    commands
}

fn in_one_line(error: &clap::Error, commands: &[String]) -> String {
    let one = |kind| context(error, kind).into_iter().next().unwrap_or_default();
    let help =
        format!("'trireme {}' shows the options", [commands, &["--help".to_owned()]].concat().join(" "));
    match error.kind() {
        ErrorKind::InvalidSubcommand => unknown_command(&one(ContextKind::InvalidSubcommand), commands),
        ErrorKind::MissingSubcommand => missing_command(commands),
        ErrorKind::UnknownArgument => {
            let given = one(ContextKind::InvalidArg);
            if !given.starts_with('-') {
                return unknown_command(&given, commands);
            }
            if let Some(chosen) = how_systems_are_chosen(&given, commands) {
                return format!("unknown option {given}; {chosen}");
            }
            match context(error, ContextKind::SuggestedArg).first() {
                Some(similar) => format!("unknown option {given}; did you mean {similar}? {help}"),
                None => format!("unknown option {given}; {help}"),
            }
        }
        ErrorKind::ArgumentConflict => {
            let (option, other) = (one(ContextKind::InvalidArg), one(ContextKind::PriorArg));
            if other.is_empty() || other == option {
                return format!("{} is given twice; allowed: once", name_of(&option));
            }
            format!("{} does not go with {}; allowed: one of them", name_of(&option), name_of(&other))
        }
        ErrorKind::MissingRequiredArgument => {
            format!("{} is missing; {help}", context(error, ContextKind::InvalidArg).join(", "))
        }
        ErrorKind::InvalidValue | ErrorKind::NoEquals => {
            let (option, value) = (one(ContextKind::InvalidArg), one(ContextKind::InvalidValue));
            let valid = context(error, ContextKind::ValidValue);
            match (value.is_empty(), valid.is_empty()) {
                (true, _) => format!("{}: its value is missing; {help}", name_of(&option)),
                (false, true) => format!("{} {value} is not allowed; {help}", name_of(&option)),
                (false, false) => format!("{} {value}: allowed: {}", name_of(&option), valid.join(", ")),
            }
        }
        ErrorKind::TooManyValues => {
            format!("{} takes no value; {help}", name_of(&one(ContextKind::InvalidArg)))
        }
        _ => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            format!("{}; {help}", first.trim_start_matches("error: "))
        }
    }
}

/// What stands in place of a system's options where several are measured.
fn how_systems_are_chosen(option: &str, commands: &[String]) -> Option<String> {
    let is_of_a_system = ["--protocol", "--architecture"].iter().any(|of| option.starts_with(of));
    match commands.first().map(String::as_str).filter(|_| is_of_a_system)? {
        command @ ("compare" | "advise") => Some(format!(
            "'trireme {command}' takes every system, or those of --only: 'silo', 'dora', 'delegation no-wait', several between commas"
        )),
        "sweep" => Some("the experiment's file says which systems, in [base] or [axes]".to_owned()),
        _ => None,
    }
}

fn context(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    }
}

/// `--theta` of `--theta <VALUE>`.
fn name_of(option: &str) -> &str {
    option.split(' ').next().unwrap_or(option)
}

fn unknown_command(given: &str, commands: &[String]) -> String {
    let (what, allowed) = below(commands);
    if given.ends_with(".toml") && commands.last().is_some_and(|last| last == Described::DESCRIPTION.name) {
        return format!(
            "unknown word '{given}'; the file of a workload stands in the place of its name: 'trireme {} {given}'",
            commands[..commands.len() - 1].join(" ")
        );
    }
    if allowed.is_empty() {
        return format!("unknown word '{given}'; 'trireme {} --help' shows the options", commands.join(" "));
    }
    format!("unknown {what} '{given}'; allowed: {allowed}")
}

fn missing_command(commands: &[String]) -> String {
    let (what, allowed) = below(commands);
    format!("'trireme {}' needs a {what}; allowed: {allowed}", commands.join(" "))
}

/// What may follow the commands typed, and what that is called.
fn below(commands: &[String]) -> (&'static str, String) {
    let mut command = arguments::command();
    for name in commands {
        command = command.find_subcommand(name).expect("found before").clone();
    }
    let names: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
    let names = names.join(", ");
    match command.get_subcommand_value_name() == Some("WORKLOAD") {
        true => ("workload", format!("{names}, or the path of a workload's file (.toml)")),
        false => ("command", names),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_no_command() {
        let commands = |line: &str| in_front(line.split(' ').map(str::to_owned)).join(" ");
        assert_eq!(commands("run ycsb --theta 1"), "run ycsb");
        assert_eq!(commands("run --protocol micro ycsb"), "run ycsb");
        assert_eq!(commands("run --json micro"), "run micro");
        assert_eq!(commands("run --protocol=micro"), "run");
    }
}
