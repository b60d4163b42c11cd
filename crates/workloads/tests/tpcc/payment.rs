//! Payment: clause 2.5, and the reconnaissance of customers by name.

use crate::common::{Store, planned};
use crate::running::{drawn, namesakes, payments, row, show};
use crate::tpcc;
use contract::{Direction, Key, Outcome, Transaction};
use std::collections::BTreeSet;
use workloads::tpcc::inputs::{Input, PaymentInput, Who};
use workloads::tpcc::rows::{Customer, District, Entry, History, Warehouse, text};
use workloads::tpcc::{CUSTOMER, CUSTOMER_BY_NAME, DISTRICT, HISTORY, Screen, WAREHOUSE, keys};
use zerocopy::IntoBytes;

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
        let one = tpcc(&[("mix", mix), ("by-name", "100"), ("reconnaissance", "yes")]);
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
    let without = tpcc(&[("mix", "payment"), ("by-name", "100")]);
    let mut store = Store::whole(&without);
    let transaction = drawn(&without, 5).next().expect("endless");
    let ahead = planned(&mut store, &transaction);
    assert!(store.scans.is_empty(), "nothing was looked at");
    assert!(ahead.iter().all(|planned| planned.0 != CUSTOMER.0));
    assert!(ahead.iter().any(|planned| planned.0 == CUSTOMER_BY_NAME.0), "its partition");
}
