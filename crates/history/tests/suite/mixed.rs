//! A workload of everything: all operations, on few keys of two tables with rows of odd sizes, with rollbacks. The keys
//! are numbers, or byte strings that say a number, in another order than the numbers'.
//! Its clients watch that the wrapper keeps what it promises to the workload inside.

use contract::{
    Abort, Access, Client, Completion, Direction, Indexing, Insertion, Key, Outcome, PartitionFunction, Plan,
    Presence, Procedure, RowLength, Scan, Seat, Span, TableDescription, TableId, Transaction, Workload,
};
use std::cell::Cell;
use std::ops::Bound;

/// Bytes of the two tables' rows. In both the first eight hold the key, the next four a counter.
const ROW_BYTES: [usize; 2] = [13, 24];
const KEY: Span = Span { offset: 0, len: 8 };
const COUNTER: Span = Span { offset: 8, len: 4 };

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Mixed {
    /// Keys of each table; the first half is loaded.
    pub keys: u64,
    /// Operations that transactions draw from.
    pub operations: &'static [Kind],
    /// Of both tables.
    pub indexing: Indexing,
    /// Does not look whether its scans are in order.
    pub blind: bool,
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Read,
    Update,
    Write,
    Merge,
    Insert,
    Delete,
    Scan,
}

impl Mixed {
    pub const EVERYTHING: &'static [Kind] =
        &[Kind::Read, Kind::Read, Kind::Update, Kind::Write, Kind::Merge, Kind::Insert, Kind::Delete];
    pub const SCANS: &'static [Kind] = &[
        Kind::Read,
        Kind::Update,
        Kind::Write,
        Kind::Merge,
        Kind::Insert,
        Kind::Insert,
        Kind::Delete,
        Kind::Scan,
        Kind::Scan,
        Kind::Scan,
    ];
    pub const NO_DELETES: &'static [Kind] = &[Kind::Read, Kind::Read, Kind::Update, Kind::Write, Kind::Merge];
    pub const READS_AND_UPDATES: &'static [Kind] = &[Kind::Read, Kind::Read, Kind::Update];
}

impl Workload for Mixed {
    type Client = MixedClient;

    fn tables(&self) -> Vec<TableDescription> {
        let table = |(name, row_bytes)| TableDescription {
            name,
            row_bytes,
            length: RowLength::Fixed,
            kept_bytes: row_bytes,
            rows: self.keys / 2,
            capacity: self.keys,
            indexing: self.indexing,
            partition: PartitionFunction::Remainder,
        };
        ["thirteen", "twenty-four"].into_iter().zip(ROW_BYTES).map(table).collect()
    }

    fn loaded_bytes(&self, _: TableId, key: Key, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&string_of(key.0));
    }

    fn fill(&self, table: TableId, key: Key, row: &mut [u8]) {
        assert_eq!(row.len(), ROW_BYTES[table.index()], "the workload fills its own bytes only");
        row[..8].copy_from_slice(&key.0.to_le_bytes());
    }

    fn client(&self, seat: Seat) -> MixedClient {
        let random = fastrand::Rng::with_seed(seed_of(seat));
        MixedClient { workload: *self, random, committed: 0, rolled_back: 0, merges: 0, surprises: 0 }
    }
}

/// A key that is a byte string: of several lengths, alike for longer than a number has bytes.
fn string_of(number: u64) -> Vec<u8> {
    let mut string = b"a long way to ".to_vec();
    string.extend(std::iter::repeat_n(b'x', (number % 3) as usize));
    string.extend_from_slice(number.to_string().as_bytes());
    string
}

fn seed_of(seat: Seat) -> u64 {
    seat.seed.wrapping_mul(1_000_003).wrapping_add(seat.worker as u64)
}

pub struct MixedClient {
    workload: Mixed,
    random: fastrand::Rng,
    pub committed: u64,
    pub rolled_back: u64,
    pub merges: u64,
    /// How often a committed transaction missed its own insert or delete.
    pub surprises: u64,
}

pub struct MixedProcedure {
    indexing: Indexing,
    blind: bool,
    /// What, where, and of a scan also to which key, either way, and how many rows.
    operations: Vec<(Kind, TableId, u64, Sweep)>,
    rolls_back: bool,
    /// Merges that found their keys.
    merges: Cell<usize>,
    /// Own inserts and deletes that it did not see.
    surprises: Cell<u64>,
}

