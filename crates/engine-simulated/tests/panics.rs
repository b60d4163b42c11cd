//! Panics on the simulated machine: one is told once, whatever its transaction holds is released, the others end or are
//! unwound, and the store is as before.

#[allow(dead_code, reason = "native tests use the rest")]
#[path = "../../engine/tests/shared/writes.rs"]
mod writes;

use Write::{
    Blind, Delete, Insert, Merge, Never, Panic, PanicWhenAsked, PanicWhenPlanned, PanicWhenSent, Update,
};
use contract::{
    ArchitectureName, Engine, EngineOptions, InFlight, Instances, PairName, ProtocolName, Support, TableId,
};
use engine_simulated::ThisEngine;
use machine::simulated::{Description, Exploration, Schedule, Simulation, cpu, explore};
use std::panic::{AssertUnwindSafe, catch_unwind};
use writes::{Loaded, TABLES, Write};

fn supported() -> impl Iterator<Item = PairName> {
    PairName::all().filter(|pair| ThisEngine::support(*pair) == Support::Supported)
}

/// Every pair, and deployments of instances: by messages, and in fragments, which panic at another instance, too.
fn systems() -> Vec<(PairName, EngineOptions)> {
    let alone = EngineOptions { in_flight: 1.into(), ..EngineOptions::default() };
    let deployed = |one_shot| EngineOptions { instances: Instances::PerCore, one_shot, ..alone.clone() };
    let of = |protocol| PairName { architecture: ArchitectureName::SharedEverything, protocol };
    let pairs = supported().map(|pair| (pair, alone.clone()));
    // The other fibers of who panics may wait for locks.
    let interleaved = supported()
        .filter(|pair| pair.architecture == ArchitectureName::SharedEverything)
        .flat_map(|pair| [InFlight::Told(2), InFlight::Auto].map(|in_flight| (pair, in_flight)))
        .map(|(pair, in_flight)| (pair, EngineOptions { in_flight, ..EngineOptions::default() }));
    let deployments = [ProtocolName::NoWait, ProtocolName::Silo]
        .into_iter()
        .flat_map(|protocol| [true, false].map(|one_shot| (of(protocol), deployed(one_shot))));
    pairs.chain(interleaved).chain(deployments).collect()
}

/// Writes of every kind, then a merge that panics.
const PANICS: [Write; 6] = [Insert(20), Blind(1), Update(2), Merge(3), Delete(4), Panic(5)];
/// What the others write meanwhile, again and again. Everything is in everybody's way.
const OTHERS: [Write; 3] = [Blind(6), Update(3), Merge(2)];

/// The message of the panic in which `f` must end.
fn panic_of(f: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(f)).expect_err("it panics");
    panic.downcast_ref::<String>().expect("with a message").clone()
}

/// One worker panics in its second transaction while the others write; they have to come to their end.
fn one_panics(loaded: &mut Loaded<ThisEngine>, table: TableId) {
    one_panics_in(loaded, table, &PANICS);
}

fn one_panics_in(loaded: &mut Loaded<ThisEngine>, table: TableId, panics: &[Write]) {
    let scripts = |worker| match worker {
        0 => vec![OTHERS.to_vec(), panics.to_vec()],
        _ => vec![OTHERS.to_vec()],
    };
    let _ = loaded.run_all(table, scripts, 4);
}

/// What is left is no lock and no record, and of the transaction nothing.
fn nothing_is_left(loaded: &mut Loaded<ThisEngine>, table: TableId, what: &str) {
    let leaks = loaded.leak_check();
    assert_eq!((leaks.held, leaks.allocated_records), (0, leaks.linked_records), "{what}");
    let rows = loaded.rows(table);
    assert!(rows.contains_key(&4) && !rows.contains_key(&20), "{what}: {rows:?}");
    assert_eq!((rows[&1], rows[&5]), ([1; 16], [5; 16]), "{what}");
    // Each of the others has added one to both, or to none.
    let added = |key: u64| rows[&key][15].wrapping_sub(key as u8);
    assert_eq!(added(2), added(3), "{what}: {rows:?}");
}

#[test]
fn a_panic_is_told_once_and_leaves_nothing_behind_under_every_schedule() {
    for (pair, options) in systems() {
        for table in TABLES {
            for seed in 0..25 {
                let schedules = [
                    Schedule::Random { seed, switch_one_in: 2 },
                    Schedule::Random { seed, switch_one_in: 20 },
                    Schedule::Pct { seed, depth: 3, steps: 20_000 },
                ];
                for schedule in schedules {
                    let mut loaded = Loaded::load_with(pair, options.clone());
                    let words = panic_of(|| explore(schedule, || one_panics(&mut loaded, table)));
                    assert_eq!(words.matches("a merge that panics").count(), 1, "{pair}: {words}");
                    assert!(words.starts_with("core "), "{pair}: {words}");
                    explore(schedule, || {
                        nothing_is_left(&mut loaded, table, &format!("{pair}, {schedule:?}"))
                    });
                }
            }
        }
    }
}

