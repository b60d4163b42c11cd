//! The columns that transactions touch together. A part is what an operation names of a row, and what a plan says that it
//! will: no byte more is copied, locked in a copy, or installed.

use super::rows::{Address, Customer, District, Item, NewOrder, Order, OrderLine, Stock, Warehouse};
use super::{CUSTOMER, DISTRICT, ITEM, NEW_ORDER, ORDER, ORDER_LINE, STOCK, WAREHOUSE};
use contract::{
    Abort, Access, Key, Plan, PlannedRange, Presence, Span, TableId, Transaction, TransactionExt,
};
use std::mem::offset_of;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Columns that lie together in the rows of a table.
pub(super) trait Part: Sized + FromBytes + IntoBytes + KnownLayout + Immutable {
    /// The table.
    const TABLE: TableId;
    /// The first column's place in a row.
    const OFFSET: usize;

    /// Where it is in a row.
    #[inline]
    fn span() -> Span {
        Span::new(Self::OFFSET, size_of::<Self>())
    }
}

/// Shows a part of a row; `None` if the key is missing.
#[inline]
pub(super) fn read<P: Part, T: Transaction + ?Sized, R>(
    txn: &mut T,
    key: Key,
    see: impl FnOnce(&P) -> R,
) -> Result<Option<R>, Abort> {
    txn.read_at(P::TABLE, key, P::OFFSET, see)
}

/// Changes a part of a row; `None` if the key is missing.
#[inline]
pub(super) fn change<P: Part, T: Transaction + ?Sized, R>(
    txn: &mut T,
    key: Key,
    change: impl FnOnce(&mut P) -> R,
) -> Result<Option<R>, Abort> {
    let (mut change, mut changed) = (Some(change), None);
    let presence = txn.update(P::TABLE, key, P::span(), &mut |bytes| {
        let part = P::mut_from_bytes(bytes).expect("parts are packed");
        changed = change.take().map(|change| change(part));
    })?;
    assert_eq!(presence == Presence::Present, changed.is_some());
    Ok(changed)
}

/// Changes a part of a row, and gives back with what comes of that other bytes of it, from byte `offset` on; `None` if the key is
/// missing.
#[inline]
pub(super) fn change_seeing<P: Part, S, T: Transaction + ?Sized, R>(
    txn: &mut T,
    key: Key,
    change: impl FnOnce(&mut P) -> R,
    offset: usize,
) -> Result<Option<(R, S)>, Abort>
where
    S: FromBytes + KnownLayout + Immutable + Copy,
{
    let (mut change, mut changed, mut seen) = (Some(change), None, None);
    let change = &mut |bytes: &mut [u8]| {
        let part = P::mut_from_bytes(bytes).expect("parts are packed");
        changed = change.take().map(|change| change(part));
    };
    let see = &mut |bytes: &[u8]| seen = Some(*S::ref_from_bytes(bytes).expect("parts are packed"));
    let shown = Span::new(offset, size_of::<S>());
    let presence = txn.update_seeing(P::TABLE, key, P::span(), change, shown, see)?;
    let both = changed.zip(seen);
    assert_eq!(presence == Presence::Present, both.is_some());
    Ok(both)
}

/// Plans to touch a part of a row.
#[inline]
pub(super) fn touch<P: Part>(plan: &mut Plan, key: Key, access: Access) {
    plan.touch(P::TABLE, key, P::span(), access);
}

/// Plans to insert some of these keys, all of a warehouse.
pub(super) fn add_among(plan: &mut Plan, table: TableId, [first, last]: [Key; 2]) {
    plan.range(PlannedRange { table, first, last, access: Access::Structure, within: Some(first) });
}

