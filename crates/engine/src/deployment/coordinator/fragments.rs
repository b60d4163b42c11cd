//! A transaction that can run in fragments ([`crate::deployment::fragment`]) begins with sending them. Home runs meanwhile, and waits for an instance's transcript where it wants the first thing from
//! it.
//!
//! Fragments take everything elsewhere to be there, and everything that is inserted elsewhere to have been missing. Home notes whether it was so; if not, or home's run asks for what a transcript does not
//! have next, the fragments were wrong, and the transaction runs again by messages.

use super::{Branch, Coordinator, Distributed};
use crate::deployment::message::{Answer, Kind, Operation};
use crate::physical::Physical;
use crate::protocol::Protocol;
use contract::{Abort, AbortReason, Insertion, Presence, Procedure};

/// Where a branch is with its fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// It has none, and does what messages say.
    None,
    Running,
    /// Its transcript has come.
    Ran,
}

impl Coordinator {
    /// The branch at an instance, if it has a fragment.
    #[inline(always)]
    pub(super) fn fragment(&mut self, instance: usize) -> Option<&mut Branch> {
        let has_fragment =
            |branch: &&mut Branch| branch.instance == instance && branch.fragment != Progress::None;
        self.branches.iter_mut().find(has_fragment)
    }

    pub(super) fn has_fragments(&self) -> bool {
        self.branches.iter().any(|branch| branch.fragment != Progress::None)
    }

    pub(super) fn fragments_run(&self) -> bool {
        self.branches.iter().any(|branch| branch.fragment == Progress::Running)
    }

    /// What fragments did is of no use: the transaction runs again, by messages.
    #[cold]
    pub(super) fn fragments_were_wrong(&mut self) -> Abort {
        self.by_messages = true;
        self.aborted = Some(AbortReason::Undeclared);
        Abort(AbortReason::Undeclared)
    }

    /// Notes whether a row was found, as fragments take it to be.
    #[inline(always)]
    pub(super) fn finds(&mut self, presence: Presence) -> Presence {
        self.unforeseen |= presence == Presence::Missing;
        presence
    }

    /// Notes whether a row was inserted, as fragments take it to be.
    #[inline(always)]
    pub(super) fn inserts(&mut self, insertion: Insertion) -> Insertion {
        self.unforeseen |= insertion == Insertion::Exists;
        insertion
    }
}

impl<P: Protocol, F: Physical> Distributed<'_, '_, P, F>
where
    P::Common<F>: Sync,
{
    /// Notes what the last answer says of a fragment, if it does, and says whose it is.
    pub(super) fn note(&mut self) -> usize {
        let (instance, answer) = self.answered();
        let reason = match answer {
            Answer::Aborted(reason) => Some(reason),
            _ => None,
        };
        if let Some(branch) = self.coordinator.fragment(instance)
            && branch.fragment == Progress::Running
        {
            branch.fragment = Progress::Ran;
            match reason {
                Some(AbortReason::Undeclared) => {
                    self.coordinator.is_gone(instance);
                    let _ = self.coordinator.fragments_were_wrong();
                }
                Some(reason) => {
                    self.coordinator.is_gone(instance);
                    self.coordinator.aborted.get_or_insert(reason);
                }
                None => {
                    let Coordinator { transcripts, answer, .. } = &mut *self.coordinator;
                    let has_voted = transcripts[instance].take(answer);
                    self.coordinator.branch(instance).has_voted = has_voted;
                }
            }
        }
        instance
    }

    /// Sends the procedure to the other instances that have something of it, if it can run there.
    pub(super) fn send_fragments<Pr: Procedure>(&mut self, procedure: &Pr) {
        if !self.coordinator.one_shot || self.coordinator.by_messages {
            return;
        }
        if procedure.home_of_fragments().is_some_and(|(table, key)| self.away(table, key).is_some()) {
            return;
        }
        // A branch is there once its fragment is sent, and not before: the procedure may panic, and nobody would answer.
        let mut reached = std::mem::take(&mut self.coordinator.reached);
        reached.clear();
        let can = procedure.runs_in_fragments(&mut |table, key| {
            if let Some(instance) = self.away(table, key)
                && !reached.contains(&instance)
            {
                reached.push(instance);
            }
        });
        if can && !reached.is_empty() {
            let mut encoded = std::mem::take(&mut self.coordinator.encoded);
            encoded.clear();
            procedure.encode(&mut encoded);
            for &instance in &reached {
                self.send(instance, Operation::Run(&encoded));
                self.coordinator.branch(instance).fragment = Progress::Running;
            }
            self.coordinator.encoded = encoded;
        }
        self.coordinator.reached = reached;
    }

    /// Waits until all fragments have run; if one could not, or they are not those of what home did, the transaction can only be aborted.
    pub(super) fn fragments_have_run(&mut self) -> Result<(), Abort> {
        while self.coordinator.fragments_run() {
            self.receive_from_any();
        }
        self.alive()?;
        let Coordinator { branches, transcripts, unforeseen, .. } = &*self.coordinator;
        let has_more =
            |branch: &Branch| branch.fragment == Progress::Ran && !transcripts[branch.instance].is_over();
        if *unforeseen && self.coordinator.has_fragments() || branches.iter().any(has_more) {
            return Err(self.coordinator.fragments_were_wrong());
        }
        Ok(())
    }

    /// What the next operation of the fragment there has found.
    pub(super) fn replay(
        &mut self,
        instance: usize,
        kind: Kind,
        operation: Operation<'_>,
    ) -> Result<Answer<'_>, Abort> {
        while let Some(branch) = self.coordinator.fragment(instance)
            && branch.fragment == Progress::Running
        {
            self.receive_from_any();
        }
        self.alive()?;
        self.coordinator.branch(instance).has_written |= operation.writes();
        let (table, key) = operation.on();
        match self.coordinator.transcripts[instance].advance(kind, table, key) {
            true => Ok(self.coordinator.transcripts[instance].found()),
            false => Err(self.coordinator.fragments_were_wrong()),
        }
    }
}
