//! TPC-C: what each of the five transactions reads, writes and shows, that thousands of them leave the database consistent,
//! and that the audit tells when it is not.

mod common;

use common::{Store, deviation, parameters, planned};
use contract::{
    Access, Client, Direction, Key, Outcome, Seat, TableId, Transaction, TransactionExt, Workload,
};
use std::collections::{BTreeMap, BTreeSet};
use workloads::audit::{Audit, Audited};
use workloads::tpcc::inputs::{Input, NewOrderInput, PaymentInput, Who};
use workloads::tpcc::rows::{
    Customer, District, Entry, History, Item, NewOrder, Order, OrderLine, Stock, Warehouse, text,
};
use workloads::tpcc::screens::{DeliveryScreen, OrderStatusScreen};
use workloads::tpcc::{
    Auditor, CUSTOMER, CUSTOMER_BY_NAME, DISTRICT, HISTORY, ITEM, NEW_ORDER, ORDER, ORDER_BY_CUSTOMER,
    ORDER_LINE, STOCK, Screen, Tpcc, TpccClient, TpccTransaction, TransactionKind, UNUSED_ITEM, WAREHOUSE,
    keys,
};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

fn tpcc(given: &[(&str, &str)]) -> Tpcc {
    Tpcc::new(&parameters(given)).expect("valid parameters")
}

fn row<R: FromBytes + IntoBytes + KnownLayout + Immutable + Copy>(
    store: &mut Store<'_, Tpcc>,
    table: TableId,
    key: Key,
) -> R {
    *R::ref_from_bytes(store.row(table, key).expect("a row")).expect("of the table")
}

fn with_row<R: FromBytes + IntoBytes + KnownLayout + Immutable>(
    store: &mut Store<'_, Tpcc>,
    table: TableId,
    key: Key,
    change: impl FnOnce(&mut R),
) {
    assert_eq!(store.update_row(table, key, change), Ok(Some(())));
}

fn lose(store: &mut Store<'_, Tpcc>, table: TableId, key: Key) {
    assert_eq!(store.delete(table, key), Ok(contract::Presence::Present));
}

/// Transactions of one client, to choose from.
fn drawn(tpcc: &Tpcc, seed: u64) -> impl Iterator<Item = TpccTransaction> {
    let mut client = tpcc.client(Seat::new(0, 1, seed));
    std::iter::repeat_with(move || client.next())
}

fn new_orders(tpcc: &Tpcc) -> impl Iterator<Item = (TpccTransaction, NewOrderInput)> {
    drawn(tpcc, 3).filter_map(|transaction| match *transaction.input() {
        Input::NewOrder(input) => Some((transaction, input)),
        _ => None,
    })
}

fn payments(tpcc: &Tpcc) -> impl Iterator<Item = (TpccTransaction, PaymentInput)> {
    drawn(tpcc, 3).filter_map(|transaction| match *transaction.input() {
        Input::Payment(input) => Some((transaction, input)),
        _ => None,
    })
}

fn show(store: &mut Store<'_, Tpcc>, transaction: &TpccTransaction) -> Screen {
    store.forget();
    transaction.show(store).expect("the store never aborts")
}

/// What is in a store, table by table.
fn contents(store: &Store<'_, Tpcc>) -> Vec<BTreeMap<Vec<u8>, Vec<u8>>> {
    fn of<R: FromBytes + IntoBytes + KnownLayout + Immutable + 'static>(
        store: &Store<'_, Tpcc>,
        table: TableId,
    ) -> BTreeMap<Vec<u8>, Vec<u8>> {
        store.rows_of::<R>(table).map(|(key, row)| (key.to_vec(), row.as_bytes().to_vec())).collect()
    }
    vec![
        of::<Warehouse>(store, WAREHOUSE),
        of::<District>(store, DISTRICT),
        of::<Customer>(store, CUSTOMER),
        of::<History>(store, HISTORY),
        of::<NewOrder>(store, NEW_ORDER),
        of::<Order>(store, ORDER),
        of::<OrderLine>(store, ORDER_LINE),
        of::<Stock>(store, STOCK),
        of::<Entry>(store, CUSTOMER_BY_NAME),
        of::<Entry>(store, ORDER_BY_CUSTOMER),
    ]
}

