//! Instances that are processes, of which one is killed or stopped, has another's log, or loses who started it: the run ends with words,
//! leaves nothing behind, and what was acknowledged is recovered.

#[path = "common/nodes.rs"]
mod nodes;

use nodes::*;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A long run over some nodes, once it runs.
fn begin(protocol: &str, nodes: usize, channel: &str) -> (Child, Vec<u32>) {
    let line = format!(
        "check micro --records 100 --hot-records 4 --protocol {protocol} --workers {nodes} --cluster {nodes} --channel {channel} \
         --transactions 50000000"
    );
    let run = trireme(&line).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the binary starts");
    let began = Instant::now();
    let nodes = loop {
        let started = children(run.id());
        if started.len() == nodes - 1 {
            break started;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "nodes are not started");
        thread::sleep(Duration::from_millis(1));
    };
    (run, nodes)
}

/// At whatever moment of its life: while it loads, while transactions are prepared, or when it has hardly begun.
#[test]
fn a_node_that_is_killed_ends_the_run_with_words() {
    let channels =
        ["unix", "tcp", "shared-memory", "tcp", "shared-memory", "unix", "shared-memory", "shared-memory"];
    for (round, channel) in channels.into_iter().enumerate() {
        // Who reads waits for what is locked by a branch of a node that was killed.
        let protocol = if round < 2 { "no-wait" } else { "silo" };
        let (run, nodes) = begin(protocol, 2 + round % 2, channel);
        thread::sleep(Duration::from_millis([700, 900, 0, 30, 150, 1300, 800, 1100][round]));
        signal(*nodes.last().expect("a node"), "-KILL");
        ends_with_words(run, Duration::from_secs(10), "error: ");
        all_are_gone(&nodes);
    }
}

#[test]
fn the_node_that_was_killed_is_named() {
    let (run, nodes) = begin("no-wait", 3, "unix");
    await_workers(&[run.id(), nodes[0], nodes[1]]);
    signal(nodes[1], "-KILL");
    ends_with_words(
        run,
        Duration::from_secs(10),
        "instance 2 has dropped out: its process has ended (signal: 9 (SIGKILL))",
    );
    all_are_gone(&nodes);
}

/// The segments of memory that a process shares, by their numbers.
fn segments(process: u32) -> BTreeSet<String> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
    let number = |line: &str| line.split_whitespace().nth(4).map(str::to_owned);
    maps.lines().filter(|line| line.contains("/memfd:trireme")).filter_map(number).collect()
}

/// Processes that have one of these segments, mapped or open.
fn who_has(these: &BTreeSet<String>) -> BTreeSet<u32> {
    let processes = fs::read_dir("/proc").expect("the system's processes").flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let has_open = |process: u32| {
        let files = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
        files
            .filter(|file| fs::read_link(file.path()).is_ok_and(|to| to.starts_with("/memfd:trireme")))
            .filter_map(|file| fs::metadata(file.path()).ok())
            .any(|file| these.contains(&file.ino().to_string()))
    };
    numbers.filter(|process| !segments(*process).is_disjoint(these) || has_open(*process)).collect()
}

/// Nobody has to tidy up behind a node that was killed: a segment lives as long as a process has it, and its socket has no name any more.
#[test]
fn nothing_of_shared_memory_is_left_behind() {
    let (run, nodes) = begin("no-wait", 2, "shared-memory");
    let began = Instant::now();
    let shared = loop {
        let (first, other) = (segments(run.id()), segments(nodes[0]));
        if !first.is_empty() && first == other {
            break first;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "no segment: {first:?}, {other:?}");
        thread::sleep(Duration::from_millis(1));
    };
    assert_eq!(shared.len(), 1, "between two workers there is one");
    thread::sleep(Duration::from_millis(300));
    let processes = [run.id(), nodes[0]];
    assert_eq!(who_has(&shared), BTreeSet::from(processes));
    signal(nodes[0], "-KILL");
    let killed = Instant::now();
    ends_with_words(run, Duration::from_secs(10), "instance 1 has dropped out: its process has ended");
    assert!(killed.elapsed() < Duration::from_secs(5), "nobody waits for it");
    all_are_gone(&nodes);
    let has = who_has(&shared);
    assert!(has.is_empty(), "{has:?} have it still");
    let left = fs::read_dir(std::env::temp_dir()).expect("a folder").flatten().filter(|file| {
        let name = file.file_name().to_string_lossy().into_owned();
        processes.iter().any(|process| name.contains(&format!("trireme-{process}-")))
    });
    assert_eq!(left.count(), 0);
}

