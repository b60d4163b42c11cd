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
        (
            "--workers 9 --instances per-socket",
            "--instances per-socket: allowed: with 1 to 6, 12, 18, 24, 30, 36, 42 or 48 workers, equally many on each socket",
        ),
        (
            "--workers 18 --instances per-machine --channel tcp",
            "--instances per-machine: allowed: with 1 to 12, 24, 36 or 48 workers, equally many on each machine, and not with 18",
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

/// What is asked for is asked of each number of workers, and what it comes to stands beside it. A deployment is what its number is, however that was said.
#[test]
fn instances_are_counted_by_the_machine() {
    let folder = fresh_folder("cluster-instances-counted");
    let at = |line: &str| {
        let ran = on_cluster(&folder, &format!("{MICRO} {line}"));
        assert_eq!(ran.code, Some(0), "{line}: {}", ran.err);
        ran.json()
    };
    for (workers, asked, instances) in [
        (24, "per-core --channel tcp", 24),
        (24, "per-socket --channel tcp", 4),
        (24, "per-machine --channel tcp", 2),
        (6, "per-socket", 1),
        (12, "per-core", 12),
        (12, "per-socket", 2),
        (12, "per-machine", 1),
    ] {
        let said = at(&format!("--workers {workers} --instances {asked}"));
        let asked = asked.split(' ').next().expect("a word");
        assert_eq!((&said["instances"], &said["instances_asked"]), (&instances.into(), &asked.into()));
        if workers > 12 {
            continue;
        }
        let counted = at(&format!("--workers {workers} --instances {instances}"));
        assert_eq!(counted["instances_asked"], instances.to_string());
        for number in ["instances", "commits", "messages_per_txn", "latency_ns"] {
            assert_eq!(said[number], counted[number], "{number} with {workers} workers, {asked}");
        }
    }
}

/// A sweep asks at each point, and leaves out what does not fit there.
#[test]
fn instances_are_swept_beside_workers() {
    let folder = fresh_folder("cluster-instances-swept");
    let text = "workload = 'micro'\n[base]\nprotocol = 'silo'\nrecords = 4800\nchannel = 'tcp'\nrepeat = 1\n\
                [axes]\nworkers = [12, 18]\ninstances = ['per-socket', 'per-machine']\n";
    fs::write(folder.join("e.toml"), text).expect("a file");
    let ran = on_cluster(&folder, "sweep e.toml --warmup 50us --duration 200us --json");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let json = ran.json();
    let points = json["points"].as_array().expect("points");
    let of = |point: &Value| {
        let (at, summary) = (&point["at"], &point["summary"]);
        format!("{} {} {}", at["workers"], at["instances"], summary["instances"]).replace('"', "")
    };
    let points: Vec<String> = points.iter().map(of).collect();
    assert_eq!(points, ["12 per-socket 2", "12 per-machine 1", "18 per-socket 3"]);
    let left_out = &json["left_out"][0]["why"];
    assert!(
        left_out
            .as_str()
            .is_some_and(|why| why.starts_with("instances per-machine: allowed: with 1 to 12, 24,")),
        "{left_out}"
    );
    let report = fs::read_to_string(folder.join("results/sweep-e/report.html")).expect("a report");
    assert!(report.contains("2 (per-socket), of 6 workers each"), "the number is in the report, too");
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

/// What lies where on the host says nothing here: neither of memory that was taken before, nor of how long the machine's name is.
#[test]
fn sockets_repeat_bit_for_bit() {
    let folder = fresh_folder("cluster-repeats");
    let machine = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../machines/westmere-ep-2x6.toml");
    let line = format!("{MICRO} --workers 6 --instances 6 --channel unix --on");
    let said: Vec<Value> = [1, 40, 97, 160]
        .into_iter()
        .map(|length| {
            let file = "m".repeat(length);
            fs::copy(&machine, folder.join(&file)).expect("a copy");
            let ran = run(&folder, &line.split(' ').chain([&*file]).collect::<Vec<_>>());
            assert_eq!(ran.code, Some(0), "{}", ran.err);
            let said = ran.json();
            said["throughput_per_s"].clone()
        })
        .collect();
    assert!(said[0].as_f64().is_some_and(|one| one > 0.0), "{said:?}");
    assert!(said.iter().all(|one| *one == said[0]), "{said:?}");
}

/// What it has read is locked when it votes. One that has also read what it does not write is asked for its vote once all is locked.
#[test]
fn a_branch_votes_with_its_fragment_if_it_reads_only_what_it_writes() {
    let folder = fresh_folder("cluster-votes");
    let messages = |protocol: &str, writes: &str| {
        let line = format!(
            "run micro --records 4800 --hot 0 --operations 4 --remote 2 --writes {writes} --protocol {protocol} --workers 2 --instances 2 \
             --in-flight 1 --channel unix --warmup 200us --duration 1ms --repeat 1 --json"
        );
        let ran = on_cluster(&folder, &line);
        assert_eq!(ran.code, Some(0), "{line}: {}", ran.err);
        ran.json()["messages_per_txn"].as_f64().expect("a number")
    };
    let [no_wait, silo] = ["no-wait", "silo"].map(|protocol| messages(protocol, "all"));
    assert!(no_wait > 0.0 && (silo / no_wait - 1.0).abs() < 0.01, "{silo} and {no_wait}");
    let [no_wait, silo] = ["no-wait", "silo"].map(|protocol| messages(protocol, "50"));
    assert!(silo > 1.2 * no_wait, "{silo} and {no_wait}");
}
