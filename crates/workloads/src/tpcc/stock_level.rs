//! Stock-Level (clause 2.8): of the items that a district's last twenty orders are of, how many are low in stock? Read-only,
//! and the longest of the five: one scan of about two hundred lines, and about as many stocks.
//!
//! The standard asks for no more than read committed here; this is serializable as all others are.

use super::inputs::StockLevelInput;
use super::parts::{DistrictNext, LineItem, Part, StockQuantity, read, touch};
use super::screens::StockLevelScreen;
use super::stale::present;
use super::{MOST_LINES, STOCK, keys};
use contract::{Abort, Access, Direction, Key, Plan, Scan, Transaction};
use std::ops::Bound;
use zerocopy::FromBytes;

/// Orders looked at.
const LAST_ORDERS: u32 = 20;
/// Stocks whose lines are asked for together.
const AHEAD: usize = 16;
/// Lines that they may have, and more than that: there are so many keys.
const MOST_LAST_LINES: usize = LAST_ORDERS as usize * (MOST_LINES + 1);

/// Counts the items that are low.
pub(super) fn run<T: Transaction + ?Sized>(
    txn: &mut T,
    input: &StockLevelInput,
) -> Result<StockLevelScreen, Abort> {
    let district = keys::district(input.w_id, input.d_id);
    let next =
        read(txn, district, |part: &DistrictNext| part.d_next_o_id)?.expect("loaded, and never deleted");
    let mut items = [0; MOST_LAST_LINES];
    let count = items_of_last_orders(txn, input, next, &mut items)?;
    let mut low_stock = 0;
    for items in distinct(&mut items[..count]).chunks(AHEAD) {
        let mut stocks = [Key(0); AHEAD];
        let stocks = &mut stocks[..items.len()];
        stocks.iter_mut().zip(items).for_each(|(stock, &i_id)| *stock = keys::stock(input.w_id, i_id));
        txn.ahead(STOCK, stocks);
        for &stock in &*stocks {
            let quantity = present(read(txn, stock, |stock: &StockQuantity| stock.s_quantity)?)?;
            low_stock += u32::from(quantity < input.threshold);
        }
    }
    Ok(StockLevelScreen { low_stock })
}

/// Each item once.
fn distinct(items: &mut [u32]) -> &[u32] {
    items.sort_unstable();
    let mut count = 0;
    for nth in 0..items.len() {
        if count == 0 || items[nth] != items[count - 1] {
            items[count] = items[nth];
            count += 1;
        }
    }
    &items[..count]
}

/// The items of all lines; how many.
fn items_of_last_orders<T: Transaction + ?Sized>(
    txn: &mut T,
    input: &StockLevelInput,
    next: u32,
    items: &mut [u32; MOST_LAST_LINES],
) -> Result<usize, Abort> {
    let ends = [next.saturating_sub(LAST_ORDERS), next]
        .map(|o_id| keys::order_line(input.w_id, input.d_id, o_id, 0));
    let [first, end] = ends.map(Key::bytes);
    let scan = Scan {
        table: LineItem::TABLE,
        from: Bound::Included(&first),
        to: Bound::Excluded(&end),
        direction: Direction::Forward,
        limit: MOST_LAST_LINES,
        span: LineItem::span(),
        within: Some(ends[0]),
    };
    let mut nth = 0;
    let count = txn.scan(&scan, &mut |_, row| {
        if let Some(item) = items.get_mut(nth) {
            *item = LineItem::ref_from_bytes(row).expect("parts are packed").ol_i_id;
        }
        nth += 1;
    })?;
    Ok(count.min(MOST_LAST_LINES))
}

/// The district, and with it the partition.
pub(super) fn plan(input: &StockLevelInput, plan: &mut Plan) {
    touch::<DistrictNext>(plan, keys::district(input.w_id, input.d_id), Access::Read);
    plan.leave_open();
}
