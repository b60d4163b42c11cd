//! How many mappings of the system's a store takes: few, however many partitions it has. A process may have 65,530.

use contract::{Abort, Outcome, Transaction};
use contract::{
    Client, Engine, Indexing, Key, Layout, Plan, Procedure, RowLength, Seat, TableDescription, TableId,
    Workload,
};
use engine::ThisEngine;
use std::fs;

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
            partition: TableDescription::partition_by_remainder,
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
    let before = mappings();
    let layout = Layout::of(256);
    let store = ThisEngine::load(&Tables, layout, &|_| ()).expect("empty tables");
    let taken = mappings() - before;
    assert!(taken > 2 * NAMES.len(), "{taken} mappings: nothing was loaded");
    assert!(taken < 100, "{taken} mappings for {} tables", NAMES.len());
    drop(store);
}
