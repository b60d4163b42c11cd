//! What a transaction has touched: one entry a record, one entry a bucket or a leaf whose missing keys it relies
//! on.
//!
//! Every operation first asks whether the transaction has touched its key before. A filter of 512 bits answers "no" for
//! almost all new keys with one bit test; beyond a few dozen entries a hash table answers instead of a scan, so large
//! transactions stay linear. Entries go into the table when it is asked next, so that a transaction that never asks fills none: a
//! scan comes to each key once, and asks only for what was touched before it began.

use crate::index::GapId;
use crate::index::hash::Hash;
use crate::protocol::GapMode;
use crate::record::RecordRef;
use contract::{Key, PartitionId, TableId};
use hashbrown::HashTable;

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

/// Entries up to which a scan is faster than a hash table.
const SCANNED: usize = 64;

/// 512 bits, so that one in fifteen of forty new keys is searched for in vain.
const FILTER_WORDS: usize = 8;

/// The records that a transaction has touched, in order, each once.
#[derive(Default)]
pub(crate) struct AccessSet {
    entries: Vec<Access>,
    filter: [u64; FILTER_WORDS],
    /// Of the first entries, once there was a reason to ask.
    positions: HashTable<u32>,
    /// How many those are.
    indexed: usize,
    most: usize,
}

impl AccessSet {
    /// With room for transactions of ordinary size, which touch `most` records at most.
    pub fn new(most: usize) -> Self {
        AccessSet {
            most,
            entries: Vec::with_capacity(256),
            filter: [0; FILTER_WORDS],
            positions: HashTable::with_capacity(256),
            indexed: 0,
        }
    }

    #[inline(always)]
    fn filter_bit(table: TableId, hash: Hash) -> (usize, u64) {
        let mixed = (hash.0 >> 16) ^ u64::from(table.0).wrapping_mul(0x9E37);
        (mixed as usize >> 6 & (FILTER_WORDS - 1), 1 << (mixed & 63))
    }

    /// The position of the entry for a key.
    #[inline(always)]
    pub fn find(&mut self, table: TableId, key: Key, hash: Hash) -> Option<usize> {
        self.find_among(self.entries.len(), table, key, hash)
    }

    /// The same where no entry but the first `count` can be for the key.
    #[inline(always)]
    pub fn find_among(&mut self, count: usize, table: TableId, key: Key, hash: Hash) -> Option<usize> {
        let (word, bit) = Self::filter_bit(table, hash);
        if self.filter[word] & bit == 0 { None } else { self.search(count, table, key, hash) }
    }

    fn search(&mut self, count: usize, table: TableId, key: Key, hash: Hash) -> Option<usize> {
        let is_it = |access: &Access| access.key == key && access.table == table;
        if count <= SCANNED {
            // The newest first: what was touched just now is often touched again.
            self.entries[..count].iter().rposition(is_it)
        } else {
            if self.indexed < self.entries.len() {
                self.index();
            }
            let position = self.positions.find(hash.0, |&position| is_it(&self.entries[position as usize]));
            position.map(|&position| position as usize)
        }
    }

    /// Adds an entry for a key that has none; answers its position.
    #[inline(always)]
    pub fn push(&mut self, access: Access, hash: Hash) -> usize {
        let (word, bit) = Self::filter_bit(access.table, hash);
        self.filter[word] |= bit;
        let position = self.entries.len();
        assert!(position < self.most, "a transaction that touches more than {} records", self.most);
        self.entries.push(access);
        position
    }

    /// Puts into the table what is not there yet.
    #[cold]
    fn index(&mut self) {
        let hash = |entries: &[Access], position: u32| Hash::of(entries[position as usize].key).0;
        for position in self.indexed as u32..self.entries.len() as u32 {
            let entries = &self.entries;
            self.positions.insert_unique(hash(entries, position), position, |&other| hash(entries, other));
        }
        self.indexed = self.entries.len();
    }

    /// Forgets everything, keeps the memory.
    #[inline(always)]
    pub fn clear(&mut self) {
        if self.indexed > 0 {
            self.positions.clear();
            self.indexed = 0;
        }
        self.entries.clear();
        self.filter = [0; FILTER_WORDS];
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
    fn a_scan_fills_no_table_and_what_it_touched_is_found_later() {
        let mut word = 0u128;
        // SAFETY: the record is never touched.
        let record = unsafe { RecordRef::new(NonNull::from(&mut word).cast()) };
        let mut set = AccessSet::new(1 << 10);
        let table = TableId(0);
        for touched_before in [0, 3, SCANNED as u64 + 1] {
            for n in 0..1000 {
                let key = Key(n);
                let asked = if n < touched_before { n } else { touched_before } as usize;
                assert_eq!(set.find_among(asked, table, key, Hash::of(key)), None);
                set.push(read(table, key, record), Hash::of(key));
            }
            // The scan comes to what was touched before.
            if let Some(key) = touched_before.checked_sub(1) {
                let found = set.find_among(touched_before as usize, table, Key(key), Hash::of(Key(key)));
                assert_eq!(found, Some(key as usize));
            }
            assert_eq!(set.positions.is_empty(), touched_before <= SCANNED as u64);
            for n in 0..1000 {
                assert_eq!(set.find(table, Key(n), Hash::of(Key(n))), Some(n as usize));
            }
            set.clear();
            assert_eq!(set.find(table, Key(0), Hash::of(Key(0))), None);
        }
    }

    #[test]
    fn every_key_is_found_once_and_no_other() {
        let mut word = 0u128;
        // SAFETY: the record is never touched.
        let record = unsafe { RecordRef::new(NonNull::from(&mut word).cast()) };
        let mut set = AccessSet::new(1 << 10);
        for round in 0..3 {
            for n in 0..1000 {
                let (key, table) = (Key(n * 7 + round), TableId((n % 3) as u16));
                assert_eq!(set.find(table, key, Hash::of(key)), None);
                assert_eq!(set.push(read(table, key, record), Hash::of(key)), n as usize);
                let other = TableId(((n + 1) % 3) as u16);
                assert_eq!(set.find(other, key, Hash::of(key)), None, "same key, another table");
                for earlier in (0..=n).step_by(17) {
                    let (key, table) = (Key(earlier * 7 + round), TableId((earlier % 3) as u16));
                    assert_eq!(set.find(table, key, Hash::of(key)), Some(earlier as usize));
                }
            }
            set.clear();
        }
    }
}
