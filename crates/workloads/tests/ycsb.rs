//! YCSB: which bytes of which rows it touches, how, and what it leaves in them.

mod common;

use common::{Store, Touched, deviation, parameters, seat, touched_as_planned, transactions};
use contract::{Access, Client, Key, Outcome, Procedure, TableId, Workload};
use proptest::prelude::{Just, prop_assert, prop_assert_eq, prop_oneof, proptest};
use std::collections::HashSet;
use workloads::Ycsb;

fn ycsb(given: &[(&str, &str)]) -> Ycsb {
    Ycsb::new(&parameters(given)).expect("valid parameters")
}

fn keys(transaction: &[Touched]) -> Vec<u64> {
    transaction.iter().map(|touched| touched.1).collect()
}

/// The part of accesses that write, in 16,000.
fn written(given: &[(&str, &str)]) -> usize {
    let touched = transactions(&ycsb(given), 1000).concat();
    assert_eq!(touched.len(), 16_000);
    touched.iter().filter(|touched| touched.3 == Access::Write).count()
}

#[test]
fn keys_are_ranks_of_the_distribution() {
    let touched: Vec<Touched> = transactions(&ycsb(&[("records", "1000")]), 5000).concat();
    let total: f64 = (1..=1000).map(|rank| f64::from(rank).powf(-0.8)).sum();
    for rank in [0, 1, 2, 9, 99] {
        let count = touched.iter().filter(|touched| touched.1 == rank).count();
        let percent = 100.0 * ((rank + 1) as f64).powf(-0.8) / total;
        assert!(deviation(count, touched.len(), percent) < 4.0, "key {rank} was drawn {count} times");
    }
    assert!(touched.iter().all(|touched| touched.1 < 1000));
}

/// The zipfian distribution knows no partitions (trireme 4.1): nearly all accesses are remote, and the plan names them.
#[test]
fn partitions_change_nothing_and_the_plan_names_every_key() {
    let workload = ycsb(&[("records", "1000"), ("distinct", "yes")]);
    let drawn = |partitions| {
        let mut client = workload.client(seat(1).over(partitions));
        (0..200).map(|_| touched_as_planned(&workload, &mut client)).collect::<Vec<_>>()
    };
    assert_eq!(drawn(1), drawn(72));
    let partitions: HashSet<u64> = drawn(72).concat().iter().map(|touched| touched.1 % 72).collect();
    assert_eq!(partitions.len(), 72, "all of them are touched");
}

proptest! {
    #[test]
    fn a_transaction_touches_so_many_partitions_and_its_home_is_one(
        partitions in 1..40u32,
        touched in 1..=16u64,
        records in prop_oneof![Just(16u64), Just(50), Just(1000)],
        distinct in prop_oneof![Just("yes"), Just("no")],
        worker in 0..3usize,
    ) {
        let (asked, rows) = (touched.to_string(), records.to_string());
        let workload = ycsb(&[("records", &rows), ("touched-partitions", &asked), ("distinct", distinct)]);
        let seat = seat(worker).over(partitions);
        let mut client = workload.client(seat);
        let ranks = records / u64::from(partitions);
        // To have rows that differ, or rows at all, more may be touched than was asked for.
        let is_enough = ranks * touched >= 16 || distinct == "no" && ranks > 0;
        for _ in 0..20 {
            let keys = keys(&touched_as_planned(&workload, &mut client));
            prop_assert!(keys.iter().all(|key| *key < records));
            let differ = keys.iter().collect::<HashSet<_>>().len();
            prop_assert!(distinct == "no" || differ == 16);
            let theirs: HashSet<u64> = keys.iter().map(|key| key % u64::from(partitions)).collect();
            if is_enough {
                prop_assert_eq!(theirs.len() as u64, touched.min(u64::from(partitions)));
                prop_assert!(theirs.contains(&u64::from(seat.home().0)));
            }
        }
    }
}

