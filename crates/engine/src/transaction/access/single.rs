//! One record a transaction: a copy of a row read without a lock; a private copy of a row written, under a latch.
//!
//! A read is over when it has copied, and leaves no entry. A write latches its record, and has it until it commits or aborts. Nothing is
//! validated, and no id is chosen.
//!
//! Where ids are asked for they are drawn while the record is as it was seen: between the two looks of a read, under the latch of a
//! write. So they agree with the order in which the operations take effect.

use super::super::scan::Cursor;
use super::super::structure::Attempted;
use super::super::{Blind, HeaderOf, Kind, MetaOf, Place, ProtocolOf, RequesterOf, Txn};
use super::{Access, Advanced, GapOf};
use crate::architecture::{Architecture, SiteOf};
use crate::facade::atomic::{Ordering, fence};
use crate::protocol::{Latching, Mode};
use crate::record::RecordRef;
use contract::{Abort, Presence, Scan, Span, TimeClass};
use zerocopy::IntoBytes;

/// See the module.
pub(crate) struct Single;

/// Why what takes part in no single operation is not there.
const ONLY: &str = "key-value has reads and writes of rows that are there, one a transaction";

impl<A: Architecture<Protocol: Latching>> Access<A> for Single {
    const READS_WRITE_METADATA: bool = false;
    const WRITES_IN_PLACE: bool = false;
    const ENTRIES_ARE_LOCKS: bool = true;

