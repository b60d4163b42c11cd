//! SmallBank: what each transaction does to the two accounts, how often it is drawn and for whom, and that the audit tells
//! a bank that lost money.

mod common;

use common::{Store, Touched, assert_declared, deviation, parameters, planned, seat, touched_as_planned};
use contract::{Access, Client, Key, Outcome, Procedure, TableId, Workload};
use std::collections::{BTreeSet, HashMap, HashSet};
use workloads::SmallBank;
use workloads::audit::Audit;
use workloads::smallbank::{Auditor, SmallBankClient, Violation};

const ACCOUNTS: TableId = TableId(0);
const SAVINGS: TableId = TableId(1);
const CHECKING: TableId = TableId(2);
const SMALL: [(&str, &str); 3] = [("customers", "200"), ("hot-customers", "10"), ("hot", "50")];

fn bank(given: &[(&str, &str)]) -> SmallBank {
    SmallBank::new(&parameters(given)).expect("valid parameters")
}

/// Which of the six a transaction is, by what it touches of accounts, savings and checking: reads and writes.
fn kind(touched: &[Touched]) -> &'static str {
    let count = |table: TableId, access| {
        touched.iter().filter(|touched| touched.0 == table.0 && touched.3 == access).count()
    };
    let [reads, writes] = [Access::Read, Access::Write]
        .map(|access| [ACCOUNTS, SAVINGS, CHECKING].map(|table| count(table, access)));
    match (reads, writes) {
        ([1, 1, 1], [0, 0, 0]) => "Balance",
        ([1, 0, 0], [0, 0, 1]) => "DepositChecking",
        ([1, 0, 0], [0, 1, 0]) => "TransactSavings",
        ([2, 0, 0], [0, 1, 2]) => "Amalgamate",
        ([1, 1, 0], [0, 0, 1]) => "WriteCheck",
        ([2, 0, 0], [0, 0, 2]) => "SendPayment",
        _ => panic!("none of the six: {touched:?}"),
    }
}

fn customers(touched: &[Touched]) -> BTreeSet<u64> {
    touched.iter().map(|touched| touched.1).collect()
}

/// Transactions over a fresh bank each, so that nobody is poor.
fn drawn(workload: &SmallBank, count: usize) -> Vec<Vec<Touched>> {
    let mut client = workload.client(seat(0));
    (0..count).map(|_| touched_as_planned(workload, &mut client)).collect()
}

#[test]
fn each_transaction_has_its_share() {
    let counts = |given: &[(&str, &str)]| {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        drawn(&bank(given), 8000).iter().for_each(|touched| *counts.entry(kind(touched)).or_default() += 1);
        counts
    };
    let mixed = counts(&SMALL);
    for (kind, count) in &mixed {
        let percent = if *kind == "SendPayment" { 25.0 } else { 15.0 };
        assert!(deviation(*count, 8000, percent) < 4.0, "{kind}: {count}");
    }
    assert_eq!(mixed.len(), 6);
    let original = counts(&[&SMALL[..], &[("mix", "original")]].concat());
    assert!(original.values().all(|count| deviation(*count, 8000, 20.0) < 4.0), "{original:?}");
    assert_eq!((original.len(), original.get("SendPayment")), (5, None));
}

#[test]
fn transactions_stay_in_their_set_and_draw_it_evenly() {
    let (mut hot, mut counts) = (0, [0; 10]);
    for touched in drawn(&bank(&SMALL), 8000) {
        let customers = customers(&touched);
        let two = matches!(kind(&touched), "Amalgamate" | "SendPayment");
        assert_eq!(customers.len(), if two { 2 } else { 1 }, "the second is another than the first");
        let in_set = customers.iter().filter(|customer| **customer < 10).count();
        assert!(in_set == 0 || in_set == customers.len(), "{customers:?}");
        assert!(customers.iter().all(|customer| *customer < 200));
        hot += usize::from(in_set > 0);
        customers.iter().filter(|customer| **customer < 10).for_each(|c| counts[*c as usize] += 1);
    }
    assert!(deviation(hot, 8000, 50.0) < 4.0, "{hot} of 8000 are hot");
    let all = counts.iter().sum();
    assert!(counts.iter().all(|count| deviation(*count, all, 10.0) < 4.0), "{counts:?}");
    for (hot, expected) in [("0", 10..200), ("100", 0..10)] {
        let drawn = drawn(&bank(&[SMALL[0], SMALL[1], ("hot", hot)]), 500).concat();
        assert!(customers(&drawn).iter().all(|customer| expected.contains(customer)));
    }
}

