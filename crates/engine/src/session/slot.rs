//! A transaction slot at work: plans a transaction, and runs it until it commits or rolls back by its own will.

use super::Run;
use super::interval::Interval;
use super::precedence::Precedence;
use super::reach::{Reach, Whole};
use super::ring::Drawn;
use super::statistics::{Aborts, Begun, Phase, Sampling, WorkerStatistics};
use super::walk::Walk;
use crate::architecture::Architecture;
use crate::durability::{Log, Redo};
use crate::facade::clock::{self, Ticks};
use crate::facade::cpu;
use crate::facade::memory;
use crate::protocol::{Attempt, Protocol};
use crate::transaction::{SnapshotRead, Txn};
use crate::work;
use contract::{
    Abort, AbortReason, Client, CommitId, Durability, Outcome, Plan, PrefetchName, Procedure, RunError,
    SnapshotPlace, TimeClass,
};

/// Times that a transaction may be refused what its plan did not declare. A plan that is out of date is mended by the
/// next; one that is wrong, or says nothing, is so for ever.
const MOST_PLANS: u32 = 8;
/// After so many, where what is planned is locked, it asks for whole tables: what it is after may change as fast as it is planned.
const PLANS_BEFORE_TABLES: u32 = 4;

/// How a transaction ended.
#[derive(Clone, Copy)]
pub(super) struct Ended {
    pub outcome: Outcome,
    pub attempts: u32,
    /// If it committed and ids are asked for.
    pub id: Option<CommitId>,
    /// In which it committed, if that is logged: it counts once this is durable.
    pub epoch: Option<u64>,
    /// Where it stands among the snapshots, if there are any and it committed.
    pub snapshot: Option<SnapshotPlace>,
    /// Whether a stopwatch ran along, which takes time.
    pub sampled: bool,
}

/// Between two attempts, in no epoch until it is dropped, be it by a panic.
struct OutOfEpoch<'t, 'e, A: Architecture>(&'t mut Txn<'e, A>);

impl<'t, 'e, A: Architecture> OutOfEpoch<'t, 'e, A> {
    fn of(txn: &'t mut Txn<'e, A>) -> Self {
        txn.suspend();
        OutOfEpoch(txn)
    }
}

impl<A: Architecture> Drop for OutOfEpoch<'_, '_, A> {
    fn drop(&mut self) {
        self.0.resume();
    }
}

/// One slot.
pub(super) struct Slot<'e, A: Architecture, R = Whole> {
    pub txn: Txn<'e, A>,
    reach: R,
    sampling: Sampling,
    prefetch: bool,
    precedence: Option<&'e Precedence>,
    log: Option<&'e Log>,
    /// Of the transaction that runs, in the interval.
    aborts: Aborts,
    ended: u64,
    /// What was spent on the architecture since then is not yet told.
    phase: Phase,
    /// What it keeps for checkpoints, once it has taken part in one.
    pub(super) walk: Option<Box<Walk>>,
}

