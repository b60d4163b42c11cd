//! The shared table against what it is to keep: who conflicts does not hold at the same time, nobody waits who need not, and everybody's turn comes.

use super::*;
use crate::architecture::orthrus::lock_set::{LockSet, Owners};
use crate::facade::atomic::AtomicU32;
use crate::facade::{cpu, worker};
use contract::{Access, Key, Plan, PlannedRange, Span, TableId};
use proptest::prelude::*;

const T: TableId = TableId(0);
const THREADS: usize = 2;

/// Keys from one to another, and whether they are to be written.
type Want = (u64, u64, bool);

fn conflict(one: &[Want], other: &[Want]) -> bool {
    let overlap = |one: &Want, other: &Want| one.0 <= other.1 && other.0 <= one.1 && (one.2 || other.2);
    one.iter().any(|want| other.iter().any(|wanted| overlap(want, wanted)))
}

fn owners(threads: usize) -> Owners<'static> {
    Owners::new(&[], SharedLockTable::parts_for(threads) as u32, true)
}

/// What a transaction asks for that wants these, of the table of so many threads.
fn fill(locks: &mut LockSet, wants: &[Want], threads: usize) {
    let mut plan = Plan::default();
    for &(first, last, writes) in wants {
        let access = if writes { Access::Write } else { Access::Read };
        let (first, last) = (Key(first), Key(last));
        match first == last {
            true => plan.touch(T, first, Span::new(0, 0), access),
            false => plan.range(PlannedRange { table: T, first, last, access, within: None }),
        }
    }
    locks.fill(&plan, owners(threads), true);
}

/// From the first stop of a lock set that has one.
fn errand(slot: u32, locks: &LockSet) -> Errand {
    // SAFETY: tests leave a lock set where it is, and as it is, until its errand is granted.
    unsafe { Errand::new(SlotId(slot), locks, 0) }
}

/// A slot whose transaction has asked for something, or none.
struct Slot {
    locks: Box<LockSet>,
    wants: Vec<Want>,
    holds: bool,
}

/// The table, and what those are who have asked.
struct World {
    table: SharedLockTable,
    slots: Vec<Slot>,
}

impl World {
    fn new(slots: usize) -> Self {
        let slot = || Slot { locks: Box::new(LockSet::new()), wants: Vec::new(), holds: false };
        World {
            table: SharedLockTable::new(THREADS, slots, 1, true),
            slots: std::iter::repeat_with(slot).take(slots).collect(),
        }
    }

    fn request(&mut self, slot: usize, wants: &[Want]) {
        let asks = &mut self.slots[slot];
        fill(&mut asks.locks, wants, THREADS);
        asks.wants = wants.to_vec();
        asks.holds = self.table.request(errand(slot as u32, &asks.locks));
        self.check();
    }

    /// Answers who has all from now on.
    fn release(&mut self, slot: usize) -> Vec<usize> {
        let Slot { locks, wants, holds } = &mut self.slots[slot];
        let parts = locks.owners().collect();
        (*wants, *holds) = (Vec::new(), false);
        let (mut errands, mut told) = (Vec::new(), Vec::new());
        self.table.release(SlotId(slot as u32), parts, &mut errands, |SlotId(slot)| told.push(slot as usize));
        assert!(errands.is_empty());
        for &slot in &told {
            let has_asked = !self.slots[slot].wants.is_empty();
            assert!(has_asked && !std::mem::replace(&mut self.slots[slot].holds, true), "slot {slot} waited");
        }
        self.check();
        told
    }

    fn check(&self) {
        let conflicts =
            |one: &Slot, other: &Slot| !std::ptr::eq(one, other) && conflict(&one.wants, &other.wants);
        for slot in self.slots.iter().filter(|slot| !slot.wants.is_empty()) {
            let mut others = self.slots.iter().filter(|other| conflicts(slot, other));
            match slot.holds {
                true => assert!(!others.any(|other| other.holds), "two hold what conflicts"),
                false => assert!(others.next().is_some(), "one waits for nobody"),
            }
        }
    }

    /// Everybody who holds gives back, until nobody is left.
    fn drain(&mut self) {
        while self.slots.iter().any(|slot| !slot.wants.is_empty()) {
            let holder = self.slots.iter().position(|slot| slot.holds).expect("somebody has all");
            self.release(holder);
        }
        assert!(self.table.is_empty());
    }
}

/// Two keys that are in different parts, the first in the first of the two.
fn apart() -> [u64; 2] {
    let part = |key: u64| {
        let mut locks = LockSet::new();
        fill(&mut locks, &[(key, key, true)], THREADS);
        locks.owner_at(0)
    };
    let pairs = (0..100).flat_map(|one| (0..100).map(move |other| [one, other]));
    pairs.into_iter().find(|&[one, other]| part(one) < part(other)).expect("more than one part has keys")
}

/// Who releases takes on what another had left in a part, to the next part, and leaves it there, too.
#[test]
fn who_releases_goes_on_for_who_waits() {
    let [first, second] = apart();
    let write = |key| (key, key, true);
    let mut world = World::new(3);
    world.request(0, &[write(first)]);
    world.request(1, &[write(second)]);
    world.request(2, &[write(first), write(second)]);
    assert!(world.slots[0].holds && world.slots[1].holds && !world.slots[2].holds);
    assert!(world.release(0).is_empty(), "it waits in the second part now");
    assert_eq!(world.release(1), [2]);
    world.drain();
}

