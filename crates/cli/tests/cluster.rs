//! Instances that are processes: the same answers as in one process, and who may take part.

#[path = "common/nodes.rs"]
mod nodes;

use nodes::*;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpStream, UdpSocket};
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

#[test]
fn what_several_processes_do_is_strictly_serializable() {
    for line in [
        "micro --protocol no-wait --workers 2 --cluster 2 --transactions 4000",
        "micro --protocol silo --workers 2 --cluster 2 --channel tcp --readers-wait off --transactions 4000",
        "ycsb --protocol silo --workers 3 --cluster 3 --one-shot off --transactions 1500",
        "ycsb --protocol no-wait --workers 4 --cluster 2 --transactions 1500",
        "tpcc --protocol no-wait --workers 2 --cluster 2 --transactions 1000",
        "smallbank --protocol silo --workers 4 --cluster 2 --transactions 2000",
        "micro --protocol no-wait --workers 2 --cluster 2 --channel shared-memory --transactions 4000",
        "ycsb --protocol silo --workers 6 --cluster 3 --channel shared-memory --one-shot off --transactions 1500",
        "tpcc --protocol silo --workers 2 --cluster 2 --channel shared-memory --transactions 1000",
        "membership --protocol silo --workers 2 --cluster 2 --transactions 20000",
        "list-append --protocol no-wait --workers 2 --cluster 2 --transactions 20000",
        "write-skew --protocol silo --workers 2 --cluster 2",
    ] {
        let summary = told(&format!("check {line}"));
        assert_eq!(summary["passed"], true, "{line}: {summary:#}");
        assert!(summary["machine"].as_str().expect("a name").ends_with("processes"), "{summary:#}");
    }
}

/// The audit reads all of the tables, at all nodes.
#[test]
fn what_is_measured_is_audited() {
    let folder = TempDir::new().expect("a folder");
    let out = folder.path().join("results");
    for workload in [
        "micro --records 2000 --remote 5",
        "micro --records 2000 --remote 5 --channel shared-memory",
        "smallbank --customers 1000 --hot-customers 100",
        "tpcc --warehouses 2",
    ] {
        let line = "--protocol no-wait --workers 2 --cluster 2 --warmup 20ms --duration 100ms --repeat 2";
        let line = format!("run {workload} {line} --out {}", out.display());
        let summary = told(&line);
        let checks = summary["checks"].as_array().expect("checks");
        assert!(checks.iter().any(|check| check["name"] == "audit"), "{summary:#}");
        assert!(checks.iter().all(|check| check["passed"] == true), "{summary:#}");
        assert!(summary["throughput_per_s"].as_f64().is_some_and(|per_s| per_s > 0.0), "{summary:#}");
        assert!(out.join("report.html").exists());
        fs::remove_dir_all(&out).expect("results");
    }
}

#[test]
fn every_system_that_spans_processes_is_compared() {
    let line =
        "compare micro --records 1000 --workers 2 --cluster 2 --warmup 10ms --duration 30ms --repeat 1";
    let folder = TempDir::new().expect("a folder");
    let comparison = told(&format!("{line} --out {}/results", folder.path().display()));
    let systems = comparison["rows"].as_array().expect("systems");
    let measured = systems.iter().filter(|system| system["throughput_per_s"].is_number());
    let mut protocols: Vec<&str> =
        measured.map(|system| system["protocol"].as_str().expect("a name")).collect();
    protocols.sort_unstable();
    assert_eq!(protocols, ["no-wait", "silo"]);
}

