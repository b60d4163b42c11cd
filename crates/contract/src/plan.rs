//! What a transaction says ahead of the records that it will touch.

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

/// A reused buffer of planned keys. Partitions follow from keys by the tables' partition functions, once for each plan.
#[derive(Debug, Default)]
pub struct Plan {
    keys: Vec<PlannedKey>,
}

impl Plan {
    /// An empty plan with room for `keys` keys, so that planning does not allocate.
    pub fn with_capacity(keys: usize) -> Self {
        Plan { keys: Vec::with_capacity(keys) }
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

    /// Forgets everything, keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.keys.clear();
    }
}
