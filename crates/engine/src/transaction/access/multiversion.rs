//! Copies of the versions that were there when the transaction began, without a lock, validated at commit if it writes; private copies of
//! rows written, which are claimed when they are accessed, and installed at commit.
//!
//! Commit ([`crate::protocol::Hekaton`] tells why it is right): a transaction that has written nothing is done. Otherwise it applies merges,
//! draws its end, and looks whether all that it has read is still there then ([`super::super::claiming`]). Versions of what it
//! replaces are made and linked, and the rows locked, before the copies are copied in. Who finds a row locked knows the end from the record; so
//! once all are, the slot need tell it no longer.
//!
//! A delete leaves its record linked, as a tombstone ([`super::super::tombs`]). An insert of a key that has one claims it: its row is a
//! private copy as any other write's.

use super::super::access_set::{Kind, Token};
use super::super::scan::Cursor;
use super::super::structure::Attempted;
use super::super::visible::{Heeded, copy_own};
use super::super::{Blind, HeaderOf, Place, ProtocolOf, RequesterOf, Txn};
use super::{Access, Advanced, GapOf};
use crate::architecture::{Architecture, SiteOf};
use crate::protocol::{Answer, Claiming, Mode, Versioning};
use crate::record::RecordRef;
use contract::{Abort, CommitId, Presence, Scan, Span};

/// See the module.
pub(crate) struct Multiversion;

