//! What is odd is told once, with what it is about: choices that decide nothing, and numbers that nobody should trust.

mod common;

use common::{assert_nothing_wrong, fresh_folder, run, run_short, systems};
use serde_json::Value;
use std::fs;

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

const IDLE: [&str; 2] = [
    "--shared-lock-table on makes no difference to orthrus: one concurrency-control thread shares its lock table with nobody",
    "--touched-partitions 2 makes no difference to orthrus: one concurrency-control thread has the locks of all keys",
];

/// ORTHRUS by its own name, with its variants, and without numbers that nobody has measured.
#[test]
fn a_run_says_which_options_decide_nothing() {
    let folder = fresh_folder("idle-run");
    let line = words(
        "run ycsb --architecture orthrus --shared-lock-table on --touched-partitions 2 --sample 0 --out run",
    );
    let ran = run_short(&folder, &line);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.starts_with("orthrus over ycsb, 2 workers on hardware\n"), "{}", ran.out);
    for idle in IDLE {
        assert_eq!(ran.out.matches(&format!("warning: {idle}\n")).count(), 1, "{idle}\n{}", ran.out);
    }
    let line_of = |name: &str| {
        let found = ran.out.lines().find(|line| line.trim_start().starts_with(name));
        found.unwrap_or_else(|| panic!("no {name}\n{}", ran.out))
    };
    assert!(line_of("engine ").contains("1 concurrency-control thread, a shared lock table"), "{}", ran.out);
    assert!(
        line_of("time ").ends_with(" – (not measured: no transaction was timed by class)"),
        "{}",
        ran.out
    );
    let kept = fs::read_to_string(folder.join("run/summary.json")).expect("a summary");
    let kept: Value = serde_json::from_str(&kept).expect("JSON");
    assert_eq!((&kept["architecture"], &kept["protocol"]), (&"orthrus".into(), &"none".into()));
    let warnings: Vec<&str> =
        kept["warnings"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert!(IDLE.iter().all(|idle| warnings.contains(idle)), "{warnings:?}");
}

/// Where the system gives no counters of its processor's, and on simulated machines, where there are none.
#[test]
fn counters_that_nobody_gives_are_told_in_words() {
    const HERE: &str = "hardware";
    let folder = fresh_folder("no-counters");
    let json = |file: &str| -> Value {
        let kept = fs::read_to_string(folder.join(file)).expect("a file");
        serde_json::from_str(&kept).expect("JSON")
    };
    let warning = |told: &str| -> Option<String> {
        let begins = "warning: --counters on makes no difference to shared-everything silo: ";
        told.lines().find_map(|line| line.strip_prefix(begins)).map(str::to_owned)
    };
    let run_on = |machine: &str, counters: &str| {
        let out = format!("{machine}-{counters}");
        let duration = if machine == HERE { "60ms" } else { "100us" };
        let line = format!(
            "run ycsb --protocol silo --records 2000 --workers 2 --warmup 50us --duration {duration} --repeat 2 --on {machine} --counters {counters} --out {out}"
        );
        let ran = run(&folder, &words(&line));
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        (ran.out, json(&format!("{out}/summary.json")), format!("{out}/report.html"))
    };
    let (told, summary, report) = run_on(HERE, "on");
    let environment = json("hardware-on/environment.json");
    let availability = environment["hardware_counters"].as_str().expect("words");
    match availability.strip_prefix("not given: ") {
        None => {
            assert_eq!((availability, warning(&told)), ("given", None));
            assert!(summary["instructions_per_txn"].as_f64().is_some_and(|number| number > 100.0));
            assert!(told.contains("  instructions/txn "), "{told}");
        }
        Some(why) => {
            assert_eq!(warning(&told).as_deref(), Some(why), "{told}");
            assert!(summary["instructions_per_txn"].is_null());
            assert!(summary["warnings"].to_string().contains(why), "{summary}");
            let page = fs::read_to_string(folder.join(report)).expect("a report");
            assert!(
                page.contains(" makes no difference to shared-everything silo: ")
                    && page.contains(availability)
            );
            // Who did not ask for them by name need not be told every time.
            let (told, summary, _) = run_on(HERE, "auto");
            assert_eq!((warning(&told), &summary["counters"]), (None, &"auto".into()));
        }
    }
    let (told, summary, _) = run_on("westmere-ep-2x6", "on");
    let why = warning(&told).expect("a warning");
    assert!(why.starts_with("a simulated machine runs no instructions"), "{why}");
    assert!(summary["instructions_per_txn"].is_null() && summary["page_faults_per_txn"].is_null());
    let refused = run_short(&folder, &words("run ycsb --protocol silo --counters some"));
    assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""));
    assert!(refused.err.starts_with("error: --counters some: allowed: auto, on, off"), "{}", refused.err);
}

