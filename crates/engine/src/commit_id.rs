//! Ids of committed transactions, for those who ask ([`EngineOptions::commit_ids`](contract::EngineOptions)), and for the log: of two that conflict, the later one has the
//! larger id.
//!
//! An id is drawn while the transaction is prepared: when it holds all its locks, under two-phase locking; when it holds the locks
//! of its write set and before it validates, under SILO. Of two transactions that conflict, the second draws after the first: it
//! could lock, or see, what the first one wrote only when that released it, having drawn before; and if it overwrites what the
//! first one read, it locked that after the first one had released or validated it, having drawn before. So any source will do
//! that gives larger ids to those who draw later:
//!
//! - the time-stamp counter, read in order, where the cores' counters agree: it costs no line that cores share;
//! - a counter that all share elsewhere, as in explorations, and for those who want to know what that costs
//!   ([`EngineOptions::global_ids`](contract::EngineOptions); *silo* 5.2).
//!
//! The ids of TICTOC are not drawn: its order is one of logical time, and a transaction's commit time is its id. Under TIMESTAMP and MVCC it is
//! the timestamp that the transaction began with; under HEKATON its end, or its begin if it has written nothing.

use crate::epoch::Line;
use crate::facade::atomic::{AtomicU64, Ordering};
use crate::facade::clock;
use contract::CommitId;

/// Where a run's ids come from.
pub(crate) enum CommitIds {
    Clock,
    Counter(Line<AtomicU64>),
}

impl CommitIds {
    /// The source for a run.
    pub fn new() -> CommitIds {
        match clock::is_one_for_all_cores() {
            true => CommitIds::Clock,
            false => CommitIds::counter(),
        }
    }

    /// A counter that all share, wherever it runs.
    pub fn counter() -> CommitIds {
        CommitIds::Counter(Line(AtomicU64::new(1)))
    }

    /// The next id.
    #[inline]
    pub fn draw(&self) -> CommitId {
        CommitId(match self {
            CommitIds::Clock => clock::now_in_order().0,
            // SeqCst: in one order with the locks before it and the looks of a validation after it.
            CommitIds::Counter(next) => next.0.fetch_add(1, Ordering::SeqCst),
        })
    }
}
