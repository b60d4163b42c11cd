//! Draws the microbenchmark's transactions.

use super::parameters::{MicroParameters, Order};
use super::transaction::MicroTransaction;
use crate::random::{Chance, generator};
use crate::touches::{Touch, Touches};
use contract::{Client, Completion, Outcome, Seat};
use fastrand::Rng;

/// One worker's source of transactions. The rows drawn do not depend on how many operations update.
#[derive(Clone, Debug)]
pub struct MicroClient {
    rng: Rng,
    hot: u64,
    hot_records: u64,
    cold: u64,
    records: u64,
    update: Chance,
    order: Order,
    committed_updates: u64,
}

impl MicroClient {
    pub(super) fn new(parameters: &MicroParameters, seat: Seat) -> Self {
        MicroClient {
            rng: generator(seat),
            hot: parameters.hot.get(),
            hot_records: parameters.hot_records.get(),
            cold: parameters.cold(),
            records: parameters.records.get(),
            update: Chance::percent(parameters.writes.0.0),
            order: parameters.order,
            committed_updates: 0,
        }
    }

    /// Updates in the transactions that have committed.
    pub fn committed_updates(&self) -> u64 {
        self.committed_updates
    }

    /// Adds an operation on a row of `first..end` that has none yet.
    #[inline]
    fn draw(&mut self, touches: &mut Touches, first: u64, end: u64) {
        loop {
            let key = self.rng.u64(first..end);
            if !touches.hold(key) {
                touches.push(Touch::new(key, 0, self.update.happens(self.rng.u64(..))));
                return;
            }
        }
    }
}

impl Client for MicroClient {
    type Procedure = MicroTransaction;

    #[inline]
    fn next(&mut self) -> MicroTransaction {
        let mut touches = Touches::new();
        for _ in 0..self.hot {
            self.draw(&mut touches, 0, self.hot_records);
        }
        for _ in 0..self.cold {
            self.draw(&mut touches, self.hot_records, self.records);
        }
        match self.order {
            Order::HotFirst => (),
            Order::Random => touches.shuffle(&mut self.rng),
            Order::Key => touches.sort_by_key(),
        }
        MicroTransaction { touches }
    }

    #[inline]
    fn finished(&mut self, transaction: MicroTransaction, completion: &Completion<'_>) {
        if completion.outcome == Outcome::Commit {
            self.committed_updates += transaction.touches.writes();
        }
    }
}
