//! Nodes of several hosts, whose clocks have nothing to do with each other: what they do is checked and logged, and what they log is recovered.
//!
//! The hosts are rehearsed on this one (`trireme node --clock-ahead`): one whose clock is two hours ahead and gains, and one whose clock is three seconds ahead. Compared as they are, their times and
//! ids would be in no order at all.

#[path = "common/nodes.rs"]
mod nodes;

use nodes::*;
use serde_json::Value;
use std::fs;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::Path;
use std::process::{self, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;
use tempfile::TempDir;

/// The first node's host, and two others.
struct Hosts {
    folder: TempDir,
    far: Waiting,
    near: Waiting,
}

impl Hosts {
    fn new() -> Hosts {
        let folder = TempDir::new().expect("a folder");
        let secret = folder.path().join("secret");
        fs::write(&secret, "sixteen bytes, or more").expect("a file");
        let [far, near] = ["--clock-ahead 2h --clock-gains 80", "--clock-ahead 3s"]
            .map(|clock| Waiting::at("127.0.0.1:0", &secret, clock));
        Hosts { folder, far, near }
    }

    /// Options of a cluster of the first node and these. Nobody leaves cores to others, who are on another host.
    fn cluster(&self, name: &str, others: &[&Waiting]) -> String {
        let mut text = "secret = \"secret\"\n[[node]]\n".to_owned();
        for node in others {
            text += &format!("[[node]]\naddress = \"{}\"\n", node.address);
        }
        let file = self.folder.path().join(format!("{name}.toml"));
        fs::write(&file, text).expect("a file");
        format!("--workers {} --bind off --cluster {}", others.len() + 1, file.display())
    }
}

fn anomalies(summary: &Value) -> Vec<String> {
    let counts = summary["verdict"]["counts"].as_object().expect("a verdict");
    counts.keys().cloned().collect()
}

#[test]
fn what_several_hosts_do_is_strictly_serializable() {
    let hosts = Hosts::new();
    let three = hosts.cluster("three", &[&hosts.far, &hosts.near]);
    let twice = hosts.cluster("twice", &[&hosts.far, &hosts.far]);
    for (line, cluster, of) in [
        ("micro --protocol no-wait --records 200 --transactions 1500", &three, 3),
        ("ycsb --protocol silo --one-shot off --transactions 900", &three, 3),
        ("smallbank --protocol silo --transactions 900", &twice, 2),
        ("membership --protocol silo --transactions 1500", &three, 3),
        ("list-append --protocol no-wait --transactions 1500", &twice, 2),
    ] {
        let history = hosts.folder.path().join("history.jsonl");
        let summary = told(&format!("check {line} {cluster} --history {}", history.display()));
        assert_eq!(summary["passed"], true, "{line}: {summary:#}");
        assert_eq!(summary["machine"], format!("hardware, 3 nodes on {of} hosts"), "{line}");
        let within_ns = summary["clocks_within_ns"].as_u64().expect("several clocks");
        assert!((1..1_000_000_000).contains(&within_ns), "{line}: {within_ns} ns");
        // What others read has one clock: the whole run, and not two hours.
        let events = fs::read_to_string(&history).expect("a history");
        let times: Vec<u64> = events
            .lines()
            .map(|event| {
                serde_json::from_str::<Value>(event).expect("JSON")["time"].as_u64().expect("a time")
            })
            .collect();
        assert!(times.is_sorted() && times[times.len() - 1] - times[0] < 600_000_000_000, "{line}");
    }
    assert!(
        told("check micro --protocol silo --workers 2 --cluster 2 --transactions 1500")["clocks_within_ns"]
            .is_null()
    );
}

/// A checker that compared times as they are told would reject what is right, and ids that each host drew by its own clock would go back.
#[test]
fn what_hosts_leave_out_is_found() {
    let hosts = Hosts::new();
    let three = hosts.cluster("three", &[&hosts.far, &hosts.near]);
    for (canary, line, expected) in [
        ("one-clock", "micro --protocol no-wait --records 200 --transactions 1500", "stale read"),
        ("ids-of-its-own", "micro --protocol no-wait --records 200 --transactions 1500", "disordered ids"),
        (
            "release-before-decision",
            "micro --protocol silo --records 30 --multi-partition 100 --transactions 2000",
            "",
        ),
        (
            "decision-before-votes",
            "micro --protocol silo --records 30 --multi-partition 100 --transactions 2000",
            "",
        ),
    ] {
        let checked = output(&format!("check {line} {three} --canary {canary} --json"));
        let summary: Value =
            serde_json::from_slice(&checked.stdout).unwrap_or_else(|_| panic!("{}", words(&checked)));
        assert_eq!(
            (checked.status.code(), &summary["passed"]),
            (Some(1), &false.into()),
            "{canary}: {summary:#}"
        );
        assert_eq!(summary["canary"], true);
        let found = anomalies(&summary);
        assert!(!found.is_empty() && (expected.is_empty() || found == [expected]), "{canary}: {found:?}");
    }
}

/// Of a transaction that spans hosts there is all or nothing, at all of them, whichever was killed, and all that was acknowledged is there.
#[test]
fn what_was_acknowledged_survives_kills_at_all_hosts() {
    let hosts = Hosts::new();
    for (round, (protocol, level)) in [("no-wait", "group"), ("silo", "sync")].into_iter().enumerate() {
        let cluster = hosts.cluster("three", &[&hosts.far, &hosts.near]);
        let log = hosts.folder.path().join(format!("log-{round}")).display().to_string();
        let out = hosts.folder.path().join(format!("out-{round}"));
        let line = format!(
            "run tpcc --warehouses 3 --items 100 --customers 30 --remote-payments 50 --remote-items 20 --protocol {protocol} {cluster} \
             --durability {level} --log {log} --epoch 5ms --duration 60s --repeat 1 --out {}",
            out.display()
        );
        let run = trireme(&line).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
        let [far, near] = [&hosts.far, &hosts.near].map(|host| await_one_child(host.node.id()));
        await_workers(&[run.id(), far, near]);
        let files =
            [0, 1, 2].map(|instance| format!("{log}/instance-{instance}/log-000000-0000-00000000.trl"));
        await_written(&files, 64 << 10);
        signal([far, near][round], "-KILL");
        let said = ends_with_words(run, Duration::from_secs(20), "is there once the log is recovered");
        let epoch = said.split("up to epoch ").nth(1).and_then(|rest| rest.split(',').next());
        let acknowledged: u64 =
            epoch.and_then(|epoch| epoch.parse().ok()).unwrap_or_else(|| panic!("no epoch: {said}"));
        all_are_gone(&[far, near]);
        let recovered =
            told(&format!("recover {log} --cluster {}", hosts.folder.path().join("three.toml").display()));
        let epoch = recovered["epoch"].as_u64().expect("a number");
        assert!(
            epoch >= acknowledged && acknowledged > 2,
            "{acknowledged} was acknowledged, and {epoch} recovered"
        );
        assert!(recovered["transactions"].as_u64() > Some(20), "{recovered:#}");
        let checks = recovered["checks"].as_array().expect("checks");
        assert!(checks.len() == 14 && checks.iter().all(|check| check["passed"] == true), "{recovered:#}");
    }
}

/// An address at which nobody else is or comes to be: of the loopback's, which on Linux are all of 127, one of this process alone, and a port that the system gives to nobody who asks for any.
fn own_address() -> SocketAddrV4 {
    static PORTS: AtomicU16 = AtomicU16::new(7717);
    let [high, middle, low] = [16, 8, 0].map(|by| (process::id() >> by) as u8);
    // A process has a number below 2^22, and 127.0 is everybody's.
    let host = Ipv4Addr::new(127, 128 | high, middle, low);
    // Relaxed: a counter.
    SocketAddrV4::new(host, PORTS.fetch_add(1, Ordering::Relaxed))
}

/// A cluster's file in this folder, of the first node and so many others that wait on this host, and where they do.
fn cluster_of_waiting(folder: &Path, waiting: usize) -> (String, Vec<SocketAddrV4>) {
    fs::write(folder.join("secret"), "sixteen bytes, or more").expect("a file");
    let addresses = Vec::from_iter((0..waiting).map(|_| own_address()));
    let nodes = addresses.iter().map(|address| format!("[[node]]\naddress = \"{address}\"\n"));
    let file = folder.join("cluster.toml");
    fs::write(&file, format!("secret = \"secret\"\n[[node]]\n{}", nodes.collect::<String>()))
        .expect("a file");
    (file.display().to_string(), addresses)
}

/// Where runs are started and where nodes wait one file is read.
#[test]
fn a_node_is_who_the_clusters_file_says() {
    let folder = TempDir::new().expect("a folder");
    let (file, addresses) = cluster_of_waiting(folder.path(), 2);
    let first = addresses[0];
    let choose = output(&format!("node --config {file}"));
    assert_eq!(choose.status.code(), Some(2), "{}", words(&choose));
    let expected =
        format!("--config {file}: several of its nodes are of this host; allowed: --node 1 ({first})");
    assert!(words(&choose).contains(&expected), "{}", words(&choose));
    let third = output(&format!("node --config {file} --node 3"));
    assert!(words(&third).contains(&format!("--node 3: allowed: 1 ({first})")), "{}", words(&third));

    let nodes = [1, 2].map(|number| Waiting::started(&format!("node --config {file} --node {number}")));
    let check = told(&format!("check micro --protocol silo --workers 3 --transactions 300 --cluster {file}"));
    assert_eq!(
        (&check["passed"], &check["machine"]),
        (&true.into(), &"hardware, 3 processes".into()),
        "{check:#}"
    );
    for node in &nodes {
        node.says("the run is over (exit status: 0)");
    }
    let taken = output(&format!("node --config {file} --node 1"));
    let expected = format!("--config {file}: node 1, at {first}: ");
    assert!(taken.status.code() == Some(2) && words(&taken).contains(&expected), "{}", words(&taken));

    for (text, options, allowed) in [
        (
            "[[node]]\n[[node]]",
            "",
            ": no node has an address, so that none waits; allowed: [[node]] with an address",
        ),
        (
            "secret = \"secret\"\n[[node]]\n[[node]]\naddress = \"192.0.2.1:7717\"",
            "",
            "none of its nodes' addresses is of this host; allowed: --node 1 (192.0.2.1:7717)",
        ),
        (
            "secret = \"secret\"\n[[node]]\n[[node]]\naddress = \"somewhere\"",
            "",
            ": line 4: address somewhere: allowed: ",
        ),
        ("secret = \"nowhere\"\n[[node]]\n[[node]]", "", ": line 1: the secret's file "),
        ("", "--listen 127.0.0.1:0", "--config does not go with --listen; allowed: one of them"),
        ("", "--secret secret", "--config does not go with --secret; allowed: one of them"),
    ] {
        let other = folder.path().join("other.toml");
        fs::write(&other, text).expect("a file");
        let refused = output(&format!("node --config {} {options}", other.display()));
        let said = words(&refused);
        assert!(refused.status.code() == Some(2) && said.lines().count() == 1, "{text}: {said}");
        assert!(said.contains(allowed), "{text}: {said}");
    }
    let alone = output("node --secret secret --node 1");
    assert!(words(&alone).contains("--node 1: allowed: with --config FILE"), "{}", words(&alone));
}

/// A host that went away in the middle of a run, what waits there and what runs: once it is there again, what it had acknowledged is recovered, and it serves the next run.
#[test]
fn a_host_that_was_killed_recovers_and_serves_again() {
    let folder = TempDir::new().expect("a folder");
    let (file, addresses) = cluster_of_waiting(folder.path(), 1);
    let wait = || Waiting::started(&format!("node --config {file}"));
    let waiting = wait();
    let log = folder.path().join("log").display().to_string();
    let line = format!(
        "run smallbank --customers 1000 --hot-customers 100 --protocol silo --workers 2 --cluster {file} --durability group --log {log} \
         --epoch 5ms --duration 60s --repeat 1 --out {}",
        folder.path().join("out").display()
    );
    let run = trireme(&line).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let node = await_one_child(waiting.node.id());
    await_workers(&[run.id(), node]);
    await_written(
        &[0, 1].map(|instance| format!("{log}/instance-{instance}/log-000000-0000-00000000.trl")),
        16 << 10,
    );
    signal(waiting.node.id(), "-KILL");
    signal(node, "-KILL");
    let said = ends_with_words(run, Duration::from_secs(20), "is there once the log is recovered");
    all_are_gone(&[waiting.node.id(), node]);
    let epoch = said.split("up to epoch ").nth(1).and_then(|rest| rest.split(',').next());
    let acknowledged: u64 =
        epoch.and_then(|epoch| epoch.parse().ok()).unwrap_or_else(|| panic!("no epoch: {said}"));

    let refused = output(&format!("recover {log} --cluster {file}"));
    assert!(
        refused.status.code() == Some(2) && words(&refused).contains(&format!("node 1, at {}", addresses[0])),
        "{}",
        words(&refused)
    );
    let waiting = wait();
    let recovered = told(&format!("recover {log} --cluster {file}"));
    assert!(
        recovered["epoch"].as_u64() >= Some(acknowledged) && acknowledged > 2,
        "{acknowledged}: {recovered:#}"
    );
    assert!(recovered["transactions"].as_u64() > Some(20), "{recovered:#}");
    let checks = recovered["checks"].as_array().expect("checks");
    assert!(!checks.is_empty() && checks.iter().all(|check| check["passed"] == true), "{recovered:#}");
    waiting.says("the run is over (exit status: 0)");
    let next = told(&format!("check micro --protocol silo --workers 2 --transactions 300 --cluster {file}"));
    assert_eq!(next["passed"], true, "{next:#}");
    waiting.says("the run is over (exit status: 0)");
}

#[test]
fn clocks_that_are_none_are_refused_in_words() {
    for (options, allowed) in [
        ("node --secret s --clock-gains 5", "--clock-ahead"),
        ("node --secret s --clock-ahead soon", "--clock-ahead soon: allowed: a number with ns"),
        (
            "node --secret s --clock-ahead 1s --clock-gains fast",
            "--clock-gains fast: allowed: a whole number",
        ),
        (
            "check micro --protocol silo --workers 2 --canary one-clock",
            "--canary one-clock: allowed: with --cluster",
        ),
        (
            "check micro --protocol silo --workers 2 --cluster 2 --canary ids-of-its-own",
            "--canary ids-of-its-own: allowed: with nodes on several hosts",
        ),
        (
            "check micro --protocol silo --workers 2 --cluster 2 --canary decision-before-votes",
            "--canary decision-before-votes: allowed: with three nodes or more",
        ),
    ] {
        let folder = TempDir::new().expect("a folder");
        fs::write(folder.path().join("s"), "sixteen bytes, or more").expect("a file");
        let refused = trireme(options).current_dir(folder.path()).output().expect("the binary starts");
        assert_eq!(refused.status.code(), Some(2), "{options}");
        assert!(words(&refused).contains(allowed), "{options}: {}", words(&refused));
    }
}
