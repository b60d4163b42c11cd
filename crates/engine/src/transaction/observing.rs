//! Reading without locks: observe, copy, observe again.
//!
//! The copy is a seqlock's: racing 64-bit words between two looks at the metadata. It is kept only if both looks show
//! the same committed version, so no closure ever sees a torn row.

use super::access::{Access as _, AccessOf};
use super::access_set::{Kind, Token};
use super::copies::part_of;
use super::gaps::GapPlace;
use super::write_log::Bytes;
use super::{HeaderOf, Place, ProtocolOf, Txn};
use crate::architecture::Architecture;
use crate::facade::atomic::{Ordering, fence};
use crate::protocol::{GapMode, Mode, Observation, Validating};
use crate::record::RecordRef;
use contract::{Abort, AbortReason, Span, TimeClass};

/// Where a copy goes.
enum Into {
    Scratch,
    Log(Bytes),
    /// And the other bytes into the scratch buffer.
    LogAndScratch(Bytes, Span),
}

impl<A: Architecture<Protocol: Validating>> Txn<'_, A> {
    /// Finds a key's record and its version, copying the named bytes into the scratch buffer, to read them. `None`: the key is
    /// missing, and commit will validate that.
    #[inline(always)]
    pub(super) fn observe_record(
        &mut self,
        place: Place<'_>,
        span: Span,
    ) -> Result<Option<(RecordRef, Token)>, Abort> {
        self.observe(place, Some(span), Into::Scratch, Some(Mode::Shared))
    }

    /// The same without a look at the row.
    #[inline(always)]
    pub(super) fn observe_version(&mut self, place: Place<'_>) -> Result<Option<(RecordRef, Token)>, Abort> {
        self.observe(place, None, Into::Scratch, None)
    }

    /// The same, into reserved bytes of the log, to read and write them.
    #[inline(always)]
    pub(super) fn observe_into_log(
        &mut self,
        place: Place<'_>,
        span: Span,
        bytes: Bytes,
    ) -> Result<Option<(RecordRef, Token)>, Abort> {
        self.observe(place, Some(span), Into::Log(bytes), Some(Mode::Exclusive))
    }

    /// The same, and other bytes into the scratch buffer, to read them.
    #[inline(always)]
    pub(super) fn observe_into_log_seeing(
        &mut self,
        place: Place<'_>,
        span: Span,
        bytes: Bytes,
        shown: Span,
    ) -> Result<Option<(RecordRef, Token)>, Abort> {
        self.observe(place, Some(span), Into::LogAndScratch(bytes, shown), Some(Mode::Exclusive))
    }

    #[inline(always)]
    fn observe(
        &mut self,
        place: Place<'_>,
        span: Option<Span>,
        into: Into,
        mode: Option<Mode>,
    ) -> Result<Option<(RecordRef, Token)>, Abort> {
        let mut asked = 0;
        loop {
            let (found, gap) = self.look_up_timed(place);
            let Some(record) = found else {
                let gap = place.gap(gap);
                if self.find_gap(gap).is_some() {
                    self.stopwatch.enter(TimeClass::Useful);
                    return Ok(None);
                }
                self.observe_gap(gap);
                continue;
            };
            if let Some(mode) = mode
                && !AccessOf::<A>::protect(self, place, record, mode, asked)?
            {
                asked += 1;
                continue;
            }
            match self.observe_once(record, span, &into) {
                Observation::Present(token) => return Ok(Some((record, Token(token)))),
                Observation::Absent(token) => {
                    self.stopwatch.enter(TimeClass::Useful);
                    self.add(place, record, Kind::Absent, Some(Token(token)));
                    return Ok(None);
                }
                Observation::Locked if !self.readers_wait => return Err(self.poison(AbortReason::Conflict)),
                Observation::Locked | Observation::Unlinked => {
                    AccessOf::<A>::before_waiting(self, place);
                    self.pause(asked);
                    asked += 1;
                }
            }
        }
    }

    /// One attempt to see a record, copying the named bytes.
    #[inline(always)]
    fn observe_once(&mut self, record: RecordRef, span: Option<Span>, into: &Into) -> Observation {
        let observation = self.look(record);
        if let Observation::Present(token) = observation {
            self.stopwatch.enter(TimeClass::Useful);
            if let Some(span) = span {
                self.copy(record, span, into);
                // Acquire: the copy comes before the second look; pairs with the Release fence before an install, so
                // that a copy of any of its words sees its lock.
                fence(Ordering::Acquire);
                if !self.still_is(record, token) {
                    return Observation::Locked;
                }
            }
        }
        observation
    }

    /// Sees a record that a scan has met, copying the named bytes into the scratch buffer. `None`: it has no row.
    pub(super) fn observe_met(
        &mut self,
        place: Place<'_>,
        record: RecordRef,
        span: Span,
    ) -> Result<Option<Token>, Abort> {
        let mut asked = 0;
        loop {
            if !AccessOf::<A>::protect(self, place, record, Mode::Shared, asked)? {
                asked += 1;
                continue;
            }
            match self.observe_once(record, Some(span), &Into::Scratch) {
                Observation::Present(token) => return Ok(Some(Token(token))),
                Observation::Absent(token) => {
                    self.add(place, record, Kind::Absent, Some(Token(token)));
                    return Ok(None);
                }
                // Its key is missing, and if it is linked again, the leaf's token tells.
                Observation::Unlinked => return Ok(None),
                Observation::Locked if !self.readers_wait => return Err(self.poison(AbortReason::Conflict)),
                Observation::Locked => {
                    AccessOf::<A>::before_waiting(self, place);
                    self.pause(asked);
                    asked += 1;
                }
            }
        }
    }

    /// Adds a gap with the token that it has now. What is looked up from here on, commit will validate.
    pub(super) fn observe_gap(&mut self, place: GapPlace) {
        let GapPlace { table, partition, id } = place;
        let token = ProtocolOf::<A>::observe_gap(self.watched_gap(table, partition, id));
        self.add_gap(place, GapMode::Shared, Token(token));
    }

    #[inline(always)]
    fn copy(&mut self, record: RecordRef, span: Span, into: &Into) {
        let copy = |span: Span, bytes: &mut [u8]| {
            // SAFETY: the span was checked against the row; rows are written by racing copies only under this protocol.
            unsafe { record.row::<HeaderOf<A>>().copy_out_racing(span.offset, bytes) };
        };
        match *into {
            Into::Scratch => copy(span, part_of(&mut self.scratch, span)),
            Into::Log(bytes) => copy(span, self.log.get_mut(bytes)),
            Into::LogAndScratch(bytes, shown) => {
                copy(span, self.log.get_mut(bytes));
                copy(shown, part_of(&mut self.scratch, shown));
            }
        }
    }

    /// Copies the named bytes of a record that was observed before into the scratch buffer, if it still carries the
    /// version seen then.
    pub(super) fn copy_again(&mut self, record: RecordRef, span: Span, seen: Token) -> bool {
        self.copy(record, span, &Into::Scratch);
        // Acquire: as in `observe`.
        fence(Ordering::Acquire);
        self.still_is(record, seen.0)
    }

    /// Whether a record still carries the version that `token` names.
    #[inline(always)]
    pub(super) fn still_is(&self, record: RecordRef, token: u64) -> bool {
        matches!(self.look(record), Observation::Present(now) if ProtocolOf::<A>::is_same(now, token))
    }
}
