//! What somebody types who does not know the program yet.

mod common;

use common::{fresh_folder, run, run_short, trireme};
use std::fs;
use std::process::{Child, Stdio};

#[test]
fn trireme_alone_says_what_to_type_first() {
    let folder = fresh_folder("alone");
    let ran = run(&folder, &[]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    assert!(ran.out.contains("What to type first:\n  trireme compare micro "), "{}", ran.out);
    assert_eq!(fs::read_dir(&*folder).expect("a folder").count(), 0, "and it leaves nothing behind");
}

/// Every line that the welcome recommends is a line that the program takes.
#[test]
fn what_it_says_to_type_can_be_typed() {
    let folder = fresh_folder("recommended");
    let welcome = run(&folder, &[]).out;
    let recommended = welcome.lines().filter_map(|line| line.strip_prefix("  trireme "));
    let mut tried = 0;
    for line in recommended {
        let line = line.split("  ").next().expect("the line before its explanation");
        let words: Vec<&str> = line.split(' ').filter(|word| *word != "EXPERIMENT.toml").collect();
        let ran = run(&folder, &[words.as_slice(), &["--help"]].concat());
        assert_eq!(ran.code, Some(0), "trireme {line}\n{}", ran.err);
        tried += 1;
    }
    assert!(tried >= 6, "{welcome}");
}

#[test]
fn help_shows_the_workloads_parameters_with_their_defaults() {
    let folder = fresh_folder("help");
    let ran = run(&folder, &["run", "ycsb", "--help"]);
    assert_eq!(ran.code, Some(0));
    let words = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["--theta <VALUE>", "0 <= theta < 1; default: ", "--workers <N>", "[default: all cores]"] {
        assert!(words.contains(part), "{part}\n{}", ran.out);
    }
}

#[test]
fn a_comparison_is_a_ranked_table_and_a_report() {
    let folder = fresh_folder("compare");
    let ran = run_short(&folder, &["compare", "micro", "--writes", "all"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for column in ["architecture", "protocol", "txn/s", "spread", "aborts/commit", "p99", "vs best"] {
        assert!(ran.out.contains(column), "{column}\n{}", ran.out);
    }
    for protocol in ["no-wait", "2v-no-wait", "dl-detect", "silo"] {
        assert!(ran.out.contains(protocol), "{protocol}\n{}", ran.out);
    }
    let report = ran.out.lines().last().and_then(|line| line.strip_prefix("report: ")).expect("its path");
    assert!(report.starts_with("results/compare-micro-"), "{report}");
    let results = folder.join(report).parent().expect("a folder").to_owned();
    for file in ["parameters.toml", "environment.json", "summary.json", "samples.csv", "report.html"] {
        assert!(results.join(file).exists(), "{file}");
    }
    assert_eq!(fs::read_dir(results.join("latency")).expect("a folder").count(), 4);
    assert!(ran.out.contains("warning: an interval of 20ms is decided by chance; use --duration 1s"));
    assert!(ran.err.lines().count() >= 2, "{}", ran.err);
    assert!(ran.err.lines().all(|line| line.starts_with("loading ") || line.starts_with("measuring: ")));
}

/// `parameters.toml` is an experiment file: what was compared is swept again.
#[test]
fn a_result_folder_can_be_run_again() {
    let folder = fresh_folder("again");
    let first = run_short(&folder, &["compare", "ycsb", "--seed", "7", "--out", "first"]);
    assert_eq!(first.code, Some(0), "{}", first.err);
    let again = run(&folder, &["sweep", "first/parameters.toml", "--out", "again", "--json"]);
    assert_eq!(again.code, Some(0), "{}", again.err);
    let points = again.json()["points"].as_array().expect("points").clone();
    assert_eq!(points.len(), 4);
    for point in points {
        let summary = &point["summary"];
        assert_eq!((&summary["seed"], &summary["workers"]), (&7.into(), &2.into()));
        assert_eq!(summary["parameters"]["records"], "2000");
    }
}

#[test]
fn runs_of_the_same_second_have_folders_of_their_own() {
    let folder = fresh_folder("same-second");
    let spawn = |_| {
        let mut command = trireme(&folder);
        command.args(["run", "micro", "--protocol", "silo"]).args(common::SHORT);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary runs")
    };
    let children: Vec<Child> = (0..3).map(spawn).collect();
    for mut child in children {
        assert!(child.wait().expect("it ends").success());
    }
    let results: Vec<_> = fs::read_dir(folder.join("results")).expect("a folder").collect();
    assert_eq!(results.len(), 3, "{results:?}");
}

#[test]
fn a_reader_who_has_seen_enough_is_no_error() {
    let folder = fresh_folder("pipe");
    for line in [&["list"][..], &[], &["run", "ycsb", "--help"], &["list", "--json"]] {
        let mut child = trireme(&folder)
            .args(line)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        drop(child.stdout.take());
        let ended = child.wait_with_output().expect("it ends");
        assert!(ended.status.success(), "{line:?}: {ended:?}");
        assert!(ended.stderr.is_empty(), "{line:?}: {ended:?}");
    }
}

#[test]
fn a_full_standard_output_is_one_clear_line() {
    let folder = fresh_folder("full-output");
    let Ok(full) = fs::OpenOptions::new().write(true).open("/dev/full") else { return };
    for line in [&["list"][..], &["--help"], &["run", "ycsb", "--help"]] {
        let full = full.try_clone().expect("a descriptor");
        let ran = trireme(&folder).args(line).stdout(full).output().expect("the binary runs");
        assert_eq!(ran.status.code(), Some(1), "{line:?}");
        let error = String::from_utf8(ran.stderr).expect("text");
        assert_eq!(error, "error: cannot write standard output: no space left on device\n", "{line:?}");
    }
}
