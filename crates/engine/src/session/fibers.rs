//! The loop of a worker with several transactions in flight, each in a fiber, of any architecture that has them
//! ([`InSlots`]).
//!
//! A fiber takes a transaction at home, runs it wherever it leads, comes home, and counts it in the worker's statistics. The
//! statistics are touched by the worker's own fibers only, at home, and never across a suspension. A run ends when every
//! worker's fibers have ended; until then, all of them may visit any worker.
//!
//! *Epochs.* An epoch is complete once every slot has gone on to a later one. The fiber that ended a transaction last begins the next, so that those below it may be between two transactions for as long as the run takes: where a
//! slot has gone on, the worker lets all those go on, too.
//!
//! A procedure that panics is caught in its fiber, so that what it holds can be released by going there; the panic is
//! passed on when the run has ended.

use super::Run;
use super::interval::Interval;
use super::polling::Polling;
use super::reach::{BranchPanicked, Fragments, InSlots};
use super::slot::Slot;
use super::statistics::{Next, Report, WorkerStatistics};
use crate::architecture::BackOff;
use crate::durability::Log;
use crate::facade::clock::{self, Ticks};
use crate::facade::cpu;
use crate::fiber::{Current, Fiber, Others, Scheduler, Turn};
use crate::protocol::SlotId;
use crate::storage::AllocationCache;
use crate::storage::Table;
use crate::transaction::Txn;
use contract::{Client, Effort, LogError, Sampled};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// What all workers' loops are given.
pub(crate) struct World<'e, A: InSlots<'e>> {
    pub tables: &'e [Table],
    pub state: &'e A::State,
    pub run: Run<'e>,
}

/// What a worker's fibers share, at home.
struct Home<'e, C: Client> {
    statistics: WorkerStatistics<'e, C>,
    panic: Option<Box<dyn Any + Send>>,
    /// Fibers that have transactions of the client's, or may yet.
    living: usize,
    /// Transactions that have ended.
    ended: u64,
    /// Whether no fiber but the one that runs has anything to do.
    others_are_quiescent: bool,
    /// Whether the one that ran has polled, and let others run for what had come.
    has_communicated: bool,
    /// In which the slots between two transactions are at least.
    epoch: u64,
    /// A slot has gone on to a later one.
    has_later_epoch: bool,
    /// Those between two transactions go on to the epoch, and no further.
    looks_at_epoch: bool,
}

/// Turns after which a worker looks for a new epoch itself: its fibers may be busy with what they have begun, or with branches.
const LOOK_AT_EPOCH_EVERY: u32 = 64;

impl<C: Client> Home<'_, C> {
    /// Something of the client's has panicked: no transaction is begun any more.
    fn fail(&mut self, panic: Box<dyn Any + Send>) {
        self.statistics.stop();
        self.panic.get_or_insert(panic);
    }
}

