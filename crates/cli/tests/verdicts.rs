//! What `check` says of every system: the honest ones pass, and every canary is rejected.

mod common;

use common::{Ran, assert_nothing_wrong, fresh_folder, run, systems};
use contract::{CanaryName, DeploymentCanary, DurabilityCanary};
use std::path::Path;

/// Each canary with workloads that show what it omits.
const SHOWN_BY: [(&str, &str); 22] = [
    ("no-read-validation", "micro --records 100 --writes 50"),
    ("no-miss-validation", "missing-key-write-skew"),
    ("no-miss-validation", "ranges"),
    ("early-release", "micro --records 100 --writes 50"),
    ("skipped-certify", "micro --records 100 --writes 50"),
    ("dirty-reads", "micro --records 100 --writes 50"),
    ("eager-upgrade", "lost-update"),
    ("forced-upgrade", "lost-update"),
    ("unguarded-upgrade", "lost-update"),
    ("uncounted-reads", "micro --records 100 --writes 50"),
    ("late-start", "micro --records 100 --writes 50"),
    ("unmarked-reads", "micro --records 100 --writes 50"),
    ("newest-version", "micro --records 100 --writes 50"),
    ("unraised-reads", "micro --records 100 --writes 50"),
    ("no-extension", "micro --records 100 --writes 50"),
    ("unheld-reads", "micro --records 100 --writes 50"),
    ("unvalidated-reads", "micro --records 100 --writes 50"),
    ("unlocked-gaps", "missing-key-write-skew"),
    ("unlocked-gaps", "ranges"),
    ("passed-locks", "micro --records 100 --writes 50"),
    ("stale-plans", "ranges"),
    ("unlocked-ranges", "ranges"),
];

/// Interleavings are a matter of luck: a canary may sing at any of these seeds.
const SEEDS: [&str; 10] = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"];

fn check(folder: &Path, workload: &str, more: &[&str]) -> Ran {
    let line: Vec<&str> =
        ["check"].into_iter().chain(workload.split(' ')).chain(more.iter().copied()).collect();
    run(folder, &line)
}

/// The canaries that are listed as breaking something: the protocol, what nodes do together, or logs.
fn canaries(folder: &Path, breaks: &str) -> Vec<String> {
    let list = run(folder, &["list", "canaries", "--json"]).json();
    let entries = list["canaries"].as_array().expect("a list").iter();
    let entries = entries.filter(|entry| entry["more"]["breaks"] == breaks);
    entries.map(|entry| entry["name"].as_str().expect("a name").to_owned()).collect()
}

/// Whoever reads the list finds every canary that `check` and `crash` take, and by which line it is found.
#[test]
fn canaries_of_nodes_and_logs_are_listed_with_their_lines() {
    let folder = fresh_folder("canaries-listed");
    assert_eq!(canaries(&folder, "nodes"), DeploymentCanary::ALL.map(DeploymentCanary::name));
    assert_eq!(canaries(&folder, "logs"), DurabilityCanary::ALL.map(DurabilityCanary::name));
    let list = run(&folder, &["list", "canaries"]).out;
    for line in [
        "'check WORKLOAD --protocol NAME --cluster 3 --canary decision-before-votes' and 'crash --kill node --canary decision-before-votes'",
        "'check WORKLOAD --protocol NAME --cluster FILE_OF_SEVERAL_HOSTS --canary one-clock'",
        "'crash --canary branch-epochs'",
        "'crash --kill node --canary local-acknowledgement'",
    ] {
        assert!(list.contains(&format!("; shown by {line}\n")), "{line}\n{list}");
    }
}

