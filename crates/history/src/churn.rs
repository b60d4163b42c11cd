//! `churn`: rows that come, change and go, again and again under the same few keys, over tables of every kind; and what must be left of
//! them, by what the engine says of the transactions' order.
//!
//! For recovery. Stamps tell a row's history as long as there is a row; here rows are deleted and inserted again, and what counts is
//! who came last. So every client keeps what its committed transactions wrote, with their epochs and ids, and a model applies all
//! that committed up to an epoch, in that order. Whether the ids are right is for the checked workloads to say.

use contract::{
    Abort, Client, CommitId, Completion, Indexing, Insertion, Key, Outcome, PartitionFunction, Plan,
    Presence, Procedure, RowLength, Seat, Span, TableDescription, TableId, Transaction, TransactionExt,
    Workload,
};
use fastrand::Rng;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::mem::take;

/// Bytes of a row: three numbers.
const ROW_BYTES: usize = 24;
/// Bytes of the longest row that varies in length: the same, and ballast.
const MOST_BYTES: usize = 400;
/// Bytes of the longest key that is a byte string.
const KEY_BYTES: usize = 12;
/// The tables: hashed, ordered, ordered by byte strings; and some of rows that vary in length.
const TABLES: [(&str, Indexing, RowLength); 5] = [
    ("hashed", Indexing::Hashed, RowLength::Fixed),
    ("ordered", Indexing::Ordered, RowLength::Fixed),
    ("strings", Indexing::OrderedBytes { most: KEY_BYTES }, RowLength::Fixed),
    ("values", Indexing::Hashed, RowLength::Varying),
    ("values-by-strings", Indexing::OrderedBytes { most: KEY_BYTES }, RowLength::Varying),
];

/// A row.
pub type Row = Vec<u8>;

/// What the tables hold: by table and key.
pub type Rows = BTreeMap<(u16, u64), Row>;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Churn {
    /// Keys of each table; every second one is loaded.
    pub keys: u64,
    /// Writes of the longest transaction.
    pub most_writes: usize,
}

/// What a transaction does to a key.
#[derive(Clone, Copy, Debug)]
enum Act {
    Insert,
    Delete,
    /// Writes one of the row's numbers.
    Write(usize),
    /// Adds to one of them.
    Add(usize),
}

/// What it did.
#[derive(Clone, Debug)]
enum Did {
    /// There is this row now: inserted, or instead of another one.
    Put(Row),
    Deleted,
    /// This number is this now.
    Set(usize, u64),
}

/// What a committed transaction did.
struct Committed {
    epoch: u64,
    id: CommitId,
    did: Vec<(TableId, u64, Did)>,
}

impl Churn {
    /// The byte string of a key, in no order of the numbers.
    fn string(key: u64) -> Vec<u8> {
        format!("{:x}", key.wrapping_mul(0x9E37_79B9) & 0xFFF_FFFF).into_bytes()
    }

    fn loaded_row(table: TableId, key: u64) -> Row {
        row_of(table, [u64::from(table.0), key, 0])
    }

    /// What the tables hold once everything has happened that `clients` committed in epoch `last` or before. Also, how many
    /// transactions that are.
    pub fn expected(&self, clients: &[ChurnClient], last: u64) -> (Rows, u64) {
        let mut rows = Rows::new();
        for (table, _) in (0..).zip(TABLES) {
            for key in (0..self.keys).step_by(2) {
                rows.insert((table, key), Self::loaded_row(TableId(table), key));
            }
        }
        let committed = clients.iter().flat_map(|client| &client.committed);
        let mut kept: Vec<&Committed> = committed.filter(|committed| committed.epoch <= last).collect();
        kept.sort_by_key(|committed| (committed.epoch, committed.id));
        for (table, key, did) in kept.iter().flat_map(|committed| &committed.did) {
            let place = (table.0, *key);
            match did {
                Did::Put(row) => drop(rows.insert(place, row.clone())),
                Did::Deleted => drop(rows.remove(&place)),
                Did::Set(number, value) => {
                    let row = rows.get_mut(&place).expect("who wrote it found it");
                    row[8 * number..][..8].copy_from_slice(&value.to_le_bytes());
                }
            }
        }
        (rows, kept.len() as u64)
    }

    /// A workload that reads all rows.
    pub fn reader(self) -> ChurnReader {
        ChurnReader(self)
    }
}

