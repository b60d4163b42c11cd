//! In place, holding nothing: nobody else is in the partition (*trireme* 3.3).
//!
//! What is overwritten is kept for undo. Keys that are missing stay so by themselves.

use super::super::scan::Cursor;
use super::super::structure::Attempted;
use super::super::{Blind, HeaderOf, Kind, Place, RequesterOf, Txn};
use super::{Access, Advanced, Change, GapOf, See};
use crate::architecture::{Architecture, SiteOf};
use crate::protocol::Mode;
use crate::record::RecordRef;
use contract::{Abort, Presence, Scan, Span, TimeClass};

/// See the module.
pub(crate) struct Alone;

impl<A: Architecture> Access<A> for Alone {
    const READS_WRITE_METADATA: bool = false;
    const WRITES_IN_PLACE: bool = true;
    const ENTRIES_ARE_LOCKS: bool = false;

    #[inline(always)]
    fn read(
        txn: &mut Txn<'_, A>,
        place: Place<'_>,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        let Some(record) = txn.look_up_timed(place).0 else { return Ok(Presence::Missing) };
        txn.stopwatch.enter(TimeClass::Useful);
        // SAFETY: the span was checked against the row; nobody else is in the partition.
        unsafe { record.row::<HeaderOf<A>>().view(span, see) };
        Ok(Presence::Present)
    }

    #[inline(always)]
    fn update(
        txn: &mut Txn<'_, A>,
        place: Place<'_>,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<Presence, Abort> {
        let Some(position) = Self::find_to_write(txn, place)? else { return Ok(Presence::Missing) };
        txn.save(position, span);
        txn.change_in_place(position, span, change);
        Ok(Presence::Present)
    }

    #[inline(always)]
    fn find_to_write(txn: &mut Txn<'_, A>, place: Place<'_>) -> Result<Option<usize>, Abort> {
        let Some(record) = txn.look_up_timed(place).0 else { return Ok(None) };
        txn.stopwatch.enter(TimeClass::Useful);
        Ok(Some(txn.add(place, record, Kind::Write, None)))
    }

    fn show(
        _: &mut Txn<'_, A>,
        _: Place<'_>,
        record: RecordRef,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        // SAFETY: the span was checked against the row; nobody else is in the partition.
        unsafe { record.row::<HeaderOf<A>>().view(span, see) };
        Ok(Presence::Present)
    }

    #[inline(always)]
    fn update_seeing(
        txn: &mut Txn<'_, A>,
        place: Place<'_>,
        (span, change): (Span, Change<'_>),
        (shown, see): (Span, See<'_>),
    ) -> Result<Presence, Abort> {
        let Some(position) = Self::find_to_write(txn, place)? else { return Ok(Presence::Missing) };
        txn.view_in_place(position, shown, see);
        txn.save(position, span);
        txn.change_in_place(position, span, change);
        Ok(Presence::Present)
    }

    fn read_again(
        txn: &mut Txn<'_, A>,
        position: usize,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<(), Abort> {
        txn.view_in_place(position, span, see);
        Ok(())
    }

    fn upgrade(_: &mut Txn<'_, A>, _: usize) -> Result<(), Abort> {
        Ok(())
    }

    fn update_again(
        txn: &mut Txn<'_, A>,
        position: usize,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), Abort> {
        txn.save(position, span);
        txn.change_in_place(position, span, change);
        Ok(())
    }

    #[inline(always)]
    fn write_blind(txn: &mut Txn<'_, A>, position: usize, span: Span, blind: Blind<'_>) {
        txn.save(position, span);
        txn.apply_in_place(position, span, blind);
    }

    fn hold_bucket(_: &mut Txn<'_, A>, _: Place<'_>) -> Result<(), Abort> {
        Ok(())
    }

    fn link_in_order(
        txn: &mut Txn<'_, A>,
        place: Place<'_>,
        record: RecordRef,
        _: u32,
    ) -> Result<Attempted, Abort> {
        Ok(Some(txn.link_freely(place, record)))
    }

    fn met(_: &mut Txn<'_, A>, _: Place<'_>, _: RecordRef, _: u32) -> Result<bool, Abort> {
        Ok(true)
    }

    fn copy_leaf(
        txn: &mut Txn<'_, A>,
        scan: &Scan<'_>,
        cursor: &mut Cursor,
        most: usize,
    ) -> Result<(), Abort> {
        txn.copy_leaf(scan, cursor, most, |_| ());
        Ok(())
    }

    #[inline(always)]
    fn come_to(_: &mut Txn<'_, A>, _: &Scan<'_>, _: &mut [Cursor], _: usize, _: usize) -> Result<(), Abort> {
        Ok(())
    }

    #[inline(always)]
    fn prepare(txn: &mut Txn<'_, A>) -> Result<u64, Abort> {
        txn.draw_epoch_and_id();
        Ok(0)
    }

    #[inline(always)]
    fn install(_: &mut Txn<'_, A>, _: u64) {}

    #[inline(always)]
    fn release_all(txn: &mut Txn<'_, A>, id: u64) {
        txn.remove_deleted(id);
    }

    fn undo(txn: &mut Txn<'_, A>) {
        txn.undo_in_place();
    }

    #[inline(always)]
    fn release(_: &mut Txn<'_, A>, _: usize, _: Mode) {}

    #[inline(always)]
    fn release_gaps(_: &mut Txn<'_, A>) {}

    fn claim(_: &SiteOf<'_, A>, _: RecordRef, _: RequesterOf<A>) {}

    fn linked(_: &SiteOf<'_, A>, _: &GapOf<A>, _: RecordRef) -> Advanced {
        None
    }

    fn split(_: &GapOf<A>, _: &GapOf<A>) -> u64 {
        0
    }

    fn unlinking(_: &SiteOf<'_, A>, _: RecordRef, _: &GapOf<A>, _: u64) {}

    fn unlinked(_: &SiteOf<'_, A>, _: RecordRef, _: RequesterOf<A>) {}

    fn retire(_: &SiteOf<'_, A>, _: &GapOf<A>) -> bool {
        true
    }

    fn inherit(_: &GapOf<A>, _: &GapOf<A>) {}
}
