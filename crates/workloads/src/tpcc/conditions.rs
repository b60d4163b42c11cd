//! The twelve consistency conditions of clause 3.3.2, over whatever can show the tables.
//!
//! | | must hold |
//! |---|---|
//! | 1 | of a warehouse: `w_ytd` = sum of `d_ytd` |
//! | 2 | of a district: `d_next_o_id` - 1 = greatest `o_id`, and = greatest `no_o_id` if there are new orders |
//! | 3 | of a district: the new orders are as many as there are numbers from the least to the greatest `no_o_id` |
//! | 4 | of a district: sum of `o_ol_cnt` = number of order lines |
//! | 5 | of an order: no carrier if and only if it is among the new orders |
//! | 6 | of an order: `o_ol_cnt` = number of its lines |
//! | 7 | of an order line: no date of delivery if and only if its order has no carrier |
//! | 8 | of a warehouse: `w_ytd` = sum of `h_amount` paid there |
//! | 9 | of a district: `d_ytd` = sum of `h_amount` paid there |
//! | 10 | of a customer: `c_balance` = what was delivered - sum of `h_amount` paid |
//! | 11 | of a district: orders - new orders = those loaded delivered (2100) + sum of `c_delivery_cnt` |
//! | 12 | of a customer: `c_balance` + `c_ytd_payment` = what was delivered |
//!
//! We differ in two. The standard's 11 has no deliveries in it and is true of the initial population only; every delivery
//! takes a new order away and counts in `c_delivery_cnt`, so that ours holds afterwards, too. And the standard's 2 is silent
//! on a district whose orders are all delivered; the newest order is then delivered, which 5 sees.
//!
//! What was delivered to a customer is the sum of `ol_amount` over the lines with a date of delivery of the customer's
//! orders.

use super::books::Books;
use super::rows::{Customer, District, History, NewOrder, Order, OrderLine, Warehouse};
use super::{Scale, keys};
use contract::Key;
use std::fmt;

/// Who can show the tables, in any order: each function shows every row to `see` once. All that is shown is of one moment.
pub trait Reader {
    /// Every row of WAREHOUSE.
    fn warehouses(&self, see: &mut dyn FnMut(&Warehouse));
    /// Every row of DISTRICT.
    fn districts(&self, see: &mut dyn FnMut(&District));
    /// Every row of CUSTOMER.
    fn customers(&self, see: &mut dyn FnMut(&Customer));
    /// Every row of HISTORY.
    fn histories(&self, see: &mut dyn FnMut(&History));
    /// Every row of NEW-ORDER.
    fn new_orders(&self, see: &mut dyn FnMut(&NewOrder));
    /// Every row of ORDER.
    fn orders(&self, see: &mut dyn FnMut(&Order));
    /// Every row of ORDER-LINE.
    fn order_lines(&self, see: &mut dyn FnMut(&OrderLine));
}

/// A condition that does not hold, and the first row of which it does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// Its number in clause 3.3.2, from 1.
    pub condition: usize,
    /// Where, and with which values.
    pub what: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "consistency condition {}: {}", self.condition, self.what)
    }
}

impl std::error::Error for Breach {}

/// Says where it does not hold, if so.
type Condition = fn(&Books) -> Option<String>;

/// In the order of the standard, each with its name in results.
const CONDITIONS: [(&str, Condition); 12] = [
    ("warehouses-sum-their-districts", warehouses_sum_their_districts),
    ("districts-know-their-last-order", districts_know_their_last_order),
    ("new-orders-have-no-gap", new_orders_have_no_gap),
    ("districts-have-the-lines-of-their-orders", districts_have_the_lines_of_their_orders),
    ("new-orders-have-no-carrier", new_orders_have_no_carrier),
    ("orders-have-their-lines", orders_have_their_lines),
    ("lines-are-delivered-with-their-order", lines_are_delivered_with_their_order),
    ("warehouses-sum-their-payments", warehouses_sum_their_payments),
    ("districts-sum-their-payments", districts_sum_their_payments),
    ("balances-are-deliveries-less-payments", balances_are_deliveries_less_payments),
    ("orders-are-new-or-delivered", orders_are_new_or_delivered),
    ("balances-and-payments-are-deliveries", balances_and_payments_are_deliveries),
];

/// The conditions that do not hold; none of a consistent database that was loaded with warehouses of this size.
pub fn breaches(reader: &dyn Reader, scale: Scale) -> Vec<Breach> {
    breaches_of(&Books::of(reader, scale))
}

/// The same of books that are closed.
pub(super) fn breaches_of(books: &Books) -> Vec<Breach> {
    let breach = |(nth, (_, condition)): (usize, &(&str, Condition))| {
        condition(books).map(|what| Breach { condition: nth + 1, what })
    };
    CONDITIONS.iter().enumerate().filter_map(breach).collect()
}

/// Their numbers in clause 3.3.2, from 1, and their names in results.
pub(super) fn names() -> impl Iterator<Item = (usize, &'static str)> {
    CONDITIONS.iter().enumerate().map(|(nth, (name, _))| (nth + 1, *name))
}

