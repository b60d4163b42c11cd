//! Point reads: a transaction reads one row of uniformly random key; one in twenty adds 1 to it instead.

use super::record::{self, RECORDS};
use super::{Done, Tally, Workload, read, same, sum_of_rows, write};
use crate::store::{Access, Failed, Procedure, Query, Reading, Session, Store, Writing};
use fastrand::Rng;

/// Over so many rows.
pub struct Reads {
    /// How many.
    pub rows: u64,
}

struct Read(u64);

impl Query for Read {
    type Output = u64;

    fn run<T: Reading>(&mut self, tx: &mut T) -> Result<u64, Failed> {
        Ok(tx.find(RECORDS, self.0)?.counter)
    }
}

struct AddOne(u64);

impl Procedure for AddOne {
    type Output = ();

    fn run<T: Writing>(&mut self, tx: &mut T) -> Result<(), Failed> {
        tx.update(RECORDS, self.0, |record| record.counter += 1)
    }
}

impl Workload for Reads {
    type Client = Rng;

    const GROWS: bool = false;

    fn create<S: Store>(&self, store: &mut S) -> Result<(), Failed> {
        record::create(store, Access::ByKey, self.rows)
    }

    fn load<S: Session>(&self, session: &mut S) -> Result<(), Failed> {
        record::load(session, self.rows, |_| 0)
    }

    fn client(&self, number: u64, _: u64, seed: u64) -> Rng {
        Rng::with_seed(seed ^ number)
    }

    fn next<S: Session>(&self, rng: &mut Rng, session: &mut S) -> Result<Done<S::Ticket>, Failed> {
        let key = rng.u64(..self.rows);
        match rng.u8(..20) {
            0 => write(session, &mut AddOne(key), |()| Tally { rows: 0, amount: 1 }),
            _ => {
                let (counter, done) = read(session, &mut Read(key))?;
                std::hint::black_box(counter);
                Ok(done)
            }
        }
    }

    fn check<S: Session>(&self, tally: Tally, session: &mut S) -> Result<(), Failed> {
        let sum = sum_of_rows(session, RECORDS, self.rows, |record| record.counter)?;
        same("the sum of the counters", sum, tally.amount)
    }
}
