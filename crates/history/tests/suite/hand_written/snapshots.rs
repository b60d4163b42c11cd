//! Snapshots that the engine says were read and written.

use super::*;
use contract::SnapshotPlace;

use SnapshotPlace::{Read, ShownBy};

/// A writer of a snapshot's epochs, which has ended when a reader of another snapshot begins.
fn one_after_the_other(written: u64, read: u64) -> (Draft, Draft) {
    let (a, b) = two();
    (a.between(0, 100).at(ShownBy(written)), b.between(200, 300).at(Read(read)))
}

#[test]
fn a_snapshot_may_be_old() {
    let (mut writer, mut reader) = one_after_the_other(4, 3);
    let second = writer.update(5, LOADED);
    reader.read(5, LOADED);
    accepted(&[writer.clone(), reader.clone()], &[(5, second)]);
    // Who reads no snapshot comes where its time is.
    reader.ending.snapshot = None;
    rejected(&[writer, reader], &[(5, second)], AnomalyKind::StaleRead);
}

#[test]
fn a_snapshot_comes_before_what_begins_after_it_was_read() {
    let (mut reader, mut writer) = two();
    reader = reader.between(0, 100).at(Read(3));
    writer = writer.between(200, 300);
    let second = writer.update(5, LOADED);
    reader.read(5, second);
    rejected(&[reader, writer], &[(5, second)], AnomalyKind::StaleRead);
}

#[test]
fn a_snapshot_shows_all_that_was_committed_before_it() {
    for (read, agree) in [(3, true), (4, false), (5, false)] {
        let (mut writer, mut reader) = one_after_the_other(4, read);
        let second = writer.update(5, LOADED);
        reader.read(5, LOADED);
        match agree {
            true => accepted(&[writer, reader], &[(5, second)]),
            false => {
                let words = rejected(&[writer, reader], &[(5, second)], AnomalyKind::WrongSnapshot);
                assert!(words.contains(&format!("has read snapshot {read}")), "{words}");
            }
        }
    }
}

#[test]
fn a_snapshot_shows_nothing_that_was_committed_after_it() {
    for (read, agree) in [(3, false), (4, true), (5, true)] {
        let (mut writer, mut reader) = one_after_the_other(4, read);
        let second = writer.update(5, LOADED);
        reader.read(5, second);
        match agree {
            true => accepted(&[writer, reader], &[(5, second)]),
            false => {
                let words = rejected(&[writer, reader], &[(5, second)], AnomalyKind::WrongSnapshot);
                assert!(words.contains("is shown by snapshot 4"), "{words}");
            }
        }
    }
}

#[test]
fn writers_are_in_the_order_of_their_snapshots() {
    for (snapshots, agree) in [((3, 4), true), ((4, 4), true), ((5, 4), false)] {
        let (a, b) = two();
        let (mut a, mut b) = (a.at(ShownBy(snapshots.0)), b.at(ShownBy(snapshots.1)));
        let first = a.update(5, LOADED);
        let second = b.update(5, first);
        match agree {
            true => accepted(&[a, b], &[(5, second)]),
            false => drop(rejected(&[a, b], &[(5, second)], AnomalyKind::WrongSnapshot)),
        }
    }
}
