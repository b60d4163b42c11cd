//! The lock set of a transaction: all that it asks for, sorted by who has it (*orthrus* 3.2): a concurrency-control thread, or a part of the table that
//! they share.
//!
//! It lies in the memory of the transaction's slot. A message names it, and the threads on its way read their parts of it: it does not change until
//! all is granted. What was granted the transaction finds in it again, before it touches a key.
//!
//! A key's owner is told by the workload's partition function, or by the key's hash ([`Owners`]). A range has keys of one owner if the plan says
//! so, or else of all: then it is locked at each of them.

use super::lock_table::Lock;
use crate::index::hash::Hash;
use crate::protocol::Mode;
use crate::storage::Table;
use aligned_vec::AVec;
use contract::{Access, Key, Plan, PlannedRange, TableId};

/// Who has a key: which of the concurrency-control threads, or of the parts of the table that they share.
#[derive(Clone, Copy)]
pub(crate) struct Owners<'e> {
    tables: &'e [Table],
    count: u32,
    by_hash: bool,
}

impl<'e> Owners<'e> {
    /// Of so many.
    pub fn new(tables: &'e [Table], count: u32, by_hash: bool) -> Self {
        Owners { tables, count, by_hash }
    }

    /// The owner of a key; of one that is a byte string, of its prefix.
    #[inline(always)]
    fn of(&self, table: TableId, key: Key) -> u32 {
        match self.count {
            1 => 0,
            count if self.by_hash => (Hash::of(key).0 >> 32) as u32 % count,
            count => self.tables[table.index()].description.partition.of(key, count).0,
        }
    }

    /// The only one that has keys of a range, if it is known.
    #[inline(always)]
    fn of_range(&self, range: &PlannedRange) -> Option<u32> {
        match range.within {
            _ if range.first == range.last || self.count == 1 => Some(self.of(range.table, range.first)),
            Some(key) if !self.by_hash => Some(self.of(range.table, key)),
            _ => None,
        }
    }
}

/// A lock, and who has it.
#[derive(Clone, Copy)]
struct Wanted {
    owner: u32,
    lock: Lock,
}

impl Wanted {
    /// In the order of owners; there points first, in the order of tables and keys, of two the stronger first.
    fn order(&self) -> (u32, bool, TableId, Key, Key, bool) {
        let Lock { table, first, last, mode } = self.lock;
        (self.owner, !self.lock.is_point(), table, first, last, mode == Mode::Shared)
    }

    fn is_of_same(&self, other: &Wanted) -> bool {
        let keys = |lock: &Lock| (lock.table, lock.first, lock.last);
        self.owner == other.owner && keys(&self.lock) == keys(&other.lock)
    }
}

/// A part of a lock set: that of one owner.
#[derive(Clone, Copy)]
struct Stop {
    owner: u32,
    first: u32,
    /// Ranges come after points.
    first_range: u32,
    end: u32,
}

/// See the module.
pub(crate) struct LockSet {
    wanted: Vec<Wanted>,
    /// From the beginning of a cache line on: then how many lines a part has does not depend on where memory was to be had.
    locks: AVec<Lock>,
    stops: Vec<Stop>,
}

/// The mode in which something is locked that will be accessed so.
fn mode_of(access: Access) -> Mode {
    match access {
        Access::Read => Mode::Shared,
        Access::Write | Access::Structure => Mode::Exclusive,
    }
}

impl LockSet {
    /// Of a transaction that has asked for nothing, with room for those of ordinary size.
    pub fn new() -> Self {
        LockSet {
            wanted: Vec::with_capacity(256),
            locks: AVec::with_capacity(0, 256),
            stops: Vec::with_capacity(16),
        }
    }

    /// Nothing is asked for any more.
    pub fn clear(&mut self) {
        self.locks.clear();
        self.stops.clear();
    }

    /// All that a plan names. `with_ranges`: a canary asks for none to read.
    pub fn fill(&mut self, plan: &Plan, owners: Owners<'_>, with_ranges: bool) {
        self.clear();
        self.wanted.clear();
        for planned in plan.keys() {
            let lock = Lock::of_key(planned.table, planned.key, mode_of(planned.access));
            self.wanted.push(Wanted { owner: owners.of(lock.table, lock.first), lock });
        }
        for range in plan.ranges() {
            let &PlannedRange { table, first, last, access, .. } = range;
            let lock = Lock { table, first, last, mode: mode_of(access) };
            let is_left_out = !with_ranges && !lock.is_point() && lock.mode == Mode::Shared;
            if first > last || is_left_out {
                continue;
            }
            let owners = match owners.of_range(range) {
                Some(owner) => owner..owner + 1,
                None => 0..owners.count,
            };
            self.wanted.extend(owners.map(|owner| Wanted { owner, lock }));
        }
        self.wanted.sort_unstable_by_key(Wanted::order);
        self.wanted.dedup_by(|later, earlier| later.is_of_same(earlier));
        for &Wanted { owner, lock } in &self.wanted {
            let number = self.locks.len() as u32;
            if self.stops.last().is_none_or(|stop| stop.owner != owner) {
                self.stops.push(Stop { owner, first: number, first_range: number, end: number });
            }
            let stop = self.stops.last_mut().expect("pushed");
            stop.end += 1;
            stop.first_range += u32::from(lock.is_point());
            self.locks.push(lock);
        }
    }

    /// How many owners have something of it.
    #[inline(always)]
    pub fn stops(&self) -> usize {
        self.stops.len()
    }

