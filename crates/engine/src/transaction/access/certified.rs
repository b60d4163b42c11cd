//! Reads in place and writes to private copies, both under locks, of which a write lock lets readers pass until commit certifies
//! it (*trireme* 3.1).

use super::super::scan::Cursor;
use super::super::structure::Attempted;
use super::super::{Blind, HeaderOf, Kind, Place, ProtocolOf, RequesterOf, Txn};
use super::{Access, Advanced, GapOf};
use crate::architecture::{Architecture, SiteOf};
use crate::protocol::{Locking, Mode, Preparing};
use crate::record::RecordRef;
use contract::{Abort, Presence, Scan, Span};

/// See the module.
pub(crate) struct Certified;

impl<A: Architecture<Protocol: Locking + Preparing>> Access<A> for Certified {
    const READS_WRITE_METADATA: bool = true;
    const WRITES_IN_PLACE: bool = false;
    const ENTRIES_ARE_LOCKS: bool = true;

    #[inline(always)]
    fn update(
        txn: &mut Txn<'_, A>,
        place: Place<'_>,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<Presence, Abort> {
        let Some(record) = txn.lock_record(place, Mode::Exclusive)? else {
            return Ok(Presence::Missing);
        };
        let position = txn.add(place, record, Kind::Write, None);
        let bytes = txn.reserve_copy(span);
        // SAFETY: the span was checked against the row; the record is held against writers.
        unsafe { record.row::<HeaderOf<A>>().copy_out(span.offset, txn.log.get_mut(bytes)) };
        txn.change_copy(position, span, bytes, change);
        Ok(Presence::Present)
    }

    fn read_again(
        txn: &mut Txn<'_, A>,
        position: usize,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<(), Abort> {
        if txn.accesses[position].kind == Kind::Read {
            txn.view_in_place(position, span, see);
            return Ok(());
        }
        txn.see_composed(position, span, see, copy_committed)
    }

    fn update_again(
        txn: &mut Txn<'_, A>,
        position: usize,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), Abort> {
        txn.change_composed(position, span, change, copy_committed)
    }

    #[inline(always)]
    fn write_blind(txn: &mut Txn<'_, A>, position: usize, span: Span, blind: Blind<'_>) {
        txn.log_blind(position, span, blind);
    }

    #[inline(always)]
    fn prepare(txn: &mut Txn<'_, A>) -> Result<u64, Abort> {
        txn.prepare_write_set()?;
        txn.apply_merges();
        txn.draw_epoch_and_id();
        Ok(0)
    }

    #[inline(always)]
    fn install(txn: &mut Txn<'_, A>, _: u64) {
        // The records are certified: nobody else reads or writes them, but who reads a snapshot.
        txn.install_copies(|txn, access, offset, bytes| txn.copy_in_place(access.record, offset, bytes));
    }

    fn undo(txn: &mut Txn<'_, A>) {
        txn.unprepare_write_set();
    }

    #[inline(always)]
    fn read(
        txn: &mut Txn<'_, A>,
        place: Place<'_>,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        txn.read_locked(place, span, see)
    }

    #[inline(always)]
    fn find_to_write(txn: &mut Txn<'_, A>, place: Place<'_>) -> Result<Option<usize>, Abort> {
        let record = txn.lock_record(place, Mode::Exclusive)?;
        Ok(record.map(|record| txn.add(place, record, Kind::Write, None)))
    }

    fn show(
        txn: &mut Txn<'_, A>,
        place: Place<'_>,
        record: RecordRef,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        txn.show_locked(place, record, span, see)
    }

    fn upgrade(txn: &mut Txn<'_, A>, position: usize) -> Result<(), Abort> {
        txn.upgrade(position)
    }

    fn hold_bucket(txn: &mut Txn<'_, A>, place: Place<'_>) -> Result<(), Abort> {
        txn.hold_bucket(place)
    }

    fn link_in_order(
        txn: &mut Txn<'_, A>,
        place: Place<'_>,
        record: RecordRef,
        asked: u32,
    ) -> Result<Attempted, Abort> {
        txn.link_locking(place, record, asked)
    }

    fn met(txn: &mut Txn<'_, A>, place: Place<'_>, record: RecordRef, asked: u32) -> Result<bool, Abort> {
        txn.lock_met(place, record, asked)
    }

    fn copy_leaf(
        txn: &mut Txn<'_, A>,
        scan: &Scan<'_>,
        cursor: &mut Cursor,
        most: usize,
    ) -> Result<(), Abort> {
        txn.copy_leaf_held(scan, cursor, most)
    }

    #[inline(always)]
    fn come_to(
        txn: &mut Txn<'_, A>,
        scan: &Scan<'_>,
        cursors: &mut [Cursor],
        first: usize,
        left: usize,
    ) -> Result<(), Abort> {
        txn.lock_ahead(scan, cursors, first, left)
    }

    #[inline(always)]
    fn release_all(txn: &mut Txn<'_, A>, id: u64) {
        txn.release_locks(id);
    }

    #[inline(always)]
    fn release(txn: &mut Txn<'_, A>, position: usize, mode: Mode) {
        txn.release_lock(position, mode);
    }

    #[inline(always)]
    fn release_gaps(txn: &mut Txn<'_, A>) {
        txn.release_held_gaps();
    }

    fn claim(site: &SiteOf<'_, A>, record: RecordRef, who: RequesterOf<A>) {
        ProtocolOf::<A>::claim(site.meta(record), site.request(who));
    }

    fn linked(_: &SiteOf<'_, A>, _: &GapOf<A>, _: RecordRef) -> Advanced {
        // The gap is held.
        None
    }

    fn split(_: &GapOf<A>, _: &GapOf<A>) -> u64 {
        unreachable!("a leaf whose gap is held is split with a hold on both halves")
    }

    fn unlinking(_: &SiteOf<'_, A>, _: RecordRef, _: &GapOf<A>, _: u64) {}

    fn unlinked(site: &SiteOf<'_, A>, record: RecordRef, who: RequesterOf<A>) {
        ProtocolOf::<A>::mark_deleted(site.meta(record), site.request(who));
    }

    fn retire(site: &SiteOf<'_, A>, gap: &GapOf<A>) -> bool {
        ProtocolOf::<A>::retire_gap(gap, site.common)
    }

    fn inherit(_: &GapOf<A>, _: &GapOf<A>) {
        // Nobody held it.
    }
}

/// Copies a part of the committed row into the scratch buffer.
fn copy_committed<A: Architecture>(txn: &mut Txn<'_, A>, position: usize, part: Span) -> Result<(), Abort> {
    let record = txn.accesses[position].record;
    // SAFETY: a part of the row; the record is held against writers.
    unsafe { record.row::<HeaderOf<A>>().copy_out(part.offset, txn.scratch_for(part)) };
    Ok(())
}
