//! Anomalies that are cycles of dependencies, and updates that are lost.

use super::*;

#[test]
fn nothing_is_serializable() {
    accepted(&[], &[]);
    accepted(&[Draft::new(0, 1)], &[(1, LOADED), (2, MISSING)]);
}

#[test]
fn a_chain_of_updates_is_serializable() {
    let (mut a, mut b) = two();
    let first = a.update(5, LOADED);
    let second = b.update(5, first);
    accepted(&[a, b], &[(5, second)]);
}

#[test]
fn lost_update_by_two_that_replaced_one_version() {
    let (mut a, mut b) = two();
    a.update(5, LOADED);
    let kept = b.update(5, LOADED);
    let words = rejected(&[a, b], &[(5, kept)], AnomalyKind::LostUpdate);
    assert!(
        words.contains("micro key 5: T0 (worker 0, 1st attempt) and T1 (worker 1, 1st attempt) both"),
        "{words}"
    );
}

#[test]
fn lost_update_by_a_write_that_vanished() {
    let mut a = Draft::new(0, 1);
    a.update(5, LOADED);
    let words = rejected(&[a], &[(5, LOADED)], AnomalyKind::LostUpdate);
    assert!(words.contains("vanished"), "{words}");
}

#[test]
fn lost_update_by_a_blind_write_after_a_read() {
    let (mut a, mut b) = two();
    let between = b.update(5, LOADED);
    a.read(5, LOADED);
    let last = a.write(5, between);
    let words = rejected(&[a, b], &[(5, last)], AnomalyKind::LostUpdate);
    assert!(
        words.contains("T0 (worker 0, 1st attempt) saw the loaded row at micro key 5, and T1 overwrote"),
        "{words}"
    );
    assert!(words.contains("so T0 must come before T1 and after: lost update"), "{words}");
}

#[test]
fn write_skew() {
    let (mut a, mut b) = two();
    a.read(1, LOADED);
    let two = a.update(2, LOADED);
    b.read(2, LOADED);
    let one = b.update(1, LOADED);
    rejected(&[a, b], &[(1, one), (2, two)], AnomalyKind::WriteSkew);
}

#[test]
fn the_read_only_anomaly_is_a_write_skew_of_three() {
    // Fekete 2004: only the transaction that reads shows that the other two cannot be ordered.
    let (mut deposit, mut withdraw) = two();
    let mut report = Draft::new(2, 1);
    withdraw.read(1, LOADED);
    withdraw.read(2, LOADED);
    let x = withdraw.update(1, LOADED);
    let y = deposit.update(2, LOADED);
    accepted(&[deposit.clone(), withdraw.clone()], &[(1, x), (2, y)]);
    report.read(1, LOADED);
    report.read(2, y);
    rejected(&[deposit, withdraw, report], &[(1, x), (2, y)], AnomalyKind::WriteSkew);
}

#[test]
fn read_skew() {
    let (mut a, mut b) = two();
    let one = b.update(1, LOADED);
    let two = b.update(2, LOADED);
    a.read(1, LOADED);
    a.read(2, two);
    rejected(&[a, b], &[(1, one), (2, two)], AnomalyKind::ReadSkew);
}

#[test]
fn phantom_by_a_key_that_was_missing() {
    let (mut a, mut b) = two();
    let new = b.insert(5, MISSING);
    let other = b.update(6, LOADED);
    a.read(5, MISSING);
    a.read(6, LOADED);
    accepted(&[a, b.clone()], &[(5, new), (6, other)]);
    let mut a = Draft::new(0, 1);
    a.read(5, MISSING);
    a.read(6, other);
    let words = rejected(&[a, b], &[(5, new), (6, other)], AnomalyKind::Phantom);
    assert!(words.contains("saw no row at micro key 5, and T1 inserted it"), "{words}");
}

#[test]
fn phantom_by_two_that_each_missed_what_the_other_inserted() {
    let (mut a, mut b) = two();
    a.read(1, MISSING);
    let two = a.insert(2, MISSING);
    b.read(2, MISSING);
    let one = b.insert(1, MISSING);
    rejected(&[a, b], &[(1, one), (2, two)], AnomalyKind::Phantom);
}

#[test]
fn phantom_by_a_delete() {
    for tombstone in [true, false] {
        let (mut a, mut b) = two();
        let dead = b.delete(5, if tombstone { LOADED } else { PRESENT });
        let other = b.update(6, LOADED);
        a.read(5, LOADED);
        a.read(6, other);
        let end = if tombstone { dead } else { MISSING };
        let words = rejected(&[a, b], &[(5, end), (6, other)], AnomalyKind::Phantom);
        assert!(words.contains("T1 deleted it"), "{words}");
    }
}

