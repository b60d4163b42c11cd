//! What `check` says of every system: the honest ones pass, and every canary is rejected.

mod common;

use common::{Ran, fresh_folder, run};
use std::path::Path;

/// Each canary with a workload that shows what it omits.
const SHOWN_BY: [(&str, &str); 5] = [
    ("no-read-validation", "micro --records 100 --writes 50"),
    ("no-miss-validation", "missing-key-write-skew"),
    ("early-release", "micro --records 100 --writes 50"),
    ("skipped-certify", "micro --records 100 --writes 50"),
    ("dirty-reads", "micro --records 100 --writes 50"),
];

/// Interleavings are a matter of luck: a canary may sing at any of these seeds.
const SEEDS: [&str; 5] = ["1", "2", "3", "4", "5"];

fn check(folder: &Path, workload: &str, more: &[&str]) -> Ran {
    let line: Vec<&str> =
        ["check"].into_iter().chain(workload.split(' ')).chain(more.iter().copied()).collect();
    run(folder, &line)
}

fn names(folder: &Path, what: &str) -> Vec<String> {
    let list = run(folder, &["list", what, "--json"]).json();
    let entries = list[what].as_array().expect("a list");
    entries.iter().map(|entry| entry["name"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn every_canary_is_rejected() {
    let folder = fresh_folder("canaries");
    let canaries = names(&folder, "canaries");
    assert_eq!(canaries, SHOWN_BY.map(|(canary, _)| canary), "every canary has a workload that shows it");
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
        assert!(SEEDS.iter().any(is_rejected), "{canary} was never rejected");
    }
}

#[test]
fn every_honest_system_passes() {
    let folder = fresh_folder("honest");
    let workloads = ["micro --records 100 --writes 50", "ycsb --records 100", "membership", "list-append"];
    let mut judged = 0;
    for pair in names(&folder, "pairs") {
        let (architecture, protocol) = pair.split_once(' ').expect("two names");
        for workload in workloads {
            let system = [
                "--architecture",
                architecture,
                "--protocol",
                protocol,
                "--transactions",
                "20000",
                "--workers",
                "2",
            ];
            let ran = check(&folder, workload, &system);
            assert_eq!(ran.code, Some(0), "{pair} over {workload}\n{}\n{}", ran.out, ran.err);
            judged += 1;
        }
    }
    assert!(judged >= 16, "{judged}");
}
