//! The final read: what the keys of a run hold once it is over, read through the engine like everything else.
//!
//! It is a workload of read-only transactions, 64 keys each, dealt over the workers. The harness runs it over
//! the store that the run left. It asks for keys and does not scan: of what a run's scans covered it reads back every loaded
//! key and every key that somebody changed or missed, so a row that only the ordered index lost shows in the run's scans.

use crate::checked::Checked;
use crate::history::{FinalVersion, History};
use crate::key_names::KeyNames;
use crate::version::{Stamp, Version};
use contract::telling::{tell, told};
use contract::{
    Abort, Access, Client, Completion, Key, Outcome, Plan, Presence, Procedure, Seat, Span, TableDescription,
    TableId, Transaction, Workload,
};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use serde::{Deserialize, Serialize};
use std::cell::Cell;

/// Keys that one transaction reads.
const BATCH: usize = 64;

/// See the module.
#[derive(Debug)]
pub struct FinalRead {
    tables: Vec<TableDescription>,
    /// By table, the bytes that are read; `None`: rows are read whole.
    spans: Vec<Option<Span>>,
    keys: Vec<(TableId, Key)>,
    /// The bytes of those that are byte strings.
    names: KeyNames,
    /// By position in `keys`, whether loading brought a row with that key; empty if nobody asked.
    loaded: Vec<bool>,
}

impl FinalRead {
    /// Reads whole rows of `tables`, whose keys are numbers.
    pub fn of_rows(tables: Vec<TableDescription>, keys: Vec<(TableId, Key)>) -> Self {
        let spans = vec![None; tables.len()];
        FinalRead { tables, spans, keys, names: KeyNames::default(), loaded: Vec::new() }
    }

    /// Reads the stamps of all keys that a checked run touched.
    pub fn of_stamps<W: Workload>(checked: &Checked<W>, history: &History) -> Self {
        let tables = checked.tables();
        let stamp = |table: &TableDescription| {
            (!table.varies()).then(|| Span::new(table.row_bytes - Stamp::BYTES, Stamp::BYTES))
        };
        let spans = tables.iter().map(stamp).collect();
        let keys = history.keys_to_read_back();
        let loaded = loaded_among(checked, &keys);
        FinalRead { tables, spans, keys, names: history.names.clone(), loaded }
    }

    /// The versions that the clients of a finished run read, for [`History::finals`].
    pub fn versions(&self, clients: Vec<FinalReader>) -> Vec<FinalVersion> {
        let rows = self.rows(clients);
        let version = |row: Option<&[u8]>| row.map_or(Version::MISSING, |row| Stamp::of(row).version);
        let was_loaded = |place| {
            let position = self.keys.binary_search(&place).ok()?;
            self.loaded.get(position).copied()
        };
        let finals = rows.iter().map(|(table, key, row)| {
            let (loaded, version) = (was_loaded((table, key)), version(row));
            FinalVersion { table, key, loaded, version }
        });
        finals.collect()
    }

    /// Transactions that each of `workers` workers must end, so that every key is read.
    pub fn transactions_per_worker(&self, workers: usize) -> u64 {
        (self.keys.len().div_ceil(workers).div_ceil(BATCH)).max(1) as u64
    }

    /// Whether the rows of a table vary in length.
    pub(crate) fn is_varying(&self, table: TableId) -> bool {
        self.tables[table.index()].varies()
    }

    /// What the clients of a finished run read.
    ///
    /// Panics if the run ended before every key was read.
    pub fn rows(&self, clients: Vec<FinalReader>) -> FinalRows {
        let mut rows = FinalRows::default();
        for client in clients {
            assert_eq!(client.next, client.keys.len(), "the final read ended before it had read every key");
            rows.append(client.rows);
        }
        assert_eq!(rows.ends.len(), self.keys.len(), "the final read lost rows");
        rows
    }
}

/// Which of `keys`, sorted, loading brought.
fn loaded_among<W: Workload>(checked: &Checked<W>, keys: &[(TableId, Key)]) -> Vec<bool> {
    let mut loaded = vec![false; keys.len()];
    let positions: HashMap<(TableId, Key), usize, FixedState> = keys.iter().copied().zip(0..).collect();
    for table in (0..checked.tables().len() as u16).map(TableId) {
        checked.for_each_loaded(table, |key, _| {
            if let Some(position) = positions.get(&(table, key)) {
                loaded[*position] = true;
            }
        });
    }
    loaded
}