#[test]
fn every_canary_is_rejected() {
    let folder = fresh_folder("canaries");
    let canaries = canaries(&folder, "protocol");
    let mut shown = SHOWN_BY.map(|(canary, _)| canary.to_owned()).to_vec();
    shown.dedup();
    assert_eq!(canaries, shown, "every canary has a workload that shows it");
    for canary in CanaryName::ALL {
        let is_it = |(name, line): &(&str, &str)| {
            *name == canary.name() && line.split(' ').next() == Some(canary.shown_by())
        };
        assert!(SHOWN_BY.iter().any(is_it), "{canary} is said to be shown by {}", canary.shown_by());
    }
    for (canary, workload) in SHOWN_BY {
        let is_rejected = |seed: &&str| {
            let ran =
                check(&folder, workload, &["--canary", canary, "--transactions", "100000", "--seed", seed]);
            let is_rejected = ran.out.ends_with("rejected, as a canary must be\n");
            let told = match ran.code {
                Some(1) if is_rejected => "",
                Some(2) => "too little happened: ",
                _ => "warning: the canary was not rejected",
            };
            assert!(matches!(ran.code, Some(1 | 2)), "{canary}\n{}\n{}", ran.out, ran.err);
            assert!(ran.out.contains(told), "{canary}\n{}\n{}", ran.out, ran.err);
            is_rejected
        };
        assert!(SEEDS.iter().any(is_rejected), "{canary} over {workload} was never rejected");
    }
}

/// No transaction misses a key of `micro`, so what this one leaves out is never wanted there.
#[test]
fn a_canary_that_is_missed_has_failed() {
    let folder = fresh_folder("missed");
    for (more, is_json) in [
        ("--transactions 20000", false),
        ("--transactions 20000 --json", true),
        ("--explore random --seeds 200", false),
    ] {
        let line = format!("--canary no-miss-validation --records 100 --writes 50 --workers 3 {more}");
        let ran = check(&folder, "micro", &line.split(' ').collect::<Vec<_>>());
        // On cores that others use, too, workers may hardly meet.
        if ran.code == Some(2) && !more.contains("--explore") {
            continue;
        }
        assert_eq!(ran.code, Some(1), "{more}\n{}\n{}", ran.out, ran.err);
        assert!(
            ran.err.ends_with("error: the canary was missed: all that was checked held\n"),
            "{more}\n{}",
            ran.err
        );
        assert!(is_json || ran.out.contains("MISSED: the canary passed\n"), "{more}\n{}", ran.out);
    }
}

/// Three workers: under asymmetric-delegation, too, two of them host transactions, and on two cores they must make
/// progress when those whom they wait for do not run.
const WORKERS: &str = "3";

#[test]
fn every_honest_system_passes() {
    let folder = fresh_folder("honest");
    let workloads = [
        "micro --records 100 --writes 50",
        "ycsb --records 100",
        "membership",
        "ranges",
        "list-append",
        "growing-lists",
    ];
    let pairs = systems(&folder);
    assert!(pairs.len() >= 16, "{pairs:?}");
    for pair in pairs {
        let (architecture, protocol) = pair.split_once(' ').expect("two names");
        for workload in workloads {
            let system = ["--architecture", architecture, "--protocol", protocol];
            let ran = check(
                &folder,
                workload,
                &[&system[..], &["--transactions", "6000", "--workers", WORKERS]].concat(),
            );
            assert_nothing_wrong(&ran, &format!("{pair} over {workload}"));
        }
    }
}

/// Where nothing is typed but the system, and typed values stay.
#[test]
fn the_defaults_of_a_check_are_named() {
    let folder = fresh_folder("defaults");
    let named = |line: &str| {
        let ran = check(&folder, line, &["--protocol", "silo", "--transactions", "5000", "--workers", "3"]);
        assert_nothing_wrong(&ran, line);
        ran.out
    };
    assert!(named("micro").contains("\nwith records 1000, remote any, writes 50\n"));
    assert!(
        named("micro --writes all --records 500").contains("\nwith records 500, remote any, writes all\n")
    );
    assert!(named("tpcc").contains("\nwith customers 30, home any, items 100, warehouses 2\n"));
    // More hot rows than the default has rows: then the workload's own default is.
    assert!(named("micro --hot-records 5000").contains("\nwith hot-records 5000, remote any, writes 50\n"));
}

/// One worker beside a dedicated server is alone.
#[test]
fn two_workers_host_transactions_by_default() {
    let folder = fresh_folder("hosts");
    let systems = [
        "--architecture asymmetric-delegation --protocol silo",
        "--architecture orthrus",
        "--canary passed-locks",
    ];
    for (workload, system) in
        ["micro", "membership"].into_iter().flat_map(|workload| systems.map(|system| (workload, system)))
    {
        let line = format!("{system} --transactions 500 --json");
        let summary = check(&folder, workload, &line.split(' ').collect::<Vec<_>>()).json();
        assert!(summary["workers"].as_u64() >= Some(3), "{workload} {system}: {summary}");
    }
}

