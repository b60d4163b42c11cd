//! What a transaction has locked of what it validates, and what its retry will want: the current lock list and the retrospective one
//! of MOCC ([`crate::protocol::Mocc`]). A slot keeps both.
//!
//! A lock is that of an entry of the access set, or of the one that is about to be added; it names its record, so that it can be given back
//! also if the entry never is. What was wanted is known by table and key, for entries are an attempt's own, as are the numbers of keys that
//! are byte strings.

use super::access_set::Kind;
use crate::index::hash::Hash;
use crate::protocol::{Attempt, Held, Mode, SlotId};
use crate::record::RecordRef;
use contract::{Key, PartitionId, TableId};
use std::cmp::Ordering;
use std::ops::Range;

/// A record that is held.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lock {
    /// Of its entry.
    pub position: usize,
    pub record: RecordRef,
    pub table: TableId,
    pub key: Key,
    pub partition: PartitionId,
}

/// A key that the attempt before wanted locked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub table: TableId,
    pub mode: Mode,
    name: Name,
}

/// What tells keys apart in any attempt.
#[derive(Clone, Copy, Debug)]
enum Name {
    Number(Key),
    /// Bytes of the list's buffer.
    Bytes {
        start: u32,
        end: u32,
    },
}

/// A wanted key, as the table has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WantedKey<'a> {
    Number(Key),
    Bytes(&'a [u8]),
}

/// See the module.
pub(crate) struct LockList {
    /// How each entry is held, as far as any is.
    modes: Vec<Option<Held>>,
    /// What is held, in the order in which it was locked.
    held: Vec<Lock>,
    /// The entries that the attempt has locked at an access, and those that were found invalid: what a retry will want.
    to_want: Vec<u32>,
    /// What this attempt wants, in the canonical order.
    wanted: Vec<Wanted>,
    /// Of their byte strings.
    bytes: Vec<u8>,
    /// The first that it has not come to.
    next: usize,
    /// Random numbers that were drawn.
    draws: u64,
    /// Locks got at accesses that were not told yet.
    taken: u64,
}

impl LockList {
    /// Of a slot that has locked nothing, with room for transactions of ordinary size: what is hot, and fails, shows while time is measured.
    pub fn new() -> Self {
        LockList {
            modes: Vec::with_capacity(256),
            held: Vec::with_capacity(256),
            to_want: Vec::with_capacity(256),
            wanted: Vec::with_capacity(256),
            bytes: Vec::with_capacity(4096),
            next: 0,
            draws: 0,
            taken: 0,
        }
    }

    /// An attempt begins, which holds nothing.
    #[inline(always)]
    pub fn begin(&mut self, attempt: Attempt) {
        self.forget_locks();
        self.next = 0;
        if attempt == Attempt::First {
            self.wanted.clear();
            self.bytes.clear();
        }
    }

    /// Nothing is held any more, nor to be remembered.
    #[inline(always)]
    pub fn forget_locks(&mut self) {
        self.modes.clear();
        self.held.clear();
        self.to_want.clear();
    }

    // What is held.

    /// How an entry is held.
    #[inline(always)]
    pub fn of(&self, position: usize) -> Option<Held> {
        self.modes.get(position).copied().flatten()
    }

    /// What is held, in the order in which it was locked.
    #[inline(always)]
    pub fn held(&self) -> &[Lock] {
        &self.held
    }

    /// An entry is held so from now on.
    #[inline(always)]
    pub fn set(&mut self, lock: Lock, held: Held) {
        let position = lock.position;
        if self.modes.len() <= position {
            self.modes.resize(position + 1, None);
        }
        if self.modes[position].replace(held).is_none() {
            self.held.push(lock);
        }
    }

    /// An entry was locked at an access.
    pub fn protect(&mut self, lock: Lock, held: Held) {
        self.set(lock, held);
        self.to_want.push(lock.position as u32);
        self.taken += 1;
    }

    /// An entry is held no more; answers how it was.
    pub fn remove(&mut self, position: usize) -> Held {
        let place = self.held.iter().position(|lock| lock.position == position);
        self.held.remove(place.expect("an entry that is held"));
        self.modes[position].take().expect("an entry that is held")
    }

    /// Locks got at accesses since this was last asked.
    pub fn take_taken(&mut self) -> u64 {
        std::mem::take(&mut self.taken)
    }

    // What is wanted.

    /// A retry will want an entry, for it was found invalid.
    pub fn want(&mut self, position: usize) {
        self.to_want.push(position as u32);
    }

