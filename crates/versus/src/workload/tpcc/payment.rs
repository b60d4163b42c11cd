//! Payment: clause 2.5.

use super::rows::*;
use crate::store::{Failed, Procedure, Writing};

/// Who pays.
#[derive(Clone, Copy, Debug)]
pub enum Payer {
    /// The customer of this number.
    Number(u64),
    /// The one in the middle of those of this last name, in the order of their first names.
    LastName(u64),
}

/// A payment to be entered.
#[derive(Debug)]
pub struct Pay {
    /// To which warehouse.
    pub warehouse: u64,
    /// To which district, by its key.
    pub district: u64,
    /// Of which district the customer is, by its key.
    pub customer_district: u64,
    /// Which customer.
    pub payer: Payer,
    /// How much.
    pub amount: u64,
    /// The key of its history.
    pub history: u64,
    /// Room for customers of one name.
    pub namesakes: Vec<Namesake>,
}

impl Pay {
    fn customer<T: Writing>(&mut self, tx: &mut T) -> Result<u64, Failed> {
        let name = match self.payer {
            Payer::Number(number) => return Ok(number),
            Payer::LastName(name) => name,
        };
        let namesakes = &mut self.namesakes;
        namesakes.clear();
        let first = namesake(self.customer_district, name, 0);
        let last = namesake(self.customer_district, name, 0xFFFF);
        tx.scan(NAMESAKE, first, last, |_, row| namesakes.push(*row))?;
        namesakes.sort_unstable_by_key(|row| row.first);
        // The middle, rounded up, counted from 1.
        let middle = namesakes.len().div_ceil(2).checked_sub(1);
        let middle = middle.ok_or_else(|| Failed::because(format!("nobody has the name {name}")))?;
        Ok(namesakes[middle].customer)
    }
}

impl Procedure for Pay {
    type Output = ();

    fn run<T: Writing>(&mut self, tx: &mut T) -> Result<(), Failed> {
        let amount = self.amount;
        tx.update(WAREHOUSE, self.warehouse, |warehouse| warehouse.ytd += amount)?;
        tx.update(DISTRICT, self.district, |district| district.ytd += amount)?;
        let number = self.customer(tx)?;
        let district = self.district;
        tx.update(CUSTOMER, customer(self.customer_district, number), |customer| {
            customer.balance -= amount as i64;
            customer.paid += amount;
            customer.payments += 1;
            if customer.has_bad_credit == 1 {
                let note = [number, district, amount].map(u64::to_be_bytes);
                let note = note.as_flattened();
                // Before what is noted already, of which the end goes.
                customer.data.rotate_right(note.len());
                customer.data[..note.len()].copy_from_slice(note);
            }
        })?;
        let row = History { customer: number, district, amount, text: [b'h'; 24] };
        tx.insert(HISTORY, self.history, &row)
    }
}
