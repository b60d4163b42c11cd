//! What a transaction has touched: one entry a record, one entry a bucket or a leaf whose missing keys it relies
//! on.
//!
//! Every operation first asks whether the transaction has touched its key before. A table of open addressing answers: a slot has
//! the position of an entry and the stamp of the transaction that put it there. A slot with another stamp is empty, so the table is
//! emptied by counting the stamp up, whatever is in it; at half load a new key mostly meets an empty slot at once.
//!
//! A transaction begins in a small part of the table, which stays in the cache. One that touches more goes on in a part that is eight times as
//! large, under another stamp. Memory is there for [`MOST_ORDINARY`] entries; who needs more allocates, once.

use crate::index::GapId;
use crate::index::hash::Hash;
use crate::protocol::GapMode;
use crate::record::RecordRef;
use contract::{Key, PartitionId, TableId};

/// What a transaction has done to a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Read it.
    Read,
    /// Wrote it, read or not.
    Write,
    /// Inserted it.
    Insert,
    /// Will delete it.
    Delete,
    /// Inserted it, then deleted it.
    Vanished,
    /// Found it without a row: to this transaction the key is missing (protocols that do not lock what they read).
    Absent,
}

/// A record that the transaction has touched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub record: RecordRef,
    pub key: Key,
    /// The version seen, if it must be validated (optimistic protocols).
    pub token: Option<Token>,
    pub partition: PartitionId,
    pub table: TableId,
    pub kind: Kind,
    /// Of the writes that the log keeps for install: the record's first one's number, or [`NO_WRITE`].
    pub first_write: u32,
    /// Whether the record had no row when the transaction wrote it, whose first write is the whole row.
    pub is_revived: bool,
    /// Whether the transaction has made a version of the committed row, which has its value, if it has one.
    pub has_version: bool,
}

impl Access {
    /// Whether the transaction has inserted the record.
    #[inline(always)]
    pub fn is_own(&self) -> bool {
        matches!(self.kind, Kind::Insert | Kind::Vanished)
    }
}

/// Nothing is kept for install.
pub(crate) const NO_WRITE: u32 = u32::MAX;

/// What names a version of a record or of a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token(pub u64);

/// A bucket, or a leaf, in which the transaction found keys missing, or inserted one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gap {
    pub table: TableId,
    pub partition: PartitionId,
    /// Names it wherever a step runs.
    pub id: GapId,
    /// Its address, to tell gaps apart. Nothing is ordered by it.
    pub address: usize,
    /// What is held of it (locking protocols).
    pub mode: GapMode,
    /// The version seen (optimistic protocols).
    pub token: Token,
}

/// Slots in which a transaction begins: twice as many as entries that most have.
const FIRST_SLOTS: usize = 256;
/// Entries for which there is memory from the beginning: TPC-C's Stock-Level has up to 601.
const MOST_ORDINARY: usize = 1024;

/// An entry's position, and the stamp of the transaction that has it; all zero is of none.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Slot {
    stamp: u32,
    position: u32,
}

impl Slot {
    const EMPTY: Slot = Slot { stamp: 0, position: 0 };
}

/// The records that a transaction has touched, in order, each once.
pub(crate) struct AccessSet {
    entries: Vec<Access>,
    /// A power of two of them. An entry is in the first slot of the part in use, from its own on, that was empty.
    slots: Box<[Slot]>,
    /// One less than the slots in use, a power of two, at least twice as many as entries.
    mask: usize,
    /// The transaction's: not zero, and no other slot's.
    stamp: u32,
    /// Entries for which slots are in use.
    room: usize,
    most: usize,
}

impl AccessSet {
    /// With room for transactions of ordinary size, which touch `most` records at most.
    pub fn new(most: usize) -> Self {
        let slots = vec![Slot::EMPTY; 2 * MOST_ORDINARY].into_boxed_slice();
        let entries = Vec::with_capacity(MOST_ORDINARY.min(most));
        let mut set = AccessSet { entries, slots, mask: 0, stamp: 1, room: 0, most };
        set.use_slots(FIRST_SLOTS);
        set
    }

