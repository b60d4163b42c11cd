//! How transactions access records, one module each; a protocol picks one ([`Protocol::Access`]).
//!
//! | file | reads | writes |
//! |---|---|---|
//! | [`alone`] | in place, holding nothing | in place |
//! | [`planned`] | in place, under a lock that it has had since it began | in place, likewise |
//! | [`locked`] | in place, under a lock | in place, under a lock |
//! | [`certified`] | in place, under a lock | a private copy, installed once readers are excluded |
//! | [`single`] | a copy, without a lock; one record a transaction | a private copy, under a latch until commit |
//! | [`timestamped`] | a copy, granted by the transaction's timestamp | a private copy, granted in the same way, installed at commit |
//! | [`multiversion`] | a copy of the version that was there when the transaction began, without a lock, validated at commit if it writes | a private copy, claimed when it is accessed, installed at commit |
//! | [`validated_by_time`] | a copy of the version that the transaction's timestamp is shown, asked for by that at commit | a private copy, asked for in the same way at commit |
//! | [`validated`] | a copy, without a lock, validated at commit | a private copy, locked at commit |
//! | [`mostly_validated`] | the same, of what is hot under a lock | the same |
//!
//! What two of them share stands beside: [`super::locking`] and [`super::gaps`] for locks, [`super::in_place`] for writes in place,
//! [`super::copies`] for private ones, [`super::observing`] for reads without locks, [`super::protecting`] for locks beside them, [`super::timestamping`]
//! for requests by timestamps, [`super::claiming`] for looks by timestamps and claims, [`super::visible`] for what either finds, [`super::looking`] for looks before requests.
//!
//! Some verbs are parts of steps, and run where the metadata may be touched: they are given a site.

mod alone;
mod certified;
mod locked;
mod mostly_validated;
mod multiversion;
mod planned;
mod single;
mod timestamped;
mod validated;
mod validated_by_time;

pub(crate) use alone::Alone;
pub(crate) use certified::Certified;
pub(crate) use locked::Locked;
pub(crate) use mostly_validated::MostlyValidated;
pub(crate) use multiversion::Multiversion;
pub(crate) use planned::Planned;
pub(crate) use single::Single;
pub(crate) use timestamped::Timestamped;
pub(crate) use validated::Validated;
pub(crate) use validated_by_time::ValidatedByTime;

use super::access_set::Token;
use super::scan::Cursor;
use super::structure::{Attempted, Versions};
use super::{Blind, Place, ProtocolOf, RequesterOf, Txn};
use crate::architecture::{Architecture, SiteOf};
use crate::protocol::{Mode, Protocol};
use crate::record::RecordRef;
use crate::storage::Table;
use contract::{Abort, AbortReason, Plan, Presence, Scan, SnapshotPlace, Span};

/// The way of access of an architecture's protocol.
pub(super) type AccessOf<A> = <ProtocolOf<A> as Protocol>::Access<A>;
/// The metadata of its gaps.
pub(crate) type GapOf<A> = <ProtocolOf<A> as Protocol>::Gap<<A as Architecture>::Physical>;

/// What linking did to a gap's token, before and after (optimistic protocols); or which timestamp it has found there (timestamp ordering).
pub(crate) type Advanced = Option<(u64, u64)>;

/// What changes bytes of a row.
pub(crate) type Change<'a> = &'a mut dyn FnMut(&mut [u8]);
/// What is shown bytes of a row.
pub(crate) type See<'a> = &'a mut dyn FnMut(&[u8]);

/// How transactions access records.
pub(crate) trait Access<A: Architecture>: Sized {
    /// Whether a read writes the record's metadata, too.
    const READS_WRITE_METADATA: bool;
    /// Whether a write goes to the row before commit.
    const WRITES_IN_PLACE: bool;
    /// Whether a record or a gap that has an entry is locked until the transaction ends.
    const ENTRIES_ARE_LOCKS: bool;

    /// Whether somebody who holds nothing may copy a row while it is written, and is told so.
    const TELLS_OF_WRITING: bool = false;