#[derive(Clone, Copy)]
struct Sweep {
    other: u64,
    direction: Direction,
    limit: usize,
}

impl Client for MixedClient {
    type Procedure = MixedProcedure;

    fn next(&mut self) -> MixedProcedure {
        let random = &mut self.random;
        let operations = (0..random.usize(1..=5)).map(|_| {
            let kind = self.workload.operations[random.usize(..self.workload.operations.len())];
            let (table, key) = (TableId(random.u16(0..2)), random.u64(0..self.workload.keys));
            let mut sweep = Sweep { other: key, direction: Direction::Forward, limit: usize::MAX };
            if kind == Kind::Scan {
                sweep.other = random.u64(0..self.workload.keys);
                sweep.direction = if random.bool() { Direction::Forward } else { Direction::Backward };
                sweep.limit = if random.bool() { usize::MAX } else { random.usize(0..4) };
            }
            (kind, table, key, sweep)
        });
        let operations = operations.collect();
        MixedProcedure {
            indexing: self.workload.indexing,
            blind: self.workload.blind,
            operations,
            rolls_back: random.u8(0..10) == 0,
            merges: Cell::new(0),
            surprises: Cell::new(0),
        }
    }

    fn finished(&mut self, procedure: MixedProcedure, completion: &Completion<'_>) {
        assert_eq!(completion.outcome == Outcome::Rollback, procedure.rolls_back);
        assert!(completion.began_ns <= completion.ended_ns);
        match completion.outcome {
            Outcome::Rollback => self.rolled_back += 1,
            Outcome::Commit => self.committed += 1,
        }
        if completion.outcome == Outcome::Commit {
            self.surprises += procedure.surprises.get();
            for nth in 0..procedure.merges.get() {
                // The merge left the counter that it incremented behind the number that it was given.
                let argument = completion.receipts.argument(nth);
                assert_eq!((argument.len(), argument[0]), (5, 1), "the receipt of the workload's own merge");
                self.merges += 1;
            }
        }
    }
}

fn increment(current: &mut [u8], argument: &mut [u8]) {
    let counter = u32::from_le_bytes(current.try_into().expect("a counter")) + u32::from(argument[0]);
    current.copy_from_slice(&counter.to_le_bytes());
    argument[1..].copy_from_slice(&counter.to_le_bytes());
}

impl Procedure for MixedProcedure {
    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        self.merges.set(0);
        self.surprises.set(0);
        for (kind, table, number, sweep) in &self.operations {
            match kind {
                Kind::Scan => self.scan(txn, *table, *number, *sweep)?,
                _ => self.perform(txn, *kind, *table, *number)?,
            }
        }
        Ok(if self.rolls_back { Outcome::Rollback } else { Outcome::Commit })
    }

    fn plan<T: Transaction + ?Sized>(&self, txn: &mut T, plan: &mut Plan) -> Result<(), Abort> {
        for (kind, table, number, _) in &self.operations {
            let access = match kind {
                Kind::Scan => continue,
                Kind::Read => Access::Read,
                Kind::Update | Kind::Write | Kind::Merge => Access::Write,
                Kind::Insert | Kind::Delete => Access::Structure,
            };
            let key = self.key(txn, *table, *number);
            plan.touch(
                *table,
                Key::prefix_of(&self.bytes(*number)),
                Span::whole(ROW_BYTES[table.index()]),
                access,
            );
            let _ = txn.read(*table, key, KEY, &mut |bytes| assert_eq!(bytes, number.to_le_bytes()))?;
        }
        Ok(())
    }
}

impl MixedProcedure {
    fn expect(&self, presence: Presence, found: Presence) {
        self.surprises.set(self.surprises.get() + u64::from(presence != found));
    }

    fn bytes(&self, number: u64) -> Vec<u8> {
        match self.indexing {
            Indexing::OrderedBytes { .. } => string_of(number),
            _ => Key(number).bytes().to_vec(),
        }
    }

    fn key<T: Transaction + ?Sized>(&self, txn: &mut T, table: TableId, number: u64) -> Key {
        match self.indexing {
            Indexing::OrderedBytes { .. } => txn.key(table, &string_of(number)),
            _ => Key(number),
        }
    }

