//! Later results beside earlier ones: what is the same is not told apart, and what is slower is found.

mod common;

use common::{Ran, fresh_folder, run};
use serde_json::Value;
use std::fs;
use std::path::Path;

const MACHINE: &str = include_str!("../../../machines/haswell-ex-4x18.toml");

/// A folder with a machine file: what is simulated repeats bit for bit.
fn simulated() -> common::Scratch {
    let folder = fresh_folder("diff");
    fs::write(folder.join("machine.toml"), MACHINE).expect("a machine");
    folder
}

/// Twenty operations a transaction, or as many as are said.
fn measured(folder: &Path, operations: &str, more: &[&str]) -> Ran {
    let of = [
        "run",
        "micro",
        "--on",
        "machine.toml",
        "--workers",
        "4",
        "--protocol",
        "silo",
        "--records",
        "4000",
        "--hot",
        "0",
        "--hot-records",
        "0",
        "--warmup",
        "20us",
        "--duration",
        "300us",
        "--repeat",
        "5",
        "--operations",
        operations,
    ];
    run(folder, &[&of[..], more].concat())
}

#[test]
fn what_is_the_same_is_never_slower_and_a_twentieth_slower_always_is() {
    let folder = simulated();
    let saved = measured(&folder, "20", &["--save-baseline", "main", "--out", "before"]);
    assert_eq!(saved.code, Some(0), "{}", saved.err);
    assert!(folder.join("results/baselines/main/samples.csv").exists());
    let same = measured(&folder, "20", &["--baseline", "main", "--out", "same"]);
    assert_eq!(same.code, Some(0), "{}", same.err);
    assert!(
        same.out.contains("beside the baseline main:") && same.out.contains("within noise"),
        "{}",
        same.out
    );
    // One operation in twenty more.
    let slower = measured(&folder, "21", &["--baseline", "main", "--out", "slower"]);
    assert_eq!(slower.code, Some(2), "{}", slower.err);
    assert!(slower.err.contains("operations: 20, then 21"), "{}", slower.err);
    let refused = run(&folder, &["diff", "main", "slower"]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(
        refused.err.contains("operations: 20, then 21") && refused.err.contains("--unlike"),
        "{}",
        refused.err
    );
    let found = run(&folder, &["diff", "before", "slower", "--unlike"]);
    assert_eq!(found.code, Some(1), "{}", found.err);
    assert!(found.out.contains("REGRESSION") && found.out.contains("differs: operations"), "{}", found.out);
    let tolerated = run(&folder, &["diff", "main", "slower", "--unlike", "--tolerance", "30%", "--json"]);
    assert_eq!(tolerated.code, Some(0), "{}", tolerated.err);
    let row = &tolerated.json()["rows"][0];
    assert_eq!((&row["verdict"], &row["paired"]), (&Value::from("slower"), &Value::from(true)));
    assert!(row["ratio"].as_f64().is_some_and(|ratio| (0.90..0.99).contains(&ratio)), "{row}");
    let faster = run(&folder, &["diff", "slower", "main", "--unlike"]);
    assert_eq!(faster.code, Some(0), "{}", faster.err);
    assert!(faster.out.contains("faster"), "{}", faster.out);
}

/// From other seeds it draws other transactions, and is the same system.
#[test]
fn other_seeds_of_the_same_are_within_noise() {
    let folder = simulated();
    for seed in 0..8 {
        let (out, seed) = (format!("s{seed}"), (100 * seed).to_string());
        let ran = measured(&folder, "20", &["--seed", &seed, "--out", &out]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
    }
    let mut alarms = 0;
    for one in 0..8 {
        for other in (0..8).filter(|other| *other != one) {
            let sides = [format!("s{one}"), format!("s{other}")];
            let diff = run(&folder, &["diff", &sides[0], &sides[1], "--json"]);
            let row = diff.json()["rows"][0].clone();
            assert_eq!(row["paired"], false);
            alarms += usize::from(diff.code != Some(0));
        }
    }
    // 28 comparisons, each both ways: one in twenty by chance.
    assert!(alarms <= 4, "{alarms} of 56 are told to be slower");
}

#[test]
fn a_thousand_repetitions_are_never_slower_than_themselves() {
    let folder = simulated();
    let line = "run micro --on machine.toml --workers 2 --protocol silo --records 4000 --warmup 5us --duration 25us --repeat 1000";
    let line: Vec<&str> = line.split(' ').collect();
    for name in ["one", "other"] {
        let ran = run(&folder, &[&line[..], &["--out", name]].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
    }
    let compared = run(&folder, &["diff", "one", "other", "--json"]);
    assert_eq!(compared.code, Some(0), "{}", compared.err);
    let row = &compared.json()["rows"][0];
    assert_eq!(row["verdict"], "within-noise", "{row}");
    for bound in ["ratio", "low", "high"] {
        assert_eq!(row[bound], 1.0, "{bound} of {row}");
    }
}

#[test]
fn what_cannot_be_compared_is_refused_before_it_is_measured() {
    let folder = simulated();
    for (more, what) in [
        (
            ["--baseline", "mian"],
            "mian: no results are there; allowed: a folder of results, or the name of a baseline",
        ),
        (["--save-baseline", "a/b"], "save-baseline a/b: allowed: a name of letters"),
        (["--tolerance", "3%"], "--tolerance is for --baseline, which is missing"),
        (["--by", "p99"], "--by is for --baseline, which is missing"),
    ] {
        let ran = measured(&folder, "20", &more);
        assert_eq!(ran.code, Some(2), "{}", ran.err);
        assert!(ran.err.contains(what), "{}", ran.err);
        assert!(!folder.join("results").exists(), "nothing was measured");
    }
    let nothing = run(&folder, &["diff", "results", "machine.toml"]);
    assert_eq!(nothing.code, Some(2), "{}", nothing.err);
    let by = run(&folder, &["diff", "a", "b", "--by", "p42"]);
    assert!(by.err.contains("by p42: allowed: throughput, mean, p50, p99, p999"), "{}", by.err);
}

/// A sweep's rows are its points, a comparison's its systems.
#[test]
fn points_and_systems_are_rows() {
    let folder = simulated();
    let experiment = "workload = 'micro'\n[base]\nrecords = 4000\nhot-records = 0\nhot = 0\n[axes]\nprotocol = ['silo', 'no-wait']\nworkers = [1, 2]\n";
    fs::write(folder.join("points.toml"), experiment).expect("a file");
    let short = ["--on", "machine.toml", "--warmup", "10us", "--duration", "50us", "--repeat", "2"];
    for name in ["one", "other"] {
        let ran = run(
            &folder,
            &[&["sweep", "points.toml", "--save-baseline", name, "--out", name][..], &short].concat(),
        );
        assert_eq!(ran.code, Some(0), "{}", ran.err);
    }
    let diff = run(&folder, &["diff", "one", "other", "--by", "p99", "--json"]).json();
    assert_eq!(diff["rows"].as_array().expect("rows").len(), 4, "{diff:#}");
    assert!(diff["rows"][0]["row"].to_string().contains(r#"["workers","1"]"#), "{diff:#}");
    assert!(diff["rows"].as_array().expect("rows").iter().all(|row| row["ratio"] == 1.0), "{diff:#}");
}

/// For spreadsheets, scripts, pages and HdrHistogram's tools.
#[test]
fn results_are_exported_in_the_forms_of_other_programs() {
    let folder = simulated();
    let ran = measured(&folder, "20", &["--export", "csv,json,markdown,hlog", "--out", "out"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let read = |name: &str| fs::read_to_string(folder.join("out").join(name)).expect(name);
    assert!(
        read("export.csv").starts_with("schema,architecture,protocol,workload,"),
        "{}",
        read("export.csv")
    );
    let rows: Value = serde_json::from_str(&read("export.json")).expect("JSON");
    assert_eq!((&rows[0]["schema"], &rows[0]["protocol"]), (&"trireme.export/1".into(), &"silo".into()));
    assert!(read("export.md").starts_with("| architecture | protocol | txn/s | "), "{}", read("export.md"));
    let log = read("latency.hlog");
    assert!(
        log.contains("Tag=shared-everything/silo,") && log.starts_with("#[Histogram log format version 1.3]"),
        "{log}"
    );
    let refused = measured(&folder, "20", &["--export", "xml", "--out", "refused"]);
    assert!(refused.code == Some(2) && !folder.join("refused").exists(), "{}", refused.err);
}

#[test]
fn shells_complete_and_the_manual_has_pages() {
    let folder = fresh_folder("completions");
    for shell in ["bash", "fish", "zsh"] {
        let ran = run(&folder, &["completions", shell]);
        assert!(ran.code == Some(0) && ran.out.contains("save-baseline"), "{shell}: {}", ran.err);
    }
    assert_eq!(run(&folder, &["completions", "man", "--out", "pages"]).code, Some(0));
    let page = fs::read_to_string(folder.join("pages/trireme-run.1")).expect("a page");
    assert!(page.contains("trireme\\-run") && page.contains("arrivals"), "{page}");
    let refused = run(&folder, &["completions", "tcsh"]);
    assert!(refused.code == Some(2) && refused.err.contains("allowed: bash, "), "{}", refused.err);
}

/// Outside of the repository, too: they travel inside the program.
#[test]
fn experiments_and_machines_travel_along() {
    let folder = fresh_folder("shipped");
    let listed = run(&folder, &["list", "experiments"]);
    assert!(listed.out.contains("'trireme reproduce trireme/fig-2a'"), "{}", listed.out);
    let planned = run(&folder, &["sweep", "experiments/hardware/open-loop.toml", "--dry-run"]);
    assert!(planned.code == Some(0) && planned.out.contains("36 points"), "{}{}", planned.out, planned.err);
    assert!(!folder.join("results").exists(), "nothing was measured");
    let by_name = run(
        &folder,
        &[
            "run",
            "micro",
            "--on",
            "haswell-ex-4x18",
            "--workers",
            "2",
            "--protocol",
            "silo",
            "--records",
            "2000",
            "--warmup",
            "10us",
            "--duration",
            "50us",
            "--repeat",
            "1",
            "--json",
            "--out",
            "out",
        ],
    );
    assert_eq!(by_name.json()["machine"], "haswell-ex-4x18", "{}", by_name.err);
    let environment: Value =
        serde_json::from_str(&fs::read_to_string(folder.join("out/environment.json")).expect("laid down"))
            .expect("JSON");
    for fact in ["trireme_commit", "compiler", "stolen_share", "load_average_before", "frequency_mhz"] {
        assert!(environment.get(fact).is_some(), "{fact}: {environment:#}");
    }
}

#[test]
fn some_systems_are_compared_and_no_others() {
    let folder = fresh_folder("only");
    let only = |systems: &str| {
        let line = ["compare", "micro", "--only", systems, "--json"];
        common::run_short(&folder, &line)
    };
    let compared = only("silo, dora no-wait").json();
    let systems: Vec<String> = compared["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| {
            format!(
                "{} {}",
                row["architecture"].as_str().unwrap_or_default(),
                row["protocol"].as_str().unwrap_or_default()
            )
        })
        .collect();
    assert!(
        systems.contains(&"shared-everything silo".to_owned())
            && systems.contains(&"dora no-wait".to_owned()),
        "{systems:?}"
    );
    assert!(
        systems.iter().all(|system| system.ends_with(" silo") || system == "dora no-wait"),
        "{systems:?}"
    );
    let refused = only("siol");
    assert!(
        refused.code == Some(2)
            && refused.err.contains("--only siol: allowed: architectures, protocols, or systems"),
        "{}",
        refused.err
    );
}
