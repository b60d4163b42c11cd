//! Scans: what they did not show is judged as well as what they did.

use super::*;
use crate::script::TABLE;
use contract::{Direction, Key};

const FORWARD: Direction = Direction::Forward;
const BACKWARD: Direction = Direction::Backward;

type Shown = &'static [(u64, Version)];

/// One inserted key 5 and changed key 9; the other scanned, and saw the change.
fn scanned_and_saw_the_change(scan: impl FnOnce(&mut Draft)) -> (Vec<Draft>, Vec<(u64, Version)>) {
    let (mut a, mut b) = two();
    let five = b.insert(5, MISSING);
    let nine = b.update(9, LOADED);
    scan(&mut a);
    a.read(9, nine);
    (vec![a, b], vec![(5, five), (9, nine)])
}

#[test]
fn phantom_in_a_range() {
    let (drafts, finals) = scanned_and_saw_the_change(|a| a.scan(3, 7, &[(3, LOADED), (7, LOADED)]));
    let words = rejected(&drafts, &finals, AnomalyKind::Phantom);
    let expected = "T0 (worker 0, 1st attempt) saw no row at micro key 5 in its scan of micro from key 3 to key 7, \
                    and T1 inserted it";
    assert!(words.contains(expected), "{words}");
    // A scan before it all, or one that shows the row, is in order.
    let (mut a, mut b) = two();
    a.scan(3, 7, &[(3, LOADED), (7, LOADED)]);
    a.read(9, LOADED);
    let five = b.insert(5, MISSING);
    let nine = b.update(9, LOADED);
    accepted(&[a, b], &[(5, five), (9, nine)]);
    let (drafts, finals) = scanned_and_saw_the_change(|a| {
        a.scan(3, 7, &[(3, LOADED), (5, Draft::new(1, 1).next_version()), (7, LOADED)]);
    });
    accepted(&drafts, &finals);
}

#[test]
fn phantom_in_an_empty_range_and_at_its_ends() {
    for (from, to) in [(4, 6), (5, 5), (5, 8), (0, 5)] {
        let (drafts, finals) = scanned_and_saw_the_change(|a| a.scan(from, to, &[]));
        rejected(&drafts, &finals, AnomalyKind::Phantom);
    }
    for (from, to) in [(0, 4), (6, 8), (6, 4)] {
        let (drafts, finals) = scanned_and_saw_the_change(|a| a.scan(from, to, &[]));
        accepted(&drafts, &finals);
    }
}

#[test]
fn what_a_limit_left_uncovered_may_change() {
    let cases: [(Direction, Shown, bool); 4] = [
        (BACKWARD, &[(8, LOADED), (6, LOADED)], true),
        (BACKWARD, &[(8, LOADED), (4, LOADED)], false),
        (FORWARD, &[(1, LOADED), (4, LOADED)], true),
        (FORWARD, &[(1, LOADED), (6, LOADED)], false),
    ];
    for (direction, shown, is_free) in cases {
        let (drafts, finals) = scanned_and_saw_the_change(|a| a.scan_until(0, 8, direction, shown));
        if is_free {
            accepted(&drafts, &finals);
        } else {
            rejected(&drafts, &finals, AnomalyKind::Phantom);
        }
    }
}

#[test]
fn phantom_by_a_delete_in_a_range() {
    for tombstone in [true, false] {
        let (mut a, mut b) = two();
        let dead = b.delete(5, if tombstone { LOADED } else { PRESENT });
        let nine = b.update(9, LOADED);
        a.scan(3, 7, &[(5, LOADED)]);
        a.read(9, nine);
        let end = if tombstone { dead } else { MISSING };
        rejected(&[a, b.clone()], &[(5, end), (9, nine)], AnomalyKind::Phantom);
        // Behind the delete a tombstone is shown, and a row that went is not.
        let mut c = Draft::new(2, 1);
        let tombstones = [(5, dead)];
        c.scan(3, 7, if tombstone { &tombstones } else { &[] });
        c.read(9, nine);
        accepted(&[b, c], &[(5, end), (9, nine)]);
    }
}

#[test]
fn who_no_longer_saw_a_row_comes_behind_its_delete() {
    let (mut a, mut b) = two();
    b.delete(5, PRESENT);
    let nine = b.update(9, LOADED);
    a.scan(3, 7, &[]);
    a.read(9, LOADED);
    let words = rejected(&[a, b], &[(5, MISSING), (9, nine)], AnomalyKind::ReadSkew);
    assert!(
        words.contains("deleted micro key 5, and T0 saw that in its scan of micro from key 3 to key 7"),
        "{words}"
    );
}

#[test]
fn write_skew_through_ranges_is_a_phantom() {
    let (mut a, mut b) = two();
    a.scan(0, 4, &[(1, LOADED)]);
    let seven = a.insert(7, MISSING);
    b.scan(5, 9, &[(6, LOADED)]);
    let two = b.insert(2, MISSING);
    rejected(&[a.clone(), b], &[(7, seven), (2, two)], AnomalyKind::Phantom);
    let mut b = Draft::new(1, 1);
    b.scan(5, 9, &[(6, LOADED), (7, seven)]);
    let two = b.insert(2, MISSING);
    accepted(&[a, b], &[(7, seven), (2, two)]);
}

