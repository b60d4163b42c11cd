//! The row of the simple workloads: a counter and bytes that nobody looks at, 96 bytes together, under the keys from 0 on.

use super::load_rows;
use crate::store::{Access, Failed, Session, Store, Table};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The row.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Record {
    /// What is counted.
    pub counter: u64,
    /// The rest.
    pub rest: [u8; 88],
}

/// The table.
pub const RECORDS: Table<Record> = Table::new(0, "records");

/// Makes the table.
pub fn create<S: Store>(store: &mut S, access: Access, rows: u64) -> Result<(), Failed> {
    store.create(RECORDS, access, rows)
}

/// Fills it: the counter of each key.
pub fn load<S: Session>(session: &mut S, rows: u64, counter: impl Fn(u64) -> u64) -> Result<(), Failed> {
    load_rows(session, RECORDS, rows, |key| (key, Record { counter: counter(key), rest: [key as u8; 88] }))
}
