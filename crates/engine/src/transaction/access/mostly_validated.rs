//! Copies of rows read without a lock and validated at commit, as under [`super::validated`], but that what is hot is locked before it is
//! read, until the transaction ends ([`super::super::protecting`]).
//!
//! Commit locks the write set, of which some is held already; validates what is not protected by a lock; installs, publishes, and gives
//! back what it has not written.

use super::super::scan::Cursor;
use super::super::structure::Attempted;
use super::super::{Blind, Place, RequesterOf, Txn};
use super::{Access, Advanced, Change, GapOf, See, Token, Validated};
use crate::architecture::{Architecture, SiteOf};
use crate::protocol::{Held, Mode, Protecting};
use crate::record::RecordRef;
use contract::{Abort, Presence, Scan, Span};

/// See the module.
pub(crate) struct MostlyValidated;

impl<A: Architecture<Protocol: Protecting>> Access<A> for MostlyValidated {
    const READS_WRITE_METADATA: bool = false;
    const WRITES_IN_PLACE: bool = false;
    const ENTRIES_ARE_LOCKS: bool = false;

    // What differs.

    #[inline(always)]
    fn protect(
        txn: &mut Txn<'_, A>,
        place: Place<'_>,
        record: RecordRef,
        mode: Mode,
        asked: u32,
    ) -> Result<bool, Abort> {
        txn.protect(place, record, mode, asked)
    }

    #[inline(always)]
    fn before_waiting(txn: &mut Txn<'_, A>, place: Place<'_>) {
        txn.give_back_from((place.table.id, place.key));
    }

    #[inline(always)]
    fn is_protected(txn: &Txn<'_, A>, position: usize) -> bool {
        matches!(txn.locks().of(position), Some(Held::Shared | Held::Exclusive))
    }

    #[inline(always)]
    fn is_invalid(txn: &mut Txn<'_, A>, position: usize) {
        txn.failed_on(position);
    }

    #[inline(always)]
    fn prepare(txn: &mut Txn<'_, A>) -> Result<u64, Abort> {
        txn.lock_write_set()?;
        let id = txn.choose_id_and_validate()?;
        txn.apply_merges();
        Ok(id)
    }

    #[inline(always)]
    fn release_all(txn: &mut Txn<'_, A>, id: u64) {
        txn.remove_deleted(id);
        txn.give_back_unwritten();
    }

    fn undo(txn: &mut Txn<'_, A>) {
        txn.give_back_all();
    }

    // What does not.

    #[inline(always)]
    fn read(
        txn: &mut Txn<'_, A>,
        place: Place<'_>,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        Validated::read(txn, place, span, see)
    }

    #[inline(always)]
    fn update(
        txn: &mut Txn<'_, A>,
        place: Place<'_>,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<Presence, Abort> {
        Validated::update(txn, place, span, change)
    }

    #[inline(always)]
    fn update_seeing(
        txn: &mut Txn<'_, A>,
        place: Place<'_>,
        change: (Span, Change<'_>),
        see: (Span, See<'_>),
    ) -> Result<Presence, Abort> {
        Validated::update_seeing(txn, place, change, see)
    }

    #[inline(always)]
    fn find_to_write(txn: &mut Txn<'_, A>, place: Place<'_>) -> Result<Option<usize>, Abort> {
        Validated::find_to_write(txn, place)
    }

    fn show(
        txn: &mut Txn<'_, A>,
        place: Place<'_>,
        record: RecordRef,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        Validated::show(txn, place, record, span, see)
    }

    fn read_again(
        txn: &mut Txn<'_, A>,
        position: usize,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<(), Abort> {
        Validated::read_again(txn, position, span, see)
    }

    fn upgrade(txn: &mut Txn<'_, A>, position: usize) -> Result<(), Abort> {
        // What is held `Shared` stays so until commit.
        Validated::upgrade(txn, position)
    }

    fn update_again(
        txn: &mut Txn<'_, A>,
        position: usize,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), Abort> {
        Validated::update_again(txn, position, span, change)
    }

    #[inline(always)]
    fn write_blind(txn: &mut Txn<'_, A>, position: usize, span: Span, blind: Blind<'_>) {
        Validated::write_blind(txn, position, span, blind);
    }

    fn hold_bucket(txn: &mut Txn<'_, A>, place: Place<'_>) -> Result<(), Abort> {
        Validated::hold_bucket(txn, place)
    }

    fn link_in_order(
        txn: &mut Txn<'_, A>,
        place: Place<'_>,
        record: RecordRef,
        asked: u32,
    ) -> Result<Attempted, Abort> {
        Validated::link_in_order(txn, place, record, asked)
    }

    fn met(txn: &mut Txn<'_, A>, place: Place<'_>, record: RecordRef, asked: u32) -> Result<bool, Abort> {
        Validated::met(txn, place, record, asked)
    }

    fn copy_leaf(
        txn: &mut Txn<'_, A>,
        scan: &Scan<'_>,
        cursor: &mut Cursor,
        most: usize,
    ) -> Result<(), Abort> {
        Validated::copy_leaf(txn, scan, cursor, most)
    }

    #[inline(always)]
    fn come_to(
        txn: &mut Txn<'_, A>,
        scan: &Scan<'_>,
        cursors: &mut [Cursor],
        first: usize,
        left: usize,
    ) -> Result<(), Abort> {
        Validated::come_to(txn, scan, cursors, first, left)
    }

    fn is_same(one: Token, other: Token) -> bool {
        <Validated as Access<A>>::is_same(one, other)
    }

    fn still_carries(txn: &Txn<'_, A>, record: RecordRef, seen: Token) -> bool {
        Validated::still_carries(txn, record, seen)
    }

    #[inline(always)]
    fn install(txn: &mut Txn<'_, A>, id: u64) {
        Validated::install(txn, id);
    }

    #[inline(always)]
    fn release(txn: &mut Txn<'_, A>, position: usize, mode: Mode) {
        Validated::release(txn, position, mode);
    }

    #[inline(always)]
    fn release_gaps(txn: &mut Txn<'_, A>) {
        Validated::release_gaps(txn);
    }

    fn claim(site: &SiteOf<'_, A>, record: RecordRef, who: RequesterOf<A>) {
        <Validated as Access<A>>::claim(site, record, who);
    }

    fn linked(site: &SiteOf<'_, A>, gap: &GapOf<A>, record: RecordRef) -> Advanced {
        <Validated as Access<A>>::linked(site, gap, record)
    }

    fn split(gap: &GapOf<A>, fresh: &GapOf<A>) -> u64 {
        <Validated as Access<A>>::split(gap, fresh)
    }

    fn unlinking(site: &SiteOf<'_, A>, record: RecordRef, gap: &GapOf<A>, id: u64) {
        <Validated as Access<A>>::unlinking(site, record, gap, id);
    }

    fn unlinked(site: &SiteOf<'_, A>, record: RecordRef, who: RequesterOf<A>) {
        <Validated as Access<A>>::unlinked(site, record, who);
    }

    fn retire(site: &SiteOf<'_, A>, gap: &GapOf<A>) -> bool {
        <Validated as Access<A>>::retire(site, gap)
    }

    fn inherit(retired: &GapOf<A>, heir: &GapOf<A>) {
        <Validated as Access<A>>::inherit(retired, heir);
    }
}
