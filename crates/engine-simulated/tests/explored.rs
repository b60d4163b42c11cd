//! The engine on the simulated machine: the same tests as on the hardware, under chosen interleavings, and canaries
//! that they must find. `TRIREME_SEEDS=5` tries five times as many schedules.

#[path = "../../engine/tests/shared/mod.rs"]
mod shared;

use contract::{
    ArchitectureName, CanaryName, Engine, EngineOptions, InFlight, Indexing, PairName, PartitionLatchName,
    ProtocolName, Selection, Support, TimestampsName,
};
use engine_simulated::ThisEngine;
use machine::simulated::{Schedule, explore, trace_hash};
use shared::concurrent::{bank_run, bank_run_ahead};
use shared::queues::queues_run;
use shared::seeds::times;
use std::panic::{AssertUnwindSafe, catch_unwind};

const WORKERS: usize = 3;
const TRANSACTIONS: u64 = 12;

/// Adversarial schedules: random switches, often and seldom, and priorities with few changes.
fn schedules(seed: u64) -> [Schedule; 3] {
    [
        Schedule::Random { seed, switch_one_in: 2 },
        Schedule::Random { seed, switch_one_in: 20 },
        Schedule::Pct { seed, depth: 3, steps: 20_000 },
    ]
}

/// What a bank found broken under a schedule.
fn explored(selection: Selection, schedule: Schedule, seed: u64) -> Result<(), String> {
    let options = options(seed);
    in_words(schedule, || bank_run::<ThisEngine>(selection, WORKERS, seed, TRANSACTIONS, &options))
}

/// What queues found broken under a schedule.
fn explored_queues(
    selection: Selection,
    indexing: Indexing,
    schedule: Schedule,
    seed: u64,
) -> Result<(), String> {
    let options = options(seed);
    let run = || queues_run::<ThisEngine>(selection, indexing, WORKERS, seed, TRANSACTIONS, &options);
    in_words(schedule, run)
}

/// The first back-off is short, so that transactions meet again.
fn options(seed: u64) -> EngineOptions {
    EngineOptions { seed, back_off_first_ns: 200, ..EngineOptions::default() }
}

/// What a run finds broken, in its own words or in those of a panic.
fn in_words(schedule: Schedule, run: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| explore(schedule, run))).unwrap_or_else(|panic| {
        Err(panic.downcast_ref::<String>().cloned().unwrap_or_else(|| "a panic without words".to_owned()))
    })
}

#[test]
fn a_second_writer_is_noticed() {
    let noticed = |schedule| {
        let run = in_words(schedule, || {
            engine_simulated::testing::second_owner::run(3);
            Ok(())
        });
        let words = run.err()?;
        let named = ["worker 0 uses partition 0 while worker 1", "worker 1 uses partition 0 while worker 0"];
        assert!(named.iter().any(|both| words.contains(both)), "{words}");
        Some(words)
    };
    assert!((0..20).flat_map(schedules).filter_map(noticed).count() > 20);
}

#[test]
fn one_worker_agrees_with_the_model() {
    explore(Schedule::RoundRobin, || shared::model::agrees_with_the_model::<ThisEngine>(0..4, 300));
}

#[test]
fn every_pair_keeps_the_sums_under_every_schedule() {
    for pair in shared::supported::<ThisEngine>() {
        for seed in 0..50 * times() {
            for schedule in schedules(seed) {
                let run = explored(Selection::Pair(pair), schedule, seed);
                run.unwrap_or_else(|broken| panic!("{pair}, {schedule:?}: {broken}"));
            }
        }
    }
}

