//! The ordered index against `BTreeMap`, in every synchronization policy; and many threads over one tree.

#[path = "ordered/mod.rs"]
mod keys;

use engine::ordered_parts::synchronization_policy::{Owned, Shared, SingleWriter, SynchronizationPolicy};
use engine::ordered_parts::{Copy, Direction, MAX_KEY_BYTES, Tree};
use fastrand::Rng;
use keys::Keys;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What is done to a tree and to a map.
#[derive(Clone, Debug)]
enum Operation {
    Link(Vec<u8>),
    Unlink(Vec<u8>),
    Find(Vec<u8>),
    Scan { bound: Bound<Vec<u8>>, backward: bool, limit: usize, most: usize },
    Refresh,
}

fn as_slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}

type Model = BTreeMap<Vec<u8>, u64>;

/// What a scan of the map sees.
fn expected(model: &Model, bound: &Bound<Vec<u8>>, backward: bool, most: usize) -> Vec<(Vec<u8>, u64)> {
    let owned = |(key, value): (&Vec<u8>, &u64)| (key.clone(), *value);
    let bound = as_slice(bound);
    if backward {
        model.range::<[u8], _>((Bound::Unbounded, bound)).rev().take(most).map(owned).collect()
    } else {
        model.range::<[u8], _>((bound, Bound::Unbounded)).take(most).map(owned).collect()
    }
}

/// Up to `most` entries, copied up to `limit` at a time.
fn scanned<F: SynchronizationPolicy>(
    tree: &Tree<F>,
    copy: &mut Copy,
    bound: Bound<&[u8]>,
    backward: bool,
    limit: usize,
    most: usize,
) -> Vec<(Vec<u8>, u64)> {
    let direction = if backward { Direction::Backward } else { Direction::Forward };
    let mut seen = Vec::new();
    tree.scan(copy, bound, direction, limit, |key, value| {
        if seen.len() < most {
            seen.push((key.to_vec(), value));
        }
        seen.len() < most
    });
    seen
}

/// Panics at the first difference.
fn same(found: &[(Vec<u8>, u64)], expected: &[(Vec<u8>, u64)]) {
    for (n, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert_eq!(found, expected, "at {n}");
    }
    assert_eq!(found.len(), expected.len());
}

/// Does all to both, and compares; checks the tree now and then.
fn agree<F: SynchronizationPolicy>(operations: &[Operation]) {
    let (tree, mut workers) = Tree::<F>::new(1_000, 100, 1);
    let (worker, mut copy, mut model) = (&mut workers[0], Copy::default(), Model::new());
    tree.enter(worker);
    for (n, operation) in operations.iter().enumerate() {
        let n = n as u64;
        match operation {
            Operation::Link(key) => match model.get(key) {
                Some(&linked) => assert_eq!(tree.link(worker, key, n), Err(linked)),
                None => {
                    assert_eq!(tree.link(worker, key, n), Ok(()));
                    model.insert(key.clone(), n);
                }
            },
            Operation::Unlink(key) => {
                if let Some(value) = model.remove(key) {
                    tree.unlink(worker, key, value);
                }
            }
            Operation::Find(key) => {
                tree.prefetch(key);
                assert_eq!(tree.find(key), model.get(key).copied());
                assert_eq!(tree.find_near(worker, key), model.get(key).copied());
            }
            Operation::Scan { bound, backward, limit, most } => {
                let found = scanned(&tree, &mut copy, as_slice(bound), *backward, *limit, *most);
                same(&found, &expected(&model, bound, *backward, *most));
                let (mut all, direction) =
                    (Vec::new(), if *backward { Direction::Backward } else { Direction::Forward });
                tree.scan_from_the_root(&mut copy, as_slice(bound), direction, *limit, |key, value| {
                    all.push((key.to_vec(), value));
                });
                same(&all, &expected(&model, bound, *backward, usize::MAX));
                all.clear();
                tree.scan_near(
                    (&mut *worker, &mut copy),
                    as_slice(bound),
                    direction,
                    *limit,
                    |key, value| {
                        all.push((key.to_vec(), value));
                        all.len() < 100
                    },
                );
                let shown = expected(&model, bound, *backward, 100);
                same(&all, &shown);
                for (key, value) in shown {
                    assert_eq!(tree.find_near(worker, &key), Some(value), "what was shown is looked up");
                }
            }
            Operation::Refresh => {
                tree.advance();
                tree.refresh(worker);
            }
        }
        if n % 64 == 63 {
            assert_eq!(tree.check([&*worker]).entries, model.len() as u64);
        }
    }
    for (key, value) in &model {
        assert_eq!(tree.find(key), Some(*value), "{key:?}");
        assert_eq!(tree.find_near(worker, key), Some(*value), "{key:?}");
    }
    let linked: Vec<(&Vec<u8>, &u64)> = model.iter().collect();
    for linked in linked.chunks(16) {
        let (keys, values): (Vec<_>, Vec<u64>) = linked.iter().copied().unzip();
        assert_eq!(tree.candidates(&keys), values, "what is asked for ahead in a tree that is quiet");
    }
    for backward in [false, true] {
        let found = scanned(&tree, &mut copy, Bound::Unbounded, backward, usize::MAX, usize::MAX);
        same(&found, &expected(&model, &Bound::Unbounded, backward, usize::MAX));
    }
    let mut numbers = tree.numbers();
    numbers.sort_unstable();
    let mut expected: Vec<u64> = model.values().copied().collect();
    expected.sort_unstable();
    assert_eq!(numbers.len(), expected.len());
    assert!(numbers == expected, "records of a quiescent tree");
    for (key, value) in model {
        tree.unlink(worker, &key, value);
    }
    let census = tree.check([&*worker]);
    assert_eq!((census.entries, census.leaves, census.height, census.units), (0, 1, 2, 0), "nothing is left");
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        (0u64..400).prop_map(|n| Keys::Numbers.key(n)),
        (0u64..200).prop_map(|n| Keys::Words.key(n)),
        prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(255)], 0..10),
        (0u64..400).prop_map(|n| Keys::Long.key(n)),
        (0u64..100).prop_map(|n| Keys::Any.key(n)),
        prop::collection::vec(any::<u8>(), 0..=MAX_KEY_BYTES),
    ]
}