/// One file has the deployments of one process, of several, and of MPI: each is measured where it fits, and else left out.
#[test]
fn a_sweep_measures_what_is_a_deployment_of_the_nodes() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("channels.toml");
    let text = |systems: &str| {
        format!(
            "workload = 'micro'\n[base]\nrecords = 1000\nhot = 0\noperations = 2\nremote = 'any-but-one'\nmulti-partition = 20\nworkers = 2\n\
             warmup = '5ms'\nduration = '30ms'\nrepeat = 1\n[axes]\nsystem = [{systems}]\n"
        )
    };
    let [one, shared, tcp, mpi] = [
        "instances=one",
        "instances=per-core",
        "instances=per-core channel=tcp",
        "instances=per-core channel=mpi",
    ]
    .map(|options| format!("'shared-everything no-wait {options}', "));
    fs::write(
        &file,
        text(&[&*one, &*shared.replace("core", "core channel=shared-memory"), &*tcp, &*mpi].concat()),
    )
    .expect("a file");
    for (cluster, out, measured, left_out) in [
        ("", "alone", 3, &["channel mpi: allowed: shared-memory, unix, tcp"][..]),
        (
            "--cluster 2",
            "together",
            2,
            &["instances 1: allowed: 2 with --cluster", "channel mpi: allowed: shared-memory, unix, tcp"][..],
        ),
    ] {
        let out = folder.path().join(out);
        let swept = told(&format!("sweep {} {cluster} --out {}", file.display(), out.display()));
        let points = swept["points"].as_array().expect("points");
        assert_eq!(points.len(), measured, "{cluster}: {swept:#}");
        let has_committed =
            |point: &Value| point["summary"]["throughput_per_s"].as_f64().is_some_and(|per_s| per_s > 0.0);
        assert!(points.iter().all(has_committed), "{cluster}: {swept:#}");
        let whys = swept["left_out"].as_array().expect("what is left out");
        assert_eq!(whys.len(), left_out.len(), "{whys:?}");
        for (why, expected) in whys.iter().zip(left_out) {
            assert!(why["why"].as_str().is_some_and(|why| why.starts_with(expected)), "{why}");
        }
    }
    // Of nothing there is no sweep.
    fs::write(&file, text(&one)).expect("a file");
    let refused =
        output(&format!("sweep {} --cluster 2 --out {}/none", file.display(), folder.path().display()));
    assert_eq!(refused.status.code(), Some(2));
    assert!(words(&refused).contains("channels.toml:13:"), "{}", words(&refused));
    assert!(words(&refused).contains("instances 1: allowed: 2 with --cluster"), "{}", words(&refused));
}

#[test]
fn what_does_not_fit_is_refused_in_words() {
    for (options, allowed) in [
        ("--cluster 1 --workers 2", "allowed: 2 to 256 nodes"),
        ("--cluster 0 --workers 2", "allowed: 2 to 256 nodes"),
        ("--cluster nobody.toml --workers 2", "a number of processes, or a cluster file"),
        ("--cluster 2 --channel pigeons --workers 2", "allowed: shared-memory, unix, tcp, mpi"),
        ("--cluster 2 --channel mpi --workers 2", "mpirun --bind-to none -n N trireme-mpi"),
        ("--cluster 2 --instances 4 --workers 4", "allowed: 2 with --cluster"),
        ("--cluster 2 --workers 3", "2 nodes; allowed: as many as divide the 3 workers of --workers"),
        ("--cluster 99999 --workers 2", "allowed: 2 to 256 nodes"),
        ("--cluster 2 --workers 2 --global-ids on", "allowed: off with --cluster"),
        ("--cluster 2 --on machines/haswell-ex-4x18.toml --workers 2", "allowed: hardware with --cluster"),
        ("--cluster 2 --architecture dora --workers 2", "do not span processes"),
        ("--cluster 2 --records many --workers 2", "--records many"),
    ] {
        let refused = output(&format!("run micro --protocol no-wait {options}"));
        let said = words(&refused);
        assert_eq!(refused.status.code(), Some(2), "{options}: {said}");
        assert_eq!(said.lines().count(), 1, "one node speaks: {said}");
        assert!(said.contains(allowed), "{options}: {said}");
    }
    // Nor do processes log where one process has; where processes have, one process does not (`what_was_acknowledged_survives_kills_at_all_instances`).
    let log = TempDir::new().expect("a folder");
    fs::write(log.path().join("MANIFEST"), "").expect("a file");
    let options = format!("--durability group --log {}", log.path().display());
    let refused = output(&format!("run micro --protocol silo --workers 2 --cluster 2 {options}"));
    assert_eq!(refused.status.code(), Some(2), "{}", words(&refused));
    let allowed = "allowed: a folder without a log of one process";
    assert!(words(&refused).contains(allowed), "{}", words(&refused));
    assert!(!log.path().join("instance-0").exists(), "nothing is laid down beside it");
}