/// So requests are forwarded, and grants are in order between threads: under ORTHRUS there are two for concurrency control, unless too few
/// workers were typed for that.
#[test]
fn two_threads_do_concurrency_control_by_default() {
    let folder = fresh_folder("forwarding");
    for (system, threads, fewest) in [
        ("--architecture orthrus", 2, 4),
        ("--canary passed-locks", 2, 4),
        ("--architecture orthrus --workers 5", 2, 5),
        ("--architecture orthrus --workers 3", 1, 3),
        ("--architecture orthrus --cc-threads 1", 1, 3),
    ] {
        let line = format!("{system} --transactions 500 --json");
        let summary = check(&folder, "micro", &line.split(' ').collect::<Vec<_>>()).json();
        assert_eq!(summary["cc_threads"], threads, "{system}: {summary}");
        assert!(summary["workers"].as_u64() >= Some(fewest), "{system}: {summary}");
    }
}

/// Readers and lonely workers pass whatever the protocol is; so it has not passed, and is not rejected.
#[test]
fn too_little_is_neither_right_nor_wrong() {
    let folder = fresh_folder("too-little");
    for (line, said) in [
        (
            "--protocol silo --writes none",
            "nobody wrote what others read or wrote, so nothing can conflict; use --writes 50",
        ),
        ("--canary no-read-validation --writes none", "so nothing can conflict; use --writes 50"),
        (
            "--protocol silo --workers 1",
            "one worker hosts all transactions, and none of another can meet them; use --workers 2",
        ),
        (
            "--protocol silo --transactions 4",
            "100 of each kind are needed; use more --transactions, fewer --records",
        ),
    ] {
        let ran = check(&folder, "micro", &line.split(' ').collect::<Vec<_>>());
        assert_eq!(ran.code, Some(2), "{line}\n{}\n{}", ran.out, ran.err);
        assert!(ran.out.contains("strictly serializable\n") && ran.out.contains(said), "{line}\n{}", ran.out);
        assert!(ran.out.ends_with("\n\ntoo little happened\n"), "{line}\n{}", ran.out);
    }
    let ran = check(&folder, "ycsb --mix C", &["--protocol", "no-wait", "--transactions", "1000", "--json"]);
    assert_eq!((ran.code, &ran.json()["passed"]), (Some(2), &false.into()), "{}", ran.out);
}

/// The lines of the README that check something can find something.
#[test]
fn what_the_readme_checks_can_fail() {
    let folder = fresh_folder("readme");
    let readme = include_str!("../../../README.md");
    let lines = readme.lines().filter_map(|line| line.strip_prefix("trireme check "));
    let mut checked = 0;
    for line in lines {
        let line = line.split("  ").next().expect("the line before its explanation");
        // Enough to conclude; the others take long.
        let line = line.replace("--seeds 5000", "--seeds 100");
        let ran = run(&folder, &["check"].into_iter().chain(line.split(' ')).collect::<Vec<_>>());
        match (line.contains("--explore"), line.contains("--canary")) {
            (true, _) => assert_eq!(ran.code, Some(0), "{line}\n{}\n{}", ran.out, ran.err),
            (false, true) => assert_eq!(ran.code, Some(1), "{line}\n{}\n{}", ran.out, ran.err),
            (false, false) => assert_nothing_wrong(&ran, &line),
        }
        assert!(!ran.out.contains("nobody wrote"), "{line}\n{}", ran.out);
        checked += 1;
    }
    assert!(checked >= 4, "{checked}");
}

