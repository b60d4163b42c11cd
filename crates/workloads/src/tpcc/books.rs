//! Sums and counts over the tables, by warehouse, district, customer and order: what the consistency conditions compare.
//!
//! Rows may come in any order, from any number of readers; what one reader saw is added to what another saw.

use super::conditions::Reader;
use super::rows::{Customer, District, History, NewOrder, Order, OrderLine, Warehouse};
use super::{Scale, keys};
use contract::Key;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Everything that was read, added up.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Books {
    pub(super) warehouses: BTreeMap<Key, WarehouseBook>,
    pub(super) districts: BTreeMap<Key, DistrictBook>,
    pub(super) customers: BTreeMap<Key, CustomerBook>,
    pub(super) orders: BTreeMap<Key, OrderBook>,
}

/// Of a warehouse.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct WarehouseBook {
    /// `w_ytd`, if there is a row.
    pub(super) ytd: Option<i64>,
    /// The sum of `d_ytd`.
    pub(super) districts_ytd: i64,
    /// The sum of `h_amount` paid here.
    pub(super) paid: i64,
}

/// Of a district.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct DistrictBook {
    /// `d_ytd` and `d_next_o_id`, if there is a row.
    pub(super) row: Option<(i64, u32)>,
    /// The sum of `h_amount` paid here, and the number of payments.
    pub(super) paid: i64,
    pub(super) payments: u64,
    /// Rows of ORDER.
    pub(super) orders: u64,
    /// The greatest `o_id`.
    pub(super) last_order: u32,
    /// The sum of `o_ol_cnt`.
    pub(super) lines_promised: u64,
    /// Rows of ORDER-LINE.
    pub(super) lines: u64,
    /// Rows of NEW-ORDER.
    pub(super) new_orders: u64,
    /// The least and the greatest `no_o_id`, if there are any.
    pub(super) new_order_range: Option<(u32, u32)>,
    /// The sum of `c_delivery_cnt`.
    pub(super) deliveries: u64,
    /// Orders that were loaded delivered; known when the books are closed.
    pub(super) loaded_deliveries: u64,
}

/// Of a customer.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct CustomerBook {
    /// `c_balance` and `c_ytd_payment`, if there is a row.
    pub(super) row: Option<(i64, i64)>,
    /// The sum of `h_amount` paid by the customer.
    pub(super) paid: i64,
    /// The sum of `ol_amount` delivered to the customer.
    pub(super) delivered: i64,
}

/// Of an order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct OrderBook {
    /// What ORDER says, if there is a row.
    pub(super) row: Option<OrderRow>,
    /// Rows of NEW-ORDER.
    pub(super) new_orders: u64,
    /// Rows of ORDER-LINE.
    pub(super) lines: u64,
    /// Those with a date of delivery.
    pub(super) delivered_lines: u64,
    /// The sum of their `ol_amount`.
    pub(super) delivered: i64,
}

/// What matters of a row of ORDER.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct OrderRow {
    /// Its customer.
    pub(super) customer: Key,
    /// Whether it has a carrier.
    pub(super) is_carried: bool,
    /// `o_ol_cnt`.
    pub(super) lines: u64,
}

impl WarehouseBook {
    fn add(&mut self, other: &Self) {
        self.ytd = self.ytd.or(other.ytd);
        self.districts_ytd += other.districts_ytd;
        self.paid += other.paid;
    }
}

impl DistrictBook {
    fn add(&mut self, other: &Self) {
        self.row = self.row.or(other.row);
        self.paid += other.paid;
        self.payments += other.payments;
        self.orders += other.orders;
        self.last_order = self.last_order.max(other.last_order);
        self.lines_promised += other.lines_promised;
        self.lines += other.lines;
        self.new_orders += other.new_orders;
        self.new_order_range = match (self.new_order_range, other.new_order_range) {
            (Some((least, greatest)), Some((other_least, other_greatest))) => {
                Some((least.min(other_least), greatest.max(other_greatest)))
            }
            (range, other) => range.or(other),
        };
        self.deliveries += other.deliveries;
        self.loaded_deliveries = self.loaded_deliveries.max(other.loaded_deliveries);
    }
}

impl CustomerBook {
    fn add(&mut self, other: &Self) {
        self.row = self.row.or(other.row);
        self.paid += other.paid;
        self.delivered += other.delivered;
    }
}

impl OrderBook {
    fn add(&mut self, other: &Self) {
        self.row = self.row.or(other.row);
        self.new_orders += other.new_orders;
        self.lines += other.lines;
        self.delivered_lines += other.delivered_lines;
        self.delivered += other.delivered;
    }

    /// Condition 5: no carrier if and only if it is among the new orders.
    pub(super) fn is_new_or_carried(&self) -> bool {
        self.row.is_some_and(|row| self.new_orders == u64::from(!row.is_carried))
    }

    /// Condition 6: as many lines as it says.
    pub(super) fn has_its_lines(&self) -> bool {
        self.row.is_some_and(|row| self.lines == row.lines)
    }

    /// Condition 7: all lines have a date of delivery, or none, as it has a carrier or none.
    pub(super) fn is_delivered_with_its_lines(&self) -> bool {
        let is_carried = self.row.is_some_and(|row| row.is_carried);
        self.delivered_lines == if is_carried { self.lines } else { 0 }
    }

