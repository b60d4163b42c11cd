//! Ids that the engine gave, in the order of the transactions or not.

use super::*;

/// Two transactions with these ids, of which the second depends on the first in one way.
fn with_ids((first, second): (u64, u64)) -> (Draft, Draft) {
    let (a, b) = two();
    (a.with_id(first), b.with_id(second))
}

#[test]
fn who_overwrites_has_the_larger_id() {
    for (ids, agree) in [((3, 4), true), ((4, 4), false), ((5, 4), false)] {
        let (mut a, mut b) = with_ids(ids);
        let first = a.update(5, LOADED);
        let second = b.update(5, first);
        match agree {
            true => accepted(&[a, b], &[(5, second)]),
            false => {
                let words = rejected(&[a, b], &[(5, second)], AnomalyKind::DisorderedIds);
                assert!(words.contains("which overwrote what it wrote, has id 4"), "{words}");
            }
        }
    }
}

#[test]
fn who_sees_has_the_larger_id_or_the_same() {
    for (ids, agree) in [((3, 4), true), ((4, 4), true), ((5, 4), false)] {
        let (mut a, mut b) = with_ids(ids);
        let first = a.update(5, LOADED);
        b.read(5, first);
        match agree {
            true => accepted(&[a, b], &[(5, first)]),
            false => {
                let words = rejected(&[a, b], &[(5, first)], AnomalyKind::DisorderedIds);
                assert!(words.contains("which saw what it wrote, has id 4"), "{words}");
            }
        }
    }
}

#[test]
fn who_overwrites_what_another_saw_has_the_larger_id() {
    for (ids, agree) in [((3, 4), true), ((4, 4), false), ((5, 4), false)] {
        let (mut a, mut b) = with_ids(ids);
        a.read(5, LOADED);
        let second = b.update(5, LOADED);
        match agree {
            true => accepted(&[a, b], &[(5, second)]),
            false => {
                let words = rejected(&[a, b], &[(5, second)], AnomalyKind::DisorderedIds);
                assert!(words.contains("which overwrote what it saw, has id 4"), "{words}");
            }
        }
    }
}

#[test]
fn those_without_ids_are_not_judged_by_them() {
    let (mut a, mut b) = two();
    a = a.with_id(9);
    let first = a.update(5, LOADED);
    let second = b.update(5, first);
    accepted(&[a, b], &[(5, second)]);
}
