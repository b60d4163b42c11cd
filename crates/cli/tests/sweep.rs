//! A sweep loses no finished point, whatever ends it, and measures none twice.

mod common;

use common::{Ran, fresh_folder, run, trireme};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const POINTS: usize = 12;

const EXPERIMENT: &str = "\
title = 'Points'
workload = 'ycsb'
[base]
records = 1000
warmup = '5ms'
duration = '60ms'
repeat = 1
[axes]
protocol = ['no-wait', 'silo']
theta = [0, 0.5, 0.9]
workers = [1, 2]
";

/// Points in the journal, torn lines not counted; and that none is there twice.
fn finished(folder: &Path) -> usize {
    let journal = fs::read_to_string(folder.join("out/points.jsonl")).unwrap_or_default();
    let whole = journal.split_inclusive('\n').filter(|line| line.ends_with('\n')).skip(1);
    let settings: Vec<String> = whole
        .map(|line| serde_json::from_str::<Value>(line).expect("a whole line")["settings"].to_string())
        .collect();
    let distinct: BTreeSet<&String> = settings.iter().collect();
    assert_eq!(distinct.len(), settings.len(), "a point is there twice");
    settings.len()
}

fn sweep(folder: &Path) -> Ran {
    run(folder, &["sweep", "points.toml", "--out", "out", "--json"])
}

fn measured_now(ran: &Ran) -> usize {
    ran.err.lines().filter(|line| line.starts_with("point ")).count()
}

fn assert_complete(folder: &Path, ran: &Ran) {
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.json()["points"].as_array().expect("points").len(), POINTS);
    assert_eq!(finished(folder), POINTS);
    let samples = fs::read_to_string(folder.join("out/samples.csv")).expect("samples");
    assert_eq!(samples.lines().count(), 1 + POINTS);
    assert!(folder.join("out/report.html").exists());
    let environment = fs::read_to_string(folder.join("out/environment.json")).expect("an environment");
    assert!(
        ["commit", "frequency_mhz", "others_share"].iter().all(|fact| environment.contains(fact)),
        "{environment}"
    );
    // And on the page: what was read when the points had been measured, and how far they are to be trusted.
    let report = fs::read_to_string(folder.join("out/report.html")).expect("a report");
    for words in ["Noise: unknown, for one repetition has no spread", "others share", "<h2>Checks"] {
        assert!(report.contains(words), "{words}");
    }
}

/// A sweep that has `points` finished and goes on.
fn begun(folder: &Path, points: usize) -> Child {
    let child = trireme(folder)
        .args(["sweep", "points.toml", "--out", "out"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary runs");
    let began = Instant::now();
    while finished(folder) < points {
        assert!(began.elapsed() < Duration::from_secs(60), "{points} points take no minute");
        sleep(Duration::from_millis(5));
    }
    child
}

/// Runs `line` where no file may have more than so many KiB: that stands for a full disk, on which a write is cut
/// short and the next one fails.
fn run_on_full_disk(folder: &Path, most_kib: usize, line: &str) -> Ran {
    let binary = env!("CARGO_BIN_EXE_trireme");
    let script = format!("trap '' XFSZ; ulimit -f {most_kib}; exec '{binary}' {line}");
    Command::new("bash").args(["-c", &script]).current_dir(folder).output().expect("bash runs").into()
}

/// The signal that a terminal sends, or, where the parent of this test keeps that from reaching its children, as a
/// shell does in the background, another that ends a program in the same way.
fn interrupt() -> &'static str {
    const SIGINT: u32 = 2;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    if ignored & 1 << (SIGINT - 1) == 0 { "-INT" } else { "-TERM" }
}

#[test]
fn an_interrupted_sweep_goes_on_where_it_was() {
    let folder = fresh_folder("interrupt");
    fs::write(folder.join("points.toml"), EXPERIMENT).expect("a file");
    let mut child = begun(&folder, 3);
    let interrupted =
        Command::new("kill").args([interrupt(), &child.id().to_string()]).status().expect("kill runs");
    assert!(interrupted.success());
    assert!(!child.wait().expect("it ends").success(), "it was interrupted");
    let kept = finished(&folder);
    assert!((3..POINTS).contains(&kept), "{kept} points were finished");

    let ran = sweep(&folder);
    assert_complete(&folder, &ran);
    assert_eq!(measured_now(&ran), POINTS - kept);
    assert!(ran.err.contains(&format!("{kept} of {POINTS} points are there already")), "{}", ran.err);

    let environment = || fs::read_to_string(folder.join("out/environment.json")).expect("an environment");
    let then = environment();
    let ran = sweep(&folder);
    assert_complete(&folder, &ran);
    assert_eq!(measured_now(&ran), 0);
    assert_eq!(environment(), then, "what stood around the points stays, where none is measured");
}

/// Who is interrupted leaves the log of the store that was measured: the same line goes on all the same, and leaves that where it is.
#[test]
fn a_sweep_with_a_log_goes_on_beside_what_an_interrupted_one_has_left() {
    let folder = fresh_folder("interrupt-log");
    let text = "workload = 'ycsb'\n[base]\nrecords = 1000\ndurability = 'group'\nwarmup = '5ms'\nduration = '60ms'\nrepeat = 1\n\
                [axes]\nprotocol = ['no-wait', 'silo']\ntheta = [0, 0.5]\n";
    fs::write(folder.join("points.toml"), text).expect("a file");
    let line = ["sweep", "points.toml", "--workers", "1", "--log", "log", "--out", "out", "--json"];
    let mut child = trireme(&folder)
        .args(line)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary runs");
    let began = Instant::now();
    while !folder.join("log/store-0/MANIFEST").exists() {
        assert!(began.elapsed() < Duration::from_secs(60), "no log in a minute");
        sleep(Duration::from_millis(1));
    }
    // As an interrupt does, it leaves what there is: no store is dropped.
    child.kill().expect("it runs");
    child.wait().expect("a child");
    let left = || -> BTreeSet<_> {
        fs::read_dir(folder.join("log"))
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name())
            .collect()
    };
    let then = left();
    assert!(!then.is_empty(), "it was killed before it had a log");
    let ran = run(&folder, &line);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.json()["points"].as_array().expect("points").len(), 4);
    assert_eq!(left(), then, "its own logs are gone, and the other stays");
}

