//! Delivery (clause 2.7): the oldest undelivered order of each of a warehouse's ten districts, in one transaction. The
//! oldest is one step of a scan of NEW-ORDER. A district without one is left out.
//!
//! The standard lets a terminal go on while a delivery waits in a queue. Here it runs like any other transaction.

use super::inputs::DeliveryInput;
use super::parts::{CustomerAccount, LineDelivery, NewOrderNumber, OrderDelivery, Part, change};
use super::screens::DeliveryScreen;
use super::stale::{found, present};
use super::{DISTRICTS, NEW_ORDER, keys};
use contract::{Abort, Direction, Key, Plan, Scan, Transaction};
use std::ops::Bound;
use zerocopy::FromBytes;

/// Delivers an order of each district.
pub(super) fn run<T: Transaction + ?Sized>(
    txn: &mut T,
    input: &DeliveryInput,
) -> Result<DeliveryScreen, Abort> {
    let mut screen = DeliveryScreen { o_ids: [0; DISTRICTS as usize] };
    for (d_id, delivered) in (1..).zip(&mut screen.o_ids) {
        if let Some(o_id) = oldest(txn, input.w_id, d_id)? {
            deliver(txn, input, d_id, o_id)?;
            *delivered = o_id;
        }
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

fn deliver<T: Transaction + ?Sized>(
    txn: &mut T,
    input: &DeliveryInput,
    d_id: u32,
    o_id: u32,
) -> Result<(), Abort> {
    let key = keys::order(input.w_id, d_id, o_id);
    found(txn.delete(NEW_ORDER, key)?)?;
    let order = present(change(txn, key, |order: &mut OrderDelivery| {
        order.o_carrier_id = input.carrier_id;
        *order
    })?)?;
    let mut amount = 0;
    for number in 1..=u32::from(order.o_ol_cnt) {
        let line = keys::order_line(input.w_id, d_id, o_id, number);
        amount += i64::from(present(change(txn, line, |line: &mut LineDelivery| {
            line.ol_delivery_d = input.delivery_d;
            line.ol_amount
        })?)?);
    }
    let customer = keys::customer(input.w_id, d_id, order.o_c_id);
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
