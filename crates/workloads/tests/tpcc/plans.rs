//! What plans declare is what transactions touch.

use crate::common::{self, Store, planned};
use crate::running::drawn;
use crate::tpcc;
use contract::{Access, Key, Seat, Workload};
use std::collections::BTreeSet;
use workloads::tpcc::inputs::Input;
use workloads::tpcc::{CUSTOMER, ITEM, ORDER_LINE, UNUSED_ITEM};

#[test]
fn plans_declare_every_partition_that_is_touched() {
    for given in [
        vec![("warehouses", "2"), ("remote-items", "20"), ("remote-payments", "50"), ("item", "replicated")],
        vec![("warehouses", "2"), ("remote-payments", "50"), ("item", "shared"), ("reconnaissance", "yes")],
        vec![("warehouses", "2"), ("remote-items", "20"), ("items", "10"), ("customers", "10")],
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
                tables[usize::from(touched.0)].partition.of(Key(touched.1), partitions)
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