    #[inline(always)]
    fn read(
        txn: &mut Txn<'_, A>,
        place: Place<'_>,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        ProtocolOf::<A>::touch(&mut txn.state);
        let mut asked = 0;
        loop {
            let found = txn.look_up_timed(place).0;
            txn.stopwatch.enter(TimeClass::Useful);
            let Some(record) = found else { return Ok(Presence::Missing) };
            if txn.copy_whole(record, span) {
                see(&txn.scratch.as_bytes()[span.start() % 8..][..span.length()]);
                return Ok(Presence::Present);
            }
            txn.pause(asked);
            asked += 1;
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
        let bytes = txn.reserve_copy(span);
        let record = txn.accesses[position].record;
        // SAFETY: the span was checked against the row; the record is latched, so nobody writes it.
        unsafe { record.row::<HeaderOf<A>>().copy_out(span.offset, txn.log.get_mut(bytes)) };
        txn.change_copy(position, span, bytes, change);
        Ok(Presence::Present)
    }

    #[inline(always)]
    fn find_to_write(txn: &mut Txn<'_, A>, place: Place<'_>) -> Result<Option<usize>, Abort> {
        ProtocolOf::<A>::touch(&mut txn.state);
        let mut asked = 0;
        loop {
            let found = txn.look_up_timed(place).0;
            txn.stopwatch.enter(TimeClass::Useful);
            let Some(record) = found else { return Ok(None) };
            let is_latched =
                txn.architecture.at(place.partition, move |site| ProtocolOf::<A>::latch(site.meta(record)));
            if is_latched {
                return Ok(Some(txn.add(place, record, Kind::Write, None)));
            }
            txn.pause(asked);
            asked += 1;
        }
    }

    fn show(
        _: &mut Txn<'_, A>,
        _: Place<'_>,
        _: RecordRef,
        _: Span,
        _: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        unreachable!("{ONLY}")
    }

    fn read_again(
        txn: &mut Txn<'_, A>,
        position: usize,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<(), Abort> {
        txn.see_composed(position, span, see, copy_latched)
    }

    fn upgrade(_: &mut Txn<'_, A>, _: usize) -> Result<(), Abort> {
        unreachable!("reads leave no entries")
    }

    fn update_again(
        txn: &mut Txn<'_, A>,
        position: usize,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), Abort> {
        txn.change_composed(position, span, change, copy_latched)
    }

    #[inline(always)]
    fn write_blind(txn: &mut Txn<'_, A>, position: usize, span: Span, blind: Blind<'_>) {
        txn.log_blind(position, span, blind);
    }

    fn hold_bucket(_: &mut Txn<'_, A>, _: Place<'_>) -> Result<(), Abort> {
        panic!("{ONLY}")
    }

    fn link_in_order(_: &mut Txn<'_, A>, _: Place<'_>, _: RecordRef, _: u32) -> Result<Attempted, Abort> {
        panic!("{ONLY}")
    }

    fn met(_: &mut Txn<'_, A>, _: Place<'_>, _: RecordRef, _: u32) -> Result<bool, Abort> {
        unreachable!("{ONLY}")
    }

    fn copy_leaf(_: &mut Txn<'_, A>, _: &Scan<'_>, _: &mut Cursor, _: usize) -> Result<(), Abort> {
        panic!("{ONLY}")
    }

    fn come_to(_: &mut Txn<'_, A>, _: &Scan<'_>, _: &mut [Cursor], _: usize, _: usize) -> Result<(), Abort> {
        unreachable!("{ONLY}")
    }

    #[inline(always)]
    fn prepare(txn: &mut Txn<'_, A>) -> Result<u64, Abort> {
        if let Some(&position) = txn.write_set.first() {
            assert!(txn.accesses[position as usize].kind == Kind::Write, "{ONLY}");
            txn.apply_merges();
            txn.draw_epoch_and_id();
        }
        Ok(0)
    }

    #[inline(always)]
    fn install(txn: &mut Txn<'_, A>, _: u64) {
        txn.install_copies(|_, access, offset, bytes| {
            // SAFETY: the span was checked against the row; the transaction has latched the record, so it is the only writer.
            unsafe { access.record.row::<HeaderOf<A>>().copy_in_racing(offset, bytes) }
        });
        if let Some(&position) = txn.write_set.first() {
            let access = txn.accesses[position as usize];
            txn.architecture.post(access.partition, move |site| {
                ProtocolOf::<A>::publish(site.meta(access.record));
            });
        }
    }

    #[inline(always)]
    fn release_all(_: &mut Txn<'_, A>, _: u64) {}

    fn undo(_: &mut Txn<'_, A>) {}

    fn release(txn: &mut Txn<'_, A>, position: usize, _: Mode) {
        let access = txn.accesses[position];
        txn.architecture.post(access.partition, move |site| {
            ProtocolOf::<A>::unlatch(site.meta(access.record));
        });
    }

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

/// Copies a part of the row that the transaction writes into the scratch buffer.
fn copy_latched<A: Architecture>(txn: &mut Txn<'_, A>, position: usize, part: Span) -> Result<(), Abort> {
    let record = txn.accesses[position].record;
    // SAFETY: a part of the row; the record is latched, so nobody writes it.
    unsafe { record.row::<HeaderOf<A>>().copy_out(part.offset, txn.scratch_for(part)) };
    Ok(())
}

impl<A: Architecture<Protocol: Latching>> Txn<'_, A> {
    /// Copies the named bytes into the scratch buffer; whether they are of one version.
    #[inline(always)]
    fn copy_whole(&mut self, record: RecordRef, span: Span) -> bool {
        // SAFETY: any thread may look, by the contract of `Latching`; the record lives as long as the tables.
        let meta = unsafe { record.meta::<HeaderOf<A>, MetaOf<A>>() };
        let Some(version) = ProtocolOf::<A>::observe(meta) else { return false };
        // SAFETY: the span was checked against the row; rows are written by racing copies only under this protocol.
        unsafe { record.row::<HeaderOf<A>>().copy_out_racing(span.offset, self.scratch_for(span)) };
        if self.ids.is_some() {
            self.draw_id();
            // SeqCst: the draw comes before the second look; pairs with the SeqCst of a writer's `latch`, who draws after it. So if the
            // look finds no writer, the writers to come have larger ids.
            fence(Ordering::SeqCst);
        }
        // Acquire: the copy comes before the second look; pairs with the Release fence before an install.
        fence(Ordering::Acquire);
        ProtocolOf::<A>::is_still(meta, version)
    }
}