#[test]
fn a_node_that_is_stopped_is_not_waited_for() {
    let stopped = ["unix", "tcp", "shared-memory"].map(|channel| {
        let (run, nodes) = begin("silo", 2, channel);
        await_workers(&[run.id(), nodes[0]]);
        signal(nodes[0], "-STOP");
        (run, nodes)
    });
    for (run, nodes) in stopped {
        ends_with_words(run, Duration::from_secs(30), "nothing was heard from it for 10 s");
        all_are_gone(&nodes);
    }
}

/// What nodes of this host that say nothing have written.
fn folders_of(nodes: &[u32]) -> Vec<PathBuf> {
    let is_its = |name: &str| {
        let of = |node: &u32| {
            name.starts_with(&format!("trireme-node-{node}-"))
                || name.starts_with(&format!("trireme-{node}-"))
        };
        nodes.iter().any(of)
    };
    let all =
        fs::read_dir(std::env::temp_dir()).expect("a folder").map(|entry| entry.expect("an entry").path());
    all.filter(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(is_its)).collect()
}

/// Whoever sits at the terminal interrupts all of its processes.
#[test]
fn nothing_is_left_behind_by_an_interrupt() {
    let folder = TempDir::new().expect("a folder");
    let out = folder.path().join("out");
    for (line, interrupts) in [
        ("check micro --protocol silo --workers 2 --transactions 50000000".to_owned(), 1),
        (format!("run micro --protocol silo --workers 2 --duration 60s --out {}", out.display()), 2),
    ] {
        let mut run = trireme(&format!("{line} --cluster 2"));
        let mut run = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary starts");
        let node = await_one_child(run.id());
        await_workers(&[run.id(), node]);
        if interrupts == 2 {
            assert!(!folders_of(&[node]).is_empty(), "{line}: nothing is written yet");
        }
        for _ in 0..interrupts {
            signal(node, "-INT");
            thread::sleep(Duration::from_millis(50));
            signal(run.id(), "-INT");
            thread::sleep(Duration::from_millis(200));
        }
        let began = Instant::now();
        while run.try_wait().expect("a child").is_none() {
            assert!(began.elapsed() < Duration::from_secs(10), "{line}: it goes on");
            thread::sleep(Duration::from_millis(5));
        }
        all_are_gone(&[node]);
        assert_eq!(folders_of(&[node]), Vec::<PathBuf>::new(), "{line}");
        if interrupts == 2 {
            // What the second one ends is nobody's failure.
            assert_eq!(run.wait().expect("a child").code(), Some(130), "{line}");
        }
    }
}

#[test]
fn nodes_end_with_who_has_started_them() {
    let (mut run, nodes) = begin("silo", 3, "tcp");
    thread::sleep(Duration::from_secs(1));
    run.kill().expect("it runs");
    run.wait().expect("a child");
    all_are_gone(&nodes);
}

/// Bytes of a log that end within its first block: behind the file's header and that block's own.
const FIRST_BLOCK_TORN: usize = 64 + 48 + 8;

