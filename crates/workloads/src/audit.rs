//! Whether a run left in the tables what it should have: a workload's own invariants, read through transactions of the
//! engine that ran it.
//!
//! An audit is a read-only workload over the same tables, and a verdict. So it needs nothing of an engine but to be driven,
//! and what it reads has gone the same way as everything else. The harness makes a client of the audit for each worker that
//! hosts transactions, and then, over a store that nobody else uses:
//!
//! ```
//! # use workloads::audit::Audit;
//! # use contract::Client;
//! # fn audited<C: Client, A: Audit<C>>(audit: &A, clients: &[C], mut auditors: Vec<A::Client>,
//! #     run: impl Fn(Vec<A::Client>, u64) -> Vec<A::Client>) -> Result<(), workloads::audit::Finding> {
//! loop {
//!     let transactions = audit.assign(&mut auditors);
//!     if transactions == 0 {
//!         break audit.verdict(clients, &auditors);
//!     }
//!     // Until::Transactions(transactions)
//!     auditors = run(auditors, transactions);
//! }
//! # }
//! ```
//!
//! More than one round is for audits that must read some rows to know which others there are.

use contract::{
    Abort, Client, Compilation, Key, Outcome, Plan, Procedure, Seat, TableDescription, TableId, Transaction,
    Workload,
};
use std::error::Error;

/// What is wrong, in words.
pub type Finding = Box<dyn Error + Send + Sync>;

/// A workload that may know what must hold of its tables after a run.
pub trait Audited: Workload {
    /// How that is checked.
    type Audit<'a>: Audit<Self::Client>
    where
        Self: 'a;

    /// How often the engine is compiled for it.
    type Compilation: Compilation;

    /// A workload over the same tables that checks it; `None`: nothing is known.
    fn audit(&self) -> Option<Self::Audit<'_>>;

    /// Whether a store that was loaded for `other`, and is as new, is as good as one that is loaded for this.
    fn loads_as(&self, other: &Self) -> bool {
        let _ = other;
        false
    }
}

/// A read-only workload that checks what clients `C` left in the tables. Its clients are auditors.
pub trait Audit<C>: Workload {
    /// Shares out what is still to be read. So many transactions every auditor must end in one run, after which there may
    /// be more; 0: all is read.
    fn assign(&self, auditors: &mut [Self::Client]) -> u64;

    /// What the auditors found, against `clients`: all those that ran over the store since it was loaded.
    fn verdict(&self, clients: &[C], auditors: &[Self::Client]) -> Result<(), Finding>;

    /// What holds and what does not of that which must hold whoever ran, by name, where it has names; nothing by default.
    fn conditions(&self, auditors: &[Self::Client]) -> Vec<(String, Result<(), Finding>)> {
        let _ = auditors;
        Vec::new()
    }

    /// What the auditors found that nobody's transactions can have left, if each was done as a whole or not at all: of a store
    /// that was recovered.
    fn verdict_of_anybody(&self, auditors: &[Self::Client]) -> Result<(), Finding>;
}

/// The audit of a workload that has none, of which there is no value.
#[derive(Clone, Copy, Debug)]
pub enum Unaudited {}

impl<C> Audit<C> for Unaudited {
    fn assign(&self, _auditors: &mut [Unaudited]) -> u64 {
        match *self {}
    }

    fn verdict(&self, _clients: &[C], _auditors: &[Unaudited]) -> Result<(), Finding> {
        match *self {}
    }

    fn verdict_of_anybody(&self, _auditors: &[Unaudited]) -> Result<(), Finding> {
        match *self {}
    }
}

impl Workload for Unaudited {
    type Client = Unaudited;

    fn tables(&self) -> Vec<TableDescription> {
        match *self {}
    }

    fn fill(&self, _table: TableId, _key: Key, _row: &mut [u8]) {
        match *self {}
    }

    fn client(&self, _seat: Seat) -> Unaudited {
        match *self {}
    }
}

impl Client for Unaudited {
    type Procedure = Unaudited;

    fn next(&mut self) -> Unaudited {
        match *self {}
    }
}

impl Procedure for Unaudited {
    fn run<T: Transaction + ?Sized>(&self, _txn: &mut T) -> Result<Outcome, Abort> {
        match *self {}
    }

    fn plan<T: Transaction + ?Sized>(&self, _txn: &mut T, _plan: &mut Plan) -> Result<(), Abort> {
        match *self {}
    }
}
