//! Copies of rows read without a lock and validated at commit; private copies of rows written, locked at commit.
//!
//! Commit (*silo* 4.4; the protocol's file tells why it is right):
//! 1. lock every record of the write set;
//! 2. read the global epoch, the serialization point; choose the id, which follows all that was read and overwritten;
//! 3. validate every record that was read and every gap that was relied on. A token that has expired may be extended to the
//!    id, which is a write, and so a step at the record's partition.
//!
//! Where there are snapshots, versions of what is written are made before that ([`super::super::ahead`]).
//!
//! Then the copies are installed, and the id is published, which unlocks.
//!
//! Looks at metadata are not steps: they are taken from here, wherever the record's partition is.

use super::super::access_set::{self, Token};
use super::super::scan::Cursor;
use super::super::structure::Attempted;
use super::super::{Blind, HeaderOf, Kind, MetaOf, Place, ProtocolOf, RequesterOf, Txn, draw};
use super::{Access, AccessOf, Advanced, Change, GapOf, See};
use crate::architecture::{Architecture, SiteOf};
use crate::index::GapId;
use crate::protocol::{Mode, Observation, Preparing, Validating, Validity};
use crate::record::RecordRef;
use contract::{Abort, AbortReason, CommitId, PartitionId, Presence, Scan, Span, TableId, TimeClass};
use zerocopy::IntoBytes;

/// See the module.
pub(crate) struct Validated;