    fn is_consistent(&self) -> bool {
        self.is_new_or_carried() && self.has_its_lines() && self.is_delivered_with_its_lines()
    }
}

impl Books {
    /// What `reader` reads.
    pub(super) fn of(reader: &dyn Reader, scale: Scale) -> Self {
        let mut books = Books::default();
        reader.warehouses(&mut |row| books.add_warehouse(row));
        reader.districts(&mut |row| books.add_district(row));
        reader.customers(&mut |row| books.add_customer(row));
        reader.histories(&mut |row| books.add_history(row));
        reader.new_orders(&mut |row| books.add_new_order(row));
        reader.orders(&mut |row| books.add_order(row));
        reader.order_lines(&mut |row| books.add_order_line(row));
        books.close(scale);
        books
    }

    pub(super) fn add_warehouse(&mut self, row: &Warehouse) {
        self.warehouse(row.w_id).ytd = Some(row.w_ytd);
    }

    pub(super) fn add_district(&mut self, row: &District) {
        self.warehouse(row.d_w_id).districts_ytd += row.d_ytd;
        self.district(row.d_w_id, row.d_id).row = Some((row.d_ytd, row.d_next_o_id));
    }

    pub(super) fn add_customer(&mut self, row: &Customer) {
        self.district(row.c_w_id, row.c_d_id).deliveries += u64::from(row.c_delivery_cnt);
        let customer = keys::customer(row.c_w_id, row.c_d_id, row.c_id);
        self.customers.entry(customer).or_default().row = Some((row.c_balance, row.c_ytd_payment));
    }

    pub(super) fn add_history(&mut self, row: &History) {
        self.warehouse(row.h_w_id).paid += row.h_amount;
        let district = self.district(row.h_w_id, row.h_d_id);
        district.paid += row.h_amount;
        district.payments += 1;
        let customer = keys::customer(row.h_c_w_id, row.h_c_d_id, row.h_c_id);
        self.customers.entry(customer).or_default().paid += row.h_amount;
    }

    pub(super) fn add_new_order(&mut self, row: &NewOrder) {
        let district = self.district(row.no_w_id, row.no_d_id);
        let (least, greatest) = district.new_order_range.unwrap_or((row.no_o_id, row.no_o_id));
        district.new_order_range = Some((least.min(row.no_o_id), greatest.max(row.no_o_id)));
        district.new_orders += 1;
        self.order(keys::order(row.no_w_id, row.no_d_id, row.no_o_id)).new_orders += 1;
    }

    pub(super) fn add_order(&mut self, row: &Order) {
        let district = self.district(row.o_w_id, row.o_d_id);
        district.orders += 1;
        district.last_order = district.last_order.max(row.o_id);
        district.lines_promised += u64::from(row.o_ol_cnt);
        self.order(keys::order(row.o_w_id, row.o_d_id, row.o_id)).row = Some(OrderRow {
            customer: keys::customer(row.o_w_id, row.o_d_id, row.o_c_id),
            is_carried: row.o_carrier_id != super::rows::NULL,
            lines: u64::from(row.o_ol_cnt),
        });
    }

    pub(super) fn add_order_line(&mut self, row: &OrderLine) {
        self.district(row.ol_w_id, u32::from(row.ol_d_id)).lines += 1;
        let order = self.order(keys::order(row.ol_w_id, u32::from(row.ol_d_id), row.ol_o_id));
        order.lines += 1;
        if row.ol_delivery_d != u64::from(super::rows::NULL) {
            order.delivered_lines += 1;
            order.delivered += i64::from(row.ol_amount);
        }
    }

    /// Adds other books, of other rows.
    pub(super) fn add(&mut self, other: &Books) {
        for (key, other) in &other.warehouses {
            self.warehouses.entry(*key).or_default().add(other);
        }
        for (key, other) in &other.districts {
            self.districts.entry(*key).or_default().add(other);
        }
        for (key, other) in &other.customers {
            self.customers.entry(*key).or_default().add(other);
        }
        for (key, other) in &other.orders {
            self.orders.entry(*key).or_default().add(other);
        }
    }

    /// Closes the books of orders of which all rows have been read: adds what was delivered to their customers, and forgets
    /// those with which nothing is wrong.
    pub(super) fn settle(&mut self) {
        let customers = &mut self.customers;
        self.orders.retain(|_, order| match order.row {
            Some(row) if order.is_consistent() => {
                customers.entry(row.customer).or_default().delivered += order.delivered;
                false
            }
            _ => true,
        });
    }

    /// Closes the books, once, when all has been read: adds what was delivered of every order to its customer, and to every
    /// district what was delivered before anybody counted.
    pub(super) fn close(&mut self, scale: Scale) {
        for order in self.orders.values() {
            if let Some(row) = order.row {
                self.customers.entry(row.customer).or_default().delivered += order.delivered;
            }
        }
        for district in self.districts.values_mut() {
            district.loaded_deliveries = u64::from(scale.first_new_order()) - 1;
        }
    }

    fn warehouse(&mut self, w_id: u32) -> &mut WarehouseBook {
        self.warehouses.entry(keys::warehouse(w_id)).or_default()
    }

    fn district(&mut self, w_id: u32, d_id: u32) -> &mut DistrictBook {
        self.districts.entry(keys::district(w_id, d_id)).or_default()
    }

    fn order(&mut self, order: Key) -> &mut OrderBook {
        self.orders.entry(order).or_default()
    }
}
