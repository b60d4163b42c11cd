//! A deployment on the hardware: the same program once more, with a process for each instance (`run --cluster N`).
//!
//! Processes share no caches of allocation, no scheduler's thread group and no address space: what figures of clusters claim is of such. What they took of
//! the cores counts as this program's own ([`machine::hardware::load`]), for they have ended when it is asked. If this process ends before, whatever ends it, so do they.

use ::workloads::AnyWorkload;
use contract::PairName;
use harness::failure::words;
use harness::options::OPTIONS;
use harness::summary::Summary;
use harness::{Failure, RunOptions};
use machine::hardware::child::ends_with_this_thread;
use std::env;
use std::process::{Command, Stdio};

/// Parameters that say what came of others, and are not typed.
const NOT_TYPED: &str = "contents";

/// What `run` tells of the pair, each of the `instances` being a process.
pub(super) fn measured(
    workload: &AnyWorkload,
    pair: PairName,
    options: &RunOptions,
    instances: usize,
) -> Result<Summary, Failure> {
    let failed = |what: String| Failure::Usage(format!("{instances} processes of {pair}: {what}"));
    let folder = tempfile::tempdir().map_err(|error| failed(words(&error)))?;
    let program = env::current_exe().map_err(|error| failed(words(&error)))?;
    let mut command = Command::new(program);
    command.args(line(workload, pair, options, instances)).arg("--out").arg(folder.path().join("run"));
    // What is told is enough: the folder goes.
    let ran = ends_with_this_thread(command.stdin(Stdio::null()))
        .output()
        .map_err(|error| failed(words(&error)))?;
    let told = serde_json::from_slice(&ran.stdout);
    match (ran.status.code(), told) {
        (Some(0), told) => told.map_err(|error| failed(error.to_string())),
        // A check has failed, and is among what is told.
        (Some(1), Ok(told)) => Ok(told),
        _ => {
            let said = String::from_utf8_lossy(&ran.stderr);
            let last = said.lines().rev().find(|line| !line.trim().is_empty());
            Err(failed(last.map_or(ran.status.to_string(), |line| line.trim().to_owned())))
        }
    }
}

/// The words of the line, but for the program and the folder.
fn line(workload: &AnyWorkload, pair: PairName, options: &RunOptions, instances: usize) -> Vec<String> {
    let mut all = vec!["run".to_owned(), workload.name().to_owned()];
    let mut add = |name: &str, value: String| all.extend([format!("--{name}"), value]);
    for (name, value) in workload.resolved().into_iter().filter(|(name, _)| *name != NOT_TYPED) {
        add(name, value);
    }
    add("architecture", pair.architecture.to_string());
    add("protocol", pair.protocol.to_string());
    add("cluster", instances.to_string());
    // What is by default may be told by no word, such as a log that there is none of.
    let usual = RunOptions::for_run(options.workers);
    let always = ["workers", "instances", "channel", "warmup", "duration", "repeat", "seed"];
    for name in OPTIONS.iter().map(|option| option.name) {
        let value = options.get(name);
        if always.contains(&name) || value != usual.get(name) {
            add(name, value);
        }
    }
    all.push("--json".to_owned());
    all
}

#[cfg(test)]
mod tests {
    use super::super::defaults;
    use super::*;
    use contract::{ArchitectureName, ChannelName, Instances, ProtocolName};

    #[test]
    fn the_line_says_all_that_is_not_by_default() {
        let workload = ::workloads::build("micro", &[("hot", "0"), ("remote", "5")].into_iter().collect());
        let mut options = RunOptions { workers: 2, repeat: 1, ..defaults(2) };
        (options.engine.instances, options.engine.channel) = (Instances::of(2), ChannelName::Tcp);
        let pair =
            PairName { architecture: ArchitectureName::SharedEverything, protocol: ProtocolName::Silo };
        let line = line(&workload.expect("a workload"), pair, &options, 2);
        let typed = line.join(" ");
        for words in [
            "run micro ",
            " --hot 0 ",
            " --remote 5 ",
            " --protocol silo --cluster 2 ",
            " --workers 2 ",
            " --instances 2 ",
            " --channel tcp ",
            " --prefetch off ",
            " --back-off off ",
            " --duration 200ms ",
        ] {
            assert!(typed.contains(words), "{words}: {typed}");
        }
        // A person can type it.
        let matches = crate::commands::run::arguments().try_get_matches_from(&line[..]);
        let matches = matches.unwrap_or_else(|error| panic!("{typed}: {error}"));
        let again =
            crate::selection::options(&matches, crate::engines::Machine::Hardware, RunOptions::for_run(2));
        assert_eq!(again.expect("its own options"), options);
    }
}
