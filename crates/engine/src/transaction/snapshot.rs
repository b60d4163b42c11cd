//! Reading a snapshot: the readers' part of [`crate::versions`].
//!
//! A transaction that reads a snapshot has no access set: it holds nothing, and nobody knows of it but by the number that its slot tells.
//! It is not aborted. Where the protocol's own versions make snapshots, that tells how they are read ([`super::access`]).
//! Between two operations its slot goes on to the global epoch, so that it holds no epoch back, however
//! long it takes: versions do not depend on that, but on the number.

use super::access::{Access as _, AccessOf};
use super::{Aside, HeaderOf, Place, Txn, values};
use crate::architecture::Architecture;
use crate::facade::atomic::{Ordering, fence};
use crate::protocol::Attempt;
use crate::record::RecordRef;
use crate::record::value::{WORD, Word};
use crate::storage::Table;
use crate::versions::{Graveyard, Version};
use crate::work;
use contract::{Abort, Key, PartitionId, Presence, SnapshotCanary, Span, TableId, TimeClass};

/// A snapshot that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotRead {
    /// Its number.
    pub number: u64,
    /// It shows what was committed in this epoch and before: if the store is logged, it is durable once this is.
    pub last_epoch: u64,
}

impl<'e, A: Architecture> Txn<'e, A> {
    /// Whether transactions may read snapshots.
    #[inline(always)]
    pub fn has_snapshots(&self) -> bool {
        self.keeps_versions || AccessOf::<A>::has_own_snapshots(self)
    }

    /// Whether the transaction that runs reads a snapshot.
    pub fn has_begun_snapshot(&self) -> bool {
        self.aside == Some(Aside::Snapshot)
    }

    /// Starts a transaction that reads the newest snapshot; [`Txn::end_snapshot`] ends it.
    pub fn begin_snapshot(&mut self) {
        self.clear();
        self.architecture.begin_attempt(Attempt::First);
        self.snapshot = AccessOf::<A>::begin_snapshot(self);
        self.aside = Some(Aside::Snapshot);
    }

    pub(super) fn begin_snapshot_of_store(&self) -> u64 {
        self.epochs.begin_snapshot(self.slot.0 as usize)
    }

    /// Ends it.
    pub fn end_snapshot(&mut self) -> SnapshotRead {
        assert!(self.has_begun_snapshot(), "a transaction that reads a snapshot");
        let last_epoch = AccessOf::<A>::end_snapshot(self);
        self.aside = None;
        SnapshotRead { number: self.snapshot, last_epoch }
    }

    pub(super) fn end_snapshot_of_store(&self) -> u64 {
        self.epochs.end_snapshot(self.slot.0 as usize);
        self.epochs.last_epoch_of(self.snapshot)
    }

    pub(super) fn read_aside(
        &mut self,
        aside: Aside,
        table: &'e Table,
        key: Key,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        match aside {
            Aside::Poisoned(_) => Err(aside.refuse()),
            Aside::Snapshot => Ok(self.read_of_snapshot(table, key, span, see)),
        }
    }

    pub(super) fn read_row_aside(
        &mut self,
        aside: Aside,
        table: &'e Table,
        key: Key,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        if !table.varies() {
            return self.read_aside(aside, table, key, Span::whole(table.description.row_bytes), see);
        }
        // What the word names is there as long as the snapshot is read.
        let mut word = Word::default();
        let presence = self.read_aside(aside, table, key, WORD, &mut |bytes| word.copy_from_slice(bytes))?;
        if presence == Presence::Present {
            values::show(&word, see);
        }
        Ok(presence)
    }

    fn read_of_snapshot(
        &mut self,
        table: &'e Table,
        key: Key,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Presence {
        work::operation(span.length());
        self.refresh_epoch();
        let place = self.place(table, key);
        self.fetch_apart(place, span, false);
        self.stopwatch.enter(TimeClass::Index);
        let (found, _) = self.look_up(place);
        self.stopwatch.enter(TimeClass::Useful);
        let is_shown = found.is_some_and(|record| self.show_of_snapshot(table, record, span, see))
            || self.keeps_versions && self.show_buried(place, span, see);
        if is_shown { Presence::Present } else { Presence::Missing }
    }

    /// Shows bytes of a record's row as the snapshot has it; whether it has one.
    pub(super) fn show_of_snapshot(
        &mut self,
        table: &Table,
        record: RecordRef,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> bool {
        AccessOf::<A>::show_of_snapshot(self, table, record, span, see)
    }

    pub(super) fn show_of_store_snapshot(
        &mut self,
        table: &Table,
        record: RecordRef,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> bool {
        let lineage = record.lineage(&table.shape).expect("a store with snapshots");
        let since = lineage.snapshot();
        if since <= self.snapshot {
            let bytes = self.scratch_for(span);
            // SAFETY: the span was checked against the row; where there are snapshots rows are written by racing copies only.
            unsafe { record.row::<HeaderOf<A>>().copy_out_racing(span.offset, bytes) };
            if lineage.still_is(since) || self.snapshot_canary == Some(SnapshotCanary::UncheckedCopy) {
                see(self.scratch_for(span));
                return true;
            }
        }
        self.show_version(lineage.previous(), span, see)
    }

    /// Shows bytes of the row that the snapshot has of this version and those before it; whether it has one.
    pub(super) fn show_version(
        &self,
        newest: Option<Version>,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> bool {
        // SAFETY: the slot tells which snapshot it reads, so that none is freed which that shows, or which comes after one of those. The
        // span was checked against the row.
        let shown = newest.and_then(|version| unsafe { version.shown_by(self.snapshot) });
        // SAFETY: as above.
        shown.inspect(|version| unsafe { version.view(span, see) }).is_some()
    }

    /// The same of a key that has no record any more, or one that was inserted later.
    fn show_buried(&mut self, place: Place<'_>, span: Span, see: &mut dyn FnMut(&[u8])) -> bool {
        // Acquire: pairs with the Release of whoever unlinked the record, having buried its last version before.
        fence(Ordering::Acquire);
        let graveyard = self.graveyard(place.table.id, place.partition);
        // SAFETY: the key stays where it is meanwhile.
        let last = unsafe { self.spot(place).with(|key| graveyard.find(key, self.snapshot)) };
        self.show_version(last, span, see)
    }

    /// A partition's graveyard.
    pub(super) fn graveyard(&self, table: TableId, partition: PartitionId) -> &'e Graveyard {
        self.table(table).partition(partition).graveyard.as_ref().expect("a store with snapshots")
    }
}
