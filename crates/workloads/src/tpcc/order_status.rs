//! Order-Status (clause 2.6): what became of a customer's last order. Read-only. The last order is the last entry of the
//! index of orders by customer, one step of a backward scan; its lines are a scan.

use super::inputs::OrderStatusInput;
use super::parts::{CustomerStatus, LineStatus, Part, read};
use super::rows::{Entry, Order};
use super::screens::{OrderStatusScreen, StatusLineScreen};
use super::stale::present;
use super::{CUSTOMER, MOST_LINES, ORDER, ORDER_BY_CUSTOMER, customers, keys};
use contract::{Abort, Access, Direction, Key, Plan, Scan, Span, Transaction, TransactionExt};
use std::ops::Bound;
use zerocopy::FromBytes;

/// Looks a customer's last order up.
pub(super) fn run<T: Transaction + ?Sized>(
    txn: &mut T,
    input: &OrderStatusInput,
) -> Result<OrderStatusScreen, Abort> {
    let OrderStatusInput { w_id, d_id, .. } = *input;
    let c_id = customers::find(txn, w_id, d_id, &input.who)?;
    let c_id = c_id.expect("every district has a customer of every name");
    let customer = keys::customer(w_id, d_id, c_id);
    let shown = read(txn, customer, |status: &CustomerStatus| *status)?.expect("loaded, and never deleted");
    let mut screen = OrderStatusScreen {
        c_id,
        c_first: shown.c_first,
        c_middle: shown.c_middle,
        c_last: shown.c_last,
        c_balance: shown.c_balance,
        o_id: 0,
        o_entry_d: 0,
        o_carrier_id: 0,
        count: 0,
        lines: [StatusLineScreen::default(); MOST_LINES],
    };
    if let Some(key) = last_order(txn, (w_id, d_id, c_id))? {
        let order = present(txn.read_row(ORDER, key, |order: &Order| *order)?)?;
        (screen.o_id, screen.o_entry_d) = (order.o_id, order.o_entry_d);
        screen.o_carrier_id = order.o_carrier_id;
        read_lines(txn, key, &mut screen)?;
    }
    Ok(screen)
}

/// The customer's order with the greatest number.
fn last_order<T: Transaction + ?Sized>(
    txn: &mut T,
    (w_id, d_id, c_id): (u32, u32, u32),
) -> Result<Option<Key>, Abort> {
    let ends = [0, u32::MAX].map(|o_id| keys::order_of_customer(w_id, d_id, c_id, o_id));
    let [first, last] = ends.map(Key::bytes);
    let scan = Scan {
        table: ORDER_BY_CUSTOMER,
        from: Bound::Included(&first),
        to: Bound::Included(&last),
        direction: Direction::Backward,
        limit: 1,
        span: Span::whole(size_of::<Entry>()),
        within: Some(ends[0]),
    };
    let mut order = None;
    txn.scan(&scan, &mut |_, row| {
        order = Some(Key(Entry::ref_from_bytes(row).expect("an entry, aligned").key));
    })?;
    Ok(order)
}

fn read_lines<T: Transaction + ?Sized>(
    txn: &mut T,
    order: Key,
    screen: &mut OrderStatusScreen,
) -> Result<(), Abort> {
    let ends = keys::lines_of(order);
    let [first, last] = ends.map(Key::bytes);
    let scan = Scan {
        table: LineStatus::TABLE,
        from: Bound::Included(&first),
        to: Bound::Included(&last),
        direction: Direction::Forward,
        limit: MOST_LINES,
        span: LineStatus::span(),
        within: Some(ends[0]),
    };
    let mut nth = 0;
    let count = txn.scan(&scan, &mut |_, row| {
        let line = LineStatus::ref_from_bytes(row).expect("parts are packed");
        if let Some(shown) = screen.lines.get_mut(nth) {
            *shown = StatusLineScreen {
                ol_supply_w_id: line.ol_supply_w_id,
                ol_i_id: line.ol_i_id,
                ol_quantity: line.ol_quantity,
                ol_amount: line.ol_amount,
                ol_delivery_d: line.ol_delivery_d,
            };
        }
        nth += 1;
    })?;
    screen.count = count as u8;
    Ok(())
}

/// The customer, and the partition in which all of it is.
pub(super) fn plan<T: Transaction + ?Sized>(
    txn: &mut T,
    input: &OrderStatusInput,
    reconnaissance: bool,
    plan: &mut Plan,
) -> Result<(), Abort> {
    let home = (input.w_id, input.d_id);
    if let Some(customer) = customers::plan(txn, plan, home, &input.who, reconnaissance)? {
        plan.touch(CUSTOMER, customer, Span::whole(CustomerStatus::span().end()), Access::Read);
    }
    plan.leave_open();
    Ok(())
}
