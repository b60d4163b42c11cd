//! A main-memory store with serializable transactions, durable by epochs, embedded in a Rust program: the engine of
//! [Trireme](https://github.com/trireme-db/trireme), as it is measured there.
//!
//! ```
//! use trireme::{Database, Error, Table};
//!
//! const BALANCES: Table<u64, i64> = Table::new("balances");
//!
//! fn main() -> Result<(), Error> {
//!     # let folder = tempfile::tempdir().expect("a folder");
//!     # let folder = folder.path().join("bank");
//!     let db = Database::open(folder)?;
//!     let balances = db.table(BALANCES)?;
//!     db.transact(|tx| tx.upsert(balances, 7, &100))?;
//!     let rest = db.transact(|tx| tx.update(balances, 7, |balance| { *balance -= 30; *balance }))?;
//!     assert_eq!(rest, Some(70));
//!     Ok(())
//! }
//! ```
//!
//! - **All transactions are serializable**, from any number of threads, and all data is in memory: the folder has the log from which it
//!   is recovered. [`Database::transact`] runs a closure until it commits, so it may run it more than once.
//! - **A commit is durable with its epoch**: `transact` returns when the epoch, a few milliseconds long, is written and synced with all
//!   that others committed in it; [`Database::submit`] returns at once, with a [`Ticket`] to wait for or to await. [`Durability`] says
//!   what survives.
//! - **Tables are typed**: a [`Table`] has a type of [keys](Key), which are kept in their order, and one of [values](Value). An
//!   [`Index`] is kept with its table.
//! - **To be fast**: a transaction that knows its keys begins with [`Transaction::prefetch`]; a table that is used by key only is
//!   [hashed](Table::hashed); many rows are read by [`Transaction::scan_with`].

#![forbid(unsafe_code)]

mod builder;
mod database;
mod error;
mod fill;
mod indexed;
mod key;
mod pool;
mod range;
mod reading;
mod registry;
mod retry;
mod servants;
mod snapshot;
mod stats;
mod store;
mod table;
mod ticket;
mod transaction;
mod value;
mod verify;
mod walk;

pub use builder::Builder;
pub use contract::{
    AbortReason, ArchitectureName, Backup, CheckpointReport, Durability, LogError, LogReport, ProtocolName,
    Recovered,
};
pub use database::Database;
pub use engine::embedded::OpenError;
pub use error::Error;
pub use key::{Key, MAX_KEY_BYTES};
pub use range::Range;
pub use retry::RetryPolicy;
pub use snapshot::Snapshot;
pub use stats::Stats;
pub use table::{Index, OpenIndex, OpenTable, Table, TableInfo};
pub use ticket::Ticket;
pub use transaction::Transaction;
pub use value::{Bytes, MAX_VALUE_BYTES, Row, Serde, Value};
pub use verify::Verified;

/// The example of the README runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