fn varies(table: TableId) -> bool {
    TABLES[table.index()].2 == RowLength::Varying
}

/// A row of these numbers; if its length may vary, they say how long it is.
fn row_of(table: TableId, numbers: [u64; 3]) -> Row {
    let mut row = numbers.map(u64::to_le_bytes).concat();
    if varies(table) {
        let mixed =
            numbers.iter().fold(0_u64, |mixed, number| (mixed ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        row.resize(mixed as usize % (MOST_BYTES + 1), mixed as u8);
    }
    row
}

/// What becomes of a row that varies in length if a number is put behind it: if it is too long then, its second half.
fn grown(row: &[u8], number: u64) -> Row {
    let mut row = row.to_vec();
    row.extend_from_slice(&number.to_le_bytes());
    if row.len() > MOST_BYTES {
        row.drain(..row.len() / 2);
    }
    row
}

fn key_of<T: Transaction + ?Sized>(txn: &mut T, table: TableId, key: u64) -> Key {
    match TABLES[table.index()].1 {
        Indexing::OrderedBytes { .. } => txn.key(table, &Churn::string(key)),
        Indexing::Hashed | Indexing::Ordered => Key(key),
    }
}

/// As a plan has it.
fn planned_key(table: TableId, key: u64) -> Key {
    match TABLES[table.index()].1 {
        Indexing::OrderedBytes { .. } => Key::prefix_of(&Churn::string(key)),
        Indexing::Hashed | Indexing::Ordered => Key(key),
    }
}

fn tables(keys: u64) -> Vec<TableDescription> {
    let described = |(name, indexing, length)| {
        let row_bytes = if length == RowLength::Fixed { ROW_BYTES } else { MOST_BYTES };
        TableDescription {
            name,
            row_bytes,
            length,
            kept_bytes: row_bytes,
            rows: keys.div_ceil(2),
            capacity: keys,
            indexing,
            partition: PartitionFunction::Remainder,
        }
    };
    TABLES.into_iter().map(described).collect()
}

impl Workload for Churn {
    type Client = ChurnClient;

    fn tables(&self) -> Vec<TableDescription> {
        tables(self.keys)
    }

    fn loaded_key(&self, _: TableId, row: u64) -> Key {
        Key(2 * row)
    }

    fn loaded_bytes(&self, _: TableId, key: Key, bytes: &mut Vec<u8>) {
        bytes.extend(Churn::string(key.0));
    }

    fn fill(&self, table: TableId, key: Key, row: &mut [u8]) {
        row.copy_from_slice(&Churn::loaded_row(table, key.0));
    }

    fn fill_varying(&self, table: TableId, key: Key, row: &mut Vec<u8>) {
        row.extend(Churn::loaded_row(table, key.0));
    }

    fn client(&self, seat: Seat) -> ChurnClient {
        let random = Rng::with_seed(seat.seed ^ (seat.worker as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        ChurnClient { churn: *self, random, next: (seat.worker as u64) << 40, committed: Vec::new() }
    }
}

/// Draws transactions, and keeps what they did.
pub struct ChurnClient {
    churn: Churn,
    random: Rng,
    /// A number that nobody has written.
    next: u64,
    committed: Vec<Committed>,
}

/// One transaction.
pub struct ChurnProcedure {
    acts: Vec<(TableId, u64, Act, u64)>,
    did: RefCell<Vec<(TableId, u64, Did)>>,
}

impl Client for ChurnClient {
    type Procedure = ChurnProcedure;

    fn next(&mut self) -> ChurnProcedure {
        let random = &mut self.random;
        let acts = (0..random.usize(1..=self.churn.most_writes)).map(|_| {
            let act = match random.u8(..10) {
                0..3 => Act::Insert,
                3..6 => Act::Delete,
                6..8 => Act::Write(random.usize(..3)),
                _ => Act::Add(random.usize(..3)),
            };
            self.next += 1;
            (TableId(random.u16(..TABLES.len() as u16)), random.u64(..self.churn.keys), act, self.next)
        });
        ChurnProcedure { acts: acts.collect(), did: RefCell::default() }
    }

    fn finished(&mut self, procedure: ChurnProcedure, completion: &Completion<'_>) {
        if let (Some(epoch), Some(id), Outcome::Commit) =
            (completion.epoch, completion.id, completion.outcome)
        {
            self.committed.push(Committed { epoch, id, did: procedure.did.into_inner() });
        }
    }
}

impl Procedure for ChurnProcedure {
    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        let mut did = take(&mut *self.did.borrow_mut());
        did.clear();
        for &(table, number, act, fresh) in &self.acts {
            let key = key_of(txn, table, number);
            let done = match act {
                Act::Insert => {
                    let row = row_of(table, [fresh, fresh + 1, fresh + 2]);
                    (txn.insert(table, key, &row)? == Insertion::Inserted).then_some(Did::Put(row))
                }
                Act::Delete => (txn.delete(table, key)? == Presence::Present).then_some(Did::Deleted),
                Act::Write(at) if varies(table) => {
                    let row = row_of(table, [fresh, fresh, at as u64]);
                    (txn.replace(table, key, &row)? == Presence::Present).then_some(Did::Put(row))
                }
                Act::Add(_) if varies(table) => {
                    let mut row = Row::new();
                    let change = |before: &[u8]| {
                        row = grown(before, fresh);
                        row.clone()
                    };
                    let presence = txn.change_whole(table, key, change)?;
                    (presence == Presence::Present).then_some(Did::Put(row))
                }
                Act::Write(at) => {
                    let presence = txn.write(table, key, 8 * at, &fresh.to_le_bytes())?;
                    (presence == Presence::Present).then_some(Did::Set(at, fresh))
                }
                Act::Add(at) => {
                    let mut sum = 0;
                    let presence = txn.update(table, key, Span::new(8 * at, 8), &mut |bytes| {
                        let number = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
                        sum = number.wrapping_add(fresh);
                        bytes.copy_from_slice(&sum.to_le_bytes());
                    })?;
                    (presence == Presence::Present).then_some(Did::Set(at, sum))
                }
            };
            did.extend(done.map(|done| (table, number, done)));
        }
        *self.did.borrow_mut() = did;
        Ok(Outcome::Commit)
    }

    fn plan<T: Transaction + ?Sized>(&self, _: &mut T, plan: &mut Plan) -> Result<(), Abort> {
        for &(table, number, ..) in &self.acts {
            plan.declare(table, planned_key(table, number));
        }
        Ok(())
    }
}

/// Reads all rows, by one worker; the others read nothing.
#[derive(Clone, Copy, Debug)]
pub struct ChurnReader(Churn);

/// Reads all rows.
pub struct ChurnReaderClient {
    keys: u64,
    /// What was read, if this is the worker that reads.
    pub rows: Rows,
}

/// A transaction that reads all rows.
pub struct ReadAll {
    keys: u64,
    rows: RefCell<Rows>,
}

impl Workload for ChurnReader {
    type Client = ChurnReaderClient;

    fn tables(&self) -> Vec<TableDescription> {
        tables(self.0.keys)
    }

    /// Panics: it reads what another workload loaded.
    fn fill(&self, table: TableId, _: Key, _: &mut [u8]) {
        panic!("a reader loads nothing, and was asked to fill {table:?}")
    }

    fn client(&self, seat: Seat) -> ChurnReaderClient {
        ChurnReaderClient { keys: if seat.worker == 0 { self.0.keys } else { 0 }, rows: Rows::new() }
    }
}

impl Client for ChurnReaderClient {
    type Procedure = ReadAll;

    fn next(&mut self) -> ReadAll {
        ReadAll { keys: self.keys, rows: RefCell::default() }
    }

    fn finished(&mut self, procedure: ReadAll, _: &Completion<'_>) {
        self.rows = procedure.rows.into_inner();
    }
}

impl Procedure for ReadAll {
    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        let mut rows = Rows::new();
        for (table, _) in (0..).map(TableId).zip(TABLES) {
            for number in 0..self.keys {
                let mut row = Row::default();
                let key = key_of(txn, table, number);
                if txn.read_whole(table, key, &mut |bytes| row = bytes.to_vec())? == Presence::Present {
                    rows.insert((table.0, number), row);
                }
            }
        }
        *self.rows.borrow_mut() = rows;
        Ok(Outcome::Commit)
    }

    fn plan<T: Transaction + ?Sized>(&self, _: &mut T, plan: &mut Plan) -> Result<(), Abort> {
        for (table, _) in (0..).map(TableId).zip(TABLES) {
            for number in 0..self.keys {
                plan.declare(table, planned_key(table, number));
            }
        }
        Ok(())
    }
}
