//! Locks beside reads that are validated: what is hot is locked before it is read, and the write set at commit, in one order in which
//! everybody waits ([`crate::protocol::Mocc`] tells why).
//!
//! Invariants:
//! - A transaction that waits for a record holds only such as come before it in the canonical order: whoever waits gives
//!   back the others first ([`Txn::give_back_from`]).
//! - A lock belongs to an entry, or to the next one, which is added as soon as it is granted. A record that is locked because the attempt
//!   before wanted it gets an entry at once, as one that was read.
//! - An entry that is held `Shared` or `Exclusive` has been since its token was seen.

use super::access_set::{Kind, Token};
use super::copies::canonical_order;
use super::lock_list::{Lock, LockList, WantedKey};
use super::{Place, ProtocolOf, Txn};
use crate::architecture::Architecture;
use crate::protocol::{Held, Mode, Observation, Protecting, Verdict};
use crate::record::RecordRef;
use contract::{Abort, Key, TableId};
use std::cmp::Ordering;

impl<A: Architecture<Protocol: Protecting>> Txn<'_, A> {
    #[inline(always)]
    pub(super) fn locks(&self) -> &LockList {
        ProtocolOf::<A>::locks(&self.state)
    }

    #[inline(always)]
    fn locks_mut(&mut self) -> &mut LockList {
        ProtocolOf::<A>::locks_mut(&mut self.state)
    }

    /// Locks a record that is about to be read, and to become the next entry, if it is hot or the attempt before wanted it. `false`: look
    /// its key up again.
    #[inline(always)]
    pub(super) fn protect(
        &mut self,
        place: Place<'_>,
        record: RecordRef,
        mode: Mode,
        asked: u32,
    ) -> Result<bool, Abort> {
        let is_hot = ProtocolOf::<A>::is_hot(self.watched(record));
        if !is_hot && self.locks().has_come_to_all() {
            return Ok(true);
        }
        self.protect_if(is_hot, place, record, mode, asked)
    }

    #[cold]
    fn protect_if(
        &mut self,
        is_hot: bool,
        place: Place<'_>,
        record: RecordRef,
        mode: Mode,
        asked: u32,
    ) -> Result<bool, Abort> {
        // A look is not validated.
        if self.reconnaissance || !is_hot && !self.is_wanted(place) {
            return Ok(true);
        }
        let mode = match self.lock_wanted_before(place)? {
            Some(Mode::Exclusive) => Mode::Exclusive,
            _ => mode,
        };
        Ok(self.hold_next(place, record, mode, asked))
    }

    fn is_wanted(&self, place: Place<'_>) -> bool {
        let key = match place.table.has_byte_strings() {
            true => WantedKey::Bytes(self.keys.bytes(place.key)),
            false => WantedKey::Number(place.key),
        };
        self.locks().is_wanted(place.table.id, key)
    }

    /// Locks all that the attempt before wanted and that comes before a place; answers how it wanted that, if it did.
    fn lock_wanted_before(&mut self, place: Place<'_>) -> Result<Option<Mode>, Abort> {
        while let Some(wanted) = ProtocolOf::<A>::locks(&self.state).next_wanted() {
            let key = match ProtocolOf::<A>::locks(&self.state).key_of(wanted) {
                WantedKey::Number(key) => key,
                WantedKey::Bytes(string) => self.keys.intern(string),
            };
            match self.order((wanted.table, key), (place.table.id, place.key)) {
                Ordering::Less => {
                    self.locks_mut().pass_wanted();
                    self.lock_ahead_of_use(self.place(self.table(wanted.table), key), wanted.mode)?;
                }
                Ordering::Equal => return Ok(Some(wanted.mode)),
                Ordering::Greater => return Ok(None),
            }
        }
        Ok(None)
    }

    /// Locks the record of a key, if it has a row and was not touched yet, and adds it as one that was read.
    fn lock_ahead_of_use(&mut self, place: Place<'_>, mode: Mode) -> Result<(), Abort> {
        if self.find_own(place).is_some() {
            return Ok(());
        }
        self.enter(place)?;
        let mut asked = 0;
        while let (Some(record), _) = self.look_up_timed(place) {
            if !self.hold_next(place, record, mode, asked) {
                asked += 1;
                continue;
            }
            if self.locks().of(self.accesses.len()).is_none() {
                break;
            }
            if let Observation::Present(token) = self.look(record) {
                self.add(place, record, Kind::Read, Some(Token(token)));
                break;
            }
            // Who holds a record finds its row, unless it runs a canary that let it go.
            self.wait_in_order((place.table.id, place.key), asked);
            asked += 1;
        }
        Ok(())
    }

    /// Asks for a record that will be the next entry. `true`: it is held, or has no row.
    fn hold_next(&mut self, place: Place<'_>, record: RecordRef, mode: Mode, asked: u32) -> bool {
        let verdict =
            self.architecture.at(place.partition, move |site| ProtocolOf::<A>::hold(site.meta(record), mode));
        match verdict {
            Verdict::Granted => {
                let Place { table, key, partition, .. } = place;
                let lock = Lock { position: self.accesses.len(), record, table: table.id, key, partition };
                self.locks_mut().protect(lock, mode.into());
                self.stopwatch.holds_something();
                true
            }
            Verdict::Retry => {
                self.wait_in_order((place.table.id, place.key), asked);
                false
            }
            Verdict::Abort(_) => true,
            Verdict::Queued => unreachable!("who is denied asks again"),
        }
    }

    /// Waits a little for a record that was denied. What comes behind it is given back.
    #[cold]
    fn wait_in_order(&mut self, key: (TableId, Key), asked: u32) {
        self.give_back_from(key);
        self.pause(asked);
    }

    /// Gives back all that is held of a record and of those behind it.
    #[cold]
    pub(super) fn give_back_from(&mut self, from: (TableId, Key)) {
        for nth in (0..self.locks().held().len()).rev() {
            let Lock { position, record, table, key, partition } = self.locks().held()[nth];
            if self.order((table, key), from) != Ordering::Less {
                let held = self.locks_mut().remove(position);
                // Not posted: it must not be left behind while its owner waits.
                self.architecture.at(partition, move |site| {
                    ProtocolOf::<A>::give_back(site.meta(record), held, false);
                });
            }
        }
    }

    fn order(&self, a: (TableId, Key), b: (TableId, Key)) -> Ordering {
        canonical_order(self.tables, &self.keys, a, b)
    }

    /// Locks the write set: in the order of access, and once somebody is in the way in the canonical one.
    #[inline(always)]
    pub(super) fn lock_write_set(&mut self) -> Result<(), Abort> {
        for number in 0..self.write_set.len() {
            match self.lock_to_write(self.write_set[number] as usize) {
                Verdict::Granted => {}
                Verdict::Abort(reason) => return Err(self.poison(reason)),
                Verdict::Retry | Verdict::Queued => return self.lock_write_set_in_order(),
            }
        }
        Ok(())
    }

    /// The same, waiting. What is given back meanwhile comes behind, and its turn will come.
    #[cold]
    fn lock_write_set_in_order(&mut self) -> Result<(), Abort> {
        self.sort_write_set();
        for number in 0..self.write_set.len() {
            let position = self.write_set[number] as usize;
            let access = self.accesses[position];
            let mut asked = 0;
            loop {
                match self.lock_to_write(position) {
                    Verdict::Granted => break,
                    Verdict::Abort(reason) => return Err(self.poison(reason)),
                    Verdict::Retry | Verdict::Queued => {
                        self.wait_in_order((access.table, access.key), asked);
                        asked += 1;
                    }
                }
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn lock_to_write(&mut self, position: usize) -> Verdict {
        let access = self.accesses[position];
        let (record, inserted, held) = (access.record, access.is_own(), self.locks().of(position));
        let verdict = self
            .architecture
            .at(access.partition, move |site| ProtocolOf::<A>::lock(site.meta(record), held, inserted));
        if verdict == Verdict::Granted {
            let lock =
                Lock { position, record, table: access.table, key: access.key, partition: access.partition };
            self.locks_mut().set(lock, Held::Locked);
            self.stopwatch.holds_something();
        }
        verdict
    }

    /// After what was written has been published, or unlinked, which gives it back: gives back the rest, newest first.
    #[inline(always)]
    pub(super) fn give_back_unwritten(&mut self) {
        for nth in (0..self.locks().held().len()).rev() {
            let lock = self.locks().held()[nth];
            let held = self.locks().of(lock.position).expect("it is held");
            if held != Held::Locked {
                let slot = self.slot;
                let cools = self.locks_mut().happens(slot, ProtocolOf::<A>::COOLS_ONE_IN);
                self.post_back(lock, held, cools);
            }
        }
        self.locks_mut().forget_locks();
    }

    /// The transaction aborts: remembers what a retry will want, and gives back all, newest first.
    #[cold]
    pub(super) fn give_back_all(&mut self) {
        let Txn { state, accesses, tables, keys, .. } = self;
        ProtocolOf::<A>::locks_mut(state).look_back(accesses.len(), |position| {
            let access = &accesses[position];
            let key = match tables[access.table.index()].has_byte_strings() {
                true => WantedKey::Bytes(keys.bytes(access.key)),
                false => WantedKey::Number(access.key),
            };
            (access.table, key, access.kind)
        });
        for nth in (0..self.locks().held().len()).rev() {
            let lock = self.locks().held()[nth];
            let held = self.locks().of(lock.position).expect("it is held");
            self.post_back(lock, held, false);
        }
        self.locks_mut().forget_locks();
    }

    fn post_back(&mut self, Lock { record, partition, .. }: Lock, held: Held, cools: bool) {
        self.architecture.post(partition, move |site| {
            ProtocolOf::<A>::give_back(site.meta(record), held, cools);
        });
    }

    /// An entry was found invalid: its record may get warmer, and a retry will lock it.
    #[cold]
    pub(super) fn failed_on(&mut self, position: usize) {
        let access = self.accesses[position];
        let (record, slot) = (access.record, self.slot);
        self.locks_mut().want(position);
        if let Some(temperature) = ProtocolOf::<A>::temperature(self.watched(record))
            && self.locks_mut().happens(slot, 1 << temperature)
        {
            self.architecture.post(access.partition, move |site| {
                ProtocolOf::<A>::warm(site.meta(record), temperature);
            });
        }
    }
}
