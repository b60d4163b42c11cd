//! Delivery (clause 2.7): the oldest undelivered order of each of a warehouse's ten districts, in one transaction. The
//! oldest is one step of a scan of NEW-ORDER. A district without one is left out.
//!
//! The standard lets a terminal go on while a delivery waits in a queue. Here it runs like any other transaction.

use super::inputs::DeliveryInput;
use super::parts::{CustomerAccount, LineDelivery, NewOrderNumber, OrderDelivery, Part, change};
use super::screens::DeliveryScreen;
use super::stale::{found, present};
use super::{CUSTOMER, DISTRICTS, NEW_ORDER, ORDER, ORDER_LINE, keys};
use contract::{Abort, Direction, Key, Plan, Scan, Transaction};
use std::ops::Bound;
use zerocopy::FromBytes;

/// Delivers an order of each district: all of them a step at a time, so that what the next step touches is named ahead.
pub(super) fn run<T: Transaction + ?Sized>(
    txn: &mut T,
    input: &DeliveryInput,
) -> Result<DeliveryScreen, Abort> {
    let mut screen = DeliveryScreen { o_ids: [0; DISTRICTS as usize] };
    let (mut orders, mut count) = ([Key(0); DISTRICTS as usize], 0);
    for (d_id, delivered) in (1..).zip(&mut screen.o_ids) {
        if let Some(o_id) = oldest(txn, input.w_id, d_id)? {
            *delivered = o_id;
            orders[count] = keys::order(input.w_id, d_id, o_id);
            count += 1;
        }
    }
    let orders = &orders[..count];
    txn.ahead(ORDER, orders);

    let (mut customers, mut first_lines) = ([Key(0); DISTRICTS as usize], [Key(0); DISTRICTS as usize]);
    let mut lines = [0; DISTRICTS as usize];
    for (nth, &order) in orders.iter().enumerate() {
        let taken = take(txn, order, input.carrier_id)?;
        let (w_id, d_id, _) = keys::of_order(order);
        customers[nth] = keys::customer(w_id, d_id, taken.o_c_id);
        first_lines[nth] = keys::line_of(order, 1);
        lines[nth] = taken.o_ol_cnt;
    }
    txn.ahead(ORDER_LINE, &first_lines[..count]);
    txn.ahead(CUSTOMER, &customers[..count]);

    for (nth, &order) in orders.iter().enumerate() {
        let amount = deliver_lines(txn, order, lines[nth], input.delivery_d)?;
        charge(txn, customers[nth], amount)?;
    }
    Ok(screen)
}

/// The least number of an undelivered order.
fn oldest<T: Transaction + ?Sized>(txn: &mut T, w_id: u32, d_id: u32) -> Result<Option<u32>, Abort> {
    let ends = [0, u32::MAX].map(|o_id| keys::order(w_id, d_id, o_id));
    let [first, last] = ends.map(Key::bytes);
    let scan = Scan {
        table: NEW_ORDER,
        from: Bound::Included(&first),
        to: Bound::Included(&last),
        direction: Direction::Forward,
        limit: 1,
        span: NewOrderNumber::span(),
        within: Some(ends[0]),
    };
    let mut o_id = None;
    txn.scan(&scan, &mut |_, row| {
        o_id = Some(NewOrderNumber::ref_from_bytes(row).expect("parts are packed").no_o_id);
    })?;
    Ok(o_id)
}

/// Takes an order from those that are to be delivered, for a carrier.
fn take<T: Transaction + ?Sized>(txn: &mut T, order: Key, carrier_id: u8) -> Result<OrderDelivery, Abort> {
    found(txn.delete(NEW_ORDER, order)?)?;
    present(change(txn, order, |order: &mut OrderDelivery| {
        order.o_carrier_id = carrier_id;
        *order
    })?)
}

/// Enters the day at each line; what they amount to.
fn deliver_lines<T: Transaction + ?Sized>(
    txn: &mut T,
    order: Key,
    lines: u8,
    delivery_d: u64,
) -> Result<i64, Abort> {
    let mut amount = 0;
    for number in 1..=u32::from(lines) {
        amount +=
            i64::from(present(change(txn, keys::line_of(order, number), |line: &mut LineDelivery| {
                line.ol_delivery_d = delivery_d;
                line.ol_amount
            })?)?);
    }
    Ok(amount)
}

fn charge<T: Transaction + ?Sized>(txn: &mut T, customer: Key, amount: i64) -> Result<(), Abort> {
    present(change(txn, customer, |account: &mut CustomerAccount| {
        account.c_balance = account.c_balance.wrapping_add(amount);
        account.c_delivery_cnt = account.c_delivery_cnt.wrapping_add(1);
    })?)
}

/// Nothing is known ahead but the partition.
pub(super) fn plan(input: &DeliveryInput, plan: &mut Plan) {
    plan.declare(NEW_ORDER, keys::order(input.w_id, 1, 0));
    plan.leave_open();
}
