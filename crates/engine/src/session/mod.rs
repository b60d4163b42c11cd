//! A worker's loop: takes transactions from its client, runs each until it ends, and measures.
//!
//! | file | what |
//! |---|---|
//! | `mod.rs` | the loop of a worker with one transaction at a time |
//! | [`fibers`] | the loop of a worker with several in flight, each in a fiber |
//! | [`slot`] | a transaction slot: plans and runs |
//! | [`desk`] | what the worker draws, counts and decides |
//! | [`ring`] | transactions drawn ahead |
//!
//! One clock reading between two transactions ends the one and begins the next, and the lines of planned keys are asked
//! for while earlier transactions run.
//!
//! The loop allocates nothing, makes no system call, and writes no cache line that another worker looks at, except the
//! data.

mod desk;
pub(crate) mod fibers;
mod ring;
mod slot;

pub(crate) use desk::Report;

use crate::architecture::Architecture;
use crate::epoch::Epochs;
use crate::storage::Supply;
use crate::transaction::Txn;
use contract::{Client, EngineOptions, Until};
use desk::Desk;
use slot::Slot;

/// Runs `client`'s transactions in `txn`'s slot, one at a time, until `until`; answers what was counted, and the slot's
/// supply of records.
pub(crate) fn run<'e, A: Architecture, C: Client>(
    txn: Txn<'e, A>,
    client: C,
    epochs: &'e Epochs,
    options: &EngineOptions,
    until: Until,
) -> (Report<C>, Supply) {
    let mut slot = Slot::new(txn, epochs, options);
    let mut desk = Desk::new(client, until, 1);
    while desk.has_next(|drawn| slot.plan(drawn)) {
        let began = desk.last();
        slot.prefetch(&mut desk);
        // It runs where it lies in the ring: procedures are large.
        let give_up_at = desk.gives_up_at();
        match slot.execute(desk.peek(0).expect("there is a next one"), give_up_at) {
            Ok(Some(ended)) => {
                let drawn = desk.take();
                slot.enter(&mut desk, drawn, ended, began);
            }
            Ok(None) => slot.give_up(&mut desk),
            Err(error) => desk.fail(error),
        }
    }
    let supply = slot.leave(&mut desk);
    (desk.report(), supply)
}