fn bound() -> impl Strategy<Value = Bound<Vec<u8>>> {
    prop_oneof![
        4 => key().prop_map(Bound::Included),
        4 => key().prop_map(Bound::Excluded),
        1 => Just(Bound::Unbounded),
    ]
}

fn operation() -> impl Strategy<Value = Operation> {
    let scan = (bound(), any::<bool>(), 1usize..20, 0usize..60);
    prop_oneof![
        8 => key().prop_map(Operation::Link),
        4 => key().prop_map(Operation::Unlink),
        2 => key().prop_map(Operation::Find),
        1 => scan.prop_map(|(bound, backward, limit, most)| Operation::Scan { bound, backward, limit, most }),
        1 => Just(Operation::Refresh),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_a_map(operations in prop::collection::vec(operation(), 1..1500)) {
        agree::<Shared>(&operations);
        agree::<SingleWriter>(&operations);
        agree::<Owned>(&operations);
    }
}

/// Long runs of one kind of key, growing and shrinking by turns, so that trees get several levels.
fn tides(keys: Keys, seed: u64, many: u64, length: usize) -> Vec<Operation> {
    let mut random = Rng::with_seed(seed);
    (0..length)
        .map(|n| {
            let grows = (n / (length / 4)).is_multiple_of(2);
            let mut key = || keys.draw(&mut random, many);
            let (first, second) = (key(), key());
            match random.u32(..40) {
                0 => Operation::Refresh,
                1 => Operation::Scan {
                    bound: if random.bool() { Bound::Included(first) } else { Bound::Excluded(first) },
                    backward: random.bool(),
                    limit: random.usize(1..20),
                    most: random.usize(..200),
                },
                2 | 3 => Operation::Find(second),
                other if (other < 32) == grows => Operation::Link(first),
                _ => Operation::Unlink(first),
            }
        })
        .collect()
}

#[test]
fn agrees_with_a_map_over_many_levels() {
    for keys in Keys::ALL {
        for seed in 0..3 {
            let operations = tides(keys, seed, 4_000, 20_000);
            agree::<Shared>(&operations);
            agree::<SingleWriter>(&operations);
            agree::<Owned>(&operations);
        }
    }
}

fn ascending_keys<F: SynchronizationPolicy>() {
    let (tree, mut workers) = Tree::<F>::new(100_000, 8, 1);
    let (worker, mut noted) = (&mut workers[0], 0u64);
    tree.enter(worker);
    for n in 0..100_000u64 {
        noted += u64::from(tree.is_noted(worker, &n.to_be_bytes()));
        assert_eq!(tree.link(worker, &n.to_be_bytes(), n), Ok(()));
    }
    let census = tree.check([&*worker]);
    assert!(census.fill() > 0.99, "{census:?}");
    assert_eq!(census.units, 0, "keys of eight bytes need nothing out of line");
    assert!(census.inners * 17 < census.leaves, "{census:?}");
    assert_eq!(census.height, 4);
    // Unless the parent is full.
    assert!(noted > 90_000, "{noted} of 100,000 keys found their leaf's place noted");
}

#[test]
fn ascending_keys_fill_their_leaves() {
    ascending_keys::<Shared>();
    ascending_keys::<SingleWriter>();
    ascending_keys::<Owned>();
}

/// Orders of ten districts: each district's lines ascend, before the next district's.
fn keys_that_ascend_in_several_places<F: SynchronizationPolicy>(key: impl Fn(u64, u64) -> Vec<u8>) {
    const DISTRICTS: u64 = 10;
    let (tree, mut workers) = Tree::<F>::new(100_000, 40, 1);
    let (worker, mut noted, mut total) = (&mut workers[0], 0u64, 0u64);
    tree.enter(worker);
    let mut next = [0u64; DISTRICTS as usize];
    for order in 0..10_000u64 {
        let district = (order * 7 + order / DISTRICTS) % DISTRICTS;
        for _ in 0..5 + order % 11 {
            let line = &mut next[district as usize];
            noted += u64::from(tree.is_noted(worker, &key(district, *line)));
            assert_eq!(tree.link(worker, &key(district, *line), total), Ok(()));
            (*line, total) = (*line + 1, total + 1);
        }
        tree.advance();
        tree.refresh(worker);
    }
    let census = tree.check([&*worker]);
    assert!(census.fill() > 0.97, "{census:?}");
    assert_eq!(census.entries, total);
    for (district, &next) in next.iter().enumerate() {
        for line in 0..next {
            assert!(tree.find(&key(district as u64, line)).is_some(), "line {line} of district {district}");
        }
    }
    // A district whose parent another one has changed notes its place anew at its next split.
    assert!(noted > total / 10, "{noted} of {total} keys found their leaf's place noted");
}

#[test]
fn keys_that_ascend_in_several_places_fill_their_leaves() {
    let number = |district: u64, line: u64| (district << 40 | line).to_be_bytes().to_vec();
    keys_that_ascend_in_several_places::<Shared>(number);
    keys_that_ascend_in_several_places::<SingleWriter>(number);
    keys_that_ascend_in_several_places::<Owned>(number);
    // What parts these districts is out of line in the nodes above.
    let long = |district: u64, line: u64| {
        [&b"district/"[..], &district.to_be_bytes(), b"/line/", &line.to_be_bytes()].concat()
    };
    keys_that_ascend_in_several_places::<Shared>(long);
    keys_that_ascend_in_several_places::<Owned>(long);
}

/// Memory for whatever a change may need is taken before its latches: under one, asking the system for a chunk is a panic
/// (in debug builds). Long keys with long common beginnings need most.
#[test]
fn nothing_under_latches() {
    for (keys, tail) in Keys::ALL.into_iter().flat_map(|keys| [(keys, 0), (keys, 900)]) {
        let key_bytes = if tail == 0 && matches!(keys, Keys::Numbers | Keys::Words) { 8 } else { 40 };
        let (tree, mut workers) = Tree::<Shared>::new(1_000, key_bytes, 1);
        let worker = &mut workers[0];
        tree.enter(worker);
        let key = |n: u64| {
            let mut key = keys.key(n);
            let room = MAX_KEY_BYTES - key.len();
            key.extend(std::iter::repeat_n(b'y', tail.min(room)));
            key
        };
        for round in 0..3 {
            let linked: Vec<u64> = (0..3_000).filter(|&n| tree.link(worker, &key(n), n).is_ok()).collect();
            for (position, &n) in linked.iter().enumerate() {
                tree.unlink(worker, &key(n), n);
                if (position + round).is_multiple_of(64) {
                    tree.advance();
                    tree.refresh(worker);
                }
            }
        }
        assert_eq!(tree.check([&*worker]).entries, 0);
    }
}

#[test]
fn a_tree_takes_what_is_expected() {
    for (keys, key_bytes) in [(Keys::Words, 8), (Keys::Long, 40)] {
        let (mut tree, mut workers) = Tree::<Shared>::new(100_000, key_bytes, 1);
        tree.enter(&mut workers[0]);
        let mut entries = 0;
        for n in 0..100_000 {
            let mut key = keys.key(n);
            key.extend(if keys == Keys::Long { n.to_be_bytes().to_vec() } else { vec![] });
            entries += u64::from(tree.link(&mut workers[0], &key, n).is_ok());
        }
        let (taken, expected) = (tree.bytes_taken(), Tree::<Shared>::bytes_for(entries, key_bytes));
        assert!(taken <= expected * 3 / 2, "{keys:?}: {taken} bytes, {expected} expected");
        assert!(taken >= expected / 2, "{keys:?}: {taken} bytes, {expected} expected");
        tree.leave(&mut workers[0]);
        tree.start_anew(workers.iter_mut());
        assert_eq!(tree.check(&workers).entries, entries);
    }
}

#[test]
fn a_version_tells_that_a_leaf_has_changed() {
    let (tree, mut workers) = Tree::<Shared>::new(1_000, 8, 1);
    let mut copy = Copy::default();
    tree.enter(&mut workers[0]);
    let key = |n: u64| n.to_be_bytes();
    for n in 0..100u64 {
        let (before, far) = (tree.witness(&key(n)), tree.witness(&key(0)));
        assert!(tree.is_as_witnessed(&before));
        tree.observe(&mut copy, Bound::Included(&key(n)), Direction::Backward);
        assert_eq!(Tree::<Shared>::copied(&copy), before);
        tree.link(&mut workers[0], &key(n), n).expect("keys differ");
        // The last leaf changes, be it split or not; the first one only as long as it is the last, or its parent's
        // split changes its range.
        assert!(n % 15 == 0 || !tree.is_as_witnessed(&before), "{n}");
        assert!(n < 16 || tree.is_as_witnessed(&far), "{n}");
    }
}

/// A queue: keys are linked at one end and unlinked at the other.
#[test]
fn a_queue_keeps_its_size() {
    for step in [1, -1i64] {
        let (tree, mut workers) = Tree::<Shared>::new(1_000, 8, 1);
        let worker = &mut workers[0];
        tree.enter(worker);
        let key = |n: u64| (1u64 << 40).wrapping_add_signed(step * n as i64).to_be_bytes();
        for n in 0..100_000u64 {
            assert_eq!(tree.link(worker, &key(n), n), Ok(()));
            if n >= 1_000 {
                tree.unlink(worker, &key(n - 1_000), n - 1_000);
            }
            if n % 16 == 0 {
                tree.advance();
                tree.refresh(worker);
            }
        }
        let census = tree.check([&*worker]);
        assert_eq!((census.entries, census.empty_leaves), (1_000, 0));
        assert!(census.nodes() < 200, "{census:?}");
        assert!(tree.bytes_taken() < 100_000, "memory comes back: {} bytes", tree.bytes_taken());
    }
}

const THREADS: usize = 4;

/// Every thread links and unlinks its own keys; keys that stay are looked for and scanned meanwhile.
fn threads_keep_their_keys(keys: Keys, rounds: u64) {
    let (tree, mut workers) = Tree::<Shared>::new(10_000, 100, THREADS + 1);
    // A key says by its last byte whose it is.
    let owned = |n: u64, owner: usize| {
        let mut key = keys.key(n);
        key.truncate(MAX_KEY_BYTES - 1);
        key.push(owner as u8);
        key
    };
    // Some keys stay.
    const MANY: u64 = 1_500;
    let mut staying = Model::new();
    for n in (0..MANY).step_by(3) {
        let first = &mut workers[0];
        tree.enter(first);
        if tree.link(first, &owned(n, THREADS), n).is_ok() {
            staying.insert(owned(n, THREADS), n);
        }
        tree.leave(first);
    }
    let (running, scans) = (AtomicU64::new(THREADS as u64), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let (scanner, writers) = workers.split_last_mut().expect("some");
        for (thread, worker) in writers.iter_mut().enumerate() {
            let (tree, running, owned) = (&tree, &running, &owned);
            scope.spawn(move || {
                let (mut random, mut mine) = (Rng::with_seed(thread as u64), Model::new());
                tree.enter(worker);
                for round in 0..rounds {
                    let n = random.u64(..MANY);
                    let key = owned(n, thread);
                    match mine.remove(&key) {
                        Some(value) => {
                            assert_eq!(tree.find(&key), Some(value), "{key:?} is lost");
                            assert_eq!(tree.find_near(worker, &key), Some(value), "{key:?} is lost");
                            tree.unlink(worker, &key, value);
                            assert_eq!(tree.find(&key), None);
                            assert_eq!(tree.find_near(worker, &key), None);
                        }
                        None => {
                            assert_eq!(tree.link(worker, &key, n), Ok(()), "{key:?}");
                            mine.insert(key, n);
                        }
                    }
                    tree.refresh(worker);
                    if round % 64 == 0 {
                        tree_advance(tree, thread);
                    }
                }
                for (key, value) in mine {
                    assert_eq!(tree.find(&key), Some(value), "{key:?} is lost");
                    tree.unlink(worker, &key, value);
                }
                tree.leave(worker);
                running.fetch_sub(1, Ordering::Relaxed);
            });
        }
        let (tree, running, staying, scans) = (&tree, &running, &staying, &scans);
        scope.spawn(move || {
            let (mut copy, mut random) = (Copy::default(), Rng::with_seed(99));
            while running.load(Ordering::Relaxed) > 0 {
                tree.enter(scanner);
                let (backward, limit) = (random.bool(), random.usize(1..20));
                let seen = if random.bool() {
                    scanned(tree, &mut copy, Bound::Unbounded, backward, limit, usize::MAX)
                } else {
                    let mut seen = Vec::new();
                    let direction = if backward { Direction::Backward } else { Direction::Forward };
                    tree.scan_near(
                        (&mut *scanner, &mut copy),
                        Bound::Unbounded,
                        direction,
                        limit,
                        |key, value| {
                            seen.push((key.to_vec(), value));
                            true
                        },
                    );
                    seen
                };
                let is_sorted = seen.is_sorted_by(|a, b| if backward { a.0 > b.0 } else { a.0 < b.0 });
                assert!(is_sorted, "a scan is not sorted");
                let stay = seen.iter().filter(|(key, value)| staying.get(key) == Some(value)).count();
                assert_eq!(stay, staying.len(), "a scan misses keys that stay");
                for (key, value) in staying {
                    assert_eq!(tree.find(key), Some(*value), "{key:?} stays");
                    assert_eq!(tree.find_near(scanner, key), Some(*value), "{key:?} stays");
                }
                scans.fetch_add(1, Ordering::Relaxed);
                tree.leave(scanner);
            }
        });
    });
    let census = tree.check(&workers);
    assert_eq!(census.entries, staying.len() as u64);
    assert!(scans.into_inner() > 0);
}

