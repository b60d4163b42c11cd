//! In place, under locks of keys and ranges that the transaction has had since it began (*orthrus* 3.2).
//!
//! Every operation asks first whether its key, or how far a scan has come, is locked. What is not aborts the transaction, which is then planned
//! again. A key that is missing is locked as any other is, so it stays missing; and so do all in a range that a scan goes through.
//!
//! Who plans, or runs ahead to find out what there is to lock ([`crate::transaction::running_ahead`]), has no locks. It copies rows while others may write
//! them, between two looks at the row's version, and sees what some write has left, committed or not; memory that it reads is there until its epoch
//! has passed.

use super::super::scan::Cursor;
use super::super::structure::Attempted;
use super::super::values::show;
use super::super::{Blind, HeaderOf, Kind, Place, ProtocolOf, RequesterOf, Txn};
use super::{Access, Advanced, GapOf};
use crate::architecture::{Architecture, SiteOf};
use crate::facade::atomic::{Ordering, fence};
use crate::protocol::{Mode, Planning, Rules};
use crate::record::RecordRef;
use crate::record::value::WORD;
use contract::{Abort, AbortReason, Access as Use, Direction, Key, Presence, Scan, Span, TimeClass};
use zerocopy::IntoBytes;

/// See the module.
pub(crate) struct Planned;

/// What its lock tables keep to.
type RulesOf<A> = <ProtocolOf<A> as Planning>::Rules;

impl<A: Architecture<Protocol: Planning>> Access<A> for Planned {
    const READS_WRITE_METADATA: bool = false;
    const WRITES_IN_PLACE: bool = true;
    const ENTRIES_ARE_LOCKS: bool = false;
    const TELLS_OF_WRITING: bool = true;

    #[inline(always)]
    fn read(
        txn: &mut Txn<'_, A>,
        place: Place<'_>,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        txn.expect_lock(place, span, Use::Read)?;
        let Some(record) = txn.look_up_timed(place).0 else { return Ok(Presence::Missing) };
        txn.stopwatch.enter(TimeClass::Useful);
        txn.see_planned(record, span, see);
        Ok(Presence::Present)
    }

    #[inline(always)]
    fn update(
        txn: &mut Txn<'_, A>,
        place: Place<'_>,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<Presence, Abort> {
        txn.expect_lock(place, span, Use::Write)?;
        let Some(position) = txn.find_planned(place) else { return Ok(Presence::Missing) };
        txn.update_own(position, span, change)
    }

    #[inline(always)]
    fn find_to_write(txn: &mut Txn<'_, A>, place: Place<'_>) -> Result<Option<usize>, Abort> {
        txn.expect_lock(place, Span::new(0, 0), Use::Structure)?;
        Ok(txn.find_planned(place))
    }

    fn show(
        txn: &mut Txn<'_, A>,
        _: Place<'_>,
        record: RecordRef,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        txn.see_planned(record, span, see);
        Ok(Presence::Present)
    }

