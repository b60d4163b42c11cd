//! What TPC-C can be asked to do.

use crate::parameters::{ParameterError, Parameters, Percent, choice, count, parameters};

parameters! {
    /// TPC-C's parameters.
    TpccParameters, "tpcc", "orders, payments and deliveries of a wholesale supplier (TPC-C 5.11)";
    /// Warehouses of the supplier, about 120 MB each at the standard's size.
    "warehouses" warehouses: Warehouses = "1";
    /// Items on sale, each in every warehouse's stock; fewer than the standard's scale a warehouse down.
    "items" items: ItemCount = "100000";
    /// Customers of a district, and its orders; fewer than the standard's scale a warehouse down.
    "customers" customers: CustomerCount = "3000";
    /// Which of the five transactions: the standard's 45, 43, 4, 4 and 4 percent, or one of them, or two.
    "mix" mix: Mix = "standard";
    /// A client's warehouses: those that are its own, or any.
    "home" home: Home = "own";
    /// Order lines that another warehouse supplies, in percent.
    "remote-items" remote_items: Percent = "1";
    /// Payments by customers of another warehouse, in percent.
    "remote-payments" remote_payments: Percent = "15";
    /// Customers of Payment and Order-Status that are known by their last names, in percent.
    "by-name" by_name: Percent = "60";
    /// New-Orders with an item that does not exist, in percent.
    "rollbacks" rollbacks: Percent = "1";
    /// The items, which nobody writes: a copy for each warehouse, one for all, or without any concurrency control.
    "item" item: ItemTable = "replicated";
    /// Whether a plan looks a last name up ahead (orthrus 3.2), or names its partition only.
    "reconnaissance" reconnaissance: Reconnaissance = "no";
    /// Rows that the tables that grow are made for, in multiples of what they are loaded with.
    "room" room: Room = "2";
}

count!(
    /// Warehouses of the supplier.
    Warehouses, 1 to 65_535
);
count!(
    /// Items on sale.
    ItemCount, 10 to 100_000
);
count!(
    /// Customers of a district.
    CustomerCount, 10 to 3_000
);
const _: () =
    assert!(ItemCount::MOST == super::ITEMS as u64 && CustomerCount::MOST == super::CUSTOMERS as u64);
count!(
    /// How often a growing table's loaded rows fit into what it is made for.
    Room, 1 to 1_000
);
choice!(
    /// How items are read.
    ItemTable:
    /// From the warehouse's own copy, which is in its partition.
    Replicated = "replicated",
    /// From one copy, which is in the first partition.
    Shared = "shared",
    /// From memory that no engine knows of.
    Unprotected = "unprotected",
);
choice!(
    /// What a plan does about a customer's last name.
    Reconnaissance:
    /// Looks it up, and names the customer.
    Yes = "yes",
    /// Names the partition.
    No = "no",
);
choice!(
    /// Which transactions.
    Mix:
    /// The five of clause 5.2.4.
    Standard = "standard",
    /// New-Order and Payment, as often: the two that the papers run.
    NewOrderPayment = "new-order-payment",
    /// New-Order and Stock-Level, as often: one changes what the other reads much of (*silo* 5.5).
    NewOrderStockLevel = "new-order-stock-level",
    /// New-Order.
    NewOrder = "new-order",
    /// Payment.
    Payment = "payment",
    /// Order-Status.
    OrderStatus = "order-status",
    /// Delivery.
    Delivery = "delivery",
    /// Stock-Level.
    StockLevel = "stock-level",
);
choice!(
    /// Where a client's transactions begin.
    Home:
    /// In warehouses that no other client has, as far as there are enough of them.
    Own = "own",
    /// In any.
    Any = "any",
);

impl TpccParameters {
    /// Checked values. All of them go together.
    pub(super) fn resolve(given: &Parameters) -> Result<Self, ParameterError> {
        TpccParameters::read(given)
    }
}