proptest! {
    /// The first accesses are on the first rows, of the table or of each partition, and no other is.
    #[test]
    fn hot_rows_are_drawn_first_and_alone(
        partitions in 1..40u32,
        touched in prop_oneof![Just("any"), Just("1"), Just("2"), Just("7")],
        hot in 1..=10u64,
        hot_records in 10..100u64,
        worker in 0..3usize,
    ) {
        let (asked, rows) = (hot.to_string(), hot_records.to_string());
        let workload = ycsb(&[
            ("records", "10000"), ("accesses", "10"), ("distinct", "yes"), ("theta", "0"),
            ("hot", &asked), ("hot-records", &rows), ("touched-partitions", touched),
        ]);
        let mut client = workload.client(seat(worker).over(partitions));
        let (of, hot_ranks) = match touched {
            "any" => (1, hot_records),
            _ => (u64::from(partitions), hot_records.div_ceil(u64::from(partitions)).max(hot)),
        };
        for _ in 0..20 {
            let keys = keys(&touched_as_planned(&workload, &mut client));
            let are_hot: Vec<bool> = keys.iter().map(|key| key / of < hot_ranks).collect();
            prop_assert_eq!(are_hot.iter().position(|hot| !hot).unwrap_or(10) as u64, hot);
            prop_assert!(are_hot[hot as usize..].iter().all(|hot| !hot));
            prop_assert_eq!(keys.iter().collect::<HashSet<_>>().len(), 10);
            prop_assert!(keys.iter().all(|key| *key < 10_000));
        }
    }
}

#[test]
fn hot_rows_are_as_likely_as_each_other() {
    let given = [("records", "1000"), ("accesses", "4"), ("hot", "1"), ("hot-records", "8"), ("theta", "0")];
    let touched = transactions(&ycsb(&given), 4000);
    for key in 0..8 {
        let count = touched.iter().filter(|transaction| transaction[0].1 == key).count();
        assert!(deviation(count, touched.len(), 12.5) < 4.0, "key {key} was drawn {count} times");
    }
}

#[test]
fn a_hot_set_is_of_single_rows_of_the_loaded_ones() {
    let refused = |given: &[(&str, &str)]| Ycsb::new(&parameters(given)).expect_err("refused").to_string();
    for (given, names) in [
        (vec![("hot", "2")], ["'0' for 'hot-records'", "'2' for 'hot'"]),
        (vec![("hot-records", "64")], ["'0' for 'hot'", "'64' for 'hot-records'"]),
        (vec![("hot", "17"), ("hot-records", "64")], ["'17' for 'hot'", "'16' for 'accesses'"]),
        (
            vec![("hot", "3"), ("hot-records", "2"), ("distinct", "yes")],
            ["'2' for 'hot-records'", "'3' for 'hot'"],
        ),
        (
            vec![("hot", "2"), ("hot-records", "50"), ("records", "50")],
            ["'50' for 'hot-records'", "'50' for 'records'"],
        ),
        (
            vec![("hot", "2"), ("hot-records", "50"), ("records", "60"), ("distinct", "yes")],
            ["'50' for 'hot-records'", "'60' for 'records'"],
        ),
        (
            vec![("hot", "2"), ("hot-records", "64"), ("mix", "E"), ("accesses", "2")],
            ["scan-rows", "hot-records"],
        ),
        (vec![("hot", "2"), ("hot-records", "64"), ("update", "insert")], ["update", "hot-records"]),
        (
            vec![("hot", "2"), ("hot-records", "64"), ("distribution", "latest")],
            ["distribution", "hot-records"],
        ),
    ] {
        let said = refused(&given);
        assert!(names.iter().all(|name| said.contains(name)), "{said}");
    }
}

#[test]
fn some_transactions_touch_several_partitions_and_each_is_drawn_as_its_rows_are() {
    let workload = ycsb(&[("records", "1000"), ("touched-partitions", "4"), ("multi-partition", "30")]);
    let seat = seat(1).over(10);
    let mut client = workload.client(seat);
    let drawn: Vec<Vec<u64>> = (0..2000).map(|_| keys(&touched_as_planned(&workload, &mut client))).collect();
    let partitions = |keys: &Vec<u64>| keys.iter().map(|key| key % 10).collect::<HashSet<_>>().len();
    let several = drawn.iter().filter(|keys| partitions(keys) > 1).count();
    assert!(deviation(several, drawn.len(), 30.0) < 4.0, "{several} of {}", drawn.len());
    assert!(drawn.iter().all(|keys| [1, 4].contains(&partitions(keys))));
    // A hundred ranks in each.
    let total: f64 = (1..=100).map(|rank| f64::from(rank).powf(-0.8)).sum();
    let all = drawn.concat();
    for rank in [0, 1, 9] {
        let count = all.iter().filter(|key| *key / 10 == rank).count();
        let percent = 100.0 * ((rank + 1) as f64).powf(-0.8) / total;
        assert!(deviation(count, all.len(), percent) < 4.0, "rank {rank} was drawn {count} times");
    }
}

