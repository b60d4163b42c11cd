//! Inserts and deletes.
//!
//! This is the text for hashed tables and what both kinds share; [`super::linking`] is that for ordered ones.
//!
//! An insert links its record at once, held or absent, so that every other transaction that wants the key meets it;
//! abort unlinks it again. A delete unlinks its record at commit. Unlinked records are marked deleted (whoever still finds
//! them asks again) and retired to their epoch.

use super::access_set::{Access, Kind, Token};
use super::gaps::GapHeld;
use super::{MetaOf, Place, ProtocolOf, Txn};
use crate::architecture::Architecture;
use crate::index::GapId;
use crate::index::hash::{Hash, Linked};
use crate::protocol::{Mode, Observation, Protocol, Reads, Writes};
use crate::storage::RecordRef;
use crate::work;
use contract::{Abort, AbortReason, Insertion, Key, Presence, Span, TableId};

/// What an attempt to link a new record came to.
pub(super) enum Attempt {
    Linked(RecordRef, Option<Versions>),
    /// The key is linked.
    Met(RecordRef),
    /// Somebody was in the way.
    Again,
}

/// What linking did to the tokens of gaps (optimistic protocols).
#[derive(Clone, Copy)]
pub(super) struct Versions {
    /// The gap in which the key was missing, and its token before and after.
    pub gap: GapId,
    pub before: u64,
    pub after: u64,
    /// The gap that has a part of its range now, and its token.
    pub fresh: Option<(GapId, u64)>,
}