    /// What the transaction did itself, its scans show.
    fn expect_scanned<T: Transaction + ?Sized>(
        &self,
        txn: &mut T,
        table: TableId,
        number: u64,
        presence: Presence,
    ) -> Result<(), Abort> {
        if self.indexing != Indexing::Hashed {
            let sweep = Sweep { other: number, direction: Direction::Forward, limit: 1 };
            let shown = self.rows(txn, table, number, sweep)?;
            self.expect(presence, if shown.is_empty() { Presence::Missing } else { Presence::Present });
        }
        Ok(())
    }

    fn scan<T: Transaction + ?Sized>(
        &self,
        txn: &mut T,
        table: TableId,
        number: u64,
        sweep: Sweep,
    ) -> Result<(), Abort> {
        let shown = self.rows(txn, table, number, sweep)?;
        assert!(shown.len() <= sweep.limit, "a dead row counts for nothing, and no other is one too many");
        let in_order = |pair: &[Vec<u8>]| match sweep.direction {
            Direction::Forward => pair[0] < pair[1],
            Direction::Backward => pair[0] > pair[1],
        };
        assert!(self.blind || shown.windows(2).all(in_order), "the wrapper keeps the order");
        Ok(())
    }

    /// The keys that a scan shows.
    fn rows<T: Transaction + ?Sized>(
        &self,
        txn: &mut T,
        table: TableId,
        number: u64,
        sweep: Sweep,
    ) -> Result<Vec<Vec<u8>>, Abort> {
        let (one, other) = (self.bytes(number), self.bytes(sweep.other));
        let scan = Scan {
            table,
            from: Bound::Included(one.as_slice().min(&other)),
            to: Bound::Included(one.as_slice().max(&other)),
            direction: sweep.direction,
            limit: sweep.limit,
            span: KEY,
            within: None,
        };
        let mut shown = Vec::new();
        let told = txn.scan(&scan, &mut |key, row| {
            let number = u64::from_le_bytes(row.try_into().expect("the span that was asked for"));
            assert_eq!(self.bytes(number), key, "the row of another key");
            shown.push(key.to_vec());
        })?;
        assert_eq!(told, shown.len());
        Ok(shown)
    }

    fn perform<T: Transaction + ?Sized>(
        &self,
        txn: &mut T,
        kind: Kind,
        table: TableId,
        number: u64,
    ) -> Result<(), Abort> {
        let own_key = |bytes: &[u8]| assert_eq!(bytes, number.to_le_bytes(), "the row of another key");
        let key = self.key(txn, table, number);
        match kind {
            Kind::Read => {
                let mut shown = false;
                let presence = txn.read(table, key, KEY, &mut |bytes| {
                    own_key(bytes);
                    shown = true;
                })?;
                assert_eq!(presence == Presence::Present, shown);
            }
            Kind::Update => {
                let presence = txn.update(table, key, COUNTER, &mut |bytes| increment(bytes, &mut [1; 5]))?;
                if presence == Presence::Present {
                    let _ = txn.read(table, key, KEY, &mut |bytes| own_key(bytes))?;
                }
            }
            Kind::Write => {
                let row = whole_row(table, number);
                let _ = txn.write(table, key, 8, &row[8..])?;
            }
            Kind::Merge => {
                let presence = txn.merge(table, key, COUNTER, increment, &[1, 0, 0, 0, 0])?;
                self.merges.set(self.merges.get() + usize::from(presence == Presence::Present));
            }
            Kind::Insert => {
                if txn.insert(table, key, &whole_row(table, number))? == Insertion::Inserted {
                    self.expect(Presence::Present, txn.read(table, key, KEY, &mut |bytes| own_key(bytes))?);
                    self.expect_scanned(txn, table, number, Presence::Present)?;
                }
            }
            Kind::Delete => {
                let _ = txn.delete(table, key)?;
                self.expect(Presence::Missing, txn.read(table, key, KEY, &mut |bytes| own_key(bytes))?);
                self.expect_scanned(txn, table, number, Presence::Missing)?;
            }
            Kind::Scan => unreachable!("a scan is of more than a key"),
        }
        Ok(())
    }
}

fn whole_row(table: TableId, number: u64) -> Vec<u8> {
    let mut row = vec![0; ROW_BYTES[table.index()]];
    row[..8].copy_from_slice(&number.to_le_bytes());
    row
}