#[test]
fn locality_is_of_single_rows_of_the_loaded_ones() {
    let refused = |given: &[(&str, &str)]| Ycsb::new(&parameters(given)).expect_err("refused").to_string();
    for (given, names) in [
        (vec![("touched-partitions", "2"), ("mix", "E")], ["scan-rows", "touched-partitions"]),
        (vec![("touched-partitions", "2"), ("update", "insert")], ["update", "touched-partitions"]),
        (
            vec![("touched-partitions", "2"), ("distribution", "latest")],
            ["distribution", "touched-partitions"],
        ),
        (vec![("touched-partitions", "17")], ["accesses", "touched-partitions"]),
        (vec![("multi-partition", "10")], ["multi-partition", "touched-partitions"]),
        (vec![("touched-partitions", "0")], ["touched-partitions", "1 to 64"]),
    ] {
        let said = refused(&given);
        assert!(names.iter().all(|name| said.contains(name)), "{said}");
    }
}

#[test]
fn each_field_is_touched_as_often_and_as_a_whole() {
    let touched = transactions(&ycsb(&[]), 1000).concat();
    let mut counts = [0; 10];
    for (table, _, (start, end), _) in &touched {
        assert_eq!((*table, start % 100, end - start), (0, 0, 100));
        counts[start / 100] += 1;
    }
    assert!(counts.iter().all(|count| deviation(*count, touched.len(), 10.0) < 4.0), "{counts:?}");
}

#[test]
fn rows_are_touched_whole_if_asked() {
    for given in [
        vec![("touch", "row")],
        vec![("touch", "row"), ("reads", "0"), ("update", "blind")],
        vec![("fields", "1"), ("field-bytes", "1000")],
    ] {
        assert!(
            transactions(&ycsb(&given), 50).concat().iter().all(|touched| touched.2 == (0, 1000)),
            "{given:?}"
        );
    }
}

#[test]
fn mixes_read_as_much_as_they_say() {
    assert!(deviation(written(&[]), 16_000, 50.0) < 4.0);
    assert!(deviation(written(&[("mix", "A")]), 16_000, 50.0) < 4.0);
    assert!(deviation(written(&[("mix", "B")]), 16_000, 5.0) < 4.0);
    assert_eq!(written(&[("mix", "C")]), 0);
    assert!(deviation(written(&[("mix", "F")]), 16_000, 50.0) < 4.0);
    assert!(deviation(written(&[("reads", "80")]), 16_000, 20.0) < 4.0);
    assert_eq!(written(&[("reads", "0")]), 16_000);
}

#[test]
fn reads_are_split_by_access_transaction_or_worker() {
    let is_uniform =
        |transaction: &Vec<Touched>| transaction.iter().all(|touched| touched.3 == transaction[0].3);
    assert!(!transactions(&ycsb(&[("split", "access")]), 100).iter().all(is_uniform));

    let by_transaction = transactions(&ycsb(&[("split", "transaction"), ("reads", "80")]), 1000);
    assert!(by_transaction.iter().all(is_uniform));
    let writers = by_transaction.iter().filter(|transaction| transaction[0].3 == Access::Write).count();
    assert!(deviation(writers, 1000, 20.0) < 4.0, "{writers} of 1000 write");

    for (reads, expected) in [("0", 4), ("25", 3), ("50", 2), ("80", 1), ("100", 0)] {
        let workload = ycsb(&[("split", "worker"), ("reads", reads)]);
        let writes = |worker| {
            let mut client = workload.client(seat(worker));
            let touched: Vec<_> = (0..20).flat_map(|_| touched_as_planned(&workload, &mut client)).collect();
            touched.iter().all(|touched| touched.3 == Access::Write)
        };
        assert_eq!(
            (0..4).map(writes).filter(|writes| *writes).count(),
            expected,
            "{reads} % of 4 workers read"
        );
    }
}

