//! The loop of a worker of shared-everything with several transactions in flight, each in a fiber that stays there.
//!
//! When a transaction has asked for lines that are probably far, the worker goes on with the next one ([`crate::fiber::RoundRobin`]), so that
//! many lines are on their way at a time, whatever procedures want them, planned or not. Each fiber has a slot, an epoch and allocation caches
//! of its own, and is to the protocol what a worker of its own would be.
//!
//! How many of them begin transactions, [`Admission`] says. One that is not admitted is in no epoch. While only one is, and the others have come to their ends, it plans
//! what it draws and asks for lines ahead, as the loop of one transaction at a time does; with several in flight each plans when it begins.
//!
//! Against the loop over fibers that migrate ([`super::fibers`]): nobody comes or goes. A procedure that panics is caught in its fiber here, too,
//! and the panic is passed on when the others have ended: one of them may be in the queue of a lock, and who is unwound there is granted it all
//! the same, by somebody who then waits for it for ever.

use super::Run;
use super::admission::Admission;
use super::slot::Slot;
use super::statistics::{Next, Report, WorkerStatistics};
use crate::architecture::{BackOff, Lately, SharedEverything, SharedState};
use crate::durability::Log;
use crate::facade::clock::{self, Ticks};
use crate::facade::cpu;
use crate::fiber::{Fiber, Round, RoundRobin};
use crate::physical::Concurrent;
use crate::protocol::{Protocol, SlotId};
use crate::session::Whole;
use crate::storage::{AllocationCache, Table};
use crate::transaction::Txn;
use contract::Client;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// What all workers' loops are given.
pub(crate) struct World<'e, P: Protocol, F: Concurrent> {
    pub tables: &'e [Table],
    pub state: &'e SharedState<P, F>,
    pub run: Run<'e>,
}

/// What a worker's fibers share.
struct Home<'e, C: Client> {
    statistics: WorkerStatistics<'e, C>,
    admission: Admission,
    /// Fibers that have begun and do not rest.
    busy: usize,
    panic: Option<Box<dyn Any + Send>>,
}

/// A slot in a fiber.
type SlotInFiber<'e, P, F> = Slot<'e, SharedEverything<'e, P, F>>;

/// Runs `client`'s transactions on worker `me`, as many in flight as there are caches, or as are admitted.
pub(crate) fn run<'e, P: Protocol, F: Concurrent, C: Client>(
    me: usize,
    client: C,
    caches: &'e mut [AllocationCache],
    start: Ticks,
    world: &World<'e, P, F>,
) -> Report<C> {
    let (most, options) = (caches.len(), world.run.options);
    let statistics = WorkerStatistics::new(client, me, start, most, world.run);
    let mut home =
        Home { statistics, admission: Admission::new(options.in_flight, most), busy: 0, panic: None };
    let place = &raw mut home;
    let mut lately = Lately::new();
    let lately = &raw mut lately;
    let body = |(number, allocations)| {
        let slot = SlotId((me * most + number) as u32);
        // SAFETY: `home`, `lately`, `world` and the caches outlive the fibers, which are dropped before this function ends; and they never leave this
        // thread.
        unsafe {
            Fiber::new(move |current| {
                let back_off = BackOff::new(options, slot.0);
                let architecture =
                    SharedEverything::in_fiber(current, lately, world.tables, world.state, back_off);
                let txn = Txn::new(architecture, world.tables, world.run.epochs, slot, allocations);
                live::<P, F, C>(Slot::new(txn, Whole, world.run), number, start, place);
            })
        }
    };
    let fibers = caches.iter_mut().enumerate().map(body).collect();
    let mut fibers = RoundRobin::new(me, &world.state.grants, fibers);
    // What slots allocate they allocate before the first transaction, and not when one is first admitted.
    fibers.open();
    let mut spin = cpu::Spin::new();
    loop {
        // SAFETY: no fiber runs, and none holds a borrow of `home` while it does not.
        let admitted = unsafe { &*place }.admitted(most);
        match fibers.round(admitted) {
            Round::Ran => spin = cpu::Spin::new(),
            Round::Waits(until) => match until.into_iter().chain(arrival(place)).min() {
                Some(until) => spin.pause_until(until),
                None => spin.pause(),
            },
            Round::NothingNow => {
                spin.expect_at(arrival(place));
                spin.rest();
            }
            Round::Ended => break,
        }
    }
    drop(fibers);
    home.statistics.all_have_ended();
    if let Some(panic) = home.panic {
        resume_unwind(panic);
    }
    home.statistics.report()
}

