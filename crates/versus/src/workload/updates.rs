//! Read-modify-write: a transaction reads five rows and adds 1 to five, of ten uniformly random keys.

use super::record::{self, RECORDS};
use super::{Done, Tally, Workload, same, sum_of_rows, write};
use crate::store::{Access, Failed, Procedure, Session, Store, Writing};
use fastrand::Rng;

/// Over so many rows.
pub struct Updates {
    /// How many.
    pub rows: u64,
}

/// Keys of each kind.
const KEYS: usize = 5;

struct ReadAndAdd {
    read: [u64; KEYS],
    add: [u64; KEYS],
}

impl Procedure for ReadAndAdd {
    /// The sum of what was read.
    type Output = u64;

    fn run<T: Writing>(&mut self, tx: &mut T) -> Result<u64, Failed> {
        tx.prefetch(RECORDS, self.read.into_iter().chain(self.add))?;
        let mut sum = 0;
        for (&read, &add) in self.read.iter().zip(&self.add) {
            sum += tx.find(RECORDS, read)?.counter;
            tx.update(RECORDS, add, |record| record.counter += 1)?;
        }
        Ok(sum)
    }
}

impl Workload for Updates {
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
        let mut draw = || [(); KEYS].map(|()| rng.u64(..self.rows));
        let mut procedure = ReadAndAdd { read: draw(), add: draw() };
        write(session, &mut procedure, |sum| {
            std::hint::black_box(sum);
            Tally { rows: 0, amount: KEYS as u64 }
        })
    }

    fn check<S: Session>(&self, tally: Tally, session: &mut S) -> Result<(), Failed> {
        let sum = sum_of_rows(session, RECORDS, self.rows, |record| record.counter)?;
        same("the sum of the counters", sum, tally.amount)
    }
}
