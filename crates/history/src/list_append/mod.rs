//! list-append: every value tells its own history.
//!
//! A row is a list; a transaction reads lists and appends to lists, and no value is appended twice. Who reads a
//! list reads the order of its versions, so the checker needs no stamps and no wrapper, and other people's
//! checkers can judge the same run (Elle, Kingsbury and Alvaro 2020): see [`ListHistory::write_elle`].
//!
//! Contention is real: all workers draw their keys from one small window. Lists have room for [`LIST_CAPACITY`]
//! values, and the window moves on past those that are seen full, so it is the same window for all workers, even if
//! one runs far ahead of another. An append that finds its list full is a read.
//!
//! A list is a row with room for all its values, or one that is as long as its values are ([`ListAppend::length`]): then every append
//! replaces the row by a longer one, and lists that are read tell what has become of the rows before.

mod client;
mod judge;

pub use client::{ListAppendClient, ListAppendProcedure};
pub use judge::{ListAppendRun, check_lists, run_list_append};

use crate::elle::{Attempts, ElleLayout, MicroOperation, write_events};
use crate::final_read::{FinalRead, FinalReader};
use crate::history::TransactionRecord;
use crate::version::{Version, word};
use contract::{
    Clocks, Indexing, Key, PartitionFunction, RowLength, Seat, TableDescription, TableId, Workload,
};
use serde::{Deserialize, Serialize};
use std::io;
use std::ops::RangeInclusive;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Values that a list has room for.
pub const LIST_CAPACITY: usize = 30;
/// The most operations of a transaction.
pub const MOST_OPERATIONS: usize = 16;

pub(crate) const LISTS: TableId = TableId(0);

/// A row.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct List {
    count: u64,
    values: [u64; LIST_CAPACITY],
}

impl List {
    /// The values. What racing readers see may be torn until it is validated, so the count is not trusted.
    fn values(&self) -> &[u64] {
        &self.values[..(self.count as usize).min(LIST_CAPACITY)]
    }

    /// Whether there was room.
    fn append(&mut self, value: u64) -> bool {
        let position = self.count as usize;
        let is_free = position < LIST_CAPACITY;
        if is_free {
            self.values[position] = value;
            self.count += 1;
        }
        is_free
    }
}

/// The values of a row that is as long as they are.
pub(crate) fn values(row: &[u8]) -> impl Iterator<Item = u64> {
    row.chunks_exact(size_of::<u64>()).map(word)
}

/// The workload.
#[derive(Clone, Debug)]
pub struct ListAppend {
    /// Lists, all loaded, all empty.
    pub keys: u64,
    /// Reads in a hundred operations.
    pub reads_percent: u32,
    /// Operations of a transaction.
    pub operations: RangeInclusive<usize>,
    /// Lists that transactions draw from at one time.
    pub window: u64,
    /// Whether all lists' rows have room for their values from the beginning on, or are as long as these are.
    pub length: RowLength,
}

impl Default for ListAppend {
    fn default() -> Self {
        ListAppend {
            keys: 100_000,
            reads_percent: 50,
            operations: 1..=10,
            window: 10,
            length: RowLength::Fixed,
        }
    }
}

impl ListAppend {
    /// Lists enough for about `transactions` transactions of all workers together: with fewer, the window stops at
    /// the last ones, and when these are full there are only reads.
    #[must_use]
    pub fn with_keys_for(mut self, transactions: u64) -> Self {
        let operations = (self.operations.start() + self.operations.end()) as u64;
        let appends = transactions * operations * u64::from(100 - self.reads_percent) / 200;
        self.keys = appends / LIST_CAPACITY as u64 + 2 * self.window;
        self
    }

    /// What the clients of a finished run recorded.
    pub fn history(&self, clients: Vec<ListAppendClient>) -> ListHistory {
        ListHistory {
            workers: clients.into_iter().map(ListAppendClient::into_record).collect(),
            ..ListHistory::default()
        }
    }

    /// Reads back all lists that a run touched.
    pub fn final_read(&self, history: &ListHistory) -> FinalRead {
        let mut keys: Vec<_> = history
            .workers
            .iter()
            .flat_map(|worker| &worker.entries)
            .map(|entry| (LISTS, Key(entry.key)))
            .collect();
        keys.sort_unstable();
        keys.dedup();
        FinalRead::of_rows(self.tables(), keys)
    }
}

impl Workload for ListAppend {
    type Client = ListAppendClient;

    fn tables(&self) -> Vec<TableDescription> {
        let row_bytes = match self.length {
            RowLength::Fixed => size_of::<List>(),
            RowLength::Varying => LIST_CAPACITY * size_of::<u64>(),
        };
        vec![TableDescription {
            name: "list",
            row_bytes,
            length: self.length,
            kept_bytes: row_bytes,
            rows: self.keys,
            capacity: self.keys,
            indexing: Indexing::Hashed,
            partition: PartitionFunction::Remainder,
        }]
    }

