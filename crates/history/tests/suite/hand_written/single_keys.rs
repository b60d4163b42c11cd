//! Anomalies that one key shows by itself: versions that nobody should have seen.

use super::*;
use crate::script::TABLE;
use contract::Key;
use history::{Operation, OperationKind};

#[test]
fn dirty_read_of_an_intermediate_version() {
    let (mut a, mut b) = two();
    let first = a.update(5, LOADED);
    let second = a.update(5, first);
    b.read(5, second);
    accepted(&[a.clone(), b], &[(5, second)]);
    let mut b = Draft::new(1, 1);
    b.read(5, first);
    let words = rejected(&[a, b], &[(5, second)], AnomalyKind::DirtyRead);
    assert!(words.contains("a version that T0 (worker 0, 1st attempt) replaced itself"), "{words}");
}

#[test]
fn dirty_read_of_a_version_that_was_never_installed() {
    let (mut a, mut b) = two();
    a.read(5, LOADED);
    b.read(5, a.next_version());
    rejected(&[a, b], &[(5, LOADED)], AnomalyKind::DirtyRead);
}

#[test]
fn aborted_read_of_an_earlier_attempt() {
    let (mut a, mut b) = two();
    let aborted = a.update(5, LOADED);
    a.retry();
    let kept = a.update(5, LOADED);
    b.read(5, kept);
    accepted(&[a.clone(), b], &[(5, kept)]);
    let mut b = Draft::new(1, 1);
    b.read(5, aborted);
    let words = rejected(&[a, b], &[(5, kept)], AnomalyKind::AbortedRead);
    assert!(words.contains("in an earlier attempt, number 1"), "{words}");
}

#[test]
fn aborted_read_of_a_rolled_back_transaction() {
    let (mut a, mut b) = two();
    let aborted = a.update(5, LOADED);
    a.roll_back();
    b.read(5, aborted);
    let words = rejected(&[a, b], &[(5, LOADED)], AnomalyKind::AbortedRead);
    assert!(words.contains("before it rolled back"), "{words}");
}

#[test]
fn aborted_read_of_a_transaction_that_never_ended() {
    let mut b = Draft::new(1, 1);
    b.read(5, Draft::new(0, 3).next_version());
    let mut history = history_of(&[b], &[]);
    history.workers[0].issued = 3;
    let verdict = check(&history);
    assert_eq!(verdict.count(AnomalyKind::AbortedRead), 1, "{verdict}");
}

#[test]
fn aborted_writes_that_stay_behind_are_found_in_the_end() {
    let mut a = Draft::new(0, 1);
    let aborted = a.update(5, LOADED);
    a.roll_back();
    rejected(&[a], &[(5, aborted)], AnomalyKind::AbortedRead);
}

#[test]
fn aborted_inserts_and_deletes_that_show() {
    // A row that nobody removed was missed.
    let (mut a, mut b) = two();
    a.read(5, LOADED);
    b.read(5, MISSING);
    rejected(&[a, b], &[(5, LOADED)], AnomalyKind::AbortedRead);
    // A row that nobody inserted was met.
    let (mut a, mut b) = two();
    a.read(5, MISSING);
    b.exists(5);
    rejected(&[a, b], &[(5, MISSING)], AnomalyKind::AbortedRead);
    // The end contradicts what was seen.
    for (seen, end) in [(LOADED, MISSING), (MISSING, LOADED)] {
        let mut a = Draft::new(0, 1);
        a.read(5, seen);
        rejected(&[a], &[(5, end)], AnomalyKind::AbortedRead);
    }
}

#[test]
fn tombstones_are_versions_like_any_other() {
    let (mut a, mut b) = two();
    let dead = a.delete(5, LOADED);
    let reborn = b.insert(5, dead);
    let mut c = Draft::new(2, 1);
    c.read(5, dead);
    accepted(&[a.clone(), b.clone(), c], &[(5, reborn)]);
    accepted(&[a.clone(), b.clone()], &[(5, reborn)]);
    // Two that inserted over the same tombstone.
    let mut again = Draft::new(2, 1);
    again.insert(5, dead);
    rejected(&[a, b, again], &[(5, reborn)], AnomalyKind::LostUpdate);
}

