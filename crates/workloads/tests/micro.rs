//! The microbenchmark: which rows it touches, in which order, and that its invariant tells right from wrong.

mod common;

use common::{Store, Touched, deviation, parameters, seat, touched_as_planned, transactions};
use contract::{Access, Client, Key, Outcome, PartitionFunction, Procedure, TableId, Workload};
use std::collections::HashSet;
use workloads::Micro;
use workloads::audit::Audit;
use workloads::micro::{Auditor, Violation};

fn micro(given: &[(&str, &str)]) -> Micro {
    Micro::new(&parameters(given)).expect("valid parameters")
}

fn keys(transaction: &[Touched]) -> Vec<u64> {
    transaction.iter().map(|touched| touched.1).collect()
}

#[test]
fn two_hot_rows_come_first_and_all_rows_differ() {
    for transaction in transactions(&micro(&[]), 500) {
        let keys = keys(&transaction);
        assert_eq!(keys.len(), 10);
        assert!(keys[..2].iter().all(|key| *key < 16), "{keys:?}");
        assert!(keys[2..].iter().all(|key| (16..2_000_000).contains(key)), "{keys:?}");
        assert_eq!(keys.iter().collect::<HashSet<_>>().len(), 10, "{keys:?}");
        assert!(transaction.iter().all(|touched| touched.2 == (0, 80) && touched.3 == Access::Read));
    }
}

#[test]
fn rows_of_each_set_are_drawn_evenly() {
    let workload = micro(&[("records", "32"), ("hot-records", "8"), ("hot", "3"), ("operations", "6")]);
    let (mut counts, mut firsts) = ([0; 32], [0; 8]);
    let mut client = workload.client(seat(1));
    for _ in 0..20_000 {
        let keys = keys(&touched_as_planned(&workload, &mut client));
        firsts[keys[0] as usize] += 1;
        keys.iter().for_each(|key| counts[*key as usize] += 1);
    }
    for (key, count) in counts.into_iter().enumerate() {
        let percent = if key < 8 { 3.0 / 8.0 } else { 3.0 / 24.0 } * 100.0;
        assert!(deviation(count, 20_000, percent) < 4.0, "key {key} was drawn {count} times");
    }
    for (key, count) in firsts.into_iter().enumerate() {
        assert!(deviation(count, 20_000, 12.5) < 4.0, "key {key} came first {count} times");
    }
}

#[test]
fn whole_sets_can_be_drawn() {
    let whole = [("records", "64"), ("hot-records", "16"), ("hot", "16"), ("operations", "64")];
    for transaction in transactions(&micro(&whole), 20) {
        let mut keys = keys(&transaction);
        assert!(keys[..16].iter().all(|key| *key < 16));
        keys.sort_unstable();
        assert_eq!(keys, (0..64).collect::<Vec<_>>());
    }
    let cold_only = [("records", "1"), ("hot-records", "0"), ("hot", "0"), ("operations", "1")];
    assert_eq!(keys(&transactions(&micro(&cold_only), 1)[0]), [0]);
}

/// Keys of transactions of the client in seat `worker` of 72, over so many partitions.
fn keys_over(partitions: u32, worker: usize, given: &[(&str, &str)]) -> Vec<Vec<u64>> {
    let workload = micro(given);
    let mut client = workload.client(contract::Seat::new(worker, 72, 42).over(partitions));
    (0..200).map(|_| keys(&touched_as_planned(&workload, &mut client))).collect()
}

fn partition(key: u64, partitions: u32) -> u64 {
    u64::from(PartitionFunction::Remainder.of(Key(key), partitions).0)
}

#[test]
fn hot_rows_lie_spread_over_the_first_sixteen_partitions() {
    for partitions in [16, 17, 72] {
        let of: HashSet<u64> = (0..16).map(|key| partition(key, partitions)).collect();
        assert_eq!(of, (0..16).collect(), "each of the first sixteen has one");
    }
    let drawn = keys_over(72, 40, &[]);
    let hot: HashSet<u64> = drawn.iter().flat_map(|keys| &keys[..2]).map(|key| partition(*key, 72)).collect();
    assert_eq!(hot, (0..16).collect());
}

