//! The inputs of clauses 2.4 to 2.8, and the parameters that change them.

use crate::common::{deviation, parameters};
use crate::tpcc;
use contract::{PartitionId, Seat};
use std::collections::{BTreeMap, BTreeSet};
use workloads::tpcc::inputs::{Input, NewOrderInput, PaymentInput, Who};
use workloads::tpcc::{Tpcc, UNUSED_ITEM, keys, names};

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
        ("new-order-stock-level", [50, 0, 0, 0, 50]),
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

/// What a smaller database does not have is never asked for, but for the item that no database has. Of what it has most is.
#[test]
fn inputs_stay_within_smaller_warehouses() {
    for (items, customers, last_names) in [("10000", "1100", 1000), ("1000", "30", 30), ("10", "10", 10)] {
        let small = tpcc(&[("warehouses", "2"), ("items", items), ("customers", customers)]);
        let (scale, mut seen) = (small.scale(), [const { BTreeSet::new() }; 2]);
        let mut seen_names = BTreeSet::new();
        let drawn = inputs(&small, Seat::new(0, 2, 1), 20_000);
        for order in new_orders(&drawn) {
            seen[0].extend(order.lines().iter().map(|line| line.i_id).filter(|i_id| *i_id != UNUSED_ITEM));
            seen[1].insert(order.c_id);
        }
        for payment in payments(&drawn) {
            match payment.who {
                Who::Id(c_id) => drop(seen[1].insert(c_id)),
                Who::LastName(name) => drop(seen_names.insert(name)),
            }
        }
        for (seen, most) in seen.iter().zip([scale.items(), scale.customers()]) {
            assert!(seen.iter().all(|number| (1..=most).contains(number)), "{scale:?}");
            assert!(seen.len() * 2 > most as usize, "{} of {most}", seen.len());
        }
        let all: BTreeSet<_> = (0..last_names).map(names::last_name).collect();
        assert!(seen_names.is_subset(&all) && seen_names.len() * 2 > all.len(), "{scale:?}");
    }
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
        ("items", "9", "a whole number from 10 to 100_000"),
        ("items", "100001", "a whole number from 10 to 100_000"),
        ("customers", "3001", "a whole number from 10 to 3_000"),
        (
            "mix",
            "payments",
            "standard | new-order-payment | new-order-stock-level | new-order | payment | order-status | delivery | \
             stock-level",
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