#[test]
fn locality_is_as_asked() {
    for (partitions, worker) in [(1, 0), (3, 1), (8, 70), (200, 60)] {
        let workload = |remote| bank(&[&SMALL[..], &[("remote", remote)]].concat());
        let drawn = |remote| -> Vec<Vec<u64>> {
            let workload = workload(remote);
            let mut client = workload.client(contract::Seat::new(worker, 72, 42).over(partitions));
            let mut customers = || {
                let touched = touched_as_planned(&workload, &mut client);
                touched.iter().filter(|touched| touched.0 == 0).map(|touched| touched.1).collect()
            };
            (0..500).map(|_| customers()).collect()
        };
        let home = worker as u64 % u64::from(partitions);
        let is_home = |customer: u64| customer % u64::from(partitions) == home;
        let has_home = |customer: u64, least| {
            let set = if customer < 10 { 0..10 } else { 10..200 };
            set.filter(|other| is_home(*other)).count() >= least
        };
        for (remote, wanted) in [("0", true), ("100", false)] {
            for customers in drawn(remote) {
                assert_eq!(is_home(customers[0]), has_home(customers[0], 1));
                if let [first, second] = customers[..] {
                    assert_eq!(is_home(second), partitions == 1 || (wanted && has_home(first, 2)));
                }
            }
        }
        let partitions_of = |drawn: Vec<Vec<u64>>| {
            drawn
                .concat()
                .iter()
                .map(|customer| customer % u64::from(partitions))
                .collect::<HashSet<_>>()
                .len()
        };
        assert!(partitions_of(drawn("any")) > (partitions as usize).min(150) / 2, "no locality by default");
    }
}

#[test]
fn the_seed_and_the_seat_decide() {
    let workload = bank(&[]);
    let drawn = |seat| {
        let mut client = workload.client(seat);
        (0..20).map(|_| client.next()).collect::<Vec<_>>()
    };
    assert_eq!(drawn(seat(0)), drawn(seat(0)));
    assert_ne!(drawn(seat(0)), drawn(seat(1)));
    assert_ne!(drawn(seat(0)), drawn(contract::Seat { seed: 43, ..seat(0) }));
}

fn cents(store: &mut Store<'_, SmallBank>, table: TableId, customer: u64) -> i64 {
    let row = store.row(table, Key(customer)).expect("loaded");
    i64::from_le_bytes(row[8..].try_into().expect("8 bytes"))
}

fn set_cents(store: &mut Store<'_, SmallBank>, table: TableId, customer: u64, cents: i64) {
    store.row(table, Key(customer)).expect("loaded")[8..].copy_from_slice(&cents.to_le_bytes());
}

/// A bank of two customers with so much in savings and checking, after the first transaction of the kind that is drawn
/// for customer 0 first: its outcome, and what both have.
fn after(wanted: &str, amounts: &str, before: [[i64; 2]; 2]) -> (Outcome, [[i64; 2]; 2]) {
    let workload = bank(&[("customers", "4"), ("hot-customers", "2"), ("hot", "100"), ("amounts", amounts)]);
    let mut client = workload.client(seat(0));
    loop {
        let transaction = client.next();
        let touched = planned(&mut Store::new(&workload), &transaction);
        if kind(&touched) != wanted || touched[0].1 != 0 {
            continue;
        }
        let mut store = Store::new(&workload);
        for (customer, accounts) in (0..).zip(before) {
            set_cents(&mut store, SAVINGS, customer, accounts[0]);
            set_cents(&mut store, CHECKING, customer, accounts[1]);
        }
        let outcome = store.attempt(&transaction);
        let left = [0, 1].map(|customer| [SAVINGS, CHECKING].map(|table| cents(&mut store, table, customer)));
        return (outcome, left);
    }
}

#[test]
fn each_transaction_moves_what_it_says() {
    use Outcome::{Commit, Rollback};
    let rich = [[100_000, 50_000], [70_000, 30_000]];
    assert_eq!(after("Balance", "balanced", rich), (Commit, rich));
    assert_eq!(after("DepositChecking", "balanced", rich), (Commit, [[100_000, 50_500], rich[1]]));
    assert_eq!(after("DepositChecking", "h-store", rich), (Commit, [[100_000, 50_130], rich[1]]));
    assert_eq!(after("TransactSavings", "h-store", rich), (Commit, [[97_980, 50_000], rich[1]]));
    assert_eq!(after("Amalgamate", "balanced", rich), (Commit, [[0, 0], [70_000, 180_000]]));
    assert_eq!(after("WriteCheck", "balanced", rich), (Commit, [[100_000, 49_500], rich[1]]));
    assert_eq!(after("SendPayment", "balanced", rich), (Commit, [[100_000, 49_500], [70_000, 30_500]]));

    // What the standard allows at the limit, and what it refuses beyond.
    assert_eq!(after("TransactSavings", "h-store", [[2_020, 0], [0, 0]]), (Commit, [[0, 0], [0, 0]]));
    let poor = [[2_019, 0], [0, 0]];
    assert_eq!(after("TransactSavings", "h-store", poor), (Rollback, poor), "undone");
    assert_eq!(after("SendPayment", "balanced", [[0, 500], [0, 0]]), (Commit, [[0, 0], [0, 500]]));
    let poor = [[9_999, 499], [0, 0]];
    assert_eq!(after("SendPayment", "balanced", poor), (Rollback, poor), "savings do not count");
    assert_eq!(
        after("WriteCheck", "balanced", [[400, 100], [0, 0]]),
        (Commit, [[400, -400], [0, 0]]),
        "covered"
    );
    assert_eq!(
        after("WriteCheck", "balanced", [[399, 100], [0, 0]]),
        (Commit, [[399, -500], [0, 0]]),
        "penalty"
    );
}

