//! The ordered index against `std::collections::BTreeMap`: look-ups, scans, inserts; and two threads against one.
//!
//! `cargo bench -p trireme-engine --bench ordered -- [entries]`: 10 million entries by default. Rounds are interleaved, so that what
//! else the machine does meets both; the median of five rounds stands with the least and the greatest. Figures belong
//! into `docs/results/`, with the machine.

use engine::ordered_parts::synchronization_policy::{Owned, Shared, SynchronizationPolicy};
use engine::ordered_parts::{Copy, Direction, Tree, Worker};
use fastrand::Rng;
use machine::hardware::worker;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::ops::Bound;
use std::time::Instant;

const ROUNDS: usize = 5;
const LOOK_UPS: usize = 1_000_000;
const SCANS: usize = 50_000;
const SCAN_ENTRIES: usize = 100;
/// Look-ups whose lines are asked for together.
const AHEAD: usize = 16;

/// Keys in the order in which they are inserted.
#[derive(Clone, Copy)]
enum Keys {
    /// 0, 1, 2, ...
    Ascending,
    /// Any 64 bits, in no order.
    Random,
}

impl Keys {
    fn nth(self, n: u64) -> u64 {
        match self {
            Keys::Ascending => n,
            // A bijection without any order.
            Keys::Random => {
                let mixed = (n ^ n >> 31).wrapping_mul(0x7FB5_D329_728E_A185);
                let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x81DA_DEF4_BC2D_D44D);
                mixed ^ mixed >> 33
            }
        }
    }
}

fn load<F: SynchronizationPolicy>(keys: Keys, entries: u64) -> (Tree<F>, Vec<Worker>) {
    let (tree, mut workers) = Tree::new(entries * 2, 8, 2);
    for worker in &mut workers {
        tree.enter(worker);
    }
    for n in 0..entries {
        tree.link(&mut workers[0], &keys.nth(n).to_be_bytes(), n).expect("keys differ");
    }
    (tree, workers)
}

fn insert_into_map(map: &mut BTreeMap<u64, u64>, keys: Keys, numbers: impl Iterator<Item = u64>) {
    for n in numbers {
        map.insert(keys.nth(n), n);
    }
}

/// Millions of operations a second.
fn rate(operations: usize, run: impl FnOnce()) -> f64 {
    let began = Instant::now();
    run();
    operations as f64 / began.elapsed().as_secs_f64() / 1e6
}

/// Median, least and greatest.
fn spread(mut rates: Vec<f64>) -> String {
    rates.sort_by(f64::total_cmp);
    format!("{:7.3} ({:.3} to {:.3})", rates[rates.len() / 2], rates[0], rates[rates.len() - 1])
}

/// Interleaved rounds of `a` and `b`; prints both, and the ratio.
fn compare(what: &str, names: [&str; 2], mut a: impl FnMut(u64) -> f64, mut b: impl FnMut(u64) -> f64) {
    let (mut rates, mut ratios) = ([vec![], vec![]], vec![]);
    for round in 0..ROUNDS as u64 {
        let (first, second) = (a(round), b(round));
        rates[0].push(first);
        rates[1].push(second);
        ratios.push(first / second);
    }
    let [first, second] = rates;
    println!("{what}, millions a second");
    println!("  {:24}{}", names[0], spread(first));
    println!("  {:24}{}", names[1], spread(second));
    println!("  {:24}{}", "ratio", spread(ratios));
}

fn drawn(keys: Keys, entries: u64, seed: u64) -> Vec<u64> {
    let mut random = Rng::with_seed(seed);
    (0..LOOK_UPS).map(|_| keys.nth(random.u64(..entries))).collect()
}

fn look_up<F: SynchronizationPolicy>(tree: &Tree<F>, keys: &[u64]) -> f64 {
    rate(keys.len(), || {
        let found = keys.iter().filter_map(|key| tree.find(&key.to_be_bytes()));
        black_box(found.fold(0u64, u64::wrapping_add));
    })
}

fn look_up_ahead<F: SynchronizationPolicy>(tree: &Tree<F>, keys: &[u64]) -> f64 {
    rate(keys.len(), || {
        let mut sum = 0u64;
        for keys in keys.chunks(AHEAD) {
            let mut all = [[0; 8]; AHEAD];
            all.iter_mut().zip(keys).for_each(|(bytes, key)| *bytes = key.to_be_bytes());
            tree.prefetch_all(&all[..keys.len()]);
            sum = keys.iter().filter_map(|key| tree.find(&key.to_be_bytes())).fold(sum, u64::wrapping_add);
        }
        black_box(sum);
    })
}

fn look_up_in_map(map: &BTreeMap<u64, u64>, keys: &[u64]) -> f64 {
    rate(keys.len(), || {
        black_box(
            keys.iter().filter_map(|key| map.get(key)).fold(0u64, |sum, &value| sum.wrapping_add(value)),
        );
    })
}