#[test]
fn new_orders_take_from_stocks_and_enter_lines() {
    let two = tpcc(&[("warehouses", "2"), ("remote-items", "30"), ("rollbacks", "0"), ("mix", "new-order")]);
    let mut store = Store::whole(&two);
    let mut brands = 0;
    for (transaction, input) in new_orders(&two).take(300) {
        let NewOrderInput { w_id, d_id, c_id, .. } = input;
        let district = keys::district(w_id, d_id);
        let before: District = row(&mut store, DISTRICT, district);
        let stocks: Vec<Stock> = input
            .lines()
            .iter()
            .map(|line| row(&mut store, STOCK, keys::stock(line.supply_w_id, line.i_id)))
            .collect();
        let Screen::NewOrder(Some(screen)) = show(&mut store, &transaction) else { panic!("an order") };
        let o_id = before.d_next_o_id;
        let after: District = row(&mut store, DISTRICT, district);
        assert_eq!(after, District { d_next_o_id: o_id + 1, ..before });
        assert_eq!(screen.o_id, o_id);

        let key = keys::order(w_id, d_id, o_id);
        let order: Order = row(&mut store, ORDER, key);
        assert_eq!((order.o_id, order.o_c_id, order.o_d_id, order.o_w_id), (o_id, c_id, d_id, w_id));
        assert_eq!((order.o_carrier_id, order.o_ol_cnt, order.o_entry_d), (0, input.count, input.entry_d));
        assert_eq!(order.o_all_local == 1, input.is_local());
        let new: NewOrder = row(&mut store, NEW_ORDER, key);
        assert_eq!((new.no_w_id, new.no_d_id, new.no_o_id), (w_id, d_id, o_id));
        let entry = keys::order_of_customer(w_id, d_id, c_id, o_id);
        assert_eq!(Key(row::<Entry>(&mut store, ORDER_BY_CUSTOMER, entry).key), key);

        let customer: Customer = row(&mut store, CUSTOMER, keys::customer(w_id, d_id, c_id));
        assert_eq!((screen.c_last, screen.c_credit), (customer.c_last, customer.c_credit));
        let mut sum = 0.0;
        for (nth, line) in input.lines().iter().enumerate() {
            let item: Item = row(&mut store, ITEM, keys::item(w_id - 1, line.i_id));
            let stock: Stock = row(&mut store, STOCK, keys::stock(line.supply_w_id, line.i_id));
            let entered: OrderLine =
                row(&mut store, ORDER_LINE, keys::order_line(w_id, d_id, o_id, nth as u32 + 1));
            assert_eq!(entered.ol_amount, item.i_price * u32::from(line.quantity));
            assert_eq!((entered.ol_i_id, entered.ol_supply_w_id), (line.i_id, line.supply_w_id));
            assert_eq!((entered.ol_quantity, entered.ol_delivery_d), (line.quantity, 0));
            assert_eq!((entered.ol_o_id, entered.ol_d_id, entered.ol_w_id), (o_id, d_id as u8, w_id));
            assert_eq!(usize::from(entered.ol_number), nth + 1);
            assert_eq!(entered.ol_dist_info, stock.s_dist[d_id as usize - 1]);
            sum += f64::from(entered.ol_amount);
            let shown = &screen.lines[nth];
            let is_original = |data: &[u8]| data.windows(8).any(|word| word == b"ORIGINAL");
            assert_eq!(shown.is_brand, is_original(&item.i_data) && is_original(&stock.s_data));
            assert_eq!(
                (shown.i_name, shown.i_price, shown.ol_amount),
                (item.i_name, item.i_price, entered.ol_amount)
            );
            brands += usize::from(shown.is_brand);
            // An item that comes twice is taken twice.
            if input.lines().iter().filter(|other| other.i_id == line.i_id).count() == 1 {
                let was = &stocks[nth];
                let wanted = i32::from(line.quantity);
                let left = was.s_quantity - wanted;
                let left = if was.s_quantity >= wanted + 10 { left } else { left + 91 };
                assert_eq!((stock.s_quantity, shown.s_quantity), (left, left));
                assert_eq!(stock.s_ytd, was.s_ytd + u32::from(line.quantity));
                assert_eq!(stock.s_order_cnt, was.s_order_cnt + 1);
                assert_eq!(stock.s_remote_cnt, was.s_remote_cnt + u32::from(line.supply_w_id != w_id));
            }
        }
        let warehouse: Warehouse = row(&mut store, WAREHOUSE, keys::warehouse(w_id));
        let rate = |hundredths: u32| f64::from(hundredths) / 10_000.0;
        let taxed = 1.0 + rate(warehouse.w_tax) + rate(before.d_tax);
        let total = sum * (1.0 - rate(customer.c_discount)) * taxed;
        assert!((screen.total_amount as f64 - total).abs() < 0.51, "{} for {total}", screen.total_amount);
    }
    assert!((1..200).contains(&brands), "{brands} brands: a hundredth of the lines");
}