#[test]
fn savings_go_up_and_down_alike_unless_h_store_says_otherwise() {
    let up = |amounts| {
        let workload = bank(&[&SMALL[..], &[("amounts", amounts)]].concat());
        let mut client = workload.client(seat(0));
        let (mut up, mut all) = (0, 0);
        while all < 1000 {
            let (transaction, mut store) = (client.next(), Store::new(&workload));
            if kind(&planned(&mut store, &transaction)) == "TransactSavings" {
                let customer = planned(&mut store, &transaction)[0].1;
                let before = cents(&mut store, SAVINGS, customer);
                store.attempt(&transaction);
                (up, all) = (up + usize::from(cents(&mut store, SAVINGS, customer) > before), all + 1);
            }
        }
        up
    };
    assert!(deviation(up("balanced"), 1000, 50.0) < 4.0);
    assert_eq!(up("h-store"), 0);
}

#[test]
fn plans_declare_what_runs_touch() {
    let workload = bank(&SMALL);
    let (mut store, mut client) = (Store::new(&workload), workload.client(seat(2)));
    for _ in 0..500 {
        let transaction = client.next();
        let planned = planned(&mut store, &transaction);
        store.log.clear();
        store.attempt(&transaction);
        assert_declared(&workload, &store.log, &planned);
    }
}

/// Clients that have run over a small bank, and the bank.
fn ran(workload: &SmallBank) -> (Store<'_, SmallBank>, Vec<SmallBankClient>, usize) {
    let mut store = Store::new(workload);
    let mut clients: Vec<_> = (0..4).map(|worker| workload.client(seat(worker))).collect();
    let mut rollbacks = 0;
    for _ in 0..2000 {
        for client in &mut clients {
            rollbacks += usize::from(store.run(client) == Outcome::Rollback);
        }
    }
    (store, clients, rollbacks)
}

struct Nothing;

impl contract::Receipts for Nothing {
    fn argument(&self, _: usize) -> &[u8] {
        &[]
    }
}

/// Reads everything as so many auditors do.
fn audited_by(count: usize, workload: &SmallBank, store: &mut Store<'_, SmallBank>) -> Vec<Auditor> {
    let audit = workload.audit();
    let mut auditors: Vec<Auditor> =
        (0..count).map(|worker| audit.client(contract::Seat::new(worker, count, 1))).collect();
    for _ in 0..audit.assign(&mut auditors) {
        for auditor in &mut auditors {
            let transaction = auditor.next();
            let outcome = transaction.run(store).expect("the store never aborts");
            let completion = contract::Completion {
                epoch: None,
                snapshot: None,
                outcome,
                began_ns: 0,
                ended_ns: 1,
                attempts: 1,
                id: None,
                receipts: &Nothing,
            };
            auditor.finished(transaction, &completion);
        }
    }
    auditors
}

#[test]
fn the_audit_agrees_with_what_was_committed() {
    for amounts in ["balanced", "h-store"] {
        let workload = bank(&[&SMALL[..], &[("amounts", amounts)]].concat());
        let (mut store, clients, rollbacks) = ran(&workload);
        assert!(
            rollbacks > 100,
            "{rollbacks} of 8000 rolled back: some customers of the hot set are poor by now"
        );
        assert!(clients.iter().any(|client| client.brought_in() != 0));
        for count in [1, 2, 7, 100] {
            let auditors = audited_by(count, &workload, &mut store);
            assert_eq!(workload.audit().verdict(&clients, &auditors), Ok(()), "{count} auditors");
        }
    }
}

#[test]
fn the_audit_rejects_what_was_not_committed() {
    let workload = bank(&SMALL);
    let violation = |change: &dyn Fn(&mut Store<'_, SmallBank>)| {
        let (mut store, clients, _) = ran(&workload);
        change(&mut store);
        let auditors = audited_by(3, &workload, &mut store);
        workload.audit().verdict(&clients, &auditors).expect_err("the bank was changed")
    };
    let stolen = violation(&|store| {
        let before = cents(store, SAVINGS, 199);
        set_cents(store, SAVINGS, 199, before - 1);
    });
    assert!(matches!(stolen, Violation::Sum { expected, found } if found == expected - 1), "{stolen}");
    let closed = violation(&|store| {
        let _ = contract::Transaction::delete(store, CHECKING, Key(7)).expect("the store never aborts");
    });
    assert_eq!(closed, Violation::Incomplete { accounts: 400, read: 399 });
}

#[test]
fn the_audit_plans_what_it_reads() {
    let workload = bank(&SMALL);
    let audit = workload.audit();
    let mut auditor = audit.client(contract::Seat::new(0, 1, 1));
    let mut read = vec![];
    for _ in 0..audit.assign(std::slice::from_mut(&mut auditor)) + 2 {
        read.extend(touched_as_planned(&audit, &mut auditor));
    }
    assert_eq!(read.len(), 400, "every account once, and then nothing");
    assert_eq!(customers(&read), (0..200).collect());
}
