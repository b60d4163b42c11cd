//! By timestamps: reads and writes are granted in the order of the transactions' timestamps when they are asked for, or wait for somebody
//! older, or come too late. Reads are copies; writes are private copies, installed at commit, for which nothing has to be asked any more.
//!
//! A delete leaves its record linked, as a tombstone ([`super::super::tombs`]). An insert of a key that has one writes to it: its row is a
//! private copy as any other write's.

use super::super::access_set::Kind;
use super::super::keys::Lent;
use super::super::scan::{self, Cursor};
use super::super::structure::{Attempted, Versions};
use super::super::timestamping::{Wish, rely};
use super::super::visible::{Heeded, copy_own};
use super::super::{Blind, HeaderOf, Place, ProtocolOf, RequesterOf, Txn};
use super::{Access, Advanced, GapOf};
use crate::architecture::{Architecture, SiteOf};
use crate::facade::atomic::{Ordering, fence};
use crate::index::ordered::LeafCopy;
use crate::protocol::{Answer, Mode, Timestamping, Versioning};
use crate::record::RecordRef;
use crate::timestamp::{Halves, Timestamp};
use contract::{Abort, AbortReason, CommitId, Direction, PartitionId, Presence, Scan, Span, TableId};
use std::ops::Bound;

/// See the module.
pub(crate) struct Timestamped;

impl<A: Architecture<Protocol: Timestamping>> Access<A> for Timestamped {
    const READS_WRITE_METADATA: bool = true;
    const WRITES_IN_PLACE: bool = false;
    const ENTRIES_ARE_LOCKS: bool = false;

    #[inline(always)]
    fn read(
        txn: &mut Txn<'_, A>,
        place: Place<'_>,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        let Some((record, token)) = txn.read_by_time(place, span)? else { return Ok(Presence::Missing) };
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
        let Some(position) = Self::find_to_write(txn, place)? else { return Ok(Presence::Missing) };
        let bytes = txn.reserve_copy(span);
        txn.copy_own_into_log(txn.accesses[position].record, span, bytes);
        txn.change_copy(position, span, bytes, change);
        Ok(Presence::Present)
    }

    #[inline(always)]
    fn find_to_write(txn: &mut Txn<'_, A>, place: Place<'_>) -> Result<Option<usize>, Abort> {
        let found = txn.be_granted(place, Wish::Write(Presence::Present), &mut 0)?;
        Ok(found.map(|(record, token)| {
            txn.stopwatch.holds_something();
            txn.add(place, record, Kind::Write, Some(token))
        }))
    }

    fn show(
        txn: &mut Txn<'_, A>,
        place: Place<'_>,
        record: RecordRef,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        let mut asked = 0;
        loop {
            let answer = txn.ask_met(place.partition, record, Wish::Read);
            if answer == Answer::Unlinked {
                // Its key is missing, and nobody older inserts it again: the scan has left its timestamp in the leaf.
                return Ok(Presence::Missing);
            }
            match txn.heed_answer(record, answer, &mut asked)? {
                Heeded::Granted(Presence::Missing, token) => {
                    txn.add(place, record, Kind::Absent, Some(token));
                    return Ok(Presence::Missing);
                }
                Heeded::Granted(Presence::Present, token) => {
                    if txn.copy_version(record, token, span) {
                        txn.add(place, record, Kind::Read, Some(token));
                        see(txn.copied(span));
                        return Ok(Presence::Present);
                    }
                }
                Heeded::Again => {}
            }
        }
    }

