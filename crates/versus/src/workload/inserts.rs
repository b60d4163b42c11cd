//! Inserts: a transaction adds a row of 1 KiB under a key that is new, into a table that is empty at first. Keys come in no order, so that no
//! store can append.

use super::{Done, Tally, Workload, each_row, same, write};
use crate::store::{Access, Failed, Procedure, Session, Store, Table, Writing};

/// Into a table for about so many rows.
pub struct Inserts {
    /// How many.
    pub rows: u64,
}

type Page = [u64; 128];

const PAGES: Table<Page> = Table::new(0, "pages");

/// Odd, so that numbers below the modulus, a power of two, have a product each of their own: keys that jump about.
const STRIDE: u64 = 0x1E37_79B9_7F4A_7C15;

fn key(number: u64) -> u64 {
    number.wrapping_mul(STRIDE) & (u64::MAX >> 2)
}

/// Inserts every `step`th number.
pub struct Client {
    next: u64,
    step: u64,
}

struct Insert {
    key: u64,
}

impl Procedure for Insert {
    type Output = ();

    fn run<T: Writing>(&mut self, tx: &mut T) -> Result<(), Failed> {
        tx.insert(PAGES, self.key, &[self.key; 128])
    }
}

impl Workload for Inserts {
    type Client = Client;

    const GROWS: bool = true;

    fn create<S: Store>(&self, store: &mut S) -> Result<(), Failed> {
        store.create(PAGES, Access::InOrder, self.rows)
    }

    fn load<S: Session>(&self, _: &mut S) -> Result<(), Failed> {
        Ok(())
    }

    fn client(&self, number: u64, clients: u64, _: u64) -> Client {
        Client { next: number, step: clients }
    }

    fn next<S: Session>(&self, client: &mut Client, session: &mut S) -> Result<Done<S::Ticket>, Failed> {
        let key = key(client.next);
        client.next += client.step;
        write(session, &mut Insert { key }, |()| Tally { rows: 1, amount: 0 })
    }

    fn check<S: Session>(&self, tally: Tally, session: &mut S) -> Result<(), Failed> {
        let mut others = 0;
        let count = each_row(session, PAGES, 0, u64::MAX >> 2, |key, page| {
            others += u64::from(*page != [key; 128]);
        })?;
        same("the number of rows", count, tally.rows)?;
        same("the number of rows that are not as they were added", others, 0)
    }
}
