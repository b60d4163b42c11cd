//! The ordered index under explored interleavings: splits and removals against look-ups and scans of small trees, gaps
//! that are observed and held; and trees with a step left out, which must be found.

#[path = "../../engine/tests/ordered/mod.rs"]
mod keys;

use engine_simulated::ordered_parts::synchronization_policy::{Shared, SingleWriter, SynchronizationPolicy};
use engine_simulated::ordered_parts::wrong::{UnvalidatedReads, Unversioned};
use engine_simulated::ordered_parts::{Copy, Direction, Mutant, Tree, Worker};
use fastrand::Rng;
use keys::Keys;
use machine::simulated::{Schedule, explore, unobserved, worker};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

const WORKERS: usize = 3;

fn schedules(seed: u64) -> [Schedule; 4] {
    [
        Schedule::Random { seed, switch_one_in: 2 },
        Schedule::Random { seed, switch_one_in: 20 },
        Schedule::Random { seed, switch_one_in: 200 },
        Schedule::Pct { seed, depth: 3, steps: 20_000 },
    ]
}

/// A key that says by its last byte whose it is.
fn key_of(keys: Keys, n: u64, owner: usize) -> Vec<u8> {
    let mut key = keys.key(n);
    key.truncate(100);
    key.push(owner as u8);
    key
}

/// A tree with keys that stay, and the workers' places.
struct World<F: SynchronizationPolicy> {
    tree: Tree<F>,
    staying: BTreeMap<Vec<u8>, u64>,
    places: Vec<Mutex<Worker>>,
}

/// Of `many` numbers, every fifth stands for a key that stays.
fn world<F: SynchronizationPolicy>(keys: Keys, many: u64, mutant: Option<Mutant>) -> World<F> {
    unobserved(|| {
        let (tree, mut workers) = Tree::<F>::new(1_000, 100, WORKERS);
        let mut tree = tree.with_mutant(mutant);
        let mut staying = BTreeMap::new();
        tree.enter(&mut workers[0]);
        for n in (0..many).step_by(5) {
            let key = key_of(keys, n, WORKERS);
            if tree.link(&mut workers[0], &key, n).is_ok() {
                staying.insert(key, n);
            }
        }
        tree.leave(&mut workers[0]);
        // Whatever the gaps are used for next, they are free.
        tree.start_anew(workers.iter_mut());
        World { tree, staying, places: workers.into_iter().map(Mutex::new).collect() }
    })
}

impl<F: SynchronizationPolicy> World<F> {
    /// Links and unlinks keys of its own: runs of neighbours, so that leaves are split and emptied.
    fn write(&self, me: usize, keys: Keys, many: u64, random: &mut Rng, runs: usize) {
        let (mut worker, mut mine) = (self.places[me].lock().expect("nobody panicked"), BTreeMap::new());
        self.tree.enter(&mut worker);
        for _ in 0..runs {
            let first = random.u64(..many);
            for n in first..first + random.u64(1..20) {
                let key = key_of(keys, n % many, me);
                if let Entry::Vacant(mine) = mine.entry(key) {
                    let linked = self.tree.link(&mut worker, mine.key(), n);
                    assert_eq!(linked, Ok(()), "nobody else links {:?}", mine.key());
                    mine.insert(n);
                }
            }
            self.tree.refresh(&mut worker);
            for (key, &n) in &mine {
                assert_eq!(self.tree.find(key), Some(n), "{key:?} is lost");
                assert_eq!(self.tree.find_near(&mut worker, key), Some(n), "{key:?} is lost");
            }
            if me == 0 {
                self.tree.advance();
            }
            if random.bool() {
                for (key, n) in std::mem::take(&mut mine) {
                    self.tree.unlink(&mut worker, &key, n);
                    assert_eq!(self.tree.find(&key), None, "{key:?} was unlinked");
                    assert_eq!(self.tree.find_near(&mut worker, &key), None, "{key:?} was unlinked");
                    self.tree.refresh(&mut worker);
                }
            }
        }
        for (key, n) in mine {
            self.tree.unlink(&mut worker, &key, n);
        }
        self.tree.leave(&mut worker);
    }