    /// The attempt is aborted. What it has locked, and failed on, is what the next one wants: `kept` tells what each of its `entries` entries
    /// is.
    pub fn look_back<'a>(&mut self, entries: usize, kept: impl Fn(usize) -> (TableId, WantedKey<'a>, Kind)) {
        self.wanted.clear();
        self.bytes.clear();
        self.next = 0;
        let LockList { to_want, wanted, bytes, .. } = self;
        // But for one that was not added.
        to_want.retain(|&position| (position as usize) < entries);
        to_want.sort_unstable();
        to_want.dedup();
        to_want.sort_unstable_by(|&a, &b| {
            let ((table_a, key_a, _), (table_b, key_b, _)) = (kept(a as usize), kept(b as usize));
            table_a.cmp(&table_b).then(key_a.cmp(&key_b))
        });
        for &position in &*to_want {
            let (table, key, kind) = kept(position as usize);
            let mode = match kind {
                Kind::Read | Kind::Absent => Mode::Shared,
                Kind::Write | Kind::Delete => Mode::Exclusive,
                // Its own.
                Kind::Insert | Kind::Vanished => continue,
            };
            let name = match key {
                WantedKey::Number(key) => Name::Number(key),
                WantedKey::Bytes(string) => {
                    let start = bytes.len() as u32;
                    bytes.extend_from_slice(string);
                    Name::Bytes { start, end: bytes.len() as u32 }
                }
            };
            wanted.push(Wanted { table, mode, name });
        }
    }

    /// The next key that is wanted.
    #[inline(always)]
    pub fn next_wanted(&self) -> Option<Wanted> {
        self.wanted.get(self.next).copied()
    }

    /// The next key was come to.
    pub fn pass_wanted(&mut self) {
        self.next += 1;
    }

    /// The key that is wanted.
    pub fn key_of(&self, wanted: Wanted) -> WantedKey<'_> {
        match wanted.name {
            Name::Number(key) => WantedKey::Number(key),
            Name::Bytes { start, end } => {
                let range: Range<usize> = start as usize..end as usize;
                WantedKey::Bytes(&self.bytes[range])
            }
        }
    }

    /// Whether nothing is wanted any more.
    #[inline(always)]
    pub fn has_come_to_all(&self) -> bool {
        self.next >= self.wanted.len()
    }

    /// Whether a key is wanted, and was not come to.
    pub fn is_wanted(&self, table: TableId, key: WantedKey<'_>) -> bool {
        let order = |wanted: &Wanted| -> Ordering {
            wanted.table.cmp(&table).then_with(|| self.key_of(*wanted).cmp(&key))
        };
        self.wanted[self.next..].binary_search_by(order).is_ok()
    }

    // Chance.

    /// Whether what happens one time in so many happens now. The same numbers come in every run.
    pub fn happens(&mut self, slot: SlotId, one_in: u32) -> bool {
        self.draws += 1;
        let drawn = Hash::of(Key(self.draws << 16 ^ u64::from(slot.0))).0 >> u32::BITS;
        (drawn * u64::from(one_in)) >> u32::BITS == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::NonNull;

    /// Of a record that nobody may touch.
    fn lock(position: usize) -> Lock {
        // SAFETY: the record is never touched; the address is aligned.
        let record = unsafe { RecordRef::new(NonNull::without_provenance(64.try_into().expect("not zero"))) };
        Lock { position, record, table: TableId(0), key: Key(0), partition: PartitionId(0) }
    }

    #[test]
    fn what_was_locked_and_failed_on_is_wanted_in_order_once() {
        let mut list = LockList::new();
        list.begin(Attempt::First);
        let keys: [&[u8]; 4] = [b"d", b"b", b"c", b"a"];
        let kinds = [Kind::Read, Kind::Write, Kind::Insert, Kind::Delete];
        list.protect(lock(0), Held::Shared);
        list.protect(lock(1), Held::Exclusive);
        list.set(lock(2), Held::Locked);
        // Its entry is not added.
        list.protect(lock(4), Held::Shared);
        list.want(3);
        list.want(1);
        assert_eq!(list.remove(1), Held::Exclusive);
        let held: Vec<usize> = list.held().iter().map(|lock| lock.position).collect();
        assert_eq!((list.of(0), list.of(1), held), (Some(Held::Shared), None, vec![0, 2, 4]));
        list.look_back(4, |at| (TableId(0), WantedKey::Bytes(keys[at]), kinds[at]));
        list.begin(Attempt::Retry);
        assert!(list.held().is_empty());
        assert!(list.is_wanted(TableId(0), WantedKey::Bytes(b"b")));
        assert!(!list.is_wanted(TableId(1), WantedKey::Bytes(b"b")));
        let expected: [(&[u8], Mode); 3] =
            [(b"a", Mode::Exclusive), (b"b", Mode::Exclusive), (b"d", Mode::Shared)];
        for (key, mode) in expected {
            let next = list.next_wanted().expect("three are wanted");
            assert_eq!((list.key_of(next), next.mode), (WantedKey::Bytes(key), mode));
            list.pass_wanted();
        }
        assert!(list.has_come_to_all() && !list.is_wanted(TableId(0), WantedKey::Bytes(b"b")));
        list.begin(Attempt::First);
        assert!(list.next_wanted().is_none());
    }

    #[test]
    fn chances_are_what_they_are_called() {
        let mut list = LockList::new();
        for one_in in [1, 2, 64] {
            let happened = (0..64_000).filter(|_| list.happens(SlotId(3), one_in)).count() as f64;
            let expected = 64_000.0 / f64::from(one_in);
            assert!((happened - expected).abs() < 0.2 * expected + 1.0, "{happened} of {expected}");
        }
    }
}
