//! What a database has done, and what it has.

use contract::{AbortReason, LogReport};

/// What a database has done since it was opened, and what it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Transactions that have committed.
    pub commits: u64,
    /// Those that were undone by their own will.
    pub roll_backs: u64,
    /// Attempts that were aborted, by reason.
    pub(crate) aborts: [u64; AbortReason::ALL.len()],
    /// Bytes of memory taken by tables and indexes.
    pub memory_bytes: u64,
    /// What was logged; `None` in memory.
    pub log: Option<LogReport>,
}

impl Stats {
    /// Attempts that were aborted, by reason.
    pub fn aborts(&self) -> impl Iterator<Item = (AbortReason, u64)> {
        AbortReason::ALL.into_iter().zip(self.aborts)
    }
}
