//! The initial population (clause 4.3.3): how many rows, under which keys, with what in them.
//!
//! A row's content follows from its key alone, so that tables are loaded by any number of threads in any order.

use super::nurand::Uneven;
use super::rows::{
    Address, Customer, District, Entry, History, Item, NULL, NewOrder, Order, OrderLine, Stock, Warehouse,
};
use super::text::{data, digits, letters, zip};
use super::{
    CUSTOMER, CUSTOMER_BY_NAME, DISTRICT, DISTRICTS, HISTORY, ITEM, NEW_ORDER, ORDER, ORDER_BY_CUSTOMER,
    ORDER_LINE, STOCK, Scale, WAREHOUSE, keys, names, orders,
};
use crate::random::mix;
use contract::{Key, TableId};
use fastrand::Rng;
use zerocopy::IntoBytes;

/// The day of loading: the date of everything that is loaded.
pub(super) const LOADED: u64 = 1;
/// What every customer has paid once.
const FIRST_PAYMENT: i64 = 10 * CENTS;
/// Money is counted in them.
const CENTS: i64 = 100;

/// Rows that are loaded.
pub(super) fn rows(scale: Scale, table: TableId, warehouses: u64, item_copies: u64) -> u64 {
    let districts = warehouses * u64::from(DISTRICTS);
    match table {
        WAREHOUSE => warehouses,
        ITEM => item_copies * u64::from(scale.items()),
        STOCK => warehouses * u64::from(scale.items()),
        _ => districts * u64::from(rows_of_district(scale, table)),
    }
}

fn rows_of_district(scale: Scale, table: TableId) -> u32 {
    match table {
        DISTRICT => 1,
        CUSTOMER | HISTORY | CUSTOMER_BY_NAME => scale.customers(),
        ORDER | ORDER_BY_CUSTOMER => scale.orders(),
        NEW_ORDER => scale.orders() + 1 - scale.first_new_order(),
        ORDER_LINE => scale.lines(),
        TableId(other) => unreachable!("table {other} has no rows by district"),
    }
}

/// The key of a loaded row.
pub(super) fn loaded_key(scale: Scale, table: TableId, row: u64) -> Key {
    let of = |rows: u32| ((row / u64::from(rows)) as u32, (row % u64::from(rows)) as u32);
    match table {
        WAREHOUSE => return keys::warehouse(row as u32 + 1),
        ITEM => {
            let (copy, nth) = of(scale.items());
            return keys::item(copy, nth + 1);
        }
        STOCK => {
            let (warehouse, nth) = of(scale.items());
            return keys::stock(warehouse + 1, nth + 1);
        }
        _ => (),
    }
    let (district, nth) = of(rows_of_district(scale, table));
    let (w_id, d_id) = (district / DISTRICTS + 1, district % DISTRICTS + 1);
    match table {
        DISTRICT => keys::district(w_id, d_id),
        CUSTOMER | CUSTOMER_BY_NAME => keys::customer(w_id, d_id, nth + 1),
        HISTORY => keys::history(w_id, d_id, nth + 1, 1),
        NEW_ORDER => keys::order(w_id, d_id, scale.first_new_order() + nth),
        ORDER => keys::order(w_id, d_id, nth + 1),
        ORDER_BY_CUSTOMER => order_entry(scale, keys::order(w_id, d_id, nth + 1)),
        _ => {
            let (o_id, number) = orders::line(scale, w_id, d_id, nth);
            keys::order_line(w_id, d_id, o_id, number)
        }
    }
}

/// What decides a row's content.
fn generator(table: TableId, key: Key) -> Rng {
    Rng::with_seed(mix(mix(key.0).wrapping_add(u64::from(table.0))))
}

/// A loaded customer's entry in the index by name.
pub(super) fn name_entry(key: Key) -> [u8; keys::NAME_KEY_BYTES] {
    let Customer { c_w_id, c_d_id, c_last, c_first, c_id, .. } = customer(key, &mut generator(CUSTOMER, key));
    keys::customer_by_name(c_w_id, c_d_id, &c_last, &c_first, c_id)
}

