//! Operations on keys that the transaction has touched before.
//!
//! A transaction sees its own writes, inserts and deletes. Where it writes in place, or inserted the record, that is
//! where the row is. Where it writes private copies, its row is the committed one with its own writes applied in order
//! ([`Txn::compose`]); blind changes among them are applied to a copy, and again at install.

use super::access_set::{Kind, Token};
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
                self.compose(position)?;
                see(&self.scratch.as_bytes()[span.start()..span.end()]);
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
            self.compose(position)?;
            let bytes = self.reserve_copy(span);
            self.log.get_mut(bytes).copy_from_slice(&self.scratch.as_bytes()[span.start()..span.end()]);
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

    /// Makes an entry one that may be written, raising its lock if need be.
    pub(super) fn make_writable(&mut self, position: usize) -> Result<Presence, Abort> {
        match self.accesses[position].kind {
            Kind::Delete | Kind::Vanished | Kind::Absent => Ok(Presence::Missing),
            Kind::Write | Kind::Insert => Ok(Presence::Present),
            Kind::Read => {
                if ProtocolOf::<A>::WRITES != Writes::AtCommit {
                    self.raise(position)?;
                }
                self.accesses[position].kind = Kind::Write;
                self.write_set.push(position as u32);
                Ok(Presence::Present)
            }
        }
    }

    /// Builds this transaction's version of a row that it writes privately, whole, in the scratch buffer.
    fn compose(&mut self, position: usize) -> Result<(), Abort> {
        let access = self.accesses[position];
        let whole = Span::whole(self.table(access.table).shape.row_bytes);
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
                Some(seen) if self.copy_again(access.record, whole, seen) => {
                    self.accesses[position].token = Some(seen);
                }
                _ => return Err(self.poison(AbortReason::ReadValidation)),
            }
        } else {
            let row = &mut self.scratch.as_mut_bytes()[..whole.length()];
            // SAFETY: the whole row; the record is held against writers.
            unsafe { access.record.copy_out(0, row) };
        }
        for number in 0..self.log.writes().len() {
            let write = self.log.writes()[number];
            if write.access as usize == position {
                self.overlay(write);
            }
        }
        Ok(())
    }

    fn overlay(&mut self, write: Write) {
        let part = &mut self.scratch.as_mut_bytes()[write.span.start()..write.span.end()];
        match write.merge {
            None => part.copy_from_slice(self.log.get(write.bytes)),
            Some(merge) => {
                // The real argument is for install.
                let mut argument = self.log.get(write.bytes).to_vec();
                merge(part, &mut argument);
            }
        }
    }
}