/// Of a transaction that spans instances there is all or nothing, at all of them, whichever was killed, and all that was acknowledged is there.
#[test]
fn what_was_acknowledged_survives_kills_at_all_instances() {
    let folder = TempDir::new().expect("a folder");
    let rounds = [
        ("no-wait", "group", "unix"),
        ("silo", "sync", "unix"),
        ("silo", "buffered", "shared-memory"),
        ("no-wait", "sync", "shared-memory"),
    ];
    for (round, (protocol, level, channel)) in rounds.into_iter().enumerate() {
        let log = folder.path().join(format!("log-{round}"));
        let (log, out) = (log.display(), folder.path().join(format!("out-{round}")));
        let line = format!(
            "run tpcc --warehouses 2 --items 200 --customers 30 --remote-payments 50 --remote-items 20 --protocol {protocol} --workers 2 \
             --cluster 2 --channel {channel} --durability {level} --log {log} --epoch 5ms --duration 60s --repeat 1 --out {}",
            out.display()
        );
        let mut run = trireme(&line).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
        let node = await_one_child(run.id());
        await_workers(&[run.id(), node]);
        let files = [0, 1].map(|instance| format!("{log}/instance-{instance}/log-000000-0000-00000000.trl"));
        await_written(&files, 64 << 10);
        thread::sleep(Duration::from_millis(130 * round as u64));
        let acknowledged = match round {
            // The first node is gone, and nobody is there to say what was acknowledged.
            3 => {
                run.kill().expect("it runs");
                run.wait().expect("a child");
                0
            }
            _ => {
                signal(node, "-KILL");
                let said =
                    ends_with_words(run, Duration::from_secs(10), "is there once the log is recovered");
                let epoch = said.split("up to epoch ").nth(1).and_then(|rest| rest.split(',').next());
                epoch.and_then(|epoch| epoch.parse().ok()).unwrap_or_else(|| panic!("no epoch: {said}"))
            }
        };
        all_are_gone(&[node]);
        let recovered = told(&format!("recover {log} --cluster 2"));
        let epoch = recovered["epoch"].as_u64().expect("a number");
        assert!(epoch >= acknowledged, "{acknowledged} was acknowledged, and {epoch} recovered");
        assert!(recovered["transactions"].as_u64() > Some(20), "{recovered:#}");
        let checks = recovered["checks"].as_array().expect("checks");
        assert!(checks.len() == 14 && checks.iter().all(|check| check["passed"] == true), "{recovered:#}");

        let alone = output(&format!("recover {log}/instance-0"));
        assert!(words(&alone).contains("allowed: --cluster 2"), "{}", words(&alone));
        let others = output(&format!("recover {log} --cluster 3"));
        assert!(!others.status.success(), "of two");
        let beside = output(&format!("run ycsb --protocol silo --workers 1 --durability group --log {log}"));
        let words_of_it = words(&beside);
        assert!(
            words_of_it.contains("allowed: a folder without a log of several instances"),
            "{words_of_it}"
        );

        // Under `buffered` a log that has lost its end is no corrupt one: nobody promised to keep it.
        if acknowledged > 0 && level != "buffered" {
            let bytes = fs::read(&files[1]).expect("a log");
            // Of what was written last nobody may know yet: so the first block is torn, which was acknowledged for certain.
            assert!(written(&bytes) > FIRST_BLOCK_TORN);
            fs::write(&files[1], &bytes[..FIRST_BLOCK_TORN]).expect("a log");
            let cut = output(&format!("recover {log} --cluster 2"));
            assert!(words(&cut).contains("instance 1: the log ends at epoch"), "{}", words(&cut));
        }
    }
}