impl<A: Architecture> Txn<'_, A> {
    pub(super) fn insert_row(&mut self, table: TableId, key: Key, row: &[u8]) -> Result<Insertion, Abort> {
        work::operation(row.len());
        let description = &self.table(table).description;
        assert_eq!(
            row.len(),
            description.row_bytes,
            "an insert gives the whole row of table '{}'",
            description.name
        );
        let place = self.place(table, key);
        let mut asked = 0;
        loop {
            // In the loop, because what is met below may become an entry of the access set.
            if let Some(position) = self.find_own(place) {
                return self.insert_own(position, row);
            }
            self.enter(place)?;
            let attempt = match place.is_ordered {
                true => self.link_in_order(place, row, asked)?,
                false => self.link_by_hash(place, row)?,
            };
            match attempt {
                Attempt::Linked(record, versions) => {
                    self.add(place, record, Kind::Insert, None);
                    self.heed_versions(place, versions)?;
                    return Ok(Insertion::Inserted);
                }
                Attempt::Again => asked += 1,
                Attempt::Met(record) => {
                    if self.met(place, record, asked)? {
                        return Ok(Insertion::Exists);
                    }
                    asked += 1;
                }
            }
        }
    }

    /// A record with this row that is not linked yet, under the key that it keeps.
    pub(super) fn new_record(&mut self, place: Place, kept: Key, row: &[u8]) -> RecordRef {
        let arena = &self.table(place.table).arena;
        let record = self.allocations.at(place.table, place.partition).records.take(arena);
        record.initialise(kept);
        // SAFETY: the record is private until it is linked.
        unsafe { record.copy_in(0, row) };
        record
    }

    /// Takes back a record that was never linked, so that nobody has seen it.
    pub(super) fn put_back(&mut self, place: Place, record: RecordRef) {
        self.allocations.at(place.table, place.partition).records.put_back(record);
    }

    /// Links a new record with this row, held by the transaction, unless the key is linked.
    fn link_by_hash(&mut self, place: Place, row: &[u8]) -> Result<Attempt, Abort> {
        if ProtocolOf::<A>::READS == Reads::Locked {
            let gap = place.gap(GapId::Bucket(place.hash));
            let held = self.hold_gap(gap, Mode::Insert)?;
            assert!(held != GapHeld::Died, "buckets live for ever");
        }
        let record = self.new_record(place, place.key, row);
        let who = self.next_requester(place.partition);
        let (linked, versions) = self.architecture.at(place.partition, move |site| {
            let index = site.partition(place.table, place.partition).index.hashed();
            ProtocolOf::<A>::claim(site.common, record.meta::<MetaOf<A>>(), who);
            let mut versions = None;
            let linked = index.link(place.hash, record, |bucket| {
                if ProtocolOf::<A>::READS == Reads::Validated {
                    versions = Some(ProtocolOf::<A>::advance_gap(bucket.meta::<MetaOf<A>>()));
                }
            });
            (linked, versions)
        });
        match linked {
            Linked::Done => {
                let gap = GapId::Bucket(place.hash);
                let versions = versions.map(|(before, after)| Versions { gap, before, after, fresh: None });
                Ok(Attempt::Linked(record, versions))
            }
            Linked::Exists(met) => {
                self.put_back(place, record);
                Ok(Attempt::Met(met))
            }
        }
    }

    /// The insert advanced the version of its gap. If the transaction relies on the version before, it relies on the new
    /// one now, and on what was split from the gap; if it relies on an older one, somebody else inserted.
    fn heed_versions(&mut self, place: Place, versions: Option<Versions>) -> Result<(), Abort> {
        let Some(versions) = versions else { return Ok(()) };
        let Some(gap) = self.find_gap(place.gap(versions.gap)) else { return Ok(()) };
        if self.gaps[gap].token != Token(versions.before) {
            return Err(self.poison(AbortReason::Phantom));
        }
        self.gaps[gap].token = Token(versions.after);
        if let Some((fresh, token)) = versions.fresh {
            self.add_gap(place.gap(fresh), Mode::Shared, Token(token));
        }
        Ok(())
    }

    /// The key to insert is linked: `true` if it has a row, which the transaction relies on from now on; `false`: try
    /// again.
    fn met(&mut self, place: Place, record: RecordRef, asked: u32) -> Result<bool, Abort> {
        if ProtocolOf::<A>::READS == Reads::Alone {
            return Ok(true);
        }
        if ProtocolOf::<A>::READS == Reads::Locked {
            let granted = self.lock_found(place, record, asked)?;
            if granted {
                self.add(place, record, Kind::Read, None);
            }
            return Ok(granted);
        }
        match ProtocolOf::<A>::observe(record.meta::<MetaOf<A>>()) {
            Observation::Present(token) => {
                self.add(place, record, Kind::Read, Some(Token(token)));
                Ok(true)
            }
            // Another's insert, not yet committed.
            Observation::Absent(_) => Err(self.poison(AbortReason::Conflict)),
            Observation::Locked | Observation::Unlinked => {
                self.pause(asked);
                Ok(false)
            }
        }
    }

    fn insert_own(&mut self, position: usize, row: &[u8]) -> Result<Insertion, Abort> {
        let whole = Span::whole(row.len());
        match self.accesses[position].kind {
            Kind::Read | Kind::Write | Kind::Insert => return Ok(Insertion::Exists),
            // Another's insert was there, not yet committed, when this transaction found the key missing.
            Kind::Absent => return Err(self.poison(AbortReason::Conflict)),
            Kind::Vanished => {
                self.accesses[position].kind = Kind::Insert;
                self.change_in_place(position, whole, &mut |bytes| bytes.copy_from_slice(row));
            }
            Kind::Delete => {
                // The record is still linked and held: the new row goes into it.
                self.accesses[position].kind = Kind::Write;
                if ProtocolOf::<A>::WRITES == Writes::InPlace {
                    self.save(position, whole);
                    self.change_in_place(position, whole, &mut |bytes| bytes.copy_from_slice(row));
                } else {
                    self.log_blind(position, whole, super::Blind::Replace(row));
                }
            }
        }
        Ok(Insertion::Inserted)
    }

    pub(super) fn delete_row(&mut self, table: TableId, key: Key) -> Result<Presence, Abort> {
        work::operation(0);
        let place = self.place(table, key);
        let position = match self.find_own(place) {
            Some(position) => match self.make_writable(position)? {
                Presence::Missing => return Ok(Presence::Missing),
                Presence::Present => position,
            },
            None => {
                self.enter(place)?;
                let record = match ProtocolOf::<A>::WRITES {
                    Writes::InPlace | Writes::Certified => self.lock_record(place, Mode::Exclusive)?,
                    Writes::AtCommit => self.observe_record(place, None)?.map(|(record, _)| record),
                };
                let Some(record) = record else { return Ok(Presence::Missing) };
                self.add(place, record, Kind::Write, None)
            }
        };
        let kind = &mut self.accesses[position].kind;
        *kind = if *kind == Kind::Insert { Kind::Vanished } else { Kind::Delete };
        Ok(Presence::Present)
    }

    /// Unlinks and buries a record that the transaction holds, and retires its memory.
    pub(super) fn remove(&mut self, position: usize, access: Access) {
        let Access { record, partition, table, key, .. } = access;
        if self.table(table).is_ordered {
            return self.remove_in_order(position, access);
        }
        let who = self.requester(partition, position);
        self.architecture.at(partition, move |site| {
            site.partition(table, partition).index.hashed().unlink(Hash::of(key), record);
            ProtocolOf::<A>::mark_deleted(site.common, record.meta::<MetaOf<A>>(), who, site.waker);
        });
        self.allocations.retire(table, partition, record, self.epoch);
    }
}
