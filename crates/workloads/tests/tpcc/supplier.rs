//! The tables in memory, loaded row by row, as the consistency conditions read them.

use contract::{Key, TableId, Workload};
use std::collections::BTreeMap;
use workloads::tpcc::conditions::{Breach, Reader, breaches};
use workloads::tpcc::rows::{Customer, District, History, NewOrder, Order, OrderLine, Warehouse};
use workloads::tpcc::{CUSTOMER, DISTRICT, HISTORY, NEW_ORDER, ORDER, ORDER_LINE, Scale, Tpcc, WAREHOUSE};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

/// A table by primary key.
pub type Table<R> = BTreeMap<Key, R>;

pub fn loaded<R>(tpcc: &Tpcc, table: TableId) -> Table<R>
where
    R: FromZeros + FromBytes + IntoBytes + KnownLayout + Immutable,
{
    let one = |nth| {
        let (key, mut row) = (tpcc.loaded_key(table, nth), R::new_zeroed());
        tpcc.fill(table, key, row.as_mut_bytes());
        (key, row)
    };
    let rows: Table<R> = (0..tpcc.rows(table)).map(one).collect();
    assert_eq!(rows.len() as u64, tpcc.rows(table), "every key once");
    rows
}

/// The tables that the consistency conditions look at.
pub struct Supplier {
    pub scale: Scale,
    pub warehouses: Table<Warehouse>,
    pub districts: Table<District>,
    pub customers: Table<Customer>,
    pub histories: Table<History>,
    pub new_orders: Table<NewOrder>,
    pub orders: Table<Order>,
    pub order_lines: Table<OrderLine>,
}

impl Supplier {
    pub fn loaded(tpcc: &Tpcc) -> Self {
        Supplier {
            scale: tpcc.scale(),
            warehouses: loaded(tpcc, WAREHOUSE),
            districts: loaded(tpcc, DISTRICT),
            customers: loaded(tpcc, CUSTOMER),
            histories: loaded(tpcc, HISTORY),
            new_orders: loaded(tpcc, NEW_ORDER),
            orders: loaded(tpcc, ORDER),
            order_lines: loaded(tpcc, ORDER_LINE),
        }
    }

    pub fn breaches(&self) -> Vec<Breach> {
        breaches(self, self.scale)
    }

    pub fn breached(&self) -> Vec<usize> {
        self.breaches().iter().map(|breach| breach.condition).collect()
    }
}

impl Reader for Supplier {
    fn warehouses(&self, see: &mut dyn FnMut(&Warehouse)) {
        self.warehouses.values().for_each(see);
    }
    fn districts(&self, see: &mut dyn FnMut(&District)) {
        self.districts.values().for_each(see);
    }
    fn customers(&self, see: &mut dyn FnMut(&Customer)) {
        self.customers.values().for_each(see);
    }
    fn histories(&self, see: &mut dyn FnMut(&History)) {
        self.histories.values().for_each(see);
    }
    fn new_orders(&self, see: &mut dyn FnMut(&NewOrder)) {
        self.new_orders.values().for_each(see);
    }
    fn orders(&self, see: &mut dyn FnMut(&Order)) {
        self.orders.values().for_each(see);
    }
    fn order_lines(&self, see: &mut dyn FnMut(&OrderLine)) {
        self.order_lines.values().for_each(see);
    }
}
