//! membership: keys that appear once, or disappear once.
//!
//! Checked with [`crate::Deletes::Real`], so that unlinking, dead records and the reclaiming of memory are under
//! test. Three families of keys, and windows on them that move on with each worker's transaction number, so that
//! all workers meet on the same few keys:
//!
//! | family | loaded | what happens to its keys |
//! |---|---|---|
//! | stable | yes | read and changed; inserting one answers `Exists` |
//! | doomed | yes | read and changed, deleted once |
//! | fresh | no | found missing, inserted once; in passing inserted and deleted by one transaction |
//!
//! Some transactions roll back by their own will, after inserting and deleting: they must leave nothing behind.

use contract::{
    Abort, Access, Client, Completion, Insertion, Key, Outcome, Plan, Presence, Procedure, Seat, Span,
    TableDescription, TableId, Transaction, TransactionExt, Workload,
};
use std::cell::Cell;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

const MEMBERS: TableId = TableId(0);
const MOST_OPERATIONS: usize = 6;
const FAMILIES: u64 = 3;

/// Whether a key is there in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Stable = 0,
    Doomed = 1,
    Fresh = 2,
}

/// The row of a key tells whose it is.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Member {
    key: u64,
    changes: u64,
}

/// The workload.
#[derive(Clone, Copy, Debug)]
pub struct Membership {
    /// Transactions that the windows are made for, of each worker; later ones stay on the last keys.
    pub transactions: u64,
    /// Keys of each family that transactions draw from at one time.
    pub window: u64,
    /// A worker's transactions after which its windows move on by one key.
    pub transactions_per_key: u64,
    /// Transactions in a hundred that roll back by their own will.
    pub rollback_percent: u32,
}

impl Default for Membership {
    fn default() -> Self {
        Membership { transactions: 100_000, window: 8, transactions_per_key: 4, rollback_percent: 10 }
    }
}

impl Membership {
    fn keys_per_family(&self) -> u64 {
        self.transactions / self.transactions_per_key + self.window
    }

    fn key(self, family: Family, member: u64) -> Key {
        Key(member * FAMILIES + family as u64)
    }
}

impl Workload for Membership {
    type Client = MembershipClient;

    fn tables(&self) -> Vec<TableDescription> {
        vec![TableDescription {
            name: "member",
            row_bytes: size_of::<Member>(),
            rows: 2 * self.keys_per_family(),
            capacity: FAMILIES * self.keys_per_family(),
            partition: TableDescription::partition_by_remainder,
        }]
    }

    fn loaded_key(&self, _table: TableId, row: u64) -> Key {
        self.key(if row.is_multiple_of(2) { Family::Stable } else { Family::Doomed }, row / 2)
    }

    fn fill(&self, _table: TableId, key: Key, row: &mut [u8]) {
        row.copy_from_slice(Member { key: key.0, changes: 0 }.as_bytes());
    }

    fn client(&self, seat: Seat) -> MembershipClient {
        assert!(self.window > 0 && self.transactions_per_key > 0, "windows have keys, and move");
        let seed = seat.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(seat.worker as u64);
        MembershipClient {
            workload: *self,
            random: fastrand::Rng::with_seed(seed),
            issued: 0,
            tally: Tally::default(),
        }
    }
}

/// What a client's committed transactions met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Keys that it inserted.
    pub inserted: u64,
    /// Keys that it deleted.
    pub deleted: u64,
    /// Keys that it found missing.
    pub missed: u64,
    /// Inserts that answered `Exists`.
    pub existed: u64,
    /// Answers that no engine may give: an insert that succeeded on a key that was there all along, an own insert
    /// or delete that did not show, a row of another key.
    pub impossible: u64,
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.inserted += other.inserted;
        self.deleted += other.deleted;
        self.missed += other.missed;
        self.existed += other.existed;
        self.impossible += other.impossible;
    }
}

/// One worker's transactions.
#[derive(Debug)]
pub struct MembershipClient {
    workload: Membership,
    random: fastrand::Rng,
    issued: u64,
    tally: Tally,
}

impl MembershipClient {
    /// What its committed transactions met.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    fn draw(&mut self) -> MemberOperation {
        let passed = self.issued.min(self.workload.transactions) / self.workload.transactions_per_key;
        let member = passed + self.random.u64(0..self.workload.window);
        let any = [Family::Stable, Family::Doomed, Family::Fresh][self.random.usize(0..3)];
        let (action, family) = match self.random.u32(0..100) {
            0..40 => (Action::Read, any),
            40..52 => (Action::Update, any),
            52..60 => (Action::Write, any),
            60..75 => (Action::Insert, Family::Fresh),
            75..80 => (Action::Insert, Family::Stable),
            80..85 => (Action::InsertAndDelete, Family::Fresh),
            _ => (Action::Delete, Family::Doomed),
        };
        MemberOperation {
            action,
            family,
            key: self.workload.key(family, member.min(self.workload.keys_per_family() - 1)),
        }
    }
}