#[test]
fn cold_rows_are_local_but_for_the_remote_ones() {
    for (partitions, worker) in [(2, 0), (2, 1), (3, 71), (72, 5), (72, 71)] {
        let home = u64::from(contract::Seat::new(worker, 72, 42).over(partitions).home().0);
        for remote in [0, 1, 8] {
            for keys in keys_over(partitions, worker, &[("remote", &remote.to_string())]) {
                let is_remote: Vec<bool> =
                    keys[2..].iter().map(|key| partition(*key, partitions) != home).collect();
                let expected: Vec<bool> = (0..8).map(|nth| nth < remote).collect();
                assert_eq!(is_remote, expected, "{keys:?}");
                assert!(keys[2..].iter().all(|key| (16..2_000_000).contains(key)), "{keys:?}");
                assert_eq!(keys.iter().collect::<HashSet<_>>().len(), 10, "{keys:?}");
            }
        }
    }
}

#[test]
fn remote_rows_come_from_all_other_partitions_alike() {
    let given = [("hot", "0"), ("hot-records", "0"), ("remote", "10"), ("records", "7001")];
    let workload = micro(&given);
    let mut client = workload.client(contract::Seat::new(3, 7, 42).over(7));
    let mut counts = [0; 7];
    for _ in 0..3000 {
        for key in keys(&touched_as_planned(&workload, &mut client)) {
            counts[partition(key, 7) as usize] += 1;
        }
    }
    assert_eq!(counts[3], 0, "the home partition");
    let others = counts.iter().enumerate().filter(|(partition, _)| *partition != 3);
    assert!(others.clone().all(|(_, count)| deviation(*count, 30_000, 100.0 / 6.0) < 4.0), "{counts:?}");
}

#[test]
fn so_many_transactions_have_one_row_from_home_and_the_others_from_anywhere() {
    let given = [
        ("hot", "0"),
        ("hot-records", "0"),
        ("operations", "4"),
        ("remote", "any-but-one"),
        ("multi-partition", "40"),
        ("records", "7001"),
    ];
    let workload = micro(&given);
    let mut client = workload.client(contract::Seat::new(3, 7, 42).over(7));
    let (mut local, mut others) = (0, [0; 7]);
    for _ in 0..10_000 {
        let homes: Vec<u64> =
            keys(&touched_as_planned(&workload, &mut client)).iter().map(|key| partition(*key, 7)).collect();
        assert_eq!(homes[0], 3, "{homes:?}");
        if homes.iter().all(|home| *home == 3) {
            local += 1;
        } else {
            homes[1..].iter().for_each(|home| others[*home as usize] += 1);
        }
    }
    // Of those that reach anywhere one in 7^3 is all at home.
    let percent = 60.0 + 40.0 / 343.0;
    assert!(deviation(local, 10_000, percent) < 4.0, "{local}");
    let away = others.iter().enumerate().filter(|(home, _)| *home != 3);
    assert!(away.clone().all(|(_, count)| deviation(*count, 12_000, 100.0 / 7.0) < 4.0), "{others:?}");
    let some = [("remote", "2"), ("multi-partition", "40")];
    let remote = |keys: &[u64]| keys[2..].iter().filter(|key| partition(**key, 7) != 3).count();
    let drawn: Vec<usize> = keys_over(7, 3, &some).iter().map(|keys| remote(keys)).collect();
    assert!(drawn.iter().all(|remote| [0, 2].contains(remote)) && drawn.contains(&0) && drawn.contains(&2));
}

#[test]
fn rows_of_home_are_updated_if_asked() {
    let given = [("hot", "0"), ("operations", "4"), ("remote", "2"), ("writes", "home")];
    let workload = micro(&given);
    let mut client = workload.client(contract::Seat::new(3, 7, 42).over(7));
    for _ in 0..100 {
        for touched in touched_as_planned(&workload, &mut client) {
            assert_eq!(touched.3 == Access::Write, partition(touched.1, 7) == 3, "{touched:?}");
        }
    }
}

#[test]
fn hot_rows_are_remote_if_asked_and_if_there_are_such() {
    let remote = [("hot-from", "remote"), ("records", "1000")];
    for keys in keys_over(72, 5, &remote) {
        assert!(keys[..2].iter().all(|key| *key < 16 && *key != 5), "{keys:?}");
    }
    let hot: HashSet<u64> = keys_over(3, 4, &remote).iter().flat_map(|keys| keys[..2].to_vec()).collect();
    assert_eq!(hot, (0..16).filter(|key| key % 3 != 1).collect(), "all of them");
    // Of two hot rows over two partitions one is remote; over one partition none is.
    let two = [("hot-from", "remote"), ("hot-records", "2")];
    assert!(keys_over(2, 0, &two).iter().all(|keys| keys[..2] == [1, 0]));
    assert_eq!(keys_over(1, 0, &remote), keys_over(1, 0, &[("records", "1000")]));
}

