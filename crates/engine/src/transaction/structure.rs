//! Inserts and deletes.
//!
//! This is the text for hashed tables and what both kinds share; [`super::linking`] is that for ordered ones.
//!
//! An insert links its record at once, held or absent, so that every other transaction that wants the key meets it;
//! abort unlinks it again. A delete unlinks its record at commit. Unlinked records are marked deleted (a requester that still finds
//! them asks again) and retired to their epoch.

use super::access::{Access as _, AccessOf};
use super::access_set::{Access, Kind, Token};
use super::{HeaderOf, Place, Txn};
use crate::architecture::Architecture;
use crate::index::hash::Hash;
use crate::index::ordered::LeafRef;
use crate::index::{GapId, Linked};
use crate::protocol::GapMode;
use crate::record::RecordRef;
use crate::record::header::RecordHeader;
use crate::record::value::Word;
use crate::work;
use contract::{Abort, AbortReason, Insertion, Key, PartitionId, Presence, TableId};

/// What an attempt to link a new record came to; `None`: somebody was in the way, or was waited for.
pub(crate) type Attempted = Option<Linked<Option<Versions>>>;

/// What linking did to the tokens of gaps (optimistic protocols), or found there (timestamp ordering).
#[derive(Clone, Copy)]
pub(crate) struct Versions {
    /// The gap in which the key was missing, and its token before and after.
    pub gap: GapId,
    pub before: u64,
    pub after: u64,
    /// The leaf that has a part of its range now, and the token of its gap.
    pub fresh: Option<(LeafRef, u64)>,
}

