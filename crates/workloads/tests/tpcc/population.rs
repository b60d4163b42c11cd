//! The population of clause 4.3.3, row by row.

use crate::common::deviation;
use crate::supplier::{Supplier, loaded};
use crate::tpcc;
use contract::{Indexing, Key, TableDescription, Workload};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use workloads::tpcc::rows::{
    Address, Customer, District, Entry, History, Item, Order, OrderLine, Stock, Warehouse, text,
};
use workloads::tpcc::{
    CUSTOMER, CUSTOMER_BY_NAME, DISTRICT, HISTORY, ITEM, ORDER, ORDER_BY_CUSTOMER, STOCK, WAREHOUSE, keys,
    names,
};
use zerocopy::{FromZeros, IntoBytes};

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

#[test]
fn smaller_warehouses_have_the_standards_proportions() {
    let rows = |items, customers| -> Vec<u64> {
        let small = tpcc(&[("warehouses", "2"), ("items", items), ("customers", customers)]);
        small.tables().iter().map(|table| table.rows).collect()
    };
    // As DBx1000's small warehouses.
    let small = [2, 20, 40_000, 40_000, 12_000, 40_000, 400_000, 20_000, 20_000, 40_000, 40_000];
    assert_eq!(rows("10000", "2000"), small);
    let tiny = [2, 20, 200, 200, 60, 200, 2_000, 20, 20, 200, 200];
    assert_eq!(rows("10", "10"), tiny, "the least");
}

#[test]
fn smaller_warehouses_are_filled() {
    let whole = tpcc(&[]);
    for (items, customers) in [("10000", "1100"), ("1000", "30"), ("10", "10")] {
        let small = tpcc(&[("warehouses", "2"), ("items", items), ("customers", customers)]);
        let (scale, supplier) = (small.scale(), Supplier::loaded(&small));
        let named: BTreeSet<[u8; 16]> = supplier
            .customers
            .values()
            .filter(|row| (row.c_w_id, row.c_d_id) == (2, 7))
            .map(|row| row.c_last)
            .collect();
        assert_eq!(named, (0..scale.last_names()).map(names::last_name).collect(), "every name is there");
        let of_district = supplier.orders.values().filter(|row| (row.o_w_id, row.o_d_id) == (2, 7));
        let ordering: BTreeSet<u32> = of_district.map(|row| row.o_c_id).collect();
        assert_eq!(ordering, (1..=scale.customers()).collect(), "every customer has one order");
        for (key, row) in &supplier.orders {
            let is_new = row.o_id >= scale.first_new_order();
            assert_eq!((supplier.new_orders.contains_key(key), row.o_carrier_id == 0), (is_new, is_new));
        }
        for row in supplier.order_lines.values() {
            assert!((1..=scale.items()).contains(&row.ol_i_id));
            assert_eq!(row.ol_delivery_d == 0, row.ol_o_id >= scale.first_new_order());
        }
        for row in supplier.districts.values() {
            assert_eq!(
                (row.d_ytd, row.d_next_o_id),
                (1_000 * i64::from(scale.customers()), scale.orders() + 1)
            );
        }
        // A smaller warehouse has the first of the standard's items, and their stocks.
        for (key, row) in loaded::<Item>(&small, ITEM) {
            let mut same = Item::new_zeroed();
            whole.fill(ITEM, key, same.as_mut_bytes());
            assert!(row == same && (1..=scale.items()).contains(&row.i_id));
        }
        for (key, row) in loaded::<Stock>(&small, STOCK) {
            assert!(key == keys::stock(row.s_w_id, row.s_i_id) && (1..=scale.items()).contains(&row.s_i_id));
        }
    }
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