#[test]
fn an_item_that_does_not_exist_is_rolled_back_after_the_others() {
    for item in ["replicated", "shared", "unprotected"] {
        let all = tpcc(&[("rollbacks", "100"), ("mix", "new-order"), ("item", item)]);
        let mut store = Store::whole(&all);
        let before = contents(&store);
        let mut client = all.client(Seat::new(0, 1, 1));
        for _ in 0..20 {
            store.log.clear();
            assert_eq!(store.run(&mut client), Outcome::Rollback);
            let lines = store.log.iter().filter(|touched| touched.0 == ORDER_LINE.0).count();
            assert!((4..=14).contains(&lines), "all lines but the last were entered");
        }
        assert_eq!((client.rolled_back(), client.committed(TransactionKind::NewOrder)), (20, 0));
        assert!(contents(&store) == before, "nothing is left of them");
    }
}

#[test]
fn rollbacks_are_a_hundredth() {
    let one = tpcc(&[("mix", "new-order")]);
    let mut store = Store::whole(&one);
    let mut client = one.client(Seat::new(0, 1, 1));
    let rollbacks = store.run_declared(&mut client, 3000);
    assert!(deviation(rollbacks, 3000, 1.0) < 4.0, "{rollbacks} of 3000");
}

#[test]
fn items_are_the_same_wherever_they_are() {
    let shown = |item: &str| {
        let two = tpcc(&[("warehouses", "2"), ("home", "any"), ("mix", "new-order"), ("item", item)]);
        let mut store = Store::whole(&two);
        let mut touched = BTreeSet::new();
        let screens: Vec<Screen> = new_orders(&two)
            .take(40)
            .map(|(transaction, _)| {
                let screen = show(&mut store, &transaction);
                touched.extend(store.log.iter().filter(|one| one.0 == ITEM.0).map(|one| one.1 >> 17));
                screen
            })
            .collect();
        (screens, touched)
    };
    let (replicated, copies) = shown("replicated");
    assert_eq!(copies, BTreeSet::from([0, 1]), "the copies of both warehouses");
    assert_eq!(shown("shared"), (replicated.clone(), BTreeSet::from([0])));
    assert_eq!(shown("unprotected"), (replicated, BTreeSet::new()), "the engine sees nothing of it");
}

/// The customers of a name, in the order of their first names, worked out from the rows.
fn namesakes(store: &Store<'_, Tpcc>, w_id: u32, d_id: u32, last: &[u8; 16]) -> Vec<Customer> {
    let is_one = |row: &&Customer| row.c_w_id == w_id && row.c_d_id == d_id && row.c_last == *last;
    let mut all: Vec<Customer> =
        store.rows_of::<Customer>(CUSTOMER).map(|(_, row)| row).filter(is_one).copied().collect();
    all.sort_by_key(|row| (row.c_first, row.c_id));
    all
}

