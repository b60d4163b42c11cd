//! Commit and abort.
//!
//! Commit is two steps, [`Txn::prepare`] and [`Txn::decide`]. A transaction that is prepared holds all that it needs to commit
//! or to abort, whatever others do; nothing of it is visible to them except what locks hide. Everything that waits for somebody
//! else's word stands between the two. To commit is to decide at once.
//!
//! The phases are the same for every protocol; those that its way of access has no use for vanish:
//! 1. prepare: exclude others from the write set, certify or lock it; choose the id; validate what was read; apply merges, which
//!    are the workload's and may panic, to private copies;
//! 2. install private copies;
//! 3. release everything.
//!
//! Only the first can fail, and aborts then.

use super::Txn;
use super::access::{Access as _, AccessOf};
use super::access_set::Kind;
use crate::architecture::Architecture;
use crate::protocol::Mode;
use contract::{Abort, CommitId, TimeClass};

/// A transaction that is prepared; to be decided.
#[must_use = "a prepared transaction excludes others until it is decided"]
pub(crate) struct Prepared {
    /// Of the versions that it writes.
    version: u64,
}

/// What becomes of a prepared transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    Commit,
    Abort,
}

impl<A: Architecture> Txn<'_, A> {
    /// Makes the transaction's effects visible, or aborts it.
    #[inline(always)]
    pub fn commit(&mut self) -> Result<(), Abort> {
        let prepared = self.prepare()?;
        self.decide(prepared, Decision::Commit);
        Ok(())
    }

    /// Excludes others from what the transaction has written, where it does not yet: the first part of [`Txn::prepare`], which does the rest. It aborts
    /// if this fails.
    pub fn lock(&mut self) -> Result<(), Abort> {
        self.stopwatch.enter(TimeClass::Manager);
        self.alive()?;
        AccessOf::<A>::lock(self)
    }

    /// See [`Access::locks_all_it_touched`](super::access::Access::locks_all_it_touched).
    pub fn locks_all_it_touched(&self) -> bool {
        AccessOf::<A>::locks_all_it_touched(self)
    }

    /// Makes sure that the transaction can commit, or aborts it. Until it is decided it touches nothing more.
    #[inline(always)]
    pub fn prepare(&mut self) -> Result<Prepared, Abort> {
        self.stopwatch.enter(TimeClass::Manager);
        match self.alive().and_then(|()| AccessOf::<A>::prepare(self)) {
            Ok(version) => Ok(Prepared { version }),
            Err(abort) => {
                self.abort();
                Err(abort)
            }
        }
    }

    /// Makes a prepared transaction's effects visible, or undoes them.
    #[inline(always)]
    pub fn decide(&mut self, prepared: Prepared, decision: Decision) {
        if decision == Decision::Abort {
            return self.abort();
        }
        self.log_rows();
        self.keep_versions();
        self.retire_replaced();
        AccessOf::<A>::install(self, prepared.version);
        AccessOf::<A>::release_all(self, prepared.version);
        self.prune_emptied();
        self.release_all();
        self.log_copies();
        self.forget();
    }

    /// Draws the transaction's id, where ids are asked for: see [`crate::commit_id`]; before it, where it is logged, or there are snapshots,
    /// it reads its epoch: see [`crate::durability`].
    #[inline(always)]
    pub(super) fn draw_epoch_and_id(&mut self) {
        self.draw_epoch();
        self.draw_id();
    }

    /// Reads the transaction's epoch, where that matters.
    #[inline(always)]
    pub(super) fn draw_epoch(&mut self) {
        if self.redo().is_some() || self.keeps_versions {
            let epoch = self.serialization_point();
            self.commits_in(epoch);
        }
    }

    /// See [`crate::epoch::Epochs::serialization_point`].
    #[inline(always)]
    pub fn serialization_point(&self) -> u64 {
        match A::DECIDES_ELSEWHERE {
            true => self.epochs.serialization_point_of_instance(),
            false => self.epochs.serialization_point(),
        }
    }

    /// Draws the transaction's id, where ids are asked for.
    #[inline(always)]
    pub(super) fn draw_id(&mut self) {
        if let Some(ids) = self.ids {
            self.id = Some(ids.draw());
        }
    }

    /// The id of the transaction that has committed, if ids are asked for; until the next begins.
    pub fn commit_id(&self) -> Option<CommitId> {
        self.id
    }

    /// Undoes the transaction's effects by the procedure's will; an abort if it is poisoned.
    pub fn roll_back(&mut self) -> Result<(), Abort> {
        let alive = self.alive();
        self.abort();
        alive
    }

    /// Ends a look, which has read and not written.
    #[inline(always)]
    pub fn end_reconnaissance(&mut self) {
        if !self.accesses.is_empty() || !self.gaps.is_empty() || self.aside.is_some() {
            self.abort();
        } else {
            self.release_all();
        }
    }

    /// Undoes the transaction's effects; after a failed operation, or by the procedure's will.
    #[cold]
    pub fn abort(&mut self) {
        if self.has_begun_snapshot() {
            // There is nothing to undo.
            self.end_snapshot();
            return;
        }
        self.stopwatch.enter(TimeClass::Manager);
        self.retire_made();
        self.leave_versions();
        self.unmake_versions_ahead();
        AccessOf::<A>::undo(self);
        for position in 0..self.accesses.len() {
            match self.accesses[position].kind {
                Kind::Insert | Kind::Vanished => self.remove(position, 0),
                // A delete is not to be.
                Kind::Write | Kind::Delete => AccessOf::<A>::release(self, position, Mode::Exclusive),
                Kind::Read => AccessOf::<A>::release(self, position, Mode::Shared),
                Kind::Absent => {}
            }
        }
        AccessOf::<A>::release_gaps(self);
        self.prune_emptied();
        self.forget();
        self.release_all();
        self.aside = None;
    }

    /// After a panic between the steps of a decision, of which nobody knows what it has done: the transaction is forgotten, with what it
    /// holds, and nothing of it is logged.
    #[cold]
    pub fn break_off(&mut self) {
        if let Some(redo) = &mut self.redo {
            redo.break_off();
        }
        AccessOf::<A>::abandon(self);
        self.made_versions.clear();
        self.ahead.clear();
        self.emptied.clear();
        self.forget();
        self.release_all();
        self.aside = None;
    }

    /// Removes what was deleted, where there is nothing else to give back.
    #[inline(always)]
    pub(super) fn remove_deleted(&mut self, id: u64) {
        if self.deletes {
            self.remove_all_deleted(id);
        }
    }

    fn remove_all_deleted(&mut self, id: u64) {
        for number in 0..self.write_set.len() {
            let position = self.write_set[number] as usize;
            if matches!(self.accesses[position].kind, Kind::Delete | Kind::Vanished) {
                self.remove(position, id);
            }
        }
    }

    /// Nothing is held any more, once what was sent off has arrived.
    #[inline(always)]
    pub(super) fn release_all(&mut self) {
        AccessOf::<A>::leave(self);
        if A::MIGRATES {
            let before = self.stopwatch.enter(TimeClass::Wait);
            self.architecture.release_all();
            self.stopwatch.enter(before);
        } else {
            self.architecture.release_all();
        }
        self.stopwatch.holds_nothing();
    }

    #[inline(always)]
    pub(super) fn forget(&mut self) {
        self.accesses.clear();
        self.gaps.clear();
        self.write_set.clear();
        self.deletes = false;
        self.prepared = 0;
    }
}