#[test]
fn a_torn_last_line_is_measured_again() {
    let folder = fresh_folder("torn");
    fs::write(folder.join("points.toml"), EXPERIMENT).expect("a file");
    assert_complete(&folder, &sweep(&folder));
    let journal = folder.join("out/points.jsonl");
    let text = fs::read(&journal).expect("a journal");
    fs::write(&journal, &text[..text.len() - 20]).expect("torn");
    let ran = sweep(&folder);
    assert_eq!(measured_now(&ran), 1, "{}", ran.err);
    assert_complete(&folder, &ran);
}

#[test]
fn a_full_disk_loses_no_finished_point() {
    let folder = fresh_folder("full-disk");
    fs::write(folder.join("points.toml"), EXPERIMENT).expect("a file");
    let limited = run_on_full_disk(&folder, 12, "sweep points.toml --out out --json");
    assert_eq!((limited.code, limited.out.as_str()), (Some(3), ""), "{}", limited.err);
    let errors: Vec<&str> = limited.err.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(errors.len(), 1, "{}", limited.err);
    assert!(errors[0].starts_with("error: cannot write out/"), "{}", errors[0]);
    let kept = finished(&folder);
    assert!((1..POINTS).contains(&kept), "{kept} points were finished before the limit was reached");

    let ran = sweep(&folder);
    assert_complete(&folder, &ran);
    assert_eq!(measured_now(&ran), POINTS - kept);
}

/// What `run` and `check` found is not to be had again: it is printed even where it cannot be laid down.
#[test]
fn a_full_disk_loses_no_answer() {
    let folder = fresh_folder("full-disk-answer");
    let lines = [
        ("run micro --protocol silo --records 1000 --duration 20ms --repeat 2 --out run --json", "run/"),
        ("compare micro --records 1000 --duration 20ms --repeat 2 --out compare --json", "compare/"),
        ("check micro --protocol silo --transactions 1000 --records 1000 --out check --json", "check/"),
        ("check micro --protocol silo --transactions 1000 --records 1000 --history events --json", "events"),
    ];
    for (line, file) in lines {
        let ran = run_on_full_disk(&folder, 8, line);
        assert_eq!(ran.code, Some(3), "{line}\n{}", ran.err);
        assert!(ran.json().is_object(), "{line}");
        let error = ran.err.lines().last().expect("a line");
        let (begins, ends) = (format!("error: cannot write {file}"), ": file too large");
        assert!(error.starts_with(&begins) && error.ends_with(ends), "{line}\n{error}");
    }
    let is_torn = |name: &std::ffi::OsStr| name.to_string_lossy().ends_with(".part");
    for results in ["run", "compare", "check"] {
        let parts = fs::read_dir(folder.join(results)).expect("a folder");
        assert!(parts.flatten().all(|entry| !is_torn(&entry.file_name())), "no torn file is left");
    }
}

