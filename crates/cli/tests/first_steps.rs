//! What somebody types who does not know the program yet.

mod common;

use common::{assert_nothing_wrong, fresh_folder, pairs, run, run_short, systems, trireme};
use serde_json::Value;
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
    // Without a workload there are none of its parameters, and the help says where they are.
    for command in ["run", "compare"] {
        let ran = run(&folder, &[command, "--help"]);
        let words = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
        let where_they_are =
            format!("'trireme {command} WORKLOAD --help' shows the workload's own parameters.");
        assert!(!words.contains("--theta") && words.contains(&where_they_are), "{}", ran.out);
    }
}

#[test]
fn help_is_a_command_as_well_as_an_option() {
    let folder = fresh_folder("asked");
    for (asked, as_option) in [
        (&["help"][..], &["--help"][..]),
        (&["help", "run"], &["run", "--help"]),
        (&["help", "check", "micro"], &["check", "micro", "--help"]),
    ] {
        let (ran, expected) = (run(&folder, asked), run(&folder, as_option));
        assert_eq!((ran.code, &ran.err, &ran.out), (Some(0), &expected.err, &expected.out), "{asked:?}");
        assert!(ran.out.contains("Usage: trireme"), "{asked:?}\n{}", ran.out);
    }
    let ran = run(&folder, &["help", "frob"]);
    assert!(ran.err.starts_with("error: unknown command 'frob'; allowed: run, "), "{}", ran.err);
    assert_eq!(ran.code, Some(2));
}