/// Many systems have few samples in so short a time; delegation has partitions, and so a use for how many are touched.
#[test]
fn a_comparison_tells_equal_warnings_once() {
    let folder = fresh_folder("equal-warnings");
    let line = words("compare ycsb --shared-lock-table on --touched-partitions 2 --sample 1000000000");
    let ran = run_short(&folder, &line);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let few: Vec<&str> = ran.out.lines().filter(|line| line.contains("sampled transactions")).collect();
    let all = systems(&folder).len();
    assert!(all > 20 && few.len() == 1, "{few:?}");
    assert!(few[0].starts_with("warning: ") && few[0].contains(&format!("{all} systems")), "{few:?}");
    assert!(ran.out.contains(&format!("warning: {}\n", IDLE[0])), "{}", ran.out);
    assert!(!ran.out.contains("--touched-partitions"), "{}", ran.out);
    assert!(ran.out.contains("orthrus  ") && ran.out.contains("(planned locks)"), "{}", ran.out);
    assert!(!ran.out.contains("orthrus none"), "{}", ran.out);
}

/// Those whose transactions cannot span instances are left out, and the others compared; where nothing is divided the option is idle.
#[test]
fn a_comparison_of_deployments_leaves_out_what_cannot_be_deployed() {
    let folder = fresh_folder("compared-deployments");
    let line = "compare micro --records 1000 --workers 2 --instances per-core --warmup 1ms --duration 10ms --repeat 1 --json";
    let ran = run(&folder, &words(line));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let json = ran.json();
    let rows = json["rows"].as_array().expect("rows");
    let shared = |row: &&Value| row["architecture"] == "shared-everything" && row["protocol"] != "none";
    for row in rows.iter().filter(shared) {
        match row["protocol"].as_str().expect("a name") {
            "no-wait" | "silo" => assert_eq!(row["instances"], 2, "{row}"),
            "key-value" => {}
            _ => assert!(
                row["why"]
                    .as_str()
                    .is_some_and(|why| why.starts_with("--instances per-core: allowed: 1 under ")),
                "{row}"
            ),
        }
    }
    let dora = rows.iter().find(|row| row["architecture"] == "dora" && row["supported"] == true);
    assert_eq!(dora.expect("it is measured")["instances"], 1);
}

/// A sweep crosses options, and not all of them decide something everywhere.
#[test]
fn a_sweep_says_which_options_decide_nothing_at_any_point() {
    let folder = fresh_folder("idle-sweep");
    let sweep = |name: &str, threads: &str| {
        let text = format!(
            "workload = 'ycsb'\n[base]\nsystem = 'orthrus'\nrecords = 2000\nworkers = 3\nwarmup = '5ms'\nduration = '20ms'\nrepeat = 2\n\
             [axes]\ncc-threads = {threads}\nshared-lock-table = ['on', 'off']"
        );
        fs::write(folder.join(format!("{name}.toml")), text).expect("an experiment");
        let ran = run(&folder, &words(&format!("sweep {name}.toml --out {name}")));
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let report = fs::read_to_string(folder.join(name).join("report.html")).expect("a report");
        let summary = fs::read_to_string(folder.join(name).join("summary.json")).expect("a summary");
        // In reports an option is marked up.
        let begins = "makes no difference to orthrus: one concurrency-control thread";
        let told = [ran.out.contains(begins), report.contains(begins), summary.contains(begins)];
        assert!(told.iter().all(|one| *one == told[0]), "{told:?}");
        told[0]
    };
    assert!(sweep("alone", "[1]"));
    assert!(!sweep("crossed", "[1, 2]"));
}

#[test]
fn a_check_says_what_the_engine_is_told_and_what_decides_nothing() {
    let folder = fresh_folder("idle-check");
    let line = "check micro --architecture orthrus --workers 3 --cc-threads 2 --shared-lock-table on --locks-by-hash on --servers 2 \
                --transactions 2000";
    let ran = run(&folder, &words(line));
    assert_nothing_wrong(&ran, line);
    let engine = ran.out.lines().find(|line| line.starts_with("engine: ")).expect("a line");
    let variants = "2 concurrency-control threads, a shared lock table, locks divided by hash";
    assert!(engine.ends_with(variants), "{engine}");
    let idle = "warning: --servers 2 makes no difference to orthrus; it is used by asymmetric-delegation\n";
    assert!(ran.out.contains(idle), "{}", ran.out);
    let explored = run(
        &folder,
        &words(
            "check micro --architecture orthrus --cc-threads 1 --shared-lock-table on --explore random --seeds 20",
        ),
    );
    assert_nothing_wrong(&explored, "explored");
    assert!(
        explored.out.contains(", 1 concurrency-control thread, a shared lock table\n"),
        "{}",
        explored.out
    );
    assert!(explored.out.contains(&format!("warning: {}\n", IDLE[0])), "{}", explored.out);
}

/// What a check chooses itself is no option that somebody typed, even where it decides nothing.
#[test]
fn a_check_does_not_warn_of_its_own_defaults() {
    let folder = fresh_folder("idle-defaults");
    let idle = "--remote any makes no difference";
    for system in ["--protocol silo", "--architecture orthrus --cc-threads 1"] {
        let line = format!("check micro {system} --transactions 2000");
        let ran = run(&folder, &words(&line));
        assert_nothing_wrong(&ran, &line);
        assert!(ran.out.contains("remote any") && !ran.out.contains(idle), "{line}\n{}", ran.out);
        let typed = run(&folder, &words(&format!("{line} --remote any")));
        assert!(typed.out.contains(idle), "{line}\n{}", typed.out);
    }
}
