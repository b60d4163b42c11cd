//! Recording, reading back and judging around toy engines: the strong ones are accepted, and the weak ones
//! rejected by the right name.

use crate::mixed::{Kind, Mixed, MixedClient};
use crate::toy::{self, Rules, Toy};
use contract::{
    Abort, AbortReason, Client, Completion, Direction, Erased, Indexing, Insertion, Key, Merge, Outcome,
    Presence, Procedure, Receipts, Scan, Seat, Span, TableDescription, TableId, Transaction, Workload,
};
use history::{
    AnomalyKind, Checked, CheckedRun, Deletes, FinalVersion, ScanRecord, Stamp, check, run_checked,
};
use std::collections::BTreeSet;
use std::ops::Bound;

const WORKERS: usize = 3;
const TRANSACTIONS: u64 = 400;

fn run<R: Rules>(workload: Mixed, deletes: Deletes, seed: u64) -> CheckedRun<MixedClient> {
    run_of::<R>(TRANSACTIONS, workload, deletes, seed)
}

fn run_of<R: Rules>(
    transactions: u64,
    workload: Mixed,
    deletes: Deletes,
    seed: u64,
) -> CheckedRun<MixedClient> {
    let checked = Checked::new(workload, deletes);
    let setting = toy::setting(WORKERS, transactions, seed);
    run_checked::<Toy<R>, _>(&checked, &setting, &|_| {}).expect("a toy store always loads")
}

const EVERYTHING: Mixed =
    Mixed { keys: 16, operations: Mixed::EVERYTHING, indexing: Indexing::Hashed, blind: false };
const NO_DELETES: Mixed =
    Mixed { keys: 16, operations: Mixed::NO_DELETES, indexing: Indexing::Hashed, blind: false };
const READS_AND_UPDATES: Mixed =
    Mixed { keys: 10, operations: Mixed::READS_AND_UPDATES, indexing: Indexing::Hashed, blind: false };
const FEW_KEYS: Mixed =
    Mixed { keys: 4, operations: Mixed::NO_DELETES, indexing: Indexing::Hashed, blind: false };
const WITH_MISSES: Mixed =
    Mixed { keys: 6, operations: &[Kind::Read, Kind::Insert], indexing: Indexing::Hashed, blind: false };

const SCANS: Mixed = Mixed { keys: 16, operations: Mixed::SCANS, indexing: Indexing::Ordered, blind: false };
const STRINGS: Mixed = Mixed { indexing: Indexing::OrderedBytes { most: 24 }, ..SCANS };

fn accepts<R: Rules>() {
    for (workload, deletes) in [
        (EVERYTHING, Deletes::Tombstones),
        (NO_DELETES, Deletes::None),
        (SCANS, Deletes::Tombstones),
        (STRINGS, Deletes::Tombstones),
    ] {
        for seed in 0..4 {
            let run = run::<R>(workload, deletes, seed);
            assert!(run.verdict.is_strictly_serializable(), "seed {seed}, {deletes:?}: {}", run.verdict);
            let committed: u64 = run.clients.iter().map(|client| client.committed).sum();
            let rolled_back: u64 = run.clients.iter().map(|client| client.rolled_back).sum();
            assert_eq!(run.verdict.transactions, committed);
            assert_eq!(committed + rolled_back, TRANSACTIONS * WORKERS as u64);
            assert!(run.verdict.edges > 500, "too little happened: {}", run.verdict);
            assert!(run.clients.iter().all(|client| client.merges > 0), "no merge was checked");
            assert!(
                run.clients.iter().all(|client| client.surprises == 0),
                "a transaction missed its own effects"
            );
        }
    }
}

#[test]
fn a_serial_engine_is_accepted() {
    accepts::<toy::Serial>();
}

#[test]
fn an_optimistic_engine_is_accepted() {
    accepts::<toy::Optimistic>();
}

/// Rejects every seed, and gives back all names.
fn rejects<R: Rules>(workload: Mixed, deletes: Deletes) -> BTreeSet<AnomalyKind> {
    let rejected = (0..4).map(|seed| run::<R>(workload, deletes, seed).verdict);
    let mut kinds = BTreeSet::new();
    for verdict in rejected {
        assert!(!verdict.is_strictly_serializable(), "a seed was accepted");
        kinds.extend(verdict.counts.into_keys());
    }
    kinds
}

