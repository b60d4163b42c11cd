//! Two-phase commit, at home: all instances are asked to prepare, and told what is decided.
//!
//! Home is prepared before the branches are asked, or after one that locks and validates in one round; why, is told in [`crate::deployment`]. A branch that has voted with its fragment is not asked.

use super::{Branch, Distributed};
use crate::deployment::message::{Answer, Operation, Vote};
use crate::physical::Physical;
use crate::protocol::Protocol;
use crate::transaction::{Decision, Prepared};
use contract::{Abort, DeploymentCanary};

impl<P: Protocol, F: Physical> Distributed<'_, '_, P, F>
where
    P::Common<F>: Sync,
{
    /// Has branches do something at the same time, and waits for all; those that are gone then are forgotten. The first reason to abort, if there is one.
    fn ask_all(&mut self, operation: Operation<'_>, which: impl Fn(&Branch) -> bool) -> Result<(), Abort> {
        let mut asked = 0;
        for number in 0..self.coordinator.branches.len() {
            let branch = &self.coordinator.branches[number];
            if which(branch) {
                self.send(branch.instance, operation);
                asked += 1;
            }
        }
        let mut came = Ok(());
        for number in 0..asked {
            self.receive();
            let (instance, answer) = self.answered();
            match answer {
                Answer::Aborted(reason) => {
                    self.coordinator.is_gone(instance);
                    let is_too_late =
                        self.coordinator.canary == Some(DeploymentCanary::EarlyDecision) && number > 0;
                    if !is_too_late {
                        came = came.and(Err(Abort(reason)));
                    }
                }
                Answer::Votes(Vote::ReadOnly) => self.coordinator.is_gone(instance),
                Answer::Votes(Vote::Prepared) | Answer::Locked => {}
                answer => unreachable!("{answer:?} to {operation:?}"),
            }
        }
        came
    }

    /// Makes sure that all instances can commit. If not, home has aborted, and branches may be left.
    fn prepare(&mut self) -> Result<Prepared, Abort> {
        self.or_abort(Self::fragments_have_run)?;
        let has_not_voted = |branch: &Branch| !branch.has_voted;
        // Where all is locked, home draws its id before a branch that has only read lets go.
        if !Self::LOCKS_WHEN_TOUCHED {
            self.or_abort(|this| this.home.lock())?;
            let left = self.coordinator.branches.iter().filter(|branch| has_not_voted(branch)).count();
            if left == 1 && self.home.ids.is_none() {
                self.or_abort(|this| this.ask_all(Operation::Prepare(None), has_not_voted))?;
                return self.home.prepare();
            }
            // An id is drawn once all is locked, and before anything is validated that is not.
            let is_unlocked = |branch: &Branch| branch.has_written && has_not_voted(branch);
            self.or_abort(|this| this.ask_all(Operation::Lock, is_unlocked))?;
        }
        let prepared = self.home.prepare()?;
        let id = self.home.commit_id().filter(|_| self.home.architecture.leaves_process());
        match self.ask_all(Operation::Prepare(id), has_not_voted) {
            Ok(()) => Ok(prepared),
            Err(abort) => {
                self.home.decide(prepared, Decision::Abort);
                Err(abort)
            }
        }
    }

    /// Does something before home is prepared; if it cannot be done, home aborts.
    fn or_abort(&mut self, step: impl FnOnce(&mut Self) -> Result<(), Abort>) -> Result<(), Abort> {
        step(self).inspect_err(|_| self.home.abort())
    }

    /// Aborts the branches that are left.
    pub(super) fn abort_branches(&mut self) {
        while self.coordinator.fragments_run() && self.try_to_receive().is_some() {
            self.note();
        }
        self.tell(Operation::Abort);
    }

    /// Tells the branches that are left what becomes of them.
    fn tell(&mut self, decision: Operation<'_>) {
        while let Some(Branch { instance, .. }) = self.coordinator.branches.pop() {
            // What is pending is of no use any more.
            let message = &mut self.coordinator.pending[instance];
            message.clear();
            message.ask(decision);
            self.home.architecture.post_to_branch(instance, message.bytes());
            message.clear();
        }
    }

    pub(super) fn commit(&mut self) -> Result<(), Abort> {
        match self.prepare() {
            Ok(prepared) => {
                self.home.commits_not_before(self.coordinator.latest);
                let place = self.home.place_in_log();
                self.home.decide(prepared, Decision::Commit);
                self.tell(Operation::Commit(place));
                Ok(())
            }
            Err(abort) => {
                self.abort_branches();
                Err(abort)
            }
        }
    }

    pub(super) fn abort(&mut self) {
        self.abort_branches();
        self.home.abort();
    }
}
