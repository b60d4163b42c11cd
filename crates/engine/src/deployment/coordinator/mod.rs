//! A transaction with branches, at home: its operations, and two-phase commit ([`super`]).
//!
//! | file | what |
//! |---|---|
//! | [`operations`] | what the procedure does, at home or at the branch that has the key |
//! | [`fragments`] | where it runs in fragments: sending them, and reading what they found |
//! | [`two_phase_commit`] | prepare and decide, at all instances |
//!
//! What a procedure does to a key of its home is done in place, as in any other transaction. What it does to a key of another instance is asked of the branch there, and the
//! fiber waits for the answer; the worker runs others meanwhile.
//!
//! A branch that has aborted takes the transaction with it: all that follows is refused, and the other branches are told.

mod fragments;
mod operations;
mod two_phase_commit;

use super::fragment::Transcript;
use super::message::{Answer, Message, Now, Operation};
use crate::architecture::Instance;
use crate::physical::Physical;
use crate::protocol::Protocol;
use crate::session::{BranchPanicked, Reach};
use crate::transaction::Txn;
use crate::transaction::access::Access;
use contract::{
    Abort, AbortReason, DeploymentCanary, EngineOptions, Key, Outcome, Procedure, Receipts, TableId,
    TimeClass,
};
use fragments::Progress;
use std::ops::Range;
use std::panic::resume_unwind;

/// A branch of the transaction that runs.
struct Branch {
    instance: usize,
    has_written: bool,
    fragment: Progress,
    /// With its fragment.
    has_voted: bool,
}

/// Where the argument of a merge is that found its key.
enum Receipt {
    /// Of a key at home: its number among those.
    Home(usize),
    /// Among the coordinator's arguments.
    Kept(Range<usize>),
}

/// What a transaction slot keeps beside its transaction at home.
pub(crate) struct Coordinator {
    /// Of the transaction that runs, oldest first; those that are gone are not among them.
    branches: Vec<Branch>,
    /// By instance: what the next message to a branch begins with.
    pending: Vec<Message>,
    /// By instance: what the fragment there has found.
    transcripts: Vec<Transcript>,
    /// The instances to which the procedure is sent.
    reached: Vec<usize>,
    /// The procedure, encoded.
    encoded: Vec<u8>,
    /// Whether transactions that can run in fragments do.
    one_shot: bool,
    /// Whether those that do not wait for what they want to read; see [`EngineOptions::readers_wait`].
    readers_wait: bool,
    /// The fragments of this transaction were wrong: it runs by messages until it ends.
    by_messages: bool,
    /// Something was missing, or there already, that fragments take for the other.
    unforeseen: bool,
    answer: Message,
    /// The latest epoch of an answer to the transaction that runs.
    latest: u64,
    /// Why it can only be aborted, because a branch has.
    aborted: Option<AbortReason>,
    receipts: Vec<Receipt>,
    arguments: Vec<u8>,
    /// A row on its way to a closure.
    row: Vec<u8>,
    canary: Option<DeploymentCanary>,
}

impl Coordinator {
    /// Of a slot in a deployment of so many instances.
    pub fn new(instances: usize, options: &EngineOptions) -> Self {
        Coordinator {
            branches: Vec::with_capacity(instances),
            pending: std::iter::repeat_with(Message::new).take(instances).collect(),
            transcripts: std::iter::repeat_with(Transcript::default).take(instances).collect(),
            reached: Vec::with_capacity(instances),
            encoded: Vec::new(),
            one_shot: options.one_shot,
            readers_wait: options.readers_wait,
            by_messages: false,
            unforeseen: false,
            answer: Message::new(),
            latest: 0,
            aborted: None,
            receipts: Vec::new(),
            arguments: Vec::new(),
            row: Vec::new(),
            canary: options.deployment_canary,
        }
    }

    fn clear(&mut self) {
        assert!(self.branches.is_empty(), "the last transaction has ended");
        self.aborted = None;
        self.unforeseen = false;
        self.latest = 0;
        self.receipts.clear();
        self.arguments.clear();
    }

    /// The branch at an instance, which there is from now on.
    fn branch(&mut self, instance: usize) -> &mut Branch {
        let there = self.branches.iter().position(|branch| branch.instance == instance);
        let position = there.unwrap_or_else(|| {
            self.branches.push(Branch {
                instance,
                has_written: false,
                fragment: Progress::None,
                has_voted: false,
            });
            self.branches.len() - 1
        });
        &mut self.branches[position]
    }

    fn is_gone(&mut self, instance: usize) {
        self.branches.retain(|branch| branch.instance != instance);
        self.pending[instance].clear();
    }
}

/// A transaction that reaches other instances, as its procedure sees it.
struct Distributed<'t, 'e, P: Protocol, F: Physical> {
    home: &'t mut Txn<'e, Instance<'e, P, F>>,
    coordinator: &'t mut Coordinator,
}

