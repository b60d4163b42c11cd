//! TPC-C, revision 5.11: a wholesale supplier's warehouses, their districts, customers, orders and stocks. Here is what needs
//! no index: rows, keys, the initial population, the inputs of the five transactions, and the consistency conditions.
//!
//! | question | file |
//! |---|---|
//! | what are the columns of the nine tables? | [`rows`] |
//! | how are keys, composite and by name, packed? | [`keys`] |
//! | what is in the tables before the first transaction (clause 4.3.3)? | `population`, `orders` |
//! | names, strings, and numbers that are not uniform (clauses 2.1.6, 4.3.2) | [`names`], `text`, [`nurand`] |
//! | which transaction comes next (clause 5.2.4) | `deck` |
//! | with which input (clauses 2.4.1 to 2.8.1) | [`inputs`], `generator` |
//! | is the database consistent (clause 3.3.2)? | [`conditions`], `books` |
//!
//! Where this departs from the standard:
//! - There are no terminals: no keying, no thinking, no screens. A client stands for the terminals of its warehouses, and
//!   issues their transactions one after the other.
//! - Money is in cents, taxes and discounts in hundredths of a percent. Dates are logical: 1 is the day of loading, and a
//!   client counts its transactions from there; 0 is no date.
//! - An order's lines are 5 to 15 as likely, but drawn from small groups in which every number comes once, so that every
//!   district has exactly 30,000 of them (`orders`).
//! - A row of HISTORY has a key: its customer, and the customer's number of payments with it (`c_payment_cnt`). It is unique
//!   because the payment has just counted it, whoever ran on the database before.
//! - Stock-Level's district is drawn, where each of the standard's terminals has its own.
//! - Condition 11 holds after deliveries, too ([`conditions`]).
//!
//! Memory. A warehouse is 84 MB of records with an engine's headers, and its 11 MB share of the items if there is one
//! warehouse only; [`Tpcc::row_bytes`] sums the rows. Hash entries and the two secondary indexes stay below 20 MB more.
//!
//! Partitions are warehouses: every table lies in the partition of its key's warehouse, warehouse 1 in the first. Items
//! belong to no warehouse, and nobody writes them; `item-copies` loads them so often, each copy in a partition of its own,
//! and a transaction reads its warehouse's copy.

mod books;
pub mod conditions;
mod deck;
mod generator;
pub mod inputs;
pub mod keys;
pub mod names;
pub mod nurand;
mod orders;
mod parameters;
mod population;
pub mod rows;
mod text;

pub use deck::TransactionKind;
pub use generator::InputGenerator;

use crate::parameters::{ParameterError, Parameters};
use contract::{Key, PartitionId, Seat, TableDescription, TableId};
use parameters::TpccParameters;

/// Warehouses by `w_id`.
pub const WAREHOUSE: TableId = TableId(0);
/// Districts by warehouse and `d_id`.
pub const DISTRICT: TableId = TableId(1);
/// Customers by district and `c_id`.
pub const CUSTOMER: TableId = TableId(2);
/// Payments by customer and number.
pub const HISTORY: TableId = TableId(3);
/// Undelivered orders by district and `o_id`.
pub const NEW_ORDER: TableId = TableId(4);
/// Orders by district and `o_id`.
pub const ORDER: TableId = TableId(5);
/// Lines by order and number.
pub const ORDER_LINE: TableId = TableId(6);
/// Items by copy and `i_id`.
pub const ITEM: TableId = TableId(7);
/// Stocks by warehouse and `i_id`.
pub const STOCK: TableId = TableId(8);

/// Districts of a warehouse.
pub const DISTRICTS: u32 = 10;
/// Customers of a district.
pub const CUSTOMERS: u32 = 3_000;
/// Orders that a district is loaded with.
pub const ORDERS: u32 = 3_000;
/// The first order that is loaded undelivered.
pub const FIRST_NEW_ORDER: u32 = 2_101;
/// Lines that a district is loaded with.
pub const LINES: u32 = 30_000;
/// The most lines of an order.
pub const MOST_LINES: usize = 15;
/// Items on sale, each in every warehouse's stock.
pub const ITEMS: u32 = 100_000;
/// No item; a New-Order that names it is rolled back.
pub const UNUSED_ITEM: u32 = ITEMS + 1;

/// TPC-C's tables, first rows and inputs.
#[derive(Clone, Debug)]
pub struct Tpcc {
    parameters: TpccParameters,
}

impl Tpcc {
    /// TPC-C as `given` wants it.
    pub fn new(given: &Parameters) -> Result<Self, ParameterError> {
        Ok(Tpcc { parameters: TpccParameters::resolve(given)? })
    }

    /// Every parameter with its effective value.
    pub fn resolved(&self) -> Vec<(&'static str, String)> {
        self.parameters.resolved()
    }

    /// Warehouses of the supplier.
    pub fn warehouses(&self) -> u32 {
        self.parameters.warehouses.get() as u32
    }

    /// The nine tables, in the order of their [`TableId`]s. Tables that grow are made for twice as many rows.
    pub fn tables(&self) -> Vec<TableDescription> {
        let table = |table: TableId, name, growth, partition: fn(Key, u32) -> PartitionId| {
            let row_bytes = rows::row_bytes(table);
            let rows = self.rows(table);
            TableDescription {
                name,
                row_bytes,
                kept_bytes: row_bytes,
                rows,
                capacity: growth * rows,
                partition,
            }
        };
        vec![
            table(WAREHOUSE, "warehouse", 1, keys::partition_of_warehouse),
            table(DISTRICT, "district", 1, keys::partition_of_district),
            table(CUSTOMER, "customer", 1, keys::partition_of_customer),
            table(HISTORY, "history", 2, keys::partition_of_history),
            table(NEW_ORDER, "new-order", 2, keys::partition_of_order),
            table(ORDER, "order", 2, keys::partition_of_order),
            table(ORDER_LINE, "order-line", 2, keys::partition_of_order_line),
            table(ITEM, "item", 1, keys::partition_of_item),
            table(STOCK, "stock", 1, keys::partition_of_stock),
        ]
    }

    /// Rows that loading brings.
    pub fn rows(&self, table: TableId) -> u64 {
        population::rows(table, u64::from(self.warehouses()), self.parameters.item_copies.get())
    }

    /// Bytes of all loaded rows, without an engine's headers and indexes.
    pub fn row_bytes(&self) -> u64 {
        self.tables().iter().map(|table| table.rows * table.row_bytes as u64).sum()
    }

    /// The key of loaded row `row`.
    pub fn loaded_key(&self, table: TableId, row: u64) -> Key {
        population::loaded_key(table, row)
    }

    /// Writes the first content of the row with `key`.
    pub fn fill(&self, table: TableId, key: Key, row: &mut [u8]) {
        population::fill(table, key, row);
    }

    /// The entry of a loaded customer in the index of customers by name.
    pub fn loaded_name(&self, customer: Key) -> [u8; keys::NAME_KEY_BYTES] {
        population::name_entry(customer)
    }

    /// The entry of a loaded order in the index of orders by customer.
    pub fn loaded_order_of_customer(&self, order: Key) -> Key {
        population::order_entry(order)
    }

    /// The inputs of the client at `seat`.
    pub fn inputs(&self, seat: Seat) -> InputGenerator {
        InputGenerator::new(&self.parameters, seat)
    }
}