impl<A: Architecture> Txn<'_, A> {
    pub(super) fn insert_row(&mut self, table: TableId, key: Key, row: &[u8]) -> Result<Insertion, Abort> {
        work::operation(row.len());
        let table = self.table(table);
        table.check_row(row.len());
        let place = self.place(table, key);
        let mut asked = 0;
        loop {
            // In the loop, because what is met below may become an entry of the access set.
            if let Some(position) = self.find_own(place) {
                return self.insert_own(position, row);
            }
            self.enter(place)?;
            if asked == 0 {
                self.fetch_to_link(place);
            }
            if A::LOCKS_PLANS && self.runs_ahead {
                return self.insert_ahead(place, row);
            }
            let attempted = self.link_row(place, row, asked)?;
            if let Some(Linked::Done(_)) = attempted {
                return Ok(Insertion::Inserted);
            }
            if let Some(Linked::Exists(met)) = attempted
                && AccessOf::<A>::met(self, place, met, asked)?
            {
                return Ok(Insertion::Exists);
            }
            asked += 1;
        }
    }

    /// Links a new record with this row, held by the transaction, unless the key is linked. `asked`: how often it was tried.
    fn link_row(&mut self, place: Place<'_>, row: &[u8], asked: u32) -> Result<Attempted, Abort> {
        let is_ordered = place.table.is_ordered();
        if !is_ordered {
            AccessOf::<A>::hold_bucket(self, place)?;
        }
        let record = self.new_record(place, row);
        let attempted = match is_ordered {
            true => AccessOf::<A>::link_in_order(self, place, record, asked),
            false => Ok(Some(self.link_by_hash(place, record))),
        };
        if let Ok(Some(Linked::Done(versions))) = attempted {
            self.add(place, record, Kind::Insert, None);
            if let Some(versions) = versions {
                AccessOf::<A>::heed(self, place, versions)?;
            }
        } else {
            // It was never linked, so that nobody has seen it.
            self.unmake_value_of(place.table, record);
            self.allocations.at(place.table.id, place.partition).records.put_back(record);
        }
        attempted
    }

    /// A record with this row that is not linked yet.
    pub(super) fn new_record(&mut self, place: Place<'_>, row: &[u8]) -> RecordRef {
        let arena = &place.table.partition(place.partition).arena;
        let record = self.allocations.at(place.table.id, place.partition).records.take(arena);
        record.initialise(HeaderOf::<A>::HEADER, self.prefix(place.table, place.key));
        if let Some(lineage) = record.lineage(&place.table.shape) {
            lineage.insert();
        }
        let mut word = Word::default();
        let row = self.in_record(place.table, row, &mut word);
        // SAFETY: the record is private until it is linked.
        unsafe { record.row::<HeaderOf<A>>().copy_in(0, row) };
        record
    }

    /// Links a new record into the bucket of its key.
    fn link_by_hash(&mut self, place: Place<'_>, record: RecordRef) -> Linked<Option<Versions>> {
        let who = self.next_requester(place.partition);
        let linked = self.architecture.at(place.partition, move |site| {
            let index = place.table.partition(PartitionId(who.partition)).index.hashed();
            AccessOf::<A>::claim(site, record, who);
            index.link(place.hash, record, |bucket| AccessOf::<A>::linked(site, site.bucket(bucket), record))
        });
        let gap = GapId::Bucket(place.hash);
        linked.map(|advanced| advanced.map(|(before, after)| Versions { gap, before, after, fresh: None }))
    }

    /// The insert advanced the version of its gap. If the transaction relies on the version before, it relies on the new
    /// one now, and on what was split from the gap; if it relies on an older one, somebody else inserted.
    pub(super) fn heed_versions(&mut self, place: Place<'_>, versions: Versions) -> Result<(), Abort> {
        let Some(gap) = self.find_gap(place.gap(versions.gap)) else { return Ok(()) };
        if !AccessOf::<A>::is_same(self.gaps[gap].token, Token(versions.before)) {
            return Err(self.poison(AbortReason::Phantom));
        }
        self.gaps[gap].token = Token(versions.after);
        if let Some((fresh, token)) = versions.fresh {
            self.add_gap(place.gap(GapId::Leaf(fresh)), GapMode::Shared, Token(token));
        }
        Ok(())
    }

    fn insert_own(&mut self, position: usize, row: &[u8]) -> Result<Insertion, Abort> {
        match self.accesses[position].kind {
            Kind::Read | Kind::Write | Kind::Insert => return Ok(Insertion::Exists),
            Kind::Absent => {
                AccessOf::<A>::revive(self, position)?;
                let access = &mut self.accesses[position];
                (access.kind, access.is_revived) = (Kind::Write, true);
                self.write_set.push(position as u32);
                self.put_row(position, row);
            }
            Kind::Vanished => {
                self.accesses[position].kind = Kind::Insert;
                self.put_row(position, row);
            }
            Kind::Delete => {
                // The record is still linked and held: the new row goes into it.
                self.accesses[position].kind = Kind::Write;
                self.put_row(position, row);
            }
        }
        Ok(Insertion::Inserted)
    }

    pub(super) fn delete_row(&mut self, table: TableId, key: Key) -> Result<Presence, Abort> {
        work::operation(0);
        let place = self.place(self.table(table), key);
        let Some(position) = self.find_any_to_write(place)? else { return Ok(Presence::Missing) };
        let kind = &mut self.accesses[position].kind;
        *kind = if *kind == Kind::Insert { Kind::Vanished } else { Kind::Delete };
        self.deletes = true;
        Ok(Presence::Present)
    }

    /// Unlinks a record that the transaction holds, and retires its memory; by transaction `id`, or by an abort (0).
    pub(super) fn remove(&mut self, position: usize, id: u64) {
        let Access { record, partition, table, key, .. } = self.accesses[position];
        if self.table(table).is_ordered() {
            return self.remove_in_order(position, id);
        }
        let who = self.requester_of(position);
        self.architecture.at(partition, move |site| {
            let index = site.partition(table, PartitionId(who.partition)).index.hashed();
            index.unlink(Hash::of(key), record, |bucket| {
                AccessOf::<A>::unlinking(site, record, site.bucket(bucket), id);
            });
            AccessOf::<A>::unlinked(site, record, who);
        });
        self.retire_record(position);
    }

    /// Retires the memory of a record that was unlinked, and its value's.
    pub(super) fn retire_record(&mut self, position: usize) {
        self.retire_value_of(position);
        let Access { table, partition, record, .. } = self.accesses[position];
        self.allocations.retire(table, partition, record, self.epoch);
    }
}