#[test]
fn one_partition_is_everywhere() {
    let drawn = keys_over(1, 5, &[]);
    assert_eq!(drawn, keys_over(1, 5, &[("remote", "8")]));
    assert_eq!(drawn, keys_over(1, 5, &[("remote", "any")]));
    assert_eq!(drawn, keys_over(72, 5, &[("remote", "any")]), "no locality");
}

#[test]
fn a_partition_that_is_too_small_still_gives_distinct_rows() {
    // The 72 records of trireme 5.1 over 72 partitions: one each.
    let given = [("records", "72"), ("hot-records", "0"), ("hot", "0"), ("operations", "10")];
    for (partitions, worker) in [(72, 9), (100, 9), (100, 80), (8, 3), (2, 1)] {
        for remote in ["0", "5", "10", "any"] {
            for keys in keys_over(partitions, worker, &[&given[..], &[("remote", remote)]].concat()) {
                assert!(keys.iter().all(|key| *key < 72), "{keys:?}");
                assert_eq!(keys.iter().collect::<HashSet<_>>().len(), 10, "{keys:?}");
            }
        }
    }
    let locals = |partitions, worker| {
        let home = worker as u64 % u64::from(partitions);
        let local = |keys: &Vec<u64>| keys.iter().filter(|key| **key % u64::from(partitions) == home).count();
        keys_over(partitions, worker, &given).iter().map(local).collect::<HashSet<_>>()
    };
    assert_eq!(locals(72, 9), HashSet::from([1]), "the one that there is");
    assert_eq!(locals(8, 3), HashSet::from([9]), "all nine");
    assert_eq!(locals(2, 1), HashSet::from([10]));
}

#[test]
fn orders_are_kept() {
    for transaction in transactions(&micro(&[("order", "key")]), 100) {
        assert!(keys(&transaction).is_sorted());
    }
    // At each place a fifth of the rows are hot.
    let mut hot = [0; 10];
    for transaction in transactions(&micro(&[("order", "random")]), 5000) {
        keys(&transaction).iter().zip(&mut hot).for_each(|(key, hot)| *hot += usize::from(*key < 16));
    }
    assert_eq!(hot.iter().sum::<usize>(), 2 * 5000);
    assert!(hot.iter().all(|hot| deviation(*hot, 5000, 20.0) < 4.0), "{hot:?}");
}

#[test]
fn writes_are_none_all_or_a_percentage() {
    let written = |writes| {
        let touched: Vec<Touched> = transactions(&micro(&[("writes", writes)]), 1000).concat();
        touched.iter().filter(|touched| touched.3 == Access::Write).count()
    };
    assert_eq!(written("none"), 0);
    assert_eq!(written("all"), 10_000);
    assert!(deviation(written("25"), 10_000, 25.0) < 4.0);
    assert!(deviation(written("0.5"), 10_000, 0.5) < 4.0);
}

#[test]
fn the_share_of_writes_does_not_move_the_keys() {
    let drawn =
        |writes| transactions(&micro(&[("writes", writes)]), 50).iter().map(|t| keys(t)).collect::<Vec<_>>();
    assert_eq!(drawn("none"), drawn("all"));
    assert_eq!(drawn("none"), drawn("30"));
}

#[test]
fn the_seed_and_the_seat_decide() {
    let workload = micro(&[("writes", "50")]);
    let drawn = |seat| {
        let mut client = workload.client(seat);
        (0..20).map(|_| client.next()).collect::<Vec<_>>()
    };
    assert_eq!(drawn(seat(0)), drawn(seat(0)));
    assert_ne!(drawn(seat(0)), drawn(seat(1)));
    assert_ne!(drawn(seat(0)), drawn(contract::Seat { seed: 43, ..seat(0) }));
}

#[test]
fn an_update_adds_one_to_each_attribute() {
    let workload = micro(&[("writes", "all")]);
    let mut store = Store::new(&workload);
    let transaction = workload.client(seat(0)).next();
    for times in [1, 2] {
        assert_eq!(transaction.run(&mut store), Ok(Outcome::Commit));
        for (_, key, ..) in store.log.clone() {
            let row = store.row(TableId(0), Key(key)).expect("loaded");
            let attributes: Vec<u64> =
                row.chunks(8).map(|word| u64::from_ne_bytes(word.try_into().expect("8 bytes"))).collect();
            assert_eq!(attributes, (0..10).map(|place| key + place + times).collect::<Vec<_>>());
        }
    }
}