    /// The owner at a stop, in ascending order.
    #[inline(always)]
    pub fn owner_at(&self, stop: usize) -> usize {
        self.stops[stop].owner as usize
    }

    /// All of them.
    pub fn owners(&self) -> impl Iterator<Item = u32> {
        self.stops.iter().map(|stop| stop.owner)
    }

    /// What is asked for there.
    #[inline(always)]
    pub fn at_stop(&self, stop: usize) -> &[Lock] {
        let Stop { first, end, .. } = self.stops[stop];
        &self.locks[first as usize..end as usize]
    }

    fn ranges_of(&self, stop: &Stop) -> &[Lock] {
        &self.locks[stop.first_range as usize..stop.end as usize]
    }

    /// Whether a key is locked in `mode` at least.
    #[inline(always)]
    pub fn holds(&self, owners: Owners<'_>, table: TableId, key: Key, mode: Mode) -> bool {
        let owner = owners.of(table, key);
        let Some(stop) = self.stops.iter().find(|stop| stop.owner == owner) else { return false };
        let suffices = |lock: &Lock| mode == Mode::Shared || lock.mode == Mode::Exclusive;
        let points = &self.locks[stop.first as usize..stop.first_range as usize];
        if let Ok(nth) = points.binary_search_by_key(&(table, key), |lock| (lock.table, lock.first))
            && suffices(&points[nth])
        {
            return true;
        }
        self.ranges_of(stop).iter().any(|range| range.covers(table, key, key) && suffices(range))
    }

    /// Whether all keys from one to another are locked, whoever has them.
    pub fn holds_range(&self, owners: Owners<'_>, table: TableId, first: Key, last: Key) -> bool {
        if first == last {
            return self.holds(owners, table, first, Mode::Shared);
        }
        self.stops
            .iter()
            .any(|stop| self.ranges_of(stop).iter().any(|range| range.covers(table, first, last)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::Span;
    use proptest::prelude::*;

    const TABLES: u16 = 2;
    const KEYS: u64 = 16;

    fn access(writes: bool) -> Access {
        if writes { Access::Write } else { Access::Read }
    }

    proptest! {
        /// What a plan names is held, at its owner, and nothing else is.
        #[test]
        fn what_is_planned_is_held(
            keys in prop::collection::vec((0..TABLES, 0..KEYS, any::<bool>()), 0..12),
            ranges in prop::collection::vec((0..TABLES, 0..KEYS, 0..4u64, any::<bool>()), 0..4),
            count in 1..4u32,
        ) {
            let mut plan = Plan::default();
            for &(table, key, writes) in &keys {
                plan.touch(TableId(table), Key(key), Span::new(0, 0), access(writes));
            }
            for &(table, first, more, writes) in &ranges {
                let (first, last) = (Key(first), Key(first + more));
                plan.range(PlannedRange { table: TableId(table), first, last, access: access(writes), within: None });
            }
            let owners = Owners::new(&[], count, true);
            let mut set = LockSet::new();
            set.fill(&plan, owners, true);

            let stops: Vec<usize> = (0..set.stops()).map(|stop| set.owner_at(stop)).collect();
            prop_assert!(stops.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", stops);
            for stop in 0..set.stops() {
                let points: Vec<_> = set.at_stop(stop).iter().filter(|lock| lock.is_point()).collect();
                prop_assert!(points.windows(2).all(|two| (two[0].table, two[0].first) < (two[1].table, two[1].first)));
            }
            for table in 0..TABLES {
                for key in 0..KEYS + 4 {
                    for writes in [false, true] {
                        let suffices = |has: bool| has || !writes;
                        let expected = keys.iter().any(|&(t, k, w)| (t, k) == (table, key) && suffices(w))
                            || ranges.iter().any(|&(t, first, more, w)| {
                                t == table && (first..=first + more).contains(&key) && suffices(w)
                            });
                        let mode = mode_of(access(writes));
                        prop_assert_eq!(set.holds(owners, TableId(table), Key(key), mode), expected);
                    }
                    for last in key + 1..KEYS + 4 {
                        let covers = |&(t, first, more, _): &(u16, u64, u64, bool)| {
                            t == table && first <= key && last <= first + more
                        };
                        let expected = ranges.iter().any(covers);
                        prop_assert_eq!(set.holds_range(owners, TableId(table), Key(key), Key(last)), expected);
                    }
                }
            }
        }

        /// A key's lock is at one owner, a range's at each that may have keys of it.
        #[test]
        fn a_conflict_meets_at_some_owner(first in 0..KEYS, before in 0..4u64, after in 1..4u64, count in 1..4u32) {
            let (key, more) = (first + before, before + after);
            let owners = Owners::new(&[], count, true);
            let (mut of_key, mut of_range) = (Plan::default(), Plan::default());
            of_key.touch(TableId(0), Key(key), Span::new(0, 0), Access::Structure);
            let (first, last) = (Key(first), Key(first + more));
            of_range.range(PlannedRange { table: TableId(0), first, last, access: Access::Read, within: None });
            let [mut one, mut other] = [LockSet::new(), LockSet::new()];
            one.fill(&of_key, owners, true);
            other.fill(&of_range, owners, true);
            prop_assert_eq!((one.stops(), other.stops()), (1, count as usize));
            let meets = |stop: usize| other.owner_at(stop) == one.owner_at(0);
            prop_assert!((0..other.stops()).any(meets));
        }
    }
}
