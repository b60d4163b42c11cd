//! Versions made ahead, where writes go to private copies and are validated: the version of a row is made when the transaction comes to
//! write it, which holds nothing yet, and linked when it commits ([`super::versions`]).
//!
//! To make a version takes memory and copies a whole row, of which the transaction may have asked for a few bytes. Were it done at commit,
//! others would wait for the lines of all that.
//!
//! The copy is a racing one, between two looks at the metadata, as every read is ([`super::observing`]); what the row was before is
//! read between them, too. Once the record is locked, the version is used if the record still carries the token that was seen; then the row
//! is the one that was copied, and nobody changes it any more. If somebody has written the row meanwhile, which only
//! a blind writer survives, the version is given back, and another made under the lock if one is needed. Who aborts gives back all.
//!
//! What the transaction has read is no such copy: of a row that it changes it keeps the bytes that it names, and changes them.

use super::access::{Access as _, AccessOf};
use super::access_set::{Access, Token};
use super::{HeaderOf, Txn};
use crate::architecture::Architecture;
use crate::facade::atomic::{Ordering, fence};
use crate::protocol::Validating;
use crate::versions::cache::Superseded;
use contract::SnapshotCanary;
use zerocopy::IntoBytes;

/// A version that is not linked.
pub(super) struct Ahead {
    /// Of the record in the access set.
    position: u32,
    /// What the record carried when its row was copied.
    seen: Token,
    superseded: Superseded,
}

impl<A: Architecture<Protocol: Validating>> Txn<'_, A> {
    /// The transaction is going to write a row that it has seen with this token.
    #[inline(always)]
    pub(super) fn make_version_ahead(&mut self, position: usize, seen: Token) {
        if self.keeps_versions {
            self.make_version_if_older(position, seen);
        }
    }

    fn make_version_if_older(&mut self, position: usize, seen: Token) {
        let Access { record, table, .. } = self.accesses[position];
        let lineage = self.lineage(self.accesses[position]);
        let since = lineage.snapshot();
        if since >= self.snapshot_of(self.epoch) {
            return;
        }
        let previous = lineage.previous();
        let table = self.table(table);
        let row = &mut self.scratch.as_mut_bytes()[..table.shape.row_bytes];
        // SAFETY: the whole row; rows are written by racing copies only under this protocol.
        unsafe { record.row::<HeaderOf<A>>().copy_out_racing(0, row) };
        // Acquire: the copy comes before the second look; pairs with the Release fence before an install.
        fence(Ordering::Acquire);
        if !self.still_is(record, seen.0) {
            return;
        }
        let row = &self.scratch.as_bytes()[..table.shape.row_bytes];
        let version = self.allocations.versions.make(since, previous, row);
        let superseded = Superseded { version, row_bytes: row.len() as u32, has_value: table.varies() };
        self.ahead.push(Ahead { position: position as u32, seen, superseded });
    }
}

impl<A: Architecture> Txn<'_, A> {
    /// The transaction commits, and holds the records: links what was made ahead of rows that it writes for this snapshot, if they are
    /// still what they were.
    pub(super) fn link_versions_ahead(&mut self, snapshot: u64) {
        while let Some(Ahead { position, seen, superseded }) = self.ahead.pop() {
            let access = self.accesses[position as usize];
            let is_blind = self.snapshot_canary == Some(SnapshotCanary::StaleVersion);
            if is_blind || AccessOf::<A>::still_carries(self, access.record, seen) {
                self.accesses[position as usize].has_version = true;
                self.lineage(access).supersede(superseded.version, snapshot);
                self.made_versions.push(superseded);
            } else {
                self.allocations.versions.unmake(superseded);
            }
        }
    }

    /// The transaction aborts: nobody has seen what was made ahead.
    #[inline(always)]
    pub(super) fn unmake_versions_ahead(&mut self) {
        if !self.ahead.is_empty() {
            self.unmake_all_ahead();
        }
    }

    #[cold]
    fn unmake_all_ahead(&mut self) {
        for ahead in self.ahead.drain(..) {
            self.allocations.versions.unmake(ahead.superseded);
        }
    }
}