#[test]
fn read_committed_loses_updates() {
    for (workload, deletes) in [(NO_DELETES, Deletes::None), (EVERYTHING, Deletes::Tombstones)] {
        let kinds = rejects::<toy::ReadCommitted>(workload, deletes);
        assert!(kinds.contains(&AnomalyKind::LostUpdate), "{kinds:?}");
        assert!(kinds.contains(&AnomalyKind::NonRepeatableRead), "{kinds:?}");
    }
}

#[test]
fn first_committer_wins_lets_skew_through() {
    let kinds = rejects::<toy::FirstCommitterWins>(READS_AND_UPDATES, Deletes::None);
    assert!(kinds.contains(&AnomalyKind::WriteSkew), "{kinds:?}");
    assert!(!kinds.contains(&AnomalyKind::LostUpdate), "{kinds:?}");
}

#[test]
fn unprotected_misses_let_phantoms_through() {
    // Keys are missing only for a while, so many seeds go well.
    let verdict = |seed| run_of::<toy::UnprotectedMisses>(8, WITH_MISSES, Deletes::None, seed).verdict;
    let kinds: BTreeSet<AnomalyKind> = (0..500).flat_map(|seed| verdict(seed).counts.into_keys()).collect();
    assert_eq!(kinds, BTreeSet::from([AnomalyKind::NonRepeatableRead, AnomalyKind::Phantom]));
}

#[test]
fn unprotected_ranges_let_phantoms_through() {
    for workload in [SCANS, STRINGS] {
        // Keys that come are under way only for a while, so many seeds go well.
        let mut words = String::new();
        let mut kinds = BTreeSet::new();
        for seed in 0..300 {
            let verdict = run_of::<toy::UnprotectedRanges>(10, workload, Deletes::Tombstones, seed).verdict;
            words += &verdict.to_string();
            kinds.extend(verdict.counts.into_keys());
        }
        assert_eq!(kinds, BTreeSet::from([AnomalyKind::Phantom]), "{words}");
        let range = match workload.indexing {
            Indexing::Ordered => "in its scan of thirteen from key",
            _ => "in its scan of thirteen from key 'a long way to",
        };
        assert!(words.contains(range), "{words}");
    }
}

#[test]
fn scans_that_stumble_are_disorderly() {
    for workload in [SCANS, STRINGS] {
        // The workload would see it, too, so its own eyes are closed.
        let kinds = rejects::<toy::Stumbles>(Mixed { blind: true, ..workload }, Deletes::Tombstones);
        assert!(kinds.contains(&AnomalyKind::DisorderlyScan), "{kinds:?}");
    }
}

/// Deleted rows are there for the engine, and for the checker, and not for the workload.
#[test]
fn scans_go_on_behind_tombstones() {
    let run = run::<toy::Optimistic>(SCANS, Deletes::Tombstones, 3);
    let operations = || run.history.workers.iter().flat_map(|worker| &worker.operations);
    let scans = || run.history.workers.iter().flat_map(|worker| &worker.scans);
    assert!(scans().count() > 300);
    let tombstones = run.history.workers.iter().flat_map(|worker| {
        worker.scans.iter().flat_map(|scan| &worker.operations[scan.first as usize..][..scan.rows as usize])
    });
    assert!(tombstones.filter(|row| row.seen.is_dead()).count() > 100, "of {}", operations().count());
    let of_table = |table| run.history.loaded.iter().filter(move |(of, _)| *of == TableId(table)).count();
    assert_eq!((of_table(0), of_table(1)), (8, 8), "scans cover every loaded key");
}

