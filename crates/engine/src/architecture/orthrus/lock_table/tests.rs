//! The lock table against what it is to answer: a transaction has all that it asked for when none that came before and is still there
//! wants anything that conflicts with it.

use super::*;
use proptest::prelude::*;

const TABLES: usize = 2;

/// A transaction that has asked, and not given back.
#[derive(Clone)]
struct Present {
    slot: u32,
    locks: Vec<Lock>,
    errand: u32,
    is_granted: bool,
}

/// What the table is to answer.
#[derive(Default)]
struct Model {
    /// In the order of arrival.
    present: Vec<Present>,
    asked: u32,
}

impl Model {
    fn is_free(&self, nth: usize) -> bool {
        let wanted = &self.present[nth].locks;
        let conflict = |held: &Lock| wanted.iter().any(|lock| lock.conflicts(held));
        !self.present[..nth].iter().flat_map(|earlier| &earlier.locks).any(conflict)
    }

    fn request(&mut self, slot: u32, locks: &[Lock]) -> (u32, bool) {
        let errand = self.asked;
        self.asked += 1;
        self.present.push(Present { slot, locks: locks.to_vec(), errand, is_granted: false });
        let nth = self.present.len() - 1;
        self.present[nth].is_granted = self.is_free(nth);
        (errand, self.present[nth].is_granted)
    }

    /// Those who have all from now on.
    fn release(&mut self, slot: u32) -> Vec<u32> {
        let oldest = self.present.iter().position(|present| present.slot == slot).expect("may release");
        self.present.remove(oldest);
        let mut granted = Vec::new();
        for nth in 0..self.present.len() {
            if !self.present[nth].is_granted && self.is_free(nth) {
                self.present[nth].is_granted = true;
                granted.push(self.present[nth].errand);
            }
        }
        granted
    }

    /// A slot that waits does nothing.
    fn may_request(&self, slot: u32) -> bool {
        !self.present.iter().any(|present| present.slot == slot && !present.is_granted)
    }

    fn may_release(&self, slot: u32) -> bool {
        self.present.iter().find(|present| present.slot == slot).is_some_and(|oldest| oldest.is_granted)
    }

    /// Locks and points that the table is to have.
    fn sizes(&self) -> (usize, usize) {
        let locks = self.present.iter().flat_map(|present| &present.locks);
        let mut points: Vec<_> =
            locks.clone().filter(|lock| lock.is_point()).map(|lock| (lock.table, lock.first)).collect();
        points.sort_unstable();
        points.dedup();
        (locks.count(), points.len())
    }
}

/// What a slot does: asks for these, or releases.
#[derive(Clone, Debug)]
enum Step {
    Request(u32, Vec<Lock>),
    Release(u32),
}

/// Both, side by side.
struct Pair {
    table: LockTable<u32>,
    model: Model,
}

impl Pair {
    fn new(slots: usize) -> Self {
        Pair { table: LockTable::new(slots, TABLES, true), model: Model::default() }
    }

    fn may(&self, step: &Step) -> bool {
        match step {
            Step::Request(slot, _) => self.model.may_request(*slot),
            Step::Release(slot) => self.model.may_release(*slot),
        }
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Request(slot, locks) => {
                let (errand, is_granted) = self.model.request(*slot, locks);
                assert_eq!(self.table.request(SlotId(*slot), locks, errand), is_granted, "{step:?}");
            }
            Step::Release(slot) => {
                let mut granted = Vec::new();
                self.table.release(SlotId(*slot), |errand| granted.push(errand));
                granted.sort_unstable();
                let mut expected = self.model.release(*slot);
                expected.sort_unstable();
                assert_eq!(granted, expected, "{step:?}");
            }
        }
        assert_eq!((self.table.locks(), self.table.heads.count()), self.model.sizes(), "{step:?}");
    }

    /// Everybody who may gives back, until nobody is left: nobody waits for ever.
    fn drain(&mut self, slots: u32) {
        while !self.model.present.is_empty() {
            let slot = (0..slots).find(|&slot| self.model.may_release(slot)).expect("somebody holds all");
            self.take(&Step::Release(slot));
        }
        assert!(self.table.is_empty());
    }
}

const T: TableId = TableId(0);

fn range(first: u64, last: u64, mode: Mode) -> Lock {
    Lock { table: T, first: Key(first), last: Key(last), mode }
}

/// All that two slots of one and one slot of another can do in five steps over three keys.
#[test]
fn every_interleaving_of_a_tiny_world() {
    const SLOTS: u32 = 3;
    const DEPTH: usize = 5;
    use Mode::{Exclusive, Shared};
    let wants: [Vec<Lock>; 7] = [
        vec![range(1, 1, Shared)],
        vec![range(1, 1, Exclusive)],
        vec![range(0, 0, Exclusive), range(1, 1, Shared)],
        vec![range(0, 1, Shared)],
        vec![range(1, 2, Exclusive)],
        vec![range(1, 1, Exclusive), range(0, 2, Shared)],
        vec![],
    ];
    let mut choices = Vec::new();
    for slot in 0..SLOTS {
        choices.push(Step::Release(slot));
        choices.extend(wants.iter().map(|locks| Step::Request(slot, locks.clone())));
    }
    fn go(choices: &[Step], taken: &mut Vec<usize>, played: &mut u32) {
        let mut pair = Pair::new(SLOTS as usize);
        taken.iter().for_each(|&nth| pair.take(&choices[nth]));
        if taken.len() == DEPTH {
            pair.drain(SLOTS);
            *played += 1;
            return;
        }
        // Slots come one after the other: which is which makes no difference.
        let used = |nth: &usize| match choices[*nth] {
            Step::Request(slot, _) | Step::Release(slot) => slot + 1,
        };
        let most = taken.iter().map(used).max().unwrap_or(0) + 1;
        for (nth, step) in choices.iter().enumerate() {
            if used(&nth) <= most && pair.may(step) {
                taken.push(nth);
                go(choices, taken, played);
                taken.pop();
            }
        }
    }
    let mut played = 0;
    go(&choices, &mut Vec::new(), &mut played);
    assert!(played > 50_000, "{played}");
}

