//! Keys as ordered indexes have them: byte strings, and how steps carry them.
//!
//! A key that is a byte string is copied once into a buffer of the transaction's, and its position among them is the number
//! by which the transaction names it: the access set and all else speak of numbers only. The buffer is used again by the
//! next transaction.
//!
//! A step carries a [`Spot`], sixteen bytes: of a number the number, of a byte string where it is.

use super::OrderedOf;
use crate::architecture::{Architecture, SiteOf};
use crate::index::hash::Hash;
use contract::{Key, PartitionId, TableId};
use hashbrown::HashTable;

/// A byte string of the buffer.
#[derive(Clone, Copy)]
struct Interned {
    start: u32,
    end: u32,
}

/// The byte strings that a transaction has named, each once.
pub(super) struct Keys {
    bytes: Vec<u8>,
    entries: Vec<Interned>,
    positions: HashTable<u32>,
}

impl Keys {
    /// With room for transactions of ordinary size.
    pub fn new() -> Self {
        Keys {
            bytes: Vec::with_capacity(8192),
            entries: Vec::with_capacity(256),
            positions: HashTable::with_capacity(256),
        }
    }

    /// The number of a byte string.
    pub fn intern(&mut self, string: &[u8]) -> Key {
        let (bytes, entries) = (&mut self.bytes, &mut self.entries);
        let is_it = |&number: &u32| get(bytes, entries, number as usize) == string;
        let hash = hash_of(string);
        if let Some(&number) = self.positions.find(hash, is_it) {
            return Key(u64::from(number));
        }
        let small = |n: usize| u32::try_from(n).expect("a transaction of less than 4 GiB of keys");
        let number = small(entries.len());
        let start = small(bytes.len());
        bytes.extend_from_slice(string);
        entries.push(Interned { start, end: small(bytes.len()) });
        let hash_of_number = |&number: &u32| hash_of(get(bytes, entries, number as usize));
        self.positions.insert_unique(hash, number, hash_of_number);
        Key(u64::from(number))
    }

    /// The byte string that a number names.
    pub fn bytes(&self, key: Key) -> &[u8] {
        assert!(key.0 < self.entries.len() as u64, "key {} was not named by this transaction", key.0);
        get(&self.bytes, &self.entries, key.0 as usize)
    }

    /// Forgets everything, keeps the memory.
    #[inline(always)]
    pub fn clear(&mut self) {
        if !self.entries.is_empty() {
            self.bytes.clear();
            self.entries.clear();
            self.positions.clear();
        }
    }
}

fn get<'a>(bytes: &'a [u8], entries: &[Interned], number: usize) -> &'a [u8] {
    let Interned { start, end } = entries[number];
    &bytes[start as usize..end as usize]
}

/// The same on every machine and in every run.
fn hash_of(string: &[u8]) -> u64 {
    let seed = Hash::of(Key(string.len() as u64)).0;
    string.chunks(8).fold(seed, |hash, bytes| Hash::of(Key(hash.rotate_left(5) ^ Key::prefix_of(bytes).0)).0)
}

/// A key on its way to the ordered index that holds it, or would.
#[derive(Clone, Copy)]
pub(super) struct Spot {
    /// The number, or the address of the byte string.
    bits: u64,
    /// Bytes of the string, or [`NUMBER`].
    length: u16,
    pub table: TableId,
    pub partition: PartitionId,
}

const NUMBER: u16 = u16::MAX;
const _: () = assert!(crate::index::ordered::MAX_KEY_BYTES < NUMBER as usize && size_of::<Spot>() == 16);

impl Spot {
    /// A key that is a number.
    pub fn number(table: TableId, partition: PartitionId, key: Key) -> Self {
        Spot { bits: key.0, length: NUMBER, table, partition }
    }

    /// A key that is a byte string, which must stay where it is while a step uses the spot.
    pub fn bytes(table: TableId, partition: PartitionId, key: &[u8]) -> Self {
        Spot { bits: key.as_ptr().expose_provenance() as u64, length: key.len() as u16, table, partition }
    }

    /// The key's index, and the key.
    ///
    /// # Safety
    /// The string that the spot was made of has not moved: the sender of the step waits for its answer, and touches nothing.
    #[inline(always)]
    pub unsafe fn at<A: Architecture, R>(
        self,
        site: &SiteOf<'_, A>,
        run: impl FnOnce(&OrderedOf<A>, &[u8]) -> R,
    ) -> R {
        let index = site.partition(self.table, self.partition).index.ordered().used_as();
        // SAFETY: by the caller's contract.
        unsafe { self.with(|key| run(index, key)) }
    }

    /// The key.
    ///
    /// # Safety
    /// As for [`Spot::at`].
    #[inline(always)]
    pub unsafe fn with<R>(self, run: impl FnOnce(&[u8]) -> R) -> R {
        if self.length == NUMBER {
            return run(&Key(self.bits).bytes());
        }
        let at = std::ptr::with_exposed_provenance::<u8>(self.bits as usize);
        // SAFETY: the address and length of a slice that is still there, and not written, by the caller's contract.
        run(unsafe { std::slice::from_raw_parts(at, usize::from(self.length)) })
    }
}

/// Something of the client's that a step uses while the client waits for its answer.
pub(super) struct Lent<T>(*mut T);

impl<T> Clone for Lent<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Lent<T> {}

// SAFETY: the receiver is handed the use of a `T`, by a message that orders the two.
unsafe impl<T: Send> Send for Lent<T> {}

impl<T> Lent<T> {
    /// Lends what the client has.
    pub fn new(what: &mut T) -> Self {
        Lent(what)
    }

    /// What was lent.
    ///
    /// # Safety
    /// The client waits for the step that calls this, and touches nothing of it; it is called once at a time.
    #[inline(always)]
    #[allow(clippy::mut_from_ref, reason = "the pointer is the client's, and the client waits")]
    pub unsafe fn get<'a>(self) -> &'a mut T {
        // SAFETY: the pointer came from a mutable borrow, to whose owner nobody else comes, by the caller's contract.
        unsafe { &mut *self.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_bytes_have_the_same_number() {
        let mut keys = Keys::new();
        for round in 0..3 {
            let string = |n: usize| vec![n as u8; n % 40 + round];
            let numbers: Vec<Key> = (0..1000).map(|n| keys.intern(&string(n % 256))).collect();
            for (n, &number) in numbers.iter().enumerate() {
                assert_eq!(number, numbers[n % 256]);
                assert_eq!(keys.bytes(number), string(n % 256));
            }
            keys.clear();
        }
    }
}
