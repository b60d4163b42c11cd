//! `--json` prints one JSON object with all its fields, and nothing else on standard output.

mod common;

use common::{assert_nothing_wrong, fresh_folder, pairs, run, run_short, run_until};
use serde_json::Value;
use std::fs;

const CLASSES: [&str; 6] = ["useful", "abort", "timestamp", "index", "wait", "manager"];

fn is_number(value: &Value) -> bool {
    value.is_number()
}

fn is_count(value: &Value) -> bool {
    value.is_u64()
}

/// Where a number may be told, or found out.
fn is_count_or_word(value: &Value) -> bool {
    value.is_u64() || value.is_string()
}

/// Of a mean: nothing takes no time, and where nothing was timed there is none.
fn is_positive_or_null(value: &Value) -> bool {
    value.is_null() || value.as_f64().is_some_and(|ns| ns > 0.0)
}

fn is_part_or_null(value: &Value) -> bool {
    value.is_null() || value.as_f64().is_some_and(|part| (0.0..=1.0).contains(&part))
}

/// A field with what it must be.
type Field = (&'static str, fn(&Value) -> bool);

/// Every field that a summary promises.
const FIELDS: &[Field] = &[
    ("schema", Value::is_string),
    ("supported", |value| value == true),
    ("architecture", Value::is_string),
    ("protocol", Value::is_string),
    ("workload", Value::is_string),
    ("workers", is_count),
    ("machine", |value| value == "hardware"),
    ("simulated", |value| value == false),
    ("throughput_per_s", is_number),
    ("throughput_min", is_number),
    ("throughput_max", is_number),
    ("commits", is_count),
    ("abort_rate", is_number),
    ("aborts", Value::is_object),
    ("user_rollbacks", is_count),
    ("latency_ns", Value::is_object),
    ("latency_of", |value| value == "service"),
    ("open_loop", Value::is_null),
    ("series", |value| value == false),
    ("time_share", Value::is_object),
    ("time_samples", is_count),
    ("messages_per_txn", is_number),
    ("migrations_per_txn", is_number),
    ("serving_share", |value| value.as_f64().is_some_and(|part| (0.0..=1.0).contains(&part))),
    ("idle_share", is_part_or_null),
    ("executing_share", is_part_or_null),
    ("managing_share", is_part_or_null),
    ("round_trip_ns", is_positive_or_null),
    ("migration_ns", is_positive_or_null),
    ("lock_hold_ns", is_positive_or_null),
    ("hot_locks_per_txn", is_number),
    ("in_flight_found", is_positive_or_null),
    ("version_space", is_positive_or_null),
    ("instructions_per_txn", is_positive_or_null),
    ("cycles_per_txn", is_positive_or_null),
    ("cache_misses_per_txn", is_positive_or_null),
    ("tlb_misses_per_txn", is_positive_or_null),
    ("branch_misses_per_txn", is_positive_or_null),
    ("page_faults_per_txn", |value| value.is_null() || value.as_f64().is_some_and(|faults| faults >= 0.0)),
    ("counters", Value::is_string),
    ("checks", Value::is_array),
    ("repetitions", is_count),
    ("warmup_s", is_number),
    ("duration_s", is_number),
    ("seed", is_count),
    ("prefetch", Value::is_string),
    ("sample_one_in", is_count),
    ("retried_share", |value| value.as_f64().is_some_and(|part| (0.0..=1.0).contains(&part))),
    ("latency_samples", is_count),
    ("between_ns", is_number),
    ("unfinished", is_count),
    ("absent_workers", is_count),
    ("slots", is_count),
    ("littles_law", is_positive_or_null),
    ("back_off_first_ns", is_count),
    ("back_off_cap_ns", is_count),
    ("precedence_after", is_count),
    ("deadlock_timeout_ns", |value| value.is_null() || value.is_u64()),
    ("preclaim", Value::is_boolean),
    ("selective_contention_analysis", Value::is_boolean),
    ("servers", is_count),
    ("cc_threads", is_count),
    ("forwarding", Value::is_boolean),
    ("locks_by_hash", Value::is_boolean),
    ("shared_lock_table", Value::is_boolean),
    ("instances", is_count),
    ("instances_asked", Value::is_string),
    ("channel", Value::is_string),
    ("bind", Value::is_string),
    ("readers_wait", Value::is_boolean),
    ("one_shot", Value::is_boolean),
    ("in_flight", is_count_or_word),
    ("partitions", is_count),
    ("split_indexes", Value::is_boolean),
    ("snapshots", Value::is_boolean),
    ("snapshot_every", is_count),
    ("global_ids", Value::is_boolean),
    ("overwrites", Value::is_boolean),
    ("reclaim", Value::is_boolean),
    ("huge_pages", Value::is_boolean),
    ("hand_over_every", is_count),
    ("latch", Value::is_string),
    ("timestamps", Value::is_string),
    ("partition_latch", Value::is_string),
    ("parameters", Value::is_object),
    ("warnings", Value::is_array),
];

fn assert_summary(summary: &Value) {
    for (name, is_right) in FIELDS {
        let value = summary.get(*name).unwrap_or_else(|| panic!("no {name}"));
        assert!(is_right(value), "{name}: {value}");
    }
    for percentile in ["p50", "p90", "p99", "p999", "max"] {
        assert!(summary["latency_ns"][percentile].is_u64(), "{percentile}");
    }
    let shares: f64 = CLASSES
        .iter()
        .map(|class| summary["time_share"][*class].as_f64().unwrap_or_else(|| panic!("no {class}")))
        .sum();
    assert!(shares == 0.0 || (shares - 1.0).abs() < 1e-6, "the shares add up to {shares}");
    let reasons = [
        "conflict",
        "deadlock",
        "read-validation",
        "phantom",
        "certify",
        "undeclared",
        "hand-over",
        "timeout",
    ];
    for reason in reasons {
        assert!(summary["aborts"][reason].is_u64(), "{reason}");
    }
    for check in summary["checks"].as_array().expect("checks") {
        assert!(check["name"].is_string() && check["passed"] == true, "{check}");
    }
    let throughput = |name: &str| summary[name].as_f64().expect("a number");
    assert!(throughput("throughput_min") <= throughput("throughput_per_s"));
    assert!(throughput("throughput_per_s") <= throughput("throughput_max"));
    assert!(summary["commits"].as_u64().expect("a count") > 0, "something committed");
}

#[test]
fn run_prints_one_summary_and_the_folder_holds_the_same() {
    let folder = fresh_folder("json-run");
    let line = ["run", "ycsb", "--protocol", "no-wait", "--theta", "0.5", "--json", "--out", "out"];
    let ran = run_short(&folder, &line);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let summary = ran.json();
    assert_summary(&summary);
    assert_eq!(summary["schema"], "trireme.run/5");
    assert_eq!(summary["architecture"], "shared-everything");
    assert_eq!(summary["protocol"], "no-wait");
    assert_eq!(summary["workers"], 2);
    assert_eq!(summary["parameters"]["theta"], "0.5");
    let kept = fs::read_to_string(folder.join("out/summary.json")).expect("a summary");
    assert_eq!(serde_json::from_str::<Value>(&kept).expect("JSON"), summary);
}

#[test]
fn prefetch_and_back_off_are_named_in_results() {
    let folder = fresh_folder("json-options");
    let line = ["run", "micro", "--protocol", "silo", "--json", "--prefetch", "off", "--back-off", "off"];
    let summary = run_short(&folder, &line).json();
    assert_eq!((&summary["prefetch"], &summary["back_off_cap_ns"]), (&"off".into(), &0.into()));
    let summary = run_short(&folder, &["run", "micro", "--protocol", "silo", "--json"]).json();
    assert_eq!((&summary["prefetch"], &summary["back_off_cap_ns"]), (&"on".into(), &1_024_000.into()));

    // And where a person reads the figure.
    let answer = run_short(&folder, &["run", "micro", "--protocol", "silo", "--sample", "32"]).out;
    assert!(
        answer.contains("prefetch on, back-off 500..1024000 ns, precedence after 256 aborts, one transaction in 32 timed by class"),
        "{answer}"
    );
    assert!(answer.contains("from first attempt to commit, of"), "{answer}");
    let off =
        ["compare", "micro", "--prefetch", "off", "--back-off", "off", "--sample", "0", "--out", "compared"];
    let ranking = run_short(&folder, &off).out;
    let engine =
        "prefetch off, back-off off, precedence after 256 aborts, no timeout, no transaction timed by class";
    assert!(ranking.contains(engine), "{ranking}");
    let report = fs::read_to_string(folder.join("compared/report.html")).expect("a report");
    assert!(report.contains(engine));
}

#[test]
fn what_an_architecture_is_told_and_what_it_costs_are_named_in_results() {
    // Of a system that commits nothing there are no latencies.
    let has_committed = |summary: &Value| summary["commits"].as_u64() > Some(0);
    let kept = |more: &str| {
        let line = format!("run micro --writes 50 --records 2000 --repeat 2 --workers 2 {more}");
        let (folder, summary) = run_until("json-costs", &line.split(' ').collect::<Vec<_>>(), has_committed);
        assert_summary(&summary);
        (folder, summary)
    };
    let line = |more: &str| kept(more).1;
    let number = |value: &Value| value.as_f64().expect("a number");
    let shared = line("--protocol no-wait --split-indexes on");
    assert_eq!((&shared["split_indexes"], number(&shared["messages_per_txn"])), (&true.into(), 0.0));
    assert!(shared["round_trip_ns"].is_null() && shared["migration_ns"].is_null());
    assert_eq!(number(&shared["serving_share"]), 0.0);

    let memory = |summary: &Value, name: &str| summary["memory"][name].as_u64().expect("a number of bytes");
    assert_eq!((memory(&shared, "lineage_bytes"), memory(&shared, "most_version_bytes")), (0, 0));
    let versioned = line("--protocol silo --snapshots on --snapshot-every 1 --epoch 1ms");
    assert_eq!((&versioned["snapshots"], &versioned["snapshot_every"]), (&true.into(), &1.into()));
    assert_eq!(memory(&versioned, "lineage_bytes"), 16 * memory(&versioned, "rows"));
    assert!(memory(&versioned, "most_version_bytes") > 0);

    let (folder, delegated) = kept("--protocol no-wait --architecture delegation --out delegated");
    assert!(number(&delegated["messages_per_txn"]) > 0.0 && number(&delegated["round_trip_ns"]) > 0.0);
    assert!(number(&delegated["serving_share"]) > 0.0 && delegated["migration_ns"].is_null());

    let asymmetric = line("--protocol no-wait --architecture asymmetric-delegation --servers 1");
    assert_eq!((&asymmetric["workers"], &asymmetric["servers"]), (&2.into(), &1.into()));
    // Ten operations, all of them elsewhere: a request each, and most of them a release.
    assert!(number(&asymmetric["messages_per_txn"]) >= 10.0, "{}", asymmetric["messages_per_txn"]);

    let dora = "--protocol no-wait --architecture dora --in-flight 2 --hand-over-every 1000";
    let migrating = line(dora);
    assert_eq!((&migrating["in_flight"], &migrating["hand_over_every"]), (&2.into(), &1000.into()));
    assert!(number(&migrating["migrations_per_txn"]) > 0.0 && number(&migrating["migration_ns"]) > 0.0);
    assert!(migrating["round_trip_ns"].is_null());

    let orthrus = "run micro --writes 50 --records 2000 --repeat 2 --workers 3 --architecture orthrus --cc-threads auto --sample 4 \
                   --out divided";
    let orthrus: Vec<&str> = orthrus.split_whitespace().collect();
    let (folder_of_divided, divided) = run_until("json-divided", &orthrus, has_committed);
    assert_summary(&divided);
    let chosen = &divided["cc_threads_chosen"];
    assert_eq!(chosen["cc_threads"], divided["cc_threads"]);
    assert_eq!(chosen["tried"].as_array().map(Vec::len), Some(2), "one thread, and two: {chosen}");
    let shares = ["idle_share", "executing_share", "managing_share"].map(|name| number(&divided[name]));
    assert!(
        (shares.iter().sum::<f64>() - 1.0).abs() < 1e-6 && shares.iter().all(|&share| share > 0.0),
        "{shares:?}"
    );
    assert!(shared["idle_share"].is_null() && migrating["idle_share"].is_null(), "nobody counts");
    let report = fs::read_to_string(folder_of_divided.join("divided/report.html")).expect("a report");
    assert!(report.contains("Threads for concurrency control") && report.contains(">chosen<"));
    let again = fs::read_to_string(folder_of_divided.join("divided/parameters.toml")).expect("parameters");
    assert!(again.contains("cc-threads = \"auto\""), "{again}");

    let serial = line("--architecture partitioned-serial");
    assert_eq!((&serial["protocol"], &serial["partitions"]), (&"none".into(), &0.into()));
    let in_one = line("--architecture partitioned-serial --partitions 1");
    assert_eq!(in_one["partitions"], 1);

    let samples = fs::read_to_string(folder.join("delegated/samples.csv")).expect("samples");
    let rows: Vec<Vec<&str>> = samples.lines().map(|line| line.split(',').collect()).collect();
    let column = |name: &str| rows[0].iter().position(|head| *head == name).expect(name);
    for row in &rows[1..] {
        assert!(
            row[column("messages_per_txn")].parse::<f64>().is_ok_and(|messages| messages > 0.0),
            "{row:?}"
        );
        assert_eq!(row[column("migration_ns")], "", "nothing migrates: {row:?}");
    }
}

#[test]
fn compare_prints_every_pair_ranked() {
    // Of a system that commits nothing there are no latencies.
    let all_committed = |comparison: &Value| {
        let rows = comparison["rows"].as_array().expect("rows");
        rows.iter().all(|row| row["supported"] == false || row["commits"].as_u64() > Some(0))
    };
    let compare = ["compare", "ycsb", "--records", "2000", "--repeat", "2", "--workers", "2"];
    let (folder, comparison) = run_until("json-compare", &compare, all_committed);
    assert_eq!(comparison["schema"], "trireme.compare/6");
    let rows = comparison["rows"].as_array().expect("rows");
    let (measured, others): (Vec<&Value>, Vec<&Value>) =
        rows.iter().partition(|row| row["supported"] == true);
    let pairs = pairs(&folder);
    let there = pairs.iter().filter(|(_, is_there)| *is_there).count();
    assert_eq!((measured.len(), rows.len()), (there, pairs.len()));
    measured.iter().for_each(|row| assert_summary(row));
    let throughputs: Vec<f64> =
        measured.iter().map(|row| row["throughput_per_s"].as_f64().expect("a number")).collect();
    assert!(throughputs.is_sorted_by(|a, b| a >= b), "{throughputs:?}");
    for row in others {
        assert!(row["supported"] == false && row["why"].is_string(), "{row}");
    }
    // Each system took its turn in each repetition, over stores side by side.
    let groups = comparison["turns"]["groups"].as_array().expect("groups");
    assert_eq!((groups.len(), &comparison["turns"]["repeats"]), (1, &false.into()), "{groups:?}");
    assert_eq!(groups[0]["systems"].as_array().expect("systems").len(), measured.len());
    assert!(groups[0]["stores"].as_u64().expect("a count") >= 2, "one partition, and two");
    // The best is not told apart from itself; nobody else is fastest if all others are told apart from it.
    let told_apart = comparison["told_apart_from_best"].as_array().expect("of each system");
    assert_eq!((told_apart.len(), &told_apart[0]), (measured.len(), &false.into()));
    let finding = comparison["finding"].as_str().expect("words");
    let is_alone = told_apart[1..].iter().all(|is| *is == true);
    assert_eq!(finding.starts_with("No system is fastest"), !is_alone, "{finding}");
}

#[test]
fn check_prints_its_verdict_and_exits_with_it() {
    let folder = fresh_folder("json-check");
    let contended =
        ["--records", "100", "--writes", "50", "--workers", "2", "--transactions", "20000", "--json"];
    let ran = run(&folder, &[&["check", "micro", "--protocol", "silo"][..], &contended].concat());
    assert_nothing_wrong(&ran, "micro");
    let passed = ran.json();
    assert_eq!(passed["schema"], "trireme.check/4");
    assert_eq!(passed["passed"], ran.code == Some(0));
    assert_eq!(passed["too_little"].is_null(), ran.code == Some(0));
    assert_eq!(passed["verdict"]["transactions"], passed["commits"]);
    for kind in ["write-read", "write-write", "read-write"] {
        let count = &passed["verdict"]["dependencies"][kind];
        assert_eq!(count["possible"], true, "{kind}");
        assert!(count["all"].as_u64() >= count["between_workers"].as_u64(), "{kind}: {count}");
    }

    let canary = ["check", "micro", "--canary", "no-read-validation"];
    let ran = run(&folder, &[&canary[..], &contended].concat());
    assert_eq!(ran.code, Some(1), "a canary must be rejected\n{}\n{}", ran.out, ran.err);
    let rejected = ran.json();
    assert_eq!((&rejected["passed"], &rejected["canary"]), (&false.into(), &true.into()));
    assert!(rejected["verdict"]["anomalies"][0]["words"].is_string());
}

#[test]
fn a_check_lays_its_verdict_down_where_it_is_asked_to() {
    let folder = fresh_folder("check-out");
    let contended = ["--records", "100", "--writes", "50", "--workers", "2", "--transactions", "20000"];
    let ran = run(
        &folder,
        &[&["check", "micro", "--protocol", "silo", "--json", "--out", "out"][..], &contended].concat(),
    );
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let read = |name: &str| fs::read_to_string(folder.join("out").join(name)).expect(name);
    assert_eq!(serde_json::from_str::<Value>(&read("summary.json")).expect("JSON"), ran.json());
    let environment: Value = serde_json::from_str(&read("environment.json")).expect("JSON");
    assert!(environment["cores"].is_u64(), "{environment}");
    for set in [
        "workload = \"micro\"",
        "protocol = \"silo\"",
        "transactions = \"20000\"",
        "seed = \"1\"",
        "hot = \"2\"",
    ] {
        assert!(
            read("parameters.toml").lines().any(|line| line == set),
            "{set}\n{}",
            read("parameters.toml")
        );
    }
    assert!(read("report.html").contains("<h1>shared-everything silo over micro: passed</h1>"));

    let canary = ["check", "micro", "--canary", "no-read-validation", "--out", "canary"];
    let ran = run(&folder, &[&canary[..], &contended].concat());
    assert_eq!(ran.code, Some(1), "a canary must be rejected\n{}\n{}", ran.out, ran.err);
    assert!(ran.out.contains("report: canary/report.html\n"), "{}", ran.out);
    let html = fs::read_to_string(folder.join("canary/report.html")).expect("a report");
    assert!(html.contains("no-read-validation over micro: rejected, as a canary must be</h1>"));
    assert!(html.contains("must come before") || html.contains("is lost"), "the anomalies in words");

    let scenario =
        ["check", "write-skew", "--protocol", "no-wait", "--transactions", "20000", "--out", "scenario"];
    let ran = run(&folder, &scenario);
    assert_nothing_wrong(&ran, "write-skew");
    let html = fs::read_to_string(folder.join("scenario/report.html")).expect("a report");
    assert!(html.contains("Every round went as in some serial order."));

    let ran = run(&folder, &["check", "list-append", "--protocol", "silo", "--transactions", "1000"]);
    assert_nothing_wrong(&ran, "list-append");
    assert!(!ran.out.contains("report:"), "{}", ran.out);
    let there = fs::read_dir(&*folder).expect("a folder").count();
    assert_eq!(there, 3, "without --out a check leaves nothing behind");
}

#[test]
fn workloads_made_for_checks_are_judged_and_written_for_other_checkers() {
    let folder = fresh_folder("history");
    for workload in ["membership", "list-append", "growing-lists"] {
        let line = ["--protocol", "no-wait", "--workers", "2", "--transactions", "2000"];
        let ran = run(&folder, &[&["check", workload, "--json", "--history", "events"], &line[..]].concat());
        assert_nothing_wrong(&ran, workload);
        let summary = ran.json();
        assert_eq!(summary["workload"], workload);
        let checks = summary["checks"].as_array().expect("checks");
        assert_eq!(checks[0]["name"], "strictly-serializable");
        assert!(checks.iter().all(|check| check["passed"] == true), "{checks:?}");
        let events = fs::read_to_string(folder.join("events")).expect("a history");
        assert!(events.lines().count() >= 2 * 2000, "an invocation and an end for each");
        let first: Value = serde_json::from_str(events.lines().next().expect("a line")).expect("JSON");
        assert_eq!((&first["type"], &first["f"]), (&"invoke".into(), &"txn".into()));

        // Elle's own command line reads a file that ends in .json as one array.
        let ran = run(&folder, &[&["check", workload, "--history", "events.json"], &line[..]].concat());
        assert_nothing_wrong(&ran, workload);
        let events = fs::read_to_string(folder.join("events.json")).expect("a history");
        let events: Value = serde_json::from_str(&events).expect("one JSON value");
        let events = events.as_array().expect("an array");
        assert!(events.len() >= 2 * 2000, "{}", events.len());
        assert_eq!((&events[0]["type"], &events[0]["f"]), (&"invoke".into(), &"txn".into()));
    }
    let help = run(&folder, &["check", "--help"]).out;
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("a file whose name ends in .json holds one JSON array"), "{help}");
}