    /// Looks for what stays, and scans.
    fn read(&self, me: usize, random: &mut Rng, scans: usize) {
        let (mut worker, mut copy) = (self.places[me].lock().expect("nobody panicked"), Copy::default());
        self.tree.enter(&mut worker);
        for _ in 0..scans {
            let direction = if random.bool() { Direction::Forward } else { Direction::Backward };
            let (mut last, mut stay): (Option<Vec<u8>>, usize) = (None, 0);
            let meet = |key: &[u8], value: u64| {
                let is_sorted = last.as_deref().is_none_or(|last| match direction {
                    Direction::Forward => last < key,
                    Direction::Backward => last > key,
                });
                assert!(is_sorted, "a scan meets {key:?} after {last:?}");
                stay += usize::from(self.staying.get(key) == Some(&value));
                last = Some(key.to_vec());
                true
            };
            let (limit, from) = (random.usize(1..20), Bound::Unbounded);
            if random.bool() {
                self.tree.scan(&mut copy, from, direction, limit, meet);
            } else {
                self.tree.scan_near((&mut worker, &mut copy), from, direction, limit, meet);
            }
            assert_eq!(stay, self.staying.len(), "a scan misses keys that stay");
            for (key, &n) in self.staying.iter().filter(|_| random.u32(..4) == 0) {
                assert_eq!(self.tree.find(key), Some(n), "{key:?} stays");
                assert_eq!(self.tree.find_near(&mut worker, key), Some(n), "{key:?} stays");
            }
            self.tree.refresh(&mut worker);
        }
        self.tree.leave(&mut worker);
    }

    fn end(self) {
        unobserved(|| {
            let places: Vec<Worker> =
                self.places.into_iter().map(|place| place.into_inner().expect("nobody panicked")).collect();
            let census = self.tree.check(&places);
            assert_eq!(census.entries, self.staying.len() as u64, "keys that stay");
        });
    }
}

/// What was found broken, in a panic's words.
fn found(schedule: Schedule, run: impl FnOnce()) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| explore(schedule, run))).map_err(|panic| {
        panic.downcast_ref::<String>().cloned().unwrap_or_else(|| "a panic without words".to_owned())
    })
}

/// Two that write and one that reads; only the first writes if there is a single writer.
fn readers_and_writers<F: SynchronizationPolicy>(writers: usize, keys: Keys, many: u64, seed: u64) {
    let world = world::<F>(keys, many, None);
    worker::run(WORKERS, |me| {
        let mut random = Rng::with_seed(seed * WORKERS as u64 + me as u64);
        if me < writers {
            world.write(me, keys, many, &mut random, 4);
        } else {
            world.read(me, &mut random, 3);
        }
    });
    world.end();
}

/// Kinds of keys, and how many: two levels, and three.
const SIZES: [(Keys, u64); 6] = [
    (Keys::Numbers, 40),
    (Keys::Prefixes, 60),
    (Keys::Long, 60),
    (Keys::Any, 40),
    (Keys::Numbers, 1_600),
    (Keys::Long, 1_600),
];

#[test]
fn nothing_is_lost_under_any_schedule() {
    for seed in 0..200 {
        for schedule in schedules(seed) {
            for (keys, many) in SIZES.into_iter().filter(|&(_, many)| many < 1_000 || seed % 10 == 0) {
                let run = found(schedule, || readers_and_writers::<Shared>(2, keys, many, seed));
                run.unwrap_or_else(|broken| panic!("{keys:?}, {many}: {broken}"));
                let run = found(schedule, || readers_and_writers::<SingleWriter>(1, keys, many, seed));
                run.unwrap_or_else(|broken| panic!("single writer, {keys:?}, {many}: {broken}"));
            }
        }
    }
}

/// While an observed leaf is valid, nothing appears in its range.
fn observed_gaps<F: SynchronizationPolicy>(seed: u64, mutant: Option<Mutant>) {
    let (keys, many) = (Keys::Numbers, 60);
    let world = world::<F>(keys, many, mutant);
    worker::run(WORKERS, |me| {
        let mut random = Rng::with_seed(seed * WORKERS as u64 + me as u64);
        if me < 2 {
            return world.write(me, keys, many, &mut random, 3);
        }
        let mut worker = world.places[me].lock().expect("nobody panicked");
        let (mut copy, mut again) = (Copy::default(), Copy::default());
        world.tree.enter(&mut worker);
        for _ in 0..30 {
            let key = key_of(keys, random.u64(..many), 1);
            let direction = if random.bool() { Direction::Forward } else { Direction::Backward };
            let bound =
                if random.bool() { Bound::Included(key.as_slice()) } else { Bound::Excluded(key.as_slice()) };
            let observed = world.tree.observe(&mut copy, bound, direction);
            world.tree.observe(&mut again, bound, direction);
            if world.tree.is_valid(observed) {
                let first: BTreeSet<&[u8]> = Tree::<F>::keys_of(&copy).collect();
                let phantom = Tree::<F>::keys_of(&again).find(|key| !first.contains(key));
                assert_eq!(phantom, None, "a key appears in a leaf whose token is valid");
            }
            world.tree.refresh(&mut worker);
        }
        world.tree.leave(&mut worker);
    });
    world.end();
}

