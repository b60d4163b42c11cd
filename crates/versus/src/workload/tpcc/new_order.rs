//! NewOrder: clause 2.4.

use super::rows::*;
use crate::store::{Failed, Procedure, Writing};

/// Lines of an order at most.
pub const MOST_LINES: usize = 15;

/// One line's part of the input.
#[derive(Clone, Copy, Debug, Default)]
pub struct Line {
    /// What; an item that there is none of: the order is taken back.
    pub item: u64,
    /// From which warehouse.
    pub supply: u64,
    /// How many.
    pub quantity: u64,
}

/// An order to be entered.
#[derive(Debug)]
pub struct EnterOrder {
    /// Of which warehouse.
    pub warehouse: u64,
    /// Of which district, by its key.
    pub district: u64,
    /// Whose.
    pub customer: u64,
    /// Its lines.
    pub lines: [Line; MOST_LINES],
    /// So many of them.
    pub count: usize,
    /// When.
    pub entered: u64,
}

impl Procedure for EnterOrder {
    /// What it costs.
    type Output = u64;

    fn run<T: Writing>(&mut self, tx: &mut T) -> Result<u64, Failed> {
        let lines = &self.lines[..self.count];
        tx.prefetch(ITEM, lines.iter().map(|line| line.item))?;
        tx.prefetch(STOCK, lines.iter().map(|line| stock(line.supply, line.item)))?;
        let tax = tx.find(WAREHOUSE, self.warehouse)?.tax;
        let (district_tax, number) = tx.update(DISTRICT, self.district, |district| {
            district.next_order += 1;
            (district.tax, district.next_order - 1)
        })?;
        let discount = tx.find(CUSTOMER, customer(self.district, self.customer))?.discount;
        let key = order(self.district, number);
        let is_local = lines.iter().all(|line| line.supply == self.warehouse);
        let row = Order {
            customer: self.customer,
            lines: lines.len() as u64,
            is_local: u64::from(is_local),
            entered: self.entered,
        };
        tx.insert(ORDER, key, &row)?;
        tx.insert(NEW_ORDER, key, &NewOrder { order: number })?;
        let mut total = 0;
        for (nth, line) in lines.iter().enumerate() {
            let Some(item) = tx.get(ITEM, line.item)? else { return Err(Failed::RolledBack) };
            let is_remote = line.supply != self.warehouse;
            // Its number within the warehouse, from 0.
            let place = (self.district & 0xF) as usize - 1;
            let text = tx.update(STOCK, stock(line.supply, line.item), |stock| {
                let enough = stock.quantity >= line.quantity + 10;
                stock.quantity = stock.quantity + if enough { 0 } else { 91 } - line.quantity;
                stock.ytd += line.quantity;
                stock.orders += 1;
                stock.remote += u64::from(is_remote);
                stock.districts[place]
            })?;
            let amount = line.quantity * item.price;
            total += amount;
            let row =
                OrderLine { item: line.item, supply: line.supply, quantity: line.quantity, amount, text };
            tx.insert(ORDER_LINE, order_line(key, nth as u64 + 1), &row)?;
        }
        Ok(total * (10_000 - discount) / 10_000 * (10_000 + tax + district_tax) / 10_000)
    }
}