#[test]
fn nodes_that_wait_serve_run_after_run_for_those_who_know_the_secret() {
    let folder = TempDir::new().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("a file");
        path
    };
    let secret = write("secret", "sixteen bytes, or more");
    write("another", "sixteen other bytes, or more");
    let node = Waiting::at("127.0.0.1:0", &secret, "");
    let cluster = |name: &str, secret: &str| {
        let text = format!("secret = \"{secret}\"\n[[node]]\n[[node]]\naddress = \"{}\"\n", node.address);
        write(name, &text).display().to_string()
    };
    let (right, wrong) = (cluster("right.toml", "secret"), cluster("wrong.toml", "another"));

    let check =
        |file: &str| format!("check micro --protocol silo --workers 2 --transactions 2000 --cluster {file}");
    for _ in 0..2 {
        assert_eq!(told(&check(&right))["passed"], true);
        node.says("the run is over (exit status: 0)");
    }

    let refused = output(&check(&wrong));
    assert_eq!(refused.status.code(), Some(2));
    assert!(words(&refused).contains("its secret is another one"), "{}", words(&refused));
    node.says("its secret is another one");

    let mut stranger = TcpStream::connect(node.address).expect("it waits");
    stranger.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("room");
    node.says("it does not speak as a node of trireme does");
    let mut told = Vec::new();
    let _ = stranger.read_to_end(&mut told);
    assert!(told.is_empty(), "a stranger is told nothing");

    assert_eq!(self::told(&check(&right))["passed"], true, "whoever came in between");
}

/// Local addresses of a process' connections over TCP.
fn addresses(process: u32) -> BTreeSet<Ipv4Addr> {
    let files = fs::read_dir(format!("/proc/{process}/fd")).expect("a process that runs").flatten();
    let sockets: BTreeSet<String> = files
        .filter_map(|file| fs::read_link(file.path()).ok())
        .filter_map(|file| Some(file.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
        .collect();
    let all = fs::read_to_string(format!("/proc/{process}/net/tcp")).expect("connections");
    all.lines()
        .skip(1)
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|words| sockets.contains(words[9]))
        .map(|words| {
            Ipv4Addr::from_bits(u32::from_str_radix(&words[1][..8], 16).expect("an address").swap_bytes())
        })
        .collect()
}

/// The first node, one that it starts, and one that waits where nobody reaches a loopback: as if it were on another host. Where this host has no address but those, the loopback's second.
#[test]
fn a_node_of_the_first_ones_host_is_reached_from_others() {
    let away = UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
        // Nothing is sent.
        socket.connect("192.0.2.1:9")?;
        socket.local_addr()
    });
    let away = away.map_or(IpAddr::from([127, 0, 0, 2]), |address| address.ip());
    let folder = TempDir::new().expect("a folder");
    let secret = folder.path().join("secret");
    fs::write(&secret, "sixteen bytes, or more").expect("a file");
    let node = Waiting::at(&format!("{away}:0"), &secret, "");
    let file = folder.path().join("cluster.toml");
    let text = format!("secret = \"secret\"\n[[node]]\n[[node]]\n[[node]]\naddress = \"{}\"\n", node.address);
    fs::write(&file, text).expect("a file");
    let line = |transactions: u64| {
        format!(
            "check micro --records 100 --protocol silo --workers 3 --channel tcp --transactions {transactions} --cluster {}",
            file.display()
        )
    };
    assert_eq!(told(&line(300))["passed"], true);

    let mut run = trireme(&line(50_000_000)).stdout(Stdio::null()).spawn().expect("the binary starts");
    let child = await_one_child(run.id());
    let began = Instant::now();
    let (first, child) = loop {
        let (first, child) = (addresses(run.id()), addresses(child));
        if !child.is_empty() || began.elapsed() > Duration::from_secs(60) {
            break (first, child);
        }
        thread::sleep(Duration::from_millis(5));
    };
    run.kill().expect("it runs");
    run.wait().expect("a child");
    assert!(!child.is_empty() && child == first, "{child:?}, and the first node {first:?}");
    if !away.is_loopback() {
        assert!(first.iter().all(|address| IpAddr::from(*address) == away), "{first:?}");
    }
}

/// What an authority signs for nodes of this host: `NAME.pem`, `NAME.key`, and its own certificate in `NAME-ca.pem`.
fn sign(folder: &Path, name: &str) {
    let authority = authority(folder, name);
    sign_for(folder, &authority, name, "127.0.0.1");
}

type Authority = CertifiedIssuer<'static, KeyPair>;

/// An authority that signs.
fn authority(folder: &Path, name: &str) -> Authority {
    let mut authority = CertificateParams::new(Vec::new()).expect("no addresses");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.distinguished_name.push(DnType::CommonName, name);
    let key = KeyPair::generate().expect("a key");
    let authority = CertifiedIssuer::self_signed(authority, key).expect("a certificate");
    fs::write(folder.join(format!("{name}-ca.pem")), authority.pem()).expect("a file");
    authority
}

/// A certificate of an address, and its key.
fn sign_for(folder: &Path, authority: &Authority, name: &str, address: &str) {
    let node = CertificateParams::new(vec![address.to_owned()]).expect("an address");
    let key = KeyPair::generate().expect("a key");
    let certificate = node.signed_by(&key, authority).expect("a certificate");
    fs::write(folder.join(format!("{name}.pem")), certificate.pem()).expect("a file");
    fs::write(folder.join(format!("{name}.key")), key.serialize_pem()).expect("a file");
}

