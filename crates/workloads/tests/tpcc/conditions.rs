//! The twelve consistency conditions accept what was loaded, and what orders, payments and deliveries make of it; each rejects
//! what breaks it.

use crate::supplier::Supplier;
use crate::tpcc;
use contract::Key;
use std::collections::BTreeSet;
use workloads::tpcc::keys;
use workloads::tpcc::rows::{Customer, District, History, NewOrder, Order, OrderLine, Warehouse};
use zerocopy::FromZeros;

/// What Delivery does to one order, as clause 2.7.4 says.
fn deliver(supplier: &mut Supplier, w_id: u32, d_id: u32, o_id: u32) {
    let key = keys::order(w_id, d_id, o_id);
    supplier.new_orders.remove(&key).expect("a new order");
    let order = supplier.orders.get_mut(&key).expect("an order");
    order.o_carrier_id = 7;
    let mut sum = 0;
    for number in 1..=u32::from(order.o_ol_cnt) {
        let key = keys::order_line(w_id, d_id, o_id, number);
        let line = supplier.order_lines.get_mut(&key).expect("a line");
        line.ol_delivery_d = 99;
        sum += i64::from(line.ol_amount);
    }
    let customer = supplier.customers.get_mut(&keys::customer(w_id, d_id, order.o_c_id)).expect("a customer");
    customer.c_balance += sum;
    customer.c_delivery_cnt += 1;
}

/// What Payment does, as clause 2.5.2 says.
fn pay(supplier: &mut Supplier, (w_id, d_id): (u32, u32), customer: Key, amount: i64) {
    supplier.warehouses.get_mut(&keys::warehouse(w_id)).expect("a warehouse").w_ytd += amount;
    supplier.districts.get_mut(&keys::district(w_id, d_id)).expect("a district").d_ytd += amount;
    let row = supplier.customers.get_mut(&customer).expect("a customer");
    row.c_balance -= amount;
    row.c_ytd_payment += amount;
    row.c_payment_cnt += 1;
    let (h_c_w_id, h_c_d_id, h_c_id) = (row.c_w_id, row.c_d_id, row.c_id);
    let key = keys::history(h_c_w_id, h_c_d_id, h_c_id, row.c_payment_cnt);
    let paid = History {
        h_amount: amount,
        h_c_id,
        h_c_d_id,
        h_c_w_id,
        h_d_id: d_id,
        h_w_id: w_id,
        ..History::new_zeroed()
    };
    assert!(supplier.histories.insert(key, paid).is_none(), "a payment's key is its own");
}

/// What New-Order does, as clause 2.4.2 says.
fn order(supplier: &mut Supplier, (w_id, d_id): (u32, u32), c_id: u32, lines: u8) {
    let district = supplier.districts.get_mut(&keys::district(w_id, d_id)).expect("a district");
    let o_id = district.d_next_o_id;
    district.d_next_o_id += 1;
    let key = keys::order(w_id, d_id, o_id);
    let zeroed = Order::new_zeroed();
    let order = Order { o_id, o_c_id: c_id, o_d_id: d_id, o_w_id: w_id, o_ol_cnt: lines, ..zeroed };
    supplier.orders.insert(key, order);
    let zeroed = NewOrder::new_zeroed();
    supplier.new_orders.insert(key, NewOrder { no_o_id: o_id, no_d_id: d_id, no_w_id: w_id, ..zeroed });
    for ol_number in 1..=lines {
        let line = OrderLine {
            ol_o_id: o_id,
            ol_w_id: w_id,
            ol_d_id: d_id as u8,
            ol_number,
            ol_amount: 1_000 * u32::from(ol_number),
            ..OrderLine::new_zeroed()
        };
        supplier.order_lines.insert(keys::order_line(w_id, d_id, o_id, ol_number.into()), line);
    }
}

