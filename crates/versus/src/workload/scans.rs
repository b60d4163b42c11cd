//! Scans: a transaction reads a hundred rows, in the order of their keys, from a uniformly random one on. Each row has its key, so that it
//! is known at once whether a scan saw what is there.

use super::record::{self, RECORDS};
use super::{Done, Tally, Workload, each_row, read, same};
use crate::store::{Access, Failed, Query, Reading, Session, Store};
use fastrand::Rng;

/// Over so many rows, [`SCANNED`] at least.
pub struct Scans {
    /// How many.
    pub rows: u64,
}

/// Rows of a scan.
pub const SCANNED: u64 = 100;

struct Scan {
    first: u64,
}

impl Query for Scan {
    type Output = (u64, u64);

    fn run<T: Reading>(&mut self, tx: &mut T) -> Result<(u64, u64), Failed> {
        let mut sum = 0;
        let count =
            tx.scan(RECORDS, self.first, self.first + SCANNED - 1, |_, record| sum += record.counter)?;
        Ok((count, sum))
    }
}

impl Workload for Scans {
    type Client = Rng;

    const GROWS: bool = false;

    fn create<S: Store>(&self, store: &mut S) -> Result<(), Failed> {
        record::create(store, Access::InOrder, self.rows)
    }

    fn load<S: Session>(&self, session: &mut S) -> Result<(), Failed> {
        record::load(session, self.rows, |key| key)
    }

    fn client(&self, number: u64, _: u64, seed: u64) -> Rng {
        Rng::with_seed(seed ^ number)
    }

    fn next<S: Session>(&self, rng: &mut Rng, session: &mut S) -> Result<Done<S::Ticket>, Failed> {
        let first = rng.u64(..=self.rows - SCANNED);
        let ((count, sum), done) = read(session, &mut Scan { first })?;
        same("the number of rows of a scan", count, SCANNED)?;
        same("the sum of a scan", sum, SCANNED * first + SCANNED * (SCANNED - 1) / 2)?;
        Ok(done)
    }

    fn check<S: Session>(&self, _: Tally, session: &mut S) -> Result<(), Failed> {
        let mut sum = 0;
        let count = each_row(session, RECORDS, 0, self.rows, |_, record| sum += record.counter)?;
        same("the number of rows", count, self.rows)?;
        same("the sum of the rows", sum, self.rows * (self.rows - 1) / 2)
    }
}
