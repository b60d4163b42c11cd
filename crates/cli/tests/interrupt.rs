//! An interrupted measurement keeps the repetitions that had ended, and says so. One that is ended otherwise leaves nobody behind who goes on measuring.

mod common;
#[path = "common/nodes.rs"]
mod nodes;

use common::{Ran, fresh_folder, trireme};
use nodes::{all_are_gone, await_one_child, signal};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

/// More repetitions than anybody waits for.
const SMALL: [&str; 12] = [
    "--records",
    "2000",
    "--workers",
    "2",
    "--warmup",
    "1ms",
    "--duration",
    "10ms",
    "--repeat",
    "1000",
    "--json",
    "--progress",
];

/// Runs the line, and interrupts it once more than `runs` runs have begun.
fn interrupted(folder: &Path, line: &[&str], runs: usize) -> Ran {
    let mut command = trireme(folder);
    command.args(line).args(SMALL).args(["--out", "kept"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary runs");
    let mut told = BufReader::new(child.stderr.take().expect("piped"));
    let mut answer = child.stdout.take().expect("piped");
    // Beside the rest: a comparison is more than a pipe holds.
    let answer = thread::spawn(move || {
        let mut out = String::new();
        answer.read_to_string(&mut out).expect("text");
        out
    });
    let mut err = String::new();
    loop {
        let mut line = String::new();
        assert!(told.read_line(&mut line).expect("text") > 0, "it has ended: {err}");
        err += &line;
        let begun = line.strip_prefix("run ").and_then(|line| line.split(' ').next()?.parse().ok());
        if begun.is_some_and(|begun: usize| begun > runs) {
            break;
        }
    }
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().expect("there is such a command").success());
    told.read_to_string(&mut err).expect("text");
    let code = child.wait().expect("it ends").code();
    Ran { code, out: answer.join().expect("no panic"), err }
}

fn said(kept: &Value) -> String {
    format!("interrupted: {kept} of 1000 repetitions measured")
}

#[test]
fn an_interrupted_run_keeps_its_repetitions() {
    let folder = fresh_folder("interrupted-run");
    let ran = interrupted(&folder, &["run", "micro", "--protocol", "silo"], 1);
    assert_eq!(ran.code, Some(130), "{}", ran.err);
    assert!(ran.err.contains("interrupted: ends with the repetition that runs, "), "{}", ran.err);
    let summary = ran.json();
    let kept = &summary["repetitions"];
    assert!((1..1000).contains(&kept.as_u64().expect("a number")), "{kept}");
    let warnings = summary["warnings"].as_array().expect("a list");
    assert!(warnings.contains(&said(kept).into()), "{warnings:?}");
    let written: Value =
        serde_json::from_str(&fs::read_to_string(folder.join("kept/summary.json")).expect("the results"))
            .expect("JSON");
    assert_eq!(written, summary);
}

#[test]
fn an_interrupted_comparison_keeps_whole_rounds() {
    let folder = fresh_folder("interrupted-compare");
    // More than two rounds of all systems.
    let ran = interrupted(&folder, &["compare", "micro"], 150);
    assert_eq!(ran.code, Some(130), "{}", ran.err);
    let comparison = ran.json();
    let rows = comparison["rows"].as_array().expect("rows");
    let measured: Vec<&Value> = rows.iter().filter(|row| row["supported"] == true).collect();
    let kept = &measured[0]["repetitions"];
    assert!(kept.as_u64() >= Some(2), "{kept}");
    assert!(measured.iter().all(|row| row["repetitions"] == *kept), "{}", ran.out);
    assert_eq!(comparison["warnings"][0], said(kept).as_str());
    assert_eq!(comparison["turns"]["interrupted"], said(kept).as_str());
    assert!(folder.join("kept/report.html").exists());
}

/// Who is told to end (SIGTERM) has no time to tell others: what it has started ends with it, and so do the nodes of that.
#[test]
fn who_measures_for_somebody_ends_with_him() {
    let small = "micro --records 2000 --workers 2 --warmup 1ms --duration 60s";
    let binary = env!("CARGO_BIN_EXE_trireme");
    let by_turns =
        format!("diff --old {binary} --new {binary} --rounds 2 --out out -- run {small} --protocol silo");
    let deployed = format!("validate {small} --repeat 1 --instances 2 --on machine.toml --out out");
    for (line, has_nodes) in [(by_turns, false), (deployed, true)] {
        let folder = fresh_folder("terminated");
        let machine = include_str!("../../../machines/haswell-ex-4x18.toml");
        fs::write(folder.join("machine.toml"), machine).expect("a machine");
        let mut command = trireme(&folder);
        command.args(line.split(' ')).env("TMPDIR", &*folder).stdout(Stdio::null()).stderr(Stdio::null());
        let mut asked = command.spawn().expect("the binary runs");
        let mut others = vec![await_one_child(asked.id())];
        if has_nodes {
            others.push(await_one_child(others[0]));
        }
        signal(asked.id(), "-TERM");
        assert_eq!(asked.wait().expect("it ends").signal(), Some(15), "{line}");
        all_are_gone(&others);
    }
}