/// Locks of a transaction, in which no key is a point twice, and points come first.
fn wants(with_ranges: bool) -> impl Strategy<Value = Vec<Lock>> {
    let lock = (0..TABLES as u16, 0..12u64, 0..5u64, any::<bool>(), any::<bool>());
    prop::collection::vec(lock, 0..6).prop_map(move |locks| {
        let mut wanted: Vec<Lock> = Vec::new();
        for (table, first, more, is_range, writes) in locks {
            let last = if is_range && with_ranges { first + more } else { first };
            let mode = if writes { Mode::Exclusive } else { Mode::Shared };
            let lock = Lock { table: TableId(table), first: Key(first), last: Key(last), mode };
            let is_same = |other: &Lock| {
                other.is_point() && lock.is_point() && (other.table, other.first) == (lock.table, lock.first)
            };
            if !wanted.iter().any(is_same) {
                wanted.push(lock);
            }
        }
        wanted.sort_by_key(|lock| !lock.is_point());
        wanted
    })
}

/// What slots do, one after the other: until the first range there are points only.
fn steps() -> impl Strategy<Value = Vec<(u32, Option<Vec<Lock>>)>> {
    let some =
        |with_ranges, most| prop::collection::vec((0..6u32, prop::option::of(wants(with_ranges))), 0..most);
    (some(false, 100), some(true, 100)).prop_map(|(points, ranges)| [points, ranges].concat())
}

proptest! {
    #[test]
    fn random_transactions_are_granted_in_the_order_of_arrival(
        steps in steps()
    ) {
        let mut pair = Pair::new(6);
        for (slot, wanted) in steps {
            let step = wanted.map_or(Step::Release(slot), |locks| Step::Request(slot, locks));
            if pair.may(&step) {
                pair.take(&step);
            }
        }
        pair.drain(6);
    }
}

/// What the queue of one key does, told.
#[test]
fn who_came_first_is_not_passed() {
    let mut table = LockTable::new(4, TABLES, true);
    let (read, write) = ([range(7, 7, Mode::Shared)], [range(7, 7, Mode::Exclusive)]);
    assert!(table.request(SlotId(0), &read, 0));
    assert!(!table.request(SlotId(1), &write, 1));
    assert!(!table.request(SlotId(2), &read, 2), "a reader does not pass a writer that waits");
    let mut told = Vec::new();
    table.release(SlotId(0), |errand| told.push(errand));
    table.release(SlotId(1), |errand| told.push(errand));
    assert_eq!(told, [1, 2]);
}

/// Memory is that of locks, and is used again.
#[test]
fn memory_grows_with_locks_and_not_with_keys() {
    let mut table = LockTable::new(1, TABLES, true);
    for key in 0..100_000 {
        assert!(table.request(SlotId(0), &[range(key, key, Mode::Exclusive)], ()));
        table.release(SlotId(0), |()| unreachable!("nobody waits"));
    }
    assert_eq!((table.entries.ever(), table.heads.ever()), (1, 1));
}

/// More keys than there is room for at first.
#[test]
fn keys_are_found_however_many_are_locked() {
    const KEYS: u64 = 5 * LEAST_ROOM as u64 + 1;
    let mut table = LockTable::new(3, TABLES, true);
    let all: Vec<Lock> = (0..KEYS).map(|key| range(key, key, Mode::Exclusive)).collect();
    let (odd, even): (Vec<Lock>, Vec<Lock>) = all.iter().partition(|lock| lock.first.0 % 2 == 1);
    assert!(table.request(SlotId(0), &odd, 0) && table.request(SlotId(1), &even, 1));
    assert!(!table.request(SlotId(2), &all, 2));
    table.release(SlotId(0), |_| unreachable!("even keys are held"));
    let mut told = Vec::new();
    table.release(SlotId(1), |errand| told.push(errand));
    assert_eq!((told, table.heads.count() as u64), (vec![2], KEYS));
    table.release(SlotId(2), |_| unreachable!("nobody waits"));
    assert!(table.is_empty());
    // What is gone is not found, and what is given back is used again.
    assert!(table.request(SlotId(0), &all, 0));
    assert_eq!((table.entries.ever() as u64, table.heads.ever() as u64), (2 * KEYS, KEYS));
}

/// A canary's table grants reads past earlier writes, which the model rejects.
#[test]
fn a_table_whose_readers_do_not_wait_is_told_from_an_honest_one() {
    let mut table = LockTable::new(3, TABLES, false);
    assert!(table.request(SlotId(0), &[range(1, 1, Mode::Exclusive)], 0));
    assert!(table.request(SlotId(1), &[range(1, 1, Mode::Shared)], 1));
    assert!(!table.request(SlotId(2), &[range(1, 1, Mode::Exclusive)], 2));
    table.release(SlotId(0), |_| unreachable!("one reads"));
    let mut told = Vec::new();
    table.release(SlotId(1), |errand| told.push(errand));
    assert_eq!(told, [2]);
    table.release(SlotId(2), |_| unreachable!("nobody waits"));
    assert!(table.is_empty());
}