impl Workload for FinalRead {
    type Client = FinalReader;

    fn tables(&self) -> Vec<TableDescription> {
        self.tables.clone()
    }

    /// Panics: it reads what another workload loaded.
    fn fill(&self, table: TableId, _key: Key, _row: &mut [u8]) {
        panic!("a final read loads nothing, and was asked to fill {table:?}")
    }

    fn client(&self, seat: Seat) -> FinalReader {
        let own = self.keys.iter().skip(seat.worker).step_by(seat.workers);
        let asked = |&(table, key): &(TableId, Key)| Asked {
            table,
            key,
            bytes: self.names.bytes(table, key).map(Box::from),
            span: self.spans[table.index()],
        };
        let keys = own.map(asked).collect();
        FinalReader { keys, next: 0, rows: FinalRows::default() }
    }
}

/// A key to be read.
#[derive(Clone, Debug)]
struct Asked {
    table: TableId,
    /// As the history calls it.
    key: Key,
    /// If it is a byte string.
    bytes: Option<Box<[u8]>>,
    /// What is read of its row, if not all.
    span: Option<Span>,
}

/// One worker's share of the final read.
#[derive(Debug)]
pub struct FinalReader {
    keys: Vec<Asked>,
    next: usize,
    rows: FinalRows,
}

impl Client for FinalReader {
    type Procedure = ReadBatch;

    fn next(&mut self) -> ReadBatch {
        let end = (self.next + BATCH).min(self.keys.len());
        let keys = self.keys[self.next..end].to_vec();
        self.next = end;
        ReadBatch { keys, rows: Cell::default() }
    }

    fn finished(&mut self, procedure: ReadBatch, _completion: &Completion<'_>) {
        self.rows.append(procedure.rows.into_inner());
    }

    fn tell(&self, into: &mut Vec<u8>) {
        tell(&(self.next, &self.rows), into);
    }

    fn hear(&mut self, heard: &[u8]) -> Option<()> {
        (self.next, self.rows) = told(heard)?;
        Some(())
    }
}

/// Reads a few rows.
pub struct ReadBatch {
    keys: Vec<Asked>,
    rows: Cell<FinalRows>,
}

impl Procedure for ReadBatch {
    fn plan<T: Transaction + ?Sized>(&self, _txn: &mut T, plan: &mut Plan) -> Result<(), Abort> {
        for Asked { table, key, bytes, span } in &self.keys {
            let planned = bytes.as_deref().map_or(*key, Key::prefix_of);
            plan.touch(*table, planned, span.unwrap_or(Span::new(0, 0)), Access::Read);
        }
        Ok(())
    }

    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        let mut rows = FinalRows::default();
        for Asked { table, key, bytes, span } in &self.keys {
            let start = rows.bytes.len();
            let number = bytes.as_deref().map_or(*key, |bytes| txn.key(*table, bytes));
            let see = &mut |bytes: &[u8]| {
                rows.bytes.truncate(start);
                rows.bytes.extend_from_slice(bytes);
            };
            let presence = match *span {
                Some(span) => txn.read(*table, number, span, see)?,
                None => txn.read_whole(*table, number, see)?,
            };
            if presence == Presence::Missing {
                rows.bytes.truncate(start);
            }
            rows.ends.push((*table, *key, presence, rows.bytes.len()));
        }
        self.rows.set(rows);
        Ok(Outcome::Commit)
    }
}

/// Rows that were read, end to end.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct FinalRows {
    bytes: Vec<u8>,
    /// By row, whose it is and where it ends in `bytes`.
    ends: Vec<(TableId, Key, Presence, usize)>,
}

impl FinalRows {
    /// Every key that was read, with its bytes, or `None` if it has no row.
    pub fn iter(&self) -> impl Iterator<Item = (TableId, Key, Option<&[u8]>)> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|(.., end)| *end));
        starts.zip(&self.ends).map(|(start, (table, key, presence, end))| {
            let row = (*presence == Presence::Present).then(|| &self.bytes[start..*end]);
            (*table, *key, row)
        })
    }

    fn append(&mut self, other: FinalRows) {
        let base = self.bytes.len();
        self.bytes.extend_from_slice(&other.bytes);
        self.ends.extend(
            other.ends.into_iter().map(|(table, key, presence, end)| (table, key, presence, base + end)),
        );
    }
}