#[test]
fn payments_add_up_everywhere() {
    let two = tpcc(&[("warehouses", "2"), ("remote-payments", "50"), ("mix", "payment")]);
    let mut store = Store::whole(&two);
    let (mut by_name, mut bad) = (0, 0);
    for (transaction, input) in payments(&two).take(300) {
        let PaymentInput { w_id, d_id, c_w_id, c_d_id, .. } = input;
        let amount = i64::from(input.amount);
        let c_id = match &input.who {
            Who::Id(c_id) => *c_id,
            Who::LastName(last) => {
                by_name += 1;
                let all = namesakes(&store, c_w_id, c_d_id, last);
                // The n/2-th, rounded up, counted from 1.
                all[all.len().div_ceil(2) - 1].c_id
            }
        };
        let customer = keys::customer(c_w_id, c_d_id, c_id);
        let was: Customer = row(&mut store, CUSTOMER, customer);
        let was_w: Warehouse = row(&mut store, WAREHOUSE, keys::warehouse(w_id));
        let was_d: District = row(&mut store, DISTRICT, keys::district(w_id, d_id));
        let Screen::Payment(screen) = show(&mut store, &transaction) else { panic!("a payment") };
        let w: Warehouse = row(&mut store, WAREHOUSE, keys::warehouse(w_id));
        assert_eq!(w, Warehouse { w_ytd: was_w.w_ytd + amount, ..was_w });
        let d: District = row(&mut store, DISTRICT, keys::district(w_id, d_id));
        assert_eq!(d, District { d_ytd: was_d.d_ytd + amount, ..was_d });
        let is: Customer = row(&mut store, CUSTOMER, customer);
        let expected = Customer {
            c_balance: was.c_balance - amount,
            c_ytd_payment: was.c_ytd_payment + amount,
            c_payment_cnt: was.c_payment_cnt + 1,
            c_data: is.c_data,
            ..was
        };
        assert_eq!(is, expected);
        let touches_data = store.log.iter().any(|touched| touched.0 == CUSTOMER.0 && touched.2.1 > 179);
        if is.c_credit == *b"BC" {
            bad += 1;
            let amount = format!("{}.{:02}", input.amount / 100, input.amount % 100);
            let note = format!("{c_id} {c_d_id} {c_w_id} {d_id} {w_id} {amount} ");
            assert_eq!(is.c_data[..note.len()], *note.as_bytes());
            assert_eq!(is.c_data[note.len()..], was.c_data[..500 - note.len()], "shifted");
            assert_eq!(screen.c_data, Some(*is.c_data.first_chunk().expect("500")));
        } else {
            assert!(is.c_data == was.c_data && screen.c_data.is_none() && !touches_data);
        }
        assert_eq!((screen.c_id, screen.c_balance, screen.c_last), (c_id, is.c_balance, is.c_last));
        assert_eq!((screen.w_address, screen.d_address), (w.w_address, d.d_address));
        assert_eq!((screen.c_address, screen.c_credit_lim), (is.c_address, is.c_credit_lim));

        let history: History =
            row(&mut store, HISTORY, keys::history(c_w_id, c_d_id, c_id, is.c_payment_cnt));
        assert_eq!((history.h_c_w_id, history.h_c_d_id, history.h_c_id), (c_w_id, c_d_id, c_id));
        assert_eq!((history.h_w_id, history.h_d_id), (w_id, d_id));
        assert_eq!((history.h_amount, history.h_date), (amount, input.date));
        let names = [text(&w.w_name), b"    ", text(&d.d_name)].concat();
        assert_eq!(text(&history.h_data), names);
    }
    assert!(by_name > 150 && bad > 10, "{by_name} by name, {bad} of bad credit");
}

