//! Previous versions of the rows that a transaction overwrites or deletes, where there are snapshots: the writers' part of
//! [`crate::versions`].
//!
//! | | in place | private copies |
//! |---|---|---|
//! | before a row is changed | a version, if the row is older than the local epoch's snapshot | under protocols that validate, a version that is not linked yet ([`super::ahead`]) |
//! | at commit | a version, if the row is older than the commit's snapshot and none was made: with what undo has kept put back | the same, before install: of the row, which nobody has changed |
//! | at abort | what was made stays | nobody has seen what was made |
//!
//! A version of a row that varies in length has the row's value. So a transaction that aborts puts a copy of it back.
//!
//! Where rows are not to be overwritten ([`EngineOptions::overwrites`](contract::EngineOptions)), each row that is replaced moves at commit
//! to a piece of the heap, which is freed when its epoch has passed: what a store pays for that allocates a record for each write. Nobody
//! looks at it. We differ: the new row is where the old one was, so that the index is not changed, and the cache keeps its lines.

use super::access::{Access as _, AccessOf};
use super::access_set::{Access, Kind, NO_WRITE};
use super::{HeaderOf, Txn};
use crate::architecture::Architecture;
use crate::facade::payload;
use crate::versions::cache::{Buried, Superseded};
use crate::versions::{Lineage, Version};
use contract::{SnapshotCanary, SnapshotPlace};
use zerocopy::IntoBytes;

