//! A workload of everything: all operations, on few keys of two tables with rows of odd sizes, with rollbacks.
//! Its clients watch that the wrapper keeps what it promises to the workload inside.

use contract::{
    Abort, Access, Client, Completion, Insertion, Key, Outcome, Plan, Presence, Procedure, Seat, Span,
    TableDescription, TableId, Transaction, Workload,
};
use std::cell::Cell;

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
}

impl Mixed {
    pub const EVERYTHING: &'static [Kind] =
        &[Kind::Read, Kind::Read, Kind::Update, Kind::Write, Kind::Merge, Kind::Insert, Kind::Delete];
    pub const NO_DELETES: &'static [Kind] = &[Kind::Read, Kind::Read, Kind::Update, Kind::Write, Kind::Merge];
    pub const READS_AND_UPDATES: &'static [Kind] = &[Kind::Read, Kind::Read, Kind::Update];
}

impl Workload for Mixed {
    type Client = MixedClient;

    fn tables(&self) -> Vec<TableDescription> {
        let table = |(name, row_bytes)| TableDescription {
            name,
            row_bytes,
            kept_bytes: row_bytes,
            rows: self.keys / 2,
            capacity: self.keys,
            partition: TableDescription::partition_by_remainder,
        };
        ["thirteen", "twenty-four"].into_iter().zip(ROW_BYTES).map(table).collect()
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
    operations: Vec<(Kind, TableId, Key)>,
    rolls_back: bool,
    /// Merges that found their keys.
    merges: Cell<usize>,
    /// Own inserts and deletes that it did not see.
    surprises: Cell<u64>,
}

impl Client for MixedClient {
    type Procedure = MixedProcedure;

    fn next(&mut self) -> MixedProcedure {
        let random = &mut self.random;
        let operations = (0..random.usize(1..=5)).map(|_| {
            let kind = self.workload.operations[random.usize(..self.workload.operations.len())];
            (kind, TableId(random.u16(0..2)), Key(random.u64(0..self.workload.keys)))
        });
        let operations = operations.collect();
        MixedProcedure {
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
                // The merge left the counter that it raised behind the number that it was given.
                let argument = completion.receipts.argument(nth);
                assert_eq!((argument.len(), argument[0]), (5, 1), "the receipt of the workload's own merge");
                self.merges += 1;
            }
        }
    }
}

fn raise(current: &mut [u8], argument: &mut [u8]) {
    let counter = u32::from_le_bytes(current.try_into().expect("a counter")) + u32::from(argument[0]);
    current.copy_from_slice(&counter.to_le_bytes());
    argument[1..].copy_from_slice(&counter.to_le_bytes());
}

impl Procedure for MixedProcedure {
    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        self.merges.set(0);
        self.surprises.set(0);
        for (kind, table, key) in &self.operations {
            self.perform(txn, *kind, *table, *key)?;
        }
        Ok(if self.rolls_back { Outcome::Rollback } else { Outcome::Commit })
    }

    fn plan<T: Transaction + ?Sized>(&self, look: &mut T, plan: &mut Plan) -> Result<(), Abort> {
        for (kind, table, key) in &self.operations {
            let access = match kind {
                Kind::Read => Access::Read,
                Kind::Update | Kind::Write | Kind::Merge => Access::Write,
                Kind::Insert | Kind::Delete => Access::Structure,
            };
            plan.touch(*table, *key, Span::whole(ROW_BYTES[table.index()]), access);
            let _ = look.read(*table, *key, KEY, &mut |bytes| assert_eq!(bytes, key.0.to_le_bytes()))?;
        }
        Ok(())
    }
}

impl MixedProcedure {
    fn expect(&self, presence: Presence, found: Presence) {
        self.surprises.set(self.surprises.get() + u64::from(presence != found));
    }

    fn perform<T: Transaction + ?Sized>(
        &self,
        txn: &mut T,
        kind: Kind,
        table: TableId,
        key: Key,
    ) -> Result<(), Abort> {
        let own_key = |bytes: &[u8]| assert_eq!(bytes, key.0.to_le_bytes(), "the row of another key");
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
                let presence = txn.update(table, key, COUNTER, &mut |bytes| raise(bytes, &mut [1; 5]))?;
                if presence == Presence::Present {
                    let _ = txn.read(table, key, KEY, &mut |bytes| own_key(bytes))?;
                }
            }
            Kind::Write => {
                let row = whole_row(table, key);
                let _ = txn.write(table, key, 8, &row[8..])?;
            }
            Kind::Merge => {
                let presence = txn.merge(table, key, COUNTER, raise, &[1, 0, 0, 0, 0])?;
                self.merges.set(self.merges.get() + usize::from(presence == Presence::Present));
            }
            Kind::Insert => {
                if txn.insert(table, key, &whole_row(table, key))? == Insertion::Inserted {
                    self.expect(Presence::Present, txn.read(table, key, KEY, &mut |bytes| own_key(bytes))?);
                }
            }
            Kind::Delete => {
                let _ = txn.delete(table, key)?;
                self.expect(Presence::Missing, txn.read(table, key, KEY, &mut |bytes| own_key(bytes))?);
            }
        }
        Ok(())
    }
}

fn whole_row(table: TableId, key: Key) -> Vec<u8> {
    let mut row = vec![0; ROW_BYTES[table.index()]];
    row[..8].copy_from_slice(&key.0.to_le_bytes());
    row
}
