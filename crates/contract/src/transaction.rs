//! What a transaction can do.
//!
//! The core, [`Transaction`], is object-safe and speaks bytes; [`TransactionExt`] adds typed rows and results.
//! Rows are seen through closures, so that two-phase locking can show them in place and optimistic
//! protocols can show a private copy, from the same procedure text.
//!
//! Rules that hold under every protocol:
//! - A transaction never conflicts with itself: it may repeat a key, upgrade a read to a write, and it reads
//!   its own writes, inserts and deletes.
//! - A key that was missing stays missing until the transaction commits, and so do all that a scan did not show.
//! - After an [`Abort`] the transaction is poisoned: every further operation fails, and it cannot commit even
//!   if the procedure returns `Ok`.
//! - A closure may run on a value that a later step proves stale (optimistic protocols); it must not panic on
//!   what it sees and must have no effect that a retry would repeat.

use crate::scan::Scan;
use crate::table::{Key, Span, TableId};
use serde::{Deserialize, Serialize};
use std::fmt;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Records that one transaction may touch, and missing keys on which it may rely, under every protocol: more may be a panic, which a
/// workload that can know it ahead refuses to come to.
pub const MOST_RECORDS: usize = 1 << 15;

/// Whether an operation found its key.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Presence {
    /// The key has a row.
    Present,
    /// The key has no row, and will have none until this transaction commits.
    Missing,
}

/// What an insert did.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insertion {
    /// The row is there, for this transaction now and for all once it commits.
    Inserted,
    /// The key has a row already, and will have until this transaction commits. Nothing was written.
    Exists,
}

/// Why a transaction cannot go on. An outcome, not an error: the engine retries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AbortReason {
    /// A lock was held in a conflicting mode, and the protocol does not wait; or a younger transaction was there before.
    Conflict,
    /// Waiting would have closed a cycle of the waits-for graph.
    Deadlock,
    /// A record that was read changed before commit.
    ReadValidation,
    /// A key that was missing was inserted by another before commit, or the other way round.
    Phantom,
    /// A write lock could not be turned into a certify lock.
    Certify,
    /// Something was touched that the plan did not declare, where it must; the transaction is planned again.
    Undeclared,
    /// A partition was about to change its owner, and closed to who was not there already.
    HandOver,
    /// It has waited for a lock longer than the run's timeout ([`EngineOptions::deadlock_timeout_ns`](crate::EngineOptions)).
    Timeout,
}

impl AbortReason {
    /// Every reason, in the order of their [`AbortReason::index`].
    pub const ALL: [AbortReason; 8] = [
        AbortReason::Conflict,
        AbortReason::Deadlock,
        AbortReason::ReadValidation,
        AbortReason::Phantom,
        AbortReason::Certify,
        AbortReason::Undeclared,
        AbortReason::HandOver,
        AbortReason::Timeout,
    ];

    /// Position in [`AbortReason::ALL`].
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Name in results.
    pub const fn name(self) -> &'static str {
        match self {
            AbortReason::Conflict => "conflict",
            AbortReason::Deadlock => "deadlock",
            AbortReason::ReadValidation => "read-validation",
            AbortReason::Phantom => "phantom",
            AbortReason::Certify => "certify",
            AbortReason::Undeclared => "undeclared",
            AbortReason::HandOver => "hand-over",
            AbortReason::Timeout => "timeout",
        }
    }
}

/// The transaction is over and will be retried; hand it up with `?`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abort(pub AbortReason);

impl fmt::Display for Abort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "aborted: {}", self.0.name())
    }
}

impl std::error::Error for Abort {}

/// How a [`Transaction::merge`] changes the bytes that it finds: `(current, argument)`.
///
/// It may leave something in `argument`, to be read after commit through [`crate::Receipts`].
pub type Merge = fn(current: &mut [u8], argument: &mut [u8]);

