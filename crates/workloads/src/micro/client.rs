//! Draws the microbenchmark's transactions.

use super::parameters::{HotFrom, MicroParameters, Order, Remote, Writes};
use super::transaction::MicroTransaction;
use crate::locality::{Draws, Rows};
use crate::random::{Chance, generator};
use crate::touches::{FreeList, Touch, Touches};
use contract::telling::{tell, told};
use contract::{Client, Completion, Key, Outcome, PartitionFunction, Seat};
use fastrand::Rng;

/// One worker's source of transactions. The rows drawn do not depend on how many operations update.
#[derive(Clone, Debug)]
pub struct MicroClient {
    rng: Rng,
    hot: Draws,
    cold: Cold,
    update: Update,
    order: Order,
    free: FreeList,
    committed_updates: u64,
}

/// Which operations update.
#[derive(Clone, Copy, Debug)]
enum Update {
    Some(Chance),
    /// Those on rows of the seat's home.
    Home(Seat),
}

impl Update {
    #[inline(always)]
    fn is_update(self, key: u64, rng: &mut Rng) -> bool {
        match self {
            Update::Some(chance) => chance.happens(rng.u64(..)),
            Update::Home(seat) => PartitionFunction::Remainder.of(Key(key), seat.homes) == seat.home(),
        }
    }
}

/// Where a transaction's cold rows come from.
#[derive(Clone, Copy, Debug)]
struct Cold {
    /// Drawn one after the other.
    told: [Draws; 2],
    /// If some transactions are local: how many are not.
    multi_partition: Option<Chance>,
    local: Draws,
}

impl Cold {
    fn new(parameters: &MicroParameters, seat: Seat) -> Self {
        let rows = Rows::new(parameters.hot_records.get(), parameters.records.get(), seat);
        let count = parameters.cold();
        let nothing = Draws::anywhere(rows, 0);
        let told = match parameters.remote {
            Remote::Any => [Draws::anywhere(rows, count), nothing],
            Remote::Operations(remote) => [Draws::split(rows, count, remote), nothing],
            Remote::AnyButOne => {
                let local = count.min(1).min(rows.local());
                [Draws::split(rows, local, 0), Draws::anywhere(rows, count - local)]
            }
        };
        let percent = parameters.multi_partition.0;
        let multi_partition = (percent < 100.0).then(|| Chance::percent(percent));
        Cold { told, multi_partition, local: Draws::split(rows, count, 0) }
    }
}

impl MicroClient {
    pub(super) fn new(parameters: &MicroParameters, seat: Seat) -> Self {
        let hot = parameters.hot.get();
        let hot_rows = Rows::new(0, parameters.hot_records.get(), seat);
        MicroClient {
            rng: generator(seat),
            hot: match parameters.hot_from {
                HotFrom::Anywhere => Draws::anywhere(hot_rows, hot),
                HotFrom::Remote => Draws::split(hot_rows, hot, hot),
            },
            cold: Cold::new(parameters, seat),
            update: match parameters.writes {
                Writes::Percent(percent) => Update::Some(Chance::percent(percent.0)),
                Writes::Home => Update::Home(seat),
            },
            order: parameters.order,
            free: FreeList::new(),
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
                    touches.push(Touch::new(key, 0, self.update.is_update(key, &mut self.rng)));
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
        let mut drawn = self.free.take();
        let touches = &mut drawn;
        self.draw_set(touches, self.hot);
        let Cold { told, multi_partition, local } = self.cold;
        match multi_partition {
            Some(chance) if !chance.happens(self.rng.u64(..)) => self.draw_set(touches, local),
            _ => told.into_iter().for_each(|draws| self.draw_set(touches, draws)),
        }
        match self.order {
            Order::HotFirst => (),
            Order::Random => touches.shuffle(&mut self.rng),
            Order::Key => touches.sort_by_key(),
        }
        MicroTransaction { touches: drawn }
    }

    #[inline]
    fn finished(&mut self, transaction: MicroTransaction, completion: &Completion<'_>) {
        if completion.outcome == Outcome::Commit {
            self.committed_updates += transaction.touches.writes();
        }
        self.free.put(transaction.touches);
    }

    fn decode(&mut self, bytes: &[u8]) -> Option<MicroTransaction> {
        Some(MicroTransaction { touches: self.free.take().decode(bytes)? })
    }

    fn take_back(&mut self, fragment: MicroTransaction) {
        self.free.put(fragment.touches);
    }

    fn tell(&self, into: &mut Vec<u8>) {
        tell(&self.committed_updates, into);
    }

    fn hear(&mut self, heard: &[u8]) -> Option<()> {
        self.committed_updates = told(heard)?;
        Some(())
    }
}
