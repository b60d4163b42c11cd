//! The line that measures a row of an advice again.

use super::Candidate;
use crate::options::{OptionDescription, RunOptions};
use crate::text::durations;
use contract::Durability;
use std::collections::BTreeMap;
use workloads::described::{FILE, is_file};
use workloads::{AnyWorkload, Described, descriptions};

/// The line; `on` is what `--on` takes, if it is not the machine at hand.
pub(super) fn of(
    workload: &AnyWorkload,
    candidate: Candidate,
    options: &RunOptions,
    on: Option<&str>,
) -> String {
    let Candidate { pair, workers, .. } = candidate;
    let mut line = format!("trireme run {}", words(workload));
    let protocol = pair.protocol.name();
    line += &format!(" --architecture {} --protocol {protocol} --workers {workers}", pair.architecture);
    line += &format!(
        " --warmup {} --duration {} --repeat {} --seed {}",
        durations::show(options.warmup),
        durations::show(options.duration),
        options.repeat,
        options.engine.seed
    );
    for option in ["cc-threads", "servers"] {
        if OptionDescription::named(option).is_some_and(|option| option.is_used_by(pair)) {
            line += &format!(" --{option} {}", options.get(option));
        }
    }
    if options.logging.level != Durability::None {
        line += &format!(" --durability {} --log FOLDER", options.logging.level);
        let usual = RunOptions::for_run(workers);
        if options.engine.epoch_interval != usual.engine.epoch_interval {
            line += &format!(" --epoch {}", options.get("epoch"));
        }
    }
    on.map_or(line.clone(), |on| format!("{line} --on {}", quoted(on)))
}

/// A word as a shell takes it: in quotes if it has anything but letters, digits and what paths and numbers are made of.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:,%+=@".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// The workload as it is typed: its name or file, and what is not by default.
pub fn words(workload: &AnyWorkload) -> String {
    let resolved: BTreeMap<&str, String> = workload.resolved().into_iter().collect();
    let described = descriptions().iter().find(|one| one.name == workload.name()).expect("it has a name");
    let is_of_files = workload.name() == Described::DESCRIPTION.name;
    let file = resolved.get(FILE).filter(|file| is_of_files && is_file(file));
    let mut words = file.map_or_else(|| workload.name().to_owned(), |file| quoted(file));
    for parameter in described.parameters {
        let value = &resolved[parameter.name];
        let is_told = value != parameter.default && !(is_of_files && parameter.name == "contents");
        if is_told && !(parameter.name == FILE && file.is_some()) {
            words += &format!(" --{} {}", parameter.name, quoted(value));
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use workloads::build;

    #[test]
    fn words_are_quoted_where_a_shell_would_split_them() {
        for (word, expected) in
            [("a/b-1.toml", "a/b-1.toml"), ("a b.toml", "'a b.toml'"), ("it's", "'it'\\''s'"), ("", "''")]
        {
            assert_eq!(quoted(word), expected);
        }
    }

    #[test]
    fn a_line_says_what_was_measured_and_nothing_else() {
        let pair = contract::PairName::all().next().expect("a pair");
        let options = RunOptions {
            warmup: Duration::from_millis(20),
            duration: Duration::from_micros(1500),
            repeat: 2,
            ..RunOptions::for_compare(2)
        };
        let line = |name: &str, given: &[(&str, &str)], on| {
            let workload = build(name, &given.iter().copied().collect()).expect("a workload");
            of(&workload, Candidate::new(pair, 2, Durability::None), &options, on)
        };
        let rest = format!(
            " --architecture {} --protocol {} --workers 2 --warmup 20ms --duration 1500us --repeat 2 --seed 1",
            pair.architecture, pair.protocol
        );
        assert_eq!(
            line("micro", &[("records", "2M"), ("remote", "1")], None),
            format!("trireme run micro --remote 1{rest}")
        );
        assert_eq!(
            line("described", &[("file", "examples/workloads/bank.toml"), ("theta", "0.9")], Some("m.toml")),
            format!("trireme run examples/workloads/bank.toml --theta 0.9{rest} --on m.toml")
        );
    }
}
