//! A slot that runs branches: it does what the coordinator's messages say, and answers.
//!
//! ```text
//!            first operation          asked to prepare           decided
//!   no branch ------------> running ------------------> prepared --------> no branch
//!       |                      a fragment that votes        ^
//!       +---------------------------------------------------+
//!       ^                      |  aborts, by itself or told    |
//!       +----------------------+-------------------------------+
//!                              or has only read, and votes for commit
//! ```
//!
//! Between branches the slot is in no epoch. A branch that is refused something aborts at once, says so, and is gone: what the coordinator says next is
//! of another one.

use super::fragment::Fragment;
use super::message::{Answer, Message, Now, Operation, Vote};
use crate::architecture::Instance;
use crate::commit_id::CommitIds;
use crate::physical::Physical;
use crate::protocol::{Attempt, Protocol};
use crate::session::Fragments;
use crate::transaction::{Decision, LogPlace, Named, Prepared, Txn};
use contract::{
    Abort, AbortReason, CommitId, DeploymentCanary, Key, Outcome, Plan, Presence, Procedure, Span, TableId,
    Transaction,
};

/// Branches that end between two looks at what may be freed.
const RECLAIM_EVERY: u64 = 64;

/// Where a slot is in the life of a branch.
enum Branch {
    None,
    Running,
    Prepared(Prepared),
}

/// What an operation came to.
enum Done {
    /// It asked for nothing.
    Silently,
    /// The answer is in the message.
    Answered,
}

struct Participant<'t, 'e, P: Protocol, F: Physical, D> {
    txn: &'t mut Txn<'e, Instance<'e, P, F>>,
    fragments: D,
    branch: Branch,
    /// What a read has shown, or the rows of a scan, or a fragment's transcript.
    shown: Message,
    zeros: Vec<u64>,
    answer: Message,
    /// Between processes, if transactions have ids: where they come from here.
    ids: Option<&'e CommitIds>,
    /// Whether a branch that is no fragment waits for what it wants to read.
    readers_wait: bool,
    canary: Option<DeploymentCanary>,
}

/// Runs branches until the run is over.
pub(crate) fn serve<'e, P: Protocol, F: Physical>(
    txn: &mut Txn<'e, Instance<'e, P, F>>,
    fragments: impl Fragments,
    ids: Option<&'e CommitIds>,
    canary: Option<DeploymentCanary>,
) where
    P::Common<F>: Sync,
{
    txn.suspend();
    let (mut message, mut ended) = (Message::new(), 0u64);
    let (shown, answer) = (Message::new(), Message::new());
    let ids = ids.filter(|_| txn.architecture.leaves_process());
    let readers_wait = txn.readers_wait;
    let mut participant = Participant {
        txn,
        fragments,
        branch: Branch::None,
        shown,
        zeros: Vec::new(),
        answer,
        ids,
        readers_wait,
        canary,
    };
    while participant.receive(message.buffer()).is_some() {
        participant.follow(&message);
        if matches!(participant.branch, Branch::None) {
            ended += 1;
            if ended.is_multiple_of(RECLAIM_EVERY) {
                participant.txn.reclaim();
            }
        }
    }
    if !matches!(participant.branch, Branch::None) {
        // Of a coordinator that is lost, or was unwound: who does not decide has aborted.
        participant.abort();
    }
    // The slot leaves its epoch when it is dropped.
    participant.txn.resume();
}

