//! ORTHRUS: concurrency control and execution have threads of their own (*orthrus* 3).
//!
//! Some threads do concurrency control and nothing else: each has the lock table of a part of the keys ([`cc_thread`], [`lock_table`]). The others
//! execute transactions, in fibers, and touch no lock. A transaction knows all that it will touch before it begins, by its plan; it asks for it
//! in one message, and runs when it has it all. Its thread runs others meanwhile.
//!
//! | what | message | who waits for it |
//! |---|---|---|
//! | ask for all locks | to the first thread that has some, which forwards it to the next once it has granted its own, and so on in ascending order | |
//! | all are granted | from the last one to the slot's grant word | the fiber, parked |
//! | give them back | to each thread that has some, when the transaction has ended | nobody |
//!
//! So locks of N threads take N + 1 messages until they are granted (3.3). Without forwarding each thread answers to the transaction, which asks the
//! next: 2 N. If the threads share one table ([`shared_lock_table`]), any of them grants all: 2, and one to give all back.
//!
//! *No deadlock* (3.2). A transaction asks a thread when it has all that it wants of those before it, and a thread grants in the order of arrival. The
//! transaction that came first of all that wait at the last thread where some do waits only for such as have all that they want there and wait nowhere behind:
//! they run, and end.
//!
//! *Nobody blocks a concurrency-control thread.* It never waits for room: what it forwards goes to threads after it, and is kept until there is room; a
//! grant is a word of its slot.
//!
//! *Rows* are read and written in place by who has them locked. A record has no locks. Who plans, or runs ahead without locks, copies rows while they
//! may be written, and a version in the record tells ([`crate::protocol::LockTables`]).
//!
//! *Nobody waits for ever* but by a defect, which the watchdog tells ([`super::watchdog`]).
//!
//! *A plan that is out of date* shows when the transaction comes to a key that it has not locked. It aborts, is planned again, and runs ahead
//! without locks, which finds the rest (OLLP); see [`crate::session`]. What it looks for may change as fast as it is planned: after a few
//! attempts it asks for whole tables. A plan that says nothing says nothing the next time, either, and is an error.
//!
//! We differ:
//! - A grant is a word, not an entry in a ring: a slot waits for one at a time, so that there is always room for it.
//! - The lock set stays where the transaction's slot is; the message names it, and each thread copies its part.
//! - Of a shared table the paper lets any thread be asked. A slot asks the same one each time, slots by turns: so its release comes there before its next
//!   request.
//! - A slot may ask for its next transaction's locks before a thread has got its release, because that was asked by way of another. The thread keeps
//!   both: releases of a slot come in the order of its transactions.

mod cc_thread;
mod errand;
mod lock_set;
mod lock_table;
mod shared_lock_table;

pub(crate) use cc_thread::CcThread;
pub(crate) use lock_table::{Lock, LockTable};

use super::watchdog::{self, Watch};
use super::{Architecture, BackOff, Beginning, InFibers, SharedState, Site, SiteOf, Waited};
use crate::facade::clock::{self, Ticks};
use crate::facade::{cpu, worker};
use crate::fiber::{Current, Suspension, Workers};
use crate::message::{Grants, Outbox, Rings};
use crate::physical::Shared;
use crate::protocol::{Mode, Planning, Rules, SlotId};
use crate::storage::Table;
use crate::timestamp::Timestamp;
use cc_thread::Message;
use contract::{Effort, EngineOptions, Key, Plan, PrefetchName, TableId};
use errand::Errand;
use lock_set::{LockSet, Owners};
use shared_lock_table::SharedLockTable;

/// What all threads share.
pub(crate) struct OrthrusState<'e, P: Planning> {
    shared: SharedState<P, Shared>,
    /// The threads that execute; their fibers stay at home.
    workers: Workers,
    /// Between all threads: first those for concurrency control, then the others.
    rings: Rings,
    owners: Owners<'e>,
    /// The table of all concurrency-control threads, if they have not one each.
    shared_table: Option<SharedLockTable>,
    cc_threads: usize,
    slots: usize,
    tables: usize,
    /// Whether a thread forwards what it has granted to the next, or answers.
    forwards: bool,
    /// Whether a thread asks for the lines of locks before it needs them.
    prefetches: bool,
}

