//! Tables: rows under keys, split into partitions by a function of the key.
//!
//! The rows of a table have one length, and transactions name parts of them by [`Span`]s; or their lengths vary, and they are read and
//! replaced whole ([`RowLength`]).
//!
//! A key is a number of 64 bits, into which the workload packs composite ones. A table that is [`Indexing::Ordered`] can be
//! scanned in the order of its keys; one that is [`Indexing::OrderedBytes`] has byte strings for keys, which transactions
//! name by numbers of their own ([`crate::Transaction::key`]). A secondary index is a table whose rows say where
//! to go on (*silo* 4.7).

use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;

/// A primary key. Composite keys are packed into the 64 bits by the workload. Of a table whose keys are byte strings, a
/// number that [`crate::Transaction::key`] gave, for as long as that transaction lasts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key(pub u64);

impl Key {
    /// The key as an ordered index has it: byte strings in the order of the numbers.
    #[inline]
    pub const fn bytes(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }

    /// The number that begins a byte string: its first eight bytes, with zeroes for those that it lacks. In the order of the
    /// strings; of [`Key::bytes`] the key itself.
    #[inline]
    pub fn prefix_of(bytes: &[u8]) -> Key {
        match bytes.first_chunk() {
            Some(first) => Key(u64::from_be_bytes(*first)),
            // Shifted in byte by byte: a copy of unknown length is a call.
            None => Key(bytes
                .iter()
                .fold(0, |key, &byte| key << 8 | u64::from(byte))
                .unbounded_shl(64 - 8 * bytes.len() as u32)),
        }
    }
}

/// How a table's rows are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Indexing {
    /// By key only, which is a number.
    #[default]
    Hashed,
    /// By key, which is a number, and in the order of the numbers.
    Ordered,
    /// By key, which is a byte string of at most so many bytes (up to 1,024), and in lexicographic order.
    OrderedBytes {
        /// Bytes of the longest key.
        most: usize,
    },
}

/// Bytes of the longest row of a table whose rows vary in length.
pub const MOST_VARYING_BYTES: usize = 16 << 20;

/// Rows that a table can be made for at most.
pub const MOST_CAPACITY: u64 = 1 << 36;

/// How long a table's rows are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowLength {
    /// All as long as [`TableDescription::row_bytes`] says.
    #[default]
    Fixed,
    /// Each has a length of its own, from 0 to [`TableDescription::row_bytes`], which is [`MOST_VARYING_BYTES`] at most. Transactions
    /// read and replace rows whole; operations that name a [`Span`] panic.
    Varying,
}

impl From<u64> for Key {
    fn from(key: u64) -> Self {
        Key(key)
    }
}

/// A table's position in the workload's list of [`TableDescription`]s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TableId(pub u16);

impl TableId {
    /// The position as an index.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A partition of a table, `0..partitions`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartitionId(pub u32);

impl PartitionId {
    /// The partition as an index.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The bytes of a row that an operation names: only these are copied, and only these are charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// First byte, counted from the start of the row.
    pub offset: u32,
    /// Number of bytes.
    pub len: u32,
}

impl Span {
    /// `len` bytes from byte `offset` of the row.
    ///
    /// Panics if either exceeds 4 GiB.
    #[inline]
    pub fn new(offset: usize, len: usize) -> Self {
        let small = |n: usize| u32::try_from(n).expect("a row is smaller than 4 GiB");
        Span { offset: small(offset), len: small(len) }
    }

    /// A whole row of `row_bytes` bytes.
    #[inline]
    pub fn whole(row_bytes: usize) -> Self {
        Span::new(0, row_bytes)
    }

    /// The first byte as an index.
    #[inline]
    pub const fn start(self) -> usize {
        self.offset as usize
    }

    /// The number of bytes as a length.
    #[inline]
    pub const fn length(self) -> usize {
        self.len as usize
    }

    /// One past the last byte.
    #[inline]
    pub const fn end(self) -> usize {
        self.offset as usize + self.len as usize
    }

