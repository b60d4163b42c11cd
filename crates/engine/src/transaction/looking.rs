//! Looking at records by the transaction's timestamp, and asking them when it commits: see [`crate::protocol::Cicada`].
//!
//! A look is taken from the transaction's own thread, wherever the record's partition is, and so is the look-up. What has no row is asked
//! for at once, where it lives: see [`super::timestamping`].
//!
//! A row is copied between two looks (a seqlock). Who is shown an old version has it for good.

use super::access_set::{Access, Kind, Token};
use super::old_versions::Found;
use super::timestamping::Wish;
use super::visible::Heeded;
use super::write_log::Bytes;
use super::{HeaderOf, MetaOf, Place, ProtocolOf, Txn};
use crate::architecture::Architecture;
use crate::facade::atomic::{Ordering, fence};
use crate::horizon::Horizon;
use crate::protocol::{Answer, Looking, Timestamping, Versioning};
use crate::record::RecordRef;
use contract::{Abort, AbortReason, Presence, Span, TimeClass};
use std::cmp::Reverse;

/// What came of a look at a record, and a copy.
pub(super) enum Seen {
    /// A row, of this version, which was copied.
    Row(Token),
    /// The key had no row at the transaction's time, whatever happens.
    Never(Token),
    /// The key has no row now.
    NoRow,
    /// No longer linked under its key.
    Unlinked,
    /// Look again.
    Again,
}