/// Who names keys ahead remembers what it has met; it may be deleted, and its key inserted again, before it is locked. So it is with the leaf where a
/// key was found last.
#[test]
fn what_was_met_ahead_is_not_used_when_it_is_stale() {
    for pair in shared::supported::<ThisEngine>() {
        for indexing in [Indexing::Hashed, Indexing::Ordered] {
            for seed in 0..10 * times() {
                for schedule in schedules(seed) {
                    let (selection, options) = (Selection::Pair(pair), options(seed));
                    let size = (WORKERS, seed, TRANSACTIONS);
                    let run = in_words(schedule, || {
                        bank_run_ahead::<ThisEngine>(selection, indexing, size, &options)
                    });
                    run.unwrap_or_else(|broken| panic!("{pair}, {indexing:?}, {schedule:?}: {broken}"));
                }
            }
        }
    }
}

/// Partitions are had by one at a time, and nobody waits in a circle for them, in whatever order they are given away; timestamps of
/// batches are drawn out of order.
#[test]
fn every_latch_of_partitions_keeps_the_sums_under_every_schedule() {
    let pair =
        PairName { architecture: ArchitectureName::PartitionedSerial, protocol: ProtocolName::Unprotected };
    for &latch in PartitionLatchName::ALL {
        for timestamps in [TimestampsName::Clock, TimestampsName::Batch8] {
            for seed in 0..15 * times() {
                for schedule in schedules(seed) {
                    let options = EngineOptions { partition_latch: Some(latch), timestamps, ..options(seed) };
                    let selection = Selection::Pair(pair);
                    let run = in_words(schedule, || {
                        bank_run::<ThisEngine>(selection, WORKERS, seed, TRANSACTIONS, &options)?;
                        let (indexing, transactions) = (Indexing::Ordered, TRANSACTIONS / 2);
                        queues_run::<ThisEngine>(selection, indexing, WORKERS, seed, transactions, &options)
                    });
                    run.unwrap_or_else(|broken| panic!("{latch}, {timestamps}, {schedule:?}: {broken}"));
                }
            }
        }
    }
}

/// Who has waited for too long takes its request back, while others grant it.
#[test]
fn who_gives_up_waiting_keeps_the_sums_under_every_schedule() {
    for pair in shared::supported::<ThisEngine>() {
        if !shared::QUEUEING.contains(&pair.protocol) {
            continue;
        }
        for seed in 0..15 * times() {
            for schedule in schedules(seed) {
                for timeout_ns in [0, 300, 3_000] {
                    let options = EngineOptions { deadlock_timeout_ns: Some(timeout_ns), ..options(seed) };
                    let selection = Selection::Pair(pair);
                    let run = in_words(schedule, || {
                        bank_run::<ThisEngine>(selection, WORKERS, seed, TRANSACTIONS, &options)?;
                        let (indexing, transactions) = (Indexing::Ordered, TRANSACTIONS / 2);
                        queues_run::<ThisEngine>(selection, indexing, WORKERS, seed, transactions, &options)
                    });
                    run.unwrap_or_else(|broken| panic!("{pair}, {timeout_ns} ns, {schedule:?}: {broken}"));
                }
            }
        }
    }
}

/// Blocked transactions are found to be free in the middle of the queue, while others ask late, and abort.
#[test]
fn contention_analysis_keeps_the_sums_under_every_schedule() {
    let selection = Selection::Pair(PairName {
        architecture: ArchitectureName::SharedEverything,
        protocol: ProtocolName::Vll,
    });
    for seed in 0..50 * times() {
        for schedule in schedules(seed) {
            let options = EngineOptions { selective_contention_analysis: true, ..options(seed) };
            let run = in_words(schedule, || {
                bank_run::<ThisEngine>(selection, WORKERS + 1, seed, TRANSACTIONS, &options)?;
                let (indexing, transactions) = (Indexing::Ordered, TRANSACTIONS / 2);
                queues_run::<ThisEngine>(selection, indexing, WORKERS, seed, transactions, &options)
            });
            run.unwrap_or_else(|broken| panic!("{schedule:?}: {broken}"));
        }
    }
}