    fn fill(&self, _table: TableId, _key: Key, _row: &mut [u8]) {}

    fn fill_varying(&self, _table: TableId, _key: Key, _row: &mut Vec<u8>) {}

    fn client(&self, seat: Seat) -> ListAppendClient {
        assert!(
            self.keys >= self.window && self.window > 0,
            "the window has keys, and the table has all of them"
        );
        assert!(self.reads_percent <= 100, "reads in a hundred operations");
        assert!(
            *self.operations.start() > 0 && *self.operations.end() <= MOST_OPERATIONS,
            "a transaction has 1 to {MOST_OPERATIONS} operations"
        );
        ListAppendClient::new(self.clone(), seat)
    }
}

/// What an operation of list-append did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum EntryKind {
    /// Read the list.
    Read,
    /// Read, and found no list: no list is ever deleted, so somebody erred.
    Missed,
    /// Saw `seen` as the last value, and appended its own behind it.
    Append,
}

/// One operation of list-append.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct ListEntry {
    pub key: u64,
    /// Where the values read begin among the worker's.
    pub first: u64,
    /// How many values were read.
    pub count: u32,
    /// Its position in its transaction, which also numbers the value appended.
    pub position: u16,
    pub kind: EntryKind,
    /// Whether the list has no room any more.
    pub is_full: bool,
    /// The last value that was there, as the version that it is.
    pub seen: Version,
}

/// What one worker's transactions read and appended.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ListWorker {
    /// Transactions that it was given.
    pub issued: u32,
    /// Those that ended; their operations are in `entries`.
    pub transactions: Vec<TransactionRecord>,
    pub entries: Vec<ListEntry>,
    pub values: Vec<u64>,
}

impl ListWorker {
    pub fn entries_of(&self, record: &TransactionRecord) -> &[ListEntry] {
        &self.entries[record.first as usize..][..record.operations as usize]
    }

    pub fn values_of(&self, entry: &ListEntry) -> &[u64] {
        &self.values[entry.first as usize..][..entry.count as usize]
    }
}

/// What the transactions of a list-append run read and appended, and the lists in the end.
#[derive(Clone, Debug, Default)]
pub struct ListHistory {
    pub(crate) workers: Vec<ListWorker>,
    /// By key, the list in the end; `None` if it was missing.
    pub(crate) finals: Vec<(u64, Option<Vec<u64>>)>,
    /// By whose clocks the workers' times are.
    pub clocks: Clocks,
}

impl ListHistory {
    /// Adds the lists that the clients of a finished final read brought.
    pub fn set_finals(&mut self, read: &FinalRead, clients: Vec<FinalReader>) {
        let rows = read.rows(clients);
        let list = |row: &[u8]| match read.is_varying(LISTS) {
            true => values(row).collect(),
            false => values(&row[8..]).take(word(&row[..8]) as usize).collect(),
        };
        self.finals = rows.iter().map(|(_, key, row)| (key.0, row.map(list))).collect();
        self.finals.sort_unstable_by_key(|(key, _)| *key);
    }

    /// Transactions that ended.
    pub fn transactions(&self) -> usize {
        self.workers.iter().map(|worker| worker.transactions.len()).sum()
    }

    /// Writes the history as Elle's list-append histories are written: see [`ElleLayout`]. Attempts that aborted
    /// are transactions of their own, which failed; what they read is not told.
    pub fn write_elle(&self, layout: ElleLayout, writer: impl io::Write) -> io::Result<()> {
        let records: Vec<&[TransactionRecord]> =
            self.workers.iter().map(|worker| worker.transactions.as_slice()).collect();
        write_events(&records, &self.clocks, Attempts::All, layout, writer, |worker, record, phase, out| {
            let recorded = &self.workers[worker];
            for entry in recorded.entries_of(record) {
                match entry.kind {
                    EntryKind::Append => {
                        let value = appended(worker, record.number, phase.attempt(), entry.position);
                        out.write("append", &entry.key, MicroOperation::Value(value.0))?;
                    }
                    EntryKind::Read if phase.is_ok() => {
                        out.write("r", &entry.key, MicroOperation::List(recorded.values_of(entry)))?;
                    }
                    EntryKind::Read | EntryKind::Missed => {
                        out.write("r", &entry.key, MicroOperation::Null)?
                    }
                }
            }
            Ok(())
        })
    }
}

/// The value that an attempt appends at a position.
pub(crate) fn appended(worker: usize, transaction: u32, attempt: u32, position: u16) -> Version {
    Version::written(crate::version::Writer { worker, transaction, attempt, write: u32::from(position) })
}