/// Workers and the first node talk over TCP with a node that waits, and one that the first node starts.
#[test]
fn what_nodes_say_is_encrypted_where_that_is_asked_for() {
    let folder = TempDir::new().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    fs::write(at("secret"), "sixteen bytes, or more").expect("a file");
    let own_authority = authority(folder.path(), "own");
    sign_for(folder.path(), &own_authority, "own", "127.0.0.1");
    sign_for(folder.path(), &own_authority, "far", "10.0.0.9");
    fs::copy(at("own-ca.pem"), at("far-ca.pem")).expect("a file");
    sign(folder.path(), "other");
    let proofs = format!(
        "--tls-certificate {} --tls-key {} --tls-authority {}",
        at("own.pem"),
        at("own.key"),
        at("own-ca.pem")
    );
    let node = Waiting::at("127.0.0.1:0", &folder.path().join("secret"), &proofs);
    let cluster = |name: &str| {
        let mut text = "secret = \"secret\"\n[[node]]\n[[node]]\n".to_owned();
        text += &format!("[[node]]\naddress = \"{}\"\n", node.address);
        if name != "plain" {
            text += &format!(
                "[tls]\ncertificate = \"{name}.pem\"\nkey = \"{name}.key\"\nauthority = \"{name}-ca.pem\"\n"
            );
        }
        fs::write(at(&format!("{name}.toml")), text).expect("a file");
        format!("--protocol silo --workers 3 --cluster {}", at(&format!("{name}.toml")))
    };
    let (own, other, plain) = (cluster("own"), cluster("other"), cluster("plain"));
    let check = format!("check micro --transactions 500 --channel tcp {own}");
    for _ in 0..2 {
        assert_eq!(told(&check)["passed"], true);
        node.says("the run is over (exit status: 0)");
    }
    for (line, of_node, of_first) in [
        (other, "its certificate is of another authority", "it does not know the authority"),
        (plain, "it speaks TLS, which is not asked for here", "it speaks plain text, where TLS is wanted"),
    ] {
        let refused = output(&format!("check micro --transactions 500 {line}"));
        assert_eq!(refused.status.code(), Some(2));
        assert!(words(&refused).contains(of_node), "{}", words(&refused));
        node.says(of_first);
    }
    // The first node's own certificate is looked at by workers that connect to it: which of them says so first is chance.
    let refused = output(&format!("check micro --transactions 500 --channel tcp {}", cluster("far")));
    assert_eq!(refused.status.code(), Some(1));
    let said = words(&refused);
    assert!(said.contains(" has dropped out: it cannot connect to node 0, at 127.0.0.1:"), "{said}");
    node.says("it cannot connect to node 0");
    let mut stranger = TcpStream::connect(node.address).expect("it waits");
    stranger.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("room");
    node.says("it speaks plain text, where TLS is wanted");
    drop(TcpStream::connect(node.address).expect("it waits"));
    node.says("it closes the connection, where TLS is wanted");

    // A node that dies is noticed as ever.
    let line =
        format!("check micro --records 100 --hot-records 4 --transactions 50000000 --channel tcp {own}");
    let run = trireme(&line).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the binary starts");
    let begins = node.says("a run begins, in process ");
    thread::sleep(Duration::from_secs(1));
    let process = begins.rsplit(' ').next().and_then(|process| process.parse().ok()).expect("a number");
    signal(process, "-KILL");
    ends_with_words(run, Duration::from_secs(10), "instance 2 has dropped out: its process has ended");
    assert_eq!(told(&check)["passed"], true, "whoever came in between");
}

#[test]
fn a_node_wants_a_secret_and_an_address() {
    let folder = TempDir::new().expect("a folder");
    let secret = folder.path().join("secret");
    fs::write(&secret, "short").expect("a file");
    for (options, allowed) in [
        ("", "--secret"),
        (&*format!("--secret {}", secret.display()), "allowed: 16 or more"),
        ("--secret nowhere --listen somewhere", "an address and a port"),
        ("--secret nowhere --tls-key node.key", "--tls-certificate"),
        ("--config nowhere.toml", "--config nowhere.toml: allowed: a cluster file ("),
    ] {
        let refused = output(&format!("node {options}"));
        assert_eq!(refused.status.code(), Some(2));
        assert!(words(&refused).contains(allowed), "{}", words(&refused));
    }
}