    /// The transaction begins: asks for all that it is known to touch, where that is asked for at once.
    #[inline(always)]
    fn request_known(_: &mut Txn<'_, A>, _: &Plan) {}

    /// The transaction has ended, and has released what it held.
    #[inline(always)]
    fn leave(_: &mut Txn<'_, A>) {}

    // Records that the transaction touches for the first time.

    /// Shows bytes of a row.
    fn read(
        txn: &mut Txn<'_, A>,
        place: Place<'_>,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort>;

    /// Reads and writes bytes of a row.
    fn update(
        txn: &mut Txn<'_, A>,
        place: Place<'_>,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<Presence, Abort>;

    /// The same, and shows other bytes as they were before; here by what is there for the two.
    fn update_seeing(
        txn: &mut Txn<'_, A>,
        place: Place<'_>,
        (span, change): (Span, Change<'_>),
        (shown, see): (Span, See<'_>),
    ) -> Result<Presence, Abort> {
        if span.overlaps(shown) {
            let all = span.with(shown);
            return Self::update(txn, place, all, &mut |bytes| {
                see(&bytes[shown.within(all)]);
                change(&mut bytes[span.within(all)]);
            });
        }
        match Self::update(txn, place, span, change)? {
            // None of them has changed.
            Presence::Present => txn.read_span::<false>(txn.table(place.table.id), place.key, shown, see),
            Presence::Missing => Ok(Presence::Missing),
        }
    }

    /// An entry for a row that is to be written without having been read; `None`: there is none.
    fn find_to_write(txn: &mut Txn<'_, A>, place: Place<'_>) -> Result<Option<usize>, Abort>;

    /// Shows bytes of a row that a scan has met.
    fn show(
        txn: &mut Txn<'_, A>,
        place: Place<'_>,
        record: RecordRef,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort>;

    // Records that it has read or written, not inserted.

    /// Shows bytes as the transaction sees them.
    fn read_again(
        txn: &mut Txn<'_, A>,
        position: usize,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<(), Abort>;

    /// Makes a record that was read one that may be written.
    fn upgrade(txn: &mut Txn<'_, A>, position: usize) -> Result<(), Abort>;

    /// Reads and writes bytes of a record that may be written.
    fn update_again(
        txn: &mut Txn<'_, A>,
        position: usize,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), Abort>;

    /// Changes bytes of a record that may be written.
    fn write_blind(txn: &mut Txn<'_, A>, position: usize, span: Span, blind: Blind<'_>);

    // Inserts, deletes and scans.

    /// Before a record is linked into the bucket of its key.
    fn hold_bucket(txn: &mut Txn<'_, A>, place: Place<'_>) -> Result<(), Abort>;

    /// Links a record in order, unless the key is linked. `asked`: how often it was tried.
    fn link_in_order(
        txn: &mut Txn<'_, A>,
        place: Place<'_>,
        record: RecordRef,
        asked: u32,
    ) -> Result<Attempted, Abort>;

    /// The key to insert is linked: `true` if it has a row, which the transaction relies on from now on; `false`: try
    /// again.
    fn met(txn: &mut Txn<'_, A>, place: Place<'_>, record: RecordRef, asked: u32) -> Result<bool, Abort>;

    /// Copies the leaf at which a cursor is.
    fn copy_leaf(
        txn: &mut Txn<'_, A>,
        scan: &Scan<'_>,
        cursor: &mut Cursor,
        most: usize,
    ) -> Result<(), Abort>;

    /// A scan, which may show `left` rows more, has come to the head of its cursor `first`.
    fn come_to(
        txn: &mut Txn<'_, A>,
        scan: &Scan<'_>,
        cursors: &mut [Cursor],
        first: usize,
        left: usize,
    ) -> Result<(), Abort>;

    /// A scan has come to the end of its range.
    #[inline(always)]
    fn come_to_end(_: &mut Txn<'_, A>, _: &Scan<'_>) -> Result<(), Abort> {
        Ok(())
    }

    /// Whether two tokens of a gap name the same state.
    fn is_same(one: Token, other: Token) -> bool {
        one == other
    }

    // Locks beside reads that are validated.

    /// A record was found that the transaction will read, and write if `mode` says so, and be its next entry: locks it if it is hot.
    /// `false`: somebody was in the way and has been waited for a little (`asked`: how often before), look the key up again.
    #[inline(always)]
    fn protect(_: &mut Txn<'_, A>, _: Place<'_>, _: RecordRef, _: Mode, _asked: u32) -> Result<bool, Abort> {
        Ok(true)
    }

    /// The transaction is about to wait for a record that another has locked.
    #[inline(always)]
    fn before_waiting(_: &mut Txn<'_, A>, _: Place<'_>) {}

    /// Whether an entry is locked since it was read, so that it is valid.
    #[inline(always)]
    fn is_protected(_: &Txn<'_, A>, _position: usize) -> bool {
        false
    }

    /// An entry was found invalid.
    #[inline(always)]
    fn is_invalid(_: &mut Txn<'_, A>, _position: usize) {}

    /// A record was linked, and has an entry: what that means to the transaction.
    fn heed(txn: &mut Txn<'_, A>, place: Place<'_>, versions: Versions) -> Result<(), Abort> {
        txn.heed_versions(place, versions)
    }

    /// Makes an entry for a record without a row one into which a row is to be inserted.
    fn revive(txn: &mut Txn<'_, A>, _: usize) -> Result<(), Abort> {
        // Another's insert was there, not yet committed, when this transaction found the key missing.
        Err(txn.poison(AbortReason::Conflict))
    }

    /// Between transactions: unlinks what deletes have left linked, as far as their epochs have passed.
    #[inline(always)]
    fn unlink_tombs(_: &mut Txn<'_, A>) {}

    /// Between transactions: frees versions that were replaced at epoch `reclaimable` or before, or what else says that nobody looks for them.
    #[inline(always)]
    fn free_old_versions(_: &mut Txn<'_, A>, _: u64) {}

    // What is told of timestamps.

    /// An attempt of a transaction is about to draw its timestamp.
    #[inline(always)]
    fn before_drawing(_: &mut Txn<'_, A>) {}

    /// It has drawn it.
    #[inline(always)]
    fn drawn(_: &Txn<'_, A>) {}

    /// The slot is in no epoch from now on.
    #[inline(always)]
    fn rests(_: &Txn<'_, A>) {}

    // Snapshots.

    /// Whether the protocol's own versions make snapshots, and not those of the store.
    #[inline(always)]
    fn has_own_snapshots(_: &Txn<'_, A>) -> bool {
        false
    }

    /// Begins to read the newest snapshot; its number.
    fn begin_snapshot(txn: &Txn<'_, A>) -> u64 {
        txn.begin_snapshot_of_store()
    }

    /// It was read; the last epoch of what it shows.
    fn end_snapshot(txn: &Txn<'_, A>) -> u64 {
        txn.end_snapshot_of_store()
    }

    /// Shows bytes of a record's row as the snapshot has it; whether it has one.
    fn show_of_snapshot(
        txn: &mut Txn<'_, A>,
        table: &Table,
        record: RecordRef,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> bool {
        txn.show_of_store_snapshot(table, record, span, see)
    }

    /// Where the transaction that has committed stands among the snapshots, if there are any.
    #[inline(always)]
    fn snapshot_place(txn: &Txn<'_, A>) -> Option<SnapshotPlace> {
        txn.place_among_snapshots_of_store()
    }

    // Commit and abort.

    /// Whether a record that the transaction holds is still what it has seen with this token (optimistic protocols).
    fn still_carries(_: &Txn<'_, A>, _: RecordRef, _: Token) -> bool {
        false
    }

    /// Whether the transaction, once it is prepared, has locked all that it has touched, so that all is until it is decided what it was then.
    fn locks_all_it_touched(_: &Txn<'_, A>) -> bool {
        Self::ENTRIES_ARE_LOCKS
    }

    /// Excludes others from what was written, where that is not so since it was: the first part of [`Access::prepare`], which does the rest.
    #[inline(always)]
    fn lock(_: &mut Txn<'_, A>) -> Result<(), Abort> {
        Ok(())
    }

    /// Makes sure that the transaction can commit, and chooses the id of the versions that it writes.
    fn prepare(txn: &mut Txn<'_, A>) -> Result<u64, Abort>;

    /// Makes what the transaction wrote that of transaction `id`; others may see it from now on.
    fn install(txn: &mut Txn<'_, A>, id: u64);

    /// Removes what the transaction has deleted, and releases what it holds, newest first.
    fn release_all(txn: &mut Txn<'_, A>, id: u64);

    /// Undoes what the transaction has done to rows, and what it has prepared.
    fn undo(txn: &mut Txn<'_, A>);

    /// The transaction has panicked while it committed, and is about to be forgotten: nobody is to rely on what becomes of its slot for what
    /// it still holds.
    fn abandon(_: &mut Txn<'_, A>) {}

    /// Releases what is held of a record.
    fn release(txn: &mut Txn<'_, A>, position: usize, mode: Mode);

    /// Releases what is held of gaps, newest first.
    fn release_gaps(txn: &mut Txn<'_, A>);

    // Parts of steps.

    /// A row is about to be written in place.
    #[inline(always)]
    fn begin_to_write(_: &SiteOf<'_, A>, _: RecordRef) {}

    /// It was.
    #[inline(always)]
    fn end_to_write(_: &SiteOf<'_, A>, _: RecordRef) {}

    /// A record is about to be linked.
    fn claim(site: &SiteOf<'_, A>, record: RecordRef, who: RequesterOf<A>);

    /// A record was linked into a gap, whose latch is held.
    fn linked(site: &SiteOf<'_, A>, gap: &GapOf<A>, record: RecordRef) -> Advanced;

    /// A part of a gap's range is `fresh`'s from now on, which nobody can reach yet. Answers the token of `fresh`.
    fn split(gap: &GapOf<A>, fresh: &GapOf<A>) -> u64;

    /// A record is about to be unlinked from a gap, whose latch is held, by transaction `id`, or by an abort (0).
    fn unlinking(site: &SiteOf<'_, A>, record: RecordRef, gap: &GapOf<A>, id: u64);

    /// A record was unlinked.
    fn unlinked(site: &SiteOf<'_, A>, record: RecordRef, who: RequesterOf<A>);

    /// Whether a leaf may leave its index; its gap is taken for ever then.
    fn retire(site: &SiteOf<'_, A>, gap: &GapOf<A>) -> bool;

    /// The range of a gap that was retired is `heir`'s from now on.
    fn inherit(retired: &GapOf<A>, heir: &GapOf<A>);
}