/// While a gap is held, a key that is missing stays missing, and its leaf stays in the tree.
fn held_gaps<F: SynchronizationPolicy>(seed: u64, mutant: Option<Mutant>) {
    // So few that there are two or three leaves, split and emptied again and again.
    const MANY: u64 = 14;
    let world = world::<F>(Keys::Numbers, 0, mutant);
    worker::run(WORKERS, |me| {
        let mut random = Rng::with_seed(seed * WORKERS as u64 + me as u64);
        let mut worker = world.places[me].lock().expect("nobody panicked");
        world.tree.enter(&mut worker);
        if me < 2 {
            write_holding(&world, me, &mut worker, &mut random)
        } else {
            hold_often(&world, &mut worker, &mut random)
        }
        world.tree.leave(&mut worker);
    });
    world.end();

    fn write_holding<F: SynchronizationPolicy>(
        world: &World<F>,
        me: usize,
        worker: &mut Worker,
        random: &mut Rng,
    ) {
        let mut mine = BTreeMap::<Vec<u8>, u64>::new();
        for round in 0..80 {
            let (n, shrinks) = (random.u64(..MANY), round / 20 % 2 == 1);
            let key = key_of(Keys::Numbers, n, me);
            if let Some((key, n)) = shrinks.then(|| mine.pop_first()).flatten() {
                world.tree.unlink_holding(worker, &key, n);
            } else if let Entry::Vacant(mine) = mine.entry(key) {
                let was_missing = world.tree.link_holding(worker, mine.key(), n);
                assert!(was_missing, "nobody else links {:?}", mine.key());
                mine.insert(n);
            }
            if me == 0 {
                world.tree.advance();
            }
            world.tree.refresh(worker);
        }
        for (key, n) in mine {
            world.tree.unlink_holding(worker, &key, n);
        }
    }

    fn hold_often<F: SynchronizationPolicy>(world: &World<F>, worker: &mut Worker, random: &mut Rng) {
        for _ in 0..40 {
            hold(world, &key_of(Keys::Numbers, random.u64(..MANY), random.usize(..2)));
            world.tree.refresh(worker);
        }
    }
}

/// Holds the gap of a key, if it is missing, and looks whether anything appears there.
fn hold<F: SynchronizationPolicy>(world: &World<F>, key: &[u8]) {
    let (mut copy, mut again) = (Copy::default(), Copy::default());
    let Some(held) = world.tree.hold(key) else { return };
    // What the leaf holds above the key, and then again.
    world.tree.observe(&mut copy, Bound::Included(key), Direction::Forward);
    let first: BTreeSet<&[u8]> = Tree::<F>::keys_of(&copy).collect();
    for _ in 0..5 {
        assert_eq!(world.tree.find(key), None, "a key appears in a gap that is held");
        world.tree.observe(&mut again, Bound::Included(key), Direction::Forward);
        let phantom = Tree::<F>::keys_of(&again).find(|key| !first.contains(key));
        assert_eq!(phantom, None, "a key appears in a leaf that is held");
    }
    world.tree.let_go(held);
}

/// Two inserts into the upper half of one full leaf, while the gaps of that half are held now and then.
fn held_gaps_at_a_split<F: SynchronizationPolicy>(seed: u64, mutant: Option<Mutant>) {
    const FULL: u64 = 5 * 15;
    let world = world::<F>(Keys::Numbers, FULL, mutant);
    worker::run(WORKERS, |me| {
        let mut random = Rng::with_seed(seed * WORKERS as u64 + me as u64);
        let mut worker = world.places[me].lock().expect("nobody panicked");
        world.tree.enter(&mut worker);
        if me < 2 {
            let n = FULL - 5 * random.u64(1..5) - 2;
            let key = key_of(Keys::Numbers, n, me);
            assert!(world.tree.link_holding(&mut worker, &key, n), "nobody else links {key:?}");
            world.tree.unlink_holding(&mut worker, &key, n);
        } else {
            (0..10).for_each(|_| hold(&world, &key_of(Keys::Numbers, FULL - 24, me)));
        }
        world.tree.leave(&mut worker);
    });
    world.end();
}