/// What one node alone has recovered is not what was logged, and is not told as that. YCSB has no audit, which would ask all nodes afterwards.
#[test]
fn a_node_that_dies_while_it_recovers_ends_the_recovery() {
    let folder = TempDir::new().expect("a folder");
    let (log, out) = (folder.path().join("log"), folder.path().join("out"));
    let log = log.display();
    told(&format!(
        "run ycsb --records 400000 --protocol silo --workers 2 --cluster 2 --durability group --log {log} --warmup 5ms --duration 50ms --repeat 1 \
         --out {}",
        out.display()
    ));
    let line = format!("recover {log} --cluster 2");
    for after in [0, 200] {
        let words = folder.path().join(format!("words-{after}"));
        let file = fs::File::create(&words).expect("a file");
        let mut run = trireme(&line).stdout(Stdio::null()).stderr(file).spawn().expect("it starts");
        let node = await_one_child(run.id());
        let said = || fs::read_to_string(&words).expect("words");
        while !said().contains("loading") {
            assert!(run.try_wait().expect("a child").is_none(), "{}", said());
            thread::sleep(Duration::from_millis(1));
        }
        // Stopped before: on a fast machine it would have recovered by then.
        signal(node, "-STOP");
        thread::sleep(Duration::from_millis(after));
        assert!(is_there(node), "it has recovered before it was killed");
        signal(node, "-KILL");
        let status = ends_within(&mut run, Duration::from_secs(60));
        assert_eq!(status.code(), Some(1), "{}", said());
        assert!(said().contains("instance 1 has dropped out"), "{}", said());
    }
    let recovered = told(&line);
    assert!(recovered["transactions"].as_u64() > Some(0), "{recovered:#}");

    // A log that is in another one's place is wrong input, whoever finds it.
    for (taken, place) in [(0, 1), (1, 0)] {
        let wrong = folder.path().join(format!("wrong-{place}"));
        for (instance, of) in [(place, taken), (taken, taken)] {
            let (from, to) = (format!("{log}/instance-{of}"), wrong.join(format!("instance-{instance}")));
            fs::create_dir_all(&to).expect("a folder");
            for entry in fs::read_dir(from).expect("a log") {
                let entry = entry.expect("a file");
                fs::copy(entry.path(), to.join(entry.file_name())).expect("a copy");
            }
        }
        let refused = output(&format!("recover {} --cluster 2", wrong.display()));
        assert_eq!(refused.status.code(), Some(2), "{}", words(&refused));
        let expected = format!("instance {place}: its log is that of instance {taken}");
        assert!(words(&refused).contains(&expected), "{}", words(&refused));
    }
}

/// Where each store has a log of its own, which goes with it, nobody is told to recover it: neither of one in which transactions commit, nor of one that has just begun.
#[test]
fn who_loses_a_node_is_not_sent_to_a_log_that_is_gone() {
    for commits in [false, true] {
        let folder = TempDir::new().expect("a folder");
        let (log, out) = (folder.path().join("log"), folder.path().join("out"));
        let line = format!(
            "compare micro --cluster 2 --workers 2 --durability group --log {} --duration 60s --repeat 1 --out {}",
            log.display(),
            out.display()
        );
        let run = trireme(&line).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
        let node = await_one_child(run.id());
        let began = Instant::now();
        while !log.exists() {
            assert!(began.elapsed() < Duration::from_secs(60), "no log");
            thread::sleep(Duration::from_micros(100));
        }
        if commits {
            await_workers(&[run.id(), node]);
            thread::sleep(Duration::from_millis(300));
        }
        signal(node, "-KILL");
        let said = ends_with_words(run, Duration::from_secs(10), "instance 1 has dropped out");
        assert!(!said.contains("once the log is recovered"), "{said}");
        let left: Vec<_> =
            fs::read_dir(&log).expect("a folder").flatten().map(|entry| entry.path()).collect();
        assert!(left.is_empty(), "{left:?} of a store that is gone (transactions committed: {commits})");
    }
}

/// What is wrong at another node ends the run as it would at the first one: no other input helps where a log cannot be written.
#[test]
fn a_log_that_another_node_cannot_begin_is_no_wrong_input() {
    let folder = TempDir::new().expect("a folder");
    for (instance, out) in [(0, "first"), (1, "second")] {
        let log = folder.path().join(out);
        fs::create_dir(&log).expect("a folder");
        fs::write(log.join(format!("instance-{instance}")), "in the way").expect("a file");
        let run = output(&format!(
            "run micro --records 1000 --protocol silo --workers 2 --cluster 2 --durability group --log {} --warmup 2ms --duration 10ms --repeat 1 \
             --out {}/results",
            log.display(),
            folder.path().display()
        ));
        assert_eq!(run.status.code(), Some(1), "{instance}: {}", words(&run));
        assert!(words(&run).contains(&format!("instance-{instance}")), "{}", words(&run));
        let beside = fs::read_dir(&log).expect("a folder").count();
        assert_eq!(beside, 1, "no log is begun at one of two");
    }
    // What somebody else has put where the first one's log would be is nobody's to take away.
    let log = folder.path().join("shared");
    fs::create_dir_all(log.join("instance-0")).expect("a folder");
    fs::write(log.join("instance-0/notes"), "mine").expect("a file");
    fs::write(log.join("instance-1"), "in the way").expect("a file");
    let run = output(&format!(
        "run micro --records 1000 --protocol silo --workers 2 --cluster 2 --durability group --log {} --warmup 2ms --duration 10ms --repeat 1 \
         --out {}/results",
        log.display(),
        folder.path().display()
    ));
    assert_eq!(run.status.code(), Some(1), "{}", words(&run));
    assert_eq!(fs::read_to_string(log.join("instance-0/notes")).expect("it is there"), "mine");
}