/// Two of them would write over each other's points.
#[test]
fn one_sweep_at_a_time_writes_a_folder() {
    let folder = fresh_folder("two-sweeps");
    fs::write(folder.join("points.toml"), EXPERIMENT).expect("a file");
    let mut first = begun(&folder, 1);
    let second = sweep(&folder);
    assert_eq!(second.code, Some(2), "{}", second.err);
    assert!(
        second.err.starts_with("error: out/points.jsonl: another call writes it now; "),
        "{}",
        second.err
    );
    assert!(first.wait().expect("it ends").success());
    assert_complete(&folder, &sweep(&folder));
}

#[test]
fn a_changed_experiment_is_refused_and_a_grown_one_is_not() {
    let folder = fresh_folder("changed");
    fs::write(folder.join("points.toml"), EXPERIMENT).expect("a file");
    assert_complete(&folder, &sweep(&folder));
    fs::write(folder.join("points.toml"), EXPERIMENT.replace("60ms", "70ms")).expect("a file");
    let refused = sweep(&folder);
    assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""));
    assert!(
        refused
            .err
            .starts_with("error: --out out: 12 of its 12 finished points are not points of points.toml")
    );
    assert!(refused.err.contains("(duration was 60ms, now 70ms); use another --out"), "{}", refused.err);
    fs::write(folder.join("points.toml"), EXPERIMENT.replace("0.9]", "0.9, 0.99]")).expect("a file");
    let grown = sweep(&folder);
    assert_eq!((grown.code, measured_now(&grown)), (Some(0), 4), "{}", grown.err);
}

/// Its lines would be misread.
#[test]
fn a_journal_of_another_version_is_refused() {
    let folder = fresh_folder("older");
    fs::write(folder.join("points.toml"), EXPERIMENT).expect("a file");
    fs::create_dir(folder.join("out")).expect("a folder");
    let older = "{\"schema\":\"trireme.sweep/1\"}\n{\"settings\":{}}\n";
    fs::write(folder.join("out/points.jsonl"), older).expect("a file");
    let refused = sweep(&folder);
    assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""));
    let begins = "error: out/points.jsonl:1: schema trireme.sweep/1: allowed: trireme.sweep/23, ";
    assert!(refused.err.starts_with(begins) && refused.err.lines().count() == 1, "{}", refused.err);
    assert_eq!(fs::read_to_string(folder.join("out/points.jsonl")).expect("a journal"), older);
}

#[test]
fn a_sweep_without_out_goes_on_too() {
    let folder = fresh_folder("default-out");
    fs::write(folder.join("points.toml"), EXPERIMENT).expect("a file");
    let first = run(&folder, &["sweep", "points.toml"]);
    assert_eq!(first.code, Some(0), "{}", first.err);
    assert!(first.out.contains("report: results/sweep-points/report.html"), "{}", first.out);
    let again = run(&folder, &["sweep", "points.toml"]);
    assert_eq!((again.code, measured_now(&again)), (Some(0), 0), "{}", again.err);
}

/// Which this machine has not.
#[test]
fn a_simulated_machine_has_a_counter_for_timestamps() {
    let folder = fresh_folder("a-counter-for-timestamps");
    let machine = concat!(env!("CARGO_MANIFEST_DIR"), "/../../machines/graphite-mesh-64.toml");
    let text = "workload = 'ycsb'\n[base]\nrecords = 100\nprotocol = 'wait-die'\nworkers = 2\n\
                [axes]\ntimestamps = ['atomic', 'hardware-counter']";
    fs::write(folder.join("points.toml"), text).expect("an experiment");
    let on_it = ["--on", machine, "--warmup", "10us", "--duration", "50us", "--repeat", "1", "--json"];
    let ran = run(&folder, &[&["sweep", "points.toml", "--out", "out"], &on_it[..]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let json = ran.json();
    assert_eq!(
        (json["points"].as_array().map(Vec::len), json["left_out"].as_array().map(Vec::len)),
        (Some(2), Some(0))
    );
    let compare =
        ["compare", "ycsb", "--records", "100", "--workers", "2", "--timestamps", "hardware-counter"];
    let ran = run(&folder, &[&compare[..], &on_it[..]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let rows = ran.json()["rows"].as_array().expect("rows").clone();
    let of = |protocol: &str| rows.iter().find(|row| row["protocol"] == protocol).expect("a row").clone();
    assert!(of("wait-die")["throughput_per_s"].is_number(), "{}", of("wait-die"));
}