#[test]
fn neither_reads_nor_touch_moves_the_keys() {
    let drawn =
        |given: &[(&str, &str)]| transactions(&ycsb(given), 50).iter().map(|t| keys(t)).collect::<Vec<_>>();
    let default = drawn(&[]);
    assert_eq!(default, drawn(&[("reads", "0")]));
    assert_eq!(default, drawn(&[("touch", "row")]));
    assert_eq!(default, drawn(&[("mix", "B"), ("fields", "3")]));
}

#[test]
fn what_only_reads_reads_a_snapshot_unless_it_is_to_read_the_present() {
    let of_hundred = |given: &[(&str, &str)]| {
        let mut client = ycsb(given).client(seat(1));
        (0..100).filter(|_| client.next().reads_snapshot()).count()
    };
    assert_eq!(of_hundred(&[("reads", "100")]), 100);
    assert_eq!(of_hundred(&[("reads", "100"), ("read-only", "present")]), 0);
    assert_eq!(of_hundred(&[("reads", "0")]), 0);
    assert!((60..95).contains(&of_hundred(&[("accesses", "1"), ("reads", "80")])));
    assert_eq!(of_hundred(&[("mix", "D")]), 0, "who follows what is inserted wants the latest");
}

#[test]
fn orders_and_distinctness_are_kept() {
    let skewed = ("theta", "0.99");
    let repeats =
        |transaction: &Vec<Touched>| keys(transaction).into_iter().collect::<HashSet<_>>().len() < 16;
    assert!(transactions(&ycsb(&[skewed]), 100).iter().any(repeats), "zipfian keys repeat");
    let distinct = transactions(&ycsb(&[skewed, ("distinct", "yes")]), 500);
    assert!(!distinct.iter().any(repeats));
    assert!(distinct.iter().any(|transaction| !keys(transaction).is_sorted()));
    for transaction in transactions(&ycsb(&[skewed, ("order", "key")]), 100) {
        assert!(keys(&transaction).is_sorted());
    }
    let all = [skewed, ("distinct", "yes"), ("records", "64"), ("accesses", "64"), ("order", "key")];
    for transaction in transactions(&ycsb(&all), 20) {
        assert_eq!(keys(&transaction), (0..64).collect::<Vec<_>>());
    }
}

#[test]
fn the_seed_and_the_seat_decide() {
    let workload = ycsb(&[]);
    let drawn = |seat| {
        let mut client = workload.client(seat);
        (0..20).map(|_| client.next()).collect::<Vec<_>>()
    };
    assert_eq!(drawn(seat(0)), drawn(seat(0)));
    assert_ne!(drawn(seat(0)), drawn(seat(1)));
    assert_ne!(drawn(seat(0)), drawn(contract::Seat { seed: 43, ..seat(0) }));
}

/// A run of mix D by so many clients in turn over one store: the store, and what each transaction touched, by client.
fn ran_latest<'a>(
    workload: &'a Ycsb,
    store: &mut Store<'a, Ycsb>,
    clients: usize,
    rounds: usize,
) -> Vec<Vec<Vec<Touched>>> {
    let mut drivers: Vec<_> =
        (0..clients).map(|worker| workload.client(contract::Seat::new(worker, clients, 5).over(7))).collect();
    let mut touched = vec![vec![]; clients];
    for _ in 0..rounds {
        for (client, touched) in drivers.iter_mut().zip(&mut touched) {
            store.log.clear();
            assert_eq!(store.run(client), Outcome::Commit);
            touched.push(std::mem::take(&mut store.log));
        }
    }
    touched
}

fn inserted(touched: &[Vec<Touched>]) -> Vec<u64> {
    touched
        .concat()
        .iter()
        .filter(|touched| touched.3 == Access::Structure)
        .map(|touched| touched.1)
        .collect()
}

const LATEST: [(&str, &str); 2] = [("mix", "D"), ("records", "10000")];