/// What a scan with a limit shows, and what the history says that it covered.
#[test]
fn a_limit_counts_rows_and_no_tombstones() {
    let run = record(|txn| {
        for key in [1, 2, 5] {
            let _ = txn.delete(TableId(0), Key(key));
        }
        let (low, high) = (Key(1).bytes(), Key(5).bytes());
        for (direction, limit, expected) in [
            (Direction::Forward, 2, &[3_u64, 4][..]),
            (Direction::Backward, 1, &[4]),
            (Direction::Forward, 3, &[3, 4]),
            (Direction::Forward, 0, &[]),
        ] {
            let scan = Scan {
                table: TableId(0),
                from: Bound::Included(&low),
                to: Bound::Included(&high),
                direction,
                limit,
                span: Span::new(0, 8),
                within: None,
            };
            let mut shown = Vec::new();
            let told = txn.scan(&scan, &mut |key, row| {
                assert_eq!(row, Key::prefix_of(key).0.to_le_bytes());
                shown.push(Key::prefix_of(key).0);
            });
            // An attempt may abort for no reason, and is made again.
            let Ok(told) = told else { return };
            assert_eq!((told, &shown[..]), (expected.len(), expected));
        }
    });
    let worker = &run.history.workers[0];
    let told = |scan: &ScanRecord| {
        let rows = &worker.operations[scan.first as usize..][..scan.rows as usize];
        let keys: Vec<String> = rows.iter().map(|row| row.key.0.to_string()).collect();
        format!("{}: {}", run.history.range_in_words(scan), keys.join(" "))
    };
    let scans: Vec<String> = worker.scans.iter().map(told).collect();
    let expected = [
        "thirteen from key 1 to key 4: 1 2 3 4",
        "thirteen from key 4 to key 5: 5 4",
        "thirteen from key 1 to key 5: 1 2 3 4 5",
    ];
    assert_eq!(scans, expected);
    assert_eq!(run.history.loaded.len(), 5);
    assert!(run.verdict.is_strictly_serializable(), "{}", run.verdict);
}

#[test]
fn keys_that_are_byte_strings_have_one_name_for_all_workers() {
    let run = run::<toy::Optimistic>(STRINGS, Deletes::Tombstones, 3);
    for (table, key) in run.history.keys_to_read_back() {
        let bytes = run.history.names.bytes(table, key).expect("every key is a byte string");
        assert!(bytes.starts_with(b"a long way to "), "{}", bytes.escape_ascii());
    }
    let names: BTreeSet<_> = run
        .history
        .workers
        .iter()
        .flat_map(|worker| &worker.operations)
        .collect::<Vec<_>>()
        .into_iter()
        .map(|operation| (operation.table, operation.key))
        .collect();
    assert_eq!(names.len(), 32, "16 keys of each of two tables");
    assert!(run.history.finals.iter().any(|last| last.loaded == Some(true)));
    assert!(run.history.finals.iter().any(|last| last.loaded == Some(false)));
}

#[test]
fn dirty_reads_are_named() {
    let kinds = rejects::<toy::DirtyReads>(FEW_KEYS, Deletes::None);
    assert!(kinds.contains(&AnomalyKind::DirtyRead), "{kinds:?}");
    assert!(kinds.contains(&AnomalyKind::AbortedRead), "{kinds:?}");
    let kinds = rejects::<toy::DirtyReads>(EVERYTHING, Deletes::Tombstones);
    assert!(kinds.contains(&AnomalyKind::AbortedRead), "{kinds:?}");
}

#[test]
fn stale_snapshots_are_stale_reads_and_nothing_else() {
    let kinds = rejects::<toy::StaleSnapshots>(READS_AND_UPDATES, Deletes::None);
    assert_eq!(kinds, BTreeSet::from([AnomalyKind::StaleRead]));
}

#[test]
fn what_is_not_undone_is_an_aborted_read() {
    let kinds = rejects::<toy::NoUndo>(SCANS, Deletes::Tombstones);
    assert!(kinds.contains(&AnomalyKind::AbortedRead), "{kinds:?}");
    let kinds = rejects::<toy::NoUndo>(NO_DELETES, Deletes::None);
    assert!(kinds.contains(&AnomalyKind::AbortedRead), "{kinds:?}");
}

#[test]
fn dropped_writes_are_lost_updates() {
    let kinds = rejects::<toy::DroppedWrites>(READS_AND_UPDATES, Deletes::None);
    assert!(kinds.contains(&AnomalyKind::LostUpdate), "{kinds:?}");
}