/// What an architecture may be told changes how it works, not what it may answer.
#[test]
fn every_option_of_an_architecture_passes() {
    let folder = fresh_folder("told");
    let systems = [
        "--protocol no-wait --split-indexes on",
        "--protocol silo --split-indexes on",
        "--architecture asymmetric-delegation --protocol dl-detect --workers 4 --servers 2",
        "--architecture partitioned-serial --partitions 1",
        "--architecture partitioned-serial --partitions 7",
        "--architecture partitioned-serial --partition-latch test-and-set",
        "--architecture partitioned-serial --partition-latch test-and-test-and-set",
        "--architecture partitioned-serial --partition-latch timestamp",
        "--architecture partitioned-serial --partition-latch timestamp --timestamps batch-8 --partitions 7",
        "--protocol no-wait --in-flight 8",
        "--protocol silo --in-flight auto",
        "--protocol silo --in-flight 4 --split-indexes on",
        "--protocol dl-detect --in-flight 4",
        "--protocol vll --in-flight 4",
        "--protocol cicada --in-flight 4",
        "--protocol no-wait --instances 3",
        "--protocol silo --instances per-core --in-flight 1",
        "--protocol silo --workers 4 --instances 2 --in-flight 8",
        "--protocol no-wait --workers 4 --instances per-core",
        "--protocol no-wait --instances per-core --one-shot off",
        "--protocol silo --workers 4 --instances 2 --one-shot off --readers-wait off",
        "--protocol silo --instances per-core --readers-wait off",
        "--architecture orthrus --in-flight 1",
        "--architecture orthrus --in-flight 16 --workers 4 --cc-threads 2",
        "--architecture orthrus --workers 4 --cc-threads 3 --forwarding off",
        "--architecture orthrus --workers 4 --cc-threads 2 --locks-by-hash on",
        "--architecture orthrus --workers 4 --cc-threads 1 --split-indexes on",
        "--architecture orthrus --workers 4 --cc-threads 2 --shared-lock-table on",
        "--architecture orthrus --workers 4 --cc-threads 2 --shared-lock-table on --locks-by-hash on --split-indexes on",
        "--architecture dora --protocol no-wait --in-flight 1",
        "--architecture dora --protocol dl-detect --in-flight 16",
        "--architecture dora --protocol no-wait --hand-over-every 200",
        "--architecture dora --protocol 2v-no-wait --hand-over-every 200",
        "--architecture dora --protocol dl-detect --hand-over-every 200",
        "--protocol dl-detect --deadlock-timeout 0",
        "--protocol dl-detect --deadlock-timeout 10us",
        "--protocol dreadlocks --deadlock-timeout 10us",
        "--architecture asymmetric-delegation --protocol dreadlocks --workers 4 --servers 2",
        "--architecture dora --protocol dreadlocks --in-flight 16 --hand-over-every 200",
        "--protocol wait-die --deadlock-timeout 10us",
        "--architecture delegation --protocol dl-detect --deadlock-timeout 10us",
        "--architecture dora --protocol dl-detect --deadlock-timeout 10us",
        "--architecture dora --protocol wait-die --deadlock-timeout 50us",
        "--protocol vll --prefetch off",
        "--protocol vll --split-indexes on",
        "--protocol deadlock-free --preclaim on",
        "--protocol deadlock-free --preclaim on --prefetch off",
        "--architecture delegation --protocol deadlock-free --preclaim on",
        "--architecture dora --protocol deadlock-free --preclaim on",
        "--protocol vll --selective-contention-analysis on",
        "--protocol silo --global-ids on",
        "--protocol wait-die --global-ids on",
        "--architecture delegation --protocol silo --global-ids on",
        "--protocol occ --timestamps mutex",
        "--protocol occ --timestamps atomic",
        "--protocol occ --timestamps batch-16",
        "--architecture delegation --protocol occ --timestamps batch-8",
        "--protocol wait-die --timestamps batch-16",
        "--protocol timestamp --timestamps batch-16 --epoch 1ms",
        "--protocol mvcc --timestamps batch-16 --epoch 1ms",
        "--protocol hekaton --epoch 1ms",
        "--protocol hekaton --timestamps mutex",
        "--protocol hekaton --timestamps atomic --reclaim off",
        "--protocol hekaton --overwrites off --epoch 1ms",
        "--architecture delegation --protocol hekaton --timestamps atomic --epoch 1ms",
        "--protocol cicada --timestamps batch-16 --epoch 1ms",
        "--protocol cicada --timestamps atomic --reclaim off --overwrites off",
        "--architecture delegation --protocol timestamp --timestamps batch-8",
        "--protocol silo --overwrites off --epoch 1ms",
        "--protocol no-wait --overwrites off --reclaim off",
        "--protocol silo --huge-pages off --snapshots on --epoch 1ms",
        "--architecture delegation --protocol 2v-no-wait --overwrites off --epoch 1ms",
        "--protocol silo --overwrites off --reclaim off --snapshots on --snapshot-every 1 --epoch 1ms",
    ];
    for system in systems {
        let workers = if system.contains("--workers") { "" } else { " --workers 3" };
        let line = format!("{system} --transactions 6000{workers}");
        for workload in ["micro --records 100 --writes 50", "membership"] {
            let ran = check(&folder, workload, &line.split(' ').collect::<Vec<_>>());
            assert_nothing_wrong(&ran, &format!("{line} over {workload}"));
        }
    }
}

