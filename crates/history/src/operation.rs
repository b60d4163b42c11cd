//! Operations: what a transaction saw, and what it wrote, in 24 bytes each.

use crate::version::Version;
use contract::{Key, TableId};
use serde::{Deserialize, Serialize};

/// What an operation did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum OperationKind {
    /// Looked, and saw `seen`. Whatever only found its key missing is a read too.
    Read,
    /// Learnt that the key has a row, not which version of it: an insert that answered `Exists`.
    Exists,
    /// Saw `seen` and replaced it.
    Update,
    /// Replaced `seen` without looking.
    Write,
    /// Found no row (`seen` is dead) and put one there.
    Insert,
    /// Found a row and removed it. `seen` is [`Version::PRESENT`] if the row itself went, and the version that
    /// was replaced if a tombstone stands in its place.
    Delete,
}

impl OperationKind {
    /// Whether it leaves a version behind.
    pub const fn writes(self) -> bool {
        !matches!(self, OperationKind::Read | OperationKind::Exists)
    }

    /// Whether an operation of this kind that saw `seen` removed the row itself.
    pub(crate) fn really_deletes(self, seen: Version) -> bool {
        self == OperationKind::Delete && seen == Version::PRESENT
    }

    /// Whether what it saw decides what the transaction did.
    pub const fn looks(self) -> bool {
        !matches!(self, OperationKind::Write)
    }
}

/// One operation of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// Of which key.
    pub key: Key,
    /// The version that was there, before the operation.
    pub seen: Version,
    /// Of which table.
    pub table: TableId,
    /// The write's number among the attempt's writes; 0 and meaningless if it is none.
    pub write: u16,
    /// [`Version::fold`] of what the stamp that was seen said it replaced; 0 if no stamp was seen.
    pub(crate) fold: u16,
    /// What it did.
    pub kind: OperationKind,
}

const _: () =
    assert!(size_of::<Operation>() == 24, "a million transactions of sixteen operations fit in 400 MB");

impl Operation {
    /// Whether the row itself went, and not only its content: see [`crate::Deletes`].
    pub(crate) fn is_real_delete(&self) -> bool {
        self.kind.really_deletes(self.seen)
    }

    /// An operation that saw no stamp.
    pub fn new(kind: OperationKind, table: TableId, key: Key, seen: Version, write: u32) -> Self {
        let write = u16::try_from(write).expect("an attempt has fewer writes than a version can tell apart");
        Operation { key, seen, table, write, fold: 0, kind }
    }

    /// An operation that saw a stamp: `seen`, which says that it replaced `replaced`.
    pub fn stamped(
        kind: OperationKind,
        table: TableId,
        key: Key,
        seen: Version,
        replaced: Version,
        write: u32,
    ) -> Self {
        let fold = if seen.is_named() { replaced.fold() } else { 0 };
        Operation { fold, ..Operation::new(kind, table, key, seen, write) }
    }
}
