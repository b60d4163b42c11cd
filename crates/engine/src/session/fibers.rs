//! The loop of a worker with several transactions in flight, each in a fiber: what DORA runs on.
//!
//! A fiber takes a transaction at home, runs it wherever it leads, comes home, and counts it in the worker's statistics. The
//! statistics are touched by the worker's own fibers only, at home, and never across a suspension. A run ends when every
//! worker's fibers have ended; until then, all of them may visit any worker.
//!
//! A procedure that panics is caught in its fiber, so that what it holds can be released by going there; the panic is
//! passed on when the run has ended.

use super::Run;
use super::slot::Slot;
use super::statistics::{Report, WorkerStatistics};
use crate::architecture::{BackOff, Dora, DoraState};
use crate::facade::atomic::Ordering;
use crate::facade::clock::{self, Ticks};
use crate::facade::cpu;
use crate::fiber::{Current, Fiber, Scheduler};
use crate::protocol::{Protocol, SlotId};
use crate::storage::AllocationCache;
use crate::storage::Table;
use crate::transaction::Txn;
use contract::Client;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// What all workers' loops are given.
pub(crate) struct World<'e, P: Protocol> {
    pub tables: &'e [Table],
    pub state: &'e DoraState<P>,
    pub run: Run<'e>,
    pub workers: usize,
}

/// What a worker's fibers share, at home.
struct Home<'e, C: Client> {
    statistics: WorkerStatistics<'e, C>,
    panic: Option<Box<dyn Any + Send>>,
    /// Transactions that have ended since a partition was offered last.
    kept_for: u64,
}

impl<C: Client> Home<'_, C> {
    /// Something of the client's has panicked: no transaction is begun any more.
    fn fail(&mut self, panic: Box<dyn Any + Send>) {
        self.statistics.stop();
        self.panic.get_or_insert(panic);
    }
}

/// Runs `client`'s transactions on worker `me`, as many in flight as there are caches.
pub(crate) fn run<P: Protocol, C: Client>(
    me: usize,
    client: C,
    caches: &mut [AllocationCache],
    start: Ticks,
    world: &World<'_, P>,
) -> Report<C> {
    let in_flight = caches.len();
    let statistics = WorkerStatistics::new(client, start, world.run.until, in_flight, world.run.cool_down);
    let mut home = Home { statistics, panic: None, kept_for: 0 };
    let place = &raw mut home;
    let body = |(number, allocations)| {
        let slot = SlotId((me * in_flight + number) as u32);
        // SAFETY: `home`, `world` and the caches outlive the fibers, all of which end before this function does. What the body holds
        // at a suspension, a transaction, its slot and a procedure, is `Send` or refers to what all workers share, but
        // for `place`, which is used at home only.
        unsafe { Fiber::new(move |current| live(current, slot, allocations, start, place, world)) }
    };
    let fibers = caches.iter_mut().enumerate().map(body).collect();
    let (rings, grants) = (&world.state.rings, &world.state.shared.grants);
    let mut scheduler = Scheduler::new(me, rings, grants, fibers, world.workers * in_flight);
    let mut spin = cpu::Spin::new();
    let (ended, mut has_ended) = (&world.state.ended.0, false);
    loop {
        if scheduler.turn() {
            spin = cpu::Spin::new();
            continue;
        }
        if !scheduler.has_living() && !has_ended {
            // Release: the last of this home's fibers has left everywhere; pairs with the Acquire below.
            ended.fetch_add(1, Ordering::Release);
            has_ended = true;
        }
        // Acquire: all fibers have ended, so nobody will come.
        if ended.load(Ordering::Acquire) == world.workers {
            break;
        }
        match scheduler.next_wake() {
            Some(until) => spin.pause_until(until),
            None => spin.pause(),
        }
    }
    drop(scheduler);
    if let Some(panic) = home.panic {
        resume_unwind(panic);
    }
    home.statistics.report()
}

/// A fiber's life.
fn live<P: Protocol, C: Client>(
    current: Current,
    slot: SlotId,
    allocations: &mut AllocationCache,
    start: Ticks,
    home: *mut Home<'_, C>,
    world: &World<'_, P>,
) {
    let Run { epochs, options, .. } = world.run;
    let back_off = BackOff::new(options, slot.0);
    let architecture = Dora::new(current, world.tables, world.state, back_off);
    let txn = Txn::new(architecture, world.tables, epochs, slot, allocations);
    let mut slot = Slot::new(txn, world.run);
    let mut free_since = start;
    loop {
        // SAFETY: the fiber is at home, on the thread that owns `home`, whose loop is in `resume` and holds no borrow of
        // it; no other fiber of this home runs; and this borrow ends before the next suspension.
        let statistics = unsafe { &mut (*home).statistics };
        // Whatever of the client's panics, the worker goes on until all its fibers have ended: what they hold elsewhere can
        // be released only there.
        let next = catch_unwind(AssertUnwindSafe(|| {
            statistics.has_next(|_| {}).then(|| (statistics.take(), statistics.interval()))
        }));
        let (mut drawn, interval) = match next {
            Ok(Some(next)) => next,
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
        // SAFETY: as above.
        unsafe { &mut *home }.statistics.begin(free_since, began);
        let outcome = planned.and_then(|()| {
            catch_unwind(AssertUnwindSafe(|| {
                slot.prefetch_now(&drawn);
                slot.execute(&mut drawn, interval)
            }))
        });
        if outcome.is_err() {
            slot.txn.abandon();
        }
        slot.txn.architecture.go_home();
        // SAFETY: as above.
        let home = unsafe { &mut *home };
        match outcome {
            Ok(Ok(Some(ended))) => {
                let entered =
                    catch_unwind(AssertUnwindSafe(|| slot.enter(&mut home.statistics, drawn, ended, began)));
                if let Err(panic) = entered {
                    home.fail(panic);
                }
            }
            Ok(Ok(None)) => slot.give_up(&mut home.statistics, began),
            Ok(Err(error)) => home.statistics.fail(error),
            Err(panic) => home.fail(panic),
        }
        free_since = home.statistics.last();
        home.kept_for += 1;
        if home.kept_for == options.hand_over_every {
            home.kept_for = 0;
            slot.txn.architecture.offer_a_partition();
        }
        slot.txn.architecture.idle();
    }
    // SAFETY: as above.
    slot.leave(unsafe { &mut (*home).statistics }, free_since);
}