impl Client for MembershipClient {
    type Procedure = MembershipProcedure;

    fn next(&mut self) -> MembershipProcedure {
        let count = self.random.usize(1..=MOST_OPERATIONS);
        let operations = std::array::from_fn(|_| self.draw());
        let rolls_back = self.random.u32(0..100) < self.workload.rollback_percent;
        self.issued += 1;
        MembershipProcedure { operations, count, rolls_back, tally: Cell::default() }
    }

    fn finished(&mut self, procedure: MembershipProcedure, completion: &Completion<'_>) {
        if completion.outcome == Outcome::Commit {
            self.tally.add(procedure.tally.get());
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Read,
    Update,
    Write,
    Insert,
    /// Deletes what it has just inserted, if it could.
    InsertAndDelete,
    Delete,
}

#[derive(Clone, Copy, Debug)]
struct MemberOperation {
    action: Action,
    family: Family,
    key: Key,
}

/// One transaction of membership.
#[derive(Debug)]
pub struct MembershipProcedure {
    operations: [MemberOperation; MOST_OPERATIONS],
    count: usize,
    rolls_back: bool,
    tally: Cell<Tally>,
}

impl Procedure for MembershipProcedure {
    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        let mut tally = Tally::default();
        for operation in &self.operations[..self.count] {
            perform(txn, *operation, &mut tally)?;
        }
        self.tally.set(tally);
        Ok(if self.rolls_back { Outcome::Rollback } else { Outcome::Commit })
    }

    fn plan<T: Transaction + ?Sized>(&self, _look: &mut T, plan: &mut Plan) -> Result<(), Abort> {
        for operation in &self.operations[..self.count] {
            let access = match operation.action {
                Action::Read => Access::Read,
                Action::Update | Action::Write => Access::Write,
                Action::Insert | Action::InsertAndDelete | Action::Delete => Access::Structure,
            };
            plan.touch(MEMBERS, operation.key, Span::whole(size_of::<Member>()), access);
        }
        Ok(())
    }
}

fn perform<T: Transaction + ?Sized>(
    txn: &mut T,
    operation: MemberOperation,
    tally: &mut Tally,
) -> Result<(), Abort> {
    let MemberOperation { action, family, key } = operation;
    match action {
        Action::Read => {
            if !is_there(txn, key, tally)? {
                tally.missed += 1;
            }
        }
        Action::Update => {
            let changed = txn.update_row(MEMBERS, key, |member: &mut Member| {
                member.changes = member.changes.wrapping_add(1);
                member.key
            })?;
            match changed {
                Some(found) => tally.impossible += u64::from(found != key.0),
                None => tally.missed += 1,
            }
        }
        Action::Write => match txn.write(MEMBERS, key, 8, &1_u64.to_le_bytes())? {
            Presence::Present => {}
            Presence::Missing => tally.missed += 1,
        },
        Action::Insert | Action::InsertAndDelete => {
            let row = Member { key: key.0, changes: 0 };
            match txn.insert_row(MEMBERS, key, &row)? {
                Insertion::Exists => tally.existed += 1,
                Insertion::Inserted if action == Action::Insert => {
                    tally.inserted += 1;
                    tally.impossible += u64::from(family == Family::Stable || !is_there(txn, key, tally)?);
                }
                Insertion::Inserted => {
                    let deleted = txn.delete(MEMBERS, key)?;
                    let shows = deleted == Presence::Missing || is_there(txn, key, tally)?;
                    tally.impossible += u64::from(shows);
                }
            }
        }
        Action::Delete => match txn.delete(MEMBERS, key)? {
            Presence::Missing => tally.missed += 1,
            Presence::Present => {
                tally.deleted += 1;
                tally.impossible += u64::from(is_there(txn, key, tally)?);
            }
        },
    }
    Ok(())
}

/// Whether the key has a row; a row of another key is noted.
fn is_there<T: Transaction + ?Sized>(txn: &mut T, key: Key, tally: &mut Tally) -> Result<bool, Abort> {
    let found = txn.read_row(MEMBERS, key, |member: &Member| member.key)?;
    tally.impossible += u64::from(found.is_some_and(|found| found != key.0));
    Ok(found.is_some())
}
