//! What the checker counts: dependencies by kind, between transactions and between workers, and which kinds there could be.

use crate::script::{Draft, history_of};
use history::{Dependencies, DependencyKind, Version, check};

const LOADED: Version = Version::LOADED;
const MISSING: Version = Version::MISSING;

fn counted(drafts: &[Draft]) -> Dependencies {
    let verdict = check(&history_of(drafts, &[]));
    assert!(verdict.is_strictly_serializable(), "{verdict}");
    verdict.dependencies
}

/// By kind, write-read first: whether it could be, how many there are, and how many between workers.
fn by_kind(drafts: &[Draft]) -> [(bool, u64, u64); 3] {
    let counted = counted(drafts);
    DependencyKind::ALL.map(|kind| {
        let count = counted.of(kind);
        (count.possible, count.all, count.between_workers)
    })
}

#[test]
fn readers_depend_on_nobody_and_could_not() {
    let (mut one, mut other) = (Draft::new(0, 1), Draft::new(1, 1));
    one.read(5, LOADED);
    other.read(5, LOADED);
    assert_eq!(by_kind(&[one, other]), [(false, 0, 0); 3]);
}

/// The second both saw and overwrote what the first left; nobody only reads.
#[test]
fn a_change_reads_what_it_overwrites() {
    let (mut one, mut other) = (Draft::new(0, 1), Draft::new(1, 1));
    let left = one.update(5, LOADED);
    other.update(5, left);
    assert_eq!(by_kind(&[one, other]), [(true, 1, 1), (true, 1, 1), (false, 0, 0)]);
}

#[test]
fn blind_writes_overwrite_only() {
    let (mut one, mut other) = (Draft::new(0, 1), Draft::new(1, 1));
    let left = one.write(5, LOADED);
    other.write(5, left);
    assert_eq!(by_kind(&[one, other]), [(false, 0, 0), (true, 1, 1), (false, 0, 0)]);
}

#[test]
fn what_a_worker_does_after_itself_is_not_between_workers() {
    let (mut early, mut reader, mut writer) = (Draft::new(0, 1), Draft::new(0, 2), Draft::new(1, 1));
    let first = early.write(5, LOADED);
    reader.read(5, first);
    writer.write(5, first);
    let [write_read, write_write, read_write] = by_kind(&[early, reader, writer]);
    assert_eq!(write_read, (true, 1, 0), "the reader is the writer's own worker");
    assert_eq!((write_write, read_write), ((true, 1, 1), (true, 1, 1)));
}

/// A key that was missed and then inserted is the one way to a read-write dependency where nothing is replaced.
#[test]
fn a_missed_row_that_comes_is_read_and_then_written() {
    let (mut reader, mut writer, mut late) = (Draft::new(0, 1), Draft::new(1, 1), Draft::new(0, 2));
    reader.read(5, MISSING);
    let left = writer.insert(5, MISSING);
    late.read(5, left);
    let all = [reader, writer, late];
    assert_eq!(by_kind(&all), [(true, 1, 1), (false, 0, 0), (true, 1, 1)]);
    assert_eq!(by_kind(&all[1..])[2], (false, 0, 0), "nobody missed it");
}

#[test]
fn several_histories_add_up() {
    let (mut one, mut other) = (Draft::new(0, 1), Draft::new(1, 1));
    let left = one.write(5, LOADED);
    other.write(5, left);
    let mut sum = counted(&[one, other]);
    let mut reader = Draft::new(0, 1);
    reader.read(5, LOADED);
    sum += counted(&[reader]);
    sum += sum;
    assert_eq!((sum.write_write.possible, sum.write_write.between_workers), (true, 2));
    assert!(!sum.read_write.possible);
}
