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
use std::iter::StepBy;
use std::ops::Range;

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

/// What an auditor is to read of a table whose keys are the numbers of its rows, and partitioned by their remainders.
///
/// A chunk is of one part of the keys, and the auditor whose home that is reads it, if there are as many auditors as parts, or a multiple. So nobody asks other partitions or
/// instances for what their own auditors have.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    rows: u64,
    /// Rows of a chunk at most.
    most: u64,
    homes: u64,
    /// Its next chunk, of those of all.
    pub next: u64,
    stride: u64,
}

/// The keys of a chunk.
pub(crate) type Chunk = StepBy<Range<u64>>;

impl Share {
    /// That of the auditor at this seat.
    pub fn new(seat: Seat, rows: u64, most: u64) -> Self {
        Share { rows, most, homes: seat.homes.into(), next: seat.worker as u64, stride: seat.workers as u64 }
    }

    /// Chunks that it has not taken yet.
    pub fn left(&self) -> u64 {
        let all = self.homes * self.rows.div_ceil(self.homes).div_ceil(self.most);
        all.saturating_sub(self.next).div_ceil(self.stride)
    }

    /// The next chunk; of a share of which nothing is left, an empty one.
    pub fn take(&mut self) -> Chunk {
        let of_part = self.homes.saturating_mul(self.most);
        let first = (self.next / self.homes).saturating_mul(of_part).saturating_add(self.next % self.homes);
        self.next = self.next.saturating_add(self.stride);
        let end = self.rows.min(first.saturating_add(of_part));
        (first.min(end)..end).step_by(self.homes as usize)
    }
}

#[cfg(test)]
mod share {
    use super::*;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    proptest! {
        #[test]
        fn shares_have_every_key_once_and_are_at_home(
            rows in 1..5000u64,
            most in 1..70u64,
            homes in 1..20u32,
            times in 1..4usize,
            workers in 1..30usize,
            fits in any::<bool>(),
        ) {
            let workers = if fits { homes as usize * times } else { workers };
            let mut read = Vec::new();
            for worker in 0..workers {
                let seat = Seat::new(worker, workers, 1).over(homes);
                let mut share = Share::new(seat, rows, most);
                for _ in 0..share.left() {
                    let chunk = share.take();
                    prop_assert!(chunk.clone().count() as u64 <= most);
                    prop_assert!(!fits || chunk.clone().all(|key| key % u64::from(homes) == u64::from(seat.home().0)));
                    read.extend(chunk);
                }
                prop_assert_eq!((share.left(), share.take().count()), (0, 0));
            }
            read.sort_unstable();
            prop_assert_eq!(read, (0..rows).collect::<Vec<_>>());
        }
    }
}