impl<A: Architecture<Protocol: Claiming>> Access<A> for Multiversion {
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
        let Some((record, token)) = txn.read_at_begin(place, span)? else { return Ok(Presence::Missing) };
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
        let Some(position) = txn.find_and_claim(place)? else { return Ok(Presence::Missing) };
        let bytes = txn.reserve_copy(span);
        txn.copy_own_into_log(txn.accesses[position].record, span, bytes);
        txn.change_copy(position, span, bytes, change);
        Ok(Presence::Present)
    }

    #[inline(always)]
    fn find_to_write(txn: &mut Txn<'_, A>, place: Place<'_>) -> Result<Option<usize>, Abort> {
        txn.find_and_claim(place)
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
            let answer = txn.copy_of_begin(record, span);
            if answer == Answer::Unlinked {
                // Its key is missing, and if it is linked again, the leaf's token tells.
                return Ok(Presence::Missing);
            }
            match txn.heed_answer(record, answer, &mut asked)? {
                Heeded::Granted(Presence::Missing, token) => {
                    txn.add(place, record, Kind::Absent, Some(token));
                    return Ok(Presence::Missing);
                }
                Heeded::Granted(Presence::Present, token) => {
                    txn.add(place, record, Kind::Read, Some(token));
                    see(txn.copied(span));
                    return Ok(Presence::Present);
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
        assert!(txn.copy_version(access.record, seen, span), "what was seen is there, or was kept");
        see(txn.copied(span));
        Ok(())
    }

    fn upgrade(txn: &mut Txn<'_, A>, position: usize) -> Result<(), Abort> {
        txn.claim_seen(position, Presence::Present)
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
        // It is advanced once the record is linked.
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

    fn met(txn: &mut Txn<'_, A>, place: Place<'_>, record: RecordRef, mut asked: u32) -> Result<bool, Abort> {
        let answer = txn.look_at_begin(record);
        match txn.heed_answer(record, answer, &mut asked)? {
            Heeded::Granted(Presence::Present, token) => {
                txn.add(place, record, Kind::Read, Some(token));
                Ok(true)
            }
            // To be claimed, if it is not another's.
            Heeded::Granted(Presence::Missing, token) => {
                txn.add(place, record, Kind::Absent, Some(token));
                Ok(false)
            }
            Heeded::Again => Ok(false),
        }
    }

    fn revive(txn: &mut Txn<'_, A>, position: usize) -> Result<(), Abort> {
        txn.claim_seen(position, Presence::Missing)
    }

    fn copy_leaf(
        txn: &mut Txn<'_, A>,
        scan: &Scan<'_>,
        cursor: &mut Cursor,
        most: usize,
    ) -> Result<(), Abort> {
        // The token before the leaf is read: an insert between the two is seen, and advances the token.
        let token = txn.copy_leaf(scan, cursor, most, |leaf| {
            // SAFETY: any thread may observe, by the contract of `Claiming`.
            ProtocolOf::<A>::observe_gap(unsafe { leaf.meta::<GapOf<A>>() })
        });
        // What was observed before stays what must be there.
        txn.observe_leaf(scan, cursor, Token(token));
        Ok(())
    }

    #[inline(always)]
    fn come_to(_: &mut Txn<'_, A>, _: &Scan<'_>, _: &mut [Cursor], _: usize, _: usize) -> Result<(), Abort> {
        Ok(())
    }

    #[inline(always)]
    fn prepare(txn: &mut Txn<'_, A>) -> Result<u64, Abort> {
        if txn.write_set.is_empty() {
            let begin = txn.time().time();
            txn.draw_epoch();
            txn.id = txn.ids.map(|_| CommitId(begin));
            return Ok(begin);
        }
        txn.apply_merges();
        txn.end_and_validate()
    }

    #[inline(always)]
    fn install(txn: &mut Txn<'_, A>, end: u64) {
        if txn.write_set.is_empty() {
            return;
        }
        txn.make_old_versions();
        txn.lock_claimed(end);
        txn.install_copies(|_, access, offset, bytes| {
            // SAFETY: the span was checked against the row; the transaction has locked the record, so it is the only writer.
            unsafe { access.record.row::<HeaderOf<A>>().copy_in_racing(offset, bytes) }
        });
        txn.publish_claimed(end);
        ProtocolOf::<A>::forget_end(txn.architecture.site().common, txn.slot);
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

    fn undo(txn: &mut Txn<'_, A>) {
        ProtocolOf::<A>::forget_end(txn.architecture.site().common, txn.slot);
    }

    fn abandon(txn: &mut Txn<'_, A>) {
        let slot = txn.slot;
        for number in 0..txn.write_set.len() {
            let super::super::access_set::Access { record, partition, .. } =
                txn.accesses[txn.write_set[number] as usize];
            txn.architecture.at(partition, move |site| ProtocolOf::<A>::abandon(site.meta(record), slot));
        }
        ProtocolOf::<A>::forget_end(txn.architecture.site().common, slot);
    }

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
        txn.allocations.reclaim_versions(reclaimable);
    }

    fn claim(site: &SiteOf<'_, A>, record: RecordRef, who: RequesterOf<A>) {
        ProtocolOf::<A>::claim_new(site.meta(record), site.request(who));
    }

    fn linked(_: &SiteOf<'_, A>, gap: &GapOf<A>, _: RecordRef) -> Advanced {
        Some(ProtocolOf::<A>::advance_gap(gap))
    }

    fn split(_: &GapOf<A>, fresh: &GapOf<A>) -> u64 {
        // Nobody has observed the fresh one, and any token of it will do.
        ProtocolOf::<A>::observe_gap(fresh)
    }

    fn unlinking(site: &SiteOf<'_, A>, record: RecordRef, _: &GapOf<A>, _: u64) {
        ProtocolOf::<A>::mark_deleted(site.meta(record));
    }

    fn unlinked(_: &SiteOf<'_, A>, _: RecordRef, _: RequesterOf<A>) {}

    fn retire(_: &SiteOf<'_, A>, gap: &GapOf<A>) -> bool {
        ProtocolOf::<A>::retire_gap(gap);
        true
    }

    fn inherit(_: &GapOf<A>, _: &GapOf<A>) {}
}

impl<A: Architecture<Protocol: Claiming>> Txn<'_, A> {
    /// Locks the rows that are about to be overwritten or deleted, links what they were, and tells them the end.
    #[inline(always)]
    fn lock_claimed(&mut self, end: u64) {
        let mut made = 0;
        for number in 0..self.write_set.len() {
            let access = self.accesses[self.write_set[number] as usize];
            if matches!(access.kind, Kind::Write | Kind::Delete) {
                let (record, previous) = (access.record, self.made_versions[made].version.to_bits());
                made += 1;
                self.architecture.at(access.partition, move |site| {
                    ProtocolOf::<A>::lock(site.meta(record), previous, end);
                });
            }
        }
    }

    /// What was claimed is as it will be. Those that were not locked are published before this is over: after that their claims look like
    /// those of a transaction that has not committed.
    #[inline(always)]
    fn publish_claimed(&mut self, end: u64) {
        for number in 0..self.write_set.len() {
            let position = self.write_set[number] as usize;
            let access = self.accesses[position];
            let (partition, record) = (access.partition, access.record);
            match access.kind {
                Kind::Insert => self.architecture.at(partition, move |site| {
                    ProtocolOf::<A>::publish(site.meta(record), Presence::Present, end);
                }),
                Kind::Write => self.architecture.post(partition, move |site| {
                    ProtocolOf::<A>::publish(site.meta(record), Presence::Present, end);
                }),
                Kind::Delete => {
                    self.architecture.post(partition, move |site| {
                        ProtocolOf::<A>::publish(site.meta(record), Presence::Missing, end);
                    });
                    self.leave_tomb(position, ProtocolOf::<A>::tombstone(end));
                }
                Kind::Vanished | Kind::Read | Kind::Absent => {}
            }
        }
    }
}
