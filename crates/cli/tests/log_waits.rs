//! Workers that wait for their logs: runs end, whatever is in flight, and the wait is that of the transaction which is to become durable.

mod common;

use common::{fresh_folder, run};

/// Runs a line, with a log of its own.
fn logged(line: &str) -> serde_json::Value {
    let folder = fresh_folder("log_waits");
    let line = format!("run {line} --workers 1 --repeat 1 --warmup 50ms --log log --json --out out");
    let ran = run(&folder, &line.split_whitespace().collect::<Vec<_>>());
    assert_eq!(ran.code, Some(0), "{line}: {}", ran.err);
    ran.json()
}

#[test]
fn fibers_that_are_not_admitted_hold_no_log_back() {
    for in_flight in ["auto", "8"] {
        let line = "micro --protocol silo --records 20000 --writes 50 --duration 1s --durability sync";
        let summary = logged(&format!("{line} --in-flight {in_flight}"));
        assert!(summary["commits"].as_u64() > Some(0), "{in_flight} in flight: {summary}");
        let found = summary["in_flight_found"].as_f64();
        let is_told = found.is_some_and(|found| (1.0..=8.0).contains(&found));
        assert_eq!(is_told, in_flight == "auto", "{in_flight} in flight: {found:?}");
    }
    // Slow arrivals: the log goes on between them.
    let line = "smallbank --protocol silo --customers 20000 --duration 500ms --durability group --rate 300";
    let summary = logged(&format!("{line} --in-flight auto"));
    assert!(summary["commits"].as_u64() > Some(50), "{summary}");
}

/// A fiber goes from one local transaction to the next, and those below it may not run again in the whole run: without going on to new epochs they kept every commit from being acknowledged.
#[test]
fn fibers_between_two_transactions_hold_no_log_back() {
    for system in [
        "--architecture dora --protocol no-wait --workers 1",
        "--architecture dora --protocol no-wait --workers 2 --hot 0 --remote 0",
        "--protocol silo --workers 2 --instances 2 --hot 0 --remote any-but-one --multi-partition 0",
        "--protocol no-wait --workers 2 --instances 2 --hot 0 --remote any-but-one --multi-partition 0 --channel unix",
        "--protocol silo --workers 2 --cluster 2 --hot 0 --remote any-but-one --multi-partition 0",
    ] {
        let folder = fresh_folder("log_waits");
        let line = format!(
            "run micro {system} --records 2000 --durability buffered --epoch 5ms --warmup 100ms --duration 1s --repeat 1 --log log --json --out out"
        );
        let ran = run(&folder, &line.split_whitespace().collect::<Vec<_>>());
        assert_eq!(ran.code, Some(0), "{system}: {}", ran.err);
        let summary = ran.json();
        assert!(summary["commits"].as_u64() > Some(0), "{system}: {summary}");
    }
}

/// A worker has one transaction at a time: together those that began in the interval take no longer than that, but for the last one.
#[test]
fn a_wait_for_the_log_is_of_one_transaction() {
    const INTERVAL_NS: f64 = 400e6;
    for system in [
        "--protocol silo",
        "--protocol no-wait",
        "--architecture partitioned-serial",
        "--architecture dora --protocol no-wait --in-flight 1",
    ] {
        let line = format!("micro --records 20000 --writes 100 --durability sync --duration 400ms {system}");
        let summary = logged(&line);
        let number = |of: &serde_json::Value| of.as_f64().expect("a number");
        let (mean_ns, max_ns) =
            (number(&summary["latency_ns"]["mean"]), number(&summary["latency_ns"]["max"]));
        // Some that are timed by class are among the commits, and not among the latencies: as long as the others, on the whole.
        let all_ns = mean_ns * number(&summary["commits"]);
        assert!(all_ns < 1.2 * INTERVAL_NS + 2.0 * max_ns, "{system}: {all_ns} ns, the longest {max_ns}");
        assert!(mean_ns > number(&summary["between_ns"]), "{system}: the wait is in the latency");
    }
}