#[test]
fn real_deletes_replace_the_last_version() {
    let (mut a, mut b) = two();
    let last = a.update(5, LOADED);
    b.delete(5, PRESENT);
    let mut c = Draft::new(2, 1);
    c.read(5, MISSING);
    accepted(&[a.clone(), b.clone(), c.clone()], &[(5, MISSING)]);
    // Still there after all.
    rejected(&[a.clone(), b.clone()], &[(5, last)], AnomalyKind::LostUpdate);
    // Deleted twice.
    let mut twice = Draft::new(2, 1);
    twice.delete(5, PRESENT);
    rejected(&[a, b, twice], &[(5, MISSING)], AnomalyKind::LostUpdate);
}

#[test]
fn inserting_and_really_deleting_in_one_transaction_leaves_nothing() {
    let (mut a, mut b) = two();
    let inserted = a.insert(5, MISSING);
    a.read(5, inserted);
    a.delete(5, PRESENT);
    a.read(5, MISSING);
    b.read(5, MISSING);
    accepted(&[a.clone(), b], &[(5, MISSING)]);
    let mut b = Draft::new(1, 1);
    b.read(5, inserted);
    rejected(&[a.clone(), b], &[(5, MISSING)], AnomalyKind::DirtyRead);
    // And once more inserted it stays.
    let again = a.insert(5, MISSING);
    let mut b = Draft::new(1, 1);
    b.read(5, again);
    accepted(&[a, b], &[(5, again)]);
}

#[test]
fn an_insert_that_found_its_key_comes_after_the_insert_that_brought_it() {
    let (mut a, mut b) = two();
    let new = a.insert(5, MISSING);
    let other = a.update(6, LOADED);
    b.exists(5);
    b.read(6, other);
    accepted(&[a.clone(), b], &[(5, new), (6, other)]);
    let mut b = Draft::new(1, 1);
    b.exists(5);
    b.read(6, LOADED);
    rejected(&[a, b], &[(5, new), (6, other)], AnomalyKind::ReadSkew);
}

#[test]
fn a_row_that_was_found_to_be_there_is_deleted_later() {
    let (mut a, mut b) = two();
    a.delete(5, PRESENT);
    let other = a.update(6, LOADED);
    b.exists(5);
    b.read(6, other);
    rejected(&[a, b], &[(5, MISSING), (6, other)], AnomalyKind::Phantom);
}

#[test]
#[should_panic(expected = "micro key 5 was both inserted and deleted")]
fn a_key_that_came_and_went_cannot_be_judged_with_real_deletes() {
    let (mut a, mut b) = two();
    a.insert(5, MISSING);
    b.delete(5, PRESENT);
    verdict(&[a, b], &[]);
}

#[test]
fn non_repeatable_read() {
    let (mut a, mut b) = two();
    let new = b.update(5, LOADED);
    a.read(5, LOADED);
    a.read(5, LOADED);
    accepted(&[a.clone(), b.clone()], &[(5, new)]);
    a.read(5, new);
    let words = rejected(&[a, b], &[(5, new)], AnomalyKind::NonRepeatableRead);
    assert!(words.contains("saw first the loaded row, then T1's version"), "{words}");
}

#[test]
fn non_repeatable_read_of_a_missing_key() {
    let (mut a, mut b) = two();
    let new = b.insert(5, MISSING);
    a.read(5, MISSING);
    a.read(5, new);
    rejected(&[a, b], &[(5, new)], AnomalyKind::NonRepeatableRead);
}

#[test]
fn corrupt_values() {
    // A version that nobody was given.
    for nobody in [Version(0), Version(42), Version(u64::MAX / 3), Draft::new(0, 9).next_version()] {
        let mut a = Draft::new(0, 1);
        a.read(5, nobody);
        rejected(&[a], &[], AnomalyKind::CorruptValue);
    }
    // An attempt that never was.
    let (mut a, mut b) = two();
    let mut later = Draft::new(0, 1);
    later.retry();
    a.update(6, LOADED);
    b.read(5, later.next_version());
    rejected(&[a, b], &[], AnomalyKind::CorruptValue);
    // A version of another key.
    let (mut a, mut b) = two();
    let six = a.update(6, LOADED);
    b.read(5, six);
    let words = rejected(&[a, b], &[], AnomalyKind::CorruptValue);
    assert!(words.contains("wrote to micro key 6"), "{words}");
}

