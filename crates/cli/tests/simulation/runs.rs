//! Runs, comparisons and sweeps: the same numbers each time, on however many of the host's cores, and said to be simulated.

use crate::common::{fresh_folder, systems};
use crate::{SHORT, haswell, on};
use machine::hardware;
use serde_json::Value;
use std::fs;

#[test]
fn a_simulated_run_repeats_bit_for_bit_in_another_process() {
    let folder = fresh_folder("simulated-twice");
    for pair in systems(&folder) {
        let (architecture, protocol) = pair.split_once(' ').expect("two names");
        let line = format!(
            "run micro {SHORT} --workers 20 --architecture {architecture} --protocol {protocol} --json"
        );
        let (first, second) = (on(&folder, &line, &haswell()), on(&folder, &line, &haswell()));
        assert_eq!(first.code, Some(0), "{pair}: {}", first.err);
        assert_eq!(first.out, second.out, "{pair}");
        let summary = first.json();
        assert_eq!(summary["simulated"], true);
        assert_eq!(summary["machine"], "haswell-ex-4x18");
        assert!(summary["commits"].as_u64() > Some(20), "{pair}: {}", first.out);
        let other = on(&folder, &format!("{line} --seed 2"), &haswell());
        assert_ne!(first.out, other.out, "{pair}: the seed decides");
    }
}

#[test]
fn a_comparison_says_that_it_is_simulated() {
    let folder = fresh_folder("simulated-comparison");
    let ran = on(&folder, &format!("compare micro {SHORT} --workers 4 --out here"), &haswell());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("shared-everything") && ran.out.contains("dora"), "{}", ran.out);
    let report = fs::read_to_string(folder.join("here/report.html")).expect("a report");
    assert!(report.contains("haswell-ex-4x18 (simulated)"), "the report says where");
    assert!(ran.out.contains("simulated"), "{}", ran.out);
}

/// What one point inserts, the next one must not find.
#[test]
fn a_sweep_that_was_cut_comes_to_the_same_numbers() {
    let folder = fresh_folder("simulated-sweep");
    let text = "workload = 'tpcc'\n[base]\nwarehouses = 4\nitems = 100\ncustomers = 10\nmix = 'new-order'\n\
                [axes]\nsystem = ['shared-everything silo', 'partitioned-serial']\nworkers = [1, 4]";
    fs::write(folder.join("four.toml"), text).expect("an experiment");
    let sweep = |out: &str| {
        let line = format!("sweep four.toml --warmup 100us --duration 1ms --repeat 2 --out {out}");
        let ran = on(&folder, &line, &haswell());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        fs::read_to_string(folder.join(out).join("points.jsonl")).expect("a journal")
    };
    let whole = sweep("whole");
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    assert_eq!(lines.len(), 5, "the header and four points");
    for kept in 1..4 {
        let out = format!("cut-{kept}");
        fs::create_dir(folder.join(&out)).expect("a folder");
        fs::write(folder.join(&out).join("points.jsonl"), lines[..=kept].concat()).expect("cut");
        assert_eq!(sweep(&out), whole, "{kept} of 4 points were there");
    }
}

/// Repetitions run side by side on as many cores as the host has.
#[cfg(target_os = "linux")]
#[test]
fn a_host_of_one_core_comes_to_the_same_numbers() {
    let folder = fresh_folder("simulated-one-core");
    let compared = |out: &str| {
        let line = format!(
            "compare tpcc --warehouses 2 --items 100 --customers 10 --workers 4 --warmup 20us --duration 200us --repeat 3 \
             --json --out {out}"
        );
        let ran = on(&folder, &line, &haswell());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        ran
    };
    let all = compared("all");
    // A worker is bound to a core, and so is the process that it starts.
    let one = hardware::worker::run(1, |_| compared("one")).remove(0);
    let environment = fs::read_to_string(folder.join("one/environment.json")).expect("an environment");
    let environment: Value = serde_json::from_str(&environment).expect("JSON");
    assert_eq!(environment["cores"], 1);
    assert_eq!(one.out, all.out);
}

#[test]
fn a_file_is_told_how_far_it_is() {
    let folder = fresh_folder("simulated-progress");
    let line = "run micro --records 5000 --protocol silo --workers 72 --warmup 1ms --duration 9ms --repeat 1 --progress";
    let ran = on(&folder, line, &haswell());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let told = ran.err.lines().find(|line| line.starts_with("run ")).unwrap_or_default();
    assert!(told.contains(" of 1: simulated ") && told.contains(" of 10,000 us, "), "{}", ran.err);
    assert!(told.contains(" transactions, ") && told.ends_with(" left"), "{}", ran.err);
}