/// Both threads together.
fn on_threads(
    threads: usize,
    look_up: impl Fn(&[u64]) -> f64 + Sync,
    draw: impl Fn(u64) -> Vec<u64> + Sync,
) -> f64 {
    worker::run(threads, |thread| look_up(&draw(thread as u64))).iter().sum()
}

fn scans(tree: &Tree<Shared>, copy: &mut Copy, keys: &[u64], direction: Direction) -> f64 {
    rate(SCANS, || {
        let mut sum = 0u64;
        for key in &keys[..SCANS] {
            let mut left = SCAN_ENTRIES;
            tree.scan(copy, Bound::Included(&key.to_be_bytes()), direction, SCAN_ENTRIES, |_, value| {
                (sum, left) = (sum.wrapping_add(value), left - 1);
                left > 0
            });
        }
        black_box(sum);
    })
}

fn scans_of_map(map: &BTreeMap<u64, u64>, keys: &[u64]) -> f64 {
    rate(SCANS, || {
        let entries = keys[..SCANS].iter().flat_map(|key| map.range(key..).take(SCAN_ENTRIES));
        black_box(entries.fold(0u64, |sum, (_, value)| sum.wrapping_add(*value)));
    })
}

fn measure(name: &str, keys: Keys, entries: u64) {
    let (tree, mut workers) = load::<Shared>(keys, entries);
    let mut map: BTreeMap<u64, u64> = (0..entries).map(|n| (keys.nth(n), n)).collect();
    if let Keys::Random = keys {
        map.clear();
        insert_into_map(&mut map, keys, 0..entries);
    }
    let census = tree.check(&workers);
    let bytes = tree.bytes_taken() as f64 / entries as f64;
    println!(
        "== {name}: {entries} entries, {bytes:.1} bytes each, leaves {:.0} % full",
        100.0 * census.fill()
    );
    println!(
        "height {}: a look-up asks for {} lines; {} inner nodes take {} KiB",
        census.height,
        census.height * 4,
        census.inners,
        census.inners * 256 / 1024
    );
    let draw = |seed| drawn(keys, entries, seed);
    let names = ["ordered index", "BTreeMap"];
    compare("look-ups", names, |n| look_up(&tree, &draw(n)), |n| look_up_in_map(&map, &draw(n)));
    let names = ["16 asked for ahead", "one after the other"];
    compare("look-ups", names, |n| look_up_ahead(&tree, &draw(n)), |n| look_up(&tree, &draw(n)));
    let names = ["two threads", "one thread"];
    let on = |threads, n| on_threads(threads, |keys| look_up(&tree, keys), |thread| draw(n + thread));
    compare("look-ups in the ordered index", names, |n| on(2, n), |n| on(1, n));
    let on = |threads, n| on_threads(threads, |keys| look_up_in_map(&map, keys), |thread| draw(n + thread));
    compare("look-ups in a BTreeMap", names, |n| on(2, n), |n| on(1, n));
    let (mut copy, names) = (Copy::default(), ["ordered index", "BTreeMap"]);
    let forward = |n| scans(&tree, &mut copy, &draw(n), Direction::Forward);
    compare("scans of 100", names, forward, |n| scans_of_map(&map, &draw(n)));
    let inserts = LOOK_UPS / 2;
    let fresh = |round: u64| (entries..entries + inserts as u64).map(move |n| n + round * inserts as u64);
    compare(
        "inserts",
        names,
        |round| {
            let worker = &mut workers[0];
            let insert = |n| tree.link(worker, &keys.nth(n).to_be_bytes(), n).expect("fresh");
            rate(inserts, || fresh(round).for_each(insert))
        },
        |round| rate(inserts, || insert_into_map(&mut map, keys, fresh(round))),
    );
    tree.check(&workers);
}

/// What versions and their validation cost.
fn policies(entries: u64) {
    let keys = Keys::Random;
    let (shared, _shared_workers) = load::<Shared>(keys, entries);
    let (owned, _owned_workers) = load::<Owned>(keys, entries);
    let draw = |seed| drawn(keys, entries, seed);
    compare("look-ups", ["owned", "shared"], |n| look_up(&owned, &draw(n)), |n| look_up(&shared, &draw(n)));
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_bench = arguments.iter().any(|argument| argument == "--bench");
    let asked = arguments.iter().find_map(|argument| argument.parse().ok());
    // `cargo test --benches` only sees whether it runs.
    let entries = asked.unwrap_or(if is_bench { 10_000_000 } else { 10_000 });
    measure("keys in ascending order", Keys::Ascending, entries);
    measure("keys in no order", Keys::Random, entries);
    println!("== synchronization policies");
    policies(entries / 10);
}