/// Runs `client`'s transactions on worker `me`, as many in flight as there are caches.
pub(crate) fn run<'e, A: InSlots<'e>, C: Client>(
    me: usize,
    client: C,
    caches: &'e mut [AllocationCache],
    start: Ticks,
    world: &World<'e, A>,
) -> Report<C> {
    let slots = caches.len();
    let in_flight = slots - A::branch_slots(world.state, slots);
    let statistics = WorkerStatistics::new(client, me, start, in_flight, world.run);
    let mut home = Home {
        statistics,
        panic: None,
        living: in_flight,
        ended: 0,
        others_are_quiescent: false,
        has_communicated: false,
        epoch: world.run.epochs.current(),
        has_later_epoch: false,
        looks_at_epoch: false,
    };
    let place = &raw mut home;
    let body = |(number, allocations)| {
        let slot = SlotId((A::first_slot(world.state, me, slots) + number) as u32);
        // Epochs are of all workers.
        let in_epochs = me * slots + number;
        // SAFETY: `home`, `world` and the caches outlive the fibers, all of which end before this function does. What the body holds
        // at a suspension, a transaction, its slot and a procedure, is `Send` or refers to what all workers share, but
        // for `place`, which is used at home only.
        unsafe {
            Fiber::new(move |current| {
                let txn = open_slot::<A>(current, slot, in_epochs, allocations, world);
                match number < in_flight {
                    true => live::<A, C>(txn, start, place, world),
                    false => serve_branches::<A, C>(txn, place, world),
                }
            })
        }
    };
    let fibers = caches.iter_mut().enumerate().map(body).collect();
    let workers = A::workers(world.state);
    let mut scheduler =
        Scheduler::new(me, &workers.rings, A::grants(world.state), fibers, workers.len() * slots);
    if A::COUNTS_IDLENESS {
        let Interval { from, to, .. } = home.statistics.interval();
        scheduler = scheduler.counting_idleness(from..to);
    }
    // What slots allocate they allocate before the first transaction, and not when one first needs a second slot.
    scheduler.open();
    let mut spin = cpu::Spin::new();
    let mut polling = Polling::default();
    let (mut has_ended, mut turns) = (false, 0u32);
    loop {
        turns = turns.wrapping_add(1);
        // SAFETY: no fiber runs.
        let has_later_epoch = unsafe { std::mem::take(&mut (*place).has_later_epoch) };
        if has_later_epoch || turns.is_multiple_of(LOOK_AT_EPOCH_EVERY) {
            let now = world.run.epochs.current();
            // SAFETY: as above.
            if unsafe { std::mem::replace(&mut (*place).epoch, now) } != now {
                // The fiber that ran last runs next, and those below it may be idle for as long as the run takes: nobody's epoch waits for theirs.
                // SAFETY: as above.
                unsafe { (*place).looks_at_epoch = true };
                scheduler.visit_idle();
                // SAFETY: as above.
                unsafe { (*place).looks_at_epoch = false };
            }
        }
        if A::is_slow(world.state) {
            scheduler.look();
        }
        // SAFETY: no fiber runs.
        let mut has_communicated = unsafe { std::mem::take(&mut (*place).has_communicated) };
        if polling.is_late(A::has_posted(world.state)) {
            A::send_posted(world.state);
        }
        if !has_communicated {
            let takes_along = A::has_posted(world.state) && scheduler.has_idle();
            has_communicated =
                polling.is_due(scheduler.can_go_on(), takes_along) && A::communicate(world.state);
        }
        scheduler.look();
        if has_communicated && A::is_slow(world.state) {
            polling.has_come(scheduler.can_go_on_now());
        }
        let turn = match scheduler.choose() {
            Some(fiber) => {
                if A::POLLS_IN_PLACE {
                    let others = scheduler.others();
                    // SAFETY: no fiber runs.
                    unsafe { (*place).others_are_quiescent = others.are_quiescent };
                    A::note_others(world.state, others);
                }
                scheduler.run(fiber)
            }
            None => Turn::NoFiber,
        };
        if turn == Turn::Ran || has_communicated {
            spin = cpu::Spin::new();
            continue;
        }
        if turn == Turn::Looked {
            // Those who are in its way may need this core.
            spin.give_way();
            continue;
        }
        if home.living == 0 && !has_ended && A::is_flushed(world.state) {
            home.statistics.all_have_ended();
            workers.one_has_ended();
            has_ended = true;
        }
        if workers.have_ended() && A::all_have_finished(world.state) {
            A::close(world.state);
            A::note_others(world.state, Others::default());
            while scheduler.has_living() {
                scheduler.turn();
            }
            A::leave(world.state);
            break;
        }
        match scheduler.next_wake() {
            Some(until) => spin.pause_until(until),
            None if !scheduler.has_waiting() && (has_ended || turn == Turn::NothingNow) => {
                spin.expect_at(home.statistics.next_arrival().filter(|_| !has_ended));
                spin.rest();
            }
            None => spin.pause(),
        }
    }
    if let Some(ns) = scheduler.idle_ns() {
        home.statistics.add_effort(&Effort { idle: Sampled { samples: 1, ns }, ..Effort::default() });
    }
    drop(scheduler);
    if let Some(panic) = home.panic {
        resume_unwind(panic);
    }
    home.statistics.report()
}

/// A transaction slot, in the fiber that runs.
fn open_slot<'e, A: InSlots<'e>>(
    current: Current,
    slot: SlotId,
    in_epochs: usize,
    allocations: &'e mut AllocationCache,
    world: &World<'e, A>,
) -> Txn<'e, A> {
    let Run { epochs, options, .. } = world.run;
    let back_off = BackOff::new(options, in_epochs as u32);
    let architecture = A::new(current, slot, world.tables, world.state, back_off);
    Txn::at_place(architecture, world.tables, epochs, slot, in_epochs, allocations)
}

