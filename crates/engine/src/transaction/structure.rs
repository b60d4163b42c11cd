//! Inserts and deletes.
//!
//! An insert links its record at once, held or absent, so that every other transaction that wants the key meets it;
//! abort unlinks it again. A delete unlinks its record at commit. Unlinked records are buried (whoever still finds
//! them asks again) and retired to their epoch.

use super::access_set::{Access, Kind, Token};
use super::locking::GapHeld;
use super::{MetaOf, Place, ProtocolOf, Txn};
use crate::architecture::Architecture;
use crate::index::hash::{Hash, Linked};
use crate::protocol::{Mode, Observation, Protocol, Reads, Writes};
use crate::storage::RecordRef;
use crate::work;
use contract::{Abort, AbortReason, Insertion, Key, Presence, Span, TableId};

/// What an attempt to link a new record came to.
enum Attempt {
    Linked(RecordRef, Option<(Token, Token)>),
    Met(RecordRef),
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
            if ProtocolOf::<A>::READS == Reads::Locked {
                let _: GapHeld = self.hold_gap(place, Mode::Insert)?;
            }
            match self.link(place, row) {
                Attempt::Linked(record, versions) => {
                    self.add(place, record, Kind::Insert, None);
                    self.heed_versions(place, versions)?;
                    return Ok(Insertion::Inserted);
                }
                Attempt::Met(record) => {
                    if self.met(place, record, asked)? {
                        return Ok(Insertion::Exists);
                    }
                    asked += 1;
                }
            }
        }
    }

    /// Links a new record with this row, held by the transaction, unless the key is linked.
    fn link(&mut self, place: Place, row: &[u8]) -> Attempt {
        let partition = self.table(place.table).partition(place.partition);
        let cache = &mut self.supply[place.table.index()][place.partition.index()];
        let record = cache.take(&partition.arena);
        record.initialise(place.key);
        // SAFETY: the record is private until it is linked.
        unsafe { record.copy_in(0, row) };
        let who = self.next_requester(place.partition);
        let (linked, versions) = self.architecture.at(place.partition, move |site| {
            let index = &site.partition(place.table, place.partition).index;
            ProtocolOf::<A>::claim(site.common, record.meta::<MetaOf<A>>(), who);
            let mut versions = None;
            let linked = index.link(place.hash, record, |bucket| {
                if ProtocolOf::<A>::READS == Reads::Validated {
                    let (before, after) = ProtocolOf::<A>::advance_bucket(bucket.meta::<MetaOf<A>>());
                    versions = Some((Token(before), Token(after)));
                }
            });
            (linked, versions)
        });
        match linked {
            Linked::Done => Attempt::Linked(record, versions),
            Linked::Exists(met) => {
                // Never linked, so nobody has seen it.
                self.supply[place.table.index()][place.partition.index()].put_back(record);
                Attempt::Met(met)
            }
        }
    }

    /// The insert advanced the version of its bucket. If the transaction relies on the version before, it relies on the
    /// new one now; if it relies on an older one, somebody else inserted.
    fn heed_versions(&mut self, place: Place, versions: Option<(Token, Token)>) -> Result<(), Abort> {
        let (Some((before, after)), Some(gap)) = (versions, self.find_gap(place)) else { return Ok(()) };
        if self.gaps[gap].token != before {
            return Err(self.poison(AbortReason::Phantom));
        }
        self.gaps[gap].token = after;
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
        let who = self.requester(partition, position);
        self.architecture.at(partition, move |site| {
            site.partition(table, partition).index.unlink(Hash::of(key), record);
            ProtocolOf::<A>::bury(site.common, record.meta::<MetaOf<A>>(), who, site.waker);
        });
        self.supply[table.index()][partition.index()].retire(record, self.epoch);
    }
}
