//! Running the binary as a person would.

#![allow(dead_code, reason = "every test file uses some of it")]

use serde_json::Value;
use std::ops::Deref;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// A small measurement: its numbers say nothing, but it is over at once.
pub const SHORT: [&str; 10] =
    ["--records", "2000", "--warmup", "5ms", "--duration", "60ms", "--repeat", "2", "--workers", "2"];

/// The binary, in `folder`.
pub fn trireme(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trireme"));
    command.current_dir(folder);
    command
}

/// What came of a command line.
pub struct Ran {
    /// The exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        Ran {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).expect("text"),
            err: String::from_utf8(output.stderr).expect("text"),
        }
    }
}

impl Ran {
    /// Standard output, which must be one JSON value and nothing else.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|error| panic!("{error} in {}\n{}", self.out, self.err))
    }
}

/// Asserts that a check found nothing wrong. On cores that others use, too, workers may hardly meet, and then it says so.
#[track_caller]
pub fn assert_nothing_wrong(ran: &Ran, what: &str) {
    let met = ran.code == Some(0);
    let hardly = ran.code == Some(2)
        && (ran.out.contains("too little happened") || ran.out.contains("\"too_little\""));
    assert!(met || hardly, "{what}\n{}\n{}", ran.out, ran.err);
}

/// Runs the binary with `arguments` in `folder`.
pub fn run(folder: &Path, arguments: &[&str]) -> Ran {
    trireme(folder).args(arguments).output().expect("the binary runs").into()
}

/// `arguments`, with those of a small measurement.
pub fn run_short(folder: &Path, arguments: &[&str]) -> Ran {
    run(folder, &[arguments, &SHORT].concat())
}

/// A measurement with `--json`, in a folder of its own, as long as it takes beside whatever else the machine does: until what it tells
/// `is_enough`. Answers the folder, and what it told.
#[track_caller]
pub fn run_until(name: &str, arguments: &[&str], is_enough: impl Fn(&Value) -> bool) -> (Scratch, Value) {
    for duration in ["100ms", "1s", "10s", "60s"] {
        let folder = fresh_folder(name);
        let ran =
            run(&folder, &[arguments, &["--warmup", "10ms", "--duration", duration, "--json"]].concat());
        assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.err);
        let told = ran.json();
        if is_enough(&told) {
            return (folder, told);
        }
    }
    panic!("not enough within a minute: {arguments:?}");
}

/// An empty folder for one test, which goes with it.
pub struct Scratch(TempDir);

impl Deref for Scratch {
    type Target = Path;

    fn deref(&self) -> &Path {
        self.0.path()
    }
}

/// A new, empty folder for one test.
pub fn fresh_folder(name: &str) -> Scratch {
    let prefix = format!("trireme-{name}-");
    Scratch(tempfile::Builder::new().prefix(&prefix).tempdir().expect("a folder for the test"))
}

/// The pairs that `list` names with an architecture and a protocol, and whether the engine has them.
pub fn pairs(folder: &Path) -> Vec<(String, bool)> {
    let list = run(folder, &["list", "pairs", "--json"]).json();
    let pairs = list["pairs"].as_array().expect("a list").iter();
    let name = |pair: &Value| pair["name"].as_str().expect("a name").to_owned();
    let is_there = |pair: &Value| pair["more"]["supported"] == true && pair["more"]["single_records"] != true;
    pairs.map(|pair| (name(pair), is_there(pair))).collect()
}

/// The pairs that the engine has.
pub fn systems(folder: &Path) -> Vec<String> {
    pairs(folder).into_iter().filter_map(|(name, is_there)| is_there.then_some(name)).collect()
}