/// A fiber's life.
fn live<'e, A: InSlots<'e>, C: Client>(
    txn: Txn<'e, A>,
    start: Ticks,
    home: *mut Home<'_, C>,
    world: &World<'e, A>,
) {
    let options = world.run.options;
    let reach = txn.architecture.reach(options);
    let mut slot = Slot::new(txn, reach, world.run);
    let_others_run(&mut slot.txn, home);
    let polling_interval = A::polling_interval_ticks(world.state);
    // When the first transaction began since the worker has polled.
    let mut unpolled_since = None;
    // Whether one has ended since others have run.
    let mut has_run = false;
    let mut free_since = start;
    loop {
        // SAFETY: the fiber is at home, on the thread that owns `home`, whose loop is in `resume` and holds no borrow of
        // it; no other fiber of this home runs; and this borrow ends before the next suspension.
        let statistics = unsafe { &mut (*home).statistics };
        // Whatever of the client's panics, the worker goes on until all its fibers have ended: what they hold elsewhere can
        // be released only there.
        let next = catch_unwind(AssertUnwindSafe(|| match statistics.next(|_| {}) {
            Next::Drawn => Some(Some((statistics.take(), statistics.interval()))),
            Next::NothingNow => Some(None),
            Next::Over => None,
        }));
        let (mut drawn, interval) = match next {
            Ok(Some(Some(next))) => next,
            Ok(Some(None)) if std::mem::take(&mut has_run) => {
                // Who finds nothing to begin after that was not idle.
                let_others_run(&mut slot.txn, home);
                unpolled_since = None;
                continue;
            }
            Ok(Some(None)) => {
                slot.tell_effort_of_last_phase(statistics);
                let walked = acknowledge(&mut slot, home);
                slot.rest(&mut cpu::Spin::new());
                walk(&mut slot, walked, home);
                unpolled_since = None;
                continue;
            }
            Ok(None) => break,
            Err(panic) => {
                // SAFETY: as above.
                unsafe { &mut *home }.fail(panic);
                break;
            }
        };
        // Planning may lead elsewhere, and is over at home: it is outside of latency, as under the other architectures.
        let planned = catch_unwind(AssertUnwindSafe(|| slot.plan(&mut drawn)));
        slot.txn.architecture.go_home();
        let began = clock::now();
        let first_began = *unpolled_since.get_or_insert(began);
        // SAFETY: as above.
        let begun = unsafe { &mut *home }.statistics.begin(free_since, drawn.due, began);
        let outcome = planned.and_then(|()| {
            catch_unwind(AssertUnwindSafe(|| {
                slot.prefetch_now(&drawn);
                slot.execute(&mut drawn, interval)
            }))
        });
        if outcome.is_err() {
            slot.abandon();
        }
        slot.txn.architecture.go_home();
        {
            // SAFETY: as above.
            let home = unsafe { &mut *home };
            match outcome {
                Ok(Ok(Some(ended))) => {
                    let entered = catch_unwind(AssertUnwindSafe(|| {
                        slot.enter(&mut home.statistics, drawn, ended, begun)
                    }));
                    if let Err(panic) = entered {
                        home.fail(panic);
                    }
                }
                Ok(Ok(None)) => slot.give_up(&mut home.statistics, begun),
                Ok(Err(error)) => home.statistics.fail(error),
                Err(panic) if panic.is::<BranchPanicked>() => home.statistics.stop(),
                Err(panic) => home.fail(panic),
            }
        }
        if slot.waits_for_log() {
            // SAFETY: as above.
            let ended = unsafe { &*home }.statistics.last();
            // Until here the worker had something to do, and from now on may have nothing.
            let_others_run(&mut slot.txn, home);
            while slot.waits_for_log() {
                slot.rest(&mut cpu::Spin::new());
            }
            // SAFETY: as above.
            unsafe { &mut *home }.statistics.has_waited_for_log(begun, ended);
        }
        let walked = acknowledge(&mut slot, home);
        // SAFETY: as above.
        let at_home = unsafe { &mut *home };
        free_since = at_home.statistics.last();
        at_home.ended += 1;
        slot.txn.architecture.has_ended(at_home.ended, options);
        walk(&mut slot, walked, home);
        if free_since.since(first_began) >= polling_interval {
            unpolled_since = None;
            // SAFETY: as above.
            let at_home = unsafe { &mut *home };
            // Those below this one have to go on to a new epoch, too.
            let may_stay = at_home.others_are_quiescent && slot.txn.local_epoch() == at_home.epoch;
            let polls_in_place = slot.txn.architecture.was_local() && may_stay;
            if polls_in_place {
                at_home.has_communicated = A::communicate(world.state);
            }
            if !polls_in_place || at_home.has_communicated {
                let_others_run(&mut slot.txn, home);
                has_run = false;
                continue;
            }
        }
        has_run = true;
    }
    loop {
        let walked = acknowledge(&mut slot, home);
        // SAFETY: as above.
        if !unsafe { &*home }.statistics.waits_for_log() {
            break;
        }
        slot.rest(&mut cpu::Spin::new());
        walk(&mut slot, walked, home);
    }
    // SAFETY: as above.
    let at_home = unsafe { &mut *home };
    at_home.living -= 1;
    slot.leave(&mut at_home.statistics, free_since);
}

