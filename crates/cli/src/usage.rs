//! What is wrong with a line that the command line's shape does not allow, in one line: the option, the value, and
//! what is allowed.

use crate::{arguments, output};
use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::process::ExitCode;

/// Says it on standard error, or prints the help that was asked for.
pub fn explain(stopped: &clap::Error) -> ExitCode {
    match stopped.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let _ = stopped.print();
            ExitCode::SUCCESS
        }
        _ => {
            output::complain(&in_one_line(stopped, &commands_typed()));
            ExitCode::from(2)
        }
    }
}

/// The commands in front: `["run", "ycsb"]`.
fn commands_typed() -> Vec<String> {
    let mut command = arguments::command();
    let mut commands = Vec::new();
    for word in std::env::args().skip(1) {
        if let Some(found) = command.find_subcommand(&word) {
            command = found.clone();
            commands.push(word);
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
            match context(error, ContextKind::SuggestedArg).first() {
                Some(similar) => format!("unknown option {given}; did you mean {similar}? {help}"),
                None => format!("unknown option {given}; {help}"),
            }
        }
        ErrorKind::ArgumentConflict => {
            let (given, prior) = (one(ContextKind::InvalidArg), context(error, ContextKind::PriorArg));
            let (given, prior) = (name_of(&given), prior.iter().map(|prior| name_of(prior)));
            let prior: Vec<&str> = prior.collect();
            if prior == [given] {
                format!("{given} is given twice; allowed: once")
            } else {
                format!("{given} does not go with {}; allowed: one of them", prior.join(", "))
            }
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
    (if commands.is_empty() { "command" } else { "workload" }, names.join(", "))
}