#[test]
fn the_conditions_hold_of_what_is_loaded_and_of_what_transactions_make_of_it() {
    let mut supplier = Supplier::loaded(&tpcc(&[("warehouses", "2")]));
    assert_eq!(supplier.breaches(), []);
    for (d_id, c_id) in [(1, 5), (1, 6), (2, 5), (10, 3000), (1, 5)] {
        order(&mut supplier, (1, d_id), c_id, 5 + d_id as u8);
    }
    // At home, and by a customer of the other warehouse.
    pay(&mut supplier, (1, 3), keys::customer(1, 3, 17), 12_345);
    pay(&mut supplier, (1, 3), keys::customer(2, 9, 17), 100);
    pay(&mut supplier, (1, 3), keys::customer(2, 9, 17), 100);
    for (d_id, o_id) in [(1, 2101), (1, 2102), (2, 2101)] {
        deliver(&mut supplier, 1, d_id, o_id);
    }
    assert_eq!(supplier.breaches(), []);
    // All orders of a district, the one that was just made too.
    for o_id in 2101..=3001 {
        deliver(&mut supplier, 1, 10, o_id);
    }
    assert_eq!(supplier.breaches(), []);
}

/// A change, what undoes it, and the conditions that it breaks.
type Break = (&'static str, fn(&mut Supplier), fn(&mut Supplier), &'static [usize]);

fn warehouse(supplier: &mut Supplier) -> &mut Warehouse {
    supplier.warehouses.get_mut(&keys::warehouse(1)).expect("loaded")
}

fn district(supplier: &mut Supplier) -> &mut District {
    supplier.districts.get_mut(&keys::district(1, 4)).expect("loaded")
}

fn customer(supplier: &mut Supplier) -> &mut Customer {
    supplier.customers.get_mut(&keys::customer(1, 4, 99)).expect("loaded")
}

fn lose(supplier: &mut Supplier, no_o_id: u32) {
    assert!(supplier.new_orders.remove(&keys::order(1, 4, no_o_id)).is_some(), "it was new");
}

fn enter(supplier: &mut Supplier, no_o_id: u32) {
    let row = NewOrder { no_o_id, no_d_id: 4, no_w_id: 1, ..NewOrder::new_zeroed() };
    assert!(supplier.new_orders.insert(keys::order(1, 4, no_o_id), row).is_none(), "it was not new");
}

fn a_line(supplier: &mut Supplier, o_id: u32) -> &mut OrderLine {
    supplier.order_lines.get_mut(&keys::order_line(1, 4, o_id, 2)).expect("loaded")
}

fn an_order(supplier: &mut Supplier, o_id: u32) -> &mut Order {
    supplier.orders.get_mut(&keys::order(1, 4, o_id)).expect("loaded")
}