#[test]
fn names_are_looked_up_by_one_scan() {
    let one = tpcc(&[("mix", "payment"), ("by-name", "100")]);
    let mut store = Store::whole(&one);
    let mut sizes = BTreeSet::new();
    for (transaction, input) in payments(&one).take(100) {
        show(&mut store, &transaction);
        let [scan] = &store.scans[..] else { panic!("one scan") };
        assert_eq!((scan.table, scan.direction), (CUSTOMER_BY_NAME, Direction::Forward));
        let Who::LastName(last) = input.who else { panic!("by name") };
        let names: Vec<Vec<u8>> = namesakes(&store, input.c_w_id, input.c_d_id, &last)
            .iter()
            .map(|row| {
                keys::customer_by_name(row.c_w_id, row.c_d_id, &row.c_last, &row.c_first, row.c_id).to_vec()
            })
            .collect();
        assert_eq!(scan.shown, names);
        sizes.insert(names.len());
    }
    assert!(sizes.len() > 3, "{sizes:?}");
}

#[test]
fn reconnaissance_names_the_customer_ahead_and_nothing_relies_on_it() {
    for (mix, table) in [("payment", CUSTOMER), ("order-status", CUSTOMER)] {
        let one = tpcc(&[("mix", mix), ("by-name", "100")]);
        let mut store = Store::whole(&one);
        for transaction in drawn(&one, 5).take(50) {
            let ahead = planned(&mut store, &transaction);
            let guess: Vec<u64> =
                ahead.iter().filter(|planned| planned.0 == table.0).map(|planned| planned.1).collect();
            store.log.clear();
            assert_eq!(store.attempt(&transaction), Outcome::Commit);
            let touched: BTreeSet<u64> =
                store.log.iter().filter(|touched| touched.0 == table.0).map(|touched| touched.1).collect();
            assert_eq!(touched, guess.iter().copied().collect(), "one customer, as planned");
            assert_eq!(guess.len(), 1);
        }
        // Between plan and run another customer of the name comes: the plan is stale, and the run goes by what is there.
        let transaction = drawn(&one, 5).next().expect("endless");
        let guess = planned(&mut store, &transaction);
        let guess = guess.iter().find(|planned| planned.0 == table.0).expect("named").1;
        let (w_id, d_id, last) = match *transaction.input() {
            Input::Payment(PaymentInput { c_w_id, c_d_id, who: Who::LastName(last), .. }) => {
                (c_w_id, c_d_id, last)
            }
            Input::OrderStatus(input) => match input.who {
                Who::LastName(last) => (input.w_id, input.d_id, last),
                Who::Id(_) => panic!("by name"),
            },
            _ => panic!("by name"),
        };
        let all = namesakes(&store, w_id, d_id, &last);
        for nth in 0..2 * all.len() as u32 {
            // As many as there are come before all others, and stand for one customer.
            let (entry, c_id) = (keys::customer_by_name(w_id, d_id, &last, &[b'0'; 16], nth), 1);
            let name = store.key(CUSTOMER_BY_NAME, &entry);
            let target = Entry { key: keys::customer(w_id, d_id, c_id).0 };
            let _ = store.insert(CUSTOMER_BY_NAME, name, target.as_bytes()).expect("never aborts");
        }
        store.log.clear();
        assert_eq!(store.attempt(&transaction), Outcome::Commit);
        let touched = store.log.iter().find(|touched| touched.0 == table.0).expect("a customer").1;
        assert_eq!(Key(touched), keys::customer(w_id, d_id, 1));
        assert_ne!(touched, guess, "the plan was stale");
    }
    let without = tpcc(&[("mix", "payment"), ("by-name", "100"), ("reconnaissance", "no")]);
    let mut store = Store::whole(&without);
    let transaction = drawn(&without, 5).next().expect("endless");
    let ahead = planned(&mut store, &transaction);
    assert!(store.scans.is_empty(), "nothing was looked at");
    assert!(ahead.iter().all(|planned| planned.0 != CUSTOMER.0));
    assert!(ahead.iter().any(|planned| planned.0 == CUSTOMER_BY_NAME.0), "its partition");
}

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
    assert_eq!(written(STOCK), [(0, 16)]);
    assert_eq!(written(ORDER), [(20, 26)]);
    assert_eq!(written(ORDER_LINE), [(0, 12)]);
    let most_read = |table: TableId| spans[&(table.0, false)].iter().map(|span| span.1 - span.0).max();
    assert_eq!(most_read(STOCK), Some(50));
    assert_eq!(most_read(CUSTOMER), Some(155));
    assert_eq!(most_read(WAREHOUSE), Some(81));
}

