//! A worker's loop: takes transactions from its client, runs each until it ends, and measures.
//!
//! | file | what |
//! |---|---|
//! | `mod.rs` | the loop of a worker with one transaction at a time |
//! | [`serving`] | a worker without transactions, a dedicated server |
//! | [`fibers`] | the loop of a worker with several in flight, each in a fiber that migrates, or whose worker talks with others |
//! | [`polling`] | when such a worker polls what others want of it |
//! | [`interleaved`] | several in flight where fibers stay, and stop while lines are on their way |
//! | [`admission`] | how many of those begin transactions |
//! | [`lent`] | slots for threads that are no workers |
//! | [`slot`] | a transaction slot: plans and runs |
//! | [`statistics`] | what the worker draws, counts and decides |
//! | [`reach`] | how far a slot's transactions reach |
//! | [`precedence`] | a bound for every transaction: who was aborted too often goes first |
//! | [`walk`] | a slot's part in a checkpoint |
//! | [`interval`] | when transactions count, and for what |
//! | [`ring`] | transactions drawn ahead |
//! | [`resting`], [`put_off`] | how long it has nothing to do, in an open loop, and what it does then |
//! | [`schedule`] | when they arrive, in an open loop |
//! | [`series`] | what happens, slice by slice |
//!
//! One clock reading between two transactions ends the one and begins the next, and the lines of planned keys are asked
//! for while earlier transactions run.
//!
//! The loop allocates nothing, makes no system call, and writes no cache line that another worker looks at, except the
//! data.

pub(crate) mod admission;
pub(crate) mod fibers;
pub(crate) mod interleaved;
mod interval;
pub(crate) mod lent;
mod polling;
mod precedence;
mod processor;
mod put_off;
mod reach;
mod resting;
mod ring;
mod schedule;
mod series;
mod serving;
mod slot;
mod statistics;
mod walk;

pub(crate) use interval::CoolDown;
pub(crate) use precedence::Precedence;
pub(crate) use reach::{BranchPanicked, Fragments, InSlots, Reach, Whole};
pub(crate) use schedule::Among;
pub(crate) use serving::serve;
pub(crate) use statistics::Report;

use crate::architecture::Architecture;
use crate::commit_id::CommitIds;
use crate::durability::Log;
use crate::epoch::Epochs;
use crate::facade::clock::Ticks;
use crate::facade::cpu;
use crate::transaction::Txn;
use contract::{Client, EngineOptions, Until};
use slot::Slot;
use statistics::{Next, WorkerStatistics};

/// What all workers' loops are given.
#[derive(Clone, Copy)]
pub(crate) struct Run<'e> {
    pub epochs: &'e Epochs,
    pub options: &'e EngineOptions,
    pub until: Until,
    pub cool_down: &'e CoolDown,
    /// Where ids come from, if they are asked for.
    pub ids: Option<&'e CommitIds>,
    pub precedence: Option<&'e Precedence>,
    /// Where commits are logged, if they are.
    pub log: Option<&'e Log>,
    /// Where these workers are among those of the whole run.
    pub among: Among,
}

/// Runs `client`'s transactions, which is that of the host of this number, in `txn`'s slot, one at a time, until the run is over, which began at `start`; answers what was
/// counted.
pub(crate) fn run<A: Architecture, C: Client>(
    number: usize,
    txn: Txn<'_, A>,
    client: C,
    start: Ticks,
    run: Run<'_>,
) -> Report<C> {
    let mut slot = Slot::new(txn, Whole, run);
    let mut statistics = WorkerStatistics::new(client, number, start, 1, run);
    let mut free_since = start;
    let mut rest = cpu::Spin::new();
    loop {
        match statistics.next(|drawn| slot.plan(drawn)) {
            Next::Drawn => {}
            Next::NothingNow => {
                slot.tell_effort_of_last_phase(&mut statistics);
                rest.expect_at(statistics.next_arrival());
                slot.rest(&mut rest);
                acknowledge(&mut slot, &mut statistics);
                continue;
            }
            Next::Over => break,
        }
        let due = statistics.peek(0).expect("there is a next one").due;
        let begun = statistics.begin(free_since, due, statistics.last());
        slot.prefetch(&mut statistics);
        // It runs where it lies in the ring: procedures are large.
        let interval = statistics.interval();
        match slot.execute(statistics.peek(0).expect("there is a next one"), interval) {
            Ok(Some(ended)) => {
                let drawn = statistics.take();
                slot.enter(&mut statistics, drawn, ended, begun);
            }
            Ok(None) => slot.give_up(&mut statistics, begun),
            Err(error) => statistics.fail(error),
        }
        rest = cpu::Spin::new();
        if slot.waits_for_log() {
            let ended = statistics.last();
            while slot.waits_for_log() {
                slot.rest(&mut rest);
            }
            statistics.has_waited_for_log(begun, ended);
        }
        free_since = statistics.last();
        acknowledge(&mut slot, &mut statistics);
        rest = cpu::Spin::new();
    }
    while statistics.waits_for_log() {
        slot.rest(&mut rest);
        acknowledge(&mut slot, &mut statistics);
    }
    // Before it leaves: an owner serves until the others have ended, who may wait for this.
    statistics.all_have_ended();
    slot.leave(&mut statistics, free_since);
    statistics.report()
}

/// Counts what has become durable, and walks for a checkpoint, if one is taken.
#[inline(always)]
fn acknowledge<A: Architecture, C: Client>(slot: &mut Slot<'_, A>, statistics: &mut WorkerStatistics<'_, C>) {
    if let Some(log) = slot.acknowledge(statistics) {
        if let Err(error) = slot.walk(log) {
            statistics.fail(error);
        }
        statistics.is_ready();
    }
}
