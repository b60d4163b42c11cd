//! TPC-C: the population of clause 4.3.3 row by row, the inputs of clauses 2.4 to 2.8, and that the twelve consistency
//! conditions accept what was loaded and what a few orders, payments and deliveries make of it, and reject the rest.

mod common;

use common::{deviation, parameters};
use contract::{Indexing, Key, PartitionId, Seat, TableDescription, TableId, Workload};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use workloads::tpcc::conditions::{Reader, breaches};
use workloads::tpcc::inputs::{Input, NewOrderInput, PaymentInput, Who};
use workloads::tpcc::rows::{
    Address, Customer, District, Entry, History, Item, NewOrder, Order, OrderLine, Stock, Warehouse, text,
};
use workloads::tpcc::{
    CUSTOMER, CUSTOMER_BY_NAME, DISTRICT, HISTORY, ITEM, NEW_ORDER, ORDER, ORDER_BY_CUSTOMER, ORDER_LINE,
    STOCK, Tpcc, UNUSED_ITEM, WAREHOUSE, keys, names,
};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

fn tpcc(given: &[(&str, &str)]) -> Tpcc {
    Tpcc::new(&parameters(given)).expect("valid parameters")
}

/// A table by primary key.
type Table<R> = BTreeMap<Key, R>;

fn loaded<R>(tpcc: &Tpcc, table: TableId) -> Table<R>
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
struct Supplier {
    warehouses: Table<Warehouse>,
    districts: Table<District>,
    customers: Table<Customer>,
    histories: Table<History>,
    new_orders: Table<NewOrder>,
    orders: Table<Order>,
    order_lines: Table<OrderLine>,
}

impl Supplier {
    fn loaded(tpcc: &Tpcc) -> Self {
        Supplier {
            warehouses: loaded(tpcc, WAREHOUSE),
            districts: loaded(tpcc, DISTRICT),
            customers: loaded(tpcc, CUSTOMER),
            histories: loaded(tpcc, HISTORY),
            new_orders: loaded(tpcc, NEW_ORDER),
            orders: loaded(tpcc, ORDER),
            order_lines: loaded(tpcc, ORDER_LINE),
        }
    }

