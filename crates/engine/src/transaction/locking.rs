//! Asking records for locks, and waiting as their verdicts say.

use super::{HeaderOf, Kind, Place, ProtocolOf, RequesterOf, Txn};
use crate::architecture::{Architecture, Waited};
use crate::facade::clock::{self, Ticks};
use crate::index::GapId;
use crate::protocol::{GapMode, Locking, Mode, Protocol, Verdict, Wake};
use crate::record::RecordRef;
use contract::{Abort, AbortReason, PartitionId, Presence, Span, TableId, TimeClass};

/// What a request in a lock's queue is for.
#[derive(Clone, Copy)]
pub(super) enum Lockable {
    Record(RecordRef),
    Gap(TableId, GapId),
}

/// A record, what protects its key if there is none, and what it answered.
type Found = (Option<RecordRef>, GapId, Option<Verdict>);

impl<A: Architecture<Protocol: Locking>> Txn<'_, A> {
    /// Finds the record of a key and locks it in `mode`; the caller adds the entry. `None`: the key is missing, and the
    /// transaction holds its gap.
    #[inline(always)]
    pub(super) fn lock_record(&mut self, place: Place<'_>, mode: Mode) -> Result<Option<RecordRef>, Abort> {
        let who = self.next_requester_for(place);
        let mut asked = 0;
        loop {
            self.look_up_for_the_clock(place);
            let is_here = self.architecture.is_here(place.partition);
            if !is_here {
                self.stopwatch.enter(TimeClass::Wait);
            }
            let (found, gap, verdict) = if is_here {
                self.lock_here(place, mode, who)
            } else if place.table.is_ordered() {
                self.lock_in_order(place, mode, who)
            } else {
                self.lock_by_hash(place, mode, who)
            };
            if !is_here {
                self.stopwatch.enter(TimeClass::Manager);
            }
            let Some(verdict) = verdict else {
                let gap = place.gap(gap);
                if self.relies_on(gap) {
                    return Ok(None);
                }
                // What the look-up said may be out of date by the time that the gap is held, or the leaf has died.
                let _: Wake = self.hold_gap(gap, GapMode::Shared)?;
                continue;
            };
            let wake = match verdict {
                Verdict::Granted => Wake::Granted,
                other => {
                    self.heed_denial(other, place, mode);
                    let record = found.expect("a verdict is a record's");
                    self.heed_lock(other, asked, Lockable::Record(record), who)?
                }
            };
            if wake == Wake::Granted {
                self.stopwatch.enter(TimeClass::Useful);
                return Ok(found);
            }
            asked += 1;
        }
    }

    /// One attempt to find a key's record and to lock it, where steps run in place: a look-up, which is nobody's step, comes before.
    #[inline(always)]
    fn lock_here(&mut self, place: Place<'_>, mode: Mode, who: RequesterOf<A>) -> Found {
        let (found, gap) = self.look_up_near(place);
        (found, gap, found.map(|record| self.acquire(record, mode, who)))
    }

    /// The same in one step, at its bucket.
    #[inline(always)]
    fn lock_by_hash(&mut self, place: Place<'_>, mode: Mode, who: RequesterOf<A>) -> Found {
        let (found, verdict) = self.architecture.at(place.partition, move |site| {
            let index = place.table.partition(PartitionId(who.partition)).index.hashed();
            let found = index.find(place.hash, place.key);
            let verdict =
                found.map(|record| ProtocolOf::<A>::acquire(site.meta(record), mode, site.request(who)));
            (found, verdict)
        });
        (found, GapId::Bucket(place.hash), verdict)
    }

    /// The same in an ordered table.
    fn lock_in_order(&mut self, place: Place<'_>, mode: Mode, who: RequesterOf<A>) -> Found {
        let spot = self.spot(place);
        let (found, leaf, verdict) = self.architecture.at(place.partition, move |site| {
            // SAFETY: the transaction waits for the answer.
            let found = unsafe { spot.at::<A, _>(site, |index, key| index.find(key)) };
            let verdict = found
                .record
                .map(|record| ProtocolOf::<A>::acquire(site.meta(record), mode, site.request(who)));
            (found.record, found.leaf, verdict)
        });
        (found, GapId::Leaf(leaf), verdict)
    }

    /// Asks a record.
    #[inline(always)]
    fn acquire(&mut self, record: RecordRef, mode: Mode, who: RequesterOf<A>) -> Verdict {
        self.architecture.at(PartitionId(who.partition), move |site| {
            ProtocolOf::<A>::acquire(site.meta(record), mode, site.request(who))
        })
    }

    /// Locks a record that was met under a key, and adds it. `false`: ask again from the look-up on.
    pub(super) fn lock_met(
        &mut self,
        place: Place<'_>,
        record: RecordRef,
        asked: u32,
    ) -> Result<bool, Abort> {
        let who = self.next_requester(place.partition);
        let verdict = self.acquire(record, Mode::Shared, who);
        self.heed_denial(verdict, place, Mode::Shared);
        let granted = self.heed_lock(verdict, asked, Lockable::Record(record), who)? == Wake::Granted;
        if granted {
            self.add(place, record, Kind::Read, None);
        }
        Ok(granted)
    }

    /// Upgrades the read lock of an entry to a write lock.
    pub(super) fn upgrade(&mut self, position: usize) -> Result<(), Abort> {
        let access = self.accesses[position];
        let who = self.requester(access.partition, position);
        let verdict = self.architecture.at(access.partition, move |site| {
            ProtocolOf::<A>::upgrade(site.meta(access.record), site.request(who))
        });
        if ProtocolOf::<A>::REQUESTS_AHEAD {
            let place = self.place(self.table(access.table), access.key);
            self.heed_denial(verdict, place, Mode::Exclusive);
        }
        let answer = self.heed_lock(verdict, 0, Lockable::Record(access.record), who)?;
        match answer {
            Wake::Granted => Ok(()),
            // A record that the transaction holds cannot die, unless it runs a canary that let it go.
            Wake::Retry => Err(self.poison(AbortReason::Conflict)),
        }
    }

    /// Reads a record that the transaction touches for the first time.
    #[inline(always)]
    pub(super) fn read_locked(
        &mut self,
        place: Place<'_>,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        let Some(record) = self.lock_record(place, Mode::Shared)? else {
            return Ok(Presence::Missing);
        };
        self.add(place, record, Kind::Read, None);
        // SAFETY: the span was checked against the row; the record is held against writers.
        unsafe { record.row::<HeaderOf<A>>().view(span, see) };
        Ok(Presence::Present)
    }

    /// Reads a record that a scan has met.
    pub(super) fn show_locked(
        &mut self,
        place: Place<'_>,
        record: RecordRef,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        if !self.lock_met(place, record, 0)? {
            return Ok(Presence::Missing);
        }
        self.stopwatch.enter(TimeClass::Useful);
        // SAFETY: the span was checked against the row; the record is held against writers.
        unsafe { record.row::<HeaderOf<A>>().view(span, see) };
        Ok(Presence::Present)
    }

    /// Removes what was deleted, and releases all that is held, newest first.
    #[inline(always)]
    pub(super) fn release_locks(&mut self, id: u64) {
        if ProtocolOf::<A>::REQUESTS_AHEAD {
            self.remove_deleted(id);
            self.release_requested();
            return self.release_held_gaps();
        }
        for position in (0..self.accesses.len()).rev() {
            match self.accesses[position].kind {
                Kind::Delete | Kind::Vanished => self.remove(position, id),
                Kind::Read => self.release_lock(position, Mode::Shared),
                Kind::Write | Kind::Insert => self.release_lock(position, Mode::Exclusive),
                Kind::Absent => unreachable!("a locking protocol finds records with rows"),
            }
        }
        self.release_held_gaps();
    }

    /// Does what the verdict on a request of `who` for a lock says. A request that is queued is given up after the run's timeout, and if
    /// it is found to wait for itself.
    #[inline]
    pub(super) fn heed_lock(
        &mut self,
        verdict: Verdict,
        asked: u32,
        lock: Lockable,
        who: RequesterOf<A>,
    ) -> Result<Wake, Abort> {
        let may_be_in_vain = ProtocolOf::<A>::LOOKS_WHILE_WAITING || self.deadlock_timeout_ticks.is_some();
        match verdict {
            Verdict::Queued if may_be_in_vain => self.wait_or_withdraw(lock, who),
            _ => self.heed(verdict, asked),
        }
    }

    /// Waits, and if that is in vain takes the request back and aborts, unless it was decided meanwhile.
    #[cold]
    fn wait_or_withdraw(&mut self, lock: Lockable, who: RequesterOf<A>) -> Result<Wake, Abort> {
        let reason = match self.wait(self.deadlock_timeout_ticks) {
            Waited::Told(wake) => return Ok(wake),
            Waited::InVain(reason) => reason,
        };
        let partition = PartitionId(who.partition);
        // The record or the leaf is there: what has left its index while the transaction waits is not freed before that has ended.
        let is_withdrawn = match lock {
            Lockable::Record(record) => self
                .architecture
                .at(partition, move |site| ProtocolOf::<A>::withdraw(site.meta(record), site.request(who))),
            Lockable::Gap(table, gap) => self.architecture.at(partition, move |site| {
                let gap = site.gap(table, PartitionId(who.partition), gap);
                ProtocolOf::<A>::withdraw_gap(gap, site.request(who))
            }),
        };
        match is_withdrawn {
            true => Err(self.poison(reason)),
            // The word is there, or on its way.
            false => self.heed(Verdict::Queued, 0),
        }
    }

    /// Releases what is held of a record.
    #[inline(always)]
    pub(super) fn release_lock(&mut self, position: usize, mode: Mode) {
        let access = self.accesses[position];
        let (who, record) = (self.requester_of(position), access.record);
        self.architecture.post(access.partition, move |site| {
            ProtocolOf::<A>::release(site.meta(record), mode, site.request(who));
        });
    }
}

