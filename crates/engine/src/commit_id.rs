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
//! Instances that are processes have sources of their own, of which none knows of the others' (clocks of different hosts have nothing to do with each other): as with Lamport's clocks, who is told of an id goes on behind it
//! ([`CommitIds::raise`]). An answer of a participant tells the last id there, which is that of all that has released anything before; its coordinator draws after all of them. Before
//! a participant validates, and before it releases, it is told the id of its transaction: so whoever can lock what that has touched finds the source behind it.
//!
//! The ids of TICTOC are not drawn: its order is one of logical time, and a transaction's commit time is its id. Under TIMESTAMP and MVCC it is
//! the timestamp that the transaction began with; under HEKATON its end, or its begin if it has written nothing.

use crate::epoch::Line;
use crate::facade::atomic::{AtomicU64, Ordering};
use crate::facade::clock;
use contract::CommitId;

/// Where a run's ids come from.
pub(crate) enum CommitIds {
    /// And what is to be added to it: nothing at first, unless another host's clock is rehearsed; little changes that.
    Clock {
        ahead: Line<AtomicU64>,
    },
    Counter(Line<AtomicU64>),
}

impl CommitIds {
    /// The source for a run.
    pub fn new() -> CommitIds {
        match clock::is_one_for_all_cores() {
            true => CommitIds::Clock { ahead: Line(AtomicU64::new(clock::ticks_ahead())) },
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
            // SeqCst: as below; what a raise before the locks has written is added.
            CommitIds::Clock { ahead } => clock::now_in_order().0 + ahead.0.load(Ordering::SeqCst),
            // SeqCst: in one order with the locks before it and the looks of a validation after it.
            CommitIds::Counter(next) => next.0.fetch_add(1, Ordering::SeqCst),
        })
    }

    /// An id that none drawn before exceeds.
    pub fn last(&self) -> CommitId {
        match self {
            CommitIds::Clock { .. } => self.draw(),
            // SeqCst: as in `draw`.
            CommitIds::Counter(next) => CommitId(next.0.load(Ordering::SeqCst) - 1),
        }
    }

    /// Every id that is drawn from now on is larger than this one, of another instance.
    pub fn raise(&self, CommitId(told): CommitId) {
        match self {
            CommitIds::Clock { ahead } => {
                let now = clock::now_in_order().0;
                // SeqCst, here and below: as in `draw`, in whose place it stands.
                if now + ahead.0.load(Ordering::SeqCst) <= told {
                    ahead.0.fetch_max(told.saturating_add(1) - now, Ordering::SeqCst);
                }
            }
            CommitIds::Counter(next) => {
                next.0.fetch_max(told.saturating_add(1), Ordering::SeqCst);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_told_of_an_id_goes_on_behind_it() {
        for ids in [CommitIds::counter(), CommitIds::new()] {
            let first = ids.draw();
            assert!(ids.last() >= first);
            ids.raise(CommitId(first.0 + (1 << 40)));
            let raised = ids.draw();
            assert!(raised.0 > first.0 + (1 << 40));
            ids.raise(first);
            assert!(ids.draw() > raised && ids.last() > raised, "an id that is past changes nothing");
        }
    }
}