/// Who waits in a part holds nothing in those after it.
#[test]
fn nobody_is_kept_waiting_by_what_comes_later() {
    let [first, second] = apart();
    let write = |key| (key, key, true);
    let mut world = World::new(3);
    world.request(0, &[write(first)]);
    world.request(1, &[write(first), write(second)]);
    world.request(2, &[write(second)]);
    assert!(!world.slots[1].holds && world.slots[2].holds);
    world.drain();
}

/// A range meets every key in it, in whatever part that is.
#[test]
fn ranges_are_in_every_part() {
    let mut world = World::new(2);
    for key in 0..20 {
        world.request(0, &[(0, 19, false)]);
        world.request(1, &[(key, key, true)]);
        assert!(!world.slots[1].holds, "{key}");
        assert_eq!(world.release(0), [1]);
        world.drain();
    }
}

proptest! {
    #[test]
    fn random_transactions_are_kept_apart_and_all_end(
        steps in prop::collection::vec((0..6usize, prop::collection::vec((0..12u64, 0..4u64, any::<bool>()), 1..5)), 1..120)
    ) {
        let mut world = World::new(6);
        for (slot, wants) in steps {
            let wants: Vec<Want> =
                wants.into_iter().map(|(first, more, writes)| (first, first + more.saturating_sub(1), writes)).collect();
            match &world.slots[slot] {
                Slot { holds: true, .. } => drop(world.release(slot)),
                Slot { wants: asked, .. } if asked.is_empty() => world.request(slot, &wants),
                _ => {}
            }
        }
        world.drain();
    }

    #[test]
    fn parts_are_what_was_put_into_them(mut parts in prop::collection::vec(0..MOST_PARTS as u32, 0..20)) {
        let set: Parts = parts.iter().copied().collect();
        parts.sort_unstable();
        parts.dedup();
        prop_assert!(set.map(|part| part as u32).eq(parts));
    }
}

const KEYS: u64 = 6;

/// Has keys for a moment, each of which says whether it is being written.
fn have(wants: &[Want], keys: &[AtomicU32]) {
    let of = |&(first, last, _): &Want| keys[first as usize..=last as usize].iter();
    for want in wants {
        for key in of(want) {
            assert_eq!(key.load(Ordering::Relaxed), 0, "another writes it");
            key.store(u32::from(want.2), Ordering::Relaxed);
        }
    }
    cpu::pause();
    for want in wants {
        for key in of(want) {
            assert_eq!(key.load(Ordering::Relaxed), u32::from(want.2), "another has written it");
            key.store(0, Ordering::Relaxed);
        }
    }
}

/// Some keys and perhaps a range, apart.
fn draw(random: &mut fastrand::Rng) -> Vec<Want> {
    let first = random.u64(0..KEYS);
    let last = if random.u8(0..4) == 0 { random.u64(first..KEYS) } else { first };
    let other = random.u64(0..KEYS);
    let mut wants = vec![(first, last, random.bool())];
    if !(first..=last).contains(&other) {
        wants.push((other, other, random.bool()));
    }
    wants
}

/// Threads that grant and execute by turns, with slots of their own: whoever writes a key has it alone, whichever thread has granted it.
#[test]
fn threads_that_share_it_keep_transactions_apart() {
    const EACH: usize = 2;
    const ROUNDS: u32 = 200;
    let table = SharedLockTable::new(THREADS, THREADS * EACH, 1, true);
    let words = |count: usize| -> Vec<AtomicU32> { (0..count).map(|_| AtomicU32::new(0)).collect() };
    let (told, keys) = (words(THREADS * EACH), words(KEYS as usize));
    worker::run(THREADS, |me| {
        let mut random = fastrand::Rng::with_seed(me as u64);
        let mut errands = Vec::new();
        let slot = || Slot { locks: Box::new(LockSet::new()), wants: Vec::new(), holds: false };
        let mut slots: Vec<Slot> = std::iter::repeat_with(slot).take(EACH).collect();
        let mut begun = 0;
        while begun < ROUNDS || slots.iter().any(|slot| !slot.wants.is_empty()) {
            for (slot, number) in slots.iter_mut().zip(me * EACH..) {
                if slot.wants.is_empty() && begun < ROUNDS {
                    begun += 1;
                    slot.wants = draw(&mut random);
                    fill(&mut slot.locks, &slot.wants, THREADS);
                    slot.holds = table.request(errand(number as u32, &slot.locks));
                // Acquire: what those did who had the keys before; pairs with the Release of who tells.
                } else if told[number].load(Ordering::Acquire) == 1 {
                    told[number].store(0, Ordering::Relaxed);
                    slot.holds = true;
                }
                if !std::mem::take(&mut slot.holds) {
                    cpu::pause();
                    continue;
                }
                have(&slot.wants, &keys);
                slot.wants.clear();
                let parts = slot.locks.owners().collect();
                table.release(SlotId(number as u32), parts, &mut errands, |SlotId(other)| {
                    // Release: pairs with the Acquire of the slot's thread.
                    told[other as usize].store(1, Ordering::Release);
                });
            }
        }
    });
    assert!(table.is_empty());
}