impl<'e, P: Planning> OrthrusState<'e, P> {
    /// For `hosts` threads that execute, with `slots` transactions in flight in all, beside `cc_threads` others.
    pub fn new(
        tables: &'e [Table],
        cc_threads: usize,
        hosts: usize,
        slots: usize,
        options: &EngineOptions,
    ) -> Self {
        let partitions = tables.first().map_or(1, |table| table.partitions().len());
        let shared = SharedState::new(slots, partitions, options);
        (0..slots as u32).for_each(|slot| shared.grants.set_away(SlotId(slot)));
        let (readers_wait, parts) = (P::Rules::READERS_WAIT, SharedLockTable::parts_for(cc_threads));
        let (shared_table, owners) = match options.shared_lock_table {
            false => (None, cc_threads),
            true => (Some(SharedLockTable::new(cc_threads, slots, tables.len(), readers_wait)), parts),
        };
        OrthrusState {
            shared,
            workers: Workers::new(hosts),
            rings: Rings::new(cc_threads + hosts),
            owners: Owners::new(tables, owners as u32, options.locks_by_hash),
            shared_table,
            cc_threads,
            slots,
            tables: tables.len(),
            forwards: options.forwarding,
            prefetches: options.prefetch != PrefetchName::Off,
        }
    }
}

/// What the fibers of one thread that executes share.
pub(crate) struct ExecutionThread<'e, P: Planning> {
    state: &'e OrthrusState<'e, P>,
    /// The fibers run one at a time, on this thread.
    outbox: *mut Outbox<'e>,
}

impl<'e, P: Planning> ExecutionThread<'e, P> {
    /// What the thread sends through: the `number`-th of those that execute.
    pub fn outbox(state: &'e OrthrusState<'e, P>, number: usize) -> Outbox<'e> {
        Outbox::new(&state.rings, state.cc_threads + number)
    }

    /// The thread, which sends through `outbox`. Nobody else uses that.
    pub fn new(state: &'e OrthrusState<'e, P>, outbox: &'e mut Outbox<'e>) -> Self {
        ExecutionThread { state, outbox }
    }
}

/// A transaction slot, in its fiber.
pub(crate) struct Orthrus<'e, P: Planning> {
    current: Current,
    slot: SlotId,
    thread: &'e ExecutionThread<'e, P>,
    site: Site<'e, P, Shared, Grants>,
    back_off: BackOff,
    /// At an address of its own, which messages name.
    locks: Box<LockSet>,
    /// Whether the transaction has asked for them, and does not have them all.
    asks: bool,
    /// Whether it has them all.
    holds: bool,
    effort: Effort,
}

impl<P: Planning> Orthrus<'_, P> {
    fn grants(&self) -> &Grants {
        &self.thread.state.shared.grants
    }

    /// The thread that is asked for what the lock set has at a stop.
    fn thread_for(&self, stop: usize) -> usize {
        match self.thread.state.shared_table {
            None => self.locks.owner_at(stop),
            Some(_) => self.slot.0 as usize % self.thread.state.cc_threads,
        }
    }

    /// Sends to a concurrency-control thread; lets others run while there is no room.
    fn send(&mut self, to: usize, message: Message) {
        loop {
            // SAFETY: this thread's fibers have the outbox, one at a time, and this one does not suspend itself meanwhile.
            let outbox = unsafe { &mut *self.thread.outbox };
            if outbox.has_room(to) {
                outbox.post(to, message);
                self.effort.messages += 1;
                return;
            }
            if self.grants().has_dead() {
                // The thread has panicked, and takes nothing any more.
                return;
            }
            match worker::is_unwinding() {
                true => cpu::pause(),
                false => self.current.suspend(Suspension::Look(clock::now())),
            }
        }
    }

    /// Parks until a concurrency-control thread says that what was asked for is granted.
    fn wait_for_grant(&mut self) {
        let mut watch = Watch::new();
        loop {
            self.current.suspend(Suspension::Park(self.slot, None));
            if self.grants().take(self.slot).is_some() {
                return watch.over(self.slot, self.grants());
            }
            // The scheduler lets those that are parked look now and then.
            watchdog::aborted(self.grants());
            watch.look_at_all(self.slot, self.grants());
        }
    }
}

