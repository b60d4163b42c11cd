//! Thousands of transactions leave the database consistent, and the audit tells when it is not.

use crate::common::{self, Store, planned};
use crate::running::{lose, ran, row, with_row};
use crate::tpcc;
use contract::{Access, Client, Outcome, Seat, Transaction, Workload};
use workloads::audit::{Audit, Audited};
use workloads::tpcc::rows::{Customer, District, History, Order, Warehouse};
use workloads::tpcc::{
    Auditor, CUSTOMER, CUSTOMER_BY_NAME, DISTRICT, HISTORY, NEW_ORDER, ORDER, ORDER_BY_CUSTOMER, ORDER_LINE,
    Tpcc, TpccClient, TransactionKind, WAREHOUSE, keys,
};
use zerocopy::IntoBytes;

/// Runs the audit's rounds by so many auditors.
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
        vec![("warehouses", "2"), ("items", "1000"), ("customers", "101"), ("item", "unprotected")],
        vec![("items", "10"), ("customers", "10"), ("item", "shared"), ("room", "100")],
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

/// A transaction that is drawn ahead and never run is read by the client that is asked next.
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