impl<A: Architecture<Protocol: Looking>> Txn<'_, A> {
    /// Below whom nobody runs.
    #[inline(always)]
    pub(super) fn horizon(&self) -> &Horizon {
        ProtocolOf::<A>::horizon::<A::Physical>(self.architecture.site().common)
    }

    #[inline(always)]
    fn meta_in_sight(&self, record: RecordRef) -> &MetaOf<A> {
        // SAFETY: any thread may look, by the contract of `Versioning`; the record lives as long as the tables.
        unsafe { record.meta::<HeaderOf<A>, MetaOf<A>>() }
    }

    /// What a record looks like to the transaction's timestamp.
    #[inline(always)]
    pub(super) fn look_by_time(&self, record: RecordRef) -> Answer {
        ProtocolOf::<A>::look(self.meta_in_sight(record), self.time().time())
    }

    #[inline(always)]
    fn still_shows(&self, record: RecordRef, token: u64) -> bool {
        // Acquire: a copy comes before the look; pairs with the Release fence before an install, so that a copy of any of its words sees
        // its lock.
        fence(Ordering::Acquire);
        ProtocolOf::<A>::still_is(self.meta_in_sight(record), token)
    }

    /// Copies the named bytes of a row into the scratch buffer, if it is that of the token.
    #[inline(always)]
    fn copy_shown(&mut self, record: RecordRef, token: Token, span: Span) -> bool {
        // SAFETY: the span was checked against the row; rows are written by racing copies only under this protocol.
        unsafe { record.row::<HeaderOf<A>>().copy_out_racing(span.offset, self.scratch_for(span)) };
        self.still_shows(record, token.0)
    }

    /// Sees what the transaction's timestamp is shown of a record, copying the named bytes into the scratch buffer.
    #[inline(always)]
    pub(super) fn see(&mut self, record: RecordRef, span: Span) -> Seen {
        match self.look_by_time(record) {
            Answer::Present(token) => {
                self.stopwatch.enter(TimeClass::Useful);
                let token = Token(token);
                if self.copy_shown(record, token, span) { Seen::Row(token) } else { Seen::Again }
            }
            Answer::Older => self.see_older(record, span),
            Answer::Absent(_) => Seen::NoRow,
            Answer::Unlinked => Seen::Unlinked,
            Answer::Wait => Seen::Again,
            Answer::Abort(_) => unreachable!("a look asks for nothing"),
        }
    }

    fn see_older(&mut self, record: RecordRef, span: Span) -> Seen {
        let found = self.find_older(record, self.time().time());
        if self.copy_found(&found, span) { Seen::Row(found.token) } else { Seen::Never(found.token) }
    }

    /// Finds a key's record, and copies the named bytes of the row that the transaction's timestamp is shown into the scratch buffer. `None`:
    /// there is none, and the transaction relies on that.
    #[inline(always)]
    pub(super) fn see_key(
        &mut self,
        place: Place<'_>,
        span: Span,
    ) -> Result<Option<(RecordRef, Token)>, Abort> {
        let mut asked = 0;
        loop {
            if let (Some(record), _) = self.look_up_timed(place) {
                match self.see(record, span) {
                    Seen::Row(token) => {
                        self.stopwatch.enter(TimeClass::Useful);
                        return Ok(Some((record, token)));
                    }
                    Seen::Never(token) => return Ok(self.has_never_been(place, record, token)),
                    Seen::NoRow => {}
                    Seen::Unlinked | Seen::Again => {
                        self.pause(asked);
                        asked += 1;
                        continue;
                    }
                }
            }
            if self.be_granted(place, Wish::Read, &mut asked)?.is_none() {
                return Ok(None);
            }
            // It has come meanwhile.
        }
    }

    /// Finds a key's record, whose row the transaction will write, and copies bytes of it into the log, if it asks for some. `None`: there is no
    /// row, and the transaction relies on that.
    #[inline(always)]
    pub(super) fn see_to_write(
        &mut self,
        place: Place<'_>,
        wanted: Option<(Span, Bytes)>,
    ) -> Result<Option<(RecordRef, Token)>, Abort> {
        let mut asked = 0;
        loop {
            if let (Some(record), _) = self.look_up_timed(place) {
                match self.look_by_time(record) {
                    Answer::Present(token) => {
                        if ProtocolOf::<A>::was_read_after(self.meta_in_sight(record), self.time().time()) {
                            return Err(self.poison(AbortReason::Conflict));
                        }
                        if let Some((span, bytes)) = wanted {
                            self.copy_own_into_log(record, span, bytes);
                        }
                        if wanted.is_none() || self.still_shows(record, token) {
                            self.stopwatch.enter(TimeClass::Useful);
                            return Ok(Some((record, Token(token))));
                        }
                    }
                    Answer::Older => {
                        let Found { presence, token, .. } = self.find_older(record, self.time().time());
                        return match presence {
                            // Somebody younger has overwritten it, or is about to.
                            Presence::Present => Err(self.poison(AbortReason::Conflict)),
                            Presence::Missing => Ok(self.has_never_been(place, record, token)),
                        };
                    }
                    Answer::Absent(_) => {
                        if self.be_granted(place, Wish::Read, &mut asked)?.is_none() {
                            return Ok(None);
                        }
                    }
                    Answer::Wait | Answer::Unlinked => {}
                    Answer::Abort(_) => unreachable!("a look asks for nothing"),
                }
                self.pause(asked);
                asked += 1;
            } else if self.be_granted(place, Wish::Read, &mut asked)?.is_none() {
                return Ok(None);
            }
        }
    }

    /// An entry for a key that has no row at the transaction's time, whatever happens.
    fn has_never_been<R>(&mut self, place: Place<'_>, record: RecordRef, token: Token) -> Option<R> {
        self.stopwatch.enter(TimeClass::Useful);
        self.add(place, record, Kind::Absent, Some(token));
        None
    }

    /// Shows a row that a scan has met, or relies on there being none: `None`.
    pub(super) fn see_met(
        &mut self,
        place: Place<'_>,
        record: RecordRef,
        span: Span,
    ) -> Result<Option<Token>, Abort> {
        let mut asked = 0;
        loop {
            match self.see(record, span) {
                Seen::Row(token) => return Ok(Some(token)),
                Seen::Never(token) => return Ok(self.has_never_been(place, record, token)),
                // Its key is missing, and nobody older inserts it again: the scan has left its timestamp in the leaf.
                Seen::Unlinked => return Ok(None),
                Seen::NoRow => {
                    let answer = self.ask_met(place.partition, record, Wish::Read);
                    if answer == Answer::Unlinked {
                        return Ok(None);
                    }
                    if let Heeded::Granted(Presence::Missing, token) =
                        self.heed_answer(record, answer, &mut asked)?
                    {
                        return Ok(self.has_never_been(place, record, token));
                    }
                }
                Seen::Again => {
                    self.pause(asked);
                    asked += 1;
                }
            }
        }
    }

    /// Copies the named bytes of the version that a read has seen into the scratch buffer, if it is still shown.
    pub(super) fn see_again(&mut self, record: RecordRef, seen: Token, span: Span) -> bool {
        self.copy_shown(record, seen, span)
            || self.look_by_time(record) == Answer::Older && self.copy_older(record, seen, span)
    }

    /// Copies a part of the committed row that the transaction writes into the scratch buffer. A blind writer that now reads depends on its
    /// version from here on.
    pub(super) fn see_overwritten(&mut self, position: usize, part: Span) -> Result<(), Abort> {
        let Access { record, token, is_revived, .. } = self.accesses[position];
        if is_revived {
            // There is no row, and the first write is the whole one.
            self.scratch_for(part).fill(0);
            return Ok(());
        }
        let seen = match (token, self.look_by_time(record)) {
            (Some(seen), _) => Some(seen),
            (None, Answer::Present(token)) => Some(Token(token)),
            (None, _) => None,
        };
        match seen {
            Some(seen) if self.copy_shown(record, seen, part) => {
                self.accesses[position].token = Some(seen);
                Ok(())
            }
            _ => Err(self.poison(AbortReason::ReadValidation)),
        }
    }

    /// Phase 1 of commit: makes pending what the transaction writes, the most contended first.
    #[inline(always)]
    pub(super) fn ask_for_write_set(&mut self) -> Result<(), Abort> {
        if self.write_set.len() > 1 {
            let accesses = &self.accesses;
            // A version that was written lately will be written soon.
            let written_at = |position: u32| accesses[position as usize].token.map(|Token(time)| time);
            self.write_set.sort_unstable_by_key(|&position| Reverse(written_at(position)));
        }
        for number in 0..self.write_set.len() {
            let position = self.write_set[number] as usize;
            let Access { kind, token, is_revived, .. } = self.accesses[position];
            if matches!(kind, Kind::Write | Kind::Delete) {
                let wanted = if is_revived { Presence::Missing } else { Presence::Present };
                let overwritten = self.ask_entry(position, wanted)?;
                self.stopwatch.holds_something();
                self.accesses[position].token = Some(overwritten);
                self.prepared = number + 1;
                if token.is_some_and(|seen| seen != overwritten) {
                    return Err(self.poison(AbortReason::ReadValidation));
                }
            }
            self.prepared = number + 1;
        }
        Ok(())
    }

    /// Phase 2: makes sure that what was read is what the transaction's timestamp is shown, for ever.
    #[inline(always)]
    pub(super) fn ask_for_read_set(&mut self) -> Result<(), Abort> {
        for position in 0..self.accesses.len() {
            if self.accesses[position].kind == Kind::Read && !self.ask_for_read(position) {
                return Err(self.poison(AbortReason::ReadValidation));
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn ask_for_read(&mut self, position: usize) -> bool {
        let Access { record, partition, token, .. } = self.accesses[position];
        let seen = token.expect("a read has a token");
        let mut asked = 0;
        loop {
            match self.ask_met(partition, record, Wish::Read) {
                Answer::Present(token) => return Token(token) == seen,
                Answer::Older => {
                    let Found { presence, token, .. } = self.find_older(record, self.time().time());
                    return presence == Presence::Present && token == seen;
                }
                Answer::Wait => {
                    self.pause(asked);
                    asked += 1;
                }
                Answer::Absent(_) | Answer::Unlinked | Answer::Abort(_) => return false,
            }
        }
    }

    /// Takes back what the transaction has made pending.
    pub(super) fn withdraw_write_set(&mut self) {
        for number in 0..std::mem::take(&mut self.prepared) {
            let Access { record, partition, kind, .. } = self.accesses[self.write_set[number] as usize];
            if matches!(kind, Kind::Write | Kind::Delete) {
                self.architecture.post(partition, move |site| ProtocolOf::<A>::withdraw(site.meta(record)));
            }
        }
    }

    /// Shows bytes of a record's row as it was at the timestamp at which the slot reads the past; whether it had one.
    pub(super) fn show_past(&mut self, record: RecordRef, span: Span, see: &mut dyn FnMut(&[u8])) -> bool {
        let mut asked = 0;
        loop {
            match ProtocolOf::<A>::look(self.meta_in_sight(record), self.snapshot) {
                Answer::Present(token) => {
                    if self.copy_shown(record, Token(token), span) {
                        see(self.copied(span));
                        return true;
                    }
                }
                Answer::Older => {
                    return self.find_older(record, self.snapshot).view(span, |row| see(row));
                }
                // If it is unlinked, nobody who was older has left it there.
                Answer::Absent(_) | Answer::Unlinked => return false,
                // Somebody is about to tell whose write is pending, who is younger.
                Answer::Wait => {
                    self.pause(asked);
                    asked += 1;
                }
                Answer::Abort(_) => unreachable!("a look asks for nothing"),
            }
        }
    }
}