/// Every node reads the files that the command names: if they are not the same, nothing is measured.
#[test]
fn nodes_whose_files_differ_measure_nothing() {
    let folder = TempDir::new().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    fs::write(at("secret"), [7; 32]).expect("a file");
    fs::create_dir(at("there")).expect("a folder");
    let mut node = trireme("node --listen 127.0.0.1:0 --secret ../secret");
    node.current_dir(at("there"));
    let node = Waiting::by(node);
    let text = format!("secret = \"secret\"\n[[node]]\n[[node]]\naddress = \"{}\"\n", node.address);
    fs::write(at("cluster.toml"), text).expect("a file");
    let run = |line: &str| {
        let line = format!("{line} --workers 2 --cluster cluster.toml");
        let ended = trireme(&line).current_dir(folder.path()).output().expect("the binary starts");
        (ended.status.code(), words(&ended))
    };
    let refused = |line: &str, expected: &[&str]| {
        let (code, said) = run(line);
        assert_eq!(code, Some(2), "{line}: {said}");
        for words in expected {
            assert!(said.contains(words), "{line}: {said}");
        }
        node.says("the run is over");
    };
    let experiment = |multi_partition: u32| {
        format!(
            "workload = 'micro'\n[base]\nrecords = 1000\nhot = 0\noperations = 2\nremote = 'any-but-one'\nwarmup = '2ms'\nduration = '10ms'\n\
             repeat = 1\n[axes]\nmulti-partition = [{multi_partition}]\nsystem = ['shared-everything no-wait']\n"
        )
    };
    let there = at("there").canonicalize().expect("a folder").display().to_string();
    fs::write(at("my.toml"), experiment(0)).expect("a file");
    let sweep = "sweep my.toml --out results";
    refused(sweep, &["node 1, at ", &there, "my.toml: no such file"]);
    fs::write(at("there/my.toml"), experiment(100)).expect("a file");
    refused(
        sweep,
        &["node 1, at ", &there, "would measure something else: multi-partition 100 there, 0 at the first"],
    );
    assert!(!at("results").exists(), "nothing is begun");
    fs::write(at("there/my.toml"), experiment(0)).expect("a file");
    let (code, said) = run(sweep);
    assert_eq!(code, Some(0), "{said}");
    node.says("sweep my.toml");
    node.says("the run is over (exit status: 0)");

    let bank = |rows: u32| {
        format!(
            "[tables.accounts]\nrows = {rows}\ncolumns = ['balance']\n[transactions.pay]\nweight = 1\ndraw = [{{ name = 'who', row_of = 'accounts', remote = 50 }}]\n\
             steps = [{{ update = 'accounts', key = 'who', set = {{ balance = 'balance + 1' }} }}]\n"
        )
    };
    fs::write(at("bank.toml"), bank(2000)).expect("a file");
    fs::write(at("there/bank.toml"), bank(1000)).expect("a file");
    for line in [
        "run bank.toml --protocol no-wait --warmup 2ms --duration 10ms --repeat 1 --out run",
        "compare bank.toml --warmup 2ms --duration 10ms --repeat 1 --out compare",
        "check bank.toml --protocol silo --transactions 1000",
    ] {
        refused(line, &["node 1, at ", "would measure something else: contents "]);
    }
    fs::write(at("there/bank.toml"), bank(2000)).expect("a file");
    let (code, said) = run("check bank.toml --protocol silo --transactions 1000");
    assert_eq!(code, Some(0), "{said}");
}
