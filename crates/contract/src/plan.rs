//! What a transaction says ahead of the records that it will touch.

use crate::scan::Scan;
use crate::table::{Key, PartitionId, Span, TableId};

/// How a planned key will be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read only.
    Read,
    /// Written, read or not.
    Write,
    /// Inserted or deleted.
    Structure,
}

/// A key that a transaction will touch.
#[derive(Clone, Copy, Debug)]
pub struct PlannedKey {
    /// Its table.
    pub table: TableId,
    /// Its key; of a table whose keys are byte strings, [`Key::prefix_of`] it, which names the partition only.
    pub key: Key,
    /// The bytes of the row that will be touched.
    pub span: Span,
    /// What for.
    pub access: Access,
    /// Where it lives; the engine says so when the plan is made ([`Plan::locate`]).
    pub partition: PartitionId,
}

/// Keys of which a transaction will touch any, or rely on there being no others: those that a scan goes through, say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedRange {
    /// Their table.
    pub table: TableId,
    /// The first; of a table whose keys are byte strings, [`Key::prefix_of`] it: all that begin so are in the range.
    pub first: Key,
    /// The last, likewise.
    pub last: Key,
    /// What for.
    pub access: Access,
    /// A key in whose partition all of them are, by the table's partition function; `None`: they may be in any.
    pub within: Option<Key>,
}

/// A reused buffer of planned keys and ranges. Partitions follow from keys by the tables' partition functions, once for each plan.
#[derive(Debug, Default)]
pub struct Plan {
    keys: Vec<PlannedKey>,
    ranges: Vec<PlannedRange>,
    is_open: bool,
}

impl Plan {
    /// An empty plan with room for `keys` keys and some ranges, so that planning does not allocate.
    pub fn with_capacity(keys: usize) -> Self {
        Plan { keys: Vec::with_capacity(keys), ranges: Vec::with_capacity(16), is_open: false }
    }

    /// Adds a key.
    #[inline]
    pub fn touch(&mut self, table: TableId, key: Key, span: Span, access: Access) {
        self.keys.push(PlannedKey { table, key, span, access, partition: PartitionId(0) });
    }

    /// Declares the partition of a key of which no byte is known to be touched, or which may be missing.
    #[inline]
    pub fn declare(&mut self, table: TableId, key: Key) {
        self.touch(table, key, Span::new(0, 0), Access::Read);
    }

    /// Adds all keys from `first` to `last`. Only architectures that lock what is planned ask for ranges; a partition is declared by a key.
    #[inline]
    pub fn range(&mut self, range: PlannedRange) {
        self.ranges.push(range);
    }

    /// Once all keys are planned: says where each lives.
    #[inline]
    pub fn locate(&mut self, partition_of: impl Fn(TableId, Key) -> PartitionId) {
        for planned in &mut self.keys {
            planned.partition = partition_of(planned.table, planned.key);
        }
    }

    /// The planned keys, in the order in which they were added.
    #[inline]
    pub fn keys(&self) -> &[PlannedKey] {
        &self.keys
    }

    /// The planned ranges, in the order in which they were added.
    #[inline]
    pub fn ranges(&self) -> &[PlannedRange] {
        &self.ranges
    }

    /// Adds the keys of a scan, as far as it may come.
    pub fn scan(&mut self, scan: &Scan<'_>, access: Access) {
        let (first, last) = scan.ends();
        self.range(PlannedRange { table: scan.table, first, last, access, within: scan.within });
    }

    /// Says that what else will be touched depends on what is read. Where all must be known ahead, the transaction then runs ahead to find out.
    #[inline]
    pub fn leave_open(&mut self) {
        self.is_open = true;
    }

    /// Whether that was said.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Whether it says nothing, neither what will be touched nor that this is open.
    pub fn is_empty(&self) -> bool {
        !self.is_open && self.keys.is_empty() && self.ranges.is_empty()
    }

    /// The range that was added last, to be changed.
    #[inline]
    pub fn last_range(&mut self) -> Option<&mut PlannedRange> {
        self.ranges.last_mut()
    }

    /// Plans to touch all of every table of which anything is planned.
    pub fn widen_to_tables(&mut self) {
        let of_keys = self.keys.iter().map(|planned| planned.table);
        let mut tables: Vec<TableId> = of_keys.chain(self.ranges.iter().map(|range| range.table)).collect();
        tables.sort_unstable();
        tables.dedup();
        let all = |table| PlannedRange {
            table,
            first: Key(0),
            last: Key(u64::MAX),
            access: Access::Structure,
            within: None,
        };
        self.ranges = tables.into_iter().map(all).collect();
    }

    /// Forgets everything, keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.keys.clear();
        self.ranges.clear();
        self.is_open = false;
    }
}