const BREAKS: &[Break] = &[
    ("w_ytd is off", |s| warehouse(s).w_ytd += 1, |s| warehouse(s).w_ytd -= 1, &[1, 8]),
    ("d_ytd is off", |s| district(s).d_ytd += 1, |s| district(s).d_ytd -= 1, &[1, 9]),
    ("the next order is skipped", |s| district(s).d_next_o_id += 1, |s| district(s).d_next_o_id -= 1, &[2]),
    ("the next order is there", |s| district(s).d_next_o_id -= 1, |s| district(s).d_next_o_id += 1, &[2]),
    ("a new order is lost in the middle", |s| lose(s, 2500), |s| enter(s, 2500), &[3, 5, 11]),
    ("the last new order is lost", |s| lose(s, 3000), |s| enter(s, 3000), &[2, 5, 11]),
    ("a delivered order is new again", |s| enter(s, 2100), |s| lose(s, 2100), &[5, 11]),
    (
        "an order promises too much",
        |s| an_order(s, 77).o_ol_cnt += 1,
        |s| an_order(s, 77).o_ol_cnt -= 1,
        &[4, 6],
    ),
    (
        "two orders swap a line",
        |s| {
            an_order(s, 77).o_ol_cnt += 1;
            an_order(s, 78).o_ol_cnt -= 1;
        },
        |s| {
            an_order(s, 77).o_ol_cnt -= 1;
            an_order(s, 78).o_ol_cnt += 1;
        },
        &[6],
    ),
    (
        "a carrier has what was not delivered",
        |s| an_order(s, 2500).o_carrier_id = 3,
        |s| an_order(s, 2500).o_carrier_id = 0,
        &[5, 7],
    ),
    (
        "a line of a new order was delivered for nothing",
        |s| (a_line(s, 2500).ol_delivery_d, a_line(s, 2500).ol_amount) = (1, 0),
        |s| (a_line(s, 2500).ol_delivery_d, a_line(s, 2500).ol_amount) = (0, 1),
        &[7],
    ),
    (
        "a line of a delivered order was not",
        |s| a_line(s, 77).ol_delivery_d = 0,
        |s| a_line(s, 77).ol_delivery_d = 1,
        &[7],
    ),
    (
        "a delivered line costs something",
        |s| a_line(s, 77).ol_amount += 5,
        |s| a_line(s, 77).ol_amount -= 5,
        &[10, 12],
    ),
    ("c_balance is off", |s| customer(s).c_balance += 1, |s| customer(s).c_balance -= 1, &[10, 12]),
    ("c_ytd_payment is off", |s| customer(s).c_ytd_payment += 1, |s| customer(s).c_ytd_payment -= 1, &[12]),
    (
        "a payment is entered twice",
        |s| {
            let payment = s.histories[&keys::history(1, 4, 99, 1)];
            s.histories.insert(keys::history(1, 4, 99, 2), payment);
        },
        |s| assert!(s.histories.remove(&keys::history(1, 4, 99, 2)).is_some()),
        &[8, 9, 10],
    ),
    (
        "a delivery is counted twice",
        |s| customer(s).c_delivery_cnt += 1,
        |s| customer(s).c_delivery_cnt -= 1,
        &[11],
    ),
];

/// At the last customer and order of smaller sizes, with whole groups of orders and without.
#[test]
fn the_conditions_hold_at_every_scale() {
    for (items, customers) in [("10000", "1100"), ("1000", "30"), ("10", "10"), ("77", "101")] {
        let tpcc = tpcc(&[("warehouses", "2"), ("items", items), ("customers", customers)]);
        let scale = tpcc.scale();
        let mut supplier = Supplier::loaded(&tpcc);
        assert_eq!(supplier.breaches(), [], "{scale:?}");
        let (last, first_new) = (scale.customers(), scale.first_new_order());
        order(&mut supplier, (1, 10), last, 15);
        pay(&mut supplier, (1, 10), keys::customer(2, 1, last), 12_345);
        for o_id in first_new..=scale.orders() + 1 {
            deliver(&mut supplier, 1, 10, o_id);
        }
        assert_eq!(supplier.breaches(), [], "{scale:?}");
        supplier.new_orders.remove(&keys::order(2, 5, first_new)).expect("loaded");
        assert_eq!(supplier.breached(), [5, 11], "{scale:?}");
    }
}

#[test]
fn each_condition_rejects_what_breaks_it() {
    let mut supplier = Supplier::loaded(&tpcc(&[]));
    let mut seen = BTreeSet::new();
    for (what, make, undo, expected) in BREAKS {
        make(&mut supplier);
        assert_eq!(supplier.breached(), *expected, "{what}");
        undo(&mut supplier);
        seen.extend(*expected);
    }
    assert_eq!(seen, (1..=12).collect(), "every condition was broken");
    assert_eq!(supplier.breached(), [], "and all was undone");
    an_order(&mut supplier, 77).o_ol_cnt += 1;
    let sixth = supplier.breaches().pop().expect("two breaches");
    let lines = supplier.orders[&keys::order(1, 4, 77)].o_ol_cnt;
    let message =
        format!("consistency condition 6: order (1, 4, 77): o_ol_cnt Some({lines}), {} lines", lines - 1);
    assert_eq!(sixth.to_string(), message);
}