/// Declares parts: their columns, and their places, which are the row's.
macro_rules! parts {
    ($($(#[$doc:meta])* $part:ident of $row:ident in $table:ident from $first:ident { $($field:ident: $type:ty,)+ })+) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable)]
            #[repr(C, packed)]
            pub(super) struct $part { $(pub(super) $field: $type,)+ }

            impl Part for $part {
                const TABLE: TableId = $table;
                const OFFSET: usize = offset_of!($row, $first);
            }

            $(const _: () = assert!(offset_of!($row, $field) == $part::OFFSET + offset_of!($part, $field));)+
        )+
    };
}

parts! {
    /// New-Order reads it.
    WarehouseTax of Warehouse in WAREHOUSE from w_tax {
        w_tax: u32,
    }
    /// Payment adds to it.
    WarehouseYtd of Warehouse in WAREHOUSE from w_ytd {
        w_ytd: i64,
    }
    /// Payment shows it.
    WarehouseName of Warehouse in WAREHOUSE from w_name {
        w_name: [u8; 10],
        w_address: Address,
    }
    /// New-Order takes a number.
    DistrictOrders of District in DISTRICT from d_next_o_id {
        d_next_o_id: u32,
        d_tax: u32,
    }
    /// Stock-Level goes back from it.
    DistrictNext of District in DISTRICT from d_next_o_id {
        d_next_o_id: u32,
    }
    /// Payment adds to it.
    DistrictYtd of District in DISTRICT from d_ytd {
        d_ytd: i64,
    }
    /// Payment shows it.
    DistrictName of District in DISTRICT from d_name {
        d_name: [u8; 10],
        d_address: Address,
    }
    /// Payment and Delivery keep it.
    CustomerAccount of Customer in CUSTOMER from c_balance {
        c_balance: i64,
        c_ytd_payment: i64,
        c_payment_cnt: u32,
        c_delivery_cnt: u32,
    }
    /// New-Order reads it.
    CustomerTerms of Customer in CUSTOMER from c_discount {
        c_discount: u32,
        c_w_id: u32,
        c_d_id: u32,
        c_id: u32,
        c_credit: [u8; 2],
        c_last: [u8; 16],
    }
    /// Payment shows it.
    CustomerInfo of Customer in CUSTOMER from c_credit_lim {
        c_credit_lim: i64,
        c_since: u64,
        c_discount: u32,
        c_w_id: u32,
        c_d_id: u32,
        c_id: u32,
        c_credit: [u8; 2],
        c_last: [u8; 16],
        c_middle: [u8; 2],
        c_first: [u8; 16],
        c_address: Address,
        c_phone: [u8; 16],
    }
    /// Order-Status shows the first of them and the last three: what lies between is of the same lines.
    CustomerStatus of Customer in CUSTOMER from c_balance {
        c_balance: i64,
        c_ytd_payment: i64,
        c_payment_cnt: u32,
        c_delivery_cnt: u32,
        c_credit_lim: i64,
        c_since: u64,
        c_discount: u32,
        c_w_id: u32,
        c_d_id: u32,
        c_id: u32,
        c_credit: [u8; 2],
        c_last: [u8; 16],
        c_middle: [u8; 2],
        c_first: [u8; 16],
    }
    /// Payment by a customer of bad credit is noted in it.
    CustomerData of Customer in CUSTOMER from c_data {
        c_data: [u8; 500],
    }
    /// Delivery finds it.
    NewOrderNumber of NewOrder in NEW_ORDER from no_o_id {
        no_o_id: u32,
    }
    /// Delivery gives it a carrier.
    OrderDelivery of Order in ORDER from o_c_id {
        o_c_id: u32,
        o_carrier_id: u8,
        o_ol_cnt: u8,
    }
    /// Delivery gives it a date.
    LineDelivery of OrderLine in ORDER_LINE from ol_delivery_d {
        ol_delivery_d: u64,
        ol_amount: u32,
    }
    /// Order-Status shows it.
    LineStatus of OrderLine in ORDER_LINE from ol_delivery_d {
        ol_delivery_d: u64,
        ol_amount: u32,
        ol_i_id: u32,
        ol_supply_w_id: u32,
        ol_quantity: u8,
    }
    /// Stock-Level gathers it.
    LineItem of OrderLine in ORDER_LINE from ol_i_id {
        ol_i_id: u32,
    }
    /// New-Order sells it.
    ItemSale of Item in ITEM from i_price {
        i_price: u32,
        i_name: [u8; 24],
        i_data: [u8; 50],
    }
    /// New-Order takes from it, and reads its data: half a line more to copy, and an operation less.
    StockCounts of Stock in STOCK from s_quantity {
        s_quantity: i32,
        s_ytd: u32,
        s_order_cnt: u32,
        s_remote_cnt: u32,
        s_data: [u8; 50],
    }
    /// Stock-Level reads it.
    StockQuantity of Stock in STOCK from s_quantity {
        s_quantity: i32,
    }
}

/// Where in a stock the text is that a district's order lines copy.
#[inline]
pub(super) fn district_info(d_id: u32) -> usize {
    offset_of!(Stock, s_dist) + size_of::<DistrictInfo>() * (d_id as usize - 1)
}

/// The text.
pub(super) type DistrictInfo = [u8; 24];
