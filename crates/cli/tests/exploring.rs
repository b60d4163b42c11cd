//! `check --explore`: canaries are found and replayed, honest systems pass, and bad input is refused.

mod common;

use common::{Ran, fresh_folder, run, systems};
use contract::CanaryName;
use std::path::Path;

/// Canaries with workloads that show what they omit, as they are by default.
const SHOWN_BY: [(&str, &str); 18] = [
    ("no-read-validation", "micro"),
    ("no-miss-validation", "missing-key-write-skew"),
    ("no-miss-validation", "ranges"),
    ("early-release", "micro"),
    ("skipped-certify", "micro"),
    ("dirty-reads", "micro"),
    ("eager-upgrade", "ycsb"),
    ("forced-upgrade", "ycsb"),
    ("unguarded-upgrade", "ycsb"),
    ("uncounted-reads", "micro"),
    ("unmarked-reads", "micro"),
    ("newest-version", "micro"),
    ("unraised-reads", "micro"),
    ("no-extension", "micro"),
    ("unheld-reads", "micro"),
    ("unvalidated-reads", "micro"),
    ("unlocked-gaps", "missing-key-write-skew"),
    ("unlocked-gaps", "ranges"),
];

/// The architectures that have the protocol which a canary breaks.
fn architectures(folder: &Path, canary: &str) -> Vec<String> {
    let canary: CanaryName = canary.parse().expect("a canary");
    let protocol = canary.protocol().name();
    let systems = systems(folder);
    let has_it = |system: &String| {
        let (architecture, of) = system.split_once(' ').expect("two names");
        (of == protocol).then(|| architecture.to_owned())
    };
    systems.iter().filter_map(has_it).collect()
}

#[test]
fn every_canary_is_found_under_every_architecture_of_its_protocol() {
    let folder = fresh_folder("explored-canaries-everywhere");
    for (canary, workload) in SHOWN_BY {
        let architectures = architectures(&folder, canary);
        // VLL's queue is one for all partitions.
        let fewest = if canary == "uncounted-reads" { 1 } else { 3 };
        assert!(architectures.len() >= fewest, "{canary}: {architectures:?}");
        for architecture in architectures {
            let more =
                format!("--explore random --canary {canary} --architecture {architecture} --seeds 20000");
            let ran = explore(&folder, workload, &more);
            assert_eq!(ran.code, Some(1), "{canary} under {architecture}: {}\n{}", ran.out, ran.err);
            assert!(ran.out.ends_with("rejected, as a canary must be\n"), "{canary}: {}", ran.out);
        }
    }
}

/// Who asks ahead for all that is planned runs one role after the other; there are rounds in which it does not, and those show what it omits. Under the
/// few preemptions of `pct` the roles hardly meet.
#[test]
fn scenarios_show_what_who_asks_ahead_omits() {
    let folder = fresh_folder("explored-ahead");
    for scenario in ["write-skew", "lost-update", "read-skew"] {
        let ran = explore(&folder, scenario, "--explore random --canary uncounted-reads --seeds 20000");
        assert_eq!(ran.code, Some(1), "{scenario}: {}\n{}", ran.out, ran.err);
        assert!(ran.out.ends_with("rejected, as a canary must be\n"), "{scenario}: {}", ran.out);
    }
}

/// A player has one transaction in flight: others would rest, and use up the turns of who comes first under `pct`.
#[test]
fn players_meet_where_others_could_be_in_flight() {
    let folder = fresh_folder("explored-slots");
    for system in ["orthrus", "dora --protocol no-wait"] {
        let more = format!("--explore pct --seeds 300 --architecture {system}");
        let ran = explore(&folder, "write-skew", &more);
        assert_eq!(ran.code, Some(0), "{system}: {}\n{}", ran.out, ran.err);
        assert!(!ran.err.contains("--in-flight"), "{system}: nobody chose it: {}", ran.err);
    }
}

fn explore(folder: &Path, workload: &str, more: &str) -> Ran {
    let line: Vec<&str> = ["check"].into_iter().chain(workload.split(' ')).chain(more.split(' ')).collect();
    run(folder, &line)
}

