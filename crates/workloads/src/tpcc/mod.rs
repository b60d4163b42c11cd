//! TPC-C, revision 5.11: a wholesale supplier's warehouses, their districts, customers, orders and stocks, and five
//! transactions on them.
//!
//! | transaction | share | what it does |
//! |---|---|---|
//! | New-Order | 45 % | orders 5 to 15 items, of which a hundredth is supplied by another warehouse; a hundredth rolls back |
//! | Payment | 43 % | adds to what a customer, a district and a warehouse were paid; 15 % of the customers are another warehouse's |
//! | Order-Status | 4 % | reads a customer's last order and its lines |
//! | Delivery | 4 % | takes the oldest new order of each district, and dates its lines |
//! | Stock-Level | 4 % | reads a district's last twenty orders and the stocks of their items |
//!
//! | question | file |
//! |---|---|
//! | what do the transactions do? | `new_order`, `payment`, `order_status`, `delivery`, `stock_level` |
//! | which columns do they touch, and what would their terminals show? | `parts`, [`screens`] |
//! | who is a customer that is known by name? | `customers` |
//! | where are the items? | `items` |
//! | what are the columns of the nine tables? | [`rows`] |
//! | how are keys, composite and by name, packed? | [`keys`] |
//! | how large is a warehouse? | [`scale`] |
//! | what is in the tables before the first transaction (clause 4.3.3)? | `population`, `orders` |
//! | names, strings, and numbers that are not uniform (clauses 2.1.6, 4.3.2) | [`names`], `text`, [`nurand`] |
//! | which transaction comes next (clause 5.2.4) | `deck` |
//! | with which input (clauses 2.4.1 to 2.8.1) | [`inputs`], `generator` |
//! | is the database consistent (clause 3.3.2)? | [`conditions`], `books`, `audit` |
//!
//! Two indexes are tables whose rows say where to go on: customers by name, and orders by customer, whose last entry is the
//! customer's last order. NEW-ORDER, ORDER, ORDER-LINE and the indexes are ordered, the other tables hashed.
//!
//! Where this departs from the standard:
//! - There are no terminals: no keying, no thinking, no screens. A client stands for the terminals of its warehouses, and
//!   issues their transactions one after the other.
//! - Money is in cents, taxes and discounts in hundredths of a percent. Dates are logical: 1 is the day of loading, and a
//!   client counts its transactions from there; 0 is no date.
//! - A warehouse may be scaled down (`items`, `customers`): [`scale`] says how, and what it changes.
//! - An order's lines are 5 to 15 as likely, but drawn from small groups in which every number comes once, so that every
//!   district has exactly 30,000 of them (`orders`).
//! - A row of HISTORY has a key: its customer, and the customer's number of payments with it (`c_payment_cnt`). It is unique
//!   because the payment has just counted it, whichever clients ran on the database before.
//! - Stock-Level's district is drawn, where each of the standard's terminals has its own.
//! - A Delivery is not queued, and nobody waits for it (clause 2.7.2).
//! - What terminals would show is worked out, and dropped.
//! - Condition 11 holds after deliveries, too ([`conditions`]).
//!
//! Memory. A warehouse of the standard's size is 90 MB of records with an engine's headers, and 12 MB of items; [`Tpcc::row_bytes`] sums the rows.
//! Hash entries and trees stay below 18 MB more. The tables that grow, by half a kilobyte a transaction, are made for `room`
//! times what they are loaded with.
//!
//! Partitions are warehouses: every table lies in the partition of its key's warehouse, warehouse 1 in the first. Items
//! belong to no warehouse, and nobody writes them: `items` says where they are. So most transactions are within one partition,
//! and plans declare the others before anything is read: all that an input leads to lies with the warehouses that it names.

mod audit;
mod books;
pub mod conditions;
mod customers;
mod deck;
mod delivery;
mod generator;
pub mod inputs;
mod items;
pub mod keys;
pub mod names;
mod new_order;
pub mod nurand;
mod order_status;
mod orders;
mod parameters;
mod parts;
mod payment;
mod population;
pub mod rows;
pub mod scale;
pub mod screens;
mod stale;
mod stock_level;
mod text;
mod transaction;

pub use audit::{Audit, AuditTransaction, Auditor, Counts, Violation};
pub use deck::TransactionKind;
pub use generator::InputGenerator;
pub use scale::{CUSTOMERS, ITEMS, Scale};
pub use transaction::{Screen, TpccClient, TpccTransaction};

use crate::parameters::{ParameterError, Parameters, WorkloadDescription};
use contract::{
    Indexing, Key, PartitionFunction, PartitionId, RowLength, Seat, TableDescription, TableId, Workload,
};
use items::Items;
use parameters::{Reconnaissance, TpccParameters};

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
/// The index of customers by district, last name, first name and `c_id`; its keys are byte strings.
pub const CUSTOMER_BY_NAME: TableId = TableId(9);
/// The index of orders by customer and `o_id`.
pub const ORDER_BY_CUSTOMER: TableId = TableId(10);

