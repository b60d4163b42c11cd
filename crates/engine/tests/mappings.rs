//! The system's mappings that a store takes: few, however many partitions it has, for a process may have 65,530; and huge pages for what is worth
//! them, unless it is to have none.

use contract::{Abort, Outcome, Transaction};
use contract::{
    Client, Engine, Indexing, Key, Layout, PartitionFunction, Plan, Procedure, RowLength, Seat,
    TableDescription, TableId, Workload,
};
use engine::ThisEngine;
use std::fs;
use std::sync::{Mutex, PoisonError};

/// Held by the test that counts the process's mappings.
static COUNTING: Mutex<()> = Mutex::new(());

/// Eleven tables, of every kind of index.
struct Tables;

/// Nobody runs it.
struct Nothing;

impl Procedure for Nothing {
    fn run<X: Transaction + ?Sized>(&self, _: &mut X) -> Result<Outcome, Abort> {
        Ok(Outcome::Commit)
    }

    fn plan<X: Transaction + ?Sized>(&self, _: &mut X, _: &mut Plan) -> Result<(), Abort> {
        Ok(())
    }
}

impl Client for Nothing {
    type Procedure = Nothing;

    fn next(&mut self) -> Nothing {
        Nothing
    }
}

const NAMES: [&str; 11] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"];

impl Workload for Tables {
    type Client = Nothing;

    fn tables(&self) -> Vec<TableDescription> {
        let kinds =
            [Indexing::Hashed, Indexing::Ordered, Indexing::OrderedBytes { most: 24 }, Indexing::Hashed];
        let table = |(name, indexing)| TableDescription {
            name,
            row_bytes: 64,
            length: RowLength::Fixed,
            kept_bytes: 64,
            rows: 0,
            capacity: 1 << 16,
            indexing,
            partition: PartitionFunction::Remainder,
        };
        NAMES.into_iter().zip(kinds.into_iter().cycle()).map(table).collect()
    }

    fn fill(&self, _: TableId, _: Key, _: &mut [u8]) {}

    fn client(&self, _: Seat) -> Nothing {
        Nothing
    }
}

fn mappings() -> usize {
    fs::read_to_string("/proc/self/maps").expect("Linux tells").lines().count()
}

#[cfg(target_os = "linux")]
#[test]
fn a_store_of_256_partitions_takes_few_mappings() {
    let _alone = COUNTING.lock().unwrap_or_else(PoisonError::into_inner);
    let before = mappings();
    let layout = Layout::of(256);
    let store = ThisEngine::load(&Tables, layout, &|_| ()).expect("empty tables");
    let taken = mappings() - before;
    assert!(taken > 2 * NAMES.len(), "{taken} mappings: nothing was loaded");
    assert!(taken < 100, "{taken} mappings for {} tables", NAMES.len());
    drop(store);
}

/// Mappings of which the system was told that they are to have huge pages, and that they are not to.
fn advised() -> [usize; 2] {
    let smaps = fs::read_to_string("/proc/self/smaps").expect("Linux tells");
    let flags: Vec<&str> = smaps.lines().filter_map(|line| line.strip_prefix("VmFlags:")).collect();
    ["hg", "nh"]
        .map(|flag| flags.iter().filter(|flags| flags.split_whitespace().any(|one| one == flag)).count())
}

#[cfg(target_os = "linux")]
#[test]
fn a_store_has_no_huge_pages_if_it_is_to_have_none() {
    let _alone = COUNTING.lock().unwrap_or_else(PoisonError::into_inner);
    let loaded = |huge_pages| {
        let before = advised();
        let layout = Layout::of(1).with_snapshots(25).with_huge_pages(huge_pages);
        let store = ThisEngine::load(&Tables, layout, &|_| ()).expect("empty tables");
        let after = advised();
        drop(store);
        [after[0] - before[0], after[1] - before[1]]
    };
    let ([huge, _], [none, small]) = (loaded(true), loaded(false));
    if huge == 0 && small == 0 {
        // A system without huge pages takes no such advice.
        return;
    }
    assert!(
        huge >= 2 * NAMES.len(),
        "{huge} mappings: records and an index of each table are worth huge pages"
    );
    assert_eq!(none, 0, "and {small} mappings of small pages alone");
    assert!(small >= huge, "{small}, {huge}");
}
