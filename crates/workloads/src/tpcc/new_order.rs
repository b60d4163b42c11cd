//! New-Order (clause 2.4): a customer orders five to fifteen items, each from the order's warehouse or from another. The
//! district's next number is the contended word; with it the order, its lines and its entries are new keys.
//!
//! An item that does not exist is the last one, so that all has been done that has to be undone: the workload's own rollback.
//!
//! Of a stock two parts are named, in one operation: the counts, which are changed, with the data, and the district's text, which
//! lies elsewhere in the row and is seen.

use super::inputs::{LineInput, NewOrderInput};
use super::items::Items;
use super::parts::{
    CustomerTerms, DistrictInfo, DistrictOrders, StockCounts, WarehouseTax, add_among, change, change_seeing,
    district_info, read, touch,
};
use super::rows::{Entry, NULL, NewOrder, Order, OrderLine};
use super::screens::{LineScreen, NewOrderScreen};
use super::stale::added;
use super::text::is_original;
use super::{
    ITEM, MOST_LINES, NEW_ORDER, ORDER, ORDER_BY_CUSTOMER, ORDER_LINE, STOCK, WAREHOUSE, keys, rows,
};
use contract::{Abort, Access, Key, Plan, Span, TableId, Transaction, TransactionExt};

/// Takes an order. `None`: an item does not exist, and the transaction is to be rolled back.
pub(super) fn run<T: Transaction + ?Sized>(
    txn: &mut T,
    input: &NewOrderInput,
    items: Items,
) -> Result<Option<NewOrderScreen>, Abort> {
    let NewOrderInput { w_id, d_id, c_id, .. } = *input;
    let w_tax = read(txn, keys::warehouse(w_id), |part: &WarehouseTax| part.w_tax)?
        .expect("loaded, and never deleted");
    let (o_id, d_tax) = change(txn, keys::district(w_id, d_id), |part: &mut DistrictOrders| {
        let o_id = part.d_next_o_id;
        part.d_next_o_id = o_id.wrapping_add(1);
        (o_id, part.d_tax)
    })?
    .expect("loaded, and never deleted");
    let customer = keys::customer(w_id, d_id, c_id);
    let terms = read(txn, customer, |terms: &CustomerTerms| *terms)?.expect("loaded, and never deleted");
    enter_order(txn, input, o_id)?;

    let mut screen = NewOrderScreen {
        o_id,
        c_last: terms.c_last,
        c_credit: terms.c_credit,
        c_discount: terms.c_discount,
        w_tax,
        d_tax,
        count: input.count,
        lines: [LineScreen::default(); MOST_LINES],
        total_amount: 0,
    };
    for (nth, line) in input.lines().iter().enumerate() {
        let Some(sold) = sell(txn, input, line, items, (o_id, nth as u8 + 1))? else {
            return Ok(None);
        };
        screen.total_amount += u64::from(sold.ol_amount);
        screen.lines[nth] = sold;
    }
    screen.total_amount = total(screen.total_amount, terms.c_discount, w_tax + d_tax);
    Ok(Some(screen))
}

/// After discount and taxes, which are in hundredths of a percent.
fn total(amount: u64, discount: u32, taxes: u32) -> u64 {
    const WHOLE: u64 = 10_000;
    let (discounted, taxed) = (WHOLE.saturating_sub(u64::from(discount)), WHOLE + u64::from(taxes));
    (amount * discounted * taxed + WHOLE * WHOLE / 2) / (WHOLE * WHOLE)
}