#[test]
fn circular_information_flow() {
    let (mut a, mut b) = two();
    let one = a.update(1, LOADED);
    let two = b.update(2, LOADED);
    a.read(2, two);
    b.read(1, one);
    rejected(&[a, b], &[(1, one), (2, two)], AnomalyKind::CircularInformationFlow);
}

#[test]
fn dirty_write_by_a_cycle_of_overwriting() {
    let (mut a, mut b) = two();
    let one = a.write(1, LOADED);
    let two = b.write(2, LOADED);
    let one = b.write(1, one);
    let two = a.write(2, two);
    rejected(&[a, b], &[(1, one), (2, two)], AnomalyKind::DirtyWrite);
}

#[test]
fn dirty_write_by_a_chain_without_a_beginning() {
    let (mut a, mut b) = two();
    let (one, two) = (a.next_version(), b.next_version());
    a.write(5, two);
    b.write(5, one);
    rejected(&[a, b], &[(5, one)], AnomalyKind::DirtyWrite);
}

#[test]
fn phantom_by_writing_over_a_row_that_is_not_there() {
    let (mut a, mut b) = two();
    let dead = a.delete(5, LOADED);
    let new = b.write(5, dead);
    rejected(&[a, b], &[(5, new)], AnomalyKind::Phantom);
}

#[test]
fn dirty_write_between_two_writes() {
    let (mut a, mut b) = two();
    let first = a.write(5, LOADED);
    let between = b.write(5, first);
    let last = a.write(5, between);
    let verdict = verdict(&[a, b], &[(5, last)]);
    assert_eq!(verdict.count(AnomalyKind::DirtyWrite), 2, "{verdict}");
}

#[test]
fn stale_read() {
    let (mut a, mut b) = (Draft::new(0, 1).between(0, 10), Draft::new(1, 1).between(11, 20));
    let new = a.update(5, LOADED);
    b.read(5, LOADED);
    let words = rejected(&[a.clone(), b.clone()], &[(5, new)], AnomalyKind::StaleRead);
    assert!(words.contains("T0 (worker 0, 1st attempt) ended 1 ns before T1 began"), "{words}");
    // In the same nanosecond time does not order them.
    accepted(&[a, b.between(10, 20)], &[(5, new)]);
}

#[test]
fn stale_read_of_what_the_same_worker_has_just_written() {
    // One reading of the clock ends a worker's transaction and begins its next.
    let (mut a, mut b) = (Draft::new(0, 1).between(0, 10), Draft::new(0, 2).between(10, 20));
    let new = a.update(5, LOADED);
    b.read(5, LOADED);
    let words = rejected(&[a.clone(), b.clone()], &[(5, new)], AnomalyKind::StaleRead);
    assert!(words.contains("T0 (worker 0, 1st attempt) ended when its worker began T1"), "{words}");
    // One between them that rolled back, and took no time, changes nothing.
    let mut none = Draft::new(0, 2).between(10, 10);
    none.roll_back();
    b.ending.number = 3;
    rejected(&[a.clone(), none, b.clone()], &[(5, new)], AnomalyKind::StaleRead);
    // A worker with several in flight does not tell which of two came first within a nanosecond.
    let other = Draft::new(0, 4).between(12, 30);
    accepted(&[a, b, other], &[(5, new)]);
}

#[test]
fn stale_reads_are_found_across_many_moments() {
    let mut drafts: Vec<Draft> =
        (1..1000).map(|n| Draft::new(0, n).between(u64::from(n) * 10, u64::from(n) * 10 + 5)).collect();
    let new = drafts[0].update(5, LOADED);
    drafts[900].read(5, LOADED);
    let words = rejected(&drafts, &[(5, new)], AnomalyKind::StaleRead);
    assert!(words.contains("T0 (worker 0, 1st attempt) ended"), "{words}");
}

#[test]
fn verdicts_are_written_as_json() {
    let (mut a, mut b) = two();
    a.update(5, LOADED);
    let kept = b.update(5, LOADED);
    let json = serde_json::to_value(verdict(&[a, b], &[(5, kept)])).expect("a verdict is plain data");
    assert_eq!(json["counts"]["lost update"], 1);
    assert_eq!(json["anomalies"][0]["kind"], "lost update");
    assert_eq!(json["anomalies"][0]["transactions"][1]["worker"], 1);
    assert!(json["elapsed_s"].as_f64().is_some());
}

#[test]
fn a_cycle_through_data_is_not_called_stale_because_time_closes_others() {
    let (mut a, mut b) = (Draft::new(0, 1).between(0, 10), Draft::new(1, 1).between(20, 30));
    a.read(1, LOADED);
    let two = a.update(2, LOADED);
    b.read(2, LOADED);
    let one = b.update(1, LOADED);
    rejected(&[a, b], &[(1, one), (2, two)], AnomalyKind::WriteSkew);
}