/// A branch does all that a transaction does: rows of any length, byte strings, ranges, deletes.
#[test]
fn deployments_pass_over_every_kind_of_table() {
    let folder = fresh_folder("deployments");
    for workload in ["growing-lists", "ranges", "tpcc --warehouses 2", "tatp", "write-skew"] {
        for system in ["--protocol silo", "--protocol no-wait --channel unix"] {
            let line = format!("{system} --instances 2 --workers 2 --transactions 4000");
            let ran = check(&folder, workload, &line.split(' ').collect::<Vec<_>>());
            assert_nothing_wrong(&ran, &format!("{line} over {workload}"));
        }
    }
}

/// What is read of a snapshot is what had been committed before it, and all of that.
#[test]
fn snapshots_show_what_was_committed_before_them() {
    let folder = fresh_folder("snapshots");
    let workloads =
        ["smallbank", "list-append", "growing-lists", "tpcc --warehouses 1", "ycsb --records 200 --reads 50"];
    for protocol in [
        "silo",
        "no-wait",
        "2v-no-wait",
        "wait-die",
        "deadlock-free",
        "dl-detect",
        "dreadlocks",
        "vll",
        "occ",
        "cicada",
    ] {
        for workload in workloads {
            let line = format!(
                "--protocol {protocol} --snapshots on --snapshot-every 1 --epoch 1ms --transactions 6000 --workers 3"
            );
            let ran = check(&folder, workload, &line.split(' ').collect::<Vec<_>>());
            assert_nothing_wrong(&ran, &format!("{line} over {workload}"));
        }
    }
}

/// Whoever has read the past does not go on with timestamps that it had left of a batch: they are below the horizon by now, and what they look
/// for is freed. It shows where epochs are long, for with each of them a batch is lost anyhow.
#[test]
fn who_has_read_the_past_draws_anew() {
    let folder = fresh_folder("batches");
    for seed in ["2", "3", "4"] {
        let line = format!(
            "--protocol cicada --snapshots on --timestamps batch-16 --epoch 1s --transactions 20000 --workers 4 --seed {seed}"
        );
        let workload = "ycsb --records 20 --accesses 4 --split transaction --reads 50";
        let ran = check(&folder, workload, &line.split(' ').collect::<Vec<_>>());
        assert_nothing_wrong(&ran, &format!("{line} over {workload}"));
    }
}

/// A scenario has a worker for every role, however many other workers there are.
#[test]
fn scenarios_are_played_under_every_architecture() {
    let folder = fresh_folder("played");
    let mut played = 0;
    for pair in systems(&folder) {
        let (architecture, protocol) = pair.split_once(' ').expect("two names");
        let system =
            ["--architecture", architecture, "--protocol", protocol, "--transactions", "5000", "--json"];
        let ran = check(&folder, "write-skew", &system);
        // With fewer cores than workers the players may hardly meet. That, and nothing else, may be wrong with the run.
        let summary = ran.json();
        let checks = summary["checks"].as_array().expect("checks");
        assert!(checks.iter().all(|check| check["passed"] == true), "{pair}\n{}\n{}", ran.out, ran.err);
        let code = if summary["too_little"].is_null() { 0 } else { 2 };
        assert_eq!(ran.code, Some(code), "{pair}\n{}\n{}", ran.out, ran.err);
        played += usize::from(ran.code == Some(0));
    }
    assert!(played > 0, "no system's players met");
}