#[test]
fn runs_are_repeated_by_their_seed() {
    let words = |seed| {
        let mut verdict = run::<toy::ReadCommitted>(NO_DELETES, Deletes::None, seed).verdict;
        verdict.elapsed = std::time::Duration::ZERO;
        verdict.to_string()
    };
    assert_eq!(words(7), words(7));
    assert_ne!(words(7), words(8));
}

#[test]
fn checked_rows_end_in_a_stamp() {
    let checked = Checked::new(EVERYTHING, Deletes::Tombstones);
    let row_bytes: Vec<usize> = checked.tables().iter().map(|table| table.row_bytes).collect();
    assert_eq!(row_bytes, [16 + 16, 24 + 16]);
    let mut row = vec![0; 32];
    checked.fill(TableId(0), Key(3), &mut row);
    assert_eq!(Stamp::of(&row), Stamp::LOADED);
    assert_eq!(row[..8], 3_u64.to_le_bytes());
    assert!(row[8..16].iter().all(|byte| *byte == 0));
}

/// Runs one operation over a checked store, serially.
fn perform(deletes: Deletes, operation: fn(&mut dyn Transaction)) {
    let checked = Checked::new(Once(operation), deletes);
    let setting = toy::setting(1, 1, 1);
    let _ = run_checked::<Toy<toy::Serial>, _>(&checked, &setting, &|_| {});
}

/// The record of one operation over a checked store with tombstones.
fn record(operation: fn(&mut dyn Transaction)) -> CheckedRun<Once> {
    let checked = Checked::new(Once(operation), Deletes::Tombstones);
    let setting = toy::setting(1, 1, 2);
    run_checked::<Toy<toy::Serial>, _>(&checked, &setting, &|_| {}).expect("a toy store always loads")
}

/// One worker that performs one operation.
#[derive(Clone, Copy)]
struct Once(fn(&mut dyn Transaction));

impl Workload for Once {
    type Client = Once;

    fn tables(&self) -> Vec<TableDescription> {
        SCANS.tables()
    }

    fn fill(&self, table: TableId, key: Key, row: &mut [u8]) {
        EVERYTHING.fill(table, key, row);
    }

    fn client(&self, _seat: Seat) -> Once {
        *self
    }
}

impl Client for Once {
    type Procedure = Once;

    fn next(&mut self) -> Once {
        *self
    }
}

impl Procedure for Once {
    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        (self.0)(&mut Erased(txn));
        Ok(Outcome::Commit)
    }
}

/// A transaction on a store of one row, which commits nothing: enough for a client on its own.
struct OneRow(Vec<u8>);

impl Transaction for OneRow {
    fn read(
        &mut self,
        _: TableId,
        _: Key,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        see(&self.0[span.start()..span.end()]);
        Ok(Presence::Present)
    }