    fn read_again(
        txn: &mut Txn<'_, A>,
        position: usize,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<(), Abort> {
        txn.see_planned(txn.accesses[position].record, span, see);
        Ok(())
    }

    fn upgrade(_: &mut Txn<'_, A>, _: usize) -> Result<(), Abort> {
        unreachable!("reads leave no entries")
    }

    #[inline(always)]
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

    fn hold_bucket(txn: &mut Txn<'_, A>, place: Place<'_>) -> Result<(), Abort> {
        txn.expect_lock(place, Span::new(0, 0), Use::Structure)
    }

    fn link_in_order(
        txn: &mut Txn<'_, A>,
        place: Place<'_>,
        record: RecordRef,
        _: u32,
    ) -> Result<Attempted, Abort> {
        txn.expect_lock(place, Span::new(0, 0), Use::Structure)?;
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
    fn come_to(
        txn: &mut Txn<'_, A>,
        scan: &Scan<'_>,
        cursors: &mut [Cursor],
        first: usize,
        _: usize,
    ) -> Result<(), Abort> {
        let (bytes, _) = cursors[first].head().expect("the scan has come to it");
        txn.expect_range(scan, Some(Key::prefix_of(bytes)))
    }

    fn come_to_end(txn: &mut Txn<'_, A>, scan: &Scan<'_>) -> Result<(), Abort> {
        txn.expect_range(scan, None)
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

    #[inline(always)]
    fn begin_to_write(site: &SiteOf<'_, A>, record: RecordRef) {
        ProtocolOf::<A>::begin_to_write(site.meta(record));
    }

    #[inline(always)]
    fn end_to_write(site: &SiteOf<'_, A>, record: RecordRef) {
        ProtocolOf::<A>::end_to_write(site.meta(record));
    }

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

impl<A: Architecture<Protocol: Planning>> Txn<'_, A> {
    /// Before a key is touched that the transaction has not written: it is locked, or noted if there are no locks.
    #[inline(always)]
    fn expect_lock(&mut self, place: Place<'_>, span: Span, usage: Use) -> Result<(), Abort> {
        let key = self.prefix(place.table, place.key);
        if self.reconnaissance {
            self.note(place.table.id, key, span, usage);
            return Ok(());
        }
        let mode = if usage == Use::Read { Mode::Shared } else { Mode::Exclusive };
        let is_noticed = RulesOf::<A>::NOTICES_UNPLANNED || mode == Mode::Exclusive;
        match !is_noticed || self.architecture.holds(place.table.id, key, mode) {
            true => Ok(()),
            false => Err(self.refuse(place.table, key, usage, AbortReason::Undeclared)),
        }
    }

    /// The same of a scan, which has come as far as a key, or to its end.
    fn expect_range(&mut self, scan: &Scan<'_>, reached: Option<Key>) -> Result<(), Abort> {
        let ends = scan.ends();
        let (first, last) = match (scan.direction, reached) {
            (_, None) => ends,
            (Direction::Forward, Some(key)) => (ends.0, key),
            (Direction::Backward, Some(key)) => (key, ends.1),
        };
        if self.reconnaissance {
            self.note_range(scan, first, last);
            return Ok(());
        }
        // A canary's ranges are not locked, and not missed.
        let is_locked = !RulesOf::<A>::NOTICES_UNPLANNED
            || !RulesOf::<A>::LOCKS_RANGES
            || self.architecture.holds_range(scan.table, first, last);
        if is_locked {
            return Ok(());
        }
        let key = reached.unwrap_or(last);
        Err(self.refuse(self.table(scan.table), key, Use::Read, AbortReason::Undeclared))
    }

    /// An entry for a row to be written; for who runs ahead, of a copy.
    #[inline(always)]
    fn find_planned(&mut self, place: Place<'_>) -> Option<usize> {
        let record = self.look_up_timed(place).0?;
        self.stopwatch.enter(TimeClass::Useful);
        if self.reconnaissance {
            return Some(self.copy_ahead(place, record));
        }
        Some(self.add(place, record, Kind::Write, None))
    }

    /// Shows bytes of a row that is locked, or a copy of one that is not.
    #[inline(always)]
    fn see_planned(&mut self, record: RecordRef, span: Span, see: &mut dyn FnMut(&[u8])) {
        if self.reconnaissance {
            self.copy_unlocked(record, span);
            return see(&self.scratch.as_bytes()[span.start() % 8..][..span.length()]);
        }
        // SAFETY: the span was checked against the row; the transaction has its key locked, or the range in which it is.
        unsafe { record.row::<HeaderOf<A>>().view(span, see) };
    }

    /// An entry for a copy of a row, which nobody else will see.
    #[cold]
    fn copy_ahead(&mut self, place: Place<'_>, record: RecordRef) -> usize {
        let table = place.table;
        let span = if table.varies() { WORD } else { Span::whole(table.description.row_bytes) };
        let mut row = std::mem::take(&mut self.row_ahead);
        row.clear();
        self.see_planned(record, span, &mut |bytes| match table.varies() {
            true => show(bytes, &mut |value| row.extend_from_slice(value)),
            false => row.extend_from_slice(bytes),
        });
        let position = self.add_ahead(place, &row);
        self.row_ahead = row;
        position
    }

    /// Copies bytes of a row that others may be writing into the scratch buffer.
    fn copy_unlocked(&mut self, record: RecordRef, span: Span) {
        let mut asked = 0;
        loop {
            let version = ProtocolOf::<A>::observe(self.architecture.site().meta(record));
            if let Some(version) = version {
                // SAFETY: the span was checked against the row; rows are written by racing copies only under this protocol.
                unsafe { record.row::<HeaderOf<A>>().copy_out_racing(span.offset, self.scratch_for(span)) };
                // Acquire: the copy comes before the second look; pairs with the Release fence of `begin_to_write`.
                fence(Ordering::Acquire);
                if ProtocolOf::<A>::is_still(self.architecture.site().meta(record), version) {
                    return;
                }
            }
            self.pause(asked);
            asked += 1;
        }
    }
}
