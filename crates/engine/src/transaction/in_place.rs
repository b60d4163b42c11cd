//! Writes in place: what is overwritten is saved, and put back if the transaction aborts.

use super::write_log::Write;
use super::{Blind, HeaderOf, Txn};
use crate::architecture::Architecture;
use contract::Span;

impl<A: Architecture> Txn<'_, A> {
    /// Shows bytes of a row whose version is this transaction's own, or held against writers.
    #[inline(always)]
    pub(super) fn view_in_place(&self, position: usize, span: Span, see: &mut dyn FnMut(&[u8])) {
        // SAFETY: the span was checked against the row; the record is held, or the transaction's own insert.
        unsafe { self.accesses[position].record.row::<HeaderOf<A>>().view(span, see) };
    }

    /// Saves what is about to be overwritten.
    #[inline(always)]
    pub(super) fn save(&mut self, position: usize, span: Span) {
        let bytes = self.log.reserve(span.start(), span.length());
        let record = self.accesses[position].record;
        // SAFETY: the span was checked against the row; the record is held exclusively.
        unsafe { record.row::<HeaderOf<A>>().copy_out(span.offset, self.log.get_mut(bytes)) };
        self.log.push(Write { access: position as u32, span, bytes, merge: None });
    }

    /// Changes a row in place, for good unless the log undoes it.
    #[inline(always)]
    pub(super) fn change_in_place(&mut self, position: usize, span: Span, change: &mut dyn FnMut(&mut [u8])) {
        // SAFETY: the span was checked against the row; the record is held exclusively.
        unsafe { self.accesses[position].record.row::<HeaderOf<A>>().view_mut(span, change) };
    }

    /// Applies a blind change in place.
    pub(super) fn apply_in_place(&mut self, position: usize, span: Span, blind: Blind<'_>) {
        let record = self.accesses[position].record;
        match blind {
            // SAFETY: the span was checked against the row; the record is held exclusively.
            Blind::Replace(bytes) => unsafe { record.row::<HeaderOf<A>>().copy_in(span.offset, bytes) },
            Blind::Merge(merge, argument) => {
                let argument = self.log.keep_argument(argument);
                let argument = self.log.get_mut(argument);
                // SAFETY: as above.
                unsafe { record.row::<HeaderOf<A>>().view_mut(span, |current| merge(current, argument)) };
            }
        }
    }

    /// Puts back what was overwritten, latest first.
    pub(super) fn undo_in_place(&mut self) {
        for number in (0..self.log.writes().len()).rev() {
            let write = self.log.writes()[number];
            let access = self.accesses[write.access as usize];
            // SAFETY: the span was checked against the row; the record is still held exclusively.
            unsafe {
                access.record.row::<HeaderOf<A>>().copy_in(write.span.offset, self.log.get(write.bytes))
            };
        }
    }
}
