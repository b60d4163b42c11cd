//! Operations on keys that the transaction has touched before.
//!
//! A transaction sees its own writes, inserts and deletes. Where it writes in place, or inserted the record, that is
//! where the row is. Where it writes private copies, its row is the committed one with its own writes applied in order
//! ([`Txn::compose`]), of which as much is built as is asked for; blind changes among them are applied to a copy, and again at
//! commit.

use super::access_set::{Access, Kind, Token};
use super::write_log::Write;
use super::{Blind, MetaOf, ProtocolOf, Txn};
use crate::architecture::Architecture;
use crate::protocol::{Observation, Protocol, Reads, Writes};
use contract::{Abort, AbortReason, Presence, Span};
use zerocopy::IntoBytes;

impl<A: Architecture> Txn<'_, A> {
    /// Whether the record's bytes are this transaction's own version.
    fn is_in_place(&self, position: usize) -> bool {
        self.accesses[position].kind == Kind::Insert || ProtocolOf::<A>::WRITES == Writes::InPlace
    }

    pub(super) fn read_own(
        &mut self,
        position: usize,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        let access = self.accesses[position];
        match access.kind {
            Kind::Delete | Kind::Vanished | Kind::Absent => return Ok(Presence::Missing),
            Kind::Read if ProtocolOf::<A>::READS == Reads::Validated => {
                let seen = access.token.expect("a read has a token");
                if !self.copy_again(access.record, span, seen) {
                    return Err(self.poison(AbortReason::ReadValidation));
                }
                see(&self.scratch.as_bytes()[span.start() % 8..][..span.length()]);
            }
            // SAFETY: the span was checked against the row; the record is held, or the transaction's own insert.
            Kind::Read | Kind::Insert => unsafe { access.record.view(span, see) },
            // SAFETY: as above.
            Kind::Write if self.is_in_place(position) => unsafe { access.record.view(span, see) },
            Kind::Write => {
                let at = self.compose(position, span)?;
                see(&self.scratch.as_bytes()[at..at + span.length()]);
            }
        }
        Ok(Presence::Present)
    }

    pub(super) fn update_own(
        &mut self,
        position: usize,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<Presence, Abort> {
        if self.make_writable(position)? == Presence::Missing {
            return Ok(Presence::Missing);
        }
        if self.accesses[position].kind == Kind::Insert {
            self.change_in_place(position, span, change);
        } else if self.is_in_place(position) {
            self.save(position, span);
            self.change_in_place(position, span, change);
        } else {
            let at = self.compose(position, span)?;
            let bytes = self.reserve_copy(span);
            self.log.get_mut(bytes).copy_from_slice(&self.scratch.as_bytes()[at..at + span.length()]);
            self.change_copy(position, span, bytes, change);
        }
        Ok(Presence::Present)
    }

    pub(super) fn blind_own(
        &mut self,
        position: usize,
        span: Span,
        blind: Blind<'_>,
    ) -> Result<Presence, Abort> {
        if self.make_writable(position)? == Presence::Missing {
            return Ok(Presence::Missing);
        }
        if self.accesses[position].kind == Kind::Insert {
            self.apply_in_place(position, span, blind);
        } else if self.is_in_place(position) {
            self.save(position, span);
            self.apply_in_place(position, span, blind);
        } else {
            self.log_blind(position, span, blind);
        }
        Ok(Presence::Present)
    }

    /// Makes an entry one that may be written, upgrading its lock if need be.
    pub(super) fn make_writable(&mut self, position: usize) -> Result<Presence, Abort> {
        match self.accesses[position].kind {
            Kind::Delete | Kind::Vanished | Kind::Absent => Ok(Presence::Missing),
            Kind::Write | Kind::Insert => Ok(Presence::Present),
            Kind::Read => {
                if ProtocolOf::<A>::WRITES != Writes::AtCommit {
                    self.upgrade(position)?;
                }
                self.accesses[position].kind = Kind::Write;
                self.write_set.push(position as u32);
                Ok(Presence::Present)
            }
        }
    }

    /// Builds this transaction's version of a part of a row that it writes privately, in the scratch buffer; answers where
    /// in it the part begins.
    fn compose(&mut self, position: usize, span: Span) -> Result<usize, Abort> {
        let access = self.accesses[position];
        let built = self.to_build(access, position, span);
        if ProtocolOf::<A>::READS == Reads::Validated {
            // A blind writer that now reads depends on the version from here on.
            let token = match access.token {
                Some(token) => Some(token),
                None => match ProtocolOf::<A>::observe(access.record.meta::<MetaOf<A>>()) {
                    Observation::Present(token) => Some(Token(token)),
                    _ => None,
                },
            };
            match token {
                Some(seen) if self.copy_again(access.record, built, seen) => {
                    self.accesses[position].token = Some(seen);
                }
                _ => return Err(self.poison(AbortReason::ReadValidation)),
            }
        } else {
            let part = &mut self.scratch.as_mut_bytes()[built.start() % 8..][..built.length()];
            // SAFETY: a part of the row; the record is held against writers.
            unsafe { access.record.copy_out(built.offset, part) };
        }
        for number in self.first_write_of(access)..self.log.writes().len() {
            let write = self.log.writes()[number];
            if write.access as usize == position && write.span.overlaps(built) {
                self.overlay(write, built);
            }
        }
        Ok(built.start() % 8 + span.start() - built.start())
    }

    /// What has to be built of a row to see a part of it: that, or if a merge has changed some of it, and must see all of
    /// what it changed, the whole row.
    fn to_build(&self, access: Access, position: usize, span: Span) -> Span {
        let writes = &self.log.writes()[self.first_write_of(access)..];
        let is_in_the_way = |write: &Write| {
            write.access as usize == position && write.merge.is_some() && write.span.overlaps(span)
        };
        match writes.iter().any(is_in_the_way) {
            true => Span::whole(self.table(access.table).shape.row_bytes),
            false => span,
        }
    }

    /// Where its writes begin in the log, or the log's end.
    fn first_write_of(&self, access: Access) -> usize {
        (access.first_write as usize).min(self.log.writes().len())
    }

    /// Applies a write to what is built of its row.
    pub(super) fn overlay(&mut self, write: Write, built: Span) {
        let (start, end) = (write.span.start().max(built.start()), write.span.end().min(built.end()));
        let at = built.start() % 8 + start - built.start();
        let part = &mut self.scratch.as_mut_bytes()[at..at + end - start];
        let bytes = self.log.get(write.bytes);
        match write.merge {
            None => part.copy_from_slice(&bytes[start - write.span.start()..][..end - start]),
            Some(merge) => {
                // The real argument is for commit.
                let mut argument = bytes.to_vec();
                merge(part, &mut argument);
            }
        }
    }
}
