//! A transaction with branches, at home: its operations, and two-phase commit ([`super`]).
//!
//! What a procedure does to a key of its home is done in place, as in any other transaction. What it does to a key of another instance is asked of the branch there, and the
//! fiber waits for the answer; the worker runs others meanwhile. An update asks for the row, to be written, changes it here, and lets what became of it go
//! with the next message.
//!
//! A branch that has aborted takes the transaction with it: all that follows is refused, and the other branches are told.
//!
//! A transaction that can run in fragments ([`super::fragment`]) begins with sending them. Home runs meanwhile, and waits for an instance's transcript where it wants the first thing from
//! it.

use super::fragment::Transcript;
use super::message::{Answer, Kind, Message, Now, Operation, Vote, rows};
use crate::architecture::Instance;
use crate::physical::Physical;
use crate::protocol::Protocol;
use crate::session::{BranchPanicked, Reach};
use crate::transaction::access::{Access, Change, See};
use crate::transaction::{Decision, Named, Prepared, Txn};
use contract::{
    Abort, AbortReason, DeploymentCanary, Direction, EngineOptions, Insertion, Key, Merge, Outcome, Presence,
    Procedure, Receipts, Scan, Span, TableId, TimeClass, Transaction,
};
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

/// Where a branch is with its fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// It has none, and does what messages say.
    None,
    Running,
    /// Its transcript has come.
    Ran,
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

    /// The branch at an instance, if it has a fragment.
    #[inline(always)]
    fn fragment(&mut self, instance: usize) -> Option<&mut Branch> {
        let has_fragment =
            |branch: &&mut Branch| branch.instance == instance && branch.fragment != Progress::None;
        self.branches.iter_mut().find(has_fragment)
    }

    fn has_fragments(&self) -> bool {
        self.branches.iter().any(|branch| branch.fragment != Progress::None)
    }

    fn fragments_run(&self) -> bool {
        self.branches.iter().any(|branch| branch.fragment == Progress::Running)
    }

    /// What fragments did is of no use: the transaction runs again, by messages.
    #[cold]
    fn fragments_were_wrong(&mut self) -> Abort {
        self.by_messages = true;
        self.aborted = Some(AbortReason::Undeclared);
        Abort(AbortReason::Undeclared)
    }

    /// Notes whether a row was found, as fragments take it to be.
    #[inline(always)]
    fn finds(&mut self, presence: Presence) -> Presence {
        self.unforeseen |= presence == Presence::Missing;
        presence
    }

    /// Notes whether a row was inserted, as fragments take it to be.
    #[inline(always)]
    fn inserts(&mut self, insertion: Insertion) -> Insertion {
        self.unforeseen |= insertion == Insertion::Exists;
        insertion
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
        let instance = self.home.architecture.instance_of(partition);
        (instance != self.home.architecture.instance()).then_some(instance)
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

    /// Notes what the last answer says of a fragment, if it does, and says whose it is.
    fn note(&mut self) -> usize {
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
    fn send_fragments<Pr: Procedure>(&mut self, procedure: &Pr) {
        if !self.coordinator.one_shot || self.coordinator.by_messages {
            return;
        }
        if procedure.home_of_fragments().is_some_and(|(table, key)| self.away(table, key).is_some()) {
            return;
        }
        let can = procedure.runs_in_fragments(&mut |table, key| {
            if let Some(instance) = self.away(table, key) {
                self.coordinator.branch(instance).fragment = Progress::Running;
            }
        });
        if !can {
            self.coordinator.branches.clear();
        }
        if self.coordinator.branches.is_empty() {
            return;
        }
        let mut encoded = std::mem::take(&mut self.coordinator.encoded);
        encoded.clear();
        procedure.encode(&mut encoded);
        for number in 0..self.coordinator.branches.len() {
            let instance = self.coordinator.branches[number].instance;
            self.send(instance, Operation::Run(&encoded));
        }
        self.coordinator.encoded = encoded;
    }

    /// Waits until all fragments have run; if one could not, or they are not those of what home did, the transaction can only be aborted.
    fn fragments_have_run(&mut self) -> Result<(), Abort> {
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
    fn replay(&mut self, instance: usize, kind: Kind, operation: Operation<'_>) -> Result<Answer<'_>, Abort> {
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
    fn abort_branches(&mut self) {
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

    fn commit(&mut self) -> Result<(), Abort> {
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

    fn abort(&mut self) {
        self.abort_branches();
        self.home.abort();
    }
}

impl Operation<'_> {
    /// Whether it may write.
    fn writes(&self) -> bool {
        use Operation as O;
        match self {
            O::ReadToWrite { .. } | O::WriteBack { .. } | O::Write { .. } => true,
            O::Replace { .. } | O::Insert { .. } | O::Delete { .. } => true,
            O::Run(_) => unreachable!("a transcript tells"),
            O::Read { .. } | O::ReadWhole { .. } | O::Scan(_) => false,
            O::Lock | O::Prepare(_) | O::Commit(_) | O::Abort => false,
        }
    }
}

impl<'m> Operation<'m> {
    /// The table and the key of one that a transcript may have an entry of; scans have none.
    fn on(&self) -> (TableId, Named<'m>) {
        use Operation as O;
        match *self {
            O::Read { table, key, .. } | O::ReadWhole { table, key } => (table, key),
            O::ReadToWrite { table, key, .. } | O::WriteBack { table, key, .. } => (table, key),
            O::Write { table, key, .. } | O::Replace { table, key, .. } => (table, key),
            O::Insert { table, key, .. } | O::Delete { table, key } => (table, key),
            O::Scan(Scan { table, .. }) => (table, Named::Bytes(b"")),
            O::Run(_) | O::Lock | O::Prepare(_) | O::Commit(_) | O::Abort => {
                unreachable!("{self:?} is of no key")
            }
        }
    }
}

/// Whether there was a row.
fn presence(answer: Answer<'_>) -> Presence {
    match answer {
        Answer::Present(_) => Presence::Present,
        Answer::Missing => Presence::Missing,
        other => unreachable!("{other:?} to an operation that finds a row or none"),
    }
}

impl<P: Protocol, F: Physical> Transaction for Distributed<'_, '_, P, F>
where
    P::Common<F>: Sync,
{
    fn read(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        self.alive()?;
        let presence = match self.away(table, key) {
            None => self.home.read(table, key, span, see)?,
            Some(instance) => {
                let name = self.home.name(table, key);
                let key = name.named();
                self.show(instance, Kind::Read, Operation::Read { table, key, span }, see)?
            }
        };
        Ok(self.coordinator.finds(presence))
    }

    fn update(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<Presence, Abort> {
        self.alive()?;
        let presence = match self.away(table, key) {
            None => self.home.update(table, key, span, change)?,
            Some(instance) => {
                let nothing = Span::new(span.start(), 0);
                self.update_away(instance, (table, key), (span, change), (nothing, &mut |_| ()))?
            }
        };
        Ok(self.coordinator.finds(presence))
    }

    /// Away from home both parts come, and the changed one goes back.
    fn update_seeing(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
        shown: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        self.alive()?;
        let presence = match self.away(table, key) {
            None => self.home.update_seeing(table, key, span, change, shown, see)?,
            Some(instance) => self.update_away(instance, (table, key), (span, change), (shown, see))?,
        };
        Ok(self.coordinator.finds(presence))
    }

    fn write(&mut self, table: TableId, key: Key, offset: usize, bytes: &[u8]) -> Result<Presence, Abort> {
        self.alive()?;
        let presence = match self.away(table, key) {
            None => self.home.write(table, key, offset, bytes)?,
            Some(instance) => {
                let name = self.home.name(table, key);
                let operation = Operation::Write { table, key: name.named(), offset, bytes };
                self.find(instance, Kind::Write, operation).map(presence)?
            }
        };
        Ok(self.coordinator.finds(presence))
    }

    /// Away from home it is an update: what was there before is locked, or validated.
    fn merge(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        merge: Merge,
        argument: &[u8],
    ) -> Result<Presence, Abort> {
        self.alive()?;
        let is_away = self.away(table, key).is_some();
        let receipt = if is_away {
            let start = self.coordinator.arguments.len();
            self.coordinator.arguments.extend_from_slice(argument);
            Receipt::Kept(start..start + argument.len())
        } else {
            let at_home = |receipt: &&Receipt| matches!(receipt, Receipt::Home(_));
            Receipt::Home(self.coordinator.receipts.iter().filter(at_home).count())
        };
        let presence = if is_away {
            let mut kept = argument.to_vec();
            let presence = self.update(table, key, span, &mut |bytes| merge(bytes, &mut kept))?;
            if let Receipt::Kept(range) = &receipt {
                self.coordinator.arguments[range.clone()].copy_from_slice(&kept);
            }
            presence
        } else {
            self.home.merge(table, key, span, merge, argument)?
        };
        if presence == Presence::Present {
            self.coordinator.receipts.push(receipt);
        }
        Ok(self.coordinator.finds(presence))
    }

    fn read_whole(
        &mut self,
        table: TableId,
        key: Key,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        self.alive()?;
        let presence = match self.away(table, key) {
            None => self.home.read_whole(table, key, see)?,
            Some(instance) => {
                let name = self.home.name(table, key);
                let key = name.named();
                self.show(instance, Kind::ReadWhole, Operation::ReadWhole { table, key }, see)?
            }
        };
        Ok(self.coordinator.finds(presence))
    }

    fn replace(&mut self, table: TableId, key: Key, row: &[u8]) -> Result<Presence, Abort> {
        self.alive()?;
        let presence = match self.away(table, key) {
            None => self.home.replace(table, key, row)?,
            Some(instance) => {
                let name = self.home.name(table, key);
                let operation = Operation::Replace { table, key: name.named(), row };
                self.find(instance, Kind::Replace, operation).map(presence)?
            }
        };
        Ok(self.coordinator.finds(presence))
    }

    fn insert(&mut self, table: TableId, key: Key, row: &[u8]) -> Result<Insertion, Abort> {
        self.alive()?;
        let insertion = match self.away(table, key) {
            None => self.home.insert(table, key, row)?,
            Some(instance) => {
                let name = self.home.name(table, key);
                let operation = Operation::Insert { table, key: name.named(), row };
                match self.find(instance, Kind::Insert, operation)? {
                    Answer::Inserted(insertion) => insertion,
                    other => unreachable!("{other:?} to an insert"),
                }
            }
        };
        Ok(self.coordinator.inserts(insertion))
    }

    /// What is elsewhere is nobody's here.
    fn ahead(&mut self, table: TableId, keys: &[Key]) {
        let mut left = keys;
        while !left.is_empty() {
            let is_here = |key: &Key| self.away(table, *key).is_none();
            let first = is_here(&left[0]);
            let (keys, others) = left.split_at(left.iter().take_while(|key| is_here(key) == first).count());
            if first {
                self.home.ahead(table, keys);
            }
            left = others;
        }
    }

    fn delete(&mut self, table: TableId, key: Key) -> Result<Presence, Abort> {
        self.alive()?;
        let presence = match self.away(table, key) {
            None => self.home.delete(table, key)?,
            Some(instance) => {
                let name = self.home.name(table, key);
                let operation = Operation::Delete { table, key: name.named() };
                self.find(instance, Kind::Delete, operation).map(presence)?
            }
        };
        Ok(self.coordinator.finds(presence))
    }

    fn key(&mut self, table: TableId, bytes: &[u8]) -> Key {
        self.home.key(table, bytes)
    }

    /// Of several instances each shows as many rows as are asked for, and they are merged here.
    fn scan(&mut self, scan: &Scan<'_>, see: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize, Abort> {
        self.alive()?;
        let here = self.home.architecture.instance();
        let only = scan
            .within
            .map(|key| self.home.architecture.instance_of(self.home.partition_of_prefix(scan.table, key)));
        if only == Some(here) {
            return self.home.scan(scan, see);
        }
        let mut shown: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        for instance in 0..self.home.architecture.instances() {
            if only.is_some_and(|only| only != instance) {
                continue;
            }
            if instance == here {
                let _: usize =
                    self.home.scan(scan, &mut |key, row| shown.push((key.to_vec(), row.to_vec())))?;
                continue;
            }
            match self.find(instance, Kind::Scan, Operation::Scan(*scan))? {
                Answer::Rows(bytes) => {
                    let all = rows(bytes).map(|row| row.expect("participants are of this engine"));
                    shown.extend(all.map(|(key, row)| (key.to_vec(), row.to_vec())));
                }
                other => unreachable!("{other:?} to a scan"),
            }
        }
        shown.sort_unstable_by(|(one, _), (other, _)| match scan.direction {
            Direction::Forward => one.cmp(other),
            Direction::Backward => other.cmp(one),
        });
        shown.truncate(scan.limit);
        for (key, row) in &shown {
            with_aligned(row, |row| see(key, row));
        }
        Ok(shown.len())
    }
}

impl<P: Protocol, F: Physical> Distributed<'_, '_, P, F>
where
    P::Common<F>: Sync,
{
    /// What an operation finds at another instance: what its fragment has found, or what the branch answers.
    fn find(&mut self, instance: usize, kind: Kind, operation: Operation<'_>) -> Result<Answer<'_>, Abort> {
        if self.coordinator.fragment(instance).is_some() {
            return self.replay(instance, kind, operation);
        }
        self.alive()?;
        if self.coordinator.has_fragments() {
            // It has said nothing of this one, where it could wait for somebody who waits for it elsewhere.
            return Err(self.coordinator.fragments_were_wrong());
        }
        self.ask(instance, operation)
    }

    /// The same of one that shows bytes of a row.
    fn show(
        &mut self,
        instance: usize,
        kind: Kind,
        operation: Operation<'_>,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        let answer = self.find(instance, kind, operation)?;
        if let Answer::Present(bytes) = answer {
            with_aligned(bytes, see);
        }
        Ok(presence(answer))
    }

    /// Changes bytes of a row at another instance, and shows others as they were before. What becomes of the first it is told with the next
    /// message, unless it has done the same.
    fn update_away(
        &mut self,
        instance: usize,
        (table, key): (TableId, Key),
        (span, change): (Span, Change<'_>),
        (shown, see): (Span, See<'_>),
    ) -> Result<Presence, Abort> {
        let mut row = std::mem::take(&mut self.coordinator.row);
        let name = self.home.name(table, key);
        let key = name.named();
        let operation = Operation::ReadToWrite { table, key, span, shown };
        let read = self.show(instance, Kind::Update, operation, &mut |bytes| {
            row.clear();
            row.extend_from_slice(bytes);
        });
        if read == Ok(Presence::Present) {
            with_aligned(&row[span.length()..], see);
            row.truncate(span.length());
            aligned(&mut row, change);
            if self.coordinator.fragment(instance).is_none() {
                let operation = Operation::WriteBack { table, key, offset: span.start(), bytes: &row };
                self.coordinator.pending[instance].ask(operation);
            }
        }
        self.coordinator.row = row;
        read
    }
}

/// Shows bytes of a row as procedures expect them: aligned to eight.
fn with_aligned(bytes: &[u8], see: impl FnOnce(&[u8])) {
    if bytes.is_empty() || bytes.as_ptr().addr().is_multiple_of(size_of::<u64>()) {
        return see(bytes);
    }
    let mut words = vec![0u64; bytes.len().div_ceil(size_of::<u64>())];
    let aligned = &mut zerocopy::IntoBytes::as_mut_bytes(&mut words[..])[..bytes.len()];
    aligned.copy_from_slice(bytes);
    see(aligned);
}

/// The same to be changed. The allocator aligns so, where it has allocated at all.
fn aligned(bytes: &mut [u8], change: &mut dyn FnMut(&mut [u8])) {
    if bytes.as_ptr().addr().is_multiple_of(size_of::<u64>()) {
        return change(bytes);
    }
    let mut words = vec![0u64; bytes.len().div_ceil(size_of::<u64>())];
    let aligned = &mut zerocopy::IntoBytes::as_mut_bytes(&mut words[..])[..bytes.len()];
    aligned.copy_from_slice(bytes);
    change(aligned);
    bytes.copy_from_slice(aligned);
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
