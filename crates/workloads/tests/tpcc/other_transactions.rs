//! Order-Status, Delivery and Stock-Level: clauses 2.6 to 2.8; and how many bytes all of them name.

use crate::common::{self, Store};
use crate::running::{drawn, lose, namesakes, row, show, with_row};
use crate::tpcc;
use contract::{Access, Direction, Key, Outcome, Seat, TableId, Workload};
use std::collections::{BTreeMap, BTreeSet};
use workloads::tpcc::inputs::{Input, Who};
use workloads::tpcc::rows::{Customer, Order, OrderLine, Stock};
use workloads::tpcc::screens::{DeliveryScreen, OrderStatusScreen};
use workloads::tpcc::{
    CUSTOMER, DISTRICT, NEW_ORDER, ORDER, ORDER_BY_CUSTOMER, ORDER_LINE, STOCK, Screen, Tpcc,
    TpccTransaction, WAREHOUSE, keys,
};

fn status(store: &mut Store<'_, Tpcc>, transaction: &TpccTransaction) -> OrderStatusScreen {
    match show(store, transaction) {
        Screen::OrderStatus(screen) => screen,
        other => panic!("{other:?}"),
    }
}

#[test]
fn order_status_shows_the_last_order() {
    let one = tpcc(&[]);
    let mut store = Store::whole(&one);
    let mut client = one.client(Seat::new(0, 1, 9));
    for _ in 0..2000 {
        store.run(&mut client);
    }
    let (mut new, mut delivered) = (0, 0);
    let statuses = tpcc(&[("mix", "order-status")]);
    for transaction in drawn(&statuses, 4).take(300) {
        let Input::OrderStatus(input) = *transaction.input() else { panic!("of the mix") };
        let screen = status(&mut store, &transaction);
        match &input.who {
            Who::Id(c_id) => assert_eq!(*c_id, screen.c_id),
            Who::LastName(last) => {
                let all = namesakes(&store, input.w_id, input.d_id, last);
                assert_eq!(screen.c_id, all[all.len().div_ceil(2) - 1].c_id);
            }
        }
        let writes = store.log.iter().filter(|touched| touched.3 != Access::Read).count();
        assert_eq!(writes, 0, "read-only");
        let order = store.scans.iter().find(|scan| scan.table == ORDER_BY_CUSTOMER).expect("one scan");
        assert_eq!((order.direction, order.limit, order.shown.len()), (Direction::Backward, 1, 1));
        let (w_id, d_id) = (input.w_id, input.d_id);
        let customer: Customer = row(&mut store, CUSTOMER, keys::customer(w_id, d_id, screen.c_id));
        assert_eq!((screen.c_balance, screen.c_first), (customer.c_balance, customer.c_first));
        let is_his = |row: &&Order| row.o_d_id == d_id && row.o_c_id == screen.c_id;
        let last = *store
            .rows_of::<Order>(ORDER)
            .map(|(_, row)| row)
            .filter(is_his)
            .max_by_key(|row| row.o_id)
            .expect("one");
        assert_eq!(
            (screen.o_id, screen.o_entry_d, screen.o_carrier_id),
            (last.o_id, last.o_entry_d, last.o_carrier_id)
        );
        assert_eq!(screen.count, last.o_ol_cnt);
        for number in 1..=usize::from(screen.count) {
            let line: OrderLine =
                row(&mut store, ORDER_LINE, keys::order_line(w_id, d_id, last.o_id, number as u32));
            let shown = &screen.lines[number - 1];
            assert_eq!((shown.ol_i_id, shown.ol_amount), (line.ol_i_id, line.ol_amount));
            assert_eq!((shown.ol_quantity, shown.ol_delivery_d), (line.ol_quantity, line.ol_delivery_d));
            assert_eq!(shown.ol_supply_w_id, line.ol_supply_w_id);
        }
        new += usize::from(last.o_id > 3000);
        delivered += usize::from(last.o_carrier_id > 0);
    }
    assert!(new > 3 && delivered > 10, "{new} new, {delivered} delivered");
}

