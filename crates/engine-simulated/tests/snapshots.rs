//! Snapshots under chosen interleavings, and canaries that they must find.

#[path = "../../engine/tests/shared/mod.rs"]
mod shared;

use contract::{
    ArchitectureName, EngineOptions, Indexing, Insertion, Key, PairName, RecoveryOptions, RowLength,
    Selection, SnapshotCanary, TableId,
};
use engine_simulated::ThisEngine;
use engine_simulated::embedded::{Embedded, NewTable, OpenOptions, Slot};
use machine::simulated::worker::{Service, run_each_with_services};
use machine::simulated::{Schedule, cpu, explore};
use shared::snapshots::{Found, LEDGERS, Ledger, ledger_run};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

const WORKERS: usize = 3;
/// Of a worker, in a short run and in one in which what waits is freed a few times.
const TRANSACTIONS: [u64; 2] = [24, 160];

fn schedules(seed: u64) -> [Schedule; 3] {
    [
        Schedule::Random { seed, switch_one_in: 2 },
        Schedule::Random { seed, switch_one_in: 50 },
        Schedule::Pct { seed, depth: 3, steps: 40_000 },
    ]
}

/// Snapshots that follow each other while a transaction runs.
fn options(seed: u64, snapshot_every: u64) -> EngineOptions {
    EngineOptions {
        seed,
        snapshots: true,
        snapshot_every,
        epoch_interval: Duration::from_nanos(500),
        back_off_first_ns: 200,
        ..EngineOptions::default()
    }
}

fn pairs() -> impl Iterator<Item = PairName> {
    let has_snapshots = |pair: &PairName| {
        pair.architecture == ArchitectureName::SharedEverything
            && shared::arrange_with::<ThisEngine>(*pair, WORKERS, &options(0, 1)).layout.snapshot_every > 0
    };
    shared::supported::<ThisEngine>().into_iter().filter(has_snapshots)
}

fn explored(
    ledger: Ledger,
    pair: PairName,
    schedule: Schedule,
    transactions: u64,
    options: &EngineOptions,
) -> Result<Found, String> {
    let run = || ledger_run::<ThisEngine>(ledger, Selection::Pair(pair), WORKERS, transactions, options);
    catch_unwind(AssertUnwindSafe(|| explore(schedule, run))).unwrap_or_else(|panic| {
        Err(panic.downcast_ref::<String>().cloned().unwrap_or_else(|| "a panic without words".to_owned()))
    })
}

#[test]
fn every_snapshot_has_all_the_money_under_every_schedule() {
    let (mut runs, mut snapshots) = (0, 0);
    for pair in pairs() {
        for ledger in LEDGERS {
            for seed in 0..24 {
                let transactions = TRANSACTIONS[usize::from(seed % 6 == 5)];
                for schedule in schedules(seed) {
                    let run = explored(ledger, pair, schedule, transactions, &options(seed, 1 + seed % 3));
                    let found =
                        run.unwrap_or_else(|broken| panic!("{pair}, {ledger:?}, {schedule:?}: {broken}"));
                    (runs, snapshots) = (runs + 1, snapshots + found.snapshots);
                }
            }
        }
    }
    println!("{snapshots} snapshots in {runs} runs");
    assert!(snapshots > 20 * runs, "{snapshots} snapshots in {runs} runs");
}

/// A step that is left out is found under some pair.
#[test]
fn every_canary_is_found() {
    // A canary may trip over itself; its words are expected.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let found: Vec<_> = SnapshotCanary::ALL
        .into_iter()
        .map(|canary| {
            let transactions = TRANSACTIONS[usize::from(canary == SnapshotCanary::EarlyReclamation)];
            let tries = (0..60).flat_map(|seed| {
                let each = move |schedule| LEDGERS.map(|ledger| (seed, schedule, ledger));
                schedules(seed).into_iter().flat_map(each)
            });
            let tries = tries.flat_map(|tried| pairs().map(move |pair| (tried, pair)));
            let found = tries.enumerate().find_map(|(tried, ((seed, schedule, ledger), pair))| {
                let options = EngineOptions { snapshot_canary: Some(canary), ..options(seed, 1 + seed % 3) };
                let broken = explored(ledger, pair, schedule, transactions, &options).err()?;
                Some((tried + 1, pair, broken))
            });
            (canary, found)
        })
        .collect();
    std::panic::set_hook(hook);
    for (canary, found) in found {
        let (tried, pair, broken) = found.unwrap_or_else(|| panic!("{canary:?} was not found"));
        println!("{canary:?} under {pair}: found by run {tried}: {broken}");
    }
}

const TABLE: TableId = TableId(0);
/// Of one slot, in which it looks at least twice for what it may free.
const LOOKS: usize = 160;

fn delete(slot: &mut Slot, key: u64) {
    slot.begin(true);
    let _ = slot.transaction().delete(TABLE, Key(key)).expect("alone");
    slot.commit().expect("alone");
}

fn insert(slot: &mut Slot, key: u64) {
    slot.begin(true);
    let inserted = slot.transaction().insert(TABLE, Key(key), &[1; 8]).expect("alone");
    assert_eq!(inserted, Insertion::Inserted);
    slot.commit().expect("alone");
}

/// Lets some epochs pass, each of which makes a snapshot.
fn pass() {
    (0..200).for_each(|_| cpu::pause());
}

fn look(slot: &mut Slot) {
    for _ in 0..LOOKS {
        slot.begin(true);
        slot.commit().expect("nothing is in its way");
        pass();
    }
}

/// A slot deletes rows, and then rests. Others insert them anew, delete them, and free all that they have of it. When the first one goes on, it
/// frees what it has, and touches nothing that is gone: the machine looks.
#[test]
fn a_slot_that_has_rested_touches_nothing_that_others_have_freed() {
    for pair in pairs() {
        explore(Schedule::RoundRobin, || {
            let engine = options(1, 1);
            let recovery = RecoveryOptions::default();
            let opened = OpenOptions { pair, slots: 2, log: None, recovery, engine };
            let (mut store, _) = Embedded::open(&opened).expect("a small store");
            let table = NewTable {
                name: "rows",
                row_bytes: 8,
                length: RowLength::Fixed,
                indexing: Indexing::Hashed,
                capacity: 10,
                schema: "",
            };
            assert_eq!(store.create_table(&table).expect("a new name"), TABLE);
            let (slots, services) = ((store.lend(0), store.lend(1)), store.services());
            let round = || {
                let asked = Cell::new(0);
                services.serve(0, &|| asked.replace(asked.get() + 1) > 0, &|| ());
            };
            let epochs =
                Service { name: "epochs", period: Duration::from_nanos(500), bell: None, work: &round };
            let slots = run_each_with_services(vec![slots], &[epochs], |_, (mut rests, mut other), _| {
                for key in 0..5 {
                    insert(&mut other, key);
                    pass();
                    delete(&mut rests, key);
                    insert(&mut other, key);
                    pass();
                    delete(&mut other, key);
                }
                look(&mut other);
                look(&mut rests);
                (rests, other)
            });
            for (rests, other) in slots {
                store.take_back(rests);
                store.take_back(other);
            }
        });
    }
}