/// Who plans holds nothing that outlasts its panic, be it planned ahead or when it begins; by pairs that plan.
#[test]
fn a_panic_while_a_transaction_plans_ends_the_run() {
    let mut planned = 0;
    for pair in supported() {
        let interleaves = pair.architecture == ArchitectureName::SharedEverything;
        let several = [InFlight::Told(2), InFlight::Auto].into_iter().filter(|_| interleaves);
        for in_flight in [InFlight::Told(1)].into_iter().chain(several) {
            for seed in 0..5 {
                let schedule = Schedule::Random { seed, switch_one_in: 5 };
                let options = EngineOptions { in_flight, ..EngineOptions::default() };
                let mut loaded = Loaded::load_with(pair, options);
                let words = panic_of(|| {
                    explore(schedule, || one_panics_in(&mut loaded, TABLES[1], &[Blind(1), PanicWhenPlanned]))
                });
                let what = format!("{pair}, {in_flight} in flight: {words}");
                assert_eq!(words.matches("one that panics while it plans").count(), 1, "{what}");
                explore(schedule, || nothing_is_left(&mut loaded, TABLES[1], &what));
                planned += 1;
            }
        }
    }
    assert!(planned > 100, "{planned}");
}

/// Nobody waits for a fragment that was not sent, because the procedure has panicked before.
#[test]
fn a_panic_before_fragments_are_sent_ends_the_run() {
    let deployed = |(_, options): &(PairName, EngineOptions)| {
        options.instances == Instances::PerCore && options.one_shot
    };
    let mut tried = 0;
    for (pair, options) in systems().into_iter().filter(deployed) {
        for panics in [PanicWhenAsked, PanicWhenSent] {
            for seed in 0..5 {
                let schedule = Schedule::Random { seed, switch_one_in: 5 };
                let mut loaded = Loaded::load_with(pair, options.clone());
                let words = panic_of(|| {
                    explore(schedule, || one_panics_in(&mut loaded, TABLES[0], &[Blind(1), panics]))
                });
                let told = words.matches("one that panics before it is sent").count();
                assert_eq!(told, 1, "{pair}, {panics:?}: {words}");
                let what = format!("{pair}, {panics:?}");
                explore(schedule, || nothing_is_left(&mut loaded, TABLES[0], &what));
                tried += 1;
            }
        }
    }
    assert_eq!(tried, 20);
}

#[test]
fn a_panic_is_told_once_and_leaves_nothing_behind_on_a_timed_machine() {
    let file = include_str!("../../../machines/haswell-ex-4x18.toml");
    let machine = Description::parse(file).expect("a machine");
    for (pair, options) in systems() {
        let mut loaded = Loaded::load_with(pair, options);
        let words = panic_of(|| Simulation::of(&machine).run(|| one_panics(&mut loaded, TABLES[0])));
        assert_eq!(words.matches("a merge that panics").count(), 1, "{pair}: {words}");
        nothing_is_left(&mut loaded, TABLES[0], &pair.to_string());
    }
}

/// One worker has panicked, one never ends, and the third waits for what that one holds, perhaps for a partition's latch: those
/// two are unwound, each gives back what it has and no more, and the store is good for another run.
#[test]
fn who_never_ends_after_a_panic_is_unwound_and_so_is_who_waits_for_it() {
    for pair in supported() {
        let is_in_place = [ArchitectureName::SharedEverything, ArchitectureName::PartitionedSerial]
            .contains(&pair.architecture);
        // Who is unwound while its request is queued is granted it later all the same.
        let queues = [ProtocolName::DlDetect, ProtocolName::Dreadlocks, ProtocolName::DeadlockFree]
            .contains(&pair.protocol);
        if !is_in_place || queues {
            continue;
        }
        let mut loaded = Loaded::<ThisEngine>::load(pair);
        let scripts = |worker| match worker {
            0 => vec![vec![Panic(5)]],
            1 => vec![vec![Blind(9), Never(cpu::pause)]],
            _ => vec![vec![], vec![Blind(9), Blind(10)]],
        };
        let exploration = Exploration::of(Schedule::RoundRobin);
        let words = panic_of(|| {
            explore(exploration, || {
                let _ = loaded.run_all(TABLES[0], scripts, 3);
            });
        });
        assert!(words.contains("a merge that panics"), "{pair}: {words}");
        assert_eq!(loaded.leak_check().held, 0, "{pair}");
        explore(exploration, || nothing_is_left(&mut loaded, TABLES[0], &pair.to_string()));
    }
}
