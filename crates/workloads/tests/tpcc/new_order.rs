//! New-Order: clause 2.4.

use crate::common::{Store, deviation};
use crate::running::{contents, new_orders, row, show};
use crate::tpcc;
use contract::{Key, Outcome, Seat, Workload};
use std::collections::BTreeSet;
use workloads::tpcc::inputs::NewOrderInput;
use workloads::tpcc::rows::{Customer, District, Entry, Item, NewOrder, Order, OrderLine, Stock, Warehouse};
use workloads::tpcc::{
    CUSTOMER, DISTRICT, ITEM, NEW_ORDER, ORDER, ORDER_BY_CUSTOMER, ORDER_LINE, STOCK, Screen,
    TransactionKind, WAREHOUSE, keys,
};

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