    fn update(
        &mut self,
        _: TableId,
        _: Key,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<Presence, Abort> {
        change(&mut self.0[span.start()..span.end()]);
        Ok(Presence::Present)
    }

    fn write(&mut self, _: TableId, _: Key, _: usize, _: &[u8]) -> Result<Presence, Abort> {
        Err(Abort(AbortReason::Conflict))
    }

    fn merge(&mut self, _: TableId, _: Key, _: Span, _: Merge, _: &[u8]) -> Result<Presence, Abort> {
        Err(Abort(AbortReason::Conflict))
    }

    fn read_whole(&mut self, _: TableId, _: Key, see: &mut dyn FnMut(&[u8])) -> Result<Presence, Abort> {
        see(&self.0);
        Ok(Presence::Present)
    }

    fn replace(&mut self, _: TableId, _: Key, _: &[u8]) -> Result<Presence, Abort> {
        Err(Abort(AbortReason::Conflict))
    }

    fn insert(&mut self, _: TableId, _: Key, _: &[u8]) -> Result<Insertion, Abort> {
        Err(Abort(AbortReason::Conflict))
    }

    fn delete(&mut self, _: TableId, _: Key) -> Result<Presence, Abort> {
        Err(Abort(AbortReason::Conflict))
    }

    fn key(&mut self, _: TableId, _: &[u8]) -> Key {
        panic!("the key of one row is a number")
    }

    fn scan(&mut self, _: &Scan<'_>, _: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize, Abort> {
        Err(Abort(AbortReason::Conflict))
    }
}

struct NoReceipts;

impl Receipts for NoReceipts {
    fn argument(&self, _: usize) -> &[u8] {
        panic!("nothing was merged")
    }
}

/// As under fibers: a worker's transactions interleave, retry, and end in another order than they began.
#[test]
fn a_worker_may_have_several_transactions_in_flight() {
    let checked = Checked::new(
        Once(|txn| {
            let _ = txn.update(TableId(0), Key(1), Span::new(8, 4), &mut |counter| counter[0] += 1);
        }),
        Deletes::None,
    );
    let mut row = vec![0; 32];
    checked.fill(TableId(0), Key(1), &mut row);
    let mut store = OneRow(row);
    let mut client = checked.client(Seat::new(0, 1, 1));
    let (first, second, third) = (client.next(), client.next(), client.next());
    let completion = |began_ns, ended_ns, attempts| Completion {
        id: None,
        epoch: None,
        snapshot: None,
        outcome: Outcome::Commit,
        began_ns,
        ended_ns,
        attempts,
        receipts: &NoReceipts,
    };
    // The first attempt of `second` aborts: what it wrote is undone.
    let before = store.0.clone();
    assert_eq!(second.run(&mut store), Ok(Outcome::Commit));
    store.0 = before;
    assert_eq!(third.run(&mut store), Ok(Outcome::Commit));
    client.finished(third, &completion(2, 10, 1));
    assert_eq!(second.run(&mut store), Ok(Outcome::Commit));
    client.finished(second, &completion(1, 20, 2));
    let fourth = client.next();
    assert_eq!(first.run(&mut store), Ok(Outcome::Commit));
    client.finished(first, &completion(0, 30, 1));
    assert_eq!(fourth.run(&mut store), Ok(Outcome::Commit));
    client.finished(fourth, &completion(25, 40, 1));
    let (mut history, _) = checked.history(vec![client]);
    let numbers: Vec<(u32, u32)> =
        history.workers[0].transactions.iter().map(|record| (record.number, record.attempts)).collect();
    assert_eq!(numbers, [(3, 1), (2, 2), (1, 1), (4, 1)]);
    let last = FinalVersion {
        table: TableId(0),
        key: Key(1),
        loaded: Some(true),
        version: Stamp::of(&store.0).version,
    };
    history.finals = vec![last];
    let verdict = check(&history);
    assert!(verdict.is_strictly_serializable(), "{verdict}");
    assert_eq!((verdict.transactions, verdict.edges), (4, 3));
    assert_eq!(store.0[8], 4);
}

// The panic is a worker's, and what the test sees is that the worker is gone.

#[test]
#[should_panic(expected = "no worker panicked")]
fn a_span_beyond_the_workloads_row_is_refused_though_the_checked_row_has_it() {
    perform(Deletes::None, |txn| {
        let _ = txn.read(TableId(0), Key(1), Span::new(8, 6), &mut |_| {});
    });
}

#[test]
#[should_panic(expected = "no worker panicked")]
fn a_row_of_another_size_is_refused() {
    perform(Deletes::None, |txn| {
        let _ = txn.insert(TableId(0), Key(12), &[0; 16]);
    });
}

#[test]
#[should_panic(expected = "no worker panicked")]
fn a_delete_is_refused_where_none_was_announced() {
    perform(Deletes::None, |txn| {
        let _ = txn.delete(TableId(0), Key(1));
    });
}

#[test]
fn the_same_operations_are_fine_where_they_are_allowed() {
    perform(Deletes::Real, |txn| {
        let _ = txn.read(TableId(0), Key(1), Span::new(8, 5), &mut |bytes| assert_eq!(bytes.len(), 5));
        let _ = txn.insert(TableId(0), Key(12), &[0; 13]);
        let _ = txn.delete(TableId(0), Key(1));
    });
}