/// Several transactions in flight at a worker of shared-everything: they are interleaved wherever lines may be far, and wherever one waits.
#[test]
fn fibers_of_a_worker_keep_sums_and_queues_under_every_schedule() {
    for pair in shared::supported::<ThisEngine>() {
        if pair.architecture != ArchitectureName::SharedEverything {
            continue;
        }
        for seed in 0..10 * times() {
            for schedule in schedules(seed) {
                for (workers, in_flight) in [
                    (1, InFlight::Told(4)),
                    (2, InFlight::Told(2)),
                    (2, InFlight::Told(3)),
                    (2, InFlight::Auto),
                ] {
                    let options = EngineOptions { in_flight, ..options(seed) };
                    let selection = Selection::Pair(pair);
                    let run = in_words(schedule, || {
                        bank_run::<ThisEngine>(selection, workers, seed, TRANSACTIONS, &options)?;
                        for indexing in shared::ORDERED {
                            let transactions = TRANSACTIONS / 2;
                            queues_run::<ThisEngine>(
                                selection,
                                indexing,
                                workers,
                                seed,
                                transactions,
                                &options,
                            )?;
                        }
                        Ok(())
                    });
                    run.unwrap_or_else(|broken| {
                        panic!("{pair}, {workers} workers, {in_flight} in flight, {schedule:?}: {broken}")
                    });
                }
            }
        }
    }
}

/// Whoever is in the way is let go on, whatever the schedule prefers, by a worker that does nothing else between two attempts.
#[test]
fn who_retries_at_once_starves_nobody() {
    for pair in shared::supported::<ThisEngine>() {
        if pair.architecture != ArchitectureName::SharedEverything {
            continue;
        }
        for seed in 0..10 * times() {
            let options = EngineOptions {
                back_off_first_ns: 0,
                back_off_cap_ns: 0,
                precedence_after: 0,
                ..options(seed)
            };
            let schedule = Schedule::Pct { seed, depth: 5, steps: 2_000 };
            let run = in_words(schedule, || {
                bank_run::<ThisEngine>(Selection::Pair(pair), WORKERS, seed, TRANSACTIONS, &options)
            });
            run.unwrap_or_else(|broken| panic!("{pair}, {schedule:?}: {broken}"));
        }
    }
}

#[test]
fn every_pair_keeps_the_queues_under_every_schedule() {
    for pair in shared::supported::<ThisEngine>() {
        for indexing in shared::ORDERED {
            for seed in 0..15 * times() {
                let seldom = Schedule::Random { seed, switch_one_in: 300 };
                for schedule in schedules(seed).into_iter().chain([seldom]) {
                    let run = explored_queues(Selection::Pair(pair), indexing, schedule, seed);
                    run.unwrap_or_else(|broken| panic!("{pair}, {indexing:?}, {schedule:?}: {broken}"));
                }
            }
        }
    }
}

/// However locks are divided among threads or parts of a table that these share, however a request comes from one to the next, however many wait, and
/// whether indexes are split.
#[test]
fn every_option_of_orthrus_keeps_sums_and_queues_under_every_schedule() {
    let pair = PairName { architecture: ArchitectureName::Orthrus, protocol: ProtocolName::Unprotected };
    let run = |seed, schedule, asked: &EngineOptions| {
        let (selection, workers) = (Selection::Pair(pair), asked.cc_threads + 2);
        let run = in_words(schedule, || {
            bank_run::<ThisEngine>(selection, workers, seed, TRANSACTIONS, asked)?;
            for indexing in shared::ORDERED {
                queues_run::<ThisEngine>(selection, indexing, workers, seed, TRANSACTIONS / 2, asked)?;
            }
            Ok(())
        });
        run.unwrap_or_else(|broken| panic!("{asked:?}, {schedule:?}: {broken}"));
    };
    for (cc_threads, in_flight) in [(1, 1), (2, 3), (3, 2)] {
        for (forwarding, shared_lock_table) in [(true, false), (false, false), (true, true)] {
            for locks_by_hash in [false, true] {
                for seed in 0..5 * times() {
                    let options = EngineOptions {
                        cc_threads,
                        in_flight: InFlight::Told(in_flight),
                        forwarding,
                        shared_lock_table,
                        locks_by_hash,
                        split_indexes: seed % 2 == 1,
                        ..options(seed)
                    };
                    schedules(seed).into_iter().for_each(|schedule| run(seed, schedule, &options));
                }
            }
        }
    }
}