/// The life of a fiber that runs branches of other instances' transactions.
fn serve_branches<'e, A: InSlots<'e>, C: Client>(
    mut txn: Txn<'e, A>,
    home: *mut Home<'_, C>,
    world: &World<'e, A>,
) {
    let_others_run(&mut txn, home);
    let served = catch_unwind(AssertUnwindSafe(|| A::serve_branches(&mut txn, AtHome(home), world.run)));
    if let Err(panic) = served {
        if let Some(log) = world.run.log {
            // Before the slot leaves the epoch of what it may have voted for: none in which that is missing here becomes durable.
            log.fail(&LogError::Refused { why: "a branch has panicked".to_owned() });
        }
        A::branch_has_panicked(world.state);
        // SAFETY: as in `live`: it never leaves home.
        unsafe { &mut *home }.fail(panic);
    }
}

/// The client of a worker, as its branches see it.
struct AtHome<'e, C: Client>(*mut Home<'e, C>);

impl<C: Client> Fragments for AtHome<'_, C> {
    type Procedure = C::Procedure;

    fn decode(&mut self, bytes: &[u8]) -> Option<C::Procedure> {
        // SAFETY: as in `live`: a branch never leaves home.
        unsafe { &mut *self.0 }.statistics.client().decode(bytes)
    }

    fn take_back(&mut self, fragment: C::Procedure) {
        // SAFETY: as above.
        unsafe { &mut *self.0 }.statistics.client().take_back(fragment);
    }
}

/// Lets others run, between two transactions. The slot goes on to each new epoch meanwhile. Called at home, with no borrow of it.
fn let_others_run<'e, A: InSlots<'e>, C: Client>(txn: &mut Txn<'e, A>, home: *mut Home<'_, C>) {
    loop {
        {
            // SAFETY: as in `live`.
            let at_home = unsafe { &mut *home };
            if txn.local_epoch() < at_home.epoch {
                txn.go_on_to_epoch();
            }
            assert!(txn.local_epoch() >= at_home.epoch, "it is behind the others at home");
            at_home.has_later_epoch |= txn.local_epoch() > at_home.epoch;
        }
        txn.architecture.let_others_run();
        // SAFETY: as in `live`.
        if !unsafe { &*home }.looks_at_epoch {
            return;
        }
    }
}

/// Tells the client what has become durable; answers the log, if it wants to be walked. Called at home, with no borrow of it.
fn acknowledge<'e, A: InSlots<'e>, C: Client>(
    slot: &mut Slot<'e, A, A::Reach>,
    home: *mut Home<'_, C>,
) -> Option<&'e Log> {
    // SAFETY: as in `live`.
    let statistics = unsafe { &mut (*home).statistics };
    catch_unwind(AssertUnwindSafe(|| slot.acknowledge(statistics))).unwrap_or_else(|panic| {
        // SAFETY: as in `live`.
        unsafe { &mut *home }.fail(panic);
        None
    })
}

/// Takes part in a checkpoint of this log, if it wants that, and comes home. Called at home, with no borrow of it.
fn walk<'e, A: InSlots<'e>, C: Client>(
    slot: &mut Slot<'e, A, A::Reach>,
    walked: Option<&'e Log>,
    home: *mut Home<'_, C>,
) {
    let Some(log) = walked else { return };
    let walked = slot.walk(log);
    slot.txn.architecture.go_home();
    // Who finds nothing to begin after that was not idle.
    let_others_run(&mut slot.txn, home);
    if let Err(error) = walked {
        // SAFETY: as in `live`.
        unsafe { &mut *home }.statistics.fail(error);
    }
}