#[test]
fn a_row_that_comes_between_two_scans_is_a_phantom() {
    let (mut a, mut b) = two();
    let five = b.insert(5, MISSING);
    a.scan(3, 7, &[]);
    a.scan(3, 7, &[(5, five)]);
    let words = rejected(&[a, b.clone()], &[(5, five)], AnomalyKind::Phantom);
    assert!(
        words.contains("saw first no row, then T1's version, in a scan of micro from key 3 to key 7"),
        "{words}"
    );
    // One that changed is a non-repeatable read as without scans.
    let (mut a, mut c) = two();
    let changed = c.update(5, LOADED);
    a.scan(3, 7, &[(5, LOADED)]);
    a.scan(3, 7, &[(5, changed)]);
    rejected(&[a, c], &[(5, changed)], AnomalyKind::NonRepeatableRead);
}

#[test]
fn a_transactions_scans_show_its_own_changes() {
    let mut a = Draft::new(0, 1);
    a.scan(0, 9, &[(1, LOADED), (6, LOADED)]);
    let three = a.insert(3, MISSING);
    let six = a.update(6, LOADED);
    a.delete(1, PRESENT);
    let mut blind = a.clone();
    a.scan_as(0, 9, BACKWARD, &[(6, six), (3, three)]);
    accepted(&[a], &[(1, MISSING), (3, three), (6, six)]);
    blind.scan(0, 9, &[(6, six)]);
    rejected(&[blind], &[(1, MISSING), (3, three), (6, six)], AnomalyKind::InternalInconsistency);
}

#[test]
fn a_loaded_row_that_a_scan_passed_over_is_missed_though_nobody_else_touched_it() {
    let mut a = Draft::new(0, 1);
    a.scan(3, 7, &[(3, LOADED)]);
    let mut history = history_of(&[a], &[(5, LOADED)]);
    history.finals[0].loaded = Some(true);
    history.loaded = vec![(TABLE, Key(5))];
    assert_eq!(history.keys_to_read_back(), [(TABLE, Key(5))]);
    let verdict = check(&history);
    assert_eq!(verdict.count(AnomalyKind::AbortedRead), 1, "{verdict}");
    assert!(verdict.to_string().contains("micro key 5"), "{verdict}");
}

#[test]
fn disorderly_scans() {
    let scans: [(Direction, Shown, &str); 5] = [
        (FORWARD, &[(3, LOADED), (3, LOADED)], "micro key 3, which it had shown already"),
        (FORWARD, &[(4, LOADED), (3, LOADED)], "micro key 3, which is not in its order"),
        (BACKWARD, &[(3, LOADED), (4, LOADED)], "micro key 4, which is not in its order"),
        (FORWARD, &[(2, LOADED)], "micro key 2, which is not in its range"),
        (BACKWARD, &[(8, LOADED), (7, LOADED)], "micro key 8, which is not in its range"),
    ];
    for (direction, shown, what) in scans {
        let mut a = Draft::new(0, 1);
        a.scan_as(3, 7, direction, shown);
        let words = rejected(&[a.clone()], &[], AnomalyKind::DisorderlyScan);
        assert!(words.contains(what) && words.contains("scanned micro from key 3 to key 7"), "{words}");
        a.roll_back();
        accepted(&[a], &[]);
    }
}

#[test]
fn what_a_rolled_back_scan_passed_over_is_not_judged() {
    let (mut drafts, finals) = scanned_and_saw_the_change(|a| a.scan(3, 7, &[]));
    drafts[0].roll_back();
    accepted(&drafts, &finals);
    // Nor does a key make anything that only rolled back transactions wrote.
    let (mut a, mut b) = two();
    b.insert(5, MISSING);
    b.roll_back();
    a.scan(3, 7, &[]);
    accepted(&[a], &[]);
}

#[test]
fn scans_without_ends_cover_the_whole_table() {
    let (mut drafts, finals) = scanned_and_saw_the_change(|a| a.scan(0, 0, &[]));
    let scan = &mut drafts[0].scans[0];
    (scan.from, scan.to) = (std::ops::Bound::Unbounded, std::ops::Bound::Excluded(Key(6).bytes().into()));
    let words = rejected(&drafts, &finals, AnomalyKind::Phantom);
    assert!(words.contains("in its scan of micro from the first key to before key 6"), "{words}");
}

/// Many scans over many keys: what is spelled out is what they passed over, not the whole table for each.
#[test]
fn scans_walk_their_own_range_only() {
    let mut drafts = Vec::new();
    for number in 1..=20_000 {
        let mut draft = Draft::new(0, number).between(u64::from(number) * 10, u64::from(number) * 10 + 5);
        let key = u64::from(number) * 2;
        draft.scan(key - 1, key, &[]);
        draft.insert(key, MISSING);
        drafts.push(draft);
    }
    let verdict = verdict(&drafts, &[]);
    assert!(verdict.is_strictly_serializable(), "{verdict}");
    assert_eq!((verdict.operations, verdict.edges), (20_000, 0));
}
