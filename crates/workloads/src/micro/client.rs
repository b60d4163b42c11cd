//! Draws the microbenchmark's transactions.

use super::parameters::{HotFrom, MicroParameters, Order, Remote};
use super::transaction::MicroTransaction;
use crate::locality::{Draws, Rows};
use crate::random::{Chance, generator};
use crate::touches::{Touch, Touches};
use contract::{Client, Completion, Outcome, Seat};
use fastrand::Rng;

/// One worker's source of transactions. The rows drawn do not depend on how many operations update.
#[derive(Clone, Debug)]
pub struct MicroClient {
    rng: Rng,
    hot: Draws,
    cold: Draws,
    multisite: Option<Multisite>,
    update: Chance,
    order: Order,
    committed_updates: u64,
}

/// Some transactions touch rows anywhere (*hardware-islands* 3).
#[derive(Clone, Copy, Debug)]
struct Multisite {
    chance: Chance,
    /// Of their cold rows: those at home, and the others.
    rows: [Draws; 2],
}

impl Multisite {
    fn new(percent: f64, cold_rows: Rows, cold: u64) -> Option<Self> {
        let local = cold.min(1).min(cold_rows.local());
        let rows = [Draws::split(cold_rows, local, 0), Draws::anywhere(cold_rows, cold - local)];
        (percent > 0.0).then(|| Multisite { chance: Chance::percent(percent), rows })
    }
}

impl MicroClient {
    pub(super) fn new(parameters: &MicroParameters, seat: Seat) -> Self {
        let (hot, cold) = (parameters.hot.get(), parameters.cold());
        let hot_rows = Rows::new(0, parameters.hot_records.get(), seat);
        let cold_rows = Rows::new(parameters.hot_records.get(), parameters.records.get(), seat);
        MicroClient {
            rng: generator(seat),
            hot: match parameters.hot_from {
                HotFrom::Anywhere => Draws::anywhere(hot_rows, hot),
                HotFrom::Remote => Draws::split(hot_rows, hot, hot),
            },
            cold: match parameters.remote {
                Remote::Any => Draws::anywhere(cold_rows, cold),
                Remote::Operations(remote) => Draws::split(cold_rows, cold, remote),
            },
            multisite: Multisite::new(parameters.multisite.0, cold_rows, cold),
            update: Chance::percent(parameters.writes.0.0),
            order: parameters.order,
            committed_updates: 0,
        }
    }

    /// Updates in the transactions that have committed.
    pub fn committed_updates(&self) -> u64 {
        self.committed_updates
    }

    /// Adds so many operations on rows that have none yet, of those that `row` draws.
    #[inline(always)]
    fn draw(&mut self, touches: &mut Touches, operations: u64, row: impl Fn(&mut Rng) -> u64) {
        for _ in 0..operations {
            loop {
                let key = row(&mut self.rng);
                if !touches.hold(key) {
                    touches.push(Touch::new(key, 0, self.update.happens(self.rng.u64(..))));
                    break;
                }
            }
        }
    }

    #[inline(always)]
    fn draw_set(&mut self, touches: &mut Touches, draws: Draws) {
        if draws.remote > 0 {
            self.draw_remote(touches, draws);
        }
        self.draw(touches, draws.near, |rng| draws.near_row(rng));
    }

    /// Kept apart, so that clients without locality pay nothing for it.
    #[inline(never)]
    fn draw_remote(&mut self, touches: &mut Touches, draws: Draws) {
        self.draw(touches, draws.remote, |rng| draws.remote_row(rng));
    }
}

impl Client for MicroClient {
    type Procedure = MicroTransaction;

    #[inline]
    fn next(&mut self) -> MicroTransaction {
        let mut transaction = MicroTransaction { touches: Touches::new() };
        let touches = &mut transaction.touches;
        self.draw_set(touches, self.hot);
        match self.multisite {
            Some(multisite) if multisite.chance.happens(self.rng.u64(..)) => {
                multisite.rows.into_iter().for_each(|draws| self.draw_set(touches, draws));
            }
            _ => self.draw_set(touches, self.cold),
        }
        match self.order {
            Order::HotFirst => (),
            Order::Random => touches.shuffle(&mut self.rng),
            Order::Key => touches.sort_by_key(),
        }
        transaction
    }

    #[inline]
    fn finished(&mut self, transaction: MicroTransaction, completion: &Completion<'_>) {
        if completion.outcome == Outcome::Commit {
            self.committed_updates += transaction.touches.writes();
        }
    }
}
