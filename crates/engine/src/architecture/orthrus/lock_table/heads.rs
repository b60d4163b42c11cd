//! The points of a lock table: from a key of a table to the head of its queue.
//!
//! A hash table of chains that go through the heads themselves, so that a key's first lock costs a bucket and a head, and the last one's release
//! finds the bucket by what the head remembers. There are as many buckets as heads at least; they double, and do not become fewer.

use super::pool::{NONE, Pool};
use crate::index::hash::Hash;
use contract::{Key, TableId};
use std::ops::{Index, IndexMut};

/// A point's queue.
pub(super) struct Head {
    pub table: TableId,
    pub key: Key,
    pub first: u32,
    pub last: u32,
    /// The first that is not granted.
    pub first_wanted: u32,
    /// Of all.
    pub shared: u32,
    pub exclusive: u32,
    pub granted: u32,
    /// Whether the one that is granted is so to write.
    pub is_exclusive: bool,
    hash: u32,
    /// Of the bucket's heads the next.
    next: u32,
}

impl Head {
    /// Of a key that nobody wants.
    pub fn of(table: TableId, key: Key) -> Self {
        Head {
            table,
            key,
            first: NONE,
            last: NONE,
            first_wanted: NONE,
            shared: 0,
            exclusive: 0,
            granted: 0,
            is_exclusive: false,
            hash: Self::hash_of(table, key),
            next: NONE,
        }
    }

    #[inline(always)]
    fn hash_of(table: TableId, key: Key) -> u32 {
        (Hash::of(Key(key.0 ^ u64::from(table.0).rotate_right(16))).0 >> 32) as u32
    }
}

/// See the module.
pub(super) struct Heads {
    heads: Pool<Head>,
    /// Of each its first head. As many as a power of two.
    buckets: Box<[u32]>,
}

impl Heads {
    /// With room for so many, a power of two.
    pub fn with_room(room: usize) -> Self {
        assert!(room.is_power_of_two(), "a hash is cut to a bucket's number by a mask");
        Heads { heads: Pool::with_room(room), buckets: vec![NONE; room].into() }
    }

    /// For how many there is room before the buckets double.
    pub fn room(&self) -> usize {
        self.buckets.len()
    }

    #[inline(always)]
    fn bucket_of(&self, hash: u32) -> usize {
        hash as usize & (self.buckets.len() - 1)
    }

    /// The number of a key's head.
    #[inline(always)]
    pub fn find(&self, table: TableId, key: Key) -> Option<u32> {
        let mut number = self.buckets[self.bucket_of(Head::hash_of(table, key))];
        while number != NONE {
            let head = &self.heads[number];
            if head.key == key && head.table == table {
                return Some(number);
            }
            number = head.next;
        }
        None
    }

    /// A head of a key that has none.
    #[inline(always)]
    pub fn insert(&mut self, head: Head) -> u32 {
        if self.heads.in_use() == self.buckets.len() {
            self.double();
        }
        let bucket = self.bucket_of(head.hash);
        let number = self.heads.put(Head { next: self.buckets[bucket], ..head });
        self.buckets[bucket] = number;
        number
    }

    /// Nobody wants the head's key any more.
    #[inline(always)]
    pub fn remove(&mut self, number: u32) {
        let Head { hash, next, .. } = self.heads[number];
        let bucket = self.bucket_of(hash);
        if self.buckets[bucket] == number {
            self.buckets[bucket] = next;
        } else {
            let mut before = self.buckets[bucket];
            while self.heads[before].next != number {
                before = self.heads[before].next;
            }
            self.heads[before].next = next;
        }
        self.heads.give_back(number);
    }

    #[cold]
    fn double(&mut self) {
        let numbers: Vec<u32> = self.numbers().collect();
        self.buckets = vec![NONE; 2 * self.buckets.len()].into();
        for number in numbers {
            let bucket = self.bucket_of(self.heads[number].hash);
            self.heads[number].next = std::mem::replace(&mut self.buckets[bucket], number);
        }
    }

    /// All of them.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        let some = |number: u32| (number != NONE).then_some(number);
        let chain = move |&first: &u32| {
            std::iter::successors(some(first), move |&number| some(self.heads[number].next))
        };
        self.buckets.iter().flat_map(chain)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.heads.in_use()
    }

    /// The most that there have been at a time.
    #[cfg(test)]
    pub fn ever(&self) -> usize {
        self.heads.ever()
    }
}

impl Index<u32> for Heads {
    type Output = Head;

    #[inline(always)]
    fn index(&self, number: u32) -> &Head {
        &self.heads[number]
    }
}

impl IndexMut<u32> for Heads {
    #[inline(always)]
    fn index_mut(&mut self, number: u32) -> &mut Head {
        &mut self.heads[number]
    }
}
