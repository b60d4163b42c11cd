//! Operations on keys that the transaction has touched before.
//!
//! A transaction sees its own writes, inserts and deletes. A record that it inserted it changes in place: nobody else sees it.

use super::access::{Access, AccessOf};
use super::access_set::Kind;
use super::{Blind, Txn};
use crate::architecture::Architecture;
use contract::{Abort, Presence, Span};

impl<A: Architecture> Txn<'_, A> {
    pub(super) fn read_own(
        &mut self,
        position: usize,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        match self.accesses[position].kind {
            Kind::Delete | Kind::Vanished | Kind::Absent => return Ok(Presence::Missing),
            Kind::Insert => self.view_in_place(position, span, see),
            Kind::Read | Kind::Write => AccessOf::<A>::read_again(self, position, span, see)?,
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
        match self.accesses[position].kind {
            Kind::Insert => self.change_in_place(position, span, change),
            _ => AccessOf::<A>::update_again(self, position, span, change)?,
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
        match self.accesses[position].kind {
            Kind::Insert => self.apply_in_place(position, span, blind),
            _ => AccessOf::<A>::write_blind(self, position, span, blind),
        }
        Ok(Presence::Present)
    }

    /// Makes an entry one that may be written, upgrading its lock if need be.
    pub(super) fn make_writable(&mut self, position: usize) -> Result<Presence, Abort> {
        match self.accesses[position].kind {
            Kind::Delete | Kind::Vanished | Kind::Absent => Ok(Presence::Missing),
            Kind::Write | Kind::Insert => Ok(Presence::Present),
            Kind::Read => {
                AccessOf::<A>::upgrade(self, position)?;
                self.accesses[position].kind = Kind::Write;
                self.write_set.push(position as u32);
                Ok(Presence::Present)
            }
        }
    }
}
