//! The workloads over Ignite as over our engine: measured beside it, audited, and judged by the checker, which rejects what validates no reads.

use harness::check::{CheckWorkload, Conclusion, Own};
use harness::observer::Silent;
use harness::results::Surroundings;
use harness::{Place, RunOptions, Subject};
use ignite::session::patient;
use ignite::{check, compare};
use std::collections::BTreeMap;
use std::time::Duration;
use workloads::{AnyWorkload, build};

fn options(workers: usize) -> RunOptions {
    let defaults = RunOptions::for_compare(2);
    let engine = contract::EngineOptions {
        instances: contract::Instances::of(2),
        sample_one_in: 0,
        ..defaults.engine
    };
    let (warmup, duration) = (Duration::from_millis(300), Duration::from_millis(500));
    RunOptions { workers, repeat: 2, warmup, duration, engine, ..defaults }
}

fn workload(name: &str, parameters: &[(&str, &str)]) -> AnyWorkload {
    build(name, &parameters.iter().copied().collect()).expect("a workload")
}

/// The same with Ignite's back-off.
fn over_ignite(workers: usize) -> RunOptions {
    let options = options(workers);
    RunOptions { engine: patient(options.engine), ..options }
}

/// Two of ours, one of ours in two instances, and Ignite: all of them commit, and what they leave behind is right.
fn is_measured_beside_ours(workload: &AnyWorkload, is_audited: bool) {
    let subject = Subject::of(workload, options(2), Place::hardware(2));
    let surroundings = Surroundings::new(String::new(), &BTreeMap::<String, String>::new());
    let over_ignite = over_ignite(2);
    let agenda = compare::Agenda { subject: &subject, workload, nodes: 2, over_ignite, observer: &Silent };
    let result = agenda.carry_out(&surroundings).unwrap_or_else(|failure| panic!("{failure}"));
    let systems: Vec<String> = result.systems.iter().map(|system| system.summary.system()).collect();
    assert_eq!(systems.len(), 4, "{systems:?}");
    assert!(systems.iter().any(|name| name == "ignite (2 nodes) optimistic-serializable"), "{systems:?}");
    for (name, system) in systems.iter().zip(&result.systems) {
        let summary = &system.summary;
        assert!(summary.commits > 0, "{name} committed nothing");
        let back_off_ns = if name.starts_with("ignite") { 500_000 } else { 500 };
        assert_eq!(summary.engine.back_off_first_ns, back_off_ns, "{name}");
        let failed: Vec<_> = summary.checks.iter().filter(|check| !check.passed).collect();
        assert!(failed.is_empty(), "{name}: {failed:?}");
        assert_eq!(summary.checks.iter().any(|check| check.name == "audit"), is_audited, "{name}");
    }
    let table = ignite::table::of_comparison(&result);
    assert!(systems.iter().all(|name| table.contains(name.as_str())), "{table}");
}

#[test]
fn workers_that_cannot_be_divided_leave_one_system_out_with_the_reason() {
    let workload = workload("smallbank", &[("customers", "500"), ("hot-customers", "50")]);
    let subject = Subject::of(&workload, options(1), Place::hardware(2));
    let surroundings = Surroundings::new(String::new(), &BTreeMap::<String, String>::new());
    let of = |nodes| compare::Agenda {
        subject: &subject,
        workload: &workload,
        nodes,
        over_ignite: over_ignite(1),
        observer: &Silent,
    };
    let result = of(2).carry_out(&surroundings).unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(result.systems.len(), 3);
    let table = ignite::table::of_comparison(&result);
    let left_out = "not measured: shared-everything (2 instances, tcp) silo: --workers 1 --nodes 2: ";
    assert!(table.contains(left_out), "{table}");
    let Err(refused) = of(5).carry_out(&surroundings) else { panic!("so many nodes are refused") };
    assert_eq!(refused.to_string(), "--nodes 5: allowed: 1 <= nodes <= 4");
}

#[test]
fn a_bank_is_measured_beside_ours_and_audited() {
    is_measured_beside_ours(&workload("smallbank", &[("customers", "500"), ("hot-customers", "50")]), true);
}

#[test]
fn ycsb_is_measured_beside_ours() {
    is_measured_beside_ours(&workload("ycsb", &[("records", "500"), ("accesses", "4")]), false);
}

#[test]
fn payment_is_measured_beside_ours_and_audited() {
    let scale = [("mix", "payment"), ("warehouses", "2"), ("items", "10"), ("customers", "20")];
    is_measured_beside_ours(&workload("tpcc", &scale), true);
}

fn judged(workload: &CheckWorkload, transactions: u64, canary: bool) -> harness::check::CheckSummary {
    let subject = match workload {
        CheckWorkload::Measured(workload) => Subject::of(workload, over_ignite(4), Place::hardware(2)),
        CheckWorkload::Own(own) => Subject {
            workload: own.name().to_owned(),
            parameters: BTreeMap::new(),
            options: over_ignite(4),
            place: Place::hardware(2),
        },
    };
    let agenda = check::Agenda { subject: &subject, workload, transactions, canary, observer: &Silent };
    agenda.carry_out().unwrap_or_else(|failure| panic!("{failure}"))
}

/// The bank over few customers.
fn few_customers() -> CheckWorkload {
    let parameters = [("customers", "32"), ("hot-customers", "8")];
    CheckWorkload::Measured(Box::new(workload("smallbank", &parameters)))
}

#[test]
fn what_ignite_does_is_strictly_serializable() {
    let payments =
        [("mix", "payment"), ("warehouses", "2"), ("items", "10"), ("customers", "20"), ("home", "any")];
    let payments = CheckWorkload::Measured(Box::new(workload("tpcc", &payments)));
    for workload in [few_customers(), payments, CheckWorkload::Own(Own::Membership)] {
        let summary = judged(&workload, 800, false);
        assert_eq!(summary.conclusion(), Conclusion::Held, "{}", ignite::table::of_check(&summary));
        assert!(summary.aborts.values().sum::<u64>() > 0, "nobody was in anybody's way");
    }
}

#[test]
fn without_validation_the_checker_rejects_it() {
    let summary = judged(&few_customers(), 800, true);
    assert_eq!(summary.conclusion(), Conclusion::Failed);
    let verdict = summary.verdict.as_ref().expect("a history");
    assert!(!verdict.counts.is_empty() && summary.outcome().contains("as a canary must be"), "{verdict}");
}
