//! A transaction with branches, at home: its operations, and two-phase commit ([`super`]).
//!
//! What a procedure does to a key of its home is done in place, as in any other transaction. What it does to a key of another instance is asked of the branch there, and the
//! fiber waits for the answer; the worker runs others meanwhile. An update asks for the row, to be written, changes it here, and lets what became of it go
//! with the next message.
//!
//! A branch that has aborted takes the transaction with it: all that follows is refused, and the other branches are told.

use super::message::{Answer, Message, Operation, Vote, rows};
use crate::architecture::Instance;
use crate::physical::Physical;
use crate::protocol::Protocol;
use crate::session::Reach;
use crate::transaction::access::Access;
use crate::transaction::{Decision, Prepared, Txn};
use contract::{
    Abort, AbortReason, DeploymentCanary, Direction, EngineOptions, Insertion, Key, Merge, Outcome, Presence,
    Procedure, Receipts, Scan, Span, TableId, TimeClass, Transaction,
};
use std::ops::Range;

/// A branch of the transaction that runs.
struct Branch {
    instance: usize,
    has_written: bool,
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
    answer: Message,
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
            answer: Message::new(),
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
        self.receipts.clear();
        self.arguments.clear();
    }

    /// The branch at an instance, which there is from now on.
    fn branch(&mut self, instance: usize) -> &mut Branch {
        let there = self.branches.iter().position(|branch| branch.instance == instance);
        let position = there.unwrap_or_else(|| {
            self.branches.push(Branch { instance, has_written: false });
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

    /// Waits for an answer, which is then in `coordinator.answer`.
    fn receive(&mut self) {
        let before = self.home.stopwatch.enter(TimeClass::Wait);
        let come = self.home.architecture.receive(self.coordinator.answer.buffer());
        self.home.stopwatch.enter(before);
        come.expect("a run ends when all that was asked has been answered");
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
        self.receive();
        if let (_, Answer::Aborted(reason)) = self.answered() {
            self.coordinator.is_gone(instance);
            self.coordinator.aborted = Some(reason);
            return Err(Abort(reason));
        }
        Ok(self.answered().1)
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
        let everybody = |_: &Branch| true;
        if <P::Access<Instance<'e, P, F>> as Access<_>>::ENTRIES_ARE_LOCKS {
            // All is locked. Home draws its id before a branch that has only read lets go.
            self.or_abort(Self::alive)?;
        } else {
            self.or_abort(|this| this.alive().and_then(|()| this.home.lock()))?;
            if self.coordinator.branches.len() == 1 && self.home.ids.is_none() {
                self.or_abort(|this| this.ask_all(Operation::Prepare, everybody))?;
                return self.home.prepare();
            }
            // An id is drawn once all is locked, and before anything is validated.
            self.or_abort(|this| this.ask_all(Operation::Lock, |branch| branch.has_written))?;
        }
        let prepared = self.home.prepare()?;
        match self.ask_all(Operation::Prepare, everybody) {
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

    /// Tells the branches that are left.
    fn decide(&mut self, decision: Decision) {
        while let Some(Branch { instance, .. }) = self.coordinator.branches.pop() {
            // What is pending is of no use any more.
            self.coordinator.pending[instance].clear();
            self.send(instance, Operation::Decide(decision));
        }
    }

    fn commit(&mut self) -> Result<(), Abort> {
        match self.prepare() {
            Ok(prepared) => {
                self.decide(Decision::Commit);
                self.home.decide(prepared, Decision::Commit);
                Ok(())
            }
            Err(abort) => {
                self.decide(Decision::Abort);
                Err(abort)
            }
        }
    }

    fn abort(&mut self) {
        self.decide(Decision::Abort);
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
            O::Read { .. } | O::ReadWhole { .. } | O::Scan(_) => false,
            O::Lock | O::Prepare | O::Decide(_) => false,
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
        let Some(instance) = self.away(table, key) else { return self.home.read(table, key, span, see) };
        let name = self.home.name(table, key);
        self.show(instance, Operation::Read { table, key: name.named(), span }, see)
    }

    fn update(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<Presence, Abort> {
        self.alive()?;
        let Some(instance) = self.away(table, key) else { return self.home.update(table, key, span, change) };
        let mut row = std::mem::take(&mut self.coordinator.row);
        let name = self.home.name(table, key);
        let key = name.named();
        let read = self.show(instance, Operation::ReadToWrite { table, key, span }, &mut |bytes| {
            row.clear();
            row.extend_from_slice(bytes);
        });
        if read == Ok(Presence::Present) {
            aligned(&mut row, change);
            let operation = Operation::WriteBack { table, key, offset: span.start(), bytes: &row };
            self.coordinator.pending[instance].ask(operation);
        }
        self.coordinator.row = row;
        read
    }

    fn write(&mut self, table: TableId, key: Key, offset: usize, bytes: &[u8]) -> Result<Presence, Abort> {
        self.alive()?;
        let Some(instance) = self.away(table, key) else { return self.home.write(table, key, offset, bytes) };
        let name = self.home.name(table, key);
        self.find(instance, Operation::Write { table, key: name.named(), offset, bytes })
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
        Ok(presence)
    }

    fn read_whole(
        &mut self,
        table: TableId,
        key: Key,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        self.alive()?;
        let Some(instance) = self.away(table, key) else { return self.home.read_whole(table, key, see) };
        let name = self.home.name(table, key);
        self.show(instance, Operation::ReadWhole { table, key: name.named() }, see)
    }

    fn replace(&mut self, table: TableId, key: Key, row: &[u8]) -> Result<Presence, Abort> {
        self.alive()?;
        let Some(instance) = self.away(table, key) else { return self.home.replace(table, key, row) };
        let name = self.home.name(table, key);
        self.find(instance, Operation::Replace { table, key: name.named(), row })
    }

    fn insert(&mut self, table: TableId, key: Key, row: &[u8]) -> Result<Insertion, Abort> {
        self.alive()?;
        let Some(instance) = self.away(table, key) else { return self.home.insert(table, key, row) };
        let name = self.home.name(table, key);
        match self.ask(instance, Operation::Insert { table, key: name.named(), row })? {
            Answer::Inserted(insertion) => Ok(insertion),
            other => unreachable!("{other:?} to an insert"),
        }
    }

    fn delete(&mut self, table: TableId, key: Key) -> Result<Presence, Abort> {
        self.alive()?;
        let Some(instance) = self.away(table, key) else { return self.home.delete(table, key) };
        let name = self.home.name(table, key);
        self.find(instance, Operation::Delete { table, key: name.named() })
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
            match self.ask(instance, Operation::Scan(*scan))? {
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
    /// Asks for bytes of a row, and shows them.
    fn show(
        &mut self,
        instance: usize,
        operation: Operation<'_>,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        let answer = self.ask(instance, operation)?;
        if let Answer::Present(bytes) = answer {
            with_aligned(bytes, see);
        }
        Ok(presence(answer))
    }

    /// Asks for something that finds a row or none.
    fn find(&mut self, instance: usize, operation: Operation<'_>) -> Result<Presence, Abort> {
        self.ask(instance, operation).map(presence)
    }
}

/// Shows bytes of a row as procedures expect them: aligned to eight.
fn with_aligned(bytes: &[u8], see: impl FnOnce(&[u8])) {
    if bytes.as_ptr().addr().is_multiple_of(size_of::<u64>()) {
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
        procedure.run(&mut Distributed { home, coordinator: self })
    }

    fn commit(&mut self, home: &mut Txn<'e, Instance<'e, P, F>>) -> Result<(), Abort> {
        if self.branches.is_empty() && self.aborted.is_none() {
            return home.commit();
        }
        Distributed { home, coordinator: self }.commit()
    }

    fn roll_back(&mut self, home: &mut Txn<'e, Instance<'e, P, F>>) -> Result<(), Abort> {
        let alive = self.aborted.map_or(Ok(()), |reason| Err(Abort(reason)));
        Distributed { home, coordinator: self }.decide(Decision::Abort);
        alive.and(home.roll_back())
    }

    fn abort(&mut self, home: &mut Txn<'e, Instance<'e, P, F>>) {
        Distributed { home, coordinator: self }.abort();
    }

    fn abandon(&mut self, home: &mut Txn<'e, Instance<'e, P, F>>) {
        Distributed { home, coordinator: self }.decide(Decision::Abort);
        home.abandon();
    }

    fn with_receipts<R>(&self, home: &Txn<'e, Instance<'e, P, F>>, f: impl FnOnce(&dyn Receipts) -> R) -> R {
        f(&Both { coordinator: self, home: home.receipts() })
    }
}
