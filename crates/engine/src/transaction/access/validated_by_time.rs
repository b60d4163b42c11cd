//! Copies of what the transaction's timestamp is shown, read without a trace, and asked for by that timestamp at commit; private copies of rows
//! written, made pending at commit. What [`super::timestamped`] asks for when it is accessed is asked for when all is known.
//!
//! Commit ([`crate::protocol::Cicada`] tells why it is right):
//! 1. make every record of the write set pending;
//! 2. read the global epoch, if that matters;
//! 3. ask for every record that was read.
//!
//! Then the copies are installed, and published. What was found missing was asked for when it was found, and inserts are pending
//! from the operation on, as by timestamps.
//!
//! Between transactions a slot makes a round of the horizon ([`crate::horizon`]), and frees what nobody looks for.

use super::super::access_set::Kind;
use super::super::scan::Cursor;
use super::super::structure::{Attempted, Versions};
use super::super::{Blind, Place, ProtocolOf, RequesterOf, Txn, draw};
use super::{Access, Advanced, GapOf, Timestamped};
use crate::architecture::{Architecture, SiteOf};
use crate::protocol::{Answer, Looking, Mode, Versioning};
use crate::record::RecordRef;
use crate::storage::Table;
use contract::{Abort, AbortReason, CommitId, Presence, Scan, SnapshotPlace, Span};

/// See the module.
pub(crate) struct ValidatedByTime;

impl<A: Architecture<Protocol: Looking>> Access<A> for ValidatedByTime {
    const READS_WRITE_METADATA: bool = false;
    const WRITES_IN_PLACE: bool = false;
    const ENTRIES_ARE_LOCKS: bool = false;

    #[inline(always)]
    fn read(
        txn: &mut Txn<'_, A>,
        place: Place<'_>,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        let Some((record, token)) = txn.see_key(place, span)? else { return Ok(Presence::Missing) };
        txn.add(place, record, Kind::Read, Some(token));
        see(txn.copied(span));
        Ok(Presence::Present)
    }

    #[inline(always)]
    fn update(
        txn: &mut Txn<'_, A>,
        place: Place<'_>,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<Presence, Abort> {
        let bytes = txn.reserve_copy(span);
        let Some((record, token)) = txn.see_to_write(place, Some((span, bytes)))? else {
            return Ok(Presence::Missing);
        };
        let position = txn.add(place, record, Kind::Write, Some(token));
        txn.change_copy(position, span, bytes, change);
        Ok(Presence::Present)
    }

    #[inline(always)]
    fn find_to_write(txn: &mut Txn<'_, A>, place: Place<'_>) -> Result<Option<usize>, Abort> {
        // Blind: commit makes sure that the record still has a row, not that it is unchanged.
        let found = txn.see_to_write(place, None)?;
        Ok(found.map(|(record, _)| txn.add(place, record, Kind::Write, None)))
    }

    fn show(
        txn: &mut Txn<'_, A>,
        place: Place<'_>,
        record: RecordRef,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        let Some(token) = txn.see_met(place, record, span)? else { return Ok(Presence::Missing) };
        txn.add(place, record, Kind::Read, Some(token));
        see(txn.copied(span));
        Ok(Presence::Present)
    }