/// A loaded order's entry in the index by customer.
pub(super) fn order_entry(scale: Scale, key: Key) -> Key {
    let (w_id, d_id, o_id) = keys::of_order(key);
    keys::order_of_customer(w_id, d_id, orders::customer(scale, w_id, d_id, o_id), o_id)
}

/// Writes the row as it is loaded.
pub(super) fn fill(scale: Scale, table: TableId, key: Key, row: &mut [u8]) {
    let rng = &mut generator(table, key);
    match table {
        WAREHOUSE => row.copy_from_slice(warehouse(scale, key, rng).as_bytes()),
        DISTRICT => row.copy_from_slice(district(scale, key, rng).as_bytes()),
        CUSTOMER => row.copy_from_slice(customer(key, rng).as_bytes()),
        HISTORY => row.copy_from_slice(history(key, rng).as_bytes()),
        NEW_ORDER => row.copy_from_slice(new_order(key).as_bytes()),
        ORDER => row.copy_from_slice(order(scale, key, rng).as_bytes()),
        ORDER_LINE => row.copy_from_slice(order_line(scale, key, rng).as_bytes()),
        ITEM => row.copy_from_slice(item(key).as_bytes()),
        STOCK => row.copy_from_slice(stock(key, rng).as_bytes()),
        // Entries by name are known by their customer until they are loaded.
        CUSTOMER_BY_NAME => row.copy_from_slice(Entry { key: key.0 }.as_bytes()),
        ORDER_BY_CUSTOMER => {
            let (w_id, d_id, _, o_id) = keys::of_order_of_customer(key);
            row.copy_from_slice(Entry { key: keys::order(w_id, d_id, o_id).0 }.as_bytes());
        }
        TableId(other) => unreachable!("table {other} of eleven"),
    }
}

fn address(rng: &mut Rng) -> Address {
    Address {
        street_1: letters(rng, 10),
        street_2: letters(rng, 10),
        city: letters(rng, 10),
        state: letters(rng, 2),
        zip: zip(rng),
    }
}

/// By all of its customers: 30,000.00 at the standard's size.
fn paid_in_district(scale: Scale) -> i64 {
    i64::from(scale.customers()) * FIRST_PAYMENT
}

fn warehouse(scale: Scale, key: Key, rng: &mut Rng) -> Warehouse {
    Warehouse {
        w_ytd: i64::from(DISTRICTS) * paid_in_district(scale),
        w_id: key.0 as u32,
        w_tax: rng.u32(0..=2_000),
        w_name: letters(rng, 6),
        w_address: address(rng),
        unused: [0; 7],
    }
}

fn district(scale: Scale, key: Key, rng: &mut Rng) -> District {
    let (d_w_id, d_id) = keys::of_district(key);
    District {
        d_ytd: paid_in_district(scale),
        d_next_o_id: scale.orders() + 1,
        d_tax: rng.u32(0..=2_000),
        d_w_id,
        d_id,
        d_name: letters(rng, 6),
        d_address: address(rng),
        unused: [0; 7],
    }
}

/// The names of a warehouse and of a district of it. They follow from the keys, whatever the scale, and never change.
pub(super) fn names_of(w_id: u32, d_id: u32) -> ([u8; 10], [u8; 10]) {
    let (w_key, d_key) = (keys::warehouse(w_id), keys::district(w_id, d_id));
    let w = warehouse(Scale::STANDARD, w_key, &mut generator(WAREHOUSE, w_key));
    let d = district(Scale::STANDARD, d_key, &mut generator(DISTRICT, d_key));
    (w.w_name, d.d_name)
}