#[test]
fn deliveries_deliver_the_oldest_order_of_each_district() {
    let one = tpcc(&[("mix", "delivery")]);
    let mut store = Store::whole(&one);
    // District 3 has one order to deliver, district 7 none.
    (2102..=3000).for_each(|o_id| lose(&mut store, NEW_ORDER, keys::order(1, 3, o_id)));
    (2101..=3000).for_each(|o_id| lose(&mut store, NEW_ORDER, keys::order(1, 7, o_id)));
    for (nth, transaction) in (0..).zip(drawn(&one, 8).take(3)) {
        let Input::Delivery(input) = *transaction.input() else { panic!("of the mix") };
        let o_id = 2101 + nth;
        let balances: BTreeMap<u32, i64> = (1..=10)
            .map(|d_id| {
                let order: Order = row(&mut store, ORDER, keys::order(1, d_id, o_id));
                let customer: Customer = row(&mut store, CUSTOMER, keys::customer(1, d_id, order.o_c_id));
                (d_id, customer.c_balance)
            })
            .collect();
        let Screen::Delivery(DeliveryScreen { o_ids }) = show(&mut store, &transaction) else { panic!() };
        assert_eq!(store.scans.len(), 10);
        let is_step = |scan: &common::Scanned| scan.limit == 1 && scan.direction == Direction::Forward;
        assert!(store.scans.iter().all(|scan| scan.table == NEW_ORDER && is_step(scan)));
        for d_id in 1..=10 {
            let has_none = d_id == 7 || (d_id == 3 && nth > 0);
            assert_eq!(o_ids[d_id as usize - 1], if has_none { 0 } else { o_id });
            if has_none {
                continue;
            }
            let key = keys::order(1, d_id, o_id);
            assert!(store.row(NEW_ORDER, key).is_none(), "no new order any more");
            let order: Order = row(&mut store, ORDER, key);
            assert_eq!(order.o_carrier_id, input.carrier_id);
            let lines: Vec<OrderLine> = (1..=u32::from(order.o_ol_cnt))
                .map(|number| row(&mut store, ORDER_LINE, keys::order_line(1, d_id, o_id, number)))
                .collect();
            assert!(lines.iter().all(|line| line.ol_delivery_d == input.delivery_d));
            let amount: i64 = lines.iter().map(|line| i64::from(line.ol_amount)).sum();
            let customer: Customer = row(&mut store, CUSTOMER, keys::customer(1, d_id, order.o_c_id));
            assert_eq!(customer.c_balance, balances[&d_id] + amount);
            assert_eq!(customer.c_delivery_cnt, 1);
        }
    }
    let mut client = one.client(Seat::new(0, 1, 8));
    assert_eq!(store.run(&mut client), Outcome::Commit);
    assert_eq!(client.skipped_deliveries(), 2);
}

#[test]
fn stock_levels_count_the_distinct_items_of_twenty_orders() {
    let one = tpcc(&[("mix", "stock-level")]);
    let mut store = Store::whole(&one);
    let mut low = BTreeSet::new();
    for transaction in drawn(&one, 8).take(60) {
        let Input::StockLevel(input) = *transaction.input() else { panic!("of the mix") };
        let Screen::StockLevel(screen) = show(&mut store, &transaction) else { panic!("of the mix") };
        let reads = store.log.iter().filter(|touched| touched.0 == STOCK.0).count();
        let [scan] = &store.scans[..] else { panic!("one scan") };
        assert_eq!(scan.table, ORDER_LINE);
        let is_last =
            |row: &&OrderLine| u32::from(row.ol_d_id) == input.d_id && (2981..=3000).contains(&row.ol_o_id);
        let lines: Vec<OrderLine> =
            store.rows_of::<OrderLine>(ORDER_LINE).map(|(_, row)| row).filter(is_last).copied().collect();
        assert_eq!(scan.shown.len(), lines.len());
        let items: BTreeSet<u32> = lines.iter().map(|line| line.ol_i_id).collect();
        assert_eq!(reads, items.len(), "every stock once");
        let is_low = |i_id: &&u32| {
            row::<Stock>(&mut store, STOCK, keys::stock(1, **i_id)).s_quantity < input.threshold
        };
        assert_eq!(screen.low_stock as usize, items.iter().filter(is_low).count());
        low.insert(screen.low_stock);
    }
    assert!(low.len() > 5, "{low:?}");
    // All lines of one item: it counts once.
    let transaction = drawn(&one, 8).next().expect("endless");
    let Input::StockLevel(input) = *transaction.input() else { panic!("of the mix") };
    let keys_of_lines: Vec<Key> = store.keys(ORDER_LINE).collect();
    for key in keys_of_lines {
        with_row(&mut store, ORDER_LINE, key, |line: &mut OrderLine| line.ol_i_id = 77);
    }
    for (quantity, expected) in [(input.threshold - 1, 1), (input.threshold, 0)] {
        with_row(&mut store, STOCK, keys::stock(1, 77), |stock: &mut Stock| stock.s_quantity = quantity);
        let Screen::StockLevel(screen) = show(&mut store, &transaction) else { panic!("of the mix") };
        assert_eq!(screen.low_stock, expected);
    }
}

#[test]
fn operations_name_no_more_bytes_than_they_need() {
    let one = tpcc(&[]);
    let mut store = Store::whole(&one);
    let mut spans: BTreeMap<(u16, bool), BTreeSet<(usize, usize)>> = BTreeMap::new();
    let mut client = one.client(Seat::new(0, 1, 2));
    for _ in 0..300 {
        store.run(&mut client);
    }
    for (table, _, span, access) in &store.log {
        if *access != Access::Structure {
            spans.entry((*table, *access == Access::Write)).or_default().insert(*span);
        }
    }
    let written = |table: TableId| spans[&(table.0, true)].iter().copied().collect::<Vec<_>>();
    assert_eq!(written(WAREHOUSE), [(0, 8)]);
    assert_eq!(written(DISTRICT), [(0, 8), (8, 16)]);
    assert_eq!(written(CUSTOMER), [(0, 24), (179, 679)]);
    assert_eq!(written(STOCK), [(0, 66)]);
    assert_eq!(written(ORDER), [(20, 26)]);
    assert_eq!(written(ORDER_LINE), [(0, 12)]);
    let most_read = |table: TableId| spans[&(table.0, false)].iter().map(|span| span.1 - span.0).max();
    assert_eq!(most_read(STOCK), Some(24));
    assert_eq!(most_read(CUSTOMER), Some(155));
    assert_eq!(most_read(WAREHOUSE), Some(81));
}