    #[inline(always)]
    fn use_slots(&mut self, slots: usize) {
        self.mask = slots - 1;
        self.room = (slots / 2).min(self.most);
    }

    /// Where to look for a key first.
    #[inline(always)]
    fn first_slot(table: TableId, hash: Hash) -> usize {
        ((hash.0 >> 16) ^ u64::from(table.0).wrapping_mul(0x9E37)) as usize
    }

    /// The position of the entry for a key.
    #[inline(always)]
    pub fn find(&self, table: TableId, key: Key, hash: Hash) -> Option<usize> {
        let mut at = Self::first_slot(table, hash);
        loop {
            let Slot { stamp, position } = self.slots[at & self.mask];
            if stamp != self.stamp {
                return None;
            }
            let access = &self.entries[position as usize];
            if access.key == key && access.table == table {
                return Some(position as usize);
            }
            at += 1;
        }
    }

    /// Adds an entry for a key that has none; answers its position.
    #[inline(always)]
    pub fn push(&mut self, access: Access, hash: Hash) -> usize {
        let position = self.entries.len();
        if position == self.room {
            self.grow();
        }
        self.put(position as u32, access.table, hash);
        self.entries.push(access);
        position
    }

    /// Puts a position into the first empty slot.
    #[inline(always)]
    fn put(&mut self, position: u32, table: TableId, hash: Hash) {
        let mut at = Self::first_slot(table, hash);
        while self.slots[at & self.mask].stamp == self.stamp {
            at += 1;
        }
        self.slots[at & self.mask] = Slot { stamp: self.stamp, position };
    }

    /// Goes on with eight times as many slots.
    #[cold]
    fn grow(&mut self) {
        assert!(self.room < self.most, "a transaction that touches more than {} records", self.most);
        let slots = 8 * (self.mask + 1);
        if slots > self.slots.len() {
            self.slots = vec![Slot::EMPTY; slots].into_boxed_slice();
        }
        self.use_slots(slots);
        self.change_stamp();
        for position in 0..self.entries.len() {
            let Access { table, key, .. } = self.entries[position];
            self.put(position as u32, table, Hash::of(key));
        }
    }

    /// Forgets everything, keeps the memory.
    #[inline(always)]
    pub fn clear(&mut self) {
        self.entries.clear();
        self.use_slots(FIRST_SLOTS);
        self.change_stamp();
    }

    /// All slots are empty from now on.
    #[inline(always)]
    fn change_stamp(&mut self) {
        match self.stamp.checked_add(1) {
            Some(stamp) => self.stamp = stamp,
            None => self.reuse_stamps(),
        }
    }

    /// All stamps have been used: no slot is to have the next ones.
    #[cold]
    fn reuse_stamps(&mut self) {
        self.slots.fill(Slot::EMPTY);
        self.stamp = 1;
    }
}

impl std::ops::Deref for AccessSet {
    type Target = [Access];

    #[inline(always)]
    fn deref(&self) -> &[Access] {
        &self.entries
    }
}

impl std::ops::DerefMut for AccessSet {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [Access] {
        &mut self.entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;
    use std::ptr::NonNull;

    /// Of a record that nobody may touch.
    fn read(table: TableId, key: Key, record: RecordRef) -> Access {
        Access {
            record,
            key,
            token: None,
            partition: PartitionId(0),
            table,
            kind: Kind::Read,
            first_write: NO_WRITE,
            is_revived: false,
            has_version: false,
        }
    }