#[test]
fn corrupt_values_of_torn_stamps() {
    let read = |seen, replaced| Operation::stamped(OperationKind::Read, TABLE, Key(5), seen, replaced, 0);
    let (mut a, mut b) = two();
    let first = a.update(5, LOADED);
    let mut c = Draft::new(2, 1);
    let second = c.update(5, first);
    let chain = [a, c];
    for (seen, replaced) in [(LOADED, LOADED), (first, LOADED), (second, first)] {
        b.operations = vec![read(seen, replaced)];
        accepted(&[chain[0].clone(), chain[1].clone(), b.clone()], &[(5, second)]);
    }
    for (seen, replaced) in [(LOADED, first), (first, first), (second, LOADED)] {
        b.operations = vec![read(seen, replaced)];
        let drafts = [chain[0].clone(), chain[1].clone(), b.clone()];
        let words = rejected(&drafts, &[(5, second)], AnomalyKind::CorruptValue);
        assert!(words.contains("saw a torn stamp"), "{words}");
    }
}

#[test]
fn internal_inconsistency() {
    let mut a = Draft::new(0, 1);
    let own = a.update(5, LOADED);
    a.read(5, own);
    accepted(&[a.clone()], &[(5, own)]);
    a.read(5, LOADED);
    rejected(&[a], &[(5, own)], AnomalyKind::InternalInconsistency);
    // A row that was deleted by the transaction itself.
    let mut a = Draft::new(0, 1);
    let dead = a.delete(5, LOADED);
    let mut vanished = a.clone();
    a.read(5, LOADED);
    rejected(&[a], &[(5, dead)], AnomalyKind::InternalInconsistency);
    // Its own tombstone is gone, row and all.
    vanished.read(5, MISSING);
    rejected(&[vanished], &[(5, dead)], AnomalyKind::InternalInconsistency);
}

#[test]
fn internal_inconsistency_by_seeing_what_is_yet_to_be_written() {
    // Read before it is written.
    let mut a = Draft::new(0, 1);
    a.read(5, a.next_version());
    let own = a.write(5, LOADED);
    let words = rejected(&[a], &[(5, own)], AnomalyKind::InternalInconsistency);
    assert!(words.contains("met T0's version, its own, before it had written"), "{words}");
    // Replaced by itself, blindly or not: a merge that was applied twice leaves this.
    for replaces in [Draft::write, Draft::update] {
        let mut a = Draft::new(0, 1);
        let own = a.next_version();
        replaces(&mut a, 5, own);
        rejected(&[a], &[(5, own)], AnomalyKind::InternalInconsistency);
    }
}

#[test]
fn what_a_rolled_back_transaction_saw_is_not_judged() {
    let (mut a, mut b) = two();
    let new = b.update(5, LOADED);
    a.read(5, LOADED);
    a.read(5, new);
    a.roll_back();
    accepted(&[a, b], &[(5, new)]);
}

#[test]
fn what_loading_brought_decides_where_it_is_known() {
    let judged = |seen, loaded| {
        let mut a = Draft::new(0, 1);
        a.read(5, seen);
        let mut history = history_of(&[a], &[(5, seen)]);
        history.finals[0].loaded = Some(loaded);
        check(&history)
    };
    assert!(judged(LOADED, true).is_strictly_serializable());
    assert!(judged(MISSING, false).is_strictly_serializable());
    assert!(judged(LOADED, false).count(AnomalyKind::CorruptValue) > 0);
    assert!(judged(MISSING, true).count(AnomalyKind::AbortedRead) > 0);
}

#[test]
fn a_read_after_an_insert_that_found_its_key_tells_the_version() {
    let (mut a, mut b) = two();
    let one = b.update(5, LOADED);
    let other = b.update(6, LOADED);
    a.exists(5);
    a.read(5, one);
    a.read(6, other);
    accepted(&[a, b.clone()], &[(5, one), (6, other)]);
    let mut a = Draft::new(0, 1);
    a.exists(5);
    a.read(5, LOADED);
    a.read(6, other);
    rejected(&[a, b], &[(5, one), (6, other)], AnomalyKind::ReadSkew);
}
