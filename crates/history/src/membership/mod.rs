//! membership: keys that appear once, or disappear once.
//!
//! Checked with [`crate::Deletes::Real`], so that unlinking, dead records and the reclaiming of memory are under
//! test. Three families of keys:
//!
//! | family | loaded | what happens to its keys |
//! |---|---|---|
//! | stable | yes | read and changed; inserting one answers `Exists` |
//! | doomed | yes | read and changed, deleted once |
//! | fresh | no | found missing, inserted once; in passing inserted and deleted by one transaction |
//!
//! All workers meet on the same few keys: each draws from a window on the families, which moves on past keys that
//! were seen in their last state, the fresh one there and the doomed one gone. Every eighth transaction tells the
//! others how far the window is, in a row of its own, and follows the worker that is ahead: on two cores one worker is
//! easily a thousand transactions ahead of another, and then they would never meet.
//!
//! Some transactions roll back by their own will, after inserting and deleting: they must leave nothing behind.
//!
//! With scans among its operations the workload is called `ranges` ([`Membership::ranges`]): transactions go over keys of
//! all families, next to each other, while these come and go (`scan.rs`).

mod client;
mod scan;

pub use client::MembershipClient;

use contract::{
    Abort, Access, Indexing, Insertion, Key, Outcome, PartitionFunction, Plan, Presence, Procedure,
    RowLength, Seat, Span, TableDescription, TableId, Transaction, TransactionExt, Workload,
};
use scan::{Known, Sweep};
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

const MEMBERS: TableId = TableId(0);
/// One row: how far the window is.
const FRONT: TableId = TableId(1);
/// One in so many transactions tells and learns how far the window is.
const TRANSACTIONS_PER_FOLLOW: u64 = 8;
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
    /// Transactions, of all workers together, that there are keys for. Then the window stays where it is, and keys
    /// neither come nor go any more.
    pub transactions: u64,
    /// Keys of each family that transactions draw from at one time.
    pub window: u64,
    /// Transactions in a hundred that roll back by their own will.
    pub rollback_percent: u32,
    /// Operations in a hundred that are scans; with any, the table is ordered.
    pub scan_percent: u32,
}

impl Default for Membership {
    fn default() -> Self {
        Membership { transactions: 100_000, window: 8, rollback_percent: 10, scan_percent: 0 }
    }
}

impl Membership {
    /// `ranges`: every third operation is a scan.
    pub fn ranges() -> Self {
        Membership { scan_percent: 33, ..Membership::default() }
    }

    /// More than enough: the window moves on by a key in about eight transactions.
    fn keys_per_family(&self) -> u64 {
        self.transactions + self.window
    }

    fn key(self, family: Family, member: u64) -> Key {
        Key(member * FAMILIES + family as u64)
    }

    fn family(key: Key) -> Family {
        [Family::Stable, Family::Doomed, Family::Fresh][(key.0 % FAMILIES) as usize]
    }
}

impl Workload for Membership {
    type Client = MembershipClient;

    fn tables(&self) -> Vec<TableDescription> {
        let table = |name, indexing, row_bytes, rows, capacity| TableDescription {
            name,
            row_bytes,
            length: RowLength::Fixed,
            kept_bytes: row_bytes,
            rows,
            capacity,
            indexing,
            partition: PartitionFunction::Remainder,
        };
        let keys = self.keys_per_family();
        let indexing = if self.scan_percent == 0 { Indexing::Hashed } else { Indexing::Ordered };
        vec![
            table("member", indexing, size_of::<Member>(), 2 * keys, FAMILIES * keys),
            table("front", Indexing::Hashed, 8, 1, 1),
        ]
    }

    fn loaded_key(&self, table: TableId, row: u64) -> Key {
        if table == FRONT {
            return Key(row);
        }
        self.key(if row.is_multiple_of(2) { Family::Stable } else { Family::Doomed }, row / 2)
    }

    fn fill(&self, table: TableId, key: Key, row: &mut [u8]) {
        if table == MEMBERS {
            row.copy_from_slice(Member { key: key.0, changes: 0 }.as_bytes());
        }
    }

    fn client(&self, seat: Seat) -> MembershipClient {
        MembershipClient::new(*self, seat)
    }
}

/// What a client's committed transactions met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Keys that it inserted.
    pub inserted: u64,
    /// Keys that it deleted.
    pub deleted: u64,
    /// Keys that it found missing.
    pub missed: u64,
    /// Inserts that answered `Exists`.
    pub existed: u64,
    /// Rows that its scans showed.
    pub scanned: u64,
    /// Answers that no engine may give: an insert that succeeded on a key that was there all along, an own insert
    /// or delete that did not show, a row of another key; of a scan a key that it shows twice, out of order or from
    /// beyond its range, more rows than it may, and a key passed over that was there all along.
    pub impossible: u64,
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.inserted += other.inserted;
        self.deleted += other.deleted;
        self.missed += other.missed;
        self.existed += other.existed;
        self.scanned += other.scanned;
        self.impossible += other.impossible;
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
    /// Of keys around its own.
    Scan(Sweep),
}