impl<A: Architecture> Txn<'_, A> {
    /// Does what a verdict says.
    #[inline]
    pub(super) fn heed(&mut self, verdict: Verdict, asked: u32) -> Result<Wake, Abort> {
        match verdict {
            Verdict::Granted => Ok(Wake::Granted),
            Verdict::Queued => match self.wait(None) {
                Waited::Told(wake) => Ok(wake),
                Waited::InVain(reason) => {
                    unreachable!("{reason:?} of a request that is not to be taken back")
                }
            },
            Verdict::Retry => {
                self.pause(asked);
                Ok(Wake::Retry)
            }
            Verdict::Abort(reason) => Err(self.poison(reason)),
        }
    }

    /// Waits until the slot's queued request is decided, for so many ticks at most, or until it is found to wait for itself.
    #[cold]
    fn wait(&mut self, ticks: Option<u64>) -> Waited {
        let before = self.stopwatch.enter(TimeClass::Wait);
        let until = ticks.map(|ticks| Ticks(clock::now().0.saturating_add(ticks)));
        let waited = self.architecture.wait(self.slot, until);
        self.stopwatch.enter(before);
        waited
    }

    /// Lets the holder of a record that said "retry" get on.
    #[cold]
    pub(super) fn pause(&mut self, asked: u32) {
        let before = self.stopwatch.enter(TimeClass::Wait);
        self.architecture.pause(asked);
        self.stopwatch.enter(before);
    }

    /// A look-up from here, wherever the partition is.
    #[inline(always)]
    pub(super) fn look_up_timed(&mut self, place: Place<'_>) -> (Option<RecordRef>, GapId) {
        self.stopwatch.enter(TimeClass::Index);
        let found = self.look_up_near(place);
        self.stopwatch.enter(TimeClass::Manager);
        found
    }

    /// A look-up that is part of a step cannot be timed by itself: in a sampled transaction it is made once for the clock and
    /// then once more with the lock, if the step runs in place. The owner's look-up for others is time that they wait.
    #[inline(always)]
    pub(super) fn look_up_for_the_clock(&mut self, place: Place<'_>) {
        if self.stopwatch.is_on() && self.architecture.is_here(place.partition) {
            std::hint::black_box(self.look_up_timed(place));
        }
    }
}