    /// The shortest one that has all bytes of both, and begins at a multiple of eight: what is aligned in the row is aligned in it.
    #[inline]
    pub fn with(self, other: Span) -> Self {
        let start = self.start().min(other.start()) & !7;
        Span::new(start, self.end().max(other.end()) - start)
    }

    /// This part of the bytes of a span that has it.
    #[inline]
    pub fn within(self, all: Span) -> std::ops::Range<usize> {
        self.start() - all.start()..self.end() - all.start()
    }

    /// Whether a byte is in both.
    #[inline]
    pub const fn overlaps(self, other: Span) -> bool {
        self.start() < other.end() && other.start() < self.end()
    }
}

/// What an engine must know of a table before the first row.
#[derive(Clone, Debug)]
pub struct TableDescription {
    /// Name for messages and reports.
    pub name: &'static str,
    /// Payload bytes of a row, the key not counted; of the longest, if rows vary in length.
    pub row_bytes: usize,
    /// Whether all rows have so many bytes.
    pub length: RowLength,
    /// Bytes of a row, from its first, whose contents matter. The others are ballast: a simulated machine charges for them
    /// and need not store them, and they then read as zero. All of them, unless rows are large and nobody looks at what is
    /// in them. Of rows that vary in length all matter.
    pub kept_bytes: usize,
    /// Rows that loading will bring; their keys come from [`crate::Workload::loaded_key`].
    pub rows: u64,
    /// Rows to expect at most, inserts included: the hash index is sized for it once, and memory is
    /// asked for in proportion. A table may outgrow it, more slowly.
    pub capacity: u64,
    /// How rows are found.
    pub indexing: Indexing,
    /// Where a key lives when the table is split. Of a key that is a byte
    /// string it is given [`Key::prefix_of`] it.
    pub partition: PartitionFunction,
}

/// In which partition of so many a key lives; always one of them.
#[derive(Clone, Copy, Debug)]
pub enum PartitionFunction {
    /// That of the key's remainder: for keys that are dense.
    Remainder,
    /// That of the remainder of the key's quotient by this number: so many keys that follow each other live together.
    Quotient(NonZeroU64),
    /// What a function says, given the key and how many partitions there are.
    By(fn(key: Key, partitions: u32) -> PartitionId),
}

impl PartitionFunction {
    /// Where `key` lives.
    #[inline]
    pub fn of(self, key: Key, partitions: u32) -> PartitionId {
        match self {
            PartitionFunction::Remainder => remainder(key.0, partitions),
            PartitionFunction::Quotient(divisor) => remainder(key.0 / divisor, partitions),
            PartitionFunction::By(function) => function(key, partitions),
        }
    }
}

#[inline]
fn remainder(number: u64, partitions: u32) -> PartitionId {
    // A division takes as long as several look-ups in a cache.
    if partitions.is_power_of_two() {
        return PartitionId(number as u32 & (partitions - 1));
    }
    PartitionId((number % u64::from(partitions)) as u32)
}

impl TableDescription {
    /// Whether rows vary in length.
    #[inline]
    pub fn varies(&self) -> bool {
        self.length == RowLength::Varying
    }

    /// Whether a row may have so many bytes.
    #[inline]
    pub fn admits(&self, bytes: usize) -> bool {
        match self.length {
            RowLength::Fixed => bytes == self.row_bytes,
            RowLength::Varying => bytes <= self.row_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_their_bytes_are_in_one_order() {
        let numbers = [0, 1, 255, 256, 1 << 40, u64::MAX];
        assert!(numbers.windows(2).all(|pair| Key(pair[0]).bytes() < Key(pair[1]).bytes()));
        assert!(numbers.iter().all(|&number| Key::prefix_of(&Key(number).bytes()) == Key(number)));
        assert_eq!(Key::prefix_of(b""), Key(0));
        assert_eq!(Key::prefix_of(&[1]), Key(1 << 56));
        assert_eq!(Key::prefix_of(&[0, 0, 0, 0, 0, 0, 0, 2, 9]), Key(2));
    }
}
