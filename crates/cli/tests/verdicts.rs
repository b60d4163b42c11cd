//! What `check` says of every system: the honest ones pass, and every canary is rejected.

mod common;

use common::{Ran, fresh_folder, run, systems};
use std::path::Path;

/// Each canary with workloads that show what it omits.
const SHOWN_BY: [(&str, &str); 8] = [
    ("no-read-validation", "micro --records 100 --writes 50"),
    ("no-miss-validation", "missing-key-write-skew"),
    ("no-miss-validation", "ranges"),
    ("early-release", "micro --records 100 --writes 50"),
    ("skipped-certify", "micro --records 100 --writes 50"),
    ("dirty-reads", "micro --records 100 --writes 50"),
    ("unlocked-gaps", "missing-key-write-skew"),
    ("unlocked-gaps", "ranges"),
];

/// Interleavings are a matter of luck: a canary may sing at any of these seeds.
const SEEDS: [&str; 5] = ["1", "2", "3", "4", "5"];

fn check(folder: &Path, workload: &str, more: &[&str]) -> Ran {
    let line: Vec<&str> =
        ["check"].into_iter().chain(workload.split(' ')).chain(more.iter().copied()).collect();
    run(folder, &line)
}

fn canaries(folder: &Path) -> Vec<String> {
    let list = run(folder, &["list", "canaries", "--json"]).json();
    let entries = list["canaries"].as_array().expect("a list");
    entries.iter().map(|entry| entry["name"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn every_canary_is_rejected() {
    let folder = fresh_folder("canaries");
    let canaries = canaries(&folder);
    let mut shown = SHOWN_BY.map(|(canary, _)| canary.to_owned()).to_vec();
    shown.dedup();
    assert_eq!(canaries, shown, "every canary has a workload that shows it");
    for (canary, workload) in SHOWN_BY {
        let is_rejected = |seed: &&str| {
            let ran =
                check(&folder, workload, &["--canary", canary, "--transactions", "100000", "--seed", seed]);
            if ran.code == Some(1) {
                assert!(ran.out.ends_with("rejected, as a canary must be\n"), "{canary}\n{}", ran.out);
            } else {
                assert!(ran.out.contains("warning: the canary was not rejected"), "{canary}\n{}", ran.err);
            }
            ran.code == Some(1)
        };
        assert!(SEEDS.iter().any(is_rejected), "{canary} over {workload} was never rejected");
    }
}

/// Three workers: under asymmetric-delegation, too, two of them host transactions, and on two cores they must make
/// progress when those whom they wait for do not run.
const WORKERS: &str = "3";

#[test]
fn every_honest_system_passes() {
    let folder = fresh_folder("honest");
    let workloads =
        ["micro --records 100 --writes 50", "ycsb --records 100", "membership", "ranges", "list-append"];
    let pairs = systems(&folder);
    assert!(pairs.len() >= 16, "{pairs:?}");
    for pair in pairs {
        let (architecture, protocol) = pair.split_once(' ').expect("two names");
        for workload in workloads {
            let system = ["--architecture", architecture, "--protocol", protocol];
            let ran = check(
                &folder,
                workload,
                &[&system[..], &["--transactions", "6000", "--workers", WORKERS]].concat(),
            );
            assert_eq!(ran.code, Some(0), "{pair} over {workload}\n{}\n{}", ran.out, ran.err);
        }
    }
}

/// What an architecture may be told changes how it works, not what it may answer.
#[test]
fn every_option_of_an_architecture_passes() {
    let folder = fresh_folder("told");
    let systems = [
        "--protocol no-wait --split-indexes on",
        "--protocol silo --split-indexes on",
        "--architecture asymmetric-delegation --protocol dl-detect --workers 4 --servers 2",
        "--architecture partitioned-serial --partitions 1",
        "--architecture partitioned-serial --partitions 7",
        "--architecture partitioned-serial --partition-latch test-and-set",
        "--architecture partitioned-serial --partition-latch test-and-test-and-set",
        "--architecture dora --protocol no-wait --in-flight 1",
        "--architecture dora --protocol dl-detect --in-flight 16",
        "--architecture dora --protocol no-wait --hand-over-every 200",
        "--architecture dora --protocol 2v-no-wait --hand-over-every 200",
        "--architecture dora --protocol dl-detect --hand-over-every 200",
    ];
    for system in systems {
        let workers = if system.contains("--workers") { "" } else { " --workers 3" };
        let line = format!("{system} --transactions 6000{workers}");
        for workload in ["micro --records 100 --writes 50", "membership"] {
            let ran = check(&folder, workload, &line.split(' ').collect::<Vec<_>>());
            assert_eq!(ran.code, Some(0), "{line} over {workload}\n{}\n{}", ran.out, ran.err);
        }
    }
}

/// A scenario has a worker for every role, whoever else there is.
#[test]
fn scenarios_are_played_under_every_architecture() {
    let folder = fresh_folder("played");
    let mut played = 0;
    for pair in systems(&folder) {
        let (architecture, protocol) = pair.split_once(' ').expect("two names");
        let system =
            ["--architecture", architecture, "--protocol", protocol, "--transactions", "5000", "--json"];
        let ran = check(&folder, "write-skew", &system);
        // With fewer cores than workers the players may never meet. That, and nothing else, may be wrong with the run.
        let summary = ran.json();
        let checks = summary["checks"].as_array().expect("checks");
        let failed: Vec<_> = checks.iter().filter(|check| check["passed"] != true).collect();
        let never_met = failed.len() == 1 && failed[0]["name"] == "rounds-were-played";
        assert!(ran.code == Some(0) && failed.is_empty() || never_met, "{pair}\n{}\n{}", ran.out, ran.err);
        played += usize::from(ran.code == Some(0));
    }
    assert!(played > 0, "no system's players met");
}
