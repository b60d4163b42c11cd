//! Transfers: a transaction moves an amount of 1 to 100 from one row to another, of uniformly random keys.

use super::record::{self, RECORDS};
use super::{Done, Tally, Workload, same, sum_of_rows, write};
use crate::store::{Access, Failed, Procedure, Session, Store, Writing};
use fastrand::Rng;

/// Over so many rows.
pub struct Transfers {
    /// How many.
    pub rows: u64,
}

/// In each row at the beginning: more than is ever taken from one.
const BALANCE: u64 = 1 << 40;

struct Transfer {
    from: u64,
    to: u64,
    amount: u64,
}

impl Procedure for Transfer {
    type Output = ();

    fn run<T: Writing>(&mut self, tx: &mut T) -> Result<(), Failed> {
        let amount = self.amount;
        tx.prefetch(RECORDS, [self.from, self.to])?;
        tx.update(RECORDS, self.from, |record| record.counter -= amount)?;
        tx.update(RECORDS, self.to, |record| record.counter += amount)
    }
}

impl Workload for Transfers {
    type Client = Rng;

    const GROWS: bool = false;

    fn create<S: Store>(&self, store: &mut S) -> Result<(), Failed> {
        record::create(store, Access::ByKey, self.rows)
    }

    fn load<S: Session>(&self, session: &mut S) -> Result<(), Failed> {
        record::load(session, self.rows, |_| BALANCE)
    }

    fn client(&self, number: u64, _: u64, seed: u64) -> Rng {
        Rng::with_seed(seed ^ number)
    }

    fn next<S: Session>(&self, rng: &mut Rng, session: &mut S) -> Result<Done<S::Ticket>, Failed> {
        let mut transfer =
            Transfer { from: rng.u64(..self.rows), to: rng.u64(..self.rows), amount: rng.u64(1..=100) };
        write(session, &mut transfer, |()| Tally::default())
    }

    fn check<S: Session>(&self, _: Tally, session: &mut S) -> Result<(), Failed> {
        let sum = sum_of_rows(session, RECORDS, self.rows, |record| record.counter)?;
        same("the sum of the balances", sum, self.rows * BALANCE)
    }
}