#[test]
fn mix_d_inserts_own_keys_and_reads_the_latest() {
    let workload = ycsb(&LATEST);
    let mut store = Store::new(&workload);
    let touched = ran_latest(&workload, &mut store, 3, 2000);
    let keys: Vec<Vec<u64>> = touched.iter().map(|touched| inserted(touched)).collect();
    let all = 16 * (2000 - 3);
    for keys in &keys {
        assert!(deviation(keys.len(), all, 5.0) < 4.0, "{} of {all} accesses insert", keys.len());
        assert!(keys.is_sorted_by(|one, next| one < next), "each its own sequence");
    }
    assert_eq!(keys.concat().iter().collect::<HashSet<_>>().len(), keys.concat().len(), "no key twice");
    let by_partition = |partition| keys.concat().iter().filter(|key| **key % 7 == partition).count();
    assert!(
        (0..7).all(|partition| deviation(by_partition(partition), keys.concat().len(), 100.0 / 7.0) < 4.0)
    );

    // Of what the last thousand transactions read, most was inserted by then, and hardly anything was not there.
    let reads: Vec<u64> = touched
        .iter()
        .flat_map(|touched| touched[1000..].concat())
        .filter(|touched| touched.3 == Access::Read)
        .map(|touched| touched.1)
        .collect();
    let missing = reads.iter().filter(|key| store.row(TableId(0), Key(**key)).is_none()).count();
    let new = reads.iter().filter(|key| **key >= 10_000).count();
    assert!(missing * 1000 < reads.len(), "{missing} of {} reads", reads.len());
    assert!(new * 2 > reads.len(), "{new} of {} reads", reads.len());
}

#[test]
fn the_newest_row_is_the_most_popular() {
    let workload = ycsb(&[&LATEST[..], &[("accesses", "1")]].concat());
    let mut store = Store::new(&workload);
    let touched = ran_latest(&workload, &mut store, 1, 40_000);
    let (mut newest, mut ages) = (9_999, [0; 3]);
    let (mut before, mut reads) = (9_998, 0);
    for one in touched[0][1..].concat() {
        if one.3 == Access::Structure {
            (before, newest) = (newest, one.1);
        } else {
            reads += 1;
            ages[if one.1 == newest {
                0
            } else if one.1 == before {
                1
            } else {
                2
            }] += 1;
        }
    }
    let total: f64 = (1..=10_000).map(|rank| f64::from(rank).powf(-0.8)).sum();
    assert!(deviation(ages[0], reads, 100.0 / total) < 4.0, "{ages:?}");
    assert!(deviation(ages[1], reads, 100.0 * 2f64.powf(-0.8) / total) < 4.0, "{ages:?}");
}

#[test]
fn a_store_that_was_run_on_is_gone_on_with() {
    let workload = ycsb(&LATEST);
    let mut store = Store::new(&workload);
    let mut keys = HashSet::new();
    // As many clients as before, more, and fewer.
    for clients in [2, 2, 5, 1, 3] {
        for touched in ran_latest(&workload, &mut store, clients, 300) {
            for key in inserted(&touched) {
                assert!(keys.insert(key), "key {key} of {clients} clients was inserted before");
            }
        }
    }
    // One that is behind a gap is left as it is.
    let next = Key(keys.iter().max().expect("some") + 4_099);
    let _ = contract::Transaction::insert(&mut store, TableId(0), next, &[b'!'; 1000]);
    ran_latest(&workload, &mut store, 3, 300);
    assert_eq!(store.row(TableId(0), next).expect("inserted"), [b'!'; 1000]);
}

#[test]
fn a_slower_client_is_not_waited_for() {
    let workload = ycsb(&LATEST);
    let mut store = Store::new(&workload);
    let mut clients = [0, 1].map(|worker| workload.client(contract::Seat::new(worker, 2, 5)));
    let mut missing = 0;
    for round in 0..3000 {
        store.run(&mut clients[0]);
        if round % 10 == 0 {
            store.run(&mut clients[1]);
        }
        let reads: Vec<u64> = store.log.iter().filter(|one| one.3 == Access::Read).map(|one| one.1).collect();
        missing += reads.iter().filter(|key| store.row(TableId(0), Key(**key)).is_none()).count();
        store.log.clear();
    }
    assert!((1..1500).contains(&missing), "{missing} of 50000 reads found nothing");
}