#[test]
fn partitions_change_hands_under_every_schedule() {
    for pair in shared::supported::<ThisEngine>() {
        if pair.architecture != ArchitectureName::Dora {
            continue;
        }
        for seed in 0..25 * times() {
            for schedule in schedules(seed) {
                let options = EngineOptions {
                    seed,
                    back_off_first_ns: 200,
                    hand_over_every: 2,
                    ..EngineOptions::default()
                };
                let run =
                    || bank_run::<ThisEngine>(Selection::Pair(pair), WORKERS, seed, TRANSACTIONS, &options);
                explore(schedule, run).unwrap_or_else(|broken| panic!("{pair}, {schedule:?}: {broken}"));
            }
        }
    }
}

/// Every canary under every architecture that has its protocol.
fn canaries() -> impl Iterator<Item = (ArchitectureName, CanaryName)> {
    let architectures = |&canary: &CanaryName| {
        let is_there = move |&architecture: &ArchitectureName| {
            ThisEngine::support(Selection::Canary(architecture, canary)) == Support::Supported
        };
        let architectures = ArchitectureName::ALL.iter().copied().filter(is_there);
        architectures.map(move |architecture| (architecture, canary))
    };
    CanaryName::ALL.iter().flat_map(architectures)
}

/// How many schedules it takes until each canary is found by `explored`, and in what words.
fn find_canaries(
    canaries: impl Iterator<Item = (ArchitectureName, CanaryName)>,
    explored: impl Fn(Selection, Schedule, u64) -> Result<(), String>,
) {
    // A canary panics when it trips over itself; its words are expected.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let found: Vec<_> = canaries
        .map(|(architecture, canary)| {
            let selection = Selection::Canary(architecture, canary);
            let tries = (0..400).flat_map(|seed| schedules(seed).map(|schedule| (seed, schedule)));
            let found = tries.enumerate().find_map(|(tried, (seed, schedule))| {
                explored(selection, schedule, seed).err().map(|broken| (tried + 1, broken))
            });
            (architecture, canary, found)
        })
        .collect();
    std::panic::set_hook(hook);
    let mut overlooked = Vec::new();
    for (architecture, canary, found) in found {
        match found {
            Some((tried, broken)) => {
                println!("{canary} under {architecture}: found by schedule {tried}: {broken}")
            }
            None => overlooked.push(format!("{canary} under {architecture}")),
        }
    }
    assert!(overlooked.is_empty(), "not found: {overlooked:?}");
}

/// Canaries that read rows of different moments, or of one that does not stay as it was.
const READ_OF_DIFFERENT_MOMENTS: [CanaryName; 4] = [
    CanaryName::NoExtension,
    CanaryName::UnmarkedReads,
    CanaryName::NewestVersion,
    CanaryName::UnraisedReads,
];

/// One that reads rows of one moment, and writes others later: what is read and written by one transaction stays right, and so do sums and
/// queues. Histories show it (`check --canary`).
const SKEWS_WRITES: CanaryName = CanaryName::UnvalidatedReads;

/// All but some. One lets phantoms in and nothing else: a transaction of the bank that has found a key missing holds its gap and
/// need not look again, so that the sums stay right. One notices no plan that misses a read, and the bank's miss writes only. Some read rows of different moments, or let who is older write behind them: transfers write all that they read,
/// and readers hold nothing of what they see in one row against another.
fn is_seen_in_a_bank(canary: CanaryName) -> bool {
    ![CanaryName::UnlockedGaps, CanaryName::UnlockedRanges, CanaryName::StalePlans, SKEWS_WRITES]
        .contains(&canary)
        && !READ_OF_DIFFERENT_MOMENTS.contains(&canary)
}