#[derive(Clone, Copy, Debug)]
struct MemberOperation {
    action: Action,
    family: Family,
    member: u64,
    key: Key,
}

/// One transaction of membership.
#[derive(Debug)]
pub struct MembershipProcedure {
    /// Set in those that tell and learn how far the window is, and do nothing else.
    front: Cell<Option<u64>>,
    operations: [MemberOperation; MOST_OPERATIONS],
    count: usize,
    rolls_back: bool,
    partitions: u32,
    tally: Cell<Tally>,
    /// By operation, whether the key had a row after it.
    there: Cell<[bool; MOST_OPERATIONS]>,
}

impl Procedure for MembershipProcedure {
    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        if let Some(front) = self.front.get() {
            self.front.set(Some(follow(txn, front)?));
            return Ok(Outcome::Commit);
        }
        let mut tally = Tally::default();
        let mut there = [false; MOST_OPERATIONS];
        let mut known = Known::new();
        for (operation, there) in self.operations[..self.count].iter().zip(&mut there) {
            *there = match operation.action {
                Action::Scan(sweep) => {
                    let swept = sweep.perform(txn, &known)?;
                    tally.scanned += swept.rows;
                    tally.impossible += swept.impossible;
                    true
                }
                _ => perform(txn, *operation, &mut tally)?,
            };
            note(&mut known, *operation, *there);
        }
        self.tally.set(tally);
        self.there.set(there);
        Ok(if self.rolls_back { Outcome::Rollback } else { Outcome::Commit })
    }

    fn plan<T: Transaction + ?Sized>(&self, _txn: &mut T, plan: &mut Plan) -> Result<(), Abort> {
        if self.front.get().is_some() {
            plan.touch(FRONT, Key(0), Span::whole(8), Access::Write);
            return Ok(());
        }
        for operation in &self.operations[..self.count] {
            let access = match operation.action {
                Action::Scan(_) => {
                    // It goes through all partitions, and the key of this number is in the partition of this number.
                    (0..self.partitions).for_each(|part| plan.declare(MEMBERS, Key(u64::from(part))));
                    continue;
                }
                Action::Read => Access::Read,
                Action::Update | Action::Write => Access::Write,
                Action::Insert | Action::InsertAndDelete | Action::Delete => Access::Structure,
            };
            plan.touch(MEMBERS, operation.key, Span::whole(size_of::<Member>()), access);
        }
        Ok(())
    }
}

/// Notes whether a key has a row, for the transaction's scans.
fn note(known: &mut Known, operation: MemberOperation, there: bool) {
    if !matches!(operation.action, Action::Scan(_)) {
        known.retain(|(key, _)| *key != operation.key);
        known.push((operation.key, there));
    }
}

/// Tells that the window is at `front`, and answers how far it is: for somebody else may be ahead.
fn follow<T: Transaction + ?Sized>(txn: &mut T, front: u64) -> Result<u64, Abort> {
    let furthest = txn.update_row(FRONT, Key(0), |furthest: &mut u64| {
        *furthest = front.max(*furthest);
        *furthest
    })?;
    Ok(furthest.unwrap_or(front))
}

/// Answers whether the key has a row afterwards.
fn perform<T: Transaction + ?Sized>(
    txn: &mut T,
    operation: MemberOperation,
    tally: &mut Tally,
) -> Result<bool, Abort> {
    let MemberOperation { action, family, key, .. } = operation;
    let found = match action {
        Action::Read => is_there(txn, key, tally)?,
        Action::Update => {
            let changed = txn.update_row(MEMBERS, key, |member: &mut Member| {
                member.changes = member.changes.wrapping_add(1);
                member.key
            })?;
            tally.impossible += u64::from(changed.is_some_and(|found| found != key.0));
            changed.is_some()
        }
        Action::Write => txn.write(MEMBERS, key, 8, &1_u64.to_le_bytes())? == Presence::Present,
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
                    return Ok(false);
                }
            }
            true
        }
        Action::Delete => {
            let found = txn.delete(MEMBERS, key)? == Presence::Present;
            if found {
                tally.deleted += 1;
                tally.impossible += u64::from(is_there(txn, key, tally)?);
                return Ok(false);
            }
            found
        }
        Action::Scan(_) => unreachable!("a scan has no one key to be performed on"),
    };
    tally.missed += u64::from(!found);
    Ok(found)
}

/// Whether the key has a row; a row of another key is noted.
fn is_there<T: Transaction + ?Sized>(txn: &mut T, key: Key, tally: &mut Tally) -> Result<bool, Abort> {
    let found = txn.read_row(MEMBERS, key, |member: &Member| member.key)?;
    tally.impossible += u64::from(found.is_some_and(|found| found != key.0));
    Ok(found.is_some())
}
