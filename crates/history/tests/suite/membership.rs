//! membership over toy engines, with real deletes.

use crate::toy::{self, Rules, Toy};
use contract::{Engine, Workload};
use history::membership::{Membership, MembershipClient, Tally};
use history::{AnomalyKind, Checked, CheckedRun, Deletes, FinalRead, check, run_checked};
use std::collections::BTreeSet;

const WORKERS: usize = 3;
const TRANSACTIONS: u64 = 500;
const WORKLOAD: Membership =
    Membership { transactions: TRANSACTIONS, window: 4, rollback_percent: 10, scan_percent: 0 };

fn ranges() -> Membership {
    Membership { transactions: TRANSACTIONS, window: 4, ..Membership::ranges() }
}

fn run<R: Rules>(seed: u64) -> CheckedRun<MembershipClient> {
    run_of::<R>(WORKLOAD, seed)
}

fn run_of<R: Rules>(workload: Membership, seed: u64) -> CheckedRun<MembershipClient> {
    let checked = Checked::new(workload, Deletes::Real);
    run_checked::<Toy<R>, _>(&checked, &toy::setting(WORKERS, TRANSACTIONS, seed), &|_| {}).expect("loads")
}

fn whole(clients: &[MembershipClient]) -> Tally {
    let mut sum = Tally::default();
    for tally in clients.iter().map(MembershipClient::tally) {
        sum.inserted += tally.inserted;
        sum.deleted += tally.deleted;
        sum.missed += tally.missed;
        sum.existed += tally.existed;
        sum.scanned += tally.scanned;
        sum.impossible += tally.impossible;
    }
    sum
}

#[test]
fn strong_engines_are_accepted() {
    for seed in 0..3 {
        for run in [run::<toy::Serial>(seed), run::<toy::Optimistic>(seed)] {
            assert!(run.verdict.is_strictly_serializable(), "seed {seed}: {}", run.verdict);
            let tally = whole(&run.clients);
            assert_eq!(tally.impossible, 0);

            assert!(tally.inserted > 50 && tally.deleted > 50, "{tally:?}");
            assert!(tally.missed > 200 && tally.existed > 100, "{tally:?}");
            assert_eq!(run.history.rows_added(), tally.inserted as i64 - tally.deleted as i64);
        }
    }
}

#[test]
fn weak_engines_are_rejected_by_name() {
    let kinds = |verdicts: Vec<history::Verdict>| -> BTreeSet<AnomalyKind> {
        assert!(verdicts.iter().all(|verdict| !verdict.is_strictly_serializable()));
        verdicts.into_iter().flat_map(|verdict| verdict.counts.into_keys()).collect()
    };
    let unprotected = kinds((0..3).map(|seed| run::<toy::UnprotectedMisses>(seed).verdict).collect());
    assert!(unprotected.contains(&AnomalyKind::Phantom), "{unprotected:?}");
    let dirty = kinds((0..3).map(|seed| run::<toy::DirtyReads>(seed).verdict).collect());
    assert!(dirty.contains(&AnomalyKind::AbortedRead), "{dirty:?}");
    let left = kinds((0..3).map(|seed| run::<toy::NoUndo>(seed).verdict).collect());
    assert!(left.contains(&AnomalyKind::AbortedRead), "{left:?}");
    let committed = kinds((0..3).map(|seed| run::<toy::ReadCommitted>(seed).verdict).collect());
    assert!(committed.contains(&AnomalyKind::LostUpdate), "{committed:?}");
}

/// The parts of [`run_checked`] by hand, as a harness uses them, and what is left in the store.
#[test]
fn rows_that_remain_are_those_that_the_history_added() {
    let checked = Checked::new(WORKLOAD, Deletes::Real);
    let setting = toy::setting(WORKERS, TRANSACTIONS, 5);
    let mut store = setting.load::<Toy<toy::Optimistic>, _>(&checked, &|_| {}).expect("loads");
    let loaded = Toy::<toy::Optimistic>::leak_check(&store).linked_records;
    assert_eq!(loaded, checked.tables().iter().map(|table| table.rows).sum::<u64>());
    let run = Toy::<toy::Optimistic>::run(
        &mut store,
        setting.selection,
        setting.clients::<Toy<toy::Optimistic>, _>(&checked),
        setting.until,
        &setting.options,
    );
    let (mut history, _) = checked.history(run.expect("plans are right").clients);
    let read = FinalRead::of_stamps(&checked, &history);
    history.finals = read.versions(setting.read_back::<Toy<toy::Optimistic>>(&mut store, &read));
    assert!(history.finals.len() > 100);
    let verdict = check(&history);
    assert!(verdict.is_strictly_serializable(), "{verdict}");
    let remaining = Toy::<toy::Optimistic>::leak_check(&store).linked_records;
    assert_eq!(remaining as i64, loaded as i64 + history.rows_added());
}

#[test]
fn strong_engines_scan_ranges_while_keys_come_and_go() {
    for seed in 0..3 {
        for run in [run_of::<toy::Serial>(ranges(), seed), run_of::<toy::Optimistic>(ranges(), seed)] {
            assert!(run.verdict.is_strictly_serializable(), "seed {seed}: {}", run.verdict);
            let tally = whole(&run.clients);
            assert_eq!(tally.impossible, 0);
            assert!(tally.inserted > 50 && tally.deleted > 50 && tally.scanned > 1000, "{tally:?}");
            assert_eq!(run.history.rows_added(), tally.inserted as i64 - tally.deleted as i64);
        }
    }
}

#[test]
fn ranges_that_nobody_protects_are_rejected_as_phantoms() {
    for seed in 0..4 {
        let verdict = run_of::<toy::UnprotectedRanges>(ranges(), seed).verdict;
        assert!(verdict.count(AnomalyKind::Phantom) > 0, "seed {seed}: {verdict}");
        assert!(verdict.to_string().contains("scan of member from"), "{verdict}");
        // Its point reads are protected.
        assert!(run::<toy::UnprotectedRanges>(seed).verdict.is_strictly_serializable());
    }
}

#[test]
fn impossible_answers_of_scans_are_counted() {
    let run = run_of::<toy::Stumbles>(ranges(), 1);
    assert!(whole(&run.clients).impossible > 0);
    assert!(run.verdict.count(AnomalyKind::DisorderlyScan) > 0, "{}", run.verdict);
}
