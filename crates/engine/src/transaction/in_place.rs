//! Writes in place: what is overwritten is saved, and put back if the transaction aborts.
//!
//! Where there are snapshots, somebody who holds nothing may copy a row while it is changed, and find out afterwards. So it is changed
//! aside, and what comes of that is copied in, word by word.

use super::write_log::Write;
use super::{Blind, HeaderOf, Txn};
use crate::architecture::Architecture;
use crate::record::RecordRef;
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
        self.keep_version_of(position);
        let bytes = self.log.reserve(span.start(), span.length());
        let record = self.accesses[position].record;
        // SAFETY: the span was checked against the row; the record is held exclusively.
        unsafe { record.row::<HeaderOf<A>>().copy_out(span.offset, self.log.get_mut(bytes)) };
        self.log.push(Write { access: position as u32, span, bytes, merge: None });
    }

    /// Changes a row in place, for good unless the log undoes it.
    #[inline(always)]
    pub(super) fn change_in_place(&mut self, position: usize, span: Span, change: &mut dyn FnMut(&mut [u8])) {
        if self.keeps_versions {
            return self.change_aside(position, span, change);
        }
        // SAFETY: the span was checked against the row; the record is held exclusively.
        unsafe { self.accesses[position].record.row::<HeaderOf<A>>().view_mut(span, change) };
    }

    fn change_aside(&mut self, position: usize, span: Span, change: &mut dyn FnMut(&mut [u8])) {
        let record = self.accesses[position].record;
        let bytes = self.scratch_for(span);
        // SAFETY: as in `change_in_place`; who reads a snapshot copies what may be torn.
        unsafe {
            record.row::<HeaderOf<A>>().copy_out(span.offset, bytes);
            change(bytes);
            record.row::<HeaderOf<A>>().copy_in_racing(span.offset, bytes);
        }
    }

    /// Copies bytes into a row that is held exclusively.
    #[inline(always)]
    pub(super) fn copy_in_place(&self, record: RecordRef, offset: u32, bytes: &[u8]) {
        let row = record.row::<HeaderOf<A>>();
        // SAFETY: the span was checked against the row; the record is held exclusively.
        unsafe {
            match self.keeps_versions {
                true => row.copy_in_racing(offset, bytes),
                false => row.copy_in(offset, bytes),
            }
        }
    }

    /// Applies a blind change in place.
    pub(super) fn apply_in_place(&mut self, position: usize, span: Span, blind: Blind<'_>) {
        let record = self.accesses[position].record;
        match blind {
            Blind::Replace(bytes) => self.copy_in_place(record, span.offset, bytes),
            Blind::Merge(merge, argument) => {
                let argument = self.log.keep_argument(argument);
                if self.keeps_versions {
                    // Lent meanwhile.
                    let mut log = std::mem::take(&mut self.log);
                    let argument = log.get_mut(argument);
                    self.change_aside(position, span, &mut |current| merge(current, argument));
                    self.log = log;
                    return;
                }
                let argument = self.log.get_mut(argument);
                // SAFETY: the span was checked against the row; the record is held exclusively.
                unsafe { record.row::<HeaderOf<A>>().view_mut(span, |current| merge(current, argument)) };
            }
        }
    }

    /// Puts back what was overwritten, latest first.
    pub(super) fn undo_in_place(&mut self) {
        for number in (0..self.log.writes().len()).rev() {
            let write = self.log.writes()[number];
            let access = self.accesses[write.access as usize];
            self.copy_in_place(access.record, write.span.offset, self.log.get(write.bytes));
        }
    }
}