#[test]
fn every_canary_is_found_and_its_find_replays() {
    let folder = fresh_folder("explored-canaries");
    for (canary, workload) in SHOWN_BY {
        for kind in ["random", "pct"] {
            let more = format!("--explore {kind} --canary {canary} --seeds 5000 --json");
            let ran = explore(&folder, workload, &more);
            assert_eq!(ran.code, Some(1), "{canary}, {kind}: {}\n{}", ran.out, ran.err);
            let found = ran.json();
            assert_eq!((&found["passed"], &found["canary"]), (&false.into(), &true.into()));

            let replay = found["find"]["replay"].as_str().expect("a command");
            let words: Vec<&str> = replay.split(' ').skip(1).collect();
            let again = run(&folder, &words);
            assert_eq!(again.code, Some(1), "{replay}\n{}", again.out);
            let again = again.json();
            assert_eq!(again["schedules"], 1);
            assert_eq!(again["find"]["seed"], found["find"]["seed"]);
            assert_eq!(
                without_times(&again["find"]["check"]),
                without_times(&found["find"]["check"]),
                "{replay}"
            );
        }
    }
}

/// A protocol that locks what is hot is tried while it does so.
#[test]
fn hot_records_are_locked_under_explored_schedules() {
    let folder = fresh_folder("explored-hot");
    for architecture in architectures(&folder, "unheld-reads") {
        // Under the few preemptions of `pct` the roles of lost updates hardly ever run at the same time.
        for (workload, schedules) in
            [("micro", "pct --seeds 300"), ("ycsb", "pct --seeds 300"), ("lost-update", "random --seeds 600")]
        {
            let more = format!("--explore {schedules} --protocol mocc --architecture {architecture} --json");
            let ran = explore(&folder, workload, &more);
            assert_eq!(ran.code, Some(0), "{workload}, {architecture}: {}\n{}", ran.out, ran.err);
            let locks = ran.json()["hot_locks"].as_u64().unwrap_or(0);
            // The fewest are 78, of lost updates under shared-everything.
            assert!(locks >= 60, "{workload}, {architecture}: {locks} locks");
        }
    }
    let ran = explore(&folder, "micro", "--explore pct --protocol silo --seeds 10 --json");
    assert!(ran.json().get("hot_locks").is_none(), "{}", ran.out);
}

/// How long the judge took is the host's affair.
fn without_times(check: &serde_json::Value) -> serde_json::Value {
    let mut check = check.clone();
    if let Some(verdict) = check.get_mut("verdict").and_then(serde_json::Value::as_object_mut) {
        verdict.remove("elapsed_s");
    }
    check
}

#[test]
fn every_honest_system_passes_every_schedule() {
    let folder = fresh_folder("explored-honest");
    for pair in systems(&folder) {
        let (architecture, protocol) = pair.split_once(' ').expect("two names");
        // As many as it takes until enough depend on each other.
        for (workload, kind, seeds) in [
            ("micro", "random", 100),
            ("ycsb", "pct", 100),
            ("membership", "random", 300),
            ("ranges", "pct", 300),
            ("list-append", "pct", 100),
            ("growing-lists", "random", 100),
        ] {
            let more = format!(
                "--explore {kind} --seeds {seeds} --architecture {architecture} --protocol {protocol}"
            );
            let ran = explore(&folder, workload, &more);
            assert_eq!(ran.code, Some(0), "{pair} over {workload}\n{}\n{}", ran.out, ran.err);
            assert!(
                ran.out.contains(&format!("{seeds} {kind} schedules explored from seed 1")),
                "{}",
                ran.out
            );
        }
    }
}

/// What ORTHRUS' concurrency-control threads share, or its threads that execute do not, changes neither what passes nor what is found.
#[test]
fn a_shared_lock_table_and_split_indexes_pass_and_canaries_are_found_with_them() {
    let folder = fresh_folder("explored-shared-lock-table");
    let told = "--workers 4 --cc-threads 2 --shared-lock-table on";
    for more in ["", " --split-indexes on", " --split-indexes on --locks-by-hash on"] {
        for (workload, schedules) in [
            ("micro", "random --seeds 300"),
            ("ranges", "pct --seeds 300"),
            ("tpcc --warehouses 2 --remote-items 30 --remote-payments 50", "pct --seeds 60"),
        ] {
            let line = format!("--explore {schedules} --architecture orthrus {told}{more}");
            let ran = explore(&folder, workload, &line);
            assert_eq!(ran.code, Some(0), "{line} over {workload}\n{}\n{}", ran.out, ran.err);
        }
        for (canary, workload) in
            [("passed-locks", "micro"), ("stale-plans", "ranges"), ("unlocked-ranges", "ranges")]
        {
            let line = format!("--explore random --canary {canary} --seeds 20000 {told}{more}");
            let ran = explore(&folder, workload, &line);
            assert_eq!(ran.code, Some(1), "{line} over {workload}\n{}\n{}", ran.out, ran.err);
        }
    }
}

