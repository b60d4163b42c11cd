//! Writes in place: what is overwritten is saved, and put back if the transaction aborts.
//!
//! Where there are snapshots, somebody who holds nothing may copy a row while it is changed, and find out afterwards; where locks are
//! planned, somebody may who plans. So it is changed aside, and what comes of that is copied in, word by word.

use super::access::{Access as _, AccessOf};
use super::copies::part_of;
use super::write_log::Write;
use super::{Blind, HeaderOf, Txn};
use crate::architecture::{Architecture, SiteOf};
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
        let record = self.accesses[position].record;
        // SAFETY: the span was checked against the row; the record is held exclusively.
        unsafe {
            match self.keeps_versions || AccessOf::<A>::TELLS_OF_WRITING {
                true => {
                    let aside = part_of(&mut self.scratch, span);
                    change_aside::<A>(self.architecture.site(), record, span, aside, change);
                }
                false => record.row::<HeaderOf<A>>().view_mut(span, change),
            }
        }
    }

    /// Copies bytes into a row that is held exclusively.
    #[inline(always)]
    pub(super) fn copy_in_place(&self, record: RecordRef, offset: u32, bytes: &[u8]) {
        let row = record.row::<HeaderOf<A>>();
        // SAFETY: the span was checked against the row; the record is held exclusively.
        unsafe {
            match self.keeps_versions || AccessOf::<A>::TELLS_OF_WRITING {
                true => {
                    let site = self.architecture.site();
                    AccessOf::<A>::begin_to_write(site, record);
                    row.copy_in_racing(offset, bytes);
                    AccessOf::<A>::end_to_write(site, record);
                }
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
                let argument = self.log.get_mut(argument);
                let change = &mut |current: &mut [u8]| merge(current, argument);
                // SAFETY: the span was checked against the row; the record is held exclusively.
                unsafe {
                    match self.keeps_versions || AccessOf::<A>::TELLS_OF_WRITING {
                        true => {
                            let aside = part_of(&mut self.scratch, span);
                            change_aside::<A>(self.architecture.site(), record, span, aside, change);
                        }
                        false => record.row::<HeaderOf<A>>().view_mut(span, change),
                    }
                }
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

/// Changes bytes of a row in `aside`, and copies them in. If `change` panics, the row is as it was.
///
/// # Safety
/// As for [`crate::record::Row::view_mut`]; but who reads a snapshot may copy the row meanwhile, torn as it then is.
unsafe fn change_aside<A: Architecture>(
    site: &SiteOf<'_, A>,
    record: RecordRef,
    span: Span,
    aside: &mut [u8],
    change: &mut dyn FnMut(&mut [u8]),
) {
    // SAFETY: the caller's.
    unsafe {
        record.row::<HeaderOf<A>>().copy_out(span.offset, aside);
        change(aside);
        AccessOf::<A>::begin_to_write(site, record);
        record.row::<HeaderOf<A>>().copy_in_racing(span.offset, aside);
        AccessOf::<A>::end_to_write(site, record);
    }
}