#[test]
fn every_canary_is_found() {
    find_canaries(canaries().filter(|&(_, canary)| is_seen_in_a_bank(canary)), explored);
}

/// Whether its reads leave no timestamp.
fn leaves_no_timestamp(canary: CanaryName) -> bool {
    matches!(canary, CanaryName::UnmarkedReads | CanaryName::UnraisedReads)
}

/// All but three: those that let phantoms into ranges, too. A row that a scan has shown, and that changes although it was read, is looked at
/// again by who writes it; so the queues stay right under who leaves no timestamp, whom histories show (`check --canary`). Of keys that are byte strings
/// plans name what the queues read, the one prefix of each queue, so that there nobody wants a range, or what is not planned.
#[test]
fn every_canary_is_found_in_queues() {
    let is_seen = |canary| !leaves_no_timestamp(canary) && canary != SKEWS_WRITES;
    for indexing in shared::ORDERED {
        let of_plans = [CanaryName::StalePlans, CanaryName::UnlockedRanges];
        let is_wanted = |canary| indexing == Indexing::Ordered || !of_plans.contains(&canary);
        let seen = canaries().filter(|&(_, canary)| is_seen(canary) && is_wanted(canary));
        find_canaries(seen, |selection, schedule, seed| explored_queues(selection, indexing, schedule, seed));
    }
}

/// The same of what ORTHRUS' threads omit at a table that they share.
#[test]
fn canaries_of_lock_tables_are_found_at_a_shared_one() {
    let asked = |seed| EngineOptions { cc_threads: 2, shared_lock_table: true, ..options(seed) };
    let orthrus = |canary| [(ArchitectureName::Orthrus, canary)].into_iter();
    find_canaries(orthrus(CanaryName::PassedLocks), |selection, schedule, seed| {
        in_words(schedule, || {
            bank_run::<ThisEngine>(selection, WORKERS + 1, seed, TRANSACTIONS, &asked(seed))
        })
    });
    for canary in [CanaryName::PassedLocks, CanaryName::StalePlans, CanaryName::UnlockedRanges] {
        find_canaries(orthrus(canary), |selection, schedule, seed| {
            let (indexing, options) = (Indexing::Ordered, asked(seed));
            in_words(schedule, || {
                queues_run::<ThisEngine>(selection, indexing, WORKERS + 1, seed, TRANSACTIONS, &options)
            })
        });
    }
}

/// Of one worker, whose transactions meet nowhere but where one of them lets the others run.
#[test]
fn canaries_are_found_among_the_fibers_of_one_worker() {
    let is_seen = |&(architecture, canary): &(ArchitectureName, CanaryName)| {
        architecture == ArchitectureName::SharedEverything && is_seen_in_a_bank(canary)
    };
    find_canaries(canaries().filter(is_seen), |selection, schedule, seed| {
        let options = EngineOptions { in_flight: InFlight::Told(4), ..options(seed) };
        in_words(schedule, || bank_run::<ThisEngine>(selection, 1, seed, 4 * TRANSACTIONS, &options))
    });
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for pair in shared::supported::<ThisEngine>() {
        let hash = |seed| {
            let schedule = Schedule::Random { seed, switch_one_in: 3 };
            explore(schedule, || {
                let options = EngineOptions { seed, ..EngineOptions::default() };
                let selection = Selection::Pair(pair);
                bank_run::<ThisEngine>(selection, WORKERS, seed, TRANSACTIONS, &options)
                    .unwrap_or_else(|broken| panic!("{pair}: {broken}"));
                for indexing in shared::ORDERED {
                    queues_run::<ThisEngine>(selection, indexing, WORKERS, seed, TRANSACTIONS, &options)
                        .unwrap_or_else(|broken| panic!("{pair}, {indexing:?}: {broken}"));
                }
                trace_hash()
            })
        };
        assert_eq!(hash(1), hash(1), "{pair}");
        assert_ne!(hash(1), hash(2), "{pair}");
    }
}