/// Nothing conflicts among readers: neither a right protocol nor a broken one has passed anything.
#[test]
fn who_only_reads_passes_no_exploration() {
    let folder = fresh_folder("explored-readers");
    for system in ["--protocol silo", "--canary no-read-validation"] {
        let more = format!("--writes none --explore pct --seeds 200 {system}");
        let ran = explore(&folder, "micro", &more);
        assert_eq!(ran.code, Some(2), "{system}: {}\n{}", ran.out, ran.err);
        let said = "too little happened: nobody wrote what others read or wrote, so nothing can conflict; use --writes 50\n";
        assert!(ran.out.contains(said) && ran.out.ends_with("\ntoo little happened\n"), "{}", ran.out);
        let json = explore(&folder, "micro", &format!("{more} --json")).json();
        assert_eq!((&json["schema"], &json["passed"]), (&"trireme.exploration/2".into(), &false.into()));
        assert_eq!(json["dependencies"]["write-read"]["all"], 0);
        assert!(json["too_little"].is_string());
    }
}

/// What is needed is needed of all schedules together, and says what would bring it.
#[test]
fn dependencies_are_counted_over_all_schedules() {
    let folder = fresh_folder("explored-dependencies");
    let between = |seeds: u64, workload: &str| {
        let ran =
            explore(&folder, workload, &format!("--explore pct --seeds {seeds} --protocol silo --json"));
        let json = ran.json();
        let of = |kind: &str| json["dependencies"][kind]["between_workers"].as_u64().expect("a number");
        (ran.code, [of("write-read"), of("write-write"), of("read-write")], json["too_little"].clone())
    };
    let (code, few, too_little) = between(1, "micro");
    assert_eq!(code, Some(2), "{few:?}");
    let said = too_little.as_str().expect("words");
    assert!(said.contains("100 of each kind are needed; use more --seeds or --transactions, "), "{said}");
    for (workload, seeds) in [("micro", 100), ("ycsb", 50), ("smallbank", 300), ("tatp", 2000), ("tpcc", 50)]
    {
        let (code, many, too_little) = between(seeds, workload);
        assert_eq!(code, Some(0), "{workload}: {many:?} {too_little}");
        assert!(many.iter().all(|count| *count >= 100), "{workload}: {many:?}");
    }
    let scenario = explore(&folder, "write-skew", "--explore pct --seeds 1 --protocol silo");
    assert_eq!(scenario.code, Some(2), "{}", scenario.out);
    assert!(
        scenario.out.contains("in which roles ran at the same time, and 10 are needed"),
        "{}",
        scenario.out
    );
}

/// All five transactions, over warehouses that are scaled down until they meet.
#[test]
fn every_honest_system_runs_tpcc_under_every_schedule() {
    let folder = fresh_folder("explored-tpcc");
    for pair in systems(&folder) {
        let (architecture, protocol) = pair.split_once(' ').expect("two names");
        let more = format!("--explore pct --seeds 60 --architecture {architecture} --protocol {protocol}");
        let ran = explore(&folder, "tpcc --warehouses 2 --remote-items 30 --remote-payments 50", &more);
        assert_eq!(ran.code, Some(0), "{pair}\n{}\n{}", ran.out, ran.err);
    }
}

#[test]
fn the_same_seeds_give_the_same_answer() {
    let folder = fresh_folder("explored-twice");
    let more = "--explore random --seeds 100 --seed 7 --architecture dora --protocol dl-detect --json";
    let (first, second) = (explore(&folder, "ycsb", more), explore(&folder, "ycsb", more));
    assert_eq!((first.code, &first.out), (Some(0), &second.out));
}

#[test]
fn what_does_not_go_with_exploring_is_refused() {
    let folder = fresh_folder("explored-refused");
    for (more, said) in [
        ("--explore often", "--explore often: allowed: random, pct"),
        ("--explore random --seeds 0", "--seeds 0: allowed: a whole number, at least 1"),
        ("--seeds 5 --protocol silo", "--seeds goes with --explore only; allowed: both"),
        (
            "--explore pct --out here",
            "--out does not go with --explore; allowed: replay a find, which prints it",
        ),
        ("--explore pct --architecture dora --protocol silo", "--architecture dora --protocol silo: "),
    ] {
        let ran = explore(&folder, "micro", more);
        assert_eq!(ran.code, Some(2), "{more}\n{}", ran.out);
        assert!(ran.err.contains(said), "{more}\n{}", ran.err);
    }
}
