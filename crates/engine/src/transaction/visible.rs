//! What a timestamp finds: heeding a record's answer, and copying the version that it grants.
//!
//! A row is copied from the transaction's own thread, between the answer and another look at the record (a seqlock): a younger write may be
//! installed meanwhile, and then the version that was kept of the row is what was granted. A row that the transaction will write nobody
//! else changes.

use super::access_set::Token;
use super::old_versions::Found;
use super::write_log::Bytes;
use super::{HeaderOf, MetaOf, ProtocolOf, Txn};
use crate::architecture::Architecture;
use crate::facade::atomic::{Ordering, fence};
use crate::protocol::{Answer, SlotState, Versioning};
use crate::record::RecordRef;
use crate::timestamp::Halves;
use contract::{Abort, Presence, Span};
use zerocopy::IntoBytes;

/// What a transaction makes of an answer.
pub(super) enum Heeded {
    /// A version, with or without a row.
    Granted(Presence, Token),
    /// Ask again, from the look-up on.
    Again,
}

impl<A: Architecture<Protocol: Versioning>> Txn<'_, A> {
    /// Does what an answer says.
    #[inline(always)]
    pub(super) fn heed_answer(
        &mut self,
        record: RecordRef,
        answer: Answer,
        asked: &mut u32,
    ) -> Result<Heeded, Abort> {
        match answer {
            Answer::Older => {
                let Found { presence, token, .. } = self.find_older(record, self.time().time());
                Ok(Heeded::Granted(presence, token))
            }
            Answer::Present(token) => Ok(Heeded::Granted(Presence::Present, Token(token))),
            Answer::Absent(token) => Ok(Heeded::Granted(Presence::Missing, Token(token))),
            Answer::Wait | Answer::Unlinked => {
                self.pause(*asked);
                *asked += 1;
                Ok(Heeded::Again)
            }
            Answer::Abort(reason) => Err(self.poison(reason)),
        }
    }

    /// Copies the named bytes of a version into the scratch buffer, if it still is there, or was kept.
    #[inline(always)]
    pub(super) fn copy_version(&mut self, record: RecordRef, token: Token, span: Span) -> bool {
        // SAFETY: the span was checked against the row; rows are written by racing copies only under this protocol.
        unsafe { record.row::<HeaderOf<A>>().copy_out_racing(span.offset, self.scratch_for(span)) };
        // Acquire: the copy comes before the look; pairs with the Release fence before an install, so that a copy of any of its words
        // sees its lock.
        fence(Ordering::Acquire);
        // SAFETY: any thread may look, by the contract of `Versioning`; the record lives as long as the tables.
        ProtocolOf::<A>::still_is(unsafe { record.meta::<HeaderOf<A>, MetaOf<A>>() }, token.0)
            || ProtocolOf::<A>::KEEPS_VERSIONS && self.copy_older(record, token, span)
    }

    /// Copies the named bytes of a row that the transaction will write into the log.
    #[inline(always)]
    pub(super) fn copy_own_into_log(&mut self, record: RecordRef, span: Span, bytes: Bytes) {
        // SAFETY: the span was checked against the row, which nobody else writes.
        unsafe { record.row::<HeaderOf<A>>().copy_out_racing(span.offset, self.log.get_mut(bytes)) };
    }

    /// The transaction's timestamp.
    #[inline(always)]
    pub(super) fn time(&self) -> Halves {
        self.state.stamp()
    }

    /// What a read has copied.
    #[inline(always)]
    pub(super) fn copied(&self, span: Span) -> &[u8] {
        &self.scratch.as_bytes()[span.start() % 8..][..span.length()]
    }
}

/// Copies a part of the committed row of a record that the transaction will write into the scratch buffer.
pub(super) fn copy_own<A: Architecture>(
    txn: &mut Txn<'_, A>,
    position: usize,
    part: Span,
) -> Result<(), Abort> {
    let record = txn.accesses[position].record;
    // SAFETY: a part of the row, which nobody else writes: the transaction's own write is pending.
    unsafe { record.row::<HeaderOf<A>>().copy_out_racing(part.offset, txn.scratch_for(part)) };
    Ok(())
}
