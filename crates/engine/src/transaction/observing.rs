//! Reading without locks: observe, copy, observe again.
//!
//! The copy is a seqlock's: racing 64-bit words between two looks at the metadata. It is kept only if both looks show
//! the same committed version, so no closure ever sees a torn row.

use super::access_set::{Kind, Token};
use super::write_log::Bytes;
use super::{MetaOf, Place, ProtocolOf, Txn};
use crate::architecture::Architecture;
use crate::facade::atomic::{Ordering, fence};
use crate::protocol::{Mode, Observation, Protocol};
use crate::storage::RecordRef;
use contract::{Abort, Span, TimeClass};
use zerocopy::IntoBytes;

/// Where a copy goes.
enum Into {
    Scratch,
    Log(Bytes),
}

impl<A: Architecture> Txn<'_, A> {
    /// Finds a key's record and its version, copying the named bytes into the scratch buffer. `None`: the key is
    /// missing, and commit will validate that.
    #[inline(always)]
    pub(super) fn observe_record(
        &mut self,
        place: Place,
        span: Option<Span>,
    ) -> Result<Option<(RecordRef, Token)>, Abort> {
        self.observe(place, span, Into::Scratch)
    }

    /// The same, into reserved bytes of the log.
    #[inline(always)]
    pub(super) fn observe_into_log(
        &mut self,
        place: Place,
        span: Span,
        bytes: Bytes,
    ) -> Result<Option<(RecordRef, Token)>, Abort> {
        self.observe(place, Some(span), Into::Log(bytes))
    }

    #[inline(always)]
    fn observe(
        &mut self,
        place: Place,
        span: Option<Span>,
        into: Into,
    ) -> Result<Option<(RecordRef, Token)>, Abort> {
        let mut asked = 0;
        loop {
            self.look_up_if_sampled(place);
            let index = &self.table(place.table).partition(place.partition).index;
            let Some(record) = index.find(place.hash, place.key) else {
                if self.find_gap(place).is_some() {
                    self.stopwatch.enter(TimeClass::Useful);
                    return Ok(None);
                }
                let token = ProtocolOf::<A>::observe_bucket(index.bucket(place.hash).meta::<MetaOf<A>>());
                self.add_gap(place, Mode::Shared, Token(token));
                continue;
            };
            let meta = record.meta::<MetaOf<A>>();
            match ProtocolOf::<A>::observe(meta) {
                Observation::Present(token) => {
                    self.stopwatch.enter(TimeClass::Useful);
                    if let Some(span) = span {
                        self.copy(record, span, &into);
                        // Acquire: the copy comes before the second look; pairs with the Release fence before an
                        // install, so that a copy of any of its words sees its lock.
                        fence(Ordering::Acquire);
                        if ProtocolOf::<A>::observe(meta) != Observation::Present(token) {
                            self.pause(asked);
                            asked += 1;
                            continue;
                        }
                    }
                    return Ok(Some((record, Token(token))));
                }
                Observation::Absent(token) => {
                    self.stopwatch.enter(TimeClass::Useful);
                    self.add(place, record, Kind::Absent, Some(Token(token)));
                    return Ok(None);
                }
                Observation::Locked | Observation::Unlinked => {
                    self.pause(asked);
                    asked += 1;
                }
            }
        }
    }

    #[inline(always)]
    fn copy(&mut self, record: RecordRef, span: Span, into: &Into) {
        let bytes = match into {
            Into::Scratch => &mut self.scratch.as_mut_bytes()[span.start() % 8..][..span.length()],
            Into::Log(bytes) => self.log.get_mut(*bytes),
        };
        // SAFETY: the span was checked against the row; rows are written by racing copies only under this protocol.
        unsafe { record.copy_out_racing(span.offset, bytes) };
    }

    /// Copies the named bytes of a record that was observed before into the scratch buffer, if it still carries the
    /// version seen then.
    pub(super) fn copy_again(&mut self, record: RecordRef, span: Span, seen: Token) -> bool {
        self.copy(record, span, &Into::Scratch);
        // Acquire: as in `observe`.
        fence(Ordering::Acquire);
        ProtocolOf::<A>::observe(record.meta::<MetaOf<A>>()) == Observation::Present(seen.0)
    }
}