/// The rows that say that there is an order.
fn enter_order<T: Transaction + ?Sized>(txn: &mut T, input: &NewOrderInput, o_id: u32) -> Result<(), Abort> {
    let NewOrderInput { w_id, d_id, c_id, .. } = *input;
    let key = keys::order(w_id, d_id, o_id);
    let order = Order {
        o_entry_d: input.entry_d,
        o_id,
        o_d_id: d_id,
        o_w_id: w_id,
        o_c_id: c_id,
        o_carrier_id: NULL,
        o_ol_cnt: input.count,
        o_all_local: u8::from(input.is_local()),
        unused: [0; 5],
    };
    added(txn.insert_row(ORDER, key, &order)?)?;
    let entry = Entry { key: key.0 };
    added(txn.insert_row(ORDER_BY_CUSTOMER, keys::order_of_customer(w_id, d_id, c_id, o_id), &entry)?)?;
    let new_order = NewOrder { no_o_id: o_id, no_d_id: d_id, no_w_id: w_id, unused: [0; 4] };
    added(txn.insert_row(NEW_ORDER, key, &new_order)?)
}

/// One line, with its number: takes from the stock, and enters what was sold. `None`: there is no such item.
#[inline]
fn sell<T: Transaction + ?Sized>(
    txn: &mut T,
    input: &NewOrderInput,
    line: &LineInput,
    items: Items,
    (o_id, number): (u32, u8),
) -> Result<Option<LineScreen>, Abort> {
    let Some(item) = items.sell(txn, input.w_id, line.i_id)? else {
        return Ok(None);
    };
    let stock = keys::stock(line.supply_w_id, line.i_id);
    let is_remote = line.supply_w_id != input.w_id;
    let sell = |counts: &mut StockCounts| {
        let is_brand = item.is_original && is_original(&counts.s_data);
        (take(counts, line.quantity, is_remote), is_brand)
    };
    let ((s_quantity, is_brand), ol_dist_info): (_, DistrictInfo) =
        change_seeing(txn, stock, sell, district_info(input.d_id))?.expect("loaded, and never deleted");

    let ol_amount = u32::from(line.quantity) * item.i_price;
    let row = OrderLine {
        ol_delivery_d: u64::from(NULL),
        ol_amount,
        ol_i_id: line.i_id,
        ol_supply_w_id: line.supply_w_id,
        ol_quantity: line.quantity,
        ol_number: number,
        ol_d_id: input.d_id as u8,
        unused: [0],
        ol_o_id: o_id,
        ol_w_id: input.w_id,
        ol_dist_info,
    };
    let key = keys::order_line(input.w_id, input.d_id, o_id, u32::from(number));
    added(txn.insert_row(ORDER_LINE, key, &row)?)?;
    Ok(Some(LineScreen { i_name: item.i_name, s_quantity, is_brand, i_price: item.i_price, ol_amount }))
}

/// Takes from a stock, which is filled up when it runs low. The quantity that is left.
#[inline]
fn take(counts: &mut StockCounts, quantity: u8, is_remote: bool) -> i32 {
    let taken = i32::from(quantity);
    let refill = if counts.s_quantity >= taken.wrapping_add(10) { 0 } else { 91 };
    counts.s_quantity = counts.s_quantity.wrapping_sub(taken).wrapping_add(refill);
    counts.s_ytd = counts.s_ytd.wrapping_add(u32::from(quantity));
    counts.s_order_cnt = counts.s_order_cnt.wrapping_add(1);
    counts.s_remote_cnt = counts.s_remote_cnt.wrapping_add(u32::from(is_remote));
    counts.s_quantity
}