    fn read_again(
        txn: &mut Txn<'_, A>,
        position: usize,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<(), Abort> {
        if txn.accesses[position].kind == Kind::Write {
            return txn.see_composed(position, span, see, Txn::see_overwritten);
        }
        let access = txn.accesses[position];
        let seen = access.token.expect("a read has a token");
        if !txn.see_again(access.record, seen, span) {
            // Somebody older has overwritten it.
            return Err(txn.poison(AbortReason::ReadValidation));
        }
        see(txn.copied(span));
        Ok(())
    }

    fn upgrade(txn: &mut Txn<'_, A>, position: usize) -> Result<(), Abort> {
        let access = txn.accesses[position];
        let seen = access.token.expect("a read has a token");
        match txn.look_by_time(access.record) {
            Answer::Present(token) if token == seen.0 => Ok(()),
            // Who is older may yet abort.
            Answer::Wait => Ok(()),
            _ => Err(txn.poison(AbortReason::ReadValidation)),
        }
    }

    fn update_again(
        txn: &mut Txn<'_, A>,
        position: usize,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), Abort> {
        txn.change_composed(position, span, change, Txn::see_overwritten)
    }

    #[inline(always)]
    fn write_blind(txn: &mut Txn<'_, A>, position: usize, span: Span, blind: Blind<'_>) {
        txn.log_blind(position, span, blind);
    }

    fn hold_bucket(txn: &mut Txn<'_, A>, place: Place<'_>) -> Result<(), Abort> {
        <Timestamped as Access<A>>::hold_bucket(txn, place)
    }

    fn link_in_order(
        txn: &mut Txn<'_, A>,
        place: Place<'_>,
        record: RecordRef,
        asked: u32,
    ) -> Result<Attempted, Abort> {
        <Timestamped as Access<A>>::link_in_order(txn, place, record, asked)
    }

    fn heed(txn: &mut Txn<'_, A>, place: Place<'_>, versions: Versions) -> Result<(), Abort> {
        <Timestamped as Access<A>>::heed(txn, place, versions)
    }

    fn met(txn: &mut Txn<'_, A>, place: Place<'_>, record: RecordRef, asked: u32) -> Result<bool, Abort> {
        <Timestamped as Access<A>>::met(txn, place, record, asked)
    }

    fn revive(txn: &mut Txn<'_, A>, position: usize) -> Result<(), Abort> {
        match txn.look_by_time(txn.accesses[position].record) {
            Answer::Absent(_) | Answer::Wait => Ok(()),
            _ => Err(txn.poison(AbortReason::Conflict)),
        }
    }

    fn copy_leaf(
        txn: &mut Txn<'_, A>,
        scan: &Scan<'_>,
        cursor: &mut Cursor,
        most: usize,
    ) -> Result<(), Abort> {
        <Timestamped as Access<A>>::copy_leaf(txn, scan, cursor, most)
    }

    #[inline(always)]
    fn come_to(_: &mut Txn<'_, A>, _: &Scan<'_>, _: &mut [Cursor], _: usize, _: usize) -> Result<(), Abort> {
        Ok(())
    }

    #[inline(always)]
    fn unlink_tombs(txn: &mut Txn<'_, A>) {
        if txn.allocations.tombs.len() > 0 {
            let needed = txn.horizon().needed();
            txn.unlink_tombs_until(txn.epochs.reusable(), ProtocolOf::<A>::tombstone(needed));
        }
    }

    fn free_old_versions(txn: &mut Txn<'_, A>, _: u64) {
        Self::before_drawing(txn);
        let own = draw(&txn.architecture, &mut txn.stopwatch, &mut txn.draws).0;
        let (horizon, slot) = (txn.horizon(), txn.slot.0 as usize);
        horizon.drawn(slot, own);
        let needed = horizon.advance(own);
        if txn.epochs.reclaims() {
            txn.allocations.reclaim_versions(needed);
        }
    }

    #[inline(always)]
    fn before_drawing(txn: &mut Txn<'_, A>) {
        if txn.horizon().before_drawing(txn.slot.0 as usize) {
            txn.draws.lose_batch();
        }
    }

    #[inline(always)]
    fn drawn(txn: &Txn<'_, A>) {
        txn.horizon().drawn(txn.slot.0 as usize, txn.time().time());
    }

    #[inline(always)]
    fn rests(txn: &Txn<'_, A>) {
        txn.horizon().rest(txn.slot.0 as usize);
    }

    #[inline(always)]
    fn has_own_snapshots(txn: &Txn<'_, A>) -> bool {
        txn.horizon().is_read() && !txn.tables.iter().any(Table::varies)
    }

    fn begin_snapshot(txn: &Txn<'_, A>) -> u64 {
        // It writes nothing, and holds no horizon back.
        Self::rests(txn);
        txn.horizon().begin_to_read(txn.slot.0 as usize)
    }

    fn end_snapshot(txn: &Txn<'_, A>) -> u64 {
        txn.horizon().end_reading(txn.slot.0 as usize);
        // Whose writes it was shown had read their epochs.
        txn.epochs.serialization_point()
    }

    fn show_of_snapshot(
        txn: &mut Txn<'_, A>,
        _: &Table,
        record: RecordRef,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> bool {
        txn.show_past(record, span, see)
    }

    #[inline(always)]
    fn snapshot_place(txn: &Txn<'_, A>) -> Option<SnapshotPlace> {
        txn.horizon().is_read().then(|| SnapshotPlace::ShownBy(txn.time().time()))
    }

    #[inline(always)]
    fn prepare(txn: &mut Txn<'_, A>) -> Result<u64, Abort> {
        txn.ask_for_write_set()?;
        txn.draw_epoch();
        txn.ask_for_read_set()?;
        let id = txn.time().time();
        txn.id = txn.ids.map(|_| CommitId(id));
        txn.apply_merges();
        Ok(id)
    }

    #[inline(always)]
    fn install(txn: &mut Txn<'_, A>, id: u64) {
        txn.install_accepted_writes();
        txn.retire_old_versions(id);
    }

    #[inline(always)]
    fn release_all(txn: &mut Txn<'_, A>, id: u64) {
        <Timestamped as Access<A>>::release_all(txn, id);
    }

    fn undo(txn: &mut Txn<'_, A>) {
        txn.withdraw_write_set();
    }

    #[inline(always)]
    fn release(_: &mut Txn<'_, A>, _: usize, _: Mode) {}

    #[inline(always)]
    fn release_gaps(_: &mut Txn<'_, A>) {}

    fn claim(site: &SiteOf<'_, A>, record: RecordRef, who: RequesterOf<A>) {
        <Timestamped as Access<A>>::claim(site, record, who);
    }

    fn linked(site: &SiteOf<'_, A>, gap: &GapOf<A>, record: RecordRef) -> Advanced {
        <Timestamped as Access<A>>::linked(site, gap, record)
    }

    fn split(gap: &GapOf<A>, fresh: &GapOf<A>) -> u64 {
        <Timestamped as Access<A>>::split(gap, fresh)
    }

    fn unlinking(site: &SiteOf<'_, A>, record: RecordRef, gap: &GapOf<A>, id: u64) {
        <Timestamped as Access<A>>::unlinking(site, record, gap, id);
    }

    fn unlinked(site: &SiteOf<'_, A>, record: RecordRef, who: RequesterOf<A>) {
        <Timestamped as Access<A>>::unlinked(site, record, who);
    }

    fn retire(site: &SiteOf<'_, A>, gap: &GapOf<A>) -> bool {
        <Timestamped as Access<A>>::retire(site, gap)
    }

    fn inherit(retired: &GapOf<A>, heir: &GapOf<A>) {
        <Timestamped as Access<A>>::inherit(retired, heir);
    }
}
