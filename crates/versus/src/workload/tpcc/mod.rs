//! TPC-C's NewOrder and Payment, half and half, over the tables that they use (revision 5.11, clauses 2.4 and 2.5).
//!
//! Inputs are drawn as the standard says: items and customers non-uniformly, three payers in five by their last names, one line in a
//! hundred from another warehouse, three payments in twenty of another one's customer, one order in a hundred taken back in the end. We
//! differ: there are no terminals, so a client takes any warehouse; and no orders at first, which neither transaction would read.
//!
//! | what | where |
//! |---|---|
//! | tables and keys | `rows` |
//! | what they have at first | `load` |
//! | the transactions | `new_order`, `payment` |
//! | what must hold in the end | `audit` |

mod audit;
mod load;
mod new_order;
mod payment;
mod rows;

use super::{Done, Tally, Workload, write};
use crate::store::{Failed, Session, Store};
use fastrand::Rng;
use new_order::{EnterOrder, Line, MOST_LINES};
use payment::{Pay, Payer};
use rows::{DISTRICTS, LAST_NAMES, Namesake, district};

/// How much there is.
#[derive(Clone, Copy, Debug)]
pub struct Tpcc {
    /// Warehouses.
    pub warehouses: u64,
    /// Items; the standard's are 100,000.
    pub items: u64,
    /// Customers of a district; the standard's are 3,000.
    pub customers: u64,
}

impl Tpcc {
    /// About so many rows: whole warehouses of the standard's size from half a million on, one scaled down below.
    pub fn of_rows(rows: u64) -> Tpcc {
        match rows / 500_000 {
            0 => Tpcc { warehouses: 2, items: (rows / 5).max(100), customers: (rows / 100).max(30) },
            warehouses => Tpcc { warehouses, items: 100_000, customers: 3_000 },
        }
    }
}

/// A number from `low` to `high`, some of which are drawn more often: clause 2.1.6, `a` being a power of two less 1.
fn non_uniform(rng: &mut Rng, a: u64, low: u64, high: u64) -> u64 {
    /// Any number.
    const C: u64 = 123;
    ((rng.u64(..=a) | rng.u64(low..=high)) + C) % (high - low + 1) + low
}

/// Draws what one client enters.
pub struct Client {
    rng: Rng,
    number: u64,
    payments: u64,
    entered: u64,
    /// Room for customers of one name.
    namesakes: Vec<Namesake>,
}

impl Client {
    fn any_customer(&mut self, scale: &Tpcc) -> u64 {
        non_uniform(&mut self.rng, 1_023, 1, scale.customers)
    }

    /// A warehouse that is not this one, if there are several.
    fn another(&mut self, warehouse: u64, scale: &Tpcc) -> u64 {
        match scale.warehouses {
            1 => warehouse,
            warehouses => (warehouse + self.rng.u64(..warehouses - 1)) % warehouses + 1,
        }
    }

    fn order(&mut self, scale: &Tpcc) -> EnterOrder {
        let warehouse = self.rng.u64(1..=scale.warehouses);
        let district = district(warehouse, self.rng.u64(1..=DISTRICTS));
        let customer = self.any_customer(scale);
        let count = self.rng.usize(5..=MOST_LINES);
        let mut lines = [Line::default(); MOST_LINES];
        for line in &mut lines[..count] {
            let is_remote = self.rng.u8(..100) == 0;
            let supply = if is_remote { self.another(warehouse, scale) } else { warehouse };
            let item = non_uniform(&mut self.rng, 8_191, 1, scale.items);
            *line = Line { item, supply, quantity: self.rng.u64(1..=10) };
        }
        if self.rng.u8(..100) == 0 {
            lines[count - 1].item = scale.items + 1;
        }
        self.entered += 1;
        EnterOrder { warehouse, district, customer, lines, count, entered: self.entered }
    }

    fn payment(&mut self, scale: &Tpcc) -> Pay {
        let warehouse = self.rng.u64(1..=scale.warehouses);
        let number = self.rng.u64(1..=DISTRICTS);
        let is_remote = self.rng.u8(..100) < 15;
        let customer_district = match is_remote {
            true => district(self.another(warehouse, scale), self.rng.u64(1..=DISTRICTS)),
            false => district(warehouse, number),
        };
        let payer = match self.rng.u8(..100) < 60 {
            // Names that customers are sure to have.
            true => Payer::LastName(non_uniform(&mut self.rng, 255, 0, LAST_NAMES.min(scale.customers) - 1)),
            false => Payer::Number(self.any_customer(scale)),
        };
        self.payments += 1;
        Pay {
            warehouse,
            district: district(warehouse, number),
            customer_district,
            payer,
            amount: self.rng.u64(100..=500_000),
            history: self.number << 40 | self.payments,
            namesakes: std::mem::take(&mut self.namesakes),
        }
    }
}

impl Workload for Tpcc {
    type Client = Client;

    const GROWS: bool = true;

    fn create<S: Store>(&self, store: &mut S) -> Result<(), Failed> {
        load::create(self, store)
    }

    fn load<S: Session>(&self, session: &mut S) -> Result<(), Failed> {
        load::load(self, session)
    }

    fn client(&self, number: u64, _: u64, seed: u64) -> Client {
        let rng = Rng::with_seed(seed ^ number);
        Client { rng, number, payments: 0, entered: 0, namesakes: Vec::new() }
    }

    fn next<S: Session>(&self, client: &mut Client, session: &mut S) -> Result<Done<S::Ticket>, Failed> {
        if client.rng.bool() {
            let mut payment = client.payment(self);
            let amount = payment.amount;
            let done = write(session, &mut payment, |()| Tally { rows: 0, amount });
            client.namesakes = payment.namesakes;
            return done;
        }
        match write(session, &mut client.order(self), |_| Tally { rows: 1, amount: 0 }) {
            Err(Failed::RolledBack) => Ok(Done { attempts: 1, ticket: None, tally: Tally::default() }),
            done => done,
        }
    }

    fn check<S: Session>(&self, tally: Tally, session: &mut S) -> Result<(), Failed> {
        audit::check(self, tally, session)
    }
}