/// All but the new keys, whose order's number is not known: they are in partitions that are named, and among keys of the district and the
/// customer.
pub(super) fn plan(input: &NewOrderInput, items: Items, plan: &mut Plan) {
    let NewOrderInput { w_id, d_id, c_id, .. } = *input;
    touch::<WarehouseTax>(plan, keys::warehouse(w_id), Access::Read);
    touch::<DistrictOrders>(plan, keys::district(w_id, d_id), Access::Write);
    touch::<CustomerTerms>(plan, keys::customer(w_id, d_id, c_id), Access::Read);
    for line in input.lines() {
        items.plan(w_id, line.i_id, plan);
        // The item that does not exist has no stock.
        if line.i_id != super::UNUSED_ITEM {
            let span = Span::whole(rows::row_bytes(STOCK));
            plan.touch(STOCK, keys::stock(line.supply_w_id, line.i_id), span, Access::Write);
        }
    }
    // Behind the customer's last order: of the leaves that the new keys go to, the one that is not used all the time.
    plan.declare(ORDER_BY_CUSTOMER, keys::order_of_customer(w_id, d_id, c_id, u32::MAX));
    let orders = [0, u32::MAX].map(|o_id| keys::order(w_id, d_id, o_id));
    add_among(plan, ORDER, orders);
    add_among(plan, NEW_ORDER, orders);
    let [[first_line, _], [_, last_line]] = orders.map(keys::lines_of);
    add_among(plan, ORDER_LINE, [first_line, last_line]);
    add_among(
        plan,
        ORDER_BY_CUSTOMER,
        [0, u32::MAX].map(|o_id| keys::order_of_customer(w_id, d_id, c_id, o_id)),
    );
}

/// Whether it runs in fragments: what it takes from a stock depends on no other row, and all else is at home, but for items that all warehouses share. `at` is told where. Not where an item does not exist: its stock
/// does not, either.
pub(super) fn runs_in_fragments(
    input: &NewOrderInput,
    items: Items,
    at: &mut dyn FnMut(TableId, Key),
) -> bool {
    if input.lines().iter().any(|line| line.i_id == super::UNUSED_ITEM) {
        return false;
    }
    at(WAREHOUSE, keys::warehouse(input.w_id));
    for line in input.lines() {
        at(STOCK, keys::stock(line.supply_w_id, line.i_id));
        if let Some(item) = items.key(input.w_id, line.i_id) {
            at(ITEM, item);
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_decoded_as_it_was_encoded() {
        let line = |n: u8| LineInput { i_id: 100_000, supply_w_id: n.into(), quantity: n };
        let (mut all, count) = ([LineInput::default(); MOST_LINES], 7);
        (0..count).for_each(|n| all[usize::from(n)] = line(n));
        let input = NewOrderInput { w_id: u32::MAX, d_id: 10, c_id: 3000, entry_d: u64::MAX, count, all };
        let mut bytes = Vec::new();
        input.encode(&mut bytes);
        assert_eq!(NewOrderInput::decode(&bytes), Some(input));
        assert_eq!(NewOrderInput::decode(&bytes[..bytes.len() - 1]), None);
        bytes.resize(20 + 9 * (MOST_LINES + 1), 0);
        assert_eq!(NewOrderInput::decode(&bytes), None, "too many lines");
    }

    fn counts(s_quantity: i32) -> StockCounts {
        StockCounts { s_quantity, s_ytd: 5, s_order_cnt: 2, s_remote_cnt: 1, s_data: [0; 50] }
    }

    #[test]
    fn stocks_are_filled_up_by_91_when_fewer_than_ten_would_be_left() {
        for (before, quantity, after) in
            [(100, 10, 90), (20, 10, 10), (19, 10, 100), (10, 1, 100), (11, 1, 10)]
        {
            let mut stock = counts(before);
            assert_eq!(take(&mut stock, quantity, false), after, "{before} - {quantity}");
            assert_eq!({ stock.s_ytd }, 5 + u32::from(quantity));
            assert_eq!(({ stock.s_order_cnt }, { stock.s_remote_cnt }), (3, 1));
            take(&mut stock, quantity, true);
            assert_eq!({ stock.s_remote_cnt }, 2);
        }
    }

    #[test]
    fn totals_are_rounded_cents() {
        assert_eq!(total(10_000, 0, 0), 10_000);
        assert_eq!(total(10_000, 5_000, 0), 5_000);
        assert_eq!(total(10_000, 0, 4_000), 14_000);
        assert_eq!(total(1, 4_999, 0), 1, "0.5001 cents");
        assert_eq!(total(1_000_000_000, 5_000, 4_000), 700_000_000);
    }
}