/// So many clients in turn over a store.
fn ran<'a>(tpcc: &'a Tpcc, clients: usize, rounds: usize) -> (Store<'a, Tpcc>, Vec<TpccClient>) {
    let mut store = Store::whole(tpcc);
    let mut all: Vec<_> = (0..clients).map(|worker| tpcc.client(Seat::new(worker, clients, 3))).collect();
    for _ in 0..rounds {
        all.iter_mut().for_each(|client| {
            store.run(client);
        });
        store.forget();
    }
    (store, all)
}

/// Drives the audit's rounds by so many auditors.
fn auditors(tpcc: &Tpcc, store: &mut Store<'_, Tpcc>, count: usize) -> Vec<Auditor> {
    common::audited(&tpcc.audit(), store, count)
}

fn verdict(tpcc: &Tpcc, store: &mut Store<'_, Tpcc>, clients: &[TpccClient]) -> Result<(), String> {
    let auditors = auditors(tpcc, store, 3);
    tpcc.audit().verdict(clients, &auditors).map_err(|finding| finding.to_string())
}

#[test]
fn thousands_of_transactions_leave_the_database_consistent() {
    for given in [
        vec![],
        vec![("warehouses", "2"), ("remote-items", "20"), ("remote-payments", "50"), ("rollbacks", "10")],
        vec![("mix", "new-order-payment")],
        vec![("mix", "delivery")],
    ] {
        let tpcc = tpcc(&given);
        let (mut store, clients) = ran(&tpcc, 2, 1500);
        assert_eq!(verdict(&tpcc, &mut store, &clients), Ok(()), "{given:?}");
        let committed: u64 =
            clients.iter().flat_map(|client| TransactionKind::ALL.map(|kind| client.committed(kind))).sum();
        let rolled_back: u64 = clients.iter().map(TpccClient::rolled_back).sum();
        assert_eq!(committed + rolled_back, 3000);
        if given.is_empty() {
            for (kind, percent) in TransactionKind::ALL.into_iter().zip([45, 43, 4, 4, 4]) {
                let committed: u64 = clients.iter().map(|client| client.committed(kind)).sum();
                let rolled_back = if kind == TransactionKind::NewOrder { rolled_back } else { 0 };
                assert_eq!(committed + rolled_back, 30 * percent, "{kind:?}");
            }
        }
    }
}

#[test]
fn plans_declare_every_partition_that_is_touched() {
    for given in [
        vec![("warehouses", "2"), ("remote-items", "20"), ("remote-payments", "50"), ("item", "replicated")],
        vec![("warehouses", "2"), ("remote-payments", "50"), ("item", "shared"), ("reconnaissance", "no")],
    ] {
        let tpcc = tpcc(&given);
        let mut store = Store::whole(&tpcc);
        for worker in 0..3 {
            store.run_declared(&mut tpcc.client(Seat::new(worker, 3, 6).over(3)), 500);
        }
    }
}

