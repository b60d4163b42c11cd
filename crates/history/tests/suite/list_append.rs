//! list-append over toy engines, with its own checker and inside the wrapper.

use crate::toy::{self, Rules, Toy};
use contract::RowLength;
use history::list_append::{LIST_CAPACITY, ListAppend, ListAppendRun, run_list_append};
use history::{AnomalyKind, Checked, Deletes, ElleLayout, run_checked};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const WORKERS: usize = 3;
const TRANSACTIONS: u64 = 300;

const LENGTHS: [RowLength; 2] = [RowLength::Fixed, RowLength::Varying];

fn workload(length: RowLength) -> ListAppend {
    ListAppend { window: 5, operations: 1..=5, length, ..ListAppend::default() }
        .with_keys_for(TRANSACTIONS * WORKERS as u64)
}

pub fn run<R: Rules>(length: RowLength, seed: u64) -> ListAppendRun {
    let setting = toy::setting(WORKERS, TRANSACTIONS, seed);
    run_list_append::<Toy<R>>(&workload(length), &setting, &|_| {}).expect("a toy store always loads")
}

fn rejected_kinds<R: Rules>() -> BTreeSet<AnomalyKind> {
    let mut kinds = BTreeSet::new();
    for (length, seed) in LENGTHS.into_iter().flat_map(|length| (0..3).map(move |seed| (length, seed))) {
        let verdict = run::<R>(length, seed).verdict;
        assert!(!verdict.is_strictly_serializable(), "{length:?}, seed {seed} was accepted");
        kinds.extend(verdict.counts.into_keys());
    }
    kinds
}

#[test]
fn strong_engines_are_accepted() {
    for (length, seed) in LENGTHS.into_iter().flat_map(|length| (0..3).map(move |seed| (length, seed))) {
        for run in [run::<toy::Serial>(length, seed), run::<toy::Optimistic>(length, seed)] {
            assert!(run.verdict.is_strictly_serializable(), "{length:?}, seed {seed}: {}", run.verdict);
            assert_eq!(run.verdict.transactions, TRANSACTIONS * WORKERS as u64);
            assert!(run.verdict.edges > 1000, "too little happened: {}", run.verdict);
        }
    }
}

#[test]
fn weak_engines_are_rejected_by_name() {
    let lost = rejected_kinds::<toy::ReadCommitted>();
    assert!(lost.contains(&AnomalyKind::LostUpdate), "{lost:?}");
    let skewed = rejected_kinds::<toy::FirstCommitterWins>();
    assert!(skewed.contains(&AnomalyKind::WriteSkew), "{skewed:?}");
    let dirty = rejected_kinds::<toy::DirtyReads>();
    assert!(dirty.contains(&AnomalyKind::AbortedRead), "{dirty:?}");
    assert_eq!(rejected_kinds::<toy::StaleSnapshots>(), BTreeSet::from([AnomalyKind::StaleRead]));
}

#[test]
fn inside_the_wrapper_the_verdict_is_the_same() {
    for length in LENGTHS {
        let checked = Checked::new(workload(length), Deletes::None);
        let setting = toy::setting(WORKERS, TRANSACTIONS, 1);
        let strong = run_checked::<Toy<toy::Optimistic>, _>(&checked, &setting, &|_| {}).expect("loads");
        assert!(strong.verdict.is_strictly_serializable(), "{}", strong.verdict);
        let weak =
            run_checked::<Toy<toy::FirstCommitterWins>, _>(&checked, &setting, &|_| {}).expect("loads");
        assert!(weak.verdict.count(AnomalyKind::WriteSkew) > 0, "{}", weak.verdict);
    }
}

#[test]
fn lists_that_are_full_are_read_and_the_window_moves() {
    LENGTHS.into_iter().for_each(the_window_moves);
}

fn the_window_moves(length: RowLength) {
    const KEYS: u64 = 8;
    let small = ListAppend { keys: KEYS, window: 4, operations: 1..=5, reads_percent: 10, length };
    let setting = toy::setting(WORKERS, TRANSACTIONS, 1);
    let run = run_list_append::<Toy<toy::Optimistic>>(&small, &setting, &|_| {}).expect("loads");
    assert!(run.verdict.is_strictly_serializable(), "{}", run.verdict);
    // There is work for three times as many lists: the window has come to the last ones, and all are full.
    let mut bytes = Vec::new();
    run.history.write_elle(ElleLayout::Array, &mut bytes).expect("memory has room");
    let events: Vec<Value> = serde_json::from_slice(&bytes).expect("one JSON array");
    let committed = events.iter().filter(|event| event["type"] == "ok");
    let operations = committed.flat_map(|event| event["value"].as_array().expect("micro-operations"));
    let mut appends = BTreeMap::new();
    for append in operations.filter(|operation| operation[0] == "append") {
        *appends.entry(append[1].as_u64().expect("a key")).or_insert(0) += 1;
    }
    assert_eq!(appends, (0..KEYS).map(|key| (key, LIST_CAPACITY)).collect());
}
