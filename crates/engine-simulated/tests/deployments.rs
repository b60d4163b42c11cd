//! Deployments of instances under chosen interleavings: sums are kept, nobody waits for ever, and two-phase commit with a step removed is found.

#[path = "../../engine/tests/shared/mod.rs"]
mod shared;

use contract::{
    ArchitectureName, ChannelName, DeploymentCanary, EngineOptions, Instances, PairName, ProtocolName,
    Selection,
};
use engine_simulated::ThisEngine;
use machine::simulated::{Schedule, explore, trace_hash};
use shared::concurrent::bank_run;
use shared::queues::queues_run;
use std::panic::{AssertUnwindSafe, catch_unwind};

const TRANSACTIONS: u64 = 12;

/// Workers and instances: each worker alone in one, and two together.
const DIVISIONS: [(usize, usize); 3] = [(2, 2), (3, 3), (4, 2)];

fn schedules(seed: u64) -> [Schedule; 3] {
    [
        Schedule::Random { seed, switch_one_in: 2 },
        Schedule::Random { seed, switch_one_in: 20 },
        Schedule::Pct { seed, depth: 3, steps: 20_000 },
    ]
}

fn selection(protocol: ProtocolName) -> Selection {
    Selection::Pair(PairName { architecture: ArchitectureName::SharedEverything, protocol })
}

/// By turns over rings and over sockets, where what may wait is posted.
fn options(seed: u64, instances: usize) -> EngineOptions {
    let instances = Instances::of(instances);
    let channel = if seed.is_multiple_of(2) { ChannelName::SharedMemory } else { ChannelName::Unix };
    EngineOptions {
        seed,
        instances,
        channel,
        back_off_first_ns: 200,
        in_flight: 2.into(),
        ..EngineOptions::default()
    }
}

/// What a run finds broken, in its own words or in those of a panic.
fn in_words(schedule: Schedule, run: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| explore(schedule, run))).unwrap_or_else(|panic| {
        Err(panic.downcast_ref::<String>().cloned().unwrap_or_else(|| "a panic without words".to_owned()))
    })
}

fn bank(protocol: ProtocolName, workers: usize, seed: u64, options: &EngineOptions) -> Result<(), String> {
    bank_run::<ThisEngine>(selection(protocol), workers, seed, TRANSACTIONS, options)
}

#[test]
fn transactions_that_span_instances_keep_the_sums_under_every_schedule() {
    for (protocol, one_shot) in
        ProtocolName::DEPLOYED.iter().flat_map(|&protocol| [(protocol, true), (protocol, false)])
    {
        for (workers, instances) in DIVISIONS {
            for seed in 0..70 {
                for schedule in schedules(seed) {
                    let options = EngineOptions { one_shot, ..options(seed, instances) };
                    let run = in_words(schedule, || bank(protocol, workers, seed, &options));
                    run.unwrap_or_else(|broken| {
                        panic!(
                            "{protocol}, {instances} instances, fragments {one_shot}, {schedule:?}: {broken}"
                        )
                    });
                }
            }
        }
    }
}

#[test]
fn scans_of_several_instances_miss_nothing_under_every_schedule() {
    for &protocol in ProtocolName::DEPLOYED {
        for indexing in shared::ORDERED {
            for (workers, instances) in DIVISIONS {
                for seed in 0..25 {
                    for schedule in schedules(seed) {
                        let options = options(seed, instances);
                        let selection = selection(protocol);
                        let run = in_words(schedule, || {
                            queues_run::<ThisEngine>(
                                selection,
                                indexing,
                                workers,
                                seed,
                                TRANSACTIONS,
                                &options,
                            )
                        });
                        run.unwrap_or_else(|broken| {
                            panic!("{protocol}, {indexing:?}, {instances} instances, {schedule:?}: {broken}")
                        });
                    }
                }
            }
        }
    }
}

/// Ids are drawn in the order of conflicts, which takes a round more.
#[test]
fn transactions_that_have_ids_keep_the_sums_too() {
    for &protocol in ProtocolName::DEPLOYED {
        for seed in 0..40 {
            for schedule in schedules(seed) {
                let options = EngineOptions { commit_ids: true, ..options(seed, 3) };
                let run = in_words(schedule, || bank(protocol, 3, seed, &options));
                run.unwrap_or_else(|broken| panic!("{protocol}, {schedule:?}: {broken}"));
            }
        }
    }
}

#[test]
fn two_phase_commit_with_a_step_removed_is_found() {
    let (release, decision) = (DeploymentCanary::EarlyRelease, DeploymentCanary::EarlyDecision);
    let cases = [
        (ProtocolName::Silo, release, false),
        (ProtocolName::Silo, decision, false),
        (ProtocolName::NoWait, release, true),
    ];
    for (protocol, canary, one_shot) in cases {
        let is_found = |seed| {
            let canary = Some(canary);
            let options = EngineOptions { deployment_canary: canary, one_shot, ..options(seed, 3) };
            let run = |schedule| in_words(schedule, || bank(protocol, 3, seed, &options));
            schedules(seed).into_iter().any(|schedule| run(schedule).is_err())
        };
        assert!((0..300).any(is_found), "{protocol}, {canary:?}");
    }
}

#[test]
fn a_run_repeats() {
    let hash = || {
        let run = || {
            bank(ProtocolName::Silo, 4, 3, &options(3, 2)).expect("the sums are kept");
            trace_hash()
        };
        explore(Schedule::Random { seed: 3, switch_one_in: 5 }, run)
    };
    assert_eq!(hash(), hash());
}