    fn read_again(
        txn: &mut Txn<'_, A>,
        position: usize,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<(), Abort> {
        if txn.accesses[position].kind == Kind::Write {
            return txn.see_composed(position, span, see, copy_own);
        }
        let access = txn.accesses[position];
        let seen = access.token.expect("a read has a token");
        if !txn.copy_version(access.record, seen, span) {
            // A younger write was installed over it.
            return Err(txn.poison(AbortReason::ReadValidation));
        }
        see(txn.copied(span));
        Ok(())
    }

    fn upgrade(txn: &mut Txn<'_, A>, position: usize) -> Result<(), Abort> {
        let token = txn.ask_entry(position, Presence::Present)?;
        txn.stopwatch.holds_something();
        if txn.accesses[position].token == Some(token) {
            return Ok(());
        }
        // Nobody older writes what was read, unless a canary runs that left no trace.
        Self::release(txn, position, Mode::Exclusive);
        Err(txn.poison(AbortReason::ReadValidation))
    }

    fn update_again(
        txn: &mut Txn<'_, A>,
        position: usize,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), Abort> {
        txn.change_composed(position, span, change, copy_own)
    }

    #[inline(always)]
    fn write_blind(txn: &mut Txn<'_, A>, position: usize, span: Span, blind: Blind<'_>) {
        txn.log_blind(position, span, blind);
    }

    fn hold_bucket(_: &mut Txn<'_, A>, _: Place<'_>) -> Result<(), Abort> {
        // It is asked once the record is linked.
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

    fn heed(txn: &mut Txn<'_, A>, _: Place<'_>, versions: Versions) -> Result<(), Abort> {
        match versions.before > txn.time().time() {
            // Somebody younger has found the key missing.
            true => Err(txn.poison(AbortReason::Phantom)),
            false => Ok(()),
        }
    }

    fn met(txn: &mut Txn<'_, A>, place: Place<'_>, record: RecordRef, mut asked: u32) -> Result<bool, Abort> {
        let answer = txn.ask_met(place.partition, record, Wish::Read);
        match txn.heed_answer(record, answer, &mut asked)? {
            Heeded::Granted(Presence::Present, token) => {
                txn.add(place, record, Kind::Read, Some(token));
                Ok(true)
            }
            // To be inserted by a write to it.
            Heeded::Granted(Presence::Missing, token) => {
                txn.add(place, record, Kind::Absent, Some(token));
                Ok(false)
            }
            Heeded::Again => Ok(false),
        }
    }

    fn revive(txn: &mut Txn<'_, A>, position: usize) -> Result<(), Abort> {
        txn.ask_entry(position, Presence::Missing)?;
        txn.stopwatch.holds_something();
        Ok(())
    }

    fn copy_leaf(
        txn: &mut Txn<'_, A>,
        scan: &Scan<'_>,
        cursor: &mut Cursor,
        most: usize,
    ) -> Result<(), Abort> {
        let (table, partition, by) = (scan.table, cursor.partition(), txn.time());
        let (bound, copy) = cursor.bound_and_copy();
        let direction = scan.direction;
        let mut request =
            Copying { table, partition, bound, until: scan::end_of(scan), direction, most, by, copy };
        let request = Lent::new(&mut request);
        txn.architecture.at(partition, move |site| {
            // SAFETY: the transaction waits for the answer, and touches nothing of the request.
            copy_relied_on::<A>(site, unsafe { request.get() });
        });
        Ok(())
    }

    #[inline(always)]
    fn come_to(_: &mut Txn<'_, A>, _: &Scan<'_>, _: &mut [Cursor], _: usize, _: usize) -> Result<(), Abort> {
        Ok(())
    }

    #[inline(always)]
    fn prepare(txn: &mut Txn<'_, A>) -> Result<u64, Abort> {
        txn.draw_epoch();
        let id = txn.time().time();
        txn.id = txn.ids.map(|_| CommitId(id));
        txn.apply_merges();
        Ok(id)
    }

    #[inline(always)]
    fn install(txn: &mut Txn<'_, A>, _: u64) {
        txn.install_accepted_writes();
        txn.retire_old_versions(txn.epoch);
    }

    #[inline(always)]
    fn release_all(txn: &mut Txn<'_, A>, id: u64) {
        for number in 0..txn.write_set.len() {
            let position = txn.write_set[number] as usize;
            if txn.accesses[position].kind == Kind::Vanished {
                txn.remove(position, id);
            }
        }
    }

    fn undo(_: &mut Txn<'_, A>) {}

    fn release(txn: &mut Txn<'_, A>, position: usize, mode: Mode) {
        if mode == Mode::Exclusive {
            let access = txn.accesses[position];
            txn.architecture.post(access.partition, move |site| {
                ProtocolOf::<A>::withdraw(site.meta(access.record));
            });
        }
    }

    #[inline(always)]
    fn release_gaps(_: &mut Txn<'_, A>) {}

    #[inline(always)]
    fn unlink_tombs(txn: &mut Txn<'_, A>) {
        if txn.allocations.tombs.len() > 0 {
            txn.unlink_tombs_until(txn.epochs.reusable(), u64::MAX);
        }
    }

    fn free_old_versions(txn: &mut Txn<'_, A>, reclaimable: u64) {
        if ProtocolOf::<A>::KEEPS_VERSIONS {
            txn.allocations.reclaim_versions(reclaimable);
        }
    }

    fn claim(site: &SiteOf<'_, A>, record: RecordRef, who: RequesterOf<A>) {
        ProtocolOf::<A>::claim(site.meta(record), who.stamp);
    }

    fn linked(_: &SiteOf<'_, A>, gap: &GapOf<A>, _: RecordRef) -> Advanced {
        // SeqCst: the link, or the latch of the leaf, comes before the look; pairs with the fence in `rely`.
        fence(Ordering::SeqCst);
        Some((ProtocolOf::<A>::relied_on(gap), 0))
    }

    fn split(gap: &GapOf<A>, fresh: &GapOf<A>) -> u64 {
        // After the fence in `linked`, under the same latch.
        ProtocolOf::<A>::split_gap(gap, fresh);
        0
    }

    fn unlinking(site: &SiteOf<'_, A>, record: RecordRef, gap: &GapOf<A>, id: u64) {
        ProtocolOf::<A>::mark_deleted(site.meta(record), gap);
        if id > 0 {
            // Inserted and deleted by one transaction, which relies on the key having been missing, and leaves no version that says so.
            ProtocolOf::<A>::rely(gap, Halves::of(Timestamp(id)));
        }
    }

    fn unlinked(_: &SiteOf<'_, A>, _: RecordRef, _: RequesterOf<A>) {}

    fn retire(_: &SiteOf<'_, A>, _: &GapOf<A>) -> bool {
        // SeqCst: the latch of the leaf comes before the look of its heir; pairs with the fence in `rely`.
        fence(Ordering::SeqCst);
        true
    }

    fn inherit(retired: &GapOf<A>, heir: &GapOf<A>) {
        ProtocolOf::<A>::inherit_gap(retired, heir);
    }
}

impl<A: Architecture<Protocol: Timestamping>> Txn<'_, A> {
    /// All that the transaction writes was accepted: keeps what it replaces, if that is kept, and installs and publishes its own.
    #[inline(always)]
    pub(super) fn install_accepted_writes(&mut self) {
        if ProtocolOf::<A>::KEEPS_VERSIONS {
            self.make_old_versions();
        }
        self.lock_accepted_writes();
        self.install_copies(|_, access, offset, bytes| {
            // SAFETY: the span was checked against the row; the transaction has locked the record, so it is the only writer.
            unsafe { access.record.row::<HeaderOf<A>>().copy_in_racing(offset, bytes) }
        });
        let by = self.time();
        for number in 0..self.write_set.len() {
            let position = self.write_set[number] as usize;
            let access = self.accesses[position];
            let to_be = match access.kind {
                Kind::Write | Kind::Insert => Presence::Present,
                Kind::Delete => Presence::Missing,
                Kind::Vanished | Kind::Read | Kind::Absent => continue,
            };
            self.architecture.post(access.partition, move |site| {
                ProtocolOf::<A>::publish(site.meta(access.record), to_be, by);
            });
            if to_be == Presence::Missing {
                self.leave_tomb(position, ProtocolOf::<A>::tombstone(by.time()));
            }
        }
    }

    /// Locks the rows that are about to be overwritten, and links what they were, and deleted ones, where that is kept.
    #[inline(always)]
    fn lock_accepted_writes(&mut self) {
        let mut made = 0;
        for number in 0..self.write_set.len() {
            let access = self.accesses[self.write_set[number] as usize];
            let (record, keeps) = (access.record, ProtocolOf::<A>::KEEPS_VERSIONS);
            if access.kind == Kind::Write || keeps && access.kind == Kind::Delete {
                let previous = if keeps { self.made_versions[made].version.to_bits() } else { 0 };
                made += 1;
                self.architecture.at(access.partition, move |site| {
                    ProtocolOf::<A>::lock(site.meta(record), previous);
                });
            }
        }
    }
}

/// What a step is asked to copy, in the client's memory.
struct Copying<'a> {
    table: TableId,
    partition: PartitionId,
    bound: Bound<&'a [u8]>,
    until: Option<&'a [u8]>,
    direction: Direction,
    most: usize,
    by: Halves,
    copy: &'a mut LeafCopy,
}

/// Copies the leaf at a bound, in whose gap the timestamp is before that.
fn copy_relied_on<A: Architecture<Protocol: Timestamping>>(site: &SiteOf<'_, A>, request: &mut Copying<'_>) {
    let tree = site.partition(request.table, request.partition).index.ordered();
    let bounds = (request.bound, request.until);
    tree.read_leaf_seeing(bounds, request.direction, request.most, request.copy, |leaf| {
        rely::<A>(site.leaf(leaf), request.by);
    });
}