fn warehouses_sum_their_districts(books: &Books) -> Option<String> {
    books.warehouses.iter().find_map(|(key, book)| {
        let is_sum = book.ytd == Some(book.districts_ytd);
        (!is_sum).then(|| {
            format!("{}: w_ytd {:?}, sum of d_ytd {}", warehouse(*key), book.ytd, book.districts_ytd)
        })
    })
}

fn districts_know_their_last_order(books: &Books) -> Option<String> {
    books.districts.iter().find_map(|(key, book)| {
        let last = book.row.map(|(_, next)| next.wrapping_sub(1));
        let last_new = book.new_order_range.map(|(_, greatest)| greatest);
        let is_last = last == Some(book.last_order) && last_new.is_none_or(|new| new == book.last_order);
        (!is_last).then(|| {
            let (district, order) = (district(*key), book.last_order);
            format!("{district}: d_next_o_id - 1 is {last:?}, last o_id {order}, last no_o_id {last_new:?}")
        })
    })
}

fn new_orders_have_no_gap(books: &Books) -> Option<String> {
    books.districts.iter().find_map(|(key, book)| {
        let (least, greatest) = book.new_order_range?;
        let whole = u64::from(greatest - least) + 1;
        (book.new_orders != whole)
            .then(|| format!("{}: {} new orders from {least} to {greatest}", district(*key), book.new_orders))
    })
}

fn districts_have_the_lines_of_their_orders(books: &Books) -> Option<String> {
    books.districts.iter().find_map(|(key, book)| {
        (book.lines != book.lines_promised).then(|| {
            format!("{}: sum of o_ol_cnt {}, {} lines", district(*key), book.lines_promised, book.lines)
        })
    })
}

fn new_orders_have_no_carrier(books: &Books) -> Option<String> {
    books.orders.iter().find_map(|(key, book)| {
        (!book.is_new_or_carried()).then(|| {
            let is_carried = book.row.map(|row| row.is_carried);
            format!("{}: carried {is_carried:?}, {} times among the new orders", order(*key), book.new_orders)
        })
    })
}

fn orders_have_their_lines(books: &Books) -> Option<String> {
    books.orders.iter().find_map(|(key, book)| {
        (!book.has_its_lines()).then(|| {
            let promised = book.row.map(|row| row.lines);
            format!("{}: o_ol_cnt {promised:?}, {} lines", order(*key), book.lines)
        })
    })
}

fn lines_are_delivered_with_their_order(books: &Books) -> Option<String> {
    books.orders.iter().find_map(|(key, book)| {
        (!book.is_delivered_with_its_lines()).then(|| {
            let is_carried = book.row.is_some_and(|row| row.is_carried);
            let (order, delivered, lines) = (order(*key), book.delivered_lines, book.lines);
            format!("{order}: carried {is_carried}, {delivered} of {lines} lines delivered")
        })
    })
}

fn warehouses_sum_their_payments(books: &Books) -> Option<String> {
    books.warehouses.iter().find_map(|(key, book)| {
        (book.ytd != Some(book.paid))
            .then(|| format!("{}: w_ytd {:?}, sum of h_amount {}", warehouse(*key), book.ytd, book.paid))
    })
}

fn districts_sum_their_payments(books: &Books) -> Option<String> {
    books.districts.iter().find_map(|(key, book)| {
        let ytd = book.row.map(|(ytd, _)| ytd);
        (ytd != Some(book.paid))
            .then(|| format!("{}: d_ytd {ytd:?}, sum of h_amount {}", district(*key), book.paid))
    })
}

fn balances_are_deliveries_less_payments(books: &Books) -> Option<String> {
    books.customers.iter().find_map(|(key, book)| {
        let balance = book.row.map(|(balance, _)| balance);
        (balance != Some(book.delivered - book.paid)).then(|| {
            let (customer, delivered, paid) = (customer(*key), book.delivered, book.paid);
            format!("{customer}: c_balance {balance:?}, delivered {delivered}, sum of h_amount {paid}")
        })
    })
}

fn orders_are_new_or_delivered(books: &Books) -> Option<String> {
    books.districts.iter().find_map(|(key, book)| {
        let delivered = book.loaded_deliveries + book.deliveries;
        (book.orders != book.new_orders + delivered).then(|| {
            let (district, orders, new) = (district(*key), book.orders, book.new_orders);
            format!("{district}: {orders} orders, {new} new, {delivered} delivered")
        })
    })
}

fn balances_and_payments_are_deliveries(books: &Books) -> Option<String> {
    books.customers.iter().find_map(|(key, book)| {
        let sum = book.row.map(|(balance, payments)| balance + payments);
        (sum != Some(book.delivered)).then(|| {
            format!("{}: c_balance + c_ytd_payment {sum:?}, delivered {}", customer(*key), book.delivered)
        })
    })
}

fn warehouse(key: Key) -> String {
    format!("warehouse {}", key.0)
}

fn district(key: Key) -> String {
    let (w_id, d_id) = keys::of_district(key);
    format!("district ({w_id}, {d_id})")
}

fn customer(key: Key) -> String {
    let (w_id, d_id, c_id) = keys::of_customer(key);
    format!("customer ({w_id}, {d_id}, {c_id})")
}

fn order(key: Key) -> String {
    let (w_id, d_id, o_id) = keys::of_order(key);
    format!("order ({w_id}, {d_id}, {o_id})")
}