impl<A: Architecture<Protocol: Validating>> Access<A> for Validated {
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
        let Some((record, token)) = txn.observe_record(place, span)? else {
            return Ok(Presence::Missing);
        };
        txn.add(place, record, Kind::Read, Some(token));
        see(&txn.scratch.as_bytes()[span.start() % 8..][..span.length()]);
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
        let Some((record, token)) = txn.observe_into_log(place, span, bytes)? else {
            return Ok(Presence::Missing);
        };
        let position = txn.add(place, record, Kind::Write, Some(token));
        txn.make_version_ahead(position, token);
        txn.change_copy(position, span, bytes, change);
        Ok(Presence::Present)
    }

    #[inline(always)]
    fn update_seeing(
        txn: &mut Txn<'_, A>,
        place: Place<'_>,
        (span, change): (Span, Change<'_>),
        (shown, see): (Span, See<'_>),
    ) -> Result<Presence, Abort> {
        let bytes = txn.reserve_copy(span);
        let Some((record, token)) = txn.observe_into_log_seeing(place, span, bytes, shown)? else {
            return Ok(Presence::Missing);
        };
        see(&txn.scratch.as_bytes()[shown.start() % 8..][..shown.length()]);
        let position = txn.add(place, record, Kind::Write, Some(token));
        txn.make_version_ahead(position, token);
        txn.change_copy(position, span, bytes, change);
        Ok(Presence::Present)
    }

    #[inline(always)]
    fn find_to_write(txn: &mut Txn<'_, A>, place: Place<'_>) -> Result<Option<usize>, Abort> {
        // Blind: commit checks that the record is still there, not that it is unchanged.
        let Some((record, token)) = txn.observe_version(place)? else { return Ok(None) };
        let position = txn.add(place, record, Kind::Write, None);
        txn.make_version_ahead(position, token);
        Ok(Some(position))
    }

    fn show(
        txn: &mut Txn<'_, A>,
        place: Place<'_>,
        record: RecordRef,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        let Some(token) = txn.observe_met(place, record, span)? else { return Ok(Presence::Missing) };
        txn.add(place, record, Kind::Read, Some(token));
        see(&txn.scratch.as_bytes()[span.start() % 8..][..span.length()]);
        Ok(Presence::Present)
    }

    fn read_again(
        txn: &mut Txn<'_, A>,
        position: usize,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<(), Abort> {
        if txn.accesses[position].kind == Kind::Write {
            return txn.see_composed(position, span, see, copy_relied_on);
        }
        let access = txn.accesses[position];
        let seen = access.token.expect("a read has a token");
        if !txn.copy_again(access.record, span, seen) {
            AccessOf::<A>::is_invalid(txn, position);
            return Err(txn.poison(AbortReason::ReadValidation));
        }
        see(&txn.scratch.as_bytes()[span.start() % 8..][..span.length()]);
        Ok(())
    }

    fn upgrade(txn: &mut Txn<'_, A>, position: usize) -> Result<(), Abort> {
        let seen = txn.accesses[position].token.expect("a read has a token");
        txn.make_version_ahead(position, seen);
        Ok(())
    }

    fn update_again(
        txn: &mut Txn<'_, A>,
        position: usize,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), Abort> {
        txn.change_composed(position, span, change, copy_relied_on)
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

    fn met(txn: &mut Txn<'_, A>, place: Place<'_>, record: RecordRef, asked: u32) -> Result<bool, Abort> {
        match txn.look(record) {
            Observation::Present(token) => {
                txn.add(place, record, Kind::Read, Some(Token(token)));
                Ok(true)
            }
            // Another's insert, not yet committed.
            Observation::Absent(_) => Err(txn.poison(AbortReason::Conflict)),
            Observation::Locked if !txn.readers_wait => Err(txn.poison(AbortReason::Conflict)),
            Observation::Locked | Observation::Unlinked => {
                AccessOf::<A>::before_waiting(txn, place);
                txn.pause(asked);
                Ok(false)
            }
        }
    }

    fn copy_leaf(
        txn: &mut Txn<'_, A>,
        scan: &Scan<'_>,
        cursor: &mut Cursor,
        most: usize,
    ) -> Result<(), Abort> {
        // The token before the leaf is read: an insert between the two is seen, and advances the token.
        let token = txn.copy_leaf(scan, cursor, most, |leaf| {
            // SAFETY: any thread may observe, by the contract of `Validating`.
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

    fn is_same(one: Token, other: Token) -> bool {
        ProtocolOf::<A>::is_same(one.0, other.0)
    }

    fn still_carries(txn: &Txn<'_, A>, record: RecordRef, Token(seen): Token) -> bool {
        // Nothing is extended: who holds a record that it writes has it at its last version.
        ProtocolOf::<A>::validate(txn.watched(record), seen, true, &txn.state, 0) == Validity::Valid
    }

    fn locks_all_it_touched(txn: &Txn<'_, A>) -> bool {
        let is_locked = |access: &access_set::Access| !matches!(access.kind, Kind::Read | Kind::Absent);
        txn.gaps.is_empty() && txn.accesses.iter().all(is_locked)
    }

    fn lock(txn: &mut Txn<'_, A>) -> Result<(), Abort> {
        txn.prepare_write_set()
    }

    #[inline(always)]
    fn prepare(txn: &mut Txn<'_, A>) -> Result<u64, Abort> {
        if ProtocolOf::<A>::LATCHES_READS {
            txn.add_read_set();
        }
        txn.prepare_write_set()?;
        let id = txn.choose_id_and_validate()?;
        if ProtocolOf::<A>::LATCHES_READS {
            txn.unlatch_read_set();
        }
        txn.apply_merges();
        Ok(id)
    }

    #[inline(always)]
    fn install(txn: &mut Txn<'_, A>, id: u64) {
        txn.install_copies(|_, access, offset, bytes| {
            // SAFETY: the span was checked against the row; the transaction holds the record, so it is the only writer.
            unsafe { access.record.row::<HeaderOf<A>>().copy_in_racing(offset, bytes) }
        });
        for number in 0..txn.write_set.len() {
            let access = txn.accesses[txn.write_set[number] as usize];
            if matches!(access.kind, Kind::Write | Kind::Insert) {
                txn.architecture.post(access.partition, move |site| {
                    ProtocolOf::<A>::publish(site.meta(access.record), id);
                });
            }
        }
    }

    #[inline(always)]
    fn release_all(txn: &mut Txn<'_, A>, id: u64) {
        txn.remove_deleted(id);
    }

    fn undo(txn: &mut Txn<'_, A>) {
        txn.unprepare_write_set();
    }

    #[inline(always)]
    fn release(_: &mut Txn<'_, A>, _: usize, _: Mode) {}

    #[inline(always)]
    fn release_gaps(_: &mut Txn<'_, A>) {}

    fn claim(site: &SiteOf<'_, A>, record: RecordRef, _: RequesterOf<A>) {
        ProtocolOf::<A>::claim(site.meta(record));
    }

    fn linked(site: &SiteOf<'_, A>, gap: &GapOf<A>, record: RecordRef) -> Advanced {
        Some(ProtocolOf::<A>::advance_gap(gap, site.meta(record)))
    }

    fn split(gap: &GapOf<A>, fresh: &GapOf<A>) -> u64 {
        ProtocolOf::<A>::split_gap(gap, fresh);
        ProtocolOf::<A>::observe_gap(fresh)
    }

    fn unlinking(site: &SiteOf<'_, A>, record: RecordRef, gap: &GapOf<A>, id: u64) {
        ProtocolOf::<A>::mark_deleted(site.meta(record), gap, id);
    }

    fn unlinked(_: &SiteOf<'_, A>, _: RecordRef, _: RequesterOf<A>) {}

    fn retire(_: &SiteOf<'_, A>, gap: &GapOf<A>) -> bool {
        ProtocolOf::<A>::retire_gap(gap);
        true
    }

    fn inherit(retired: &GapOf<A>, heir: &GapOf<A>) {
        ProtocolOf::<A>::inherit_gap(retired, heir);
    }
}

/// Copies a part of the committed row into the scratch buffer. A blind writer that now reads depends on its version from here on.
fn copy_relied_on<A: Architecture<Protocol: Validating>>(
    txn: &mut Txn<'_, A>,
    position: usize,
    part: Span,
) -> Result<(), Abort> {
    let access = txn.accesses[position];
    let token = match access.token {
        Some(token) => Some(token),
        None => match txn.look(access.record) {
            Observation::Present(token) => Some(Token(token)),
            _ => None,
        },
    };
    match token {
        Some(seen) if txn.copy_again(access.record, part, seen) => {
            txn.accesses[position].token = Some(seen);
            Ok(())
        }
        _ => {
            AccessOf::<A>::is_invalid(txn, position);
            Err(txn.poison(AbortReason::ReadValidation))
        }
    }
}

impl<A: Architecture<Protocol: Validating>> Txn<'_, A> {
    /// A record's metadata, for a look.
    #[inline(always)]
    pub(in super::super) fn watched(&self, record: RecordRef) -> &MetaOf<A> {
        // SAFETY: any thread may look, by the contract of `Validating`; the record lives as long as the tables.
        unsafe { record.meta::<HeaderOf<A>, MetaOf<A>>() }
    }

    /// What a record looks like.
    #[inline(always)]
    pub(in super::super) fn look(&self, record: RecordRef) -> Observation {
        ProtocolOf::<A>::observe(self.watched(record))
    }

    /// A gap's metadata, for a look.
    pub(in super::super) fn watched_gap(
        &self,
        table: TableId,
        partition: PartitionId,
        id: GapId,
    ) -> &GapOf<A> {
        // SAFETY: as in `watched`.
        unsafe { self.table(table).partition(partition).index.gap::<GapOf<A>>(id) }
    }

    /// Once the write set is locked: phase 2.
    #[inline(always)]
    pub(super) fn choose_id_and_validate(&mut self) -> Result<u64, Abort> {
        let epoch = self.serialization_point();
        self.commits_in(epoch);
        self.stopwatch.enter(TimeClass::Timestamp);
        let id = self.choose_id(epoch);
        if ProtocolOf::<A>::EXPIRES {
            // Logical time is the order.
            self.id = self.ids.map(|_| CommitId(id));
        } else {
            self.draw_id();
        }
        self.stopwatch.enter(TimeClass::Manager);
        self.validate(id)?;
        Ok(id)
    }

    /// The smallest id that follows all that was read and overwritten.
    #[inline(always)]
    fn choose_id(&mut self, epoch: u64) -> u64 {
        if self.write_set.is_empty() && !ProtocolOf::<A>::EXPIRES {
            return 0;
        }
        let read = self.accesses.iter().filter_map(|access| access.token);
        let read = read.map(|token| ProtocolOf::<A>::after_read(token.0));
        let relied_on = self.gaps.iter().map(|gap| ProtocolOf::<A>::after_gap(gap.token.0));
        let written = self.write_set.iter().map(|&position| {
            ProtocolOf::<A>::after_write(self.watched(self.accesses[position as usize].record))
        });
        let least = read.chain(relied_on).chain(written).fold(0, u64::max);
        let Txn { architecture, stopwatch, draws, state, .. } = self;
        ProtocolOf::<A>::transaction_id(state, least, epoch, || draw(architecture, stopwatch, draws))
    }

    /// What was read is to be prepared, too.
    fn add_read_set(&mut self) {
        let accesses = 0..self.accesses.len();
        let read = accesses.filter(|&position| self.accesses[position].kind == Kind::Read);
        self.write_set.extend(read.map(|position| position as u32));
    }

    /// All that was read is valid, so that the transaction comes before whoever writes it from now on.
    fn unlatch_read_set(&mut self) {
        for number in 0..self.write_set.len() {
            let position = self.write_set[number] as usize;
            let access_set::Access { record, kind, partition, .. } = self.accesses[position];
            if kind == Kind::Read {
                let who = self.requester_of(position);
                self.architecture.post(partition, move |site| {
                    ProtocolOf::<A>::unprepare(site.meta(record), false, site.request(who));
                });
            }
        }
        let accesses = &self.accesses;
        self.write_set.retain(|&position| accesses[position as usize].kind != Kind::Read);
        self.prepared = self.write_set.len();
    }

    /// Whether all that was read is what it was, and will be until `id`.
    #[inline(always)]
    fn validate(&mut self, id: u64) -> Result<(), Abort> {
        for position in 0..self.accesses.len() {
            let access = &self.accesses[position];
            let (record, partition) = (access.record, access.partition);
            let mine = match access.kind {
                Kind::Read => ProtocolOf::<A>::LATCHES_READS,
                kind => kind != Kind::Absent,
            };
            let Some(Token(token)) = access.token else { continue };
            if AccessOf::<A>::is_protected(self, position) {
                continue;
            }
            let holds = match ProtocolOf::<A>::validate(self.watched(record), token, mine, &self.state, id) {
                Validity::Valid => true,
                Validity::Invalid => false,
                Validity::Expired => self
                    .architecture
                    .at(partition, move |site| ProtocolOf::<A>::extend(site.meta(record), token, id)),
            };
            if !holds {
                AccessOf::<A>::is_invalid(self, position);
                return Err(self.poison(AbortReason::ReadValidation));
            }
        }
        for number in 0..self.gaps.len() {
            let super::super::Gap { table, partition, id: gap, token: Token(token), .. } = self.gaps[number];
            let state = self.watched_gap(table, partition, gap);
            let holds = match ProtocolOf::<A>::validate_gap(state, token, id) {
                Validity::Valid => true,
                Validity::Invalid => false,
                Validity::Expired => self.architecture.at(partition, move |site| {
                    ProtocolOf::<A>::extend_gap(site.gap(table, partition, gap), token, id)
                }),
            };
            if !holds {
                return Err(self.poison(AbortReason::Phantom));
            }
        }
        Ok(())
    }
}
