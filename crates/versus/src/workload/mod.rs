//! What is asked of the stores: tables, transactions over them, and what must hold of their rows in the end.
//!
//! | workload | a transaction | in the end |
//! |---|---|---|
//! | [`reads`] | reads a row; one in twenty adds 1 to it instead | the counters' sum is that of the additions that committed |
//! | [`updates`] | reads five rows and adds 1 to five | the same |
//! | [`transfers`] | moves an amount from one row to another | the sum is that of the beginning |
//! | [`scans`] | reads a hundred rows in the order of their keys | each saw the hundred that are there |
//! | [`inserts`] | adds a row of 1 KiB | as many rows are there as were added, each as it was |
//! | [`tpcc`] | TPC-C's NewOrder or Payment | conditions 1 to 4 of its clause 3.3.2, and the sums of orders and payments |

pub mod inserts;
pub mod reads;
mod record;
pub mod scans;
pub mod tpcc;
pub mod transfers;
pub mod updates;

use crate::store::{Failed, Procedure, Query, Reading, Row, Session, Store, Table, Ticket, Writing};
use std::ops::{AddAssign, Range};

/// What has come of transactions: a check holds it against the tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Rows added.
    pub rows: u64,
    /// What was added to rows.
    pub amount: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.rows += other.rows;
        self.amount += other.amount;
    }
}

/// A transaction that has ended.
pub struct Done<K> {
    /// How often it was begun.
    pub attempts: u64,
    /// Whether it counts; `None`: it has written nothing.
    pub ticket: Option<K>,
    /// What came of it.
    pub tally: Tally,
}

/// What is asked of the stores.
pub trait Workload: Send + Sync + 'static {
    /// What a client draws its transactions from.
    type Client: Send;

    /// Whether it adds rows, so that each round begins with a new store.
    const GROWS: bool;

    /// Makes the tables.
    fn create<S: Store>(&self, store: &mut S) -> Result<(), Failed>;

    /// Fills them.
    fn load<S: Session>(&self, session: &mut S) -> Result<(), Failed>;

    /// A client, of so many.
    fn client(&self, number: u64, clients: u64, seed: u64) -> Self::Client;

    /// Runs a client's next transaction.
    fn next<S: Session>(&self, client: &mut Self::Client, session: &mut S)
    -> Result<Done<S::Ticket>, Failed>;

    /// Whether the tables are as so many transactions must have left them; otherwise what is wrong.
    fn check<S: Session>(&self, tally: Tally, session: &mut S) -> Result<(), Failed>;
}

/// Reads, as a transaction that has ended.
fn read<S: Session, Q: Query>(
    session: &mut S,
    query: &mut Q,
) -> Result<(Q::Output, Done<S::Ticket>), Failed> {
    let committed = session.read(query)?;
    let done = Done { attempts: committed.attempts, ticket: None, tally: Tally::default() };
    Ok((committed.value, done))
}

/// Writes, as a transaction that has ended.
fn write<S: Session, P: Procedure>(
    session: &mut S,
    procedure: &mut P,
    tally: impl FnOnce(P::Output) -> Tally,
) -> Result<Done<S::Ticket>, Failed> {
    let committed = session.write(procedure)?;
    Ok(Done { attempts: committed.attempts, ticket: Some(committed.ticket), tally: tally(committed.value) })
}

/// Rows that are loaded or checked in a transaction.
const AT_ONCE: u64 = 5_000;

/// Fills a table with so many rows: the key and the row of each number.
fn load_rows<S: Session, R: Row>(
    session: &mut S,
    table: Table<R>,
    count: u64,
    row: impl Fn(u64) -> (u64, R),
) -> Result<(), Failed> {
    let mut begin = 0;
    while begin < count {
        let end = (begin + AT_ONCE).min(count);
        let loaded = session.write(&mut Load { table, numbers: begin..end, row: &row })?;
        begin = end;
        if begin == count {
            loaded.ticket.wait()?;
        }
    }
    Ok(())
}

struct Load<'r, R, F> {
    table: Table<R>,
    numbers: Range<u64>,
    row: &'r F,
}

impl<R: Row, F: Fn(u64) -> (u64, R)> Procedure for Load<'_, R, F> {
    type Output = ();

    fn run<T: Writing>(&mut self, tx: &mut T) -> Result<(), Failed> {
        for number in self.numbers.clone() {
            let (key, row) = (self.row)(number);
            tx.insert(self.table, key, &row)?;
        }
        Ok(())
    }
}

/// Sums up what `of` says of the rows whose keys are below `count`, all of which are there.
fn sum_of_rows<S: Session, R: Row>(
    session: &mut S,
    table: Table<R>,
    count: u64,
    of: impl Fn(&R) -> u64,
) -> Result<u64, Failed> {
    let mut sum = 0u64;
    let mut begin = 0;
    while begin < count {
        let end = (begin + AT_ONCE).min(count);
        let part = session.read(&mut Sum { table, keys: begin..end, of: &of })?.value;
        sum = sum.wrapping_add(part);
        begin = end;
    }
    Ok(sum)
}

struct Sum<'r, R, F> {
    table: Table<R>,
    keys: Range<u64>,
    of: &'r F,
}

impl<R: Row, F: Fn(&R) -> u64> Query for Sum<'_, R, F> {
    type Output = u64;

    fn run<T: Reading>(&mut self, tx: &mut T) -> Result<u64, Failed> {
        let mut sum = 0u64;
        for key in self.keys.clone() {
            sum = sum.wrapping_add((self.of)(&tx.find(self.table, key)?));
        }
        Ok(sum)
    }
}

/// Shows all rows of an ordered table whose keys are from `first` to `last`. Answers how many.
fn each_row<S: Session, R: Row>(
    session: &mut S,
    table: Table<R>,
    first: u64,
    last: u64,
    see: impl FnMut(u64, &R),
) -> Result<u64, Failed> {
    Ok(session.read(&mut Each { table, first, last, see })?.value)
}

struct Each<R, F> {
    table: Table<R>,
    first: u64,
    last: u64,
    see: F,
}

impl<R: Row, F: FnMut(u64, &R)> Query for Each<R, F> {
    type Output = u64;

    fn run<T: Reading>(&mut self, tx: &mut T) -> Result<u64, Failed> {
        tx.scan(self.table, self.first, self.last, &mut self.see)
    }
}

/// Fails unless two numbers are the same.
fn same(what: &str, found: u64, expected: u64) -> Result<(), Failed> {
    if found == expected {
        Ok(())
    } else {
        Err(Failed::because(format!("{what} is {found}, not {expected}")))
    }
}