/// Districts of a warehouse.
pub const DISTRICTS: u32 = 10;
/// The most lines of an order.
pub const MOST_LINES: usize = 15;
/// No item at any scale; a New-Order that names it is rolled back.
pub const UNUSED_ITEM: u32 = ITEMS + 1;

/// TPC-C.
#[derive(Clone, Debug)]
pub struct Tpcc {
    parameters: TpccParameters,
    scale: Scale,
    items: Items,
}

impl Tpcc {
    /// Its name and its parameters.
    pub const DESCRIPTION: WorkloadDescription = TpccParameters::DESCRIPTION;

    /// TPC-C as `given` wants it.
    pub fn new(given: &Parameters) -> Result<Self, ParameterError> {
        let parameters = TpccParameters::resolve(given)?;
        let scale = Scale::of(&parameters);
        let items = Items::new(parameters.item, scale);
        Ok(Tpcc { parameters, scale, items })
    }

    /// Every parameter with its effective value.
    pub fn resolved(&self) -> Vec<(&'static str, String)> {
        self.parameters.resolved()
    }

    /// Warehouses of the supplier.
    pub fn warehouses(&self) -> u32 {
        self.parameters.warehouses.get() as u32
    }

    /// How large a warehouse is.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// Rows that loading brings.
    pub fn rows(&self, table: TableId) -> u64 {
        let warehouses = self.warehouses();
        population::rows(self.scale, table, u64::from(warehouses), u64::from(self.items.copies(warehouses)))
    }

    /// Bytes of all loaded rows, without an engine's headers and indexes.
    pub fn row_bytes(&self) -> u64 {
        self.tables().iter().map(|table| table.rows * table.row_bytes as u64).sum()
    }

    /// A workload over the same tables that reads all of them and checks the consistency conditions.
    pub fn audit(&self) -> Audit<'_> {
        Audit::new(self)
    }

    /// The inputs of the client at `seat`.
    pub fn inputs(&self, seat: Seat) -> InputGenerator {
        InputGenerator::new(&self.parameters, seat)
    }
}

impl Workload for Tpcc {
    type Client = TpccClient;

    /// Nine tables and two indexes.
    fn tables(&self) -> Vec<TableDescription> {
        use Indexing::{Hashed, Ordered};
        let by_name = Indexing::OrderedBytes { most: keys::NAME_KEY_BYTES };
        let (one, room) = (1, self.parameters.room.get());
        let table = |table, name, room: u64, indexing, partition: fn(Key, u32) -> PartitionId| {
            let (row_bytes, rows) = (rows::row_bytes(table), self.rows(table));
            let capacity = rows.saturating_mul(room);
            TableDescription {
                name,
                row_bytes,
                length: RowLength::Fixed,
                kept_bytes: row_bytes,
                rows,
                capacity,
                indexing,
                partition: PartitionFunction::By(partition),
            }
        };
        vec![
            table(WAREHOUSE, "warehouse", one, Hashed, keys::partition_of_warehouse),
            table(DISTRICT, "district", one, Hashed, keys::partition_of_district),
            table(CUSTOMER, "customer", one, Hashed, keys::partition_of_customer),
            table(HISTORY, "history", room, Ordered, keys::partition_of_history),
            table(NEW_ORDER, "new-order", room, Ordered, keys::partition_of_order),
            table(ORDER, "order", room, Ordered, keys::partition_of_order),
            table(ORDER_LINE, "order-line", room, Ordered, keys::partition_of_order_line),
            table(ITEM, "item", one, Hashed, keys::partition_of_item),
            table(STOCK, "stock", one, Hashed, keys::partition_of_stock),
            table(CUSTOMER_BY_NAME, "customer-by-name", one, by_name, keys::partition_of_name),
            // A customer's orders are keyed as a customer's payments are.
            table(ORDER_BY_CUSTOMER, "order-by-customer", room, Ordered, keys::partition_of_history),
        ]
    }

    fn loaded_key(&self, table: TableId, row: u64) -> Key {
        population::loaded_key(self.scale, table, row)
    }

    fn loaded_bytes(&self, table: TableId, key: Key, bytes: &mut Vec<u8>) {
        assert_eq!(table, CUSTOMER_BY_NAME, "the keys of the others are numbers");
        bytes.extend(population::name_entry(key));
    }

    fn fill(&self, table: TableId, key: Key, row: &mut [u8]) {
        population::fill(self.scale, table, key, row);
    }

    fn client(&self, seat: Seat) -> TpccClient {
        let reconnaissance = self.parameters.reconnaissance == Reconnaissance::Yes;
        TpccClient::new(self.inputs(seat), self.items, reconnaissance)
    }
}