impl<'e, A: Architecture, R: Reach<'e, A>> Slot<'e, A, R> {
    /// A slot that has run nothing.
    pub fn new(mut txn: Txn<'e, A>, reach: R, run: Run<'e>) -> Self {
        txn.ids = run.ids;
        txn.snapshot_canary = run.options.snapshot_canary;
        txn.overwrites = run.options.overwrites;
        txn.readers_wait = run.options.readers_wait;
        txn.wait_at_most(run.options.deadlock_timeout_ns);
        txn.preclaim_if(run.options.preclaim);
        let Run { options, until, precedence, log, .. } = run;
        if let Some(log) = log {
            txn.log_to(log);
        }
        txn.heed_hints_if(options.prefetch == PrefetchName::On);
        let (sampling, prefetch) = (Sampling::new(options), options.prefetch != PrefetchName::Off);
        Slot {
            txn,
            reach,
            sampling,
            prefetch,
            precedence,
            log,
            aborts: Aborts::default(),
            ended: 0,
            phase: Phase::first(until),
            walk: None,
        }
    }

    /// Whether transactions are planned before they run.
    pub fn plans(&self) -> bool {
        let wants_plans =
            self.prefetch || A::DECLARES || <A::Protocol as Protocol>::REQUESTS_AHEAD || self.txn.preclaims();
        R::MAY_PLAN && wants_plans
    }

    /// Lets a procedure plan, in a transaction of its own.
    #[inline(always)]
    pub fn plan<P: Procedure>(&mut self, drawn: &mut Drawn<P>) {
        if self.plans() {
            self.plan_again(&drawn.procedure, &mut drawn.plan);
            if A::LOCKS_PLANS && drawn.plan.is_open() {
                self.run_ahead(&drawn.procedure, &mut drawn.plan);
            }
        }
        drawn.is_planned = true;
    }

    /// Makes a plan for the `number`-th time, because the last attempt was refused something. Where what is planned is locked, that is added, and
    /// what the procedure touches when it runs ahead.
    #[cold]
    fn mend<P: Procedure>(&mut self, procedure: &P, plan: &mut Plan, number: u32) {
        if !R::MAY_PLAN {
            return;
        }
        // Once it asks for whole tables it asks for all those of the last attempt again, and for one more, so it comes to its end.
        let asks_for_tables = A::LOCKS_PLANS && number > PLANS_BEFORE_TABLES && !plan.is_empty();
        if !asks_for_tables {
            self.plan_again(procedure, plan);
        }
        if !A::LOCKS_PLANS || plan.is_empty() {
            return;
        }
        self.txn.plan_what_was_refused(plan);
        self.run_ahead(procedure, plan);
        if asks_for_tables {
            plan.widen_to_tables();
        }
    }

    /// Adds to a plan what the procedure touches when it runs without locks. What comes of that is for nobody else.
    #[cold]
    fn run_ahead<P: Procedure>(&mut self, procedure: &P, plan: &mut Plan) {
        self.txn.begin_running_ahead();
        let _: Result<Outcome, Abort> = procedure.run(&mut self.txn);
        self.txn.end_running_ahead(plan);
        self.txn.locate(plan);
    }

    #[inline(always)]
    fn plan_again<P: Procedure>(&mut self, procedure: &P, plan: &mut Plan) {
        let mut attempts = 0u32;
        loop {
            plan.clear();
            self.txn.begin_reconnaissance(if attempts == 0 { Attempt::First } else { Attempt::Retry });
            let planned = procedure.plan(&mut self.txn, plan);
            self.txn.end_reconnaissance();
            if planned.is_ok() {
                return self.txn.locate(plan);
            }
            if !A::DECLARES {
                if !<A::Protocol as Protocol>::REQUESTS_AHEAD {
                    // The plan was for prefetching only.
                    plan.clear();
                }
                return self.txn.locate(plan);
            }
            attempts = attempts.saturating_add(1);
            self.txn.architecture.back_off(attempts);
        }
    }

    /// Runs one transaction until it ends, or if it will not (as transactions that retry at once may abort for ever, unless they
    /// get precedence), until the run is over; `None`: it was given up. Its aborts count if they happen in the interval.
    #[inline(always)]
    pub fn execute<P: Procedure>(
        &mut self,
        drawn: &mut Drawn<P>,
        interval: Interval,
    ) -> Result<Option<Ended>, RunError> {
        if self.sampling.next() {
            self.txn.stopwatch.start();
        }
        if drawn.procedure.reads_snapshot() && self.txn.has_snapshots() {
            return Ok(Some(self.execute_on_snapshot(&drawn.procedure)));
        }
        let mut attempts = 1u32;
        let mut plans = 1;
        let mut turn = None;
        let (outcome, attempts) = loop {
            if turn.is_none()
                && let Some(precedence) = self.precedence
                && precedence.is_claimed()
            {
                self.defer(precedence);
            }
            work::attempt();
            self.txn.begin(if attempts == 1 { Attempt::First } else { Attempt::Retry }, &drawn.plan);
            let ended = match self.reach.run(&mut self.txn, &drawn.procedure) {
                Ok(Outcome::Commit) => self.reach.commit(&mut self.txn).map(|()| Outcome::Commit),
                // A poisoned transaction cannot roll back by its own will either: it saw what it must not rely on.
                Ok(Outcome::Rollback) => self.reach.roll_back(&mut self.txn).map(|()| Outcome::Rollback),
                Err(abort) => {
                    self.reach.abort(&mut self.txn);
                    Err(abort)
                }
            };
            match ended {
                Ok(outcome) => break (outcome, attempts),
                Err(abort) => {
                    let now = clock::now();
                    self.aborts[abort.0.index()] += u64::from(interval.contains(now));
                    if abort.0 == AbortReason::Undeclared {
                        plans += 1;
                        if plans > MOST_PLANS && (!A::LOCKS_PLANS || drawn.plan.is_empty()) {
                            return Err(self.txn.refused());
                        }
                        self.mend(&drawn.procedure, &mut drawn.plan, plans);
                    }
                    self.txn.architecture.back_off(attempts);
                    self.txn.stopwatch.aborted();
                    if now >= interval.given_up_at {
                        return Ok(None);
                    }
                    if turn.is_none()
                        && let Some(precedence) = self.precedence
                        && precedence.is_due(attempts)
                    {
                        turn = Some(precedence.turn(&mut OutOfEpoch::of(&mut self.txn).0.architecture));
                    }
                    attempts = attempts.saturating_add(1);
                }
            }
        };
        drop(turn);
        let sampled = self.txn.stopwatch.is_on();
        if sampled {
            self.txn.stopwatch.stop();
        }
        let (epoch, snapshot) = match outcome {
            Outcome::Commit => (self.txn.redo().map(Redo::epoch), self.txn.snapshot_place()),
            Outcome::Rollback => (None, None),
        };
        Ok(Some(Ended { outcome, attempts, id: self.txn.commit_id(), epoch, snapshot, sampled }))
    }

    /// Runs one transaction on a snapshot, which takes one attempt.
    fn execute_on_snapshot<P: Procedure>(&mut self, procedure: &P) -> Ended {
        self.txn.begin_snapshot();
        let outcome = procedure.run(&mut self.txn);
        let outcome = outcome.expect("nothing aborts a transaction that reads a snapshot");
        let SnapshotRead { number, last_epoch } = self.txn.end_snapshot();
        let sampled = self.txn.stopwatch.is_on();
        if sampled {
            self.txn.stopwatch.stop();
        }
        let (epoch, snapshot) = match outcome {
            // It counts when what it was shown is durable.
            Outcome::Commit => (self.txn.redo().map(|_| last_epoch), Some(SnapshotPlace::Read(number))),
            Outcome::Rollback => (None, None),
        };
        Ended { outcome, attempts: 1, id: None, epoch, snapshot, sampled }
    }

    /// Waits while others have precedence.
    #[cold]
    fn defer(&mut self, precedence: &Precedence) {
        let before = self.txn.stopwatch.enter(TimeClass::Wait);
        precedence.defer(&mut OutOfEpoch::of(&mut self.txn).0.architecture);
        self.txn.stopwatch.enter(before);
    }

    /// Enters the transaction that has ended into the worker's statistics.
    #[inline(always)]
    pub fn enter<C: Client>(
        &mut self,
        statistics: &mut WorkerStatistics<'_, C>,
        drawn: Drawn<C::Procedure>,
        ended: Ended,
        begun: Begun,
    ) {
        let aborts = &mut self.aborts;
        self.reach.with_receipts(&self.txn, |receipts| statistics.end(drawn, ended, begun, aborts, receipts));
        if self.txn.stopwatch.has_samples() {
            statistics.add_sample(&self.txn.stopwatch.take());
        }
        self.tell_effort_of_last_phase(statistics);
        self.ended += 1;
        if self.ended.is_multiple_of(cpu::transactions_between_looks()) {
            self.txn.reclaim();
            // And at what memory is left.
            if memory::is_short() {
                statistics.fail(RunError::Memory { available_bytes: memory::available_bytes() });
            }
        }
    }

    /// After a panic in a procedure: what its transaction holds is released.
    #[cold]
    pub fn abandon(&mut self) {
        self.reach.abandon(&mut self.txn);
    }

    /// Enters a transaction that was given up.
    #[cold]
    pub fn give_up<C: Client>(&mut self, statistics: &mut WorkerStatistics<'_, C>, begun: Begun) {
        statistics.give_up(begun, &mut self.aborts);
    }

    /// What was spent on the architecture in a phase of the run that is over.
    #[inline(always)]
    pub fn tell_effort_of_last_phase<C: Client>(&mut self, statistics: &mut WorkerStatistics<'_, C>) {
        if statistics.phase() != self.phase {
            self.tell_effort(statistics);
        }
    }

    /// There is no transaction to run: lets a little time pass, and holds no epoch back meanwhile.
    #[cold]
    pub fn rest(&mut self, rest: &mut cpu::Spin) {
        self.txn.reclaim();
        self.txn.rest(rest);
    }

    /// Whether the slot must let its logger go on before it takes another transaction: a commit is to be durable by itself, or the
    /// logger is far behind.
    #[inline(always)]
    pub fn waits_for_log(&self) -> bool {
        match (self.log, self.txn.redo()) {
            (Some(log), Some(redo)) => self.must_wait(log, redo),
            _ => false,
        }
    }

    fn must_wait(&self, log: &Log, redo: &Redo<'_>) -> bool {
        if log.level() == Durability::Sync && log.durable_everywhere() < redo.epoch() && !log.has_failed() {
            log.close(redo.epoch());
            return true;
        }
        redo.is_behind()
    }

    /// Counts what has become durable. Answers the log if a checkpoint wants its tables to be walked ([`Slot::walk`]).
    #[inline(always)]
    pub fn acknowledge<C: Client>(&mut self, statistics: &mut WorkerStatistics<'_, C>) -> Option<&'e Log> {
        let log = self.log?;
        statistics.acknowledge(log.durable_everywhere());
        let notice = log.notice();
        if notice.has_failed() {
            statistics.stop_for_good();
        }
        (notice.is_walked() && !notice.has_failed()).then_some(log)
    }

    /// The worker has gone on to another phase of its run: what was spent in the last one counts, or does not.
    #[cold]
    fn tell_effort<C: Client>(&mut self, statistics: &mut WorkerStatistics<'_, C>) {
        let mut effort = self.txn.architecture.take_effort();
        effort.lock_hold += self.txn.stopwatch.take_lock_hold();
        effort.hot_locks += self.txn.take_hot_locks();
        if self.phase == Phase::Counting {
            statistics.add_effort(&effort);
        }
        self.phase = statistics.phase();
    }

    /// Asks for the lines of the two transactions that the worker will run next: the index's two transactions ahead, the
    /// records' one.
    #[inline(always)]
    pub fn prefetch<C: Client>(&self, statistics: &mut WorkerStatistics<'_, C>) {
        if !self.prefetch {
            return;
        }
        if let Some(second) = statistics.peek(2) {
            self.txn.prefetch_index(&second.plan);
        }
        if let Some(next) = statistics.peek(1) {
            self.txn.prefetch_records(&next.plan);
        }
    }

    /// Asks for the lines of a transaction that runs now: all at once, so that they come together.
    #[inline(always)]
    pub fn prefetch_now<P: Procedure>(&self, drawn: &Drawn<P>) {
        if self.prefetch {
            self.txn.prefetch_index(&drawn.plan);
            self.txn.prefetch_records(&drawn.plan);
        }
    }

    /// The same, and lets others run until they may have come.
    #[inline(always)]
    pub fn fetch_planned<P: Procedure>(&mut self, drawn: &Drawn<P>) {
        if self.prefetch {
            self.txn.fetch_planned(&drawn.plan);
        }
    }

    /// Ends the slot, which has been free since then.
    pub fn leave<C: Client>(mut self, statistics: &mut WorkerStatistics<'_, C>, free_since: Ticks) {
        statistics.leave(free_since);
        self.tell_effort(statistics);
    }
}
