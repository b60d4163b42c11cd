//! What the terminals would show of the five transactions (clauses 2.4.3, 2.5.3, 2.6.3, 2.7.4, 2.8.3): what is read, worked
//! out and copied out of the rows; what was typed in is not repeated. Nothing in it is on the heap.
//!
//! Money is in cents, rates are in hundredths of a percent, strings are filled up with zeros.
#![expect(missing_docs, reason = "the columns of clause 1.3, and the fields of the standard's screens")]

use super::rows::Address;
use super::{DISTRICTS, MOST_LINES};

/// An order was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewOrderScreen {
    pub o_id: u32,
    pub c_last: [u8; 16],
    pub c_credit: [u8; 2],
    pub c_discount: u32,
    pub w_tax: u32,
    pub d_tax: u32,
    /// Lines taken, of `lines`.
    pub count: u8,
    pub lines: [LineScreen; MOST_LINES],
    /// After discount and taxes.
    pub total_amount: u64,
}

/// A line of a new order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineScreen {
    pub i_name: [u8; 24],
    pub s_quantity: i32,
    /// Whether item and stock are both originals: B for brand, otherwise G for generic.
    pub is_brand: bool,
    pub i_price: u32,
    pub ol_amount: u32,
}

/// A payment was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PaymentScreen {
    pub w_address: Address,
    pub d_address: Address,
    pub c_id: u32,
    pub c_first: [u8; 16],
    pub c_middle: [u8; 2],
    pub c_last: [u8; 16],
    pub c_address: Address,
    pub c_phone: [u8; 16],
    pub c_since: u64,
    pub c_credit: [u8; 2],
    pub c_credit_lim: i64,
    pub c_discount: u32,
    pub c_balance: i64,
    /// The first of it, if the credit is bad.
    pub c_data: Option<[u8; 200]>,
}

/// A customer's last order, if there was one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderStatusScreen {
    pub c_id: u32,
    pub c_first: [u8; 16],
    pub c_middle: [u8; 2],
    pub c_last: [u8; 16],
    pub c_balance: i64,
    pub o_id: u32,
    pub o_entry_d: u64,
    pub o_carrier_id: u8,
    /// Lines of the order, of `lines`.
    pub count: u8,
    pub lines: [StatusLineScreen; MOST_LINES],
}

/// A line of an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatusLineScreen {
    pub ol_supply_w_id: u32,
    pub ol_i_id: u32,
    pub ol_quantity: u8,
    pub ol_amount: u32,
    pub ol_delivery_d: u64,
}

/// What was delivered, which goes into a file (clause 2.7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveryScreen {
    /// By district, the order; 0 where none was undelivered.
    pub o_ids: [u32; DISTRICTS as usize],
}

/// How many items are low.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StockLevelScreen {
    pub low_stock: u32,
}