#[test]
fn replicated_items_are_at_home() {
    let home = tpcc(&[("warehouses", "2"), ("home", "any"), ("remote-items", "0"), ("remote-payments", "0")]);
    let tables = home.tables();
    let mut store = Store::whole(&home);
    for transaction in drawn(&home, 2).take(500) {
        let planned = planned(&mut store, &transaction);
        store.forget();
        store.attempt(&transaction);
        for partitions in [2, 3, 5, 72] {
            let place = |touched: &common::Touched| {
                (tables[usize::from(touched.0)].partition)(Key(touched.1), partitions)
            };
            let places: BTreeSet<_> = store.log.iter().chain(&planned).map(place).collect();
            assert_eq!(places.len(), 1, "{:?} over {partitions} partitions", transaction.input());
        }
    }
}

#[test]
fn plans_read_only_and_name_what_is_known() {
    let two = tpcc(&[("warehouses", "2"), ("by-name", "0")]);
    let mut store = Store::whole(&two);
    for transaction in drawn(&two, 2).take(300) {
        let planned = planned(&mut store, &transaction);
        store.forget();
        store.attempt(&transaction);
        let is_known = |touched: &&common::Touched| match transaction.input() {
            Input::NewOrder(_) | Input::Payment(_) => {
                touched.3 != Access::Structure && touched.0 != ORDER_LINE.0
            }
            _ => false,
        };
        for touched in store.log.iter().filter(is_known) {
            if touched.0 == ITEM.0 && touched.1 & 0x1_ffff == u64::from(UNUSED_ITEM) {
                continue;
            }
            let covers = |planned: &&common::Touched| {
                (planned.0, planned.1) == (touched.0, touched.1)
                    && planned.2.0 <= touched.2.0
                    && touched.2.1 <= planned.2.1
                    && (planned.3 == Access::Write || touched.3 == Access::Read)
            };
            let is_note = touched.0 == CUSTOMER.0 && touched.2 == (179, 679);
            assert!(is_note || planned.iter().any(|one| covers(&one)), "{touched:?} is not in {planned:?}");
        }
    }
}

