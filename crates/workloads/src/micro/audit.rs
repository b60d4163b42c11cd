//! Reads the whole table of the microbenchmark after a run, through transactions, and compares it with what
//! the clients say that they committed.
//!
//! Any number of auditors share the keys in chunks, one chunk a transaction; one that has no chunk left issues empty
//! transactions. A lost update or an abort that was not undone shows in the sum, a torn row in its
//! attributes.

use super::transaction::Row;
use super::{Micro, MicroClient, TABLE};
use crate::audit::{Audited, Chunk, Finding, Share};
use contract::telling::{tell, told};
use contract::{
    Abort, Client, Completion, Key, Outcome, Plan, Procedure, Seat, Span, TableDescription, TableId,
    Transaction, TransactionExt, Workload,
};
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::fmt;

/// Rows that an auditor reads in one transaction.
const CHUNK: u64 = 64;

/// A read-only workload over the table of a [`Micro`].
#[derive(Clone, Copy, Debug)]
pub struct Audit<'a> {
    micro: &'a Micro,
}

impl<'a> Audit<'a> {
    pub(super) fn new(micro: &'a Micro) -> Self {
        Audit { micro }
    }

    /// What the auditors found, against what the clients committed.
    pub fn verdict(&self, clients: &[MicroClient], auditors: &[Auditor]) -> Result<(), Violation> {
        let found = self.untorn(auditors)?;
        let expected = self.micro.expected_sum(clients);
        if found.sum != expected {
            return Err(Violation::Sum { expected, found: found.sum });
        }
        Ok(())
    }

    /// What was found, if every row was read and none is torn.
    fn untorn(&self, auditors: &[Auditor]) -> Result<Found, Violation> {
        let found = auditors.iter().fold(Found::default(), |sum, auditor| sum.and(auditor.found));
        if found.rows != self.rows() {
            return Err(Violation::Incomplete { rows: self.rows(), read: found.rows });
        }
        if found.torn > 0 {
            return Err(Violation::Torn { rows: found.torn });
        }
        Ok(found)
    }

    fn rows(&self) -> u64 {
        self.micro.parameters.records.get()
    }
}

impl Audited for Micro {
    type Audit<'a> = Audit<'a>;

    type Compilation = contract::OwnType;

    fn audit(&self) -> Option<Audit<'_>> {
        Some(Audit::new(self))
    }
}

impl crate::audit::Audit<MicroClient> for Audit<'_> {
    fn assign(&self, auditors: &mut [Auditor]) -> u64 {
        auditors.iter().map(|auditor| auditor.share.left()).max().expect("an audit without auditors")
    }

    fn verdict(&self, clients: &[MicroClient], auditors: &[Auditor]) -> Result<(), Finding> {
        Ok(Audit::verdict(self, clients, auditors)?)
    }

    fn verdict_of_anybody(&self, auditors: &[Auditor]) -> Result<(), Finding> {
        self.untorn(auditors)?;
        Ok(())
    }
}

impl Workload for Audit<'_> {
    type Client = Auditor;

    fn tables(&self) -> Vec<TableDescription> {
        self.micro.tables()
    }

    fn fill(&self, table: TableId, key: Key, row: &mut [u8]) {
        self.micro.fill(table, key, row);
    }

    fn client(&self, seat: Seat) -> Auditor {
        Auditor { share: Share::new(seat, self.rows(), CHUNK), found: Found::default() }
    }
}

/// Reads its share of the rows.
#[derive(Clone, Debug)]
pub struct Auditor {
    share: Share,
    found: Found,
}

impl Client for Auditor {
    type Procedure = AuditTransaction;

    fn next(&mut self) -> AuditTransaction {
        AuditTransaction { keys: self.share.take(), found: Cell::default() }
    }

    fn finished(&mut self, transaction: AuditTransaction, completion: &Completion<'_>) {
        if completion.outcome == Outcome::Commit {
            self.found = self.found.and(transaction.found.get());
        }
    }

    fn tell(&self, into: &mut Vec<u8>) {
        tell(&(self.share.next, self.found), into);
    }

    fn hear(&mut self, heard: &[u8]) -> Option<()> {
        (self.share.next, self.found) = told(heard)?;
        Some(())
    }
}

/// Reads one chunk of rows.
#[derive(Debug)]
pub struct AuditTransaction {
    keys: Chunk,
    found: Cell<Found>,
}

impl Procedure for AuditTransaction {
    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        let mut found = Found::default();
        for key in self.keys.clone() {
            if let Some(row) = txn.read_row(TABLE, Key(key), Found::in_row)? {
                found = found.and(row);
            }
        }
        self.found.set(found);
        Ok(Outcome::Commit)
    }

    fn plan<T: Transaction + ?Sized>(&self, _txn: &mut T, plan: &mut Plan) -> Result<(), Abort> {
        for key in self.keys.clone() {
            plan.touch(TABLE, Key(key), Span::whole(size_of::<Row>()), contract::Access::Read);
        }
        Ok(())
    }
}

/// What was found in some rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Found {
    rows: u64,
    torn: u64,
    sum: u64,
}

impl Found {
    fn in_row(row: &Row) -> Self {
        Found { rows: 1, torn: u64::from(!row.is_whole()), sum: row.sum() }
    }

    fn and(self, other: Found) -> Self {
        Found {
            rows: self.rows + other.rows,
            torn: self.torn + other.torn,
            sum: self.sum.wrapping_add(other.sum),
        }
    }
}

/// A table that is not what the committed transactions made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    /// Not every row was read: rows are missing, or the audit was stopped early.
    Incomplete {
        /// Rows in the table.
        rows: u64,
        /// Rows read.
        read: u64,
    },
    /// Rows in which some attributes have seen an update and some have not.
    Torn {
        /// How many.
        rows: u64,
    },
    /// Updates are missing, or there are too many.
    Sum {
        /// The sum of all attributes that the committed updates make, modulo 2^64.
        expected: u64,
        /// The sum found.
        found: u64,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Violation::Incomplete { rows, read } => write!(f, "{read} of {rows} rows were read"),
            Violation::Torn { rows } => write!(f, "{rows} rows are torn"),
            Violation::Sum { expected, found } => {
                write!(f, "the attributes add up to {found}, where the committed updates make {expected}")
            }
        }
    }
}

impl std::error::Error for Violation {}
