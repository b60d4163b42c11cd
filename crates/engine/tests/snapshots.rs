//! Snapshots on the hardware, with real threads.

mod shared;

use contract::{
    ArchitectureName, EngineOptions, Indexing, Insertion, Key, PairName, RecoveryOptions, RowLength,
    Selection, Span,
};
use engine::ThisEngine;
use engine::embedded::{Embedded, NewTable, OpenOptions, Slot};
use shared::snapshots::{LEDGERS, ledger_run, versions_are_freed};
use std::time::Duration;

/// The pairs that have snapshots, with the options of a short one.
fn with_snapshots(snapshot_every: u64) -> impl Iterator<Item = (PairName, EngineOptions)> {
    let options = EngineOptions {
        snapshots: true,
        snapshot_every,
        epoch_interval: Duration::from_micros(50),
        ..EngineOptions::default()
    };
    let has_snapshots = {
        let options = options.clone();
        move |pair: &PairName| {
            pair.architecture == ArchitectureName::SharedEverything
                && shared::arrange_with::<ThisEngine>(*pair, 2, &options).layout.snapshot_every > 0
        }
    };
    let pairs = shared::supported::<ThisEngine>().into_iter().filter(has_snapshots);
    pairs.map(move |pair| (pair, options.clone()))
}

#[test]
fn every_snapshot_has_all_the_money() {
    let (mut runs, mut snapshots) = (0, 0);
    for ledger in LEDGERS {
        for snapshot_every in [1, 2, 5] {
            for (pair, options) in with_snapshots(snapshot_every) {
                let run = ledger_run::<ThisEngine>(ledger, Selection::Pair(pair), 3, 4_000, &options);
                let found = run.unwrap_or_else(|broken| panic!("{pair}, {ledger:?}, {options:?}: {broken}"));
                assert_eq!(
                    found.sums,
                    2 * 3 * 1_000,
                    "{pair}, {ledger:?}: every fourth transaction is a sum"
                );
                (runs, snapshots) = (runs + 1, snapshots + found.snapshots);
            }
        }
    }
    assert!(runs == 5 * 10 * 3 && snapshots > 2 * 3 * 2 * runs, "{snapshots} snapshots in {runs} runs");
}

#[test]
fn versions_are_freed_when_no_snapshot_shows_them() {
    for ledger in LEDGERS {
        for (pair, options) in with_snapshots(3) {
            versions_are_freed::<ThisEngine>(ledger, Selection::Pair(pair), 2, 3_000, &options);
        }
    }
}

/// Where the indexes are split, a scan merges the partitions, and their graveyards.
#[test]
fn snapshots_of_split_indexes_have_all_the_money() {
    for ledger in LEDGERS {
        for (pair, options) in with_snapshots(2) {
            let options = EngineOptions { split_indexes: true, ..options };
            let run = ledger_run::<ThisEngine>(ledger, Selection::Pair(pair), 3, 3_000, &options);
            run.unwrap_or_else(|broken| panic!("{pair}, {ledger:?}: {broken}"));
        }
    }
}

/// A thread reads a snapshot of a store that is open, as a program does, while others write.
#[test]
fn a_lent_slot_reads_a_snapshot() {
    let (pair, options) = with_snapshots(1).last().expect("there is a pair");
    let options =
        OpenOptions { pair, slots: 2, log: None, recovery: RecoveryOptions::default(), engine: options };
    let (mut store, _) = Embedded::open(&options).expect("a small store");
    let table = NewTable {
        name: "numbers",
        row_bytes: 8,
        length: RowLength::Fixed,
        indexing: Indexing::Ordered,
        capacity: 10,
        schema: "",
    };
    let table = store.create_table(&table).expect("a new name");
    let (mut writer, mut reader) = (store.lend(0), store.lend(1));
    let services = store.services();
    let read = |reader: &mut Slot| {
        let mut seen = None;
        reader.read_snapshot(&mut |txn| {
            let see = &mut |row: &[u8]| seen = Some(u64::from_le_bytes(row.try_into().expect("eight bytes")));
            let _ = txn.read(table, Key(1), Span::whole(8), see).expect("nothing aborts it");
        });
        seen
    };
    let write = |writer: &mut Slot, number: u64| {
        writer.begin(true);
        let row = number.to_le_bytes();
        if writer.transaction().insert(table, Key(1), &row).expect("alone") == Insertion::Exists {
            let _ = writer.transaction().write(table, Key(1), 0, &row).expect("alone");
        }
        writer.commit().expect("alone");
    };
    // Rounds of the service that advances the epochs.
    let pass = |epochs: usize| {
        let rounds = std::cell::Cell::new(0);
        let has_ended = || rounds.replace(rounds.get() + 1) > 50 * epochs;
        services.serve(0, &has_ended, &|| ());
    };
    assert!(reader.has_snapshots());
    write(&mut writer, 7);
    pass(10);
    reader.begin_snapshot();
    for number in 8..20 {
        assert_eq!(read(&mut reader), Some(7), "what the snapshot showed first");
        write(&mut writer, number);
        pass(2);
    }
    let first = reader.end_snapshot();
    pass(10);
    reader.begin_snapshot();
    assert_eq!(read(&mut reader), Some(19));
    assert!(reader.end_snapshot().last_epoch > first.last_epoch);
    store.take_back(writer);
    store.take_back(reader);
}