/// Two that append, each in its own place, and one that links and unlinks between them. Their leaves mostly have one parent, which each of them changes: so a place that one
/// has noted may be another leaf's by the time that it splits its own.
fn appending<F: SynchronizationPolicy>(writers: usize, seed: u64, mutant: Option<Mutant>) {
    const APPENDED: u64 = 60;
    let world = world::<F>(Keys::Numbers, 0, mutant);
    let key = |me: usize, n: u64| ((me as u64 * 2 + 1) << 20 | n).to_be_bytes();
    let churned = |n: u64| (2u64 << 20 | n).to_be_bytes();
    worker::run(WORKERS, |me| {
        let mut random = Rng::with_seed(seed * WORKERS as u64 + me as u64);
        let mut worker = world.places[me].lock().expect("nobody panicked");
        world.tree.enter(&mut worker);
        if me < writers.min(2) {
            for n in 0..APPENDED {
                assert_eq!(world.tree.link(&mut worker, &key(me, n), n), Ok(()));
                let near = key(me, random.u64(..=n));
                assert!(world.tree.find(&near).is_some(), "{near:?} is lost");
                if me == 0 {
                    world.tree.advance();
                }
                world.tree.refresh(&mut worker);
            }
            for n in 0..APPENDED {
                assert_eq!(world.tree.find(&key(me, n)), Some(n), "{n} is lost");
                world.tree.unlink(&mut worker, &key(me, n), n);
            }
        } else if me < writers {
            for _ in 0..2 {
                let many = random.u64(20..50);
                for n in 0..many {
                    assert_eq!(world.tree.link(&mut worker, &churned(n), n), Ok(()));
                }
                for n in 0..many {
                    world.tree.unlink(&mut worker, &churned(n), n);
                    world.tree.refresh(&mut worker);
                }
            }
        } else {
            let (mut copy, mut last) = (Copy::default(), Vec::new());
            world.tree.scan(&mut copy, Bound::Unbounded, Direction::Forward, 7, |key, _| {
                assert!(last.as_slice() < key, "a scan meets {key:?} after {last:?}");
                last = key.to_vec();
                true
            });
        }
        world.tree.leave(&mut worker);
    });
    world.end();
}

#[test]
fn who_appends_loses_nothing_under_any_schedule() {
    for seed in 0..200 {
        for schedule in schedules(seed) {
            let run = found(schedule, || appending::<Shared>(3, seed, None));
            run.unwrap_or_else(|broken| panic!("{broken}"));
            let run = found(schedule, || appending::<SingleWriter>(1, seed, None));
            run.unwrap_or_else(|broken| panic!("single writer: {broken}"));
        }
    }
}

#[test]
fn gaps_keep_phantoms_out_under_any_schedule() {
    for seed in 0..300 {
        for schedule in schedules(seed) {
            found(schedule, || observed_gaps::<Shared>(seed, None))
                .unwrap_or_else(|broken| panic!("observed: {broken}"));
            found(schedule, || held_gaps_at_a_split::<Shared>(seed, None))
                .unwrap_or_else(|broken| panic!("held at a split: {broken}"));
            found(schedule, || held_gaps::<Shared>(seed, None))
                .unwrap_or_else(|broken| panic!("held: {broken}"));
        }
    }
}

/// The first schedule that finds a synchronization policy broken.
fn first_found(run: impl Fn(u64)) -> Option<(usize, String)> {
    let tries = (0..1000).flat_map(|seed| schedules(seed).map(|schedule| (seed, schedule)));
    tries.enumerate().find_map(|(tried, (seed, schedule))| {
        found(schedule, || run(seed)).err().map(|broken| (tried + 1, broken))
    })
}

#[test]
fn a_step_left_out_is_found() {
    // Who leaves it out trips over itself; its words are expected.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let mut all = vec![
        (
            "no validation".to_owned(),
            first_found(|seed| readers_and_writers::<UnvalidatedReads>(2, Keys::Numbers, 40, seed)),
        ),
        (
            "no version".to_owned(),
            first_found(|seed| readers_and_writers::<Unversioned>(2, Keys::Numbers, 40, seed)),
        ),
    ];
    for mutant in [Mutant::Token, Mutant::OtherHalf, Mutant::Death] {
        all.push((format!("{mutant:?}"), first_found(|seed| observed_gaps::<Shared>(seed, Some(mutant)))));
    }
    let mutant = Mutant::HeldLeaf;
    all.push((format!("{mutant:?}"), first_found(|seed| held_gaps::<Shared>(seed, Some(mutant)))));
    let mutant = Mutant::MovedLeaf;
    all.push((format!("{mutant:?}"), first_found(|seed| held_gaps_at_a_split::<Shared>(seed, Some(mutant)))));
    let mutant = Mutant::NotedPlace;
    all.push((format!("{mutant:?}"), first_found(|seed| appending::<Shared>(3, seed, Some(mutant)))));
    std::panic::set_hook(hook);
    for (step, found) in all {
        let (tried, broken) = found.unwrap_or_else(|| panic!("{step} was not found"));
        println!("{step}: found by schedule {tried}: {broken}");
    }
}
