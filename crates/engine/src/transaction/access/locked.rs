//! In place, under locks that are held until commit: two-phase locking.
//!
//! What is overwritten is kept for undo. Nothing is left to do at commit but to release.

use super::super::scan::Cursor;
use super::super::structure::Attempted;
use super::super::{Blind, Kind, Place, ProtocolOf, RequesterOf, Txn};
use super::{Access, Advanced, Change, GapOf, See};
use crate::architecture::{Architecture, SiteOf};
use crate::protocol::{Locking, Mode, Protocol};
use crate::record::RecordRef;
use contract::{Abort, Plan, Presence, Scan, Span};

/// See the module.
pub(crate) struct Locked;

impl<A: Architecture<Protocol: Locking>> Access<A> for Locked {
    const READS_WRITE_METADATA: bool = true;
    const WRITES_IN_PLACE: bool = true;
    const ENTRIES_ARE_LOCKS: bool = true;

    #[inline(always)]
    fn request_known(txn: &mut Txn<'_, A>, plan: &Plan) {
        if ProtocolOf::<A>::REQUESTS_AHEAD {
            txn.request_all_known(plan);
        } else if txn.preclaims() {
            txn.preclaim(plan);
        }
    }

    #[inline(always)]
    fn leave(txn: &mut Txn<'_, A>) {
        if ProtocolOf::<A>::REQUESTS_AHEAD {
            txn.release_requested();
        }
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

    #[inline(always)]
    fn prepare(txn: &mut Txn<'_, A>) -> Result<u64, Abort> {
        txn.draw_epoch_and_id();
        Ok(0)
    }

    #[inline(always)]
    fn install(_: &mut Txn<'_, A>, _: u64) {}

    fn abandon(txn: &mut Txn<'_, A>) {
        if ProtocolOf::<A>::REQUESTS_AHEAD {
            txn.abandon_requested();
        }
    }

    fn undo(txn: &mut Txn<'_, A>) {
        if ProtocolOf::<A>::REQUESTS_AHEAD {
            txn.learn();
        }
        txn.undo_in_place();
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
