//! What must hold in the end: conditions 1 to 4 of clause 3.3.2, and that orders and payments are those that committed.

use super::super::{Tally, each_row, same};
use super::Tpcc;
use super::load::DISTRICT_YTD;
use super::rows::*;
use crate::store::{Failed, Query, Reading, Row, Session, Table};

/// Holds the tables against them.
pub fn check<S: Session>(scale: &Tpcc, tally: Tally, session: &mut S) -> Result<(), Failed> {
    let (mut orders, mut payments) = (0, 0);
    for warehouse in 1..=scale.warehouses {
        let ytd = one(session, WAREHOUSE, warehouse)?.ytd;
        let mut of_districts = 0;
        for number in 1..=DISTRICTS {
            let key = district(warehouse, number);
            let row = one(session, DISTRICT, key)?;
            of_districts += row.ytd;
            orders += row.next_order - 1;
            orders_of_district(session, key, row.next_order - 1)?;
        }
        same(&format!("warehouse {warehouse}'s sum of payments"), ytd, of_districts)?;
        payments += ytd - DISTRICTS * DISTRICT_YTD;
    }
    same("the number of orders", orders, tally.rows)?;
    same("the sum of payments", payments, tally.amount)
}

struct One<R> {
    table: Table<R>,
    key: u64,
}

impl<R: Row> Query for One<R> {
    type Output = R;

    fn run<T: Reading>(&mut self, tx: &mut T) -> Result<R, Failed> {
        tx.find(self.table, self.key)
    }
}

fn one<S: Session, R: Row>(session: &mut S, table: Table<R>, key: u64) -> Result<R, Failed> {
    Ok(session.read(&mut One { table, key })?.value)
}

/// The orders of a district are `count`, numbered from 1, none of them delivered, with as many lines as they say.
fn orders_of_district<S: Session>(session: &mut S, district: u64, count: u64) -> Result<(), Failed> {
    let name = |what: &str| format!("district {}.{}'s {what}", district >> 4, district & 0xF);
    let (first, last) = (order(district, 0), order(district, u64::from(u32::MAX)));
    let (mut most, mut lines) = (0, 0);
    let found = each_row(session, ORDER, first, last, |key, row: &Order| {
        most = key & u64::from(u32::MAX);
        lines += row.lines;
    })?;
    same(&name("number of orders"), found, count)?;
    same(&name("last order"), most, count)?;
    let (mut least, mut most) = (u64::MAX, 0);
    let found = each_row(session, NEW_ORDER, first, last, |_, row: &NewOrder| {
        least = least.min(row.order);
        most = most.max(row.order);
    })?;
    same(&name("number of new orders"), found, count)?;
    if count > 0 {
        same(&name("new orders, from the first to the last"), most - least + 1, count)?;
    }
    let found =
        each_row(session, ORDER_LINE, order_line(first, 0), order_line(last, 15), |_, _: &OrderLine| ())?;
    same(&name("number of lines"), found, lines)
}
