//! Nodes listen on the loopback address alone, and end with whoever started them: when they are dropped, after a panic, and when that process is killed.
//! No folder of theirs is left behind.

use ignite::nodes::Nodes;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Whether a process is there, and is not a dead one of which nobody has asked yet how it ended.
fn is_there(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// The sockets on which a process listens, as the system writes their addresses.
fn listening(process: u32) -> Vec<String> {
    let of = |entry: fs::DirEntry| fs::read_link(entry.path()).ok()?.to_str().map(str::to_owned);
    let open = fs::read_dir(format!("/proc/{process}/fd")).expect("a process of ours").flatten();
    let sockets: Vec<String> = open.filter_map(of).filter(|link| link.starts_with("socket:[")).collect();
    let mut found = Vec::new();
    for table in ["tcp", "tcp6"] {
        let table = fs::read_to_string(format!("/proc/{process}/net/{table}")).unwrap_or_default();
        for line in table.lines().skip(1) {
            let columns: Vec<&str> = line.split_whitespace().collect();
            let (address, state, inode) = (columns[1], columns[3], columns[9]);
            if state == "0A" && sockets.contains(&format!("socket:[{inode}]")) {
                found.push(address.to_owned());
            }
        }
    }
    found
}

/// The processes that a process has started.
fn children(parent: u32) -> Vec<u32> {
    let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    let is_child = |process: &u32| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let of = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)?.parse().ok());
        of == Some(parent)
    };
    fs::read_dir("/proc").expect("Linux").flatten().filter_map(number).filter(is_child).collect()
}

fn wait_until_gone(processes: &[u32]) {
    let began = Instant::now();
    while processes.iter().any(|process| is_there(*process)) {
        assert!(began.elapsed() < Duration::from_secs(20), "still there: {processes:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn nodes_listen_on_loopback_alone_and_end_after_a_panic() {
    assert!(Path::new("/proc/self/stat").exists(), "this test reads what Linux tells of processes");
    let mut processes = Vec::new();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let nodes = Nodes::start(2, 1).expect("two nodes");
        processes = nodes.processes();
        for process in &processes {
            let listening = listening(*process);
            // For its clients, and for other nodes: to find it, and to talk with it.
            assert!(listening.len() >= 3, "{listening:?}");
            // 127.0.0.1, also as an address of version 6.
            let is_loopback =
                |address: &String| address.split(':').next().is_some_and(|host| host.ends_with("0100007F"));
            assert!(listening.iter().all(is_loopback), "{listening:?}");
        }
        panic!("on purpose");
    }));
    assert_eq!(*panicked.expect_err("a panic").downcast::<&str>().expect("ours"), "on purpose");
    assert_eq!(processes.len(), 2);
    wait_until_gone(&processes);
}

/// The program, with folders of its own for what is temporary.
fn ignite(temporary: &Path, transactions: &str) -> Command {
    let mut ignite = Command::new(env!("CARGO_BIN_EXE_ignite"));
    ignite.env("TMPDIR", temporary).args(["check", "smallbank", "--transactions", transactions]);
    ignite
}

fn left_in(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()).collect()
}

#[test]
fn a_run_that_ends_leaves_nothing_behind() {
    let temporary = tempfile::tempdir().expect("a folder");
    let done = ignite(temporary.path(), "200").output().expect("the program");
    // Whether so few transactions suffice is not the question.
    assert!(!done.stdout.is_empty(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(left_in(temporary.path()), Vec::<PathBuf>::new());
}

/// Starts the program, has `end` end it while it runs, and waits until its nodes and their folders are gone.
fn is_ended_by(end: impl FnOnce(&mut Child)) {
    let temporary = tempfile::tempdir().expect("a folder");
    let mut ignite = ignite(temporary.path(), "1000000")
        .process_group(0)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program");
    let said = BufReader::new(ignite.stderr.take().expect("a pipe"));
    let runs = said.lines().map_while(Result::ok).any(|line| line.starts_with("running"));
    let nodes = children(ignite.id());
    assert!(!left_in(temporary.path()).is_empty(), "nodes have folders while they run");
    end(&mut ignite);
    ignite.wait().expect("it was ended");
    assert!(runs && nodes.len() == 2, "{nodes:?}");
    wait_until_gone(&nodes);
    assert_eq!(left_in(temporary.path()), Vec::<PathBuf>::new());
}

#[test]
fn nodes_end_when_who_started_them_is_killed() {
    is_ended_by(|ignite| ignite.kill().expect("it runs"));
}

/// As a terminal does it: to the program and its nodes at once.
#[test]
fn nodes_end_when_all_are_interrupted() {
    is_ended_by(|ignite| {
        let group = format!("-{}", ignite.id());
        let sent = Command::new("kill").args(["-INT", "--", &group]).status().expect("the command");
        assert!(sent.success());
    });
}