impl<'e, P: Protocol, F: Physical> Distributed<'_, 'e, P, F>
where
    P::Common<F>: Sync,
{
    /// Whether records are locked when they are touched.
    const LOCKS_WHEN_TOUCHED: bool = <P::Access<Instance<'e, P, F>> as Access<_>>::ENTRIES_ARE_LOCKS;

    /// The instance that has a key; `None`: this one.
    #[inline(always)]
    fn away(&self, table: TableId, key: Key) -> Option<usize> {
        let partition = self.home.partition_of(table, key);
        let architecture = &self.home.architecture;
        (!architecture.has(partition)).then(|| architecture.instance_of(partition))
    }

    #[inline(always)]
    fn alive(&mut self) -> Result<(), Abort> {
        self.coordinator.aborted.map_or(Ok(()), |reason| Err(Abort(reason)))
    }

    /// Sends an operation to a branch, behind what is pending there.
    fn send(&mut self, instance: usize, operation: Operation<'_>) {
        let message = &mut self.coordinator.pending[instance];
        message.ask(operation);
        self.home.architecture.send_to_branch(instance, message.bytes());
        message.clear();
    }

    /// Waits for an answer, which is then in `coordinator.answer`. If a branch has panicked, so that it may never come, the fiber is unwound.
    fn receive(&mut self) {
        if self.try_to_receive().is_none() {
            resume_unwind(Box::new(BranchPanicked));
        }
    }

    fn try_to_receive(&mut self) -> Option<()> {
        let before = self.home.stopwatch.enter(TimeClass::Wait);
        let come = self.home.architecture.receive_answer(self.coordinator.answer.buffer());
        self.home.stopwatch.enter(before);
        come?;
        let Now { epoch, last_id } =
            self.coordinator.answer.read().now().expect("participants are of this engine");
        self.coordinator.latest = self.coordinator.latest.max(epoch);
        let heeds = self.coordinator.canary != Some(DeploymentCanary::OwnIds);
        if let Some((ids, told)) = self.home.ids.zip(last_id).filter(|_| heeds) {
            // The transaction draws its id when all has been answered that it depends on.
            ids.raise(told);
        }
        Some(())
    }

    /// What was answered last, and by whom.
    fn answered(&self) -> (usize, Answer<'_>) {
        self.coordinator.answer.read().answer().expect("participants are of this engine")
    }

    /// Has a branch do something, and waits for what it answers.
    fn ask(&mut self, instance: usize, operation: Operation<'_>) -> Result<Answer<'_>, Abort> {
        self.alive()?;
        let branch = self.coordinator.branch(instance);
        branch.has_written |= operation.writes();
        self.send(instance, operation);
        while self.receive_from_any() != instance {}
        if let (_, Answer::Aborted(reason)) = self.answered() {
            self.coordinator.is_gone(instance);
            self.coordinator.aborted = Some(reason);
            return Err(Abort(reason));
        }
        Ok(self.answered().1)
    }

    /// Waits for an answer, and says whose it is. If it is to a fragment, that is noted.
    fn receive_from_any(&mut self) -> usize {
        self.receive();
        self.note()
    }
}

/// Receipts of merges at home and away, in the order of the calls.
struct Both<'r> {
    coordinator: &'r Coordinator,
    home: &'r dyn Receipts,
}

impl Receipts for Both<'_> {
    fn argument(&self, nth: usize) -> &[u8] {
        match &self.coordinator.receipts[nth] {
            Receipt::Home(nth) => self.home.argument(*nth),
            Receipt::Kept(range) => &self.coordinator.arguments[range.clone()],
        }
    }
}

impl<'e, P: Protocol, F: Physical> Reach<'e, Instance<'e, P, F>> for Coordinator
where
    P::Common<F>: Sync,
{
    /// A look would touch keys of other instances.
    const MAY_PLAN: bool = false;

    fn run<Pr: Procedure>(
        &mut self,
        home: &mut Txn<'e, Instance<'e, P, F>>,
        procedure: &Pr,
    ) -> Result<Outcome, Abort> {
        self.clear();
        if home.architecture.is_broken() {
            // What was asked for the last attempt may still be answered: nothing is begun any more.
            resume_unwind(Box::new(BranchPanicked));
        }
        Distributed { home, coordinator: self }.send_fragments(procedure);
        home.architecture.send_posted();
        // A branch of it may be prepared from now on.
        home.readers_wait = self.readers_wait && !self.has_fragments();
        procedure.run(&mut Distributed { home, coordinator: self })
    }

    fn commit(&mut self, home: &mut Txn<'e, Instance<'e, P, F>>) -> Result<(), Abort> {
        if self.branches.is_empty() && self.aborted.is_none() {
            let committed = home.commit();
            self.by_messages &= committed.is_err();
            return committed;
        }
        let committed = Distributed { home, coordinator: self }.commit();
        self.by_messages &= committed.is_err();
        committed
    }

    fn roll_back(&mut self, home: &mut Txn<'e, Instance<'e, P, F>>) -> Result<(), Abort> {
        if self.unforeseen && self.has_fragments() && self.aborted.is_none() {
            // It may have been decided by what is not so.
            let _ = self.fragments_were_wrong();
        }
        let alive = self.aborted.map_or(Ok(()), |reason| Err(Abort(reason)));
        Distributed { home, coordinator: self }.abort_branches();
        let rolled_back = alive.and(home.roll_back());
        self.by_messages &= rolled_back.is_err();
        rolled_back
    }

    fn abort(&mut self, home: &mut Txn<'e, Instance<'e, P, F>>) {
        Distributed { home, coordinator: self }.abort();
    }

    fn abandon(&mut self, home: &mut Txn<'e, Instance<'e, P, F>>) {
        Distributed { home, coordinator: self }.abort_branches();
        home.abandon();
    }

    fn with_receipts<R>(&self, home: &Txn<'e, Instance<'e, P, F>>, f: impl FnOnce(&dyn Receipts) -> R) -> R {
        f(&Both { coordinator: self, home: home.receipts() })
    }
}
