//! Asking records by the transaction's timestamp, and waiting as they answer; what they grant is copied by [`super::visible`].
//!
//! Look-up, miss and request are one step where the key lives. A miss leaves the timestamp in the gap and looks again: what is not found then
//! stays missing to this transaction, for no insert of somebody older is let in from there on.

use super::access::GapOf;
use super::access_set::{Kind, Token};
use super::visible::Heeded;
use super::{Place, ProtocolOf, RequesterOf, Txn};
use crate::architecture::{Architecture, SiteOf};
use crate::facade::atomic::{Ordering, fence};
use crate::index::ordered::LeafRef;
use crate::protocol::{Answer, Timestamping};
use crate::record::RecordRef;
use crate::timestamp::Halves;
use contract::{Abort, AbortReason, PartitionId, Presence, Span, TimeClass};

/// What is asked of a record.
#[derive(Clone, Copy)]
pub(super) enum Wish {
    Read,
    /// To write a row that is there, or is not.
    Write(Presence),
}

/// Asks a record.
#[inline(always)]
pub(super) fn ask<A: Architecture<Protocol: Timestamping>>(
    site: &SiteOf<'_, A>,
    record: RecordRef,
    wish: Wish,
    who: RequesterOf<A>,
) -> Answer {
    let meta = site.meta(record);
    match wish {
        Wish::Read => ProtocolOf::<A>::read(meta, who.stamp),
        Wish::Write(wanted) => ProtocolOf::<A>::write(meta, wanted, who.stamp),
    }
}

/// Before a look at what may be missing.
#[inline(always)]
pub(super) fn rely<A: Architecture<Protocol: Timestamping>>(gap: &GapOf<A>, by: Halves) {
    ProtocolOf::<A>::rely(gap, by);
    // SeqCst: the timestamp comes before the look; pairs with the fences of those who link, and then look at the timestamp.
    fence(Ordering::SeqCst);
}

impl<A: Architecture<Protocol: Timestamping>> Txn<'_, A> {
    /// One attempt to find a key's record and to ask it; the gap is asked if there is none.
    #[inline(always)]
    fn ask_by_hash(&mut self, place: Place<'_>, wish: Wish) -> (Option<RecordRef>, Answer) {
        let who = self.next_requester(place.partition);
        self.architecture.at(place.partition, move |site| {
            let index = place.table.partition(PartitionId(who.partition)).index.hashed();
            let mut has_relied = false;
            loop {
                if let Some(record) = index.find(place.hash, place.key) {
                    return (Some(record), ask::<A>(site, record, wish, who));
                }
                if has_relied {
                    return (None, Answer::Absent(0));
                }
                rely::<A>(site.bucket(index.bucket(place.hash)), who.stamp);
                has_relied = true;
            }
        })
    }

    /// The same in an ordered table.
    fn ask_in_order(&mut self, place: Place<'_>, wish: Wish) -> (Option<RecordRef>, Answer) {
        let (spot, who) = (self.spot(place), self.next_requester(place.partition));
        self.architecture.at(place.partition, move |site| {
            let mut relied_on = LeafRef::NONE;
            // SAFETY: the transaction waits for the answer.
            unsafe {
                spot.at::<A, _>(site, |index, key| {
                    loop {
                        let found = index.find(key);
                        if let Some(record) = found.record {
                            return (Some(record), ask::<A>(site, record, wish, who));
                        }
                        if relied_on == found.leaf {
                            return (None, Answer::Absent(0));
                        }
                        rely::<A>(site.leaf(index.leaf(found.leaf)), who.stamp);
                        relied_on = found.leaf;
                    }
                })
            }
        })
    }

    /// Finds a key's record and is granted what it asks for; the caller adds the entry. `None`: the key has no row, and the transaction relies
    /// on that.
    #[inline(always)]
    pub(super) fn be_granted(
        &mut self,
        place: Place<'_>,
        wish: Wish,
        asked: &mut u32,
    ) -> Result<Option<(RecordRef, Token)>, Abort> {
        loop {
            self.look_up_for_the_clock(place);
            let is_here = self.architecture.is_here(place.partition);
            if !is_here {
                self.stopwatch.enter(TimeClass::Wait);
            }
            let (found, answer) = match place.table.is_ordered() {
                true => self.ask_in_order(place, wish),
                false => self.ask_by_hash(place, wish),
            };
            if !is_here {
                self.stopwatch.enter(TimeClass::Manager);
            }
            let Some(record) = found else {
                self.stopwatch.enter(TimeClass::Useful);
                return Ok(None);
            };
            match self.heed_answer(record, answer, asked)? {
                Heeded::Again => {}
                Heeded::Granted(presence, token) => {
                    self.stopwatch.enter(TimeClass::Useful);
                    if presence == Presence::Missing {
                        self.add(place, record, Kind::Absent, Some(token));
                        return Ok(None);
                    }
                    return Ok(Some((record, token)));
                }
            }
        }
    }

    /// Finds a key's record and copies the named bytes of the row that the transaction reads into the scratch buffer.
    #[inline(always)]
    pub(super) fn read_by_time(
        &mut self,
        place: Place<'_>,
        span: Span,
    ) -> Result<Option<(RecordRef, Token)>, Abort> {
        let mut asked = 0;
        loop {
            let Some((record, token)) = self.be_granted(place, Wish::Read, &mut asked)? else {
                return Ok(None);
            };
            if self.copy_version(record, token, span) {
                return Ok(Some((record, token)));
            }
            self.pause(asked);
            asked += 1;
        }
    }

    /// Asks a record that was met under a key.
    pub(super) fn ask_met(&mut self, partition: PartitionId, record: RecordRef, wish: Wish) -> Answer {
        let who = self.next_requester(partition);
        self.architecture.at(partition, move |site| ask::<A>(site, record, wish, who))
    }

    /// The same, of an entry, until it answers something; what has been unlinked aborts the transaction.
    pub(super) fn ask_entry(&mut self, position: usize, wanted: Presence) -> Result<Token, Abort> {
        let super::Access { record, partition, .. } = self.accesses[position];
        let mut asked = 0;
        loop {
            let answer = self.ask_met(partition, record, Wish::Write(wanted));
            if answer == Answer::Unlinked {
                return Err(self.poison(AbortReason::Conflict));
            }
            match self.heed_answer(record, answer, &mut asked)? {
                Heeded::Granted(presence, token) if presence == wanted => return Ok(token),
                // What the transaction relies on no one else may change.
                Heeded::Granted(..) => return Err(self.poison(AbortReason::Conflict)),
                Heeded::Again => {}
            }
        }
    }
}