    fn breached(&self) -> Vec<usize> {
        breaches(self).iter().map(|breach| breach.condition).collect()
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

#[test]
fn tables_have_the_standards_cardinalities() {
    let two = tpcc(&[("warehouses", "2")]);
    let rows: Vec<(&str, u64)> = two.tables().iter().map(|table| (table.name, table.rows)).collect();
    let expected = [
        ("warehouse", 2),
        ("district", 20),
        ("customer", 60_000),
        ("history", 60_000),
        ("new-order", 18_000),
        ("order", 60_000),
        ("order-line", 600_000),
        ("item", 200_000),
        ("stock", 200_000),
        ("customer-by-name", 60_000),
        ("order-by-customer", 60_000),
    ];
    assert_eq!(rows, expected);
    for item in ["shared", "unprotected"] {
        assert_eq!(tpcc(&[("warehouses", "2"), ("item", item)]).rows(ITEM), 100_000, "one copy");
    }
    let capacities = |given| -> Vec<u64> {
        tpcc(given).tables().iter().map(|table| table.capacity / table.rows).collect()
    };
    assert_eq!(capacities(&[]), [1, 1, 1, 2, 2, 2, 2, 1, 1, 1, 2]);
    assert_eq!(capacities(&[("room", "50")]), [1, 1, 1, 50, 50, 50, 50, 1, 1, 1, 50]);
}

/// An engine's record takes at most 32 bytes more than its row, and a hash entry about 16. An ordered table has a key, at most
/// 37 bytes, and a value of 8 for each of its rows; a tree is about two thirds full.
#[test]
fn a_warehouse_takes_less_than_120_megabytes() {
    let one = tpcc(&[]);
    let records: u64 = one.tables().iter().map(|table| table.rows * (table.row_bytes as u64 + 32)).sum();
    let rows_with = |is_hashed| -> u64 {
        let is_one = |table: &&TableDescription| (table.indexing == Indexing::Hashed) == is_hashed;
        one.tables().iter().filter(is_one).map(|table| table.rows).sum()
    };
    let (entries, ordered) = (rows_with(true) * 16, rows_with(false));
    let trees = (ordered * (8 + 8) + 30_000 * (37 - 8)) * 3 / 2;
    assert!(records + entries + trees < 120_000_000, "{records} + {entries} + {trees}");
    assert_eq!(one.row_bytes(), 81_105_224, "as the documentation's sum was made from");
}

#[test]
fn loaded_keys_are_those_of_their_columns() {
    let two = tpcc(&[("warehouses", "2")]);
    let supplier = Supplier::loaded(&two);
    for (key, row) in &supplier.warehouses {
        assert_eq!(*key, keys::warehouse(row.w_id));
    }
    for (key, row) in &supplier.districts {
        assert_eq!(*key, keys::district(row.d_w_id, row.d_id));
    }
    for (key, row) in &supplier.customers {
        assert_eq!(*key, keys::customer(row.c_w_id, row.c_d_id, row.c_id));
    }
    for (key, row) in &supplier.histories {
        assert_eq!(*key, keys::history(row.h_c_w_id, row.h_c_d_id, row.h_c_id, 1));
        assert_eq!((row.h_w_id, row.h_d_id), (row.h_c_w_id, row.h_c_d_id));
    }
    for (key, row) in &supplier.new_orders {
        assert_eq!(*key, keys::order(row.no_w_id, row.no_d_id, row.no_o_id));
        assert!((2101..=3000).contains(&row.no_o_id));
    }
    for (key, row) in &supplier.orders {
        assert_eq!(*key, keys::order(row.o_w_id, row.o_d_id, row.o_id));
    }
    for (key, row) in &supplier.order_lines {
        let (d_id, number) = (u32::from(row.ol_d_id), u32::from(row.ol_number));
        assert_eq!(*key, keys::order_line(row.ol_w_id, d_id, row.ol_o_id, number));
    }
    for (key, row) in loaded::<Item>(&two, ITEM) {
        assert_eq!(key.0 & 0x1_ffff, u64::from(row.i_id));
    }
    for (key, row) in loaded::<Stock>(&two, STOCK) {
        assert_eq!(key, keys::stock(row.s_w_id, row.s_i_id));
    }
}

#[test]
fn entries_of_the_indexes_are_those_of_the_rows() {
    let tpcc = tpcc(&[]);
    let mut by_name = BTreeMap::new();
    for (key, row) in loaded::<Customer>(&tpcc, CUSTOMER) {
        let entry = keys::customer_by_name(row.c_w_id, row.c_d_id, &row.c_last, &row.c_first, row.c_id);
        let mut bytes = vec![];
        tpcc.loaded_bytes(CUSTOMER_BY_NAME, key, &mut bytes);
        assert_eq!(bytes, entry);
        by_name.insert(entry, row);
    }
    assert_eq!(by_name.len(), 30_000, "no two are the same");
    let name = names::last_name(371);
    let [least, greatest] = keys::customers_named(1, 4, &name);
    let named: Vec<&Customer> = by_name.range(least..=greatest).map(|(_, row)| row).collect();
    assert!(!named.is_empty() && named.iter().all(|row| row.c_d_id == 4 && row.c_last == name));
    assert!(named.is_sorted_by_key(|row| row.c_first), "in the order of first names");

    for (key, entry) in loaded::<Entry>(&tpcc, CUSTOMER_BY_NAME) {
        assert_eq!(Key(entry.key), key, "known by the customer that it is of");
    }

    let by_customer = loaded::<Entry>(&tpcc, ORDER_BY_CUSTOMER);
    for (key, row) in loaded::<Order>(&tpcc, ORDER) {
        let entry = keys::order_of_customer(row.o_w_id, row.o_d_id, row.o_c_id, row.o_id);
        assert_eq!(Key(by_customer[&entry].key), key);
    }
    let of_one = keys::order_of_customer(1, 4, 99, 0)..keys::order_of_customer(1, 4, 100, 0);
    assert_eq!(by_customer.range(of_one).count(), 1, "every customer has one order");
}

fn is_string(column: &[u8], least: usize) -> bool {
    let string = text(column);
    string.len() >= least
        && string.iter().all(u8::is_ascii_alphanumeric)
        && column[string.len()..].iter().all(|b| *b == 0)
}

fn is_address(address: &Address) -> bool {
    [&address.street_1, &address.street_2, &address.city].iter().all(|column| is_string(&column[..], 10))
        && is_string(&address.state, 2)
        && address.zip[..4].iter().all(u8::is_ascii_digit)
        && address.zip[4..] == *b"11111"
}

#[test]
fn warehouses_and_districts_are_filled() {
    let tpcc = tpcc(&[("warehouses", "50")]);
    for row in loaded::<Warehouse>(&tpcc, WAREHOUSE).values() {
        assert!(row.w_tax <= 2_000 && is_string(&row.w_name, 6) && is_address(&row.w_address));
        assert_eq!(row.w_ytd, 30_000_000);
    }
    let districts = loaded::<District>(&tpcc, DISTRICT);
    for row in districts.values() {
        assert!(row.d_tax <= 2_000 && is_string(&row.d_name, 6) && is_address(&row.d_address));
        assert_eq!((row.d_ytd, row.d_next_o_id), (3_000_000, 3_001));
    }
    assert!(districts.values().map(|row| row.d_tax).collect::<BTreeSet<_>>().len() > 350, "taxes differ");
}

#[test]
fn customers_and_their_history_are_filled() {
    let tpcc = tpcc(&[]);
    let customers = loaded::<Customer>(&tpcc, CUSTOMER);
    let (mut bad, mut names, mut lengths) = (0, HashMap::<[u8; 16], usize>::new(), BTreeSet::new());
    for row in customers.values() {
        assert_eq!((row.c_balance, row.c_ytd_payment, row.c_credit_lim), (-1_000, 1_000, 5_000_000));
        assert_eq!((row.c_payment_cnt, row.c_delivery_cnt, &row.c_middle), (1, 0, b"OE"));
        assert!(row.c_since > 0 && row.c_discount <= 5_000);
        assert!(is_string(&row.c_first, 8) && is_string(&row.c_data, 300) && is_address(&row.c_address));
        assert!(row.c_phone.iter().all(u8::is_ascii_digit));
        assert!(row.c_credit == *b"BC" || row.c_credit == *b"GC");
        bad += usize::from(row.c_credit == *b"BC");
        if row.c_id <= 1000 {
            assert_eq!(row.c_last, names::last_name(row.c_id - 1));
        } else {
            *names.entry(row.c_last).or_default() += 1;
        }
        lengths.insert(text(&row.c_data).len());
    }
    assert!(deviation(bad, 30_000, 10.0) < 4.0, "{bad} of 30000 have bad credit");
    assert_eq!(lengths, (300..=500).collect(), "all lengths of c_data");
    let most = names.values().max().expect("some");
    assert!(*most > 100 && names.len() > 500, "{most} of 20000 share a last name: not uniform");
    for row in loaded::<History>(&tpcc, HISTORY).values() {
        assert!(row.h_amount == 1_000 && row.h_date > 0 && is_string(&row.h_data, 12));
    }
}

#[test]
fn orders_and_their_lines_are_filled() {
    let supplier = Supplier::loaded(&tpcc(&[]));
    let mut carriers = [0; 11];
    for (key, row) in &supplier.orders {
        let is_new = row.o_id >= 2101;
        assert_eq!(is_new, supplier.new_orders.contains_key(key));
        assert_eq!(is_new, row.o_carrier_id == 0);
        assert!((5..=15).contains(&row.o_ol_cnt) && row.o_all_local == 1 && row.o_entry_d > 0);
        carriers[usize::from(row.o_carrier_id)] += 1;
    }
    assert!(carriers[1..].iter().all(|count| deviation(*count, 21_000, 10.0) < 4.0), "{carriers:?}");
    for d_id in 1..=10 {
        let of_district = supplier.orders.values().filter(|row| row.o_d_id == d_id);
        let customers: BTreeSet<u32> = of_district.map(|row| row.o_c_id).collect();
        assert_eq!(customers, (1..=3000).collect(), "a permutation");
    }
    for row in supplier.order_lines.values() {
        let is_new = row.ol_o_id >= 2101;
        assert_eq!(is_new, row.ol_delivery_d == 0);
        assert!(if is_new { (1..=999_999).contains(&row.ol_amount) } else { row.ol_amount == 0 });
        assert!((1..=100_000).contains(&row.ol_i_id) && row.ol_supply_w_id == row.ol_w_id);
        assert!(row.ol_quantity == 5 && is_string(&row.ol_dist_info, 24));
    }
    let entry = |row: &OrderLine| {
        supplier.orders[&keys::order(row.ol_w_id, u32::from(row.ol_d_id), row.ol_o_id)].o_entry_d
    };
    let mut delivered = supplier.order_lines.values().filter(|row| row.ol_delivery_d > 0);
    assert!(delivered.all(|row| row.ol_delivery_d == entry(row)), "delivered when it was entered");
}

#[test]
fn items_and_stocks_are_filled() {
    let tpcc = tpcc(&[]);
    let is_original = |data: &[u8]| data.windows(8).any(|part| part == b"ORIGINAL");
    let items = loaded::<Item>(&tpcc, ITEM);
    for row in items.values() {
        assert!((1..=10_000).contains(&row.i_im_id) && (100..=10_000).contains(&row.i_price));
        assert!(is_string(&row.i_name, 14) && is_string(&row.i_data, 26));
    }
    let original = items.values().filter(|row| is_original(&row.i_data)).count();
    assert!(deviation(original, 100_000, 10.0) < 4.0, "{original} of 100000 items are original");
    let stocks = loaded::<Stock>(&tpcc, STOCK);
    for row in stocks.values() {
        assert!((10..=100).contains(&row.s_quantity) && is_string(&row.s_data, 26));
        assert_eq!((row.s_ytd, row.s_order_cnt, row.s_remote_cnt), (0, 0, 0));
        assert!(row.s_dist.iter().all(|info| is_string(info, 24)));
    }
    let original = stocks.values().filter(|row| is_original(&row.s_data)).count();
    assert!(deviation(original, 100_000, 10.0) < 4.0, "{original} of 100000 stocks are original");
}

/// What Delivery does to one order, as clause 2.7.4 says.
fn deliver(supplier: &mut Supplier, w_id: u32, d_id: u32, o_id: u32) {
    let key = keys::order(w_id, d_id, o_id);
    supplier.new_orders.remove(&key).expect("a new order");
    let order = supplier.orders.get_mut(&key).expect("an order");
    order.o_carrier_id = 7;
    let mut sum = 0;
    for number in 1..=u32::from(order.o_ol_cnt) {
        let key = keys::order_line(w_id, d_id, o_id, number);
        let line = supplier.order_lines.get_mut(&key).expect("a line");
        line.ol_delivery_d = 99;
        sum += i64::from(line.ol_amount);
    }
    let customer = supplier.customers.get_mut(&keys::customer(w_id, d_id, order.o_c_id)).expect("a customer");
    customer.c_balance += sum;
    customer.c_delivery_cnt += 1;
}

/// What Payment does, as clause 2.5.2 says.
fn pay(supplier: &mut Supplier, (w_id, d_id): (u32, u32), customer: Key, amount: i64) {
    supplier.warehouses.get_mut(&keys::warehouse(w_id)).expect("a warehouse").w_ytd += amount;
    supplier.districts.get_mut(&keys::district(w_id, d_id)).expect("a district").d_ytd += amount;
    let row = supplier.customers.get_mut(&customer).expect("a customer");
    row.c_balance -= amount;
    row.c_ytd_payment += amount;
    row.c_payment_cnt += 1;
    let (h_c_w_id, h_c_d_id, h_c_id) = (row.c_w_id, row.c_d_id, row.c_id);
    let key = keys::history(h_c_w_id, h_c_d_id, h_c_id, row.c_payment_cnt);
    let paid = History {
        h_amount: amount,
        h_c_id,
        h_c_d_id,
        h_c_w_id,
        h_d_id: d_id,
        h_w_id: w_id,
        ..History::new_zeroed()
    };
    assert!(supplier.histories.insert(key, paid).is_none(), "a payment's key is its own");
}

/// What New-Order does, as clause 2.4.2 says.
fn order(supplier: &mut Supplier, (w_id, d_id): (u32, u32), c_id: u32, lines: u8) {
    let district = supplier.districts.get_mut(&keys::district(w_id, d_id)).expect("a district");
    let o_id = district.d_next_o_id;
    district.d_next_o_id += 1;
    let key = keys::order(w_id, d_id, o_id);
    let zeroed = Order::new_zeroed();
    let order = Order { o_id, o_c_id: c_id, o_d_id: d_id, o_w_id: w_id, o_ol_cnt: lines, ..zeroed };
    supplier.orders.insert(key, order);
    let zeroed = NewOrder::new_zeroed();
    supplier.new_orders.insert(key, NewOrder { no_o_id: o_id, no_d_id: d_id, no_w_id: w_id, ..zeroed });
    for ol_number in 1..=lines {
        let line = OrderLine {
            ol_o_id: o_id,
            ol_w_id: w_id,
            ol_d_id: d_id as u8,
            ol_number,
            ol_amount: 1_000 * u32::from(ol_number),
            ..OrderLine::new_zeroed()
        };
        supplier.order_lines.insert(keys::order_line(w_id, d_id, o_id, ol_number.into()), line);
    }
}

#[test]
fn the_conditions_hold_of_what_is_loaded_and_of_what_transactions_make_of_it() {
    let mut supplier = Supplier::loaded(&tpcc(&[("warehouses", "2")]));
    assert_eq!(breaches(&supplier), []);
    for (d_id, c_id) in [(1, 5), (1, 6), (2, 5), (10, 3000), (1, 5)] {
        order(&mut supplier, (1, d_id), c_id, 5 + d_id as u8);
    }
    // At home, and by a customer of the other warehouse.
    pay(&mut supplier, (1, 3), keys::customer(1, 3, 17), 12_345);
    pay(&mut supplier, (1, 3), keys::customer(2, 9, 17), 100);
    pay(&mut supplier, (1, 3), keys::customer(2, 9, 17), 100);
    for (d_id, o_id) in [(1, 2101), (1, 2102), (2, 2101)] {
        deliver(&mut supplier, 1, d_id, o_id);
    }
    assert_eq!(breaches(&supplier), []);
    // All orders of a district, the one that was just made too.
    for o_id in 2101..=3001 {
        deliver(&mut supplier, 1, 10, o_id);
    }
    assert_eq!(breaches(&supplier), []);
}

/// A change, what undoes it, and the conditions that it breaks.
type Break = (&'static str, fn(&mut Supplier), fn(&mut Supplier), &'static [usize]);

fn warehouse(supplier: &mut Supplier) -> &mut Warehouse {
    supplier.warehouses.get_mut(&keys::warehouse(1)).expect("loaded")
}

fn district(supplier: &mut Supplier) -> &mut District {
    supplier.districts.get_mut(&keys::district(1, 4)).expect("loaded")
}

fn customer(supplier: &mut Supplier) -> &mut Customer {
    supplier.customers.get_mut(&keys::customer(1, 4, 99)).expect("loaded")
}

fn lose(supplier: &mut Supplier, no_o_id: u32) {
    assert!(supplier.new_orders.remove(&keys::order(1, 4, no_o_id)).is_some(), "it was new");
}

fn enter(supplier: &mut Supplier, no_o_id: u32) {
    let row = NewOrder { no_o_id, no_d_id: 4, no_w_id: 1, ..NewOrder::new_zeroed() };
    assert!(supplier.new_orders.insert(keys::order(1, 4, no_o_id), row).is_none(), "it was not new");
}

fn a_line(supplier: &mut Supplier, o_id: u32) -> &mut OrderLine {
    supplier.order_lines.get_mut(&keys::order_line(1, 4, o_id, 2)).expect("loaded")
}

fn an_order(supplier: &mut Supplier, o_id: u32) -> &mut Order {
    supplier.orders.get_mut(&keys::order(1, 4, o_id)).expect("loaded")
}

const BREAKS: &[Break] = &[
    ("w_ytd is off", |s| warehouse(s).w_ytd += 1, |s| warehouse(s).w_ytd -= 1, &[1, 8]),
    ("d_ytd is off", |s| district(s).d_ytd += 1, |s| district(s).d_ytd -= 1, &[1, 9]),
    ("the next order is skipped", |s| district(s).d_next_o_id += 1, |s| district(s).d_next_o_id -= 1, &[2]),
    ("the next order is there", |s| district(s).d_next_o_id -= 1, |s| district(s).d_next_o_id += 1, &[2]),
    ("a new order is lost in the middle", |s| lose(s, 2500), |s| enter(s, 2500), &[3, 5, 11]),
    ("the last new order is lost", |s| lose(s, 3000), |s| enter(s, 3000), &[2, 5, 11]),
    ("a delivered order is new again", |s| enter(s, 2100), |s| lose(s, 2100), &[5, 11]),
    (
        "an order promises too much",
        |s| an_order(s, 77).o_ol_cnt += 1,
        |s| an_order(s, 77).o_ol_cnt -= 1,
        &[4, 6],
    ),
    (
        "two orders swap a line",
        |s| {
            an_order(s, 77).o_ol_cnt += 1;
            an_order(s, 78).o_ol_cnt -= 1;
        },
        |s| {
            an_order(s, 77).o_ol_cnt -= 1;
            an_order(s, 78).o_ol_cnt += 1;
        },
        &[6],
    ),
    (
        "a carrier has what was not delivered",
        |s| an_order(s, 2500).o_carrier_id = 3,
        |s| an_order(s, 2500).o_carrier_id = 0,
        &[5, 7],
    ),
    (
        "a line of a new order was delivered for nothing",
        |s| (a_line(s, 2500).ol_delivery_d, a_line(s, 2500).ol_amount) = (1, 0),
        |s| (a_line(s, 2500).ol_delivery_d, a_line(s, 2500).ol_amount) = (0, 1),
        &[7],
    ),
    (
        "a line of a delivered order was not",
        |s| a_line(s, 77).ol_delivery_d = 0,
        |s| a_line(s, 77).ol_delivery_d = 1,
        &[7],
    ),
    (
        "a delivered line costs something",
        |s| a_line(s, 77).ol_amount += 5,
        |s| a_line(s, 77).ol_amount -= 5,
        &[10, 12],
    ),
    ("c_balance is off", |s| customer(s).c_balance += 1, |s| customer(s).c_balance -= 1, &[10, 12]),
    ("c_ytd_payment is off", |s| customer(s).c_ytd_payment += 1, |s| customer(s).c_ytd_payment -= 1, &[12]),
    (
        "a payment is entered twice",
        |s| {
            let payment = s.histories[&keys::history(1, 4, 99, 1)];
            s.histories.insert(keys::history(1, 4, 99, 2), payment);
        },
        |s| assert!(s.histories.remove(&keys::history(1, 4, 99, 2)).is_some()),
        &[8, 9, 10],
    ),
    (
        "a delivery is counted twice",
        |s| customer(s).c_delivery_cnt += 1,
        |s| customer(s).c_delivery_cnt -= 1,
        &[11],
    ),
];

#[test]
fn each_condition_rejects_what_breaks_it() {
    let mut supplier = Supplier::loaded(&tpcc(&[]));
    let mut seen = BTreeSet::new();
    for (what, make, undo, expected) in BREAKS {
        make(&mut supplier);
        assert_eq!(supplier.breached(), *expected, "{what}");
        undo(&mut supplier);
        seen.extend(*expected);
    }
    assert_eq!(seen, (1..=12).collect(), "every condition was broken");
    assert_eq!(supplier.breached(), [], "and all was undone");
    an_order(&mut supplier, 77).o_ol_cnt += 1;
    let sixth = breaches(&supplier).pop().expect("two breaches");
    let lines = supplier.orders[&keys::order(1, 4, 77)].o_ol_cnt;
    let message =
        format!("consistency condition 6: order (1, 4, 77): o_ol_cnt Some({lines}), {} lines", lines - 1);
    assert_eq!(sixth.to_string(), message);
}

fn inputs(tpcc: &Tpcc, seat: Seat, count: usize) -> Vec<Input> {
    let mut generator = tpcc.inputs(seat);
    (0..count).map(|_| generator.next_input()).collect()
}

fn new_orders(inputs: &[Input]) -> Vec<NewOrderInput> {
    inputs
        .iter()
        .filter_map(|input| if let Input::NewOrder(order) = input { Some(*order) } else { None })
        .collect()
}

fn payments(inputs: &[Input]) -> Vec<PaymentInput> {
    inputs
        .iter()
        .filter_map(|input| if let Input::Payment(payment) = input { Some(*payment) } else { None })
        .collect()
}

fn kind(input: &Input) -> usize {
    input.kind().index()
}

#[test]
fn every_hundred_transactions_have_the_mix() {
    for (mix, expected) in [
        ("standard", [45, 43, 4, 4, 4]),
        ("new-order-payment", [50, 50, 0, 0, 0]),
        ("new-order", [100, 0, 0, 0, 0]),
        ("payment", [0, 100, 0, 0, 0]),
        ("order-status", [0, 0, 100, 0, 0]),
        ("delivery", [0, 0, 0, 100, 0]),
        ("stock-level", [0, 0, 0, 0, 100]),
    ] {
        let drawn = inputs(&tpcc(&[("mix", mix)]), Seat::new(0, 1, 1), 1000);
        for hundred in drawn.chunks(100) {
            let mut counts = [0; 5];
            hundred.iter().for_each(|input| counts[kind(input)] += 1);
            assert_eq!(counts, expected, "{mix}");
        }
    }
    let drawn = inputs(&tpcc(&[]), Seat::new(0, 1, 1), 200);
    let kinds: Vec<usize> = drawn.iter().map(kind).collect();
    assert_ne!(kinds[..100], kinds[100..], "shuffled anew");
}

#[test]
fn new_orders_are_drawn_as_the_standard_says() {
    let drawn = inputs(&tpcc(&[("warehouses", "5"), ("mix", "new-order")]), Seat::new(2, 5, 1), 20_000);
    let orders = new_orders(&drawn);
    let (mut counts, mut districts, mut lines, mut remote, mut unused) = ([0; 16], [0; 11], 0, [0; 6], 0);
    let mut quantities = [0; 11];
    for order in &orders {
        assert!(order.w_id == 3 && (1..=3000).contains(&order.c_id) && order.entry_d > 1);
        counts[usize::from(order.count)] += 1;
        districts[order.d_id as usize] += 1;
        lines += order.lines().len();
        let (last, others) = order.lines().split_last().expect("five lines at least");
        assert!(others.iter().all(|line| (1..=100_000).contains(&line.i_id)));
        unused += usize::from(last.i_id == UNUSED_ITEM);
        assert!((1..=UNUSED_ITEM).contains(&last.i_id));
        for line in order.lines() {
            remote[line.supply_w_id as usize] += 1;
            quantities[usize::from(line.quantity)] += 1;
        }
        assert_eq!(order.is_local(), order.lines().iter().all(|line| line.supply_w_id == 3));
    }
    assert!(counts[5..].iter().all(|count| deviation(*count, 20_000, 100.0 / 11.0) < 4.0), "{counts:?}");
    assert!(districts[1..].iter().all(|count| deviation(*count, 20_000, 10.0) < 4.0), "{districts:?}");
    assert!(quantities[1..].iter().all(|count| deviation(*count, lines, 10.0) < 4.0), "{quantities:?}");
    assert!(deviation(unused, 20_000, 1.0) < 4.0, "{unused} of 20000 are to be rolled back");
    for other in [1, 2, 4, 5] {
        assert!(deviation(remote[other], lines, 0.25) < 4.0, "{remote:?} of {lines} lines");
    }
    let entered: Vec<u64> = orders.iter().map(|order| order.entry_d).collect();
    assert!(entered.is_sorted_by(|one, next| one < next), "dates go on");
}

#[test]
fn payments_are_drawn_as_the_standard_says() {
    let drawn = inputs(&tpcc(&[("warehouses", "4"), ("mix", "payment")]), Seat::new(0, 4, 1), 20_000);
    let payments = payments(&drawn);
    let (mut remote, mut by_name, mut elsewhere) = ([0; 5], 0, 0);
    for payment in &payments {
        assert!(payment.w_id == 1 && (100..=500_000).contains(&payment.amount));
        assert!((1..=10).contains(&payment.d_id) && (1..=10).contains(&payment.c_d_id));
        remote[payment.c_w_id as usize] += 1;
        if payment.c_w_id == 1 {
            assert_eq!(payment.c_d_id, payment.d_id);
        } else {
            elsewhere += usize::from(payment.c_d_id == payment.d_id);
        }
        match payment.who {
            Who::Id(c_id) => assert!((1..=3000).contains(&c_id)),
            Who::LastName(name) => {
                assert!((0..1000).any(|number| names::last_name(number) == name));
                by_name += 1;
            }
        }
    }
    assert!((2..5).all(|other| deviation(remote[other], 20_000, 5.0) < 4.0), "{remote:?}");
    assert!(deviation(elsewhere, 20_000 - remote[1], 10.0) < 4.0, "a remote customer is of any district");
    assert!(deviation(by_name, 20_000, 60.0) < 4.0, "{by_name} of 20000 by name");
}

#[test]
fn the_other_inputs_are_in_range() {
    let (mut carriers, mut thresholds, mut by_name) = (BTreeSet::new(), BTreeSet::new(), 0);
    let drawn = inputs(&tpcc(&[]), Seat::new(0, 1, 1), 20_000);
    for input in &drawn {
        match input {
            Input::OrderStatus(status) => {
                assert!(status.w_id == 1 && (1..=10).contains(&status.d_id));
                by_name += usize::from(matches!(status.who, Who::LastName(_)));
            }
            Input::Delivery(delivery) => {
                assert!(delivery.w_id == 1 && delivery.delivery_d > 1);
                carriers.insert(delivery.carrier_id);
            }
            Input::StockLevel(level) => {
                assert!(level.w_id == 1 && (1..=10).contains(&level.d_id));
                thresholds.insert(level.threshold);
            }
            Input::NewOrder(order) => assert!(order.is_local(), "one warehouse has no other"),
            Input::Payment(payment) => assert_eq!(payment.c_w_id, 1),
        }
    }
    assert_eq!((carriers, thresholds), ((1..=10).collect(), (10..=20).collect()));
    assert!(deviation(by_name, 800, 60.0) < 4.0, "{by_name} of 800 by name");
}

#[test]
fn parameters_change_their_own_share_only() {
    let all = [
        ("warehouses", "3"),
        ("remote-items", "100"),
        ("remote-payments", "100"),
        ("by-name", "0"),
        ("rollbacks", "100"),
    ];
    let drawn = inputs(&tpcc(&all), Seat::new(0, 3, 1), 2000);
    for order in new_orders(&drawn) {
        assert!(order.lines().iter().all(|line| line.supply_w_id != order.w_id) && !order.is_local());
        assert_eq!(order.lines().last().expect("lines").i_id, UNUSED_ITEM);
    }
    for payment in payments(&drawn) {
        assert!(payment.c_w_id != payment.w_id && matches!(payment.who, Who::Id(_)));
    }
    let none = [
        ("warehouses", "3"),
        ("remote-items", "0"),
        ("remote-payments", "0"),
        ("by-name", "100"),
        ("rollbacks", "0"),
    ];
    let drawn = inputs(&tpcc(&none), Seat::new(0, 3, 1), 2000);
    for order in new_orders(&drawn) {
        assert!(order.is_local() && order.lines().iter().all(|line| line.i_id < UNUSED_ITEM));
    }
    for payment in payments(&drawn) {
        assert!(payment.c_w_id == payment.w_id && matches!(payment.who, Who::LastName(_)));
    }
}

fn home(input: &Input) -> u32 {
    match input {
        Input::NewOrder(order) => order.w_id,
        Input::Payment(payment) => payment.w_id,
        Input::OrderStatus(status) => status.w_id,
        Input::Delivery(delivery) => delivery.w_id,
        Input::StockLevel(level) => level.w_id,
    }
}

#[test]
fn clients_share_the_warehouses_out() {
    for (warehouses, workers) in [(1, 1), (4, 4), (7, 3), (3, 7), (16, 5), (1, 8)] {
        let tpcc = tpcc(&[("warehouses", &warehouses.to_string())]);
        let mut owners: BTreeMap<u32, BTreeSet<usize>> = BTreeMap::new();
        for worker in 0..workers {
            let seat = Seat::new(worker, workers, 1).over(workers as u32);
            for input in inputs(&tpcc, seat, 500) {
                owners.entry(home(&input)).or_default().insert(worker);
                if warehouses >= workers as u32 {
                    let partition =
                        keys::partition_of_warehouse(keys::warehouse(home(&input)), workers as u32);
                    assert_eq!(partition, PartitionId(worker as u32), "at home");
                }
            }
        }
        assert_eq!(
            owners.keys().copied().collect::<Vec<_>>(),
            (1..=warehouses).collect::<Vec<_>>(),
            "all of them"
        );
        let alone = warehouses >= workers as u32;
        assert!(
            owners.values().all(|workers| !alone || workers.len() == 1),
            "{warehouses} {workers}: {owners:?}"
        );
    }
    let any = tpcc(&[("warehouses", "8"), ("home", "any")]);
    let homes: BTreeSet<u32> = inputs(&any, Seat::new(0, 8, 1), 500).iter().map(home).collect();
    assert_eq!(homes, (1..=8).collect());
}

#[test]
fn the_seed_and_the_seat_decide() {
    let tpcc = tpcc(&[("warehouses", "2")]);
    let drawn = |seat| inputs(&tpcc, seat, 50);
    assert_eq!(drawn(Seat::new(0, 2, 1)), drawn(Seat::new(0, 2, 1)));
    assert_ne!(drawn(Seat::new(0, 2, 1)), drawn(Seat::new(1, 2, 1)));
    assert_ne!(drawn(Seat::new(0, 2, 1)), drawn(Seat::new(0, 2, 2)));
}

#[test]
fn bad_parameters_are_answered_with_what_is_allowed() {
    let error = |name, value| Tpcc::new(&parameters(&[(name, value)])).expect_err("refused").to_string();
    for (name, value, allowed) in [
        ("warehouses", "0", "a whole number from 1 to 65_535"),
        (
            "mix",
            "payments",
            "standard | new-order-payment | new-order | payment | order-status | delivery | stock-level",
        ),
        ("home", "local", "own | any"),
        ("remote-items", "101", "a percentage from 0 to 100"),
        ("item", "copied", "replicated | shared | unprotected"),
        ("reconnaissance", "maybe", "yes | no"),
        ("room", "0", "a whole number from 1 to 1_000"),
    ] {
        assert_eq!(error(name, value), format!("bad value '{value}' for '{name}'; allowed: {allowed}"));
    }
    let given = [("warehouses", "3"), ("by-name", "12.5"), ("mix", "new-order")];
    let resolved = tpcc(&given).resolved();
    let again = Tpcc::new(&resolved.iter().cloned().collect()).expect("what was resolved is valid");
    assert_eq!(again.resolved(), resolved);
}