/// Clients that have run over a small table, and the table.
fn ran(workload: &Micro) -> (Store<'_, Micro>, Vec<workloads::micro::MicroClient>) {
    let mut store = Store::new(workload);
    let mut clients: Vec<_> = (0..4).map(|worker| workload.client(seat(worker))).collect();
    for _ in 0..100 {
        clients.iter_mut().for_each(|client| assert_eq!(store.run(client), Outcome::Commit));
    }
    (store, clients)
}

/// Reads everything as so many auditors do.
fn audited_by(count: usize, workload: &Micro, store: &mut Store<'_, Micro>) -> Vec<Auditor> {
    let audit = workload.audit();
    let mut auditors: Vec<Auditor> =
        (0..count).map(|worker| audit.client(contract::Seat::new(worker, count, 1))).collect();
    for _ in 0..audit.assign(&mut auditors) {
        for auditor in &mut auditors {
            let transaction = auditor.next();
            let outcome = transaction.run(store).expect("the store never aborts");
            let completion = contract::Completion {
                outcome,
                began_ns: 0,
                ended_ns: 1,
                attempts: 1,
                id: None,
                epoch: None,
                snapshot: None,
                receipts: &Nothing,
            };
            auditor.finished(transaction, &completion);
        }
    }
    auditors
}

fn audited(workload: &Micro, store: &mut Store<'_, Micro>) -> Vec<Auditor> {
    audited_by(3, workload, store)
}

struct Nothing;

impl contract::Receipts for Nothing {
    fn argument(&self, _: usize) -> &[u8] {
        &[]
    }
}

const SMALL: [(&str, &str); 2] = [("records", "1001"), ("writes", "40")];

#[test]
fn the_audit_agrees_with_what_was_committed() {
    let workload = micro(&SMALL);
    let (mut store, clients) = ran(&workload);
    let updates: u64 = clients.iter().map(|client| client.committed_updates()).sum();
    assert_eq!(updates as usize, store.log.iter().filter(|touched| touched.3 == Access::Write).count());
    assert!(updates > 1000);
    // One auditor, fewer than there were clients, more, and more than there are chunks.
    for count in [1, 2, 3, 4, 7, 16, 17, 100] {
        let auditors = audited_by(count, &workload, &mut store);
        assert_eq!(workload.audit().verdict(&clients, &auditors), Ok(()), "{count} auditors");
    }
}

#[test]
fn the_audit_rejects_what_was_not_committed() {
    let workload = micro(&SMALL);
    let violation = |change: &dyn Fn(&mut Store<'_, Micro>)| {
        let (mut store, clients) = ran(&workload);
        change(&mut store);
        let auditors = audited(&workload, &mut store);
        workload.audit().verdict(&clients, &auditors).expect_err("the table was changed")
    };
    let add_one = |row: &mut [u8]| {
        for word in row.chunks_mut(8) {
            let value = u64::from_ne_bytes((&*word).try_into().expect("8 bytes"));
            word.copy_from_slice(&(value + 1).to_ne_bytes());
        }
    };
    let undone = violation(&|store| add_one(store.row(TableId(0), Key(1000)).expect("loaded")));
    assert!(matches!(undone, Violation::Sum { expected, found } if found == expected + 10), "{undone}");
    let torn = violation(&|store| add_one(&mut store.row(TableId(0), Key(3)).expect("loaded")[..40]));
    assert_eq!(torn, Violation::Torn { rows: 1 });
    let deleted = violation(&|store| {
        let _ = contract::Transaction::delete(store, TableId(0), Key(7)).expect("the store never aborts");
    });
    assert_eq!(deleted, Violation::Incomplete { rows: 1001, read: 1000 });
}

#[test]
fn the_audit_plans_what_it_reads() {
    let workload = micro(&SMALL);
    let audit = workload.audit();
    let mut auditor = audit.client(contract::Seat::new(0, 1, 1));
    let mut read = vec![];
    for _ in 0..audit.assign(std::slice::from_mut(&mut auditor)) + 2 {
        read.extend(keys(&touched_as_planned(&audit, &mut auditor)));
    }
    assert_eq!(read, (0..1001).collect::<Vec<_>>(), "every row once, and then nothing");
}

#[test]
fn a_rolled_back_transaction_counts_for_nothing() {
    let workload = micro(&[("writes", "all")]);
    let mut client = workload.client(seat(0));
    let transaction = client.next();
    let completion = contract::Completion {
        epoch: None,
        snapshot: None,
        id: None,
        outcome: Outcome::Rollback,
        began_ns: 0,
        ended_ns: 1,
        attempts: 1,
        receipts: &Nothing,
    };
    client.finished(transaction, &completion);
    assert_eq!(client.committed_updates(), 0);
}