    #[test]
    fn every_key_is_found_once_and_no_other() {
        let mut word = 0u128;
        // SAFETY: the record is never touched.
        let record = unsafe { RecordRef::new(NonNull::from(&mut word).cast()) };
        let mut set = AccessSet::new(1 << 13);
        // Each round uses several; from the third on there are stamps again that were used before.
        set.stamp = u32::MAX - 6;
        for round in 0..5 {
            for n in 0..(1 << 13) {
                let (key, table) = (Key(n * 7 + round), TableId((n % 3) as u16));
                assert_eq!(set.find(table, key, Hash::of(key)), None);
                assert_eq!(set.push(read(table, key, record), Hash::of(key)), n as usize);
                let other = TableId(((n + 1) % 3) as u16);
                assert_eq!(set.find(other, key, Hash::of(key)), None, "same key, another table");
                for earlier in (0..=n).step_by(1717) {
                    let (key, table) = (Key(earlier * 7 + round), TableId((earlier % 3) as u16));
                    assert_eq!(set.find(table, key, Hash::of(key)), Some(earlier as usize));
                }
            }
            set.clear();
            assert_eq!(set.find(TableId(0), Key(round), Hash::of(Key(round))), None);
        }
        assert_eq!(set.stamp, 9, "the stamps were used up and begun again: three a round");
    }

    #[test]
    fn ordinary_transactions_stay_where_they_are() {
        let mut word = 0u128;
        // SAFETY: the record is never touched.
        let record = unsafe { RecordRef::new(NonNull::from(&mut word).cast()) };
        let mut set = AccessSet::new(1 << 24);
        let places = |set: &AccessSet| (set.slots.as_ptr(), set.entries.as_ptr());
        let before = places(&set);
        for _ in 0..2 {
            assert_eq!(set.mask + 1, FIRST_SLOTS);
            (0..MOST_ORDINARY as u64)
                .for_each(|n| _ = set.push(read(TableId(0), Key(n), record), Hash::of(Key(n))));
            assert_eq!(places(&set), before, "nothing was allocated");
            set.clear();
        }
    }

    #[test]
    #[should_panic(expected = "touches more than 300 records")]
    fn there_is_an_end_to_it() {
        let mut word = 0u128;
        // SAFETY: the record is never touched.
        let record = unsafe { RecordRef::new(NonNull::from(&mut word).cast()) };
        let mut set = AccessSet::new(300);
        (0..=300).for_each(|n| {
            assert_eq!(set.len(), n as usize);
            set.push(read(TableId(0), Key(n), record), Hash::of(Key(n)));
        });
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        /// Transactions of any size, one after the other, of few keys and of many, in tables whose keys are alike.
        #[test]
        fn it_agrees_with_a_map(
            transactions in prop::collection::vec(
                prop::collection::vec((0u16..3, prop_oneof![0u64..200, any::<u64>()]), 0..1200),
                1..6,
            ),
        ) {
            let mut word = 0u128;
            // SAFETY: the record is never touched.
            let record = unsafe { RecordRef::new(NonNull::from(&mut word).cast()) };
            let mut set = AccessSet::new(1 << 11);
            for transaction in transactions {
                let mut map = HashMap::new();
                for (table, key) in transaction {
                    let (table, key, next) = (TableId(table), Key(key), map.len());
                    let found = set.find(table, key, Hash::of(key));
                    prop_assert_eq!(found, map.get(&(table.0, key.0)).copied());
                    if found.is_none() {
                        prop_assert_eq!(set.push(read(table, key, record), Hash::of(key)), next);
                        map.insert((table.0, key.0), next);
                    }
                }
                for ((table, key), position) in map {
                    prop_assert_eq!(set.find(TableId(table), Key(key), Hash::of(Key(key))), Some(position));
                }
                set.clear();
            }
        }
    }

    #[test]
    fn a_slot_of_a_stamp_that_is_used_again_is_empty() {
        let mut word = 0u128;
        // SAFETY: the record is never touched.
        let record = unsafe { RecordRef::new(NonNull::from(&mut word).cast()) };
        let (mut set, table) = (AccessSet::new(1 << 10), TableId(0));
        let all = |set: &AccessSet| {
            (0..100).filter(|&n| set.find(table, Key(n), Hash::of(Key(n))).is_some()).count()
        };
        (0..100).for_each(|n| _ = set.push(read(table, Key(n), record), Hash::of(Key(n))));
        assert_eq!((set.stamp, all(&set)), (1, 100));
        set.clear();
        set.stamp = u32::MAX;
        set.clear();
        assert_eq!((set.stamp, all(&set)), (1, 0));
    }
}