#[test]
fn the_search_declares_every_partition() {
    let workload = ycsb(&[("mix", "D"), ("records", "100")]);
    for partitions in [1, 7, 72] {
        let mut client = workload.client(contract::Seat::new(1, 3, 5).over(partitions));
        for _ in 0..3 {
            let search = client.next();
            let mut store = Store::new(&workload);
            let planned = common::planned(&mut store, &search);
            assert_eq!(search.run(&mut store), Ok(Outcome::Commit));
            let partition = |touched: &Touched| touched.1 % u64::from(partitions);
            let declared: HashSet<u64> = planned.iter().map(partition).collect();
            assert_eq!(declared.len(), partitions as usize);
        }
    }
}

#[test]
fn inserts_and_the_latest_rows_go_without_each_other() {
    let fixed = ycsb(&[("distribution", "latest"), ("reads", "100"), ("records", "1000")]);
    let touched = transactions(&fixed, 500).concat();
    let newest = touched.iter().filter(|touched| touched.1 == 999).count();
    let total: f64 = (1..=1000).map(|rank| f64::from(rank).powf(-0.8)).sum();
    assert!(deviation(newest, touched.len(), 100.0 / total) < 4.0, "key 999 is the hottest");

    let growing = ycsb(&[("update", "insert"), ("reads", "50"), ("records", "1000")]);
    assert_eq!(growing.tables()[0].capacity, 4000);
    let mut store = Store::new(&growing);
    let touched = ran_latest(&growing, &mut store, 2, 500).concat();
    let reads = touched.concat().into_iter().filter(|one| one.3 == Access::Read && one.2 != (0, 1));
    assert!(reads.clone().count() > 1000 && reads.into_iter().all(|one| one.1 < 1000), "of the loaded rows");
    assert!(inserted(&touched).len() > 1000);
}

/// A store in which `count` clients have run `rounds` transactions each, and what each transaction scanned and touched.
type Ran<'a> = (Store<'a, Ycsb>, Vec<(Vec<common::Scanned>, Vec<Touched>)>);

fn ran_scans<'a>(workload: &'a Ycsb, count: usize, rounds: usize) -> Ran<'a> {
    let mut store = Store::whole(workload);
    let mut clients: Vec<_> =
        (0..count).map(|worker| workload.client(contract::Seat::new(worker, count, 5).over(7))).collect();
    let mut all = vec![];
    for _ in 0..rounds {
        for client in &mut clients {
            assert_eq!(store.run(client), Outcome::Commit);
            all.push((std::mem::take(&mut store.scans), std::mem::take(&mut store.log)));
        }
    }
    (store, all)
}

#[test]
fn mix_e_scans_from_a_popular_key_and_inserts() {
    let workload = ycsb(&[("mix", "E"), ("records", "2000")]);
    assert_eq!(workload.tables()[0].indexing, contract::Indexing::Ordered);
    let (mut store, all) = ran_scans(&workload, 3, 4000);
    // Each client's first transaction finds out where its sequence goes on.
    let all = &all[3..];
    let (mut lengths, mut starts, mut inserts) = ([0; 101], [0; 2000], 0);
    for (scans, log) in all {
        match &scans[..] {
            [scan] => {
                assert_eq!((log.len(), scan.direction, scan.within), (0, contract::Direction::Forward, None));
                assert!((1..=100).contains(&scan.limit) && !scan.shown.is_empty());
                let first = Key::prefix_of(&scan.shown[0]).0;
                assert!(first < 2000, "a start is a loaded row");
                assert!(scan.shown.len() == scan.limit || first > 1900, "rows follow each other");
                (lengths[scan.limit], starts[first as usize]) =
                    (lengths[scan.limit] + 1, starts[first as usize] + 1);
            }
            [] => {
                let [(_, key, span, access)] = log[..] else { panic!("{log:?}") };
                assert_eq!((span, access), ((0, 1000), Access::Structure));
                assert!(key >= 2000 && store.row(TableId(0), Key(key)).is_some());
                inserts += 1;
            }
            _ => panic!("one access"),
        }
    }
    let scans = all.len() - inserts;
    assert!(deviation(inserts, all.len(), 5.0) < 4.0, "{inserts} of {}", all.len());
    assert!(lengths[1..].iter().all(|count| deviation(*count, scans, 1.0) < 4.5), "{lengths:?}");
    let total: f64 = (1..=2000).map(|rank| f64::from(rank).powf(-0.8)).sum();
    for rank in [0, 1, 9] {
        let percent = 100.0 * ((rank + 1) as f64).powf(-0.8) / total;
        assert!(deviation(starts[rank], scans, percent) < 4.0, "key {rank}: {}", starts[rank]);
    }
}

