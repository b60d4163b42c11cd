//! What rows were before they were overwritten or deleted, for older transactions, where a protocol keeps that: see
//! [`crate::protocol::Mvcc`] and [`crate::protocol::Hekaton`].
//!
//! A version is made when its transaction installs, of the row as it still is, and linked before the row changes. It has the word of a row
//! that varies in length and not its value: that is retired when the row is replaced, or its record unlinked, and freed no earlier than the
//! version.

use super::access_set::{Access, Kind, Token};
use super::{HeaderOf, MetaOf, ProtocolOf, Txn};
use crate::architecture::Architecture;
use crate::protocol::Versioning;
use crate::record::RecordRef;
use crate::versions::Version;
use crate::versions::cache::Superseded;
use contract::{Presence, Span};
use zerocopy::IntoBytes;

/// What a version says of itself: since which timestamp it is the row, and whether there is one.
const fn since(time: u64, presence: Presence) -> u64 {
    time << 1 | matches!(presence, Presence::Missing) as u64
}

/// What a timestamp finds.
pub(super) struct Found {
    pub presence: Presence,
    pub token: Token,
    /// `None`: the key had never had a row.
    version: Option<Version>,
}

impl Found {
    /// Shows bytes of it, which lie in the row, if it has one; while who has found it still reads at that timestamp.
    pub fn view(&self, span: Span, see: impl FnOnce(&[u8])) -> bool {
        let Some(version) = self.version.filter(|_| self.presence == Presence::Present) else { return false };
        // SAFETY: the span was checked against the row, and the version is not freed, as in `find_older`.
        unsafe { version.view(span, see) };
        true
    }
}

impl<A: Architecture<Protocol: Versioning>> Txn<'_, A> {
    /// The transaction commits, and nothing is installed yet: makes versions of the rows that it writes or deletes, in the order of the write set.
    pub(super) fn make_old_versions(&mut self) {
        for number in 0..self.write_set.len() {
            let access = self.accesses[self.write_set[number] as usize];
            if !matches!(access.kind, Kind::Write | Kind::Delete) {
                continue;
            }
            let Access { record, table, token, is_revived, .. } = access;
            let Token(time) = token.expect("a write was granted over a version");
            let (presence, row_bytes) = match is_revived {
                true => (Presence::Missing, 0),
                false => (Presence::Present, self.table(table).shape.row_bytes),
            };
            // SAFETY: it is what `to_bits` has answered.
            let previous = unsafe { Version::maybe(self.previous_of(record)) };
            let row = &mut self.scratch.as_mut_bytes()[..row_bytes];
            // SAFETY: the whole row, or nothing of it; nobody else writes it: the transaction's own write is pending.
            unsafe { record.row::<HeaderOf<A>>().copy_out_racing(0, row) };
            let version = self.allocations.versions.make(since(time, presence), previous, row);
            let row_bytes = row_bytes as u32;
            self.made_versions.push(Superseded { version, row_bytes, has_value: false });
        }
    }

    /// They have been replaced: may be freed once `at` has passed, an epoch, or a timestamp.
    pub(super) fn retire_old_versions(&mut self, at: u64) {
        for superseded in self.made_versions.drain(..) {
            self.allocations.versions.supersede(at, superseded);
        }
    }

    fn previous_of(&self, record: RecordRef) -> u64 {
        // SAFETY: any thread may look, by the contract of `Versioning`; the record lives as long as the tables.
        ProtocolOf::<A>::previous(unsafe { record.meta::<HeaderOf<A>, MetaOf<A>>() })
    }

    /// What a timestamp of the transaction's finds in a record whose row is younger, or is being overwritten by somebody younger.
    pub(super) fn find_older(&self, record: RecordRef, time: u64) -> Found {
        let latest = since(time, Presence::Missing);
        // SAFETY: it is what `to_bits` has answered. Each version that is come to was replaced by somebody younger than this transaction, which
        // runs: so the epoch in which that was has not passed, nor has the horizon, and the version was not freed (see the protocol).
        let version =
            unsafe { Version::maybe(self.previous_of(record)).and_then(|newest| newest.shown_by(latest)) };
        match version {
            None => Found { presence: Presence::Missing, token: Token(0), version },
            Some(found) => {
                // SAFETY: as above.
                let since = unsafe { found.since() };
                let presence = if since & 1 == 0 { Presence::Present } else { Presence::Missing };
                Found { presence, token: Token(since >> 1), version }
            }
        }
    }

    /// Copies the named bytes of an old version, which has a row, into the scratch buffer, if it is that of the token.
    pub(super) fn copy_older(&mut self, record: RecordRef, token: Token, span: Span) -> bool {
        let found = self.find_older(record, self.time().time());
        found.token == token && self.copy_found(&found, span)
    }

    /// Copies the named bytes of what was found into the scratch buffer, if it has a row.
    pub(super) fn copy_found(&mut self, found: &Found, span: Span) -> bool {
        let part = self.scratch_for(span);
        found.view(span, |bytes| part.copy_from_slice(bytes))
    }
}
