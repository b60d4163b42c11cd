//! What can go wrong, and whether it is worth another try.

use crate::registry::SEPARATOR;
use contract::{AbortReason, LogError};
use engine::embedded::OpenError;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// Why a database did not do what it was asked to. Nothing has changed, unless it says otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The transaction met another one and was undone. [`Database::transact`](crate::Database::transact) runs it again by itself.
    Aborted(AbortReason),
    /// It was aborted as often, or for as long, as the [`RetryPolicy`](crate::RetryPolicy) allows.
    GaveUp {
        /// How often it was begun.
        attempts: u32,
        /// For how long.
        after: Duration,
        /// Why it was aborted the last time.
        reason: AbortReason,
    },
    /// The key has a value already.
    Exists {
        /// Of this table.
        table: String,
    },
    /// Another row has the key in a unique index. The transaction cannot go on.
    NotUnique {
        /// The index.
        index: String,
    },
    /// A key that is too long.
    KeyTooLong {
        /// Its bytes, as they are stored.
        bytes: usize,
    },
    /// A value that is too long.
    ValueTooLong {
        /// Its bytes.
        bytes: usize,
    },
    /// The transaction has touched as many rows as one may. It cannot go on.
    TooLarge {
        /// So many.
        most: usize,
    },
    /// The transaction has written as many bytes as one may, keys included: a gibibyte, nearly. It cannot go on.
    WritesTooMuch {
        /// So many.
        most: usize,
    },
    /// A value that serde does not serialize.
    Serialize {
        /// Its words.
        why: String,
    },
    /// What is stored is no value of the table's type. A transaction cannot go on.
    Unreadable {
        /// The table.
        table: String,
    },
    /// The write would pass the memory limit. Reading and removing go on.
    Memory {
        /// The limit in bytes.
        limit: u64,
        /// Bytes that are taken.
        taken: u64,
    },
    /// No table can have this name: a `/` stands between the name of a table and that of its index.
    Name {
        /// The name.
        table: String,
    },
    /// A table is there, and is of another type.
    Schema {
        /// Its name.
        table: String,
        /// The schema that is stored.
        stored: String,
        /// The one that was asked for.
        asked: String,
    },
    /// There is no table of this name, or it was dropped.
    NoTable {
        /// The name, or the number of a table that was dropped.
        table: String,
    },
    /// A hashed table has no order.
    NotOrdered {
        /// The table.
        table: String,
    },
    /// A handle of another database was used.
    OtherDatabase,
    /// The table has an index that this process has not opened, and so cannot keep.
    IndexNotOpen {
        /// The table.
        table: String,
        /// The index.
        index: String,
    },
    /// An index does not have what its table has.
    Inconsistent {
        /// The index.
        index: String,
        /// What differs.
        why: String,
    },
    /// This thread has a transaction open, and begins no other of the same database. Nor can tables be made or dropped, and checkpoints be
    /// taken, by a thread that has a transaction or a snapshot open.
    InTransaction,
    /// All slots are taken ([`Builder::slots`](crate::Builder::slots)), and this thread has one of them, for a snapshot: it does not wait for
    /// another one, because it might be itself who is waited for.
    NoSlot,
    /// Other handles of the database are still there.
    InUse,
    /// The database keeps no snapshots.
    NoSnapshots,
    /// The database has no folder, and so nothing to write there.
    InMemory,
    /// Another process has the database open, or this one has it already.
    Locked {
        /// Its folder.
        folder: PathBuf,
    },
    /// The log could not be written. What is durable stays; nothing becomes durable any more, and nothing is written.
    LogStopped {
        /// Why.
        why: String,
    },
    /// The database could not be opened, or its folder not be written to.
    Open(OpenError),
}

impl Error {
    /// Whether the same transaction may succeed if it is run again.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Error::Aborted(_) | Error::GaveUp { .. })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Aborted(reason) => write!(f, "aborted: {}", reason.name()),
            Error::GaveUp { attempts, after, reason } => write!(
                f,
                "gave up after {attempts} attempts in {after:?}, the last of which was aborted: {}",
                reason.name()
            ),
            Error::Exists { table } => write!(f, "table '{table}' has this key already"),
            Error::NotUnique { index } => write!(f, "another row has this key in the unique index '{index}'"),
            Error::KeyTooLong { bytes } => {
                let most = crate::MAX_KEY_BYTES;
                write!(f, "a key of {bytes} bytes as it is stored; up to {most} are allowed")
            }
            Error::ValueTooLong { bytes } => {
                write!(f, "a value of {bytes} bytes; up to {} are allowed", crate::MAX_VALUE_BYTES)
            }
            Error::TooLarge { most } => {
                write!(f, "the transaction touches more than {most} rows, keys and entries; use several")
            }
            Error::WritesTooMuch { most } => {
                write!(f, "the transaction writes more than {most} bytes of keys and values; use several")
            }
            Error::Serialize { why } => write!(f, "the value cannot be serialized: {why}"),
            Error::Unreadable { table } => write!(f, "table '{table}' has a value that is not of its type"),
            Error::Memory { limit, taken } => {
                write!(f, "{taken} bytes of memory are taken, and the limit is {limit}: nothing is added")
            }
            Error::Name { table } => {
                write!(f, "no table can be called '{table}'; allowed: a name without '{SEPARATOR}'")
            }
            Error::Schema { table, stored, asked } => {
                write!(f, "table '{table}' is stored as {stored}, and was asked for as {asked}")
            }
            Error::NoTable { table } => write!(f, "there is no table '{table}'"),
            Error::NotOrdered { table } => {
                write!(
                    f,
                    "table '{table}' is hashed: it has no ranges, and no indexes of rows that are there already"
                )
            }
            Error::OtherDatabase => f.write_str("the table is one of another database"),
            Error::IndexNotOpen { table, index } => {
                write!(
                    f,
                    "table '{table}' has index '{index}', which has to be opened before rows are written"
                )
            }
            Error::Inconsistent { index, why } => write!(f, "index '{index}' is not as its table: {why}"),
            Error::InTransaction => f.write_str(
                "this thread has a transaction or a snapshot open, which has to end before another transaction begins, tables are made or dropped, or \
                 a checkpoint is taken",
            ),
            Error::NoSlot => f.write_str(
                "all slots are taken, and this thread has one of them: end its snapshot, or open the database with more (Builder::slots)",
            ),
            Error::InUse => f.write_str("the database is still in use"),
            Error::NoSnapshots => f.write_str(
                "the database keeps no snapshots: open it with Builder::snapshots, and a protocol that has them, which TICTOC has not",
            ),
            Error::InMemory => f.write_str("the database is in memory only: it has no log, and no checkpoints"),
            Error::Locked { folder } => {
                write!(f, "the database in {} is open already, here or in another process", folder.display())
            }
            Error::LogStopped { why } => {
                write!(f, "{why}; what is durable stays so, and nothing is written any more")
            }
            Error::Open(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<OpenError> for Error {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Log(LogError::Locked { folder }) => Error::Locked { folder },
            error => Error::Open(error),
        }
    }
}

impl From<contract::Abort> for Error {
    fn from(contract::Abort(reason): contract::Abort) -> Self {
        Error::Aborted(reason)
    }
}