impl<C: Client> Home<'_, C> {
    /// Something of the client's has panicked: no transaction is begun any more.
    #[cold]
    fn fail(&mut self, panic: Box<dyn Any + Send>) {
        self.statistics.stop();
        self.panic.get_or_insert(panic);
    }

    /// The fibers that may begin transactions, of so many. When the run is over, all of them end.
    #[inline(always)]
    fn admitted(&self, most: usize) -> usize {
        if self.statistics.is_over() { most } else { self.admission.admitted() }
    }
}

/// When the next transaction arrives, in an open loop, unless those that were before it are still to become durable, which may come first.
/// Called while no fiber runs.
#[cold]
fn arrival<C: Client>(home: *const Home<'_, C>) -> Option<Ticks> {
    // SAFETY: no fiber runs, and none holds a borrow of `home` while it does not.
    let statistics = unsafe { &(*home).statistics };
    statistics.next_arrival().filter(|_| !statistics.waits_for_log())
}

/// The life of fiber `number`.
fn live<'e, P: Protocol, F: Concurrent, C: Client>(
    mut slot: SlotInFiber<'e, P, F>,
    number: usize,
    start: Ticks,
    home: *mut Home<'_, C>,
) {
    // It is in no epoch until it is admitted.
    slot.txn.suspend();
    slot.txn.architecture.let_others_run();
    slot.txn.resume();
    let mut free_since = start;
    // SAFETY: the fiber runs, so the worker's loop is in `round` and holds no borrow of `home`, nor does another fiber; and this borrow ends
    // before the next suspension.
    unsafe { &mut *home }.busy += 1;
    loop {
        // SAFETY: as above.
        let Home { statistics, admission, busy, .. } = unsafe { &mut *home };
        if number >= admission.admitted() && !statistics.is_over() {
            slot.tell_effort_of_last_phase(statistics);
            rest(&mut slot, home);
            // SAFETY: as above.
            free_since = unsafe { &mut *home }.statistics.has_rested(free_since);
            continue;
        }
        // Those that were admitted before have to come to their ends.
        let is_alone = admission.admitted() == 1 && *busy == 1;
        slot.txn.architecture.let_others_run_meanwhile(!is_alone);
        // Planning may wait for a lock, while `home` is borrowed: no other fiber may run. Alone it can wait in place, for none of the others holds anything.
        slot.txn.architecture.stay_if(is_alone);
        let mut is_planning = false;
        let next = catch_unwind(AssertUnwindSafe(|| {
            statistics.next(|drawn| {
                if is_alone {
                    is_planning = true;
                    slot.plan(drawn);
                    is_planning = false;
                }
            })
        }));
        slot.txn.architecture.stay_if(false);
        match next {
            Ok(Next::Drawn) => {}
            Ok(Next::NothingNow) => {
                slot.tell_effort_of_last_phase(statistics);
                let walked = slot.acknowledge(statistics);
                rest(&mut slot, home);
                walk(&mut slot, walked, home);
                continue;
            }
            Ok(Next::Over) => break,
            Err(panic) => {
                if is_planning {
                    slot.abandon();
                }
                // SAFETY: as above.
                unsafe { &mut *home }.fail(panic);
                break;
            }
        }
        // SAFETY: as above.
        let statistics = unsafe { &mut (*home).statistics };
        if is_alone {
            slot.prefetch(statistics);
        }
        let (mut drawn, interval) = (Some(statistics.take()), statistics.interval());
        let its = drawn.as_mut().expect("it is drawn");
        let due = its.due;
        let ready = statistics.last();
        let is_to_plan = slot.plans() && !its.is_planned;
        // Of what was planned ahead the lines have been asked for, while those before it ran.
        let comes_ahead = is_alone && !is_to_plan;
        let planned = match is_to_plan {
            true => catch_unwind(AssertUnwindSafe(|| slot.plan(its))),
            false => Ok(()),
        };
        // Alone, and planned in no time, it begins when the last one has ended.
        let began = if comes_ahead { ready } else { clock::now() };
        // SAFETY: as above.
        let begun = unsafe { &mut *home }.statistics.begin(free_since, due, began);
        let executed = planned.and_then(|()| {
            catch_unwind(AssertUnwindSafe(|| {
                if !comes_ahead {
                    slot.fetch_planned(its);
                }
                slot.execute(its, interval)
            }))
        });
        if executed.is_err() {
            slot.abandon();
        }
        // SAFETY: as above.
        let at_home = unsafe { &mut *home };
        match executed {
            Ok(Ok(Some(ended))) => {
                if let Some(admitted) = at_home.admission.has_ended() {
                    at_home.statistics.has_admitted(admitted);
                }
                // Procedures are large: it is moved to its client, and not to here first.
                let entered = catch_unwind(AssertUnwindSafe(|| {
                    let drawn = drawn.take().expect("it is drawn");
                    slot.enter(&mut at_home.statistics, drawn, ended, begun)
                }));
                if let Err(panic) = entered {
                    at_home.fail(panic);
                }
            }
            Ok(Ok(None)) => slot.give_up(&mut at_home.statistics, begun),
            Ok(Err(error)) => at_home.statistics.fail(error),
            Err(panic) => at_home.fail(panic),
        }
        if slot.waits_for_log() {
            // SAFETY: as above.
            let ended = unsafe { &*home }.statistics.last();
            while slot.waits_for_log() {
                rest(&mut slot, home);
            }
            // SAFETY: as above.
            unsafe { &mut *home }.statistics.has_waited_for_log(begun, ended);
        }
        // SAFETY: as above.
        let statistics = unsafe { &mut (*home).statistics };
        let walked = slot.acknowledge(statistics);
        free_since = statistics.last();
        walk(&mut slot, walked, home);
        slot.txn.architecture.has_ended();
    }
    loop {
        // SAFETY: as above.
        let statistics = unsafe { &mut (*home).statistics };
        let walked = slot.acknowledge(statistics);
        if !statistics.waits_for_log() {
            break;
        }
        rest(&mut slot, home);
        walk(&mut slot, walked, home);
    }
    // SAFETY: as above.
    let at_home = unsafe { &mut *home };
    at_home.busy -= 1;
    slot.leave(&mut at_home.statistics, free_since);
}

/// Lets the others run, until there may be something to do. Called with no borrow of `home`.
fn rest<P: Protocol, F: Concurrent, C: Client>(slot: &mut SlotInFiber<'_, P, F>, home: *mut Home<'_, C>) {
    // SAFETY: as in `live`.
    unsafe { &mut *home }.busy -= 1;
    slot.rest(&mut cpu::Spin::new());
    // SAFETY: as in `live`.
    unsafe { &mut *home }.busy += 1;
}

/// Takes part in a checkpoint of this log, if it wants that. Called with no borrow of `home`.
fn walk<P: Protocol, F: Concurrent, C: Client>(
    slot: &mut SlotInFiber<'_, P, F>,
    walked: Option<&Log>,
    home: *mut Home<'_, C>,
) {
    let Some(log) = walked else { return };
    let walked = slot.walk(log);
    // SAFETY: as in `live`.
    let statistics = unsafe { &mut (*home).statistics };
    if let Err(error) = walked {
        statistics.fail(error);
    }
    statistics.is_ready();
}