#[test]
fn scenarios_are_played_and_judged() {
    let folder = fresh_folder("scenario");
    let line = ["check", "write-skew", "--protocol", "no-wait", "--transactions", "20000", "--json"];
    let ran = run(&folder, &line);
    assert_nothing_wrong(&ran, "write-skew");
    let summary = ran.json();
    assert_eq!(summary["judgement"]["violations"], 0);
    assert!(summary["judgement"]["rounds"].as_u64().is_some_and(|rounds| rounds > 0));
}

#[test]
fn a_rejected_history_is_told_in_words() {
    let folder = fresh_folder("words");
    let line =
        "check micro --canary no-read-validation --records 100 --writes 50 --workers 2 --transactions 20000";
    let ran = run(&folder, &line.split(' ').collect::<Vec<_>>());
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(ran.out.contains("NOT strictly serializable"), "{}", ran.out);
    assert!(ran.out.contains("must come before"), "{}", ran.out);
    assert!(ran.out.contains("rejected, as a canary must be"), "{}", ran.out);
}

/// The twelve consistency conditions of TPC-C (3.3.2) are checks of their own, in their order.
#[test]
fn every_condition_of_tpcc_is_a_check() {
    let folder = fresh_folder("json-conditions");
    let line = "run tpcc --items 100 --customers 10 --protocol silo --workers 2 --warmup 5ms --duration 50ms --repeat 1 --json";
    let ran = run(&folder, &line.split(' ').collect::<Vec<_>>());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let summary = ran.json();
    let conditions: Vec<(String, bool)> = summary["checks"]
        .as_array()
        .expect("checks")
        .iter()
        .filter_map(|check| {
            let rest = check["name"].as_str()?.strip_prefix("condition-")?;
            let (number, name) = rest.split_once('-')?;
            assert!(!name.is_empty(), "{rest}");
            Some((number.to_owned(), check["passed"] == true))
        })
        .collect();
    let all: Vec<(String, bool)> = (1..=12).map(|number| (number.to_string(), true)).collect();
    assert_eq!(conditions, all, "{:#}", summary["checks"]);
}

#[test]
fn list_and_doctor_print_one_object() {
    let folder = fresh_folder("json-list");
    let list = run(&folder, &["list", "--json"]).json();
    for what in [
        "workloads",
        "check-workloads",
        "architectures",
        "protocols",
        "pairs",
        "canaries",
        "anomalies",
        "latches",
        "machines",
        "experiments",
    ] {
        assert!(list[what].is_array(), "{what}");
        let one = run(&folder, &["list", what, "--json"]).json();
        assert_eq!(one[what], list[what]);
    }
    assert_eq!(list["workloads"][0]["more"]["parameters"][0]["name"], "records");
    let doctor = run(&folder, &["doctor", "--quick", "--json"]).json();
    assert!(doctor["environment"]["cores"].is_u64() && doctor["facts"]["pause_ns"]["median"].is_number());
    assert_eq!(doctor["facts"]["pause_ns"]["rounds"], 3);
    assert!(
        doctor["load"]["withheld"].as_array().is_some_and(|cores| !cores.is_empty()),
        "{}",
        doctor["load"]
    );
    assert!(doctor["score"]["points"].as_u64().is_some_and(|points| points <= 100), "{doctor}");
    assert!(doctor["advice"].as_array().is_some_and(|advice| !advice.is_empty()));
}
