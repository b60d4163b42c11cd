//! A simulated machine beside the one at hand, and deployments beside processes of it.

use crate::common::fresh_folder;
use crate::{haswell, machine, on};
use harness::validation::ModelErrors;
use serde_json::Value;
use std::fs;
use std::path::Path;

#[test]
fn a_machine_is_held_against_the_one_at_hand() {
    let folder = fresh_folder("validated");
    let line = "validate --commit=errors.json micro --records 2000 --hot 0 --operations 2 --workers 2 --warmup 1ms --duration 20ms --repeat 2 \
                --out here --json";
    let ran = on(&folder, line, &haswell());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let validation = ran.json();
    assert!(ran.err.contains("round 2, micro records=2000 hot=0 operations=2, 2 workers\n"), "{}", ran.err);
    let rows = validation["rows"].as_array().expect("rows");
    assert!(rows.len() >= 20, "{}", ran.out);
    for row in rows {
        let (measured, simulated) = (&row["measured_per_s"], &row["simulated_per_s"]);
        assert!(measured.is_number() && simulated.as_f64() > Some(0.0), "{row}");
        assert_eq!(
            (&row["workload"], &row["setting"]),
            (&"micro".into(), &"records=2000 hot=0 operations=2".into())
        );
    }
    assert_eq!(validation["rounds"], 2);
    assert!(folder.join("here/summary.json").exists());
    // Where they come from; then each system in each round, measured and simulated.
    let path = folder.join("here/rows.jsonl");
    let lines = fs::read_to_string(&path).expect("rows");
    assert_eq!(lines.lines().count(), 1 + rows.len() * 2);
    for line in lines.lines().skip(1) {
        let both: Value = serde_json::from_str(line).expect("rows");
        assert_eq!((&both[0]["simulated"], &both[1]["simulated"]), (&false.into(), &true.into()), "{line}");
    }

    // What a verdict is to use.
    let text = fs::read_to_string(folder.join("errors.json")).expect("errors");
    let errors = ModelErrors::parse(&text).expect("errors");
    let throughput = errors.of("throughput").expect("compared in each way");
    assert_eq!(Some(throughput.value), validation["errors"]["throughput"]["value"].as_f64());
    assert_eq!((errors.most_workers, errors.machine_fingerprint.len()), (2, 16));
    assert!(errors.command.starts_with("trireme validate --commit=errors.json micro"), "{}", errors.command);

    // One that was cut off goes on, and keeps what it has.
    let torn = &lines[..lines.len() - 30];
    fs::write(&path, torn).expect("torn");
    let again = on(&folder, &format!("{line} --progress"), &haswell());
    assert_eq!(again.code, Some(0), "{}", again.err);
    let all = rows.len() * 2;
    let told = format!(
        "{all} of {all} systems, the last of round 2, micro records=2000 hot=0 operations=2, 2 workers; "
    );
    assert!(again.err.contains(&told), "{}", again.err);
    assert_eq!(again.json()["rows"].as_array().map(Vec::len), Some(rows.len()));
    let whole = torn.rfind('\n').expect("lines") + 1;
    let kept = fs::read_to_string(&path).expect("rows");
    assert_eq!((&kept[..whole], kept.lines().count()), (&torn[..whole], lines.lines().count()));
    let other = on(&folder, &line.replace("20ms", "21ms"), &haswell());
    assert!(other.code == Some(2) && other.err.contains("measured with --duration 20ms"), "{}", other.err);

    let refused = on(&folder, "validate micro", "hardware");
    assert_eq!(refused.code, Some(2));
    a_failed_check_commits_no_errors(&folder, line, &kept);
}

/// Of a round that was kept with one, in which nothing else differs.
fn a_failed_check_commits_no_errors(folder: &Path, line: &str, kept: &str) {
    let beside = "\"retried_share\":";
    let failed = kept.replacen(beside, &format!("\"failed_checks\":[\"nothing-held\"],{beside}"), 1);
    assert_ne!(failed, kept);
    fs::write(folder.join("here/rows.jsonl"), failed).expect("written");
    fs::remove_file(folder.join("errors.json")).expect("it was committed");
    let ran = on(folder, line, &haswell());
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    let told = &ran.json()["failed_checks"];
    assert!(told[0].as_str().is_some_and(|told| told.starts_with("check failed: nothing-held: ")), "{told}");
    assert!(ran.err.contains("nothing is committed: a check has failed"), "{}", ran.err);
    assert!(!folder.join("errors.json").exists());
}

/// On the hardware each instance is a process; the error of deployments is told apart.
#[test]
fn a_deployment_is_held_against_processes_of_the_machine_at_hand() {
    let folder = fresh_folder("validated-deployment");
    // Who waits looks seldom, so that there is little to simulate however slow this build is on a busy host.
    let westmere = fs::read_to_string(machine("westmere-ex-8x10.toml")).expect("a machine");
    let seldom = folder.join("seldom.toml");
    fs::write(&seldom, westmere.replace("poll_ns = 400", "poll_ns = 20000")).expect("written");
    let line = "validate --commit=errors.json micro --records 2000 --hot 0 --operations 2 --remote 1 --workers 2 --instances 2 \
                --channel unix --warmup 1ms --duration 300ms --repeat 1 --out here --json";
    let ran = on(&folder, line, seldom.to_str().expect("a path"));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let told = "round 1, micro records=2000 hot=0 operations=2 remote=1, 2 instances over unix, 2 workers\n";
    assert!(ran.err.contains(told), "{}", ran.err);
    let validation = ran.json();
    let rows = validation["rows"].as_array().expect("rows");
    let protocols: Vec<_> = rows.iter().map(|row| row["protocol"].as_str().expect("a name")).collect();
    assert_eq!(protocols, ["no-wait", "silo"]);
    for row in rows {
        assert_eq!((&row["kind"], &row["instances"]), (&"deployments".into(), &2.into()), "{row}");
        assert_eq!((&row["channel"], &row["workers"]), (&"unix".into(), &2.into()), "{row}");
        assert!(row["simulated_per_s"].as_f64() > Some(0.0) && row["measured_per_s"].is_number(), "{row}");
    }
    // On a busy host a process may have committed nothing in so short a time: then there is nothing to compare.
    let committed = rows.iter().filter(|row| !row["mean_ns"].is_null()).count();
    let compared = |of: &Value| of["comparisons"]["throughput"]["value"].as_u64();
    assert_eq!(compared(&validation), Some(0), "none is of one instance");
    assert_eq!(compared(&validation["deployments"]), Some(committed as u64));
    let text = fs::read_to_string(folder.join("errors.json")).expect("errors");
    let errors = ModelErrors::parse(&text).expect("errors");
    let deployments = errors.deployments.expect("they were validated");
    assert_eq!(deployments.workloads, ["micro records=2000 hot=0 operations=2 remote=1"]);
    assert_eq!(
        (deployments.deployed.as_str(), errors.workloads.len()),
        ("each instance a process of its own", 0)
    );

    // For people, from what is there; and without a channel it is refused before anything is measured.
    let again = on(&folder, line.trim_end_matches(" --json"), seldom.to_str().expect("a path"));
    assert!(again.out.contains("unix, 2 instances"), "{}", again.out);
    assert!(again.out.contains("deployments (each instance a process of its own)"), "{}", again.out);
    let refused = on(&folder, line, &haswell());
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("no table [channels.unix]"), "{}", refused.err);
}
