//! `--on FILE` of a cluster: machines that share nothing but a network.

mod common;

use common::{Ran, fresh_folder, run};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// What is typed, on four machines of twelve cores.
fn on_cluster(folder: &Path, line: &str) -> Ran {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../machines/westmere-ep-2x6-x4.toml");
    let file = fs::canonicalize(file).expect("a machine of the repository").display().to_string();
    let words: Vec<&str> = line.split(' ').chain(["--on", &file]).collect();
    run(folder, &words)
}

const MICRO: &str = "run micro --records 4800 --hot 0 --operations 2 --remote any-but-one --protocol no-wait --in-flight 1 \
                     --warmup 200us --duration 1ms --repeat 1 --json";

#[test]
fn instances_are_within_a_machine_each() {
    let folder = fresh_folder("cluster-instances");
    for (line, refused) in [
        (
            "--workers 24 --channel tcp --instances 3",
            "--instances 3: allowed: 2, 4, 6, 8, 12, 24, so that each is within one of the 4 machines of 12 cores",
        ),
        ("--workers 24 --channel tcp", "--instances 1: allowed: 2, 4, 6, 8, 12, 24, so that"),
        (
            "--workers 24 --instances 2",
            "--channel shared-memory: allowed: tcp, for 24 workers are on several machines",
        ),
        ("--workers 24 --instances 2 --channel unix", "--channel unix: allowed: tcp"),
        ("--workers 2 --bind off", "--bind off: allowed: cores on a simulated machine"),
        ("--workers 49 --instances 49 --channel tcp", "--workers 49: allowed: 1 <= workers <= 48"),
    ] {
        let ran = on_cluster(&folder, &format!("{MICRO} {line}"));
        assert_eq!(ran.code, Some(2), "{line}: {}", ran.err);
        assert!(ran.err.contains(refused), "{line}: {}", ran.err);
    }
    let ran = on_cluster(&folder, "run micro --architecture dora --protocol no-wait --workers 13 --repeat 1");
    assert!(ran.code == Some(2) && ran.err.contains("--workers 13: allowed: 1 to 12"), "{}", ran.err);
    // One machine is one.
    let ran = on_cluster(&folder, &format!("{MICRO} --workers 4 --instances 2"));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}

/// The median latency, in nanoseconds.
fn latency_ns(folder: &Path, line: &str) -> u64 {
    let ran = on_cluster(folder, &format!("{MICRO} {line}"));
    assert_eq!(ran.code, Some(0), "{line}: {}", ran.err);
    let latency = |summary: &Value| summary["latency_ns"]["p50"].as_u64();
    let json = ran.json();
    latency(&json).unwrap_or_else(|| panic!("no latency in {json}"))
}

#[test]
fn transactions_of_several_machines_wait_for_the_network() {
    let folder = fresh_folder("cluster-latency");
    let within = latency_ns(&folder, "--workers 12 --instances 12 --channel tcp");
    let between = latency_ns(&folder, "--workers 48 --instances 4 --channel tcp");
    let local = latency_ns(&folder, "--workers 48 --instances 4 --channel tcp --multi-partition 0");
    // Two rows: three of four transactions are at two machines, and each message takes 17 us on its way.
    assert!(between > 34_000, "{between} ns, of which the network takes 34,000");
    assert!(within < between, "{within} ns within a machine, {between} ns between machines");
    assert!(local < 17_000, "{local} ns of a transaction that sends nothing");
}
