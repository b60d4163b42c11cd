//! TPC-C's tables that NewOrder and Payment use, with their keys as integers in the order of their parts. Money is in cents, rates in
//! hundredths of a percent.

use crate::store::Table;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Districts of a warehouse.
pub const DISTRICTS: u64 = 10;
/// Names that customers have.
pub const LAST_NAMES: u64 = 1_000;

macro_rules! rows {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
        #[repr(C)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
        }
    )*};
}

rows! {
    /// A warehouse.
    Warehouse {
        /// Payments to it.
        ytd: u64,
        /// Its tax.
        tax: u64,
        /// Name and address.
        text: [u8; 80],
    }
    /// A district.
    District {
        /// Payments to it.
        ytd: u64,
        /// Its tax.
        tax: u64,
        /// The number of the next order.
        next_order: u64,
        /// Name and address.
        text: [u8; 80],
    }
    /// A customer.
    Customer {
        /// What they have.
        balance: i64,
        /// What they have paid.
        paid: u64,
        /// How often.
        payments: u64,
        /// Off each order.
        discount: u64,
        /// 1: payments are noted in their data.
        has_bad_credit: u64,
        /// Names, address, telephone.
        text: [u8; 120],
        /// What is noted.
        data: [u8; 496],
    }
    /// A customer among those of the same last name.
    Namesake {
        /// Their first name, by which they are ordered.
        first: u64,
        /// Their number.
        customer: u64,
    }
    /// A payment.
    History {
        /// Of which customer.
        customer: u64,
        /// To which district.
        district: u64,
        /// How much.
        amount: u64,
        /// Names of warehouse and district.
        text: [u8; 24],
    }
    /// What is sold.
    Item {
        /// For how much.
        price: u64,
        /// Its image.
        image: u64,
        /// Its name and what is said of it.
        text: [u8; 72],
    }
    /// What a warehouse has of an item.
    Stock {
        /// How many.
        quantity: u64,
        /// How many were ordered.
        ytd: u64,
        /// How often.
        orders: u64,
        /// How often from another warehouse.
        remote: u64,
        /// For each district.
        districts: [[u8; 24]; DISTRICTS as usize],
        /// What is said of it.
        data: [u8; 48],
    }
    /// An order.
    Order {
        /// Whose.
        customer: u64,
        /// Lines that it has.
        lines: u64,
        /// 1: all of them from its own warehouse.
        is_local: u64,
        /// When.
        entered: u64,
    }
    /// An order that is not delivered.
    NewOrder {
        /// Its number in its district.
        order: u64,
    }
    /// A line of an order.
    OrderLine {
        /// What.
        item: u64,
        /// From which warehouse.
        supply: u64,
        /// How many.
        quantity: u64,
        /// For how much.
        amount: u64,
        /// Of the stock's district.
        text: [u8; 24],
    }
}

/// Warehouses, by their numbers from 1.
pub const WAREHOUSE: Table<Warehouse> = Table::new(0, "warehouse");
/// Districts, by [`district`].
pub const DISTRICT: Table<District> = Table::new(1, "district");
/// Customers, by [`customer`].
pub const CUSTOMER: Table<Customer> = Table::new(2, "customer");
/// Customers by their names, by [`namesake`].
pub const NAMESAKE: Table<Namesake> = Table::new(3, "namesake");
/// Payments, by client and number.
pub const HISTORY: Table<History> = Table::new(4, "history");
/// Items, by their numbers from 1.
pub const ITEM: Table<Item> = Table::new(5, "item");
/// Stock, by [`stock`].
pub const STOCK: Table<Stock> = Table::new(6, "stock");
/// Orders, by [`order`].
pub const ORDER: Table<Order> = Table::new(7, "orders");
/// Orders that are not delivered, by [`order`].
pub const NEW_ORDER: Table<NewOrder> = Table::new(8, "new_order");
/// Lines, by [`order_line`].
pub const ORDER_LINE: Table<OrderLine> = Table::new(9, "order_line");

/// The key of a district of a warehouse, both from 1.
pub const fn district(warehouse: u64, district: u64) -> u64 {
    warehouse << 4 | district
}

/// The key of a customer of a district, by the district's key.
pub const fn customer(district: u64, customer: u64) -> u64 {
    district << 16 | customer
}

/// The key of a customer among those of a last name in a district.
pub const fn namesake(district: u64, last_name: u64, customer: u64) -> u64 {
    (district << 10 | last_name) << 16 | customer
}

/// The key of a warehouse's stock of an item.
pub const fn stock(warehouse: u64, item: u64) -> u64 {
    warehouse << 20 | item
}

/// The key of an order of a district.
pub const fn order(district: u64, order: u64) -> u64 {
    district << 32 | order
}

/// The key of a line of an order, by the order's key.
pub const fn order_line(order: u64, line: u64) -> u64 {
    order << 4 | line
}
