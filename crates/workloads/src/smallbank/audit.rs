//! Counts the bank's money after a run, through transactions, and compares it with what the clients say that they brought
//! in.
//!
//! Any number of auditors share the customers in chunks, one chunk a transaction; one that has no chunk left issues empty
//! transactions. A lost update, or an abort or a rollback that was not undone, shows in the sum.

use super::rows::Balance;
use super::{CHECKING, SAVINGS, SmallBank, SmallBankClient};
use crate::audit::{Audited, Chunk, Finding, Share};
use contract::telling::{tell, told};
use contract::{
    Abort, Access, Client, Completion, Key, Outcome, Plan, Procedure, Seat, Span, TableDescription, TableId,
    Transaction, TransactionExt, Workload,
};
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::fmt;

/// Customers that an auditor visits in one transaction.
const CHUNK: u64 = 32;

/// A read-only workload over the tables of a [`SmallBank`].
#[derive(Clone, Copy, Debug)]
pub struct Audit<'a> {
    bank: &'a SmallBank,
}

impl<'a> Audit<'a> {
    pub(super) fn new(bank: &'a SmallBank) -> Self {
        Audit { bank }
    }

    /// What the auditors found, against what the clients brought in.
    pub fn verdict(&self, clients: &[SmallBankClient], auditors: &[Auditor]) -> Result<(), Violation> {
        let found = self.complete(auditors)?;
        let expected = self.bank.expected_cents(clients);
        if found.cents != expected {
            return Err(Violation::Sum { expected, found: found.cents });
        }
        Ok(())
    }
}

impl Audit<'_> {
    /// What was found, if every account was read.
    fn complete(&self, auditors: &[Auditor]) -> Result<Found, Violation> {
        let found = auditors.iter().fold(Found::default(), |sum, auditor| sum.and(auditor.found));
        let accounts = 2 * self.bank.customers();
        if found.accounts != accounts {
            return Err(Violation::Incomplete { accounts, read: found.accounts });
        }
        Ok(found)
    }
}

impl Audited for SmallBank {
    type Audit<'a> = Audit<'a>;

    type Compilation = contract::OwnType;

    fn audit(&self) -> Option<Audit<'_>> {
        Some(Audit::new(self))
    }
}

impl crate::audit::Audit<SmallBankClient> for Audit<'_> {
    fn assign(&self, auditors: &mut [Auditor]) -> u64 {
        auditors.iter().map(|auditor| auditor.share.left()).max().expect("an audit without auditors")
    }

    fn verdict(&self, clients: &[SmallBankClient], auditors: &[Auditor]) -> Result<(), Finding> {
        Ok(Audit::verdict(self, clients, auditors)?)
    }

    fn verdict_of_anybody(&self, auditors: &[Auditor]) -> Result<(), Finding> {
        self.complete(auditors)?;
        Ok(())
    }
}

impl Workload for Audit<'_> {
    type Client = Auditor;

    fn tables(&self) -> Vec<TableDescription> {
        self.bank.tables()
    }

    fn fill(&self, table: TableId, key: Key, row: &mut [u8]) {
        self.bank.fill(table, key, row);
    }

    fn client(&self, seat: Seat) -> Auditor {
        Auditor { share: Share::new(seat, self.bank.customers(), CHUNK), found: Found::default() }
    }
}

/// Counts the money of its share of the customers.
#[derive(Clone, Debug)]
pub struct Auditor {
    share: Share,
    found: Found,
}

impl Client for Auditor {
    type Procedure = AuditTransaction;

    fn next(&mut self) -> AuditTransaction {
        AuditTransaction { customers: self.share.take(), found: Cell::default() }
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

/// Counts the money of one chunk of customers.
#[derive(Debug)]
pub struct AuditTransaction {
    customers: Chunk,
    found: Cell<Found>,
}

impl Procedure for AuditTransaction {
    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        let mut found = Found::default();
        for customer in self.customers.clone() {
            for table in [SAVINGS, CHECKING] {
                if let Some(account) = txn.read_row(table, Key(customer), Found::in_account)? {
                    found = found.and(account);
                }
            }
        }
        self.found.set(found);
        Ok(Outcome::Commit)
    }

    fn plan<T: Transaction + ?Sized>(&self, _txn: &mut T, plan: &mut Plan) -> Result<(), Abort> {
        for customer in self.customers.clone() {
            for table in [SAVINGS, CHECKING] {
                plan.touch(table, Key(customer), Span::whole(size_of::<Balance>()), Access::Read);
            }
        }
        Ok(())
    }
}

/// What was found in some accounts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Found {
    accounts: u64,
    cents: i64,
}

impl Found {
    fn in_account(balance: &Balance) -> Self {
        Found { accounts: 1, cents: balance.cents }
    }

    fn and(self, other: Found) -> Self {
        Found { accounts: self.accounts + other.accounts, cents: self.cents.wrapping_add(other.cents) }
    }
}

/// A bank whose money is not what the committed transactions left in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    /// Not every account was read: accounts are missing, or the audit was stopped early.
    Incomplete {
        /// Savings and checking accounts of all customers.
        accounts: u64,
        /// Accounts read.
        read: u64,
    },
    /// Money was lost, or made.
    Sum {
        /// Cents that the committed transactions leave in the bank.
        expected: i64,
        /// Cents found.
        found: i64,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Violation::Incomplete { accounts, read } => write!(f, "{read} of {accounts} accounts were read"),
            Violation::Sum { expected, found } => {
                write!(
                    f,
                    "the accounts hold {found} cents, where the committed transactions leave {expected}"
                )
            }
        }
    }
}

impl std::error::Error for Violation {}
