//! Histories of simulated runs are judged, and what runs leave behind is audited.

use crate::common::{fresh_folder, systems};
use crate::{haswell, on};
use serde_json::Value;
use std::fs;

#[test]
fn histories_of_simulated_runs_are_judged() {
    let folder = fresh_folder("simulated-checks");
    for pair in systems(&folder) {
        let (architecture, protocol) = pair.split_once(' ').expect("two names");
        let line = format!(
            "check micro --records 100 --writes 50 --transactions 1000 --workers 20 --architecture {architecture} \
             --protocol {protocol}"
        );
        let ran = on(&folder, &line, &haswell());
        assert_eq!(ran.code, Some(0), "{pair}\n{}\n{}", ran.out, ran.err);
    }
    let line =
        "check micro --records 100 --writes 50 --transactions 4000 --workers 20 --canary no-read-validation";
    let ran = on(&folder, line, &haswell());
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    assert!(ran.out.ends_with("rejected, as a canary must be\n"), "{}", ran.out);
}

/// As on the hardware; without taking any simulated time.
#[test]
fn simulated_runs_are_audited() {
    let folder = fresh_folder("simulated-audits");
    let audited = |check: &Value| check["name"] == "audit" && check["passed"] == true;
    for pair in systems(&folder) {
        let (architecture, protocol) = pair.split_once(' ').expect("two names");
        let line = format!(
            "run tpcc --warehouses 4 --items 100 --customers 20 --workers 8 --architecture {architecture} --protocol \
             {protocol} --duration 300us --repeat 2 --json"
        );
        let ran = on(&folder, &line, &haswell());
        assert_eq!(ran.code, Some(0), "{pair}\n{}\n{}", ran.out, ran.err);
        let summary = ran.json();
        assert!(summary["checks"].as_array().expect("checks").iter().any(audited), "{pair}: {summary}");
    }
    fs::write(
        folder.join("one.toml"),
        "workload = 'smallbank'\n[base]\ncustomers = 2000\n[axes]\nprotocol = ['silo']",
    )
    .expect("an experiment");
    let ran = on(&folder, "sweep one.toml --workers 8 --duration 300us --out out --json", &haswell());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let points = ran.json();
    assert!(
        points["points"][0]["summary"]["checks"].as_array().expect("checks").iter().any(audited),
        "{points}"
    );
}

/// Whose requests find the ring to another thread full, while books are checked, lets that thread go on.
#[test]
fn an_audit_with_many_transactions_in_flight_ends() {
    let folder = fresh_folder("simulated-audit-of-many");
    let line = "run tpcc --architecture orthrus --workers 2 --in-flight 16 --items 10 --customers 10 --warmup 100us \
                --duration 1ms --repeat 1 --sample 0 --json";
    let ran = on(&folder, line, &haswell());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.json()["commits"].as_u64() > Some(0), "{}", ran.out);
}

/// What is checked where nothing is typed but the system: transactions that conflict, under every kind of it.
#[test]
fn every_workload_conflicts_by_default() {
    let folder = fresh_folder("simulated-conflicts");
    for workload in
        ["micro", "ycsb", "smallbank", "tatp", "tpcc", "membership", "ranges", "list-append", "growing-lists"]
    {
        for system in
            ["shared-everything --protocol silo", "delegation --protocol no-wait", "partitioned-serial"]
        {
            let line = format!("check {workload} --workers 8 --transactions 2000 --architecture {system}");
            let ran = on(&folder, &line, &haswell());
            assert_eq!(ran.code, Some(0), "{line}\n{}\n{}", ran.out, ran.err);
            assert!(
                ran.out.contains("dependencies between transactions of different workers: "),
                "{}",
                ran.out
            );
        }
    }
}