/// The operations of a transaction, in bytes. Object-safe.
///
/// A [`Span`] must lie within the row; one that does not is a panic that names the table and the span. Rows that vary in length
/// ([`crate::RowLength`]) are read and replaced whole: of such a table every span is a panic.
pub trait Transaction {
    /// Shows the named bytes of a row to `see`. If the key is missing, `see` is not called.
    fn read(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort>;

    /// Reads the named bytes of a row and writes back what `change` made of them.
    fn update(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<Presence, Abort>;

    /// As [`Transaction::update`]; other bytes of the row are shown to `see`, as they are before the change: an operation that finds
    /// the row once and writes back no more than what may have changed. Which closure runs first is open.
    ///
    /// By default an update of all bytes from the first to the last.
    fn update_seeing(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
        shown: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        let all = span.with(shown);
        self.update(table, key, all, &mut |bytes| {
            see(&bytes[shown.within(all)]);
            change(&mut bytes[span.within(all)]);
        })
    }

    /// Blind write: replaces the bytes from `offset` on by `bytes`, without reading.
    fn write(&mut self, table: TableId, key: Key, offset: usize, bytes: &[u8]) -> Result<Presence, Abort>;

    /// Blind change: `merge` is applied to the named bytes once no other transaction can come between, at the
    /// latest at install. It sees the value that it replaces, yet the transaction does not depend on it.
    fn merge(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        merge: Merge,
        argument: &[u8],
    ) -> Result<Presence, Abort>;

    /// Shows a whole row to `see`, however long it is. If the key is missing, `see` is not called.
    fn read_whole(&mut self, table: TableId, key: Key, see: &mut dyn FnMut(&[u8]))
    -> Result<Presence, Abort>;

    /// Blind write: replaces a row as a whole, without reading; if rows of the table vary in length, by one of any length that
    /// they may have.
    fn replace(&mut self, table: TableId, key: Key, row: &[u8]) -> Result<Presence, Abort>;

    /// Adds a row, whole.
    fn insert(&mut self, table: TableId, key: Key, row: &[u8]) -> Result<Insertion, Abort>;

    /// Says that operations on these keys come soon, so that their cache lines can be asked for now, all at the same time. A hint: it never fails,
    /// nothing depends on it, and the keys need not be there.
    ///
    /// (Procedures that know keys before they use them: group prefetching of Chen, Ailamaki, Gibbons and Mowry, ICDE 2004.)
    fn ahead(&mut self, table: TableId, keys: &[Key]) {
        let _ = (table, keys);
    }

    /// Removes a row.
    fn delete(&mut self, table: TableId, key: Key) -> Result<Presence, Abort>;

    /// The number by which this transaction names a key that is a byte string: the same one for the same bytes. It may be
    /// used until the transaction ends, whether or not there is such a key.
    ///
    /// Panics if the table's keys are numbers, or shorter.
    fn key(&mut self, table: TableId, bytes: &[u8]) -> Key;

    /// Shows the named bytes of rows to `see`, with their keys in bytes, in order; of a table whose rows vary in length the whole
    /// rows, whatever is named. Answers how many.
    fn scan(&mut self, scan: &Scan<'_>, see: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize, Abort>;
}

/// Typed rows and results over any [`Transaction`].
pub trait TransactionExt: Transaction {
    /// Reads a whole row as `R`; `None` if the key is missing.
    fn read_row<R, T>(
        &mut self,
        table: TableId,
        key: Key,
        see: impl FnOnce(&R) -> T,
    ) -> Result<Option<T>, Abort>
    where
        R: FromBytes + KnownLayout + Immutable,
    {
        self.read_at(table, key, 0, see)
    }

    /// Reads the part of a row that starts at byte `offset` as `R`; `None` if the key is missing.
    fn read_at<R, T>(
        &mut self,
        table: TableId,
        key: Key,
        offset: usize,
        see: impl FnOnce(&R) -> T,
    ) -> Result<Option<T>, Abort>
    where
        R: FromBytes + KnownLayout + Immutable,
    {
        let (mut see, mut seen) = (Some(see), None);
        let _ = self.read(table, key, Span::new(offset, size_of::<R>()), &mut |bytes| {
            let row =
                R::ref_from_bytes(bytes).expect("rows are aligned to 8 bytes, and so must be the part named");
            seen = see.take().map(|see| see(row));
        })?;
        Ok(seen)
    }

    /// Reads a whole row as `R` and writes back what `change` made of it; `None` if the key is missing.
    fn update_row<R, T>(
        &mut self,
        table: TableId,
        key: Key,
        change: impl FnOnce(&mut R) -> T,
    ) -> Result<Option<T>, Abort>
    where
        R: FromBytes + IntoBytes + KnownLayout,
    {
        let (mut change, mut changed) = (Some(change), None);
        let _ = self.update(table, key, Span::whole(size_of::<R>()), &mut |bytes| {
            let row = R::mut_from_bytes(bytes).expect("rows are aligned to 8 bytes");
            changed = change.take().map(|change| change(row));
        })?;
        Ok(changed)
    }

    /// Blind write of a whole row.
    fn write_row<R: IntoBytes + Immutable>(
        &mut self,
        table: TableId,
        key: Key,
        row: &R,
    ) -> Result<Presence, Abort> {
        self.write(table, key, 0, row.as_bytes())
    }

    /// Reads a row of any length, and replaces it by what `change` makes of it.
    fn change_whole(
        &mut self,
        table: TableId,
        key: Key,
        change: impl FnOnce(&[u8]) -> Vec<u8>,
    ) -> Result<Presence, Abort> {
        let (mut change, mut changed) = (Some(change), None);
        let presence = self.read_whole(table, key, &mut |row| {
            changed = change.take().map(|change| change(row));
        })?;
        match changed {
            Some(row) if presence == Presence::Present => self.replace(table, key, &row),
            _ => Ok(Presence::Missing),
        }
    }

    /// Adds a row.
    fn insert_row<R: IntoBytes + Immutable>(
        &mut self,
        table: TableId,
        key: Key,
        row: &R,
    ) -> Result<Insertion, Abort> {
        self.insert(table, key, row.as_bytes())
    }
}

impl<T: Transaction + ?Sized> TransactionExt for T {}