/// One thread advances the epoch.
fn tree_advance<F: SynchronizationPolicy>(tree: &Tree<F>, thread: usize) {
    if thread == 0 {
        tree.advance();
    }
}

#[test]
fn many_threads_keep_their_keys() {
    for keys in Keys::ALL {
        threads_keep_their_keys(keys, 60_000);
    }
}

#[test]
fn readers_of_a_single_writer_see_what_stays() {
    let (tree, mut workers) = Tree::<SingleWriter>::new(10_000, 8, 2);
    let (writer, reader) = workers.split_at_mut(1);
    let ended = AtomicBool::new(false);
    tree.enter(&mut writer[0]);
    for n in (0..3_000u64).step_by(3) {
        tree.link(&mut writer[0], &n.to_be_bytes(), n).expect("keys differ");
    }
    std::thread::scope(|scope| {
        let (tree, ended) = (&tree, &ended);
        scope.spawn(move || {
            let (mut copy, reader) = (Copy::default(), &mut reader[0]);
            while !ended.load(Ordering::Relaxed) {
                tree.enter(reader);
                for n in (0..3_000u64).step_by(3) {
                    assert_eq!(tree.find(&n.to_be_bytes()), Some(n));
                }
                let seen = scanned(tree, &mut copy, Bound::Unbounded, false, 7, usize::MAX);
                assert!(seen.is_sorted_by(|a, b| a.0 < b.0));
                assert_eq!(seen.iter().filter(|(_, value)| value % 3 == 0).count(), 1_000);
                tree.leave(reader);
            }
        });
        let (mut random, mut linked) = (Rng::with_seed(5), vec![false; 3_000]);
        for round in 0..400_000 {
            let n = random.usize(..1_000) * 3 + random.usize(1..3);
            let key = (n as u64).to_be_bytes();
            linked[n] = !linked[n];
            if !linked[n] {
                tree.unlink(&mut writer[0], &key, n as u64);
            } else {
                tree.link(&mut writer[0], &key, n as u64).expect("not linked");
            }
            if round % 16 == 0 {
                tree.advance();
                tree.refresh(&mut writer[0]);
            }
        }
        ended.store(true, Ordering::Relaxed);
    });
    tree.check(&workers);
}