fn customer(key: Key, rng: &mut Rng) -> Customer {
    let (c_w_id, c_d_id, c_id) = keys::of_customer(key);
    // The first thousand have a last name each, so that every name is there.
    let name = if c_id <= names::LAST_NAMES { c_id - 1 } else { Uneven::LOAD.last_name(rng) };
    Customer {
        c_balance: -FIRST_PAYMENT,
        c_ytd_payment: FIRST_PAYMENT,
        c_credit_lim: 50_000 * CENTS,
        c_since: LOADED,
        c_payment_cnt: 1,
        c_delivery_cnt: 0,
        c_discount: rng.u32(0..=5_000),
        c_w_id,
        c_d_id,
        c_id,
        c_first: letters(rng, 8),
        c_middle: *b"OE",
        c_last: names::last_name(name),
        c_address: address(rng),
        c_phone: digits(rng),
        c_credit: if rng.u8(0..10) == 0 { *b"BC" } else { *b"GC" },
        c_data: letters(rng, 300),
        unused: [0],
    }
}

fn history(key: Key, rng: &mut Rng) -> History {
    let (w_id, d_id, h_c_id) = keys::of_customer(keys::of_history(key).0);
    History {
        h_date: LOADED,
        h_amount: FIRST_PAYMENT,
        h_c_id,
        h_c_d_id: d_id,
        h_c_w_id: w_id,
        h_d_id: d_id,
        h_w_id: w_id,
        h_data: letters(rng, 12),
        unused: [0; 4],
    }
}

fn new_order(key: Key) -> NewOrder {
    let (no_w_id, no_d_id, no_o_id) = keys::of_order(key);
    NewOrder { no_o_id, no_d_id, no_w_id, unused: [0; 4] }
}

fn order(scale: Scale, key: Key, rng: &mut Rng) -> Order {
    let (o_w_id, o_d_id, o_id) = keys::of_order(key);
    Order {
        o_entry_d: LOADED,
        o_id,
        o_c_id: orders::customer(scale, o_w_id, o_d_id, o_id),
        o_d_id,
        o_w_id,
        o_carrier_id: if o_id < scale.first_new_order() { rng.u8(1..=10) } else { NULL },
        o_ol_cnt: orders::lines(scale, o_w_id, o_d_id, o_id),
        o_all_local: 1,
        unused: [0; 5],
    }
}

fn order_line(scale: Scale, key: Key, rng: &mut Rng) -> OrderLine {
    let (order, number) = keys::of_order_line(key);
    let (ol_w_id, d_id, ol_o_id) = keys::of_order(order);
    let is_delivered = ol_o_id < scale.first_new_order();
    OrderLine {
        ol_delivery_d: if is_delivered { LOADED } else { u64::from(NULL) },
        ol_o_id,
        ol_w_id,
        ol_i_id: rng.u32(1..=scale.items()),
        ol_supply_w_id: ol_w_id,
        ol_amount: if is_delivered { 0 } else { rng.u32(1..=999_999) },
        ol_d_id: d_id as u8,
        ol_number: number as u8,
        ol_quantity: 5,
        ol_dist_info: letters(rng, 24),
        unused: [0],
    }
}

/// The same in every copy.
pub(super) fn item(key: Key) -> Item {
    let (_, i_id) = keys::of_item(key);
    let rng = &mut Rng::with_seed(mix(u64::from(i_id)));
    Item {
        i_id,
        i_im_id: rng.u32(1..=10_000),
        i_price: rng.u32(100..=10_000),
        i_name: letters(rng, 14),
        i_data: data(rng),
        unused: [0; 2],
    }
}

fn stock(key: Key, rng: &mut Rng) -> Stock {
    let (s_w_id, s_i_id) = keys::of_stock(key);
    Stock {
        s_quantity: rng.i32(10..=100),
        s_ytd: 0,
        s_order_cnt: 0,
        s_remote_cnt: 0,
        s_i_id,
        s_w_id,
        s_dist: std::array::from_fn(|_| letters(rng, 24)),
        s_data: data(rng),
        unused: [0; 2],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_year_to_date_is_the_standards() {
        let rng = &mut Rng::with_seed(1);
        assert_eq!(district(Scale::STANDARD, keys::district(1, 1), rng).d_ytd, 30_000 * CENTS);
        assert_eq!(warehouse(Scale::STANDARD, keys::warehouse(1), rng).w_ytd, 300_000 * CENTS);
    }

    #[test]
    fn copies_of_an_item_are_the_same() {
        assert_eq!(item(keys::item(0, 17)), item(keys::item(9, 17)));
    }
}
