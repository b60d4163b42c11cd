//! Nodes that tests start, watch and kill.

#![allow(dead_code, reason = "each test uses some of it")]

use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

pub fn trireme(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trireme"));
    command.args(line.split_whitespace());
    command
}

pub fn output(line: &str) -> Output {
    trireme(line).output().expect("the binary starts")
}

pub fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What a check, or a run, says as JSON.
pub fn told(line: &str) -> Value {
    let output = output(&format!("{line} --json"));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{line}: {}{said}", words(&output));
    serde_json::from_slice(&output.stdout).expect("JSON, and of one node only")
}

/// A node that waits for runs, and what it says.
pub struct Waiting {
    pub node: Child,
    pub address: SocketAddr,
    log: mpsc::Receiver<String>,
}

impl Waiting {
    /// Started with these options besides.
    pub fn at(address: &str, secret: &Path, options: &str) -> Waiting {
        Self::started(&format!("node --listen {address} --secret {} {options}", secret.display()))
    }

    /// As this line says.
    pub fn started(line: &str) -> Waiting {
        Self::by(trireme(line))
    }

    /// By this command.
    pub fn by(mut command: Command) -> Waiting {
        let mut node = command.stderr(Stdio::piped()).spawn().expect("the binary starts");
        let said = BufReader::new(node.stderr.take().expect("a pipe"));
        let (sends, log) = mpsc::channel();
        thread::spawn(move || said.lines().map_while(Result::ok).try_for_each(|line| sends.send(line)));
        let first = log.recv_timeout(Duration::from_secs(20)).expect("it says where it waits");
        let address = first.rsplit(' ').next().and_then(|address| address.parse().ok());
        Waiting { node, address: address.unwrap_or_else(|| panic!("no address: {first}")), log }
    }

    /// The first line with these words.
    pub fn says(&self, words: &str) -> String {
        loop {
            let line =
                self.log.recv_timeout(Duration::from_secs(20)).unwrap_or_else(|_| panic!("no '{words}'"));
            if line.contains(words) {
                return line;
            }
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = self.node.kill();
        let _ = self.node.wait();
    }
}

/// What the system says of a process, behind its name: its state, its parent, and more.
pub fn stat(process: &str) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    Some(stat.rsplit(") ").next()?.split(' ').map(str::to_owned).collect())
}

/// The processes that `parent` has started.
pub fn children(parent: u32) -> Vec<u32> {
    let all = fs::read_dir("/proc").expect("the system's processes").flatten();
    let names = all.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let is_child = |name: &String| stat(name).is_some_and(|stat| stat[1] == parent.to_string());
    let mut children: Vec<u32> = names.filter(is_child).filter_map(|name| name.parse().ok()).collect();
    children.sort_unstable();
    children
}

pub fn signal(process: u32, signal: &str) {
    let sent = Command::new("sh").args(["-c", &format!("kill {signal} {process}")]).status();
    assert!(sent.expect("a shell").success());
}

pub fn is_there(process: u32) -> bool {
    // One that nobody has asked for is there, too, and does nothing.
    stat(&process.to_string()).is_some_and(|stat| stat[0] != "Z")
}

/// Waits until all of these processes run transactions.
pub fn await_workers(processes: &[u32]) {
    let is_worker = |thread: fs::DirEntry| {
        fs::read_to_string(thread.path().join("comm")).is_ok_and(|name| name.starts_with("worker"))
    };
    let has_workers = |process: &u32| {
        let threads = fs::read_dir(format!("/proc/{process}/task"));
        threads.is_ok_and(|threads| threads.flatten().any(is_worker))
    };
    let began = Instant::now();
    while !processes.iter().all(has_workers) {
        let waits = began.elapsed() < Duration::from_secs(60);
        assert!(
            waits,
            "no workers: {:?}",
            processes.iter().map(|&one| (one, is_there(one))).collect::<Vec<_>>()
        );
        thread::sleep(Duration::from_millis(1));
    }
    thread::sleep(Duration::from_millis(100));
}

/// How a run ends that goes on for no longer.
pub fn ends_within(run: &mut Child, within: Duration) -> ExitStatus {
    let began = Instant::now();
    loop {
        if let Some(status) = run.try_wait().expect("a child") {
            return status;
        }
        assert!(began.elapsed() < within, "it waits for ever");
        thread::sleep(Duration::from_millis(5));
    }
}

pub fn ends_with_words(mut run: Child, within: Duration, expected: &str) -> String {
    let status = ends_within(&mut run, within);
    let mut said = String::new();
    run.stderr.take().expect("a pipe").read_to_string(&mut said).expect("words");
    assert!(matches!(status.code(), Some(1 | 2)), "{said}");
    assert!(said.contains(expected), "{said}");
    said
}

pub fn all_are_gone(nodes: &[u32]) {
    let began = Instant::now();
    while nodes.iter().any(|node| is_there(*node)) {
        assert!(began.elapsed() < Duration::from_secs(10), "nodes that nobody needs go on");
        thread::sleep(Duration::from_millis(5));
    }
}

/// How much of a log's file has been written: it is zeroed ahead of that.
pub fn written(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)
}

/// Until so many bytes of each log are there.
pub fn await_written(files: &[String], least: usize) {
    let began = Instant::now();
    let is_there = |file: &String| fs::read(file).is_ok_and(|bytes| written(&bytes) >= least);
    while !files.iter().all(is_there) {
        assert!(began.elapsed() < Duration::from_secs(30), "{files:?} do not grow");
        thread::sleep(Duration::from_millis(20));
    }
}

pub fn await_one_child(parent: u32) -> u32 {
    let began = Instant::now();
    loop {
        // One that was killed is a child still, until its parent has asked for it.
        let there: Vec<u32> = children(parent).into_iter().filter(|&child| is_there(child)).collect();
        if let [child] = there[..] {
            return child;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "no node is started");
        thread::sleep(Duration::from_millis(1));
    }
}