impl<'e, A: Architecture> Txn<'e, A> {
    pub(super) fn lineage(&self, access: Access) -> &'e Lineage {
        access.record.lineage(&self.table(access.table).shape).expect("a store with snapshots")
    }

    /// Where the transaction that has committed stands among the snapshots, if there are any.
    #[inline(always)]
    pub fn snapshot_place(&self) -> Option<SnapshotPlace> {
        AccessOf::<A>::snapshot_place(self)
    }

    #[inline(always)]
    pub(super) fn place_among_snapshots_of_store(&self) -> Option<SnapshotPlace> {
        self.keeps_versions.then(|| SnapshotPlace::ShownBy(self.epochs.snapshot_of(self.commit_epoch)))
    }

    /// Before bytes of a row that is held exclusively are changed in place.
    #[inline(always)]
    pub(super) fn keep_version_of(&mut self, position: usize) {
        if self.keeps_versions {
            let snapshot = self.snapshot_of(self.epoch);
            self.supersede_if_older(position, snapshot);
        }
    }

    /// The first snapshot that shows what a transaction of this epoch commits. It is the same for many transactions, and a division.
    #[inline]
    pub(super) fn snapshot_of(&mut self, epoch: u64) -> u64 {
        if self.shown_by.0 != epoch {
            self.shown_by = (epoch, self.epochs.snapshot_of(epoch));
        }
        self.shown_by.1
    }

    /// Makes a version of a row, which is as it was committed, if that is older than `snapshot`, which shows what the transaction writes.
    fn supersede_if_older(&mut self, position: usize, snapshot: u64) {
        let lineage = self.lineage(self.accesses[position]);
        if lineage.snapshot() < snapshot {
            let version = self.make_version(position);
            lineage.supersede(version, snapshot);
        }
    }

    /// A version of the row of a record that the transaction holds.
    fn make_version(&mut self, position: usize) -> Version {
        let access = self.accesses[position];
        let (table, lineage) = (self.table(access.table), self.lineage(access));
        let row = &mut self.scratch.as_mut_bytes()[..table.shape.row_bytes];
        // SAFETY: the whole row; the record is held, so nobody else writes it.
        unsafe { access.record.row::<HeaderOf<A>>().copy_out(0, row) };
        let version = self.allocations.versions.make(lineage.snapshot(), lineage.previous(), row);
        let (row_bytes, has_value) = (row.len() as u32, table.varies());
        self.made_versions.push(Superseded { version, row_bytes, has_value });
        self.accesses[position].has_version = true;
        version
    }

    /// The transaction commits, and nothing is installed or released yet: what it replaces and deletes becomes versions.
    #[inline(always)]
    pub(super) fn keep_versions(&mut self) {
        if (self.keeps_versions || !self.overwrites) && !self.write_set.is_empty() {
            if self.keeps_versions {
                self.keep_all_versions();
            }
            if !self.overwrites {
                self.move_replaced();
            }
        }
    }

    /// Moves the rows that the transaction replaces to memory of their own.
    fn move_replaced(&mut self) {
        for number in 0..self.write_set.len() {
            let access = self.accesses[self.write_set[number] as usize];
            let table = self.table(access.table);
            // Rows that vary in length are replaced by their values' addresses, and never overwritten.
            // A tombstone has no row.
            if access.kind != Kind::Write || access.is_revived || table.varies() || table.shape.row_bytes == 0
            {
                continue;
            }
            let row = &mut self.scratch.as_mut_bytes()[..table.shape.row_bytes];
            // SAFETY: the whole row; the record is held, so nobody else writes it.
            unsafe { access.record.row::<HeaderOf<A>>().copy_out(0, row) };
            let versions = &mut self.allocations.versions;
            let piece = versions.heap().take(row.len());
            // SAFETY: the piece has so many bytes, and is nobody else's.
            unsafe { payload::copy_in(piece.as_ptr(), row) };
            versions.retire(self.epoch, (piece, row.len()));
        }
    }

    fn keep_all_versions(&mut self) {
        let epoch = match self.snapshot_canary {
            Some(SnapshotCanary::LocalEpoch) => self.epoch,
            _ => self.commit_epoch,
        };
        let snapshot = self.snapshot_of(epoch);
        self.link_versions_ahead(snapshot);
        let mut changed = Vec::new();
        for number in 0..self.write_set.len() {
            let position = self.write_set[number] as usize;
            let access = self.accesses[position];
            match access.kind {
                Kind::Insert => self.lineage(access).is_since(snapshot),
                Kind::Write | Kind::Delete if !AccessOf::<A>::WRITES_IN_PLACE => {
                    if !access.has_version {
                        self.supersede_if_older(position, snapshot);
                    }
                }
                Kind::Write | Kind::Delete if access.has_version => self.lineage(access).is_since(snapshot),
                Kind::Write | Kind::Delete if self.lineage(access).snapshot() < snapshot => {
                    changed.push(position)
                }
                Kind::Write | Kind::Delete | Kind::Vanished | Kind::Read | Kind::Absent => {}
            }
        }
        self.supersede_changed(&changed, snapshot);
        for number in 0..self.write_set.len() {
            let position = self.write_set[number] as usize;
            if self.accesses[position].kind == Kind::Delete {
                self.bury(position, snapshot);
            }
        }
        self.hand_versions_over(snapshot);
    }

    /// Makes versions of rows that have been changed in place: what they were before.
    fn supersede_changed(&mut self, changed: &[usize], snapshot: u64) {
        if changed.is_empty() {
            return;
        }
        let mut versions = vec![None; self.accesses.len()];
        for &position in changed {
            versions[position] = Some(self.make_version(position));
        }
        for write in self.log.writes().iter().rev() {
            if let Some(version) = versions[write.access as usize] {
                // SAFETY: the span was checked against the row; the version was made above, and is linked below.
                unsafe { version.put_back(write.span.offset, self.log.get(write.bytes)) };
            }
        }
        for (access, version) in self.accesses.iter().zip(versions) {
            if let Some(version) = version {
                self.lineage(*access).supersede(version, snapshot);
            }
        }
    }

    /// Buries the last version of a row that snapshots from `since` on do not show.
    fn bury(&mut self, position: usize, since: u64) {
        let access = self.accesses[position];
        // None: the row was inserted within this snapshot's epochs, and nobody is ever shown it.
        let Some(last) = self.lineage(access).previous() else { return };
        if self.snapshot_canary == Some(SnapshotCanary::NoBurial) {
            return;
        }
        let Access { table, partition, key, .. } = access;
        let spot = self.spot(self.place(self.table(table), key));
        let graveyard = self.graveyard(table, partition);
        let (nodes, heap) = self.allocations.for_graveyard(table, partition);
        nodes.refresh(self.epoch, self.epochs.reusable());
        // SAFETY: the key stays where it is meanwhile.
        let grave = unsafe { spot.with(|key| graveyard.bury(nodes, heap, key, since, last)) };
        self.allocations.versions.bury(since, Buried { table, partition, grave });
    }

    /// The transaction aborts, and has not undone anything yet: the versions that it has made stay.
    #[inline(always)]
    pub(super) fn leave_versions(&mut self) {
        if !self.made_versions.is_empty() {
            self.leave_all_versions();
        }
    }

    #[cold]
    fn leave_all_versions(&mut self) {
        for position in 0..self.accesses.len() {
            let Access { table, has_version, first_write, .. } = self.accesses[position];
            if has_version && first_write != NO_WRITE && self.table(table).varies() {
                self.copy_value_logged(first_write as usize);
            }
        }
        let snapshot = self.snapshot_of(self.epoch);
        self.hand_versions_over(snapshot);
    }

    /// What was made has been superseded for this snapshot.
    fn hand_versions_over(&mut self, snapshot: u64) {
        for superseded in self.made_versions.drain(..) {
            if superseded.has_value {
                self.allocations.values.hand_over();
            }
            self.allocations.versions.supersede(snapshot, superseded);
        }
    }

    /// Between transactions, within an epoch: frees what was unlinked when its epoch has passed, and versions that nobody needs any more.
    pub fn reclaim(&mut self) {
        let reclaimable = self.epochs.reusable();
        if !A::MIGRATES {
            AccessOf::<A>::unlink_tombs(self);
        }
        AccessOf::<A>::free_old_versions(self, reclaimable);
        self.allocations.reclaim(reclaimable);
        if self.keeps_versions && self.epochs.reclaims() {
            let early = self.snapshot_canary == Some(SnapshotCanary::EarlyReclamation);
            let needed = self.epochs.needed_snapshot() + u64::from(early);
            while let Some(Buried { table, partition, grave }) =
                self.allocations.versions.next_to_dig_up(needed)
            {
                let graveyard = self.graveyard(table, partition);
                let (nodes, _) = self.allocations.for_graveyard(table, partition);
                nodes.refresh(self.epoch, reclaimable);
                let (grave, tomb) = graveyard.dig_up(nodes, grave);
                for piece in [Some(grave), tomb].into_iter().flatten() {
                    self.allocations.versions.retire(self.epoch, piece);
                }
            }
            self.allocations.reclaim_versions(needed);
        }
    }
}