impl<'e, P: Planning> InFibers<'e> for Orthrus<'e, P>
where
    P::Common<Shared>: Sync,
{
    type State = ExecutionThread<'e, P>;

    const COUNTS_IDLENESS: bool = true;

    fn new(
        current: Current,
        slot: SlotId,
        tables: &'e [Table],
        thread: &'e ExecutionThread<'e, P>,
        back_off: BackOff,
    ) -> Self {
        // SAFETY: the run has this one state, and metadata is of a policy that lets any thread touch it.
        let site = unsafe { thread.state.shared.site(tables) };
        Orthrus {
            current,
            slot,
            thread,
            site,
            back_off,
            locks: Box::new(LockSet::new()),
            asks: false,
            holds: false,
            effort: Effort::default(),
        }
    }

    fn workers<'s>(thread: &'s ExecutionThread<'e, P>) -> &'s Workers {
        &thread.state.workers
    }

    fn grants<'s>(thread: &'s ExecutionThread<'e, P>) -> &'s Grants {
        &thread.state.shared.grants
    }

    #[inline(always)]
    fn fiber(&mut self) -> &mut Current {
        &mut self.current
    }

    /// It never leaves.
    #[inline(always)]
    fn go_home(&mut self) {}
}

/// A run that has failed ends fibers that wait: who has been sent the lock set may read it yet.
impl<P: Planning> Drop for Orthrus<'_, P> {
    fn drop(&mut self) {
        if self.asks {
            std::mem::forget(std::mem::replace(&mut self.locks, Box::new(LockSet::new())));
        }
    }
}

impl<P: Planning> Architecture for Orthrus<'_, P> {
    type Protocol = P;
    type Physical = Shared;
    type Waker = Grants;

    const DECLARES: bool = true;
    const LOCKS_PLANS: bool = true;

    fn begin(&mut self, plan: &Plan, _: Timestamp, mut tell: impl FnMut(Beginning)) {
        assert!(!self.holds, "the last attempt has released all");
        tell(Beginning::Asks);
        self.locks.fill(plan, self.thread.state.owners, P::Rules::LOCKS_RANGES);
        let forwards = self.thread.state.forwards;
        let asked = if forwards { self.locks.stops().min(1) } else { self.locks.stops() };
        self.asks = asked > 0;
        if self.asks {
            self.grants().set_in_time(self.slot);
        }
        for stop in 0..asked {
            // SAFETY: the lock set does not change until this transaction has been told of the last grant, and is leaked if it never is.
            let errand = unsafe { Errand::new(self.slot, &self.locks, stop) };
            self.send(self.thread_for(stop), Message::Request(errand));
            tell(Beginning::Waits);
            self.wait_for_grant();
            tell(Beginning::Asks);
        }
        (self.asks, self.holds) = (false, asked > 0);
        tell(Beginning::Got);
    }

    /// It asks for nothing.
    fn begin_reconnaissance(&mut self) {
        self.locks.clear();
    }

    fn release_all(&mut self) {
        if std::mem::take(&mut self.holds) {
            match self.thread.state.shared_table {
                None => (0..self.locks.stops()).for_each(|stop| {
                    self.send(self.thread_for(stop), Message::Release(self.slot));
                }),
                Some(_) => {
                    let parts = self.locks.owners().collect();
                    self.send(self.thread_for(0), Message::ReleaseParts(self.slot, parts));
                }
            }
            self.locks.clear();
            self.grants().set_away(self.slot);
        }
    }

    #[inline(always)]
    fn holds(&self, table: TableId, key: Key, mode: Mode) -> bool {
        self.locks.holds(self.thread.state.owners, table, key, mode)
    }

    #[inline(always)]
    fn holds_range(&self, table: TableId, first: Key, last: Key) -> bool {
        self.locks.holds_range(self.thread.state.owners, table, first, last)
    }

    #[inline(always)]
    fn site(&self) -> &SiteOf<'_, Self> {
        &self.site
    }

    fn wait(&mut self, _: SlotId, _: Option<Ticks>) -> Waited {
        unreachable!("nobody queues at records")
    }

    /// Only a transaction whose plan was out of date retries.
    fn back_off(&mut self, attempt: u32) {
        watchdog::aborted(self.grants());
        let until = self.back_off.until(attempt);
        self.current.suspend(match attempt > BackOff::ATTEMPTS_BEFORE_YIELDING {
            true => Suspension::Look(until),
            false => Suspension::Sleep(until),
        });
    }

    fn pause(&mut self, _: u32) {
        self.current.suspend(Suspension::Look(clock::now()));
    }

    /// The worker rests, once none of its fibers has anything to do.
    fn idle(&mut self, _: &mut cpu::Spin) {
        self.current.suspend(Suspension::NothingNow);
    }

    fn take_effort(&mut self) -> Effort {
        std::mem::take(&mut self.effort)
    }
}