#[test]
fn a_comparison_is_a_ranked_table_and_a_report() {
    let folder = fresh_folder("compare");
    let ran = run_short(&folder, &["compare", "micro", "--writes", "all"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for column in ["architecture", "protocol", "txn/s", "spread", "aborts/commit", "p99", "vs best"] {
        assert!(ran.out.contains(column), "{column}\n{}", ran.out);
    }
    let ranked = |line: &str| line.trim_start().starts_with(|first: char| first.is_ascii_digit());
    assert_eq!(ran.out.lines().filter(|line| ranked(line)).count(), systems(&folder).len(), "{}", ran.out);
    assert!(ran.out.contains("not measured: dora silo: silo's reads touch no metadata"), "{}", ran.out);
    for grouped in [
        "orthrus with any protocol: its",
        "delegation key-value, asymmetric-delegation key-value, dora key-value: ",
    ] {
        assert!(ran.out.contains(&format!("not measured: {grouped}")), "{grouped}\n{}", ran.out);
    }
    let report = ran.out.lines().last().and_then(|line| line.strip_prefix("report: ")).expect("its path");
    assert!(report.starts_with("results/compare-micro-"), "{report}");
    let results = folder.join(report).parent().expect("a folder").to_owned();
    for file in ["parameters.toml", "environment.json", "summary.json", "samples.csv", "report.html"] {
        assert!(results.join(file).exists(), "{file}");
    }
    assert_eq!(fs::read_dir(results.join("latency")).expect("a folder").count(), systems(&folder).len());
    assert!(results.join("latency/partitioned-serial-none.csv").exists());
    assert!(ran.out.contains("warning: an interval of 60ms is decided by chance; use --duration 1s"));
    assert!(ran.err.lines().count() >= 2, "{}", ran.err);
    assert!(ran.err.lines().all(|line| line.starts_with("loading ") || line.starts_with("measuring: ")));
}

/// One that needs two workers is left out where there is one, and says so; the others are measured.
#[test]
fn a_comparison_with_one_worker_leaves_out_who_needs_two() {
    let folder = fresh_folder("compare-alone");
    let line = "compare micro --records 2000 --warmup 5ms --duration 20ms --repeat 1 --workers 1 --json";
    let ran = run(&folder, &line.split(' ').collect::<Vec<_>>());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let comparison = ran.json();
    let rows = comparison["rows"].as_array().expect("rows");
    let mut lonely = 0;
    for system in systems(&folder) {
        let (architecture, protocol) = system.split_once(' ').expect("two names");
        let is_it = |row: &&Value| row["architecture"] == architecture && row["protocol"] == protocol;
        let row = rows.iter().find(is_it).expect("every pair has a row");
        if ["asymmetric-delegation", "orthrus"].contains(&architecture) {
            let why = row["why"].as_str().expect("a reason");
            let expected = format!("--workers 1: allowed: at least 2 under {architecture}");
            assert!(why.starts_with(&expected), "{why}");
            lonely += 1;
        } else {
            assert_eq!(row["supported"], true, "{system}");
        }
    }
    assert!(lonely >= 4, "{lonely}");
}

/// An architecture with one protocol needs no second word.
#[test]
fn partitioned_serial_needs_no_protocol() {
    let folder = fresh_folder("serial");
    let ran = run_short(&folder, &["run", "micro", "--architecture", "partitioned-serial"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(
        ran.out.starts_with("partitioned-serial none over micro, 2 workers on hardware\n"),
        "{}",
        ran.out
    );
    let check = ["check", "micro", "--architecture", "partitioned-serial", "--transactions", "1000"];
    let ran = run(&folder, &check);
    assert_nothing_wrong(&ran, "partitioned-serial");
}

#[test]
fn what_an_architecture_costs_is_shown_where_it_costs_something() {
    let folder = fresh_folder("costs");
    let answer = |architecture: &str| {
        let line =
            ["run", "micro", "--protocol", "no-wait", "--writes", "50", "--architecture", architecture];
        let ran = run_short(&folder, &line);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        ran.out
    };
    let shows = |answer: &str, name: &str| answer.lines().any(|line| line.trim_start().starts_with(name));
    let shared = answer("shared-everything");
    assert!(
        ["messages", "migration", "round trip", "serving others", "idle", "managing"]
            .iter()
            .all(|name| !shows(&shared, name)),
        "{shared}"
    );
    let delegated = answer("delegation");
    assert!(shows(&delegated, "messages/txn") && shows(&delegated, "round trip"), "{delegated}");
    assert!(shows(&delegated, "serving others") && !shows(&delegated, "migrations"), "{delegated}");
    let migrating = answer("dora");
    assert!(shows(&migrating, "migrations/txn") && shows(&migrating, "migration "), "{migrating}");
    let divided = run_short(
        &folder,
        &["run", "micro", "--architecture", "orthrus", "--sample", "4", "--out", "divided"],
    );
    let times = ["time  ", "of execution threads: idle ", "of concurrency-control threads: busy "];
    assert!(times.iter().all(|name| shows(&divided.out, name)), "{}", divided.out);
    assert!(!shows(&divided.out, "serving others") && !shows(&divided.out, "idle"), "{}", divided.out);
    let report = std::fs::read_to_string(folder.join("divided/report.html")).expect("a report");
    assert!(
        report.contains("orthrus, execution threads")
            && report.contains("orthrus, concurrency-control threads")
    );
    assert!([shared, delegated, migrating].iter().all(|answer| shows(answer, "lock hold")));
}

#[test]
fn the_list_of_pairs_is_the_whole_matrix_with_its_reasons() {
    let folder = fresh_folder("matrix");
    let pairs = pairs(&folder);
    assert!(pairs.len() >= 25 && pairs.len().is_multiple_of(6), "{pairs:?}");
    let text = run(&folder, &["list", "pairs"]).out;
    for (pair, is_there) in pairs {
        let line = text.lines().find(|line| line.trim_start().starts_with(&format!("{pair}  ")));
        let why = line.unwrap_or_else(|| panic!("no {pair}\n{text}")).trim()[pair.len()..].trim_start();
        match is_there {
            true => assert_eq!(why, "supported", "{pair}"),
            false => assert!(why.split(' ').count() > 5, "{pair}: {why}"),
        }
    }
    let systems = systems(&folder);
    for system in
        ["partitioned-serial none", "delegation silo", "asymmetric-delegation silo", "dora dl-detect"]
    {
        assert!(systems.iter().any(|name| name == system), "{system}: {systems:?}");
    }
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
    assert_eq!(points.len(), systems(&folder).len());
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
    let check = ["check", "micro", "--protocol", "silo", "--transactions", "1000", "--records", "1000"];
    for line in [&["list"][..], &["--help"], &["run", "ycsb", "--help"], &check] {
        let full = full.try_clone().expect("a descriptor");
        let ran = trireme(&folder).args(line).stdout(full).output().expect("the binary runs");
        assert_eq!(ran.status.code(), Some(3), "{line:?}: not that of a check that does not hold");
        let error = String::from_utf8(ran.stderr).expect("text");
        let last = error.lines().last();
        assert_eq!(last, Some("error: cannot write standard output: no space left on device"), "{line:?}");
    }
}
