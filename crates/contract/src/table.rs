//! Tables: fixed-size rows under 64-bit keys, split into partitions by a function of the key.

/// A primary key. Composite keys are packed into the 64 bits by the workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(pub u64);

impl From<u64> for Key {
    fn from(key: u64) -> Self {
        Key(key)
    }
}

/// A table's position in the workload's list of [`TableDescription`]s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId(pub u16);

impl TableId {
    /// The position as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A partition of a table, `0..partitions`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartitionId(pub u32);

impl PartitionId {
    /// The partition as an index.
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
    pub fn new(offset: usize, len: usize) -> Self {
        let small = |n: usize| u32::try_from(n).expect("a row is smaller than 4 GiB");
        Span { offset: small(offset), len: small(len) }
    }

    /// A whole row of `row_bytes` bytes.
    pub fn whole(row_bytes: usize) -> Self {
        Span::new(0, row_bytes)
    }

    /// The first byte as an index.
    pub const fn start(self) -> usize {
        self.offset as usize
    }

    /// The number of bytes as a length.
    pub const fn length(self) -> usize {
        self.len as usize
    }

    /// One past the last byte.
    pub const fn end(self) -> usize {
        self.offset as usize + self.len as usize
    }
}

/// What an engine must know of a table before the first row.
#[derive(Clone, Debug)]
pub struct TableDescription {
    /// Name for messages and reports.
    pub name: &'static str,
    /// Payload bytes of a row, the key not counted.
    pub row_bytes: usize,
    /// Bytes of a row, from its first, whose contents matter. The others are ballast: a simulated machine charges for them
    /// and need not store them, and they then read as zero. All of them, unless rows are large and nobody looks at what is
    /// in them.
    pub kept_bytes: usize,
    /// Rows that loading will bring; their keys come from [`crate::Workload::loaded_key`].
    pub rows: u64,
    /// Rows to expect at most, inserts included: the hash index is sized for it once, and memory is
    /// asked for in proportion. A table may outgrow it, more slowly.
    pub capacity: u64,
    /// Where a key lives when the table is split into `partitions`; must answer below `partitions`.
    pub partition: fn(key: Key, partitions: u32) -> PartitionId,
}

impl TableDescription {
    /// The partition function of tables whose keys are dense: the remainder of the key.
    #[inline]
    pub fn partition_by_remainder(key: Key, partitions: u32) -> PartitionId {
        // A division takes as long as several look-ups in a cache.
        if partitions.is_power_of_two() {
            return PartitionId(key.0 as u32 & (partitions - 1));
        }
        PartitionId((key.0 % u64::from(partitions)) as u32)
    }
}