impl<'e, P: Protocol, F: Physical, D: Fragments> Participant<'_, 'e, P, F, D>
where
    P::Common<F>: Sync,
{
    /// Waits for the next message; `None`: there will be none.
    fn receive(&mut self, into: &mut Vec<u8>) -> Option<()> {
        match self.branch {
            Branch::None => self.txn.architecture.await_branch(into),
            Branch::Running | Branch::Prepared(_) => self.txn.architecture.receive(into),
        }
    }

    /// Does what a message says.
    fn follow(&mut self, message: &Message) {
        let mut operations = message.read();
        while let Some(operation) = operations.operation().expect("coordinators are of this engine") {
            match self.step(operation) {
                Ok(Done::Silently) => {}
                Ok(Done::Answered) => return self.txn.architecture.send_to_coordinator(self.answer.bytes()),
                Err(abort) => {
                    // What comes behind is of a transaction that is no more.
                    self.end(|txn| txn.abort());
                    self.answers(abort.into());
                    return self.txn.architecture.send_to_coordinator(self.answer.bytes());
                }
            }
        }
    }

    fn step(&mut self, operation: Operation<'_>) -> Result<Done, Abort> {
        match operation {
            Operation::Commit(place) => {
                self.commit(place);
                return Ok(Done::Silently);
            }
            Operation::Abort => {
                self.abort();
                return Ok(Done::Silently);
            }
            Operation::Lock => {
                self.txn.lock()?;
                self.answers(Answer::Locked);
            }
            Operation::Run(procedure) => self.run(procedure)?,
            Operation::Prepare(id) => {
                self.is_told_of(id);
                self.prepare();
            }
            Operation::WriteBack { table, key, offset, bytes } => {
                let key = self.key(table, key);
                let presence = self.txn.write(table, key, offset, bytes)?;
                assert!(presence == Presence::Present, "a row that was read to be written");
                return Ok(Done::Silently);
            }
            asked => {
                self.begin();
                self.touch(asked)?;
            }
        }
        Ok(Done::Answered)
    }

    /// Reads or writes, and answers.
    fn touch(&mut self, operation: Operation<'_>) -> Result<(), Abort> {
        use Operation as O;
        let found =
            |presence| if presence == Presence::Present { Answer::Present(b"") } else { Answer::Missing };
        match operation {
            O::Read { table, key, span } => {
                let key = self.key(table, key);
                let shown = &mut self.shown;
                let presence = self.txn.read(table, key, span, &mut |bytes| shown.become_copy_of(bytes))?;
                self.shows(presence);
            }
            O::ReadWhole { table, key } => {
                let key = self.key(table, key);
                let shown = &mut self.shown;
                let presence = self.txn.read_whole(table, key, &mut |bytes| shown.become_copy_of(bytes))?;
                self.shows(presence);
            }
            O::ReadToWrite { table, key, span, shown: Span { len: 0, .. } } => {
                let key = self.key(table, key);
                let shown = &mut self.shown;
                let presence = self.txn.update(table, key, span, &mut |bytes| shown.become_copy_of(bytes))?;
                self.shows(presence);
            }
            O::ReadToWrite { table, key, span, shown } => {
                let key = self.key(table, key);
                self.shown.clear();
                let (changed, seen) = self.shown.add_two(span.length(), shown.length());
                let copy = &mut |bytes: &mut [u8]| changed.copy_from_slice(bytes);
                let see = &mut |bytes: &[u8]| seen.copy_from_slice(bytes);
                let presence = self.txn.update_seeing(table, key, span, copy, shown, see)?;
                self.shows(presence);
            }
            O::Write { table, key, offset, bytes } => {
                let key = self.key(table, key);
                let presence = self.txn.write(table, key, offset, bytes)?;
                self.answers(found(presence));
            }
            O::Replace { table, key, row } => {
                let key = self.key(table, key);
                let presence = self.txn.replace(table, key, row)?;
                self.answers(found(presence));
            }
            O::Insert { table, key, row } => {
                let key = self.key(table, key);
                let insertion = self.txn.insert(table, key, row)?;
                self.answers(Answer::Inserted(insertion));
            }
            O::Delete { table, key } => {
                let key = self.key(table, key);
                let presence = self.txn.delete(table, key)?;
                self.answers(found(presence));
            }
            O::Scan(scan) => {
                self.shown.clear();
                let shown = &mut self.shown;
                let _: usize = self.txn.scan(&scan, &mut |key, row| shown.row(key, row))?;
                let rows = std::mem::take(&mut self.shown);
                self.answers(Answer::Rows(rows.bytes()));
                self.shown = rows;
            }
            O::WriteBack { .. } | O::Run(_) | O::Lock | O::Prepare(_) | O::Commit(_) | O::Abort => {
                unreachable!("steps of their own")
            }
        }
        Ok(())
    }

    /// The first operation of a branch begins it.
    fn begin(&mut self) {
        match self.branch {
            Branch::None => {
                self.txn.resume();
                self.txn.begin(Attempt::First, &Plan::default());
                self.txn.readers_wait = self.readers_wait;
                self.branch = Branch::Running;
            }
            Branch::Running => {}
            Branch::Prepared(_) => unreachable!("a coordinator asks a prepared branch for the decision only"),
        }
    }

    /// Runs a fragment, and prepares, if all that it has touched is locked then: it holds what it has read, too, because home may not have all that it wants yet.
    fn run(&mut self, procedure: &[u8]) -> Result<(), Abort> {
        self.begin();
        // Another branch of the transaction may be prepared.
        self.txn.readers_wait = false;
        // Who cannot be told what to do at once is told step by step.
        let procedure = self.fragments.decode(procedure).ok_or(Abort(AbortReason::Undeclared))?;
        self.shown.clear();
        let (txn, entries, zeros) = (&mut *self.txn, &mut self.shown, &mut self.zeros);
        let ran = procedure.run(&mut Fragment { txn, entries, zeros });
        self.fragments.take_back(procedure);
        // Whether it commits is for home to say, which sees all.
        let _: Outcome = ran?;
        let votes = self.txn.locks_all_it_touched();
        if votes {
            match self.txn.prepare() {
                Ok(prepared) if self.canary == Some(DeploymentCanary::EarlyRelease) => {
                    self.commit_early(prepared);
                }
                Ok(prepared) => self.branch = Branch::Prepared(prepared),
                Err(abort) => {
                    self.end(|_| ());
                    self.answers(abort.into());
                    return Ok(());
                }
            }
        }
        let shown = std::mem::take(&mut self.shown);
        self.answers(Answer::Ran { has_voted: votes, transcript: shown.bytes() });
        self.shown = shown;
        Ok(())
    }

    /// Votes. A transaction that cannot commit, or is not to be decided, has ended.
    fn prepare(&mut self) {
        let vote = match self.txn.has_written() {
            false => self.txn.commit().map(|()| None),
            true => self.txn.prepare().map(Some),
        };
        match vote {
            Ok(None) => {
                self.end(|_| ());
                self.answers(Answer::Votes(Vote::ReadOnly));
            }
            Ok(Some(prepared)) => {
                if self.canary == Some(DeploymentCanary::EarlyRelease) {
                    self.commit_early(prepared);
                } else {
                    self.branch = Branch::Prepared(prepared);
                }
                self.answers(Answer::Votes(Vote::Prepared));
            }
            Err(abort) => {
                self.end(|_| ());
                self.answers(abort.into());
            }
        }
    }

    /// The canary: commits before it is told to, as if it were a transaction of its own.
    #[cold]
    fn commit_early(&mut self, prepared: Prepared) {
        if let Some(ids) = self.ids {
            let epoch = self.txn.serialization_point();
            self.txn.commits_as(LogPlace { id: Some(ids.draw()), epoch });
        }
        self.end(|txn| txn.decide(prepared, Decision::Commit));
    }

    fn commit(&mut self, place: LogPlace) {
        match std::mem::replace(&mut self.branch, Branch::None) {
            Branch::Prepared(prepared) => {
                self.is_told_of(place.id);
                self.txn.commits_as(place);
                self.end(|txn| txn.decide(prepared, Decision::Commit));
            }
            Branch::Running => panic!("a branch commits once it has voted for that"),
            Branch::None => assert!(self.canary.is_some(), "a decision for a branch that is gone"),
        }
    }

    /// Who is let at what the transaction of this id has touched commits behind it.
    fn is_told_of(&self, id: Option<CommitId>) {
        let heeds = self.canary != Some(DeploymentCanary::OwnIds);
        if let Some((ids, id)) = self.ids.zip(id).filter(|_| heeds) {
            ids.raise(id);
        }
    }

    fn abort(&mut self) {
        match std::mem::replace(&mut self.branch, Branch::None) {
            Branch::Prepared(prepared) => self.end(|txn| txn.decide(prepared, Decision::Abort)),
            Branch::Running => self.end(|txn| txn.abort()),
            // Who was unwound does not know which of his branches are left.
            Branch::None => assert!(
                self.canary.is_some() || self.txn.architecture.is_broken(),
                "a branch that is gone is aborted"
            ),
        }
    }

    /// The branch ends.
    fn end(&mut self, how: impl FnOnce(&mut Txn<'e, Instance<'e, P, F>>)) {
        how(self.txn);
        self.txn.suspend();
        self.branch = Branch::None;
    }

    fn key(&mut self, table: TableId, key: Named<'_>) -> Key {
        self.txn.key_named(table, key)
    }

    fn answers(&mut self, answer: Answer<'_>) {
        let now = Now { epoch: self.txn.serialization_point(), last_id: self.ids.map(CommitIds::last) };
        self.answer.answer(self.txn.architecture.instance(), now, answer);
    }

    /// Answers with what a read has shown.
    fn shows(&mut self, presence: Presence) {
        let shown = std::mem::take(&mut self.shown);
        self.answers(Answer::of(presence, shown.bytes()));
        self.shown = shown;
    }
}
