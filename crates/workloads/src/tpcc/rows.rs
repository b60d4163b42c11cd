//! The rows of the nine tables, with all columns of clause 1.3, called as there, and of the two indexes. What a transaction
//! touches of a row lies together as far as that goes (`parts`), so columns are not in the standard's order.
//!
//! Identifiers are as wide as their keys make them, money is in cents, rates are in hundredths of a percent. Strings are
//! filled up with zero bytes ([`text`]); a null date or carrier is 0.
#![expect(missing_docs, reason = "the columns of clause 1.3")]

use super::{
    CUSTOMER, CUSTOMER_BY_NAME, DISTRICT, HISTORY, ITEM, NEW_ORDER, ORDER, ORDER_BY_CUSTOMER, ORDER_LINE,
    STOCK, WAREHOUSE,
};
use contract::TableId;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// No date, and no carrier.
pub const NULL: u8 = 0;

/// Where a warehouse, a district or a customer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct Address {
    pub street_1: [u8; 20],
    pub street_2: [u8; 20],
    pub city: [u8; 20],
    pub state: [u8; 2],
    pub zip: [u8; 9],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct Warehouse {
    pub w_ytd: i64,
    pub w_id: u32,
    pub w_tax: u32,
    pub w_name: [u8; 10],
    pub w_address: Address,
    pub unused: [u8; 7],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct District {
    pub d_ytd: i64,
    pub d_next_o_id: u32,
    pub d_tax: u32,
    pub d_w_id: u32,
    pub d_id: u32,
    pub d_name: [u8; 10],
    pub d_address: Address,
    pub unused: [u8; 7],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct Customer {
    pub c_balance: i64,
    pub c_ytd_payment: i64,
    pub c_payment_cnt: u32,
    pub c_delivery_cnt: u32,
    pub c_credit_lim: i64,
    pub c_since: u64,
    pub c_discount: u32,
    pub c_w_id: u32,
    pub c_d_id: u32,
    pub c_id: u32,
    pub c_credit: [u8; 2],
    pub c_last: [u8; 16],
    pub c_middle: [u8; 2],
    pub c_first: [u8; 16],
    pub c_address: Address,
    pub c_phone: [u8; 16],
    pub c_data: [u8; 500],
    pub unused: [u8; 1],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct History {
    pub h_date: u64,
    pub h_amount: i64,
    pub h_c_id: u32,
    pub h_c_d_id: u32,
    pub h_c_w_id: u32,
    pub h_d_id: u32,
    pub h_w_id: u32,
    pub h_data: [u8; 24],
    pub unused: [u8; 4],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct NewOrder {
    pub no_o_id: u32,
    pub no_d_id: u32,
    pub no_w_id: u32,
    pub unused: [u8; 4],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct Order {
    pub o_entry_d: u64,
    pub o_id: u32,
    pub o_d_id: u32,
    pub o_w_id: u32,
    pub o_c_id: u32,
    pub o_carrier_id: u8,
    pub o_ol_cnt: u8,
    pub o_all_local: u8,
    pub unused: [u8; 5],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct OrderLine {
    pub ol_delivery_d: u64,
    pub ol_amount: u32,
    pub ol_i_id: u32,
    pub ol_supply_w_id: u32,
    pub ol_quantity: u8,
    pub ol_number: u8,
    pub ol_d_id: u8,
    pub unused: [u8; 1],
    pub ol_o_id: u32,
    pub ol_w_id: u32,
    pub ol_dist_info: [u8; 24],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct Item {
    pub i_id: u32,
    pub i_im_id: u32,
    pub i_price: u32,
    pub i_name: [u8; 24],
    pub i_data: [u8; 50],
    pub unused: [u8; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct Stock {
    pub s_quantity: i32,
    pub s_ytd: u32,
    pub s_order_cnt: u32,
    pub s_remote_cnt: u32,
    pub s_data: [u8; 50],
    pub unused: [u8; 2],
    pub s_i_id: u32,
    pub s_w_id: u32,
    pub s_dist: [[u8; 24]; 10],
}

/// A row of an index: where to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct Entry {
    /// The key of the customer, or of the order.
    pub key: u64,
}

/// Bytes of a row.
pub const fn row_bytes(table: TableId) -> usize {
    match table {
        WAREHOUSE => size_of::<Warehouse>(),
        DISTRICT => size_of::<District>(),
        CUSTOMER => size_of::<Customer>(),
        HISTORY => size_of::<History>(),
        NEW_ORDER => size_of::<NewOrder>(),
        ORDER => size_of::<Order>(),
        ORDER_LINE => size_of::<OrderLine>(),
        ITEM => size_of::<Item>(),
        STOCK => size_of::<Stock>(),
        CUSTOMER_BY_NAME | ORDER_BY_CUSTOMER => size_of::<Entry>(),
        _ => panic!("TPC-C has nine tables and two indexes"),
    }
}

/// A string's characters, without what fills its column up.
pub fn text(column: &[u8]) -> &[u8] {
    let len = column.iter().position(|byte| *byte == 0).unwrap_or(column.len());
    &column[..len]
}