#[test]
fn scans_are_as_long_as_they_are_asked_to_be() {
    let lengths = |given: &[(&str, &str)]| -> Vec<usize> {
        let workload = ycsb(&[&[("records", "500"), ("reads", "100")], given].concat());
        let (_, all) = ran_scans(&workload, 1, 4000);
        all.iter().flat_map(|(scans, _)| scans).map(|scan| scan.limit).collect()
    };
    assert!(lengths(&[("scan-rows", "1"), ("accesses", "2")]).iter().all(|length| *length == 1));
    let skewed = lengths(&[("scan-rows", "50"), ("scan-lengths", "zipfian"), ("accesses", "1")]);
    let total: f64 = (1..=50).map(|rank| f64::from(rank).powf(-0.99)).sum();
    for length in [1, 2, 10] {
        let count = skewed.iter().filter(|one| **one == length).count();
        let percent = 100.0 * (length as f64).powf(-0.99) / total;
        assert!(deviation(count, skewed.len(), percent) < 4.0, "{count} of length {length}");
    }
    assert!(skewed.iter().all(|length| (1..=50).contains(length)));
}

#[test]
fn scans_of_the_latest_rows_meet_what_is_inserted() {
    let given = [("update", "insert"), ("reads", "80"), ("scan-rows", "20"), ("distribution", "latest")];
    let workload = ycsb(&[&given[..], &[("records", "1000"), ("accesses", "4")]].concat());
    let (_, all) = ran_scans(&workload, 2, 500);
    let shown = all[500..].iter().flat_map(|(scans, _)| scans).flat_map(|scan| &scan.shown);
    let (new, old): (Vec<_>, Vec<_>) = shown.partition(|key| Key::prefix_of(key).0 >= 1000);
    assert!(new.len() > old.len(), "{} rows were inserted, {} loaded", new.len(), old.len());
}

#[test]
fn scans_see_one_field_or_whole_rows_and_declare_every_partition() {
    for (touch, bytes) in [("field", 100), ("row", 1000)] {
        let workload = ycsb(&[("mix", "E"), ("records", "100"), ("touch", touch), ("accesses", "3")]);
        let mut store = Store::whole(&workload);
        let mut offsets = HashSet::new();
        for partitions in [1, 7, 72] {
            let mut client = workload.client(seat(1).over(partitions));
            for _ in 0..100 {
                let transaction = client.next();
                let planned = common::planned(&mut store, &transaction);
                assert_eq!((store.scans.len(), store.log.len()), (0, 0), "planning looks at nothing");
                assert_eq!(store.attempt(&transaction), Outcome::Commit);
                let declared: HashSet<u64> =
                    planned.iter().map(|planned| planned.1 % u64::from(partitions)).collect();
                assert!(store.scans.is_empty() || declared.len() == partitions as usize);
                let starts = planned.iter().filter(|one| one.3 == Access::Read && one.2.0 != one.2.1);
                for (_, _, (start, end), _) in starts.filter(|_| !store.scans.is_empty()) {
                    assert_eq!(end - start, bytes);
                    offsets.insert(*start);
                }
                store.forget();
            }
        }
        assert_eq!(offsets.len(), 1000 / bytes, "every field, in turn");
    }
}

#[test]
fn an_ordered_table_changes_nothing_else() {
    let drawn = |index| transactions(&ycsb(&[("index", index)]), 100);
    assert_eq!(drawn("hash"), drawn("ordered"));
    assert_eq!(ycsb(&[("index", "ordered")]).tables()[0].indexing, contract::Indexing::Ordered);
    assert_eq!(ycsb(&[]).tables()[0].indexing, contract::Indexing::Hashed);
}