/// What is done to the tables, and a part of what the audit answers.
type Damage = (fn(&mut Store<'_, Tpcc>), &'static str);

#[test]
fn the_audit_rejects_what_was_not_committed() {
    let one = tpcc(&[]);
    let damages: [Damage; 9] = [
        (
            |store| with_row(store, WAREHOUSE, keys::warehouse(1), |row: &mut Warehouse| row.w_ytd += 1),
            "condition 1:",
        ),
        (
            |store| {
                with_row(store, DISTRICT, keys::district(1, 2), |row: &mut District| row.d_next_o_id -= 1)
            },
            "condition 2: district (1, 2)",
        ),
        (|store| lose(store, ORDER_LINE, keys::order_line(1, 2, 77, 3)), "condition 6: order (1, 2, 77)"),
        (|store| lose(store, NEW_ORDER, keys::order(1, 2, 2999)), "condition 3: district (1, 2)"),
        (|store| lose(store, HISTORY, keys::history(1, 4, 99, 1)), "condition 10: customer (1, 4, 99)"),
        (
            |store| {
                let mut row: History = row(store, HISTORY, keys::history(1, 4, 99, 1));
                row.h_amount = 5;
                let last = row_of_payments(store) + 1;
                let key = keys::history(1, 4, 99, last);
                let _ = store.insert(HISTORY, key, row.as_bytes()).expect("never aborts");
            },
            "condition 10: customer (1, 4, 99)",
        ),
        (
            |store| {
                with_row(store, CUSTOMER, keys::customer(1, 4, 99), |row: &mut Customer| row.c_balance += 1)
            },
            "condition 12: customer (1, 4, 99)",
        ),
        (
            |store| {
                let row: Order = row(store, ORDER, keys::order(1, 4, 99));
                let entry = keys::order_of_customer(1, 4, row.o_c_id, 99);
                lose(store, ORDER_BY_CUSTOMER, entry);
            },
            "1 rows are not in their index, order (1, 4, 99) for one",
        ),
        (
            |store| {
                let row: Customer = row(store, CUSTOMER, keys::customer(1, 4, 99));
                let name = keys::customer_by_name(1, 4, &row.c_last, &row.c_first, 99);
                let name = store.key(CUSTOMER_BY_NAME, &name);
                lose(store, CUSTOMER_BY_NAME, name);
            },
            "1 rows are not in their index, customer (1, 4, 99) for one",
        ),
    ];
    let (mut store, clients) = ran(&one, 1, 500);
    for (damage, expected) in damages {
        store.begin();
        damage(&mut store);
        let finding = verdict(&one, &mut store, &clients).expect_err("the tables were changed");
        assert!(finding.contains(expected), "{finding}, and not {expected}");
        store.undo();
    }
    assert_eq!(verdict(&one, &mut store, &clients), Ok(()), "and all was undone");
    // A transaction that is lost whole leaves all conditions as they were.
    for (kind, what) in
        [("new-order", "30223 orders"), ("payment", "30216 payments"), ("delivery", "210 deliveries")]
    {
        let other = tpcc(&[("mix", kind), ("rollbacks", "0")]);
        let lost = other.client(Seat::new(0, 1, 77)).next();
        assert_eq!(store.attempt(&lost), Outcome::Commit);
        let finding = verdict(&one, &mut store, &clients).expect_err("nobody says that it committed");
        assert!(finding.starts_with("there are ") && finding.contains(what), "{finding}");
        store.undo();
    }
}

fn row_of_payments(store: &mut Store<'_, Tpcc>) -> u32 {
    row::<Customer>(store, CUSTOMER, keys::customer(1, 4, 99)).c_payment_cnt
}

#[test]
fn any_number_of_auditors_come_to_one_verdict() {
    let two = tpcc(&[("warehouses", "2")]);
    let (mut store, clients) = ran(&two, 2, 300);
    for count in [1, 2, 7] {
        let auditors = auditors(&two, &mut store, count);
        two.audit().verdict(&clients, &auditors).expect("consistent");
    }
    let audit = Audited::audit(&two).expect("TPC-C has one");
    let mut early: Vec<Auditor> = (0..2).map(|worker| audit.client(Seat::new(worker, 2, 1))).collect();
    let transactions = audit.assign(&mut early);
    assert_eq!(transactions, (2 * (1 + 10 * 150)) / 2, "the first round");
    let finding = audit.verdict(&clients, &early).expect_err("nothing was read").to_string();
    assert_eq!(finding, "3002 parts of the tables were not read");
}

/// A transaction that is drawn ahead and never run is read by whoever is asked next.
#[test]
fn what_an_auditor_drew_and_did_not_read_is_shared_out_again() {
    let one = tpcc(&[]);
    let mut store = Store::whole(&one);
    let audit = one.audit();
    let mut auditors = vec![audit.client(Seat::new(0, 1, 1))];
    let first = audit.assign(&mut auditors);
    drop((auditors[0].next(), auditors[0].next()));
    assert_eq!(audit.assign(&mut auditors), first, "all of it, still");
    let auditors = common::audited(&audit, &mut store, 1);
    audit.verdict(&[], &auditors).expect("what was loaded is consistent");
}

#[test]
fn the_audit_declares_what_it_reads() {
    let two = tpcc(&[("warehouses", "2")]);
    let mut store = Store::whole(&two);
    let audit = two.audit();
    let mut auditor = audit.client(Seat::new(0, 1, 1));
    let mut auditors = vec![audit.client(Seat::new(0, 1, 1))];
    audit.assign(&mut auditors);
    std::mem::swap(&mut auditor, &mut auditors[0]);
    for _ in 0..200 {
        let transaction = auditor.next();
        let planned = planned(&mut store, &transaction);
        store.forget();
        assert_eq!(store.attempt(&transaction), Outcome::Commit);
        common::assert_declared(&two, &store.log, &planned);
        assert!(store.log.iter().all(|touched| touched.3 == Access::Read));
    }
}