/// Runs updates of one row of one field, and gives the row before, and after each of two transactions.
fn updated(update: &str) -> [Vec<u8>; 3] {
    let workload = ycsb(&[
        ("records", "1"),
        ("fields", "1"),
        ("field-bytes", "100"),
        ("accesses", "1"),
        ("reads", "0"),
        ("update", update),
    ]);
    let mut store = Store::new(&workload);
    let mut client = workload.client(seat(0));
    std::array::from_fn(|nth| {
        if nth > 0 {
            store.run(&mut client);
        }
        store.row(TableId(0), Key(0)).expect("loaded").to_vec()
    })
}

#[test]
fn updates_write_new_text() {
    for update in ["read-modify-write", "blind"] {
        let rows = updated(update);
        assert!(rows[0] != rows[1] && rows[1] != rows[2], "{update}");
        assert!(rows.iter().flatten().all(|byte| (b' '..=b'_').contains(byte)), "{update}");
    }
}

#[test]
fn only_read_modify_writes_depend_on_what_was_there() {
    for (update, depends) in [("read-modify-write", true), ("blind", false)] {
        let workload = ycsb(&[("reads", "0"), ("update", update), ("accesses", "1"), ("touch", "row")]);
        let transaction = workload.client(seat(0)).next();
        let after = |change: u8| {
            let mut store = Store::new(&workload);
            let key = Key(transactions(&workload, 1)[0][0].1);
            store.row(TableId(0), key).expect("loaded")[500] ^= change;
            assert_eq!(transaction.run(&mut store), Ok(Outcome::Commit));
            store.row(TableId(0), key).expect("loaded")[500]
        };
        assert_eq!(after(0) != after(1), depends, "{update}");
    }
}

#[test]
fn loaded_rows_are_printable_and_depend_on_their_key() {
    for (fields, bytes, row_bytes) in [("10", "100", 1000), ("10", "10", 100), ("1", "4", 4), ("3", "7", 21)]
    {
        let workload = ycsb(&[("fields", fields), ("field-bytes", bytes)]);
        assert_eq!(workload.tables()[0].row_bytes, row_bytes);
        let row = |key| {
            let mut row = vec![0; row_bytes];
            workload.fill(TableId(0), Key(key), &mut row);
            row
        };
        assert!((0..100).flat_map(row).all(|byte| (b' '..=b'_').contains(&byte)));
        assert_eq!((0..100).map(row).collect::<HashSet<_>>().len(), 100);
        assert_eq!(row(5), row(5));
    }
}

proptest! {
    /// Under any parameters: the plan is what runs, spans are fields, keys are rows, and results can be given
    /// back.
    #[test]
    fn any_parameters(
        (records, fields, field_bytes, accesses) in (64u64..1_000_000_000, 1u64..20, 1u64..400, 1u64..=64),
        (theta, reads) in (0.0f64..1.0, 0u64..=100),
        split in prop_oneof![Just("access"), Just("transaction"), Just("worker")],
        update in prop_oneof![Just("blind"), Just("read-modify-write")],
        touch in prop_oneof![Just("row"), Just("field")],
        order in prop_oneof![Just("drawn"), Just("key")],
        distinct in prop_oneof![Just("yes"), Just("no")],
    ) {
        let given = [
            ("records", records.to_string()),
            ("fields", fields.to_string()),
            ("field-bytes", field_bytes.to_string()),
            ("accesses", accesses.to_string()),
            ("theta", theta.to_string()),
            ("reads", reads.to_string()),
            ("split", split.into()),
            ("update", update.into()),
            ("touch", touch.into()),
            ("order", order.into()),
            ("distinct", distinct.into()),
        ];
        let workload = Ycsb::new(&given.into_iter().collect()).expect("valid parameters");
        let part = if touch == "row" { fields * field_bytes } else { field_bytes } as usize;
        for transaction in transactions(&workload, 3) {
            prop_assert_eq!(transaction.len() as u64, accesses);
            for (_, key, (start, end), access) in transaction {
                prop_assert!(key < records);
                prop_assert_eq!((start % part, end - start), (0, part));
                prop_assert!(end as u64 <= fields * field_bytes);
                prop_assert!(reads < 100 || access == Access::Read);
                prop_assert!(reads > 0 || access == Access::Write);
            }
        }
        let again = Ycsb::new(&workload.resolved().into_iter().collect()).expect("valid once resolved");
        prop_assert_eq!(again.resolved(), workload.resolved());
    }
}
