//! Asking records for locks, and waiting as their verdicts say.

use super::{HeaderOf, Kind, Place, ProtocolOf, RequesterOf, Txn};
use crate::architecture::Architecture;
use crate::index::GapId;
use crate::protocol::{GapMode, Locking, Mode, Verdict, Wake};
use crate::record::RecordRef;
use contract::{Abort, AbortReason, PartitionId, Presence, Span, TimeClass};

/// A record, what protects its key if there is none, and what it answered.
type Found = (Option<RecordRef>, GapId, Option<Verdict>);

impl<A: Architecture<Protocol: Locking>> Txn<'_, A> {
    /// Finds the record of a key and locks it in `mode`; the caller adds the entry. `None`: the key is missing, and the
    /// transaction holds its gap.
    #[inline(always)]
    pub(super) fn lock_record(&mut self, place: Place<'_>, mode: Mode) -> Result<Option<RecordRef>, Abort> {
        let who = self.next_requester(place.partition);
        let mut asked = 0;
        loop {
            self.look_up_for_the_clock(place);
            let is_here = self.architecture.is_here(place.partition);
            if !is_here {
                self.stopwatch.enter(TimeClass::Wait);
            }
            let (found, gap, verdict) = if place.table.is_ordered() {
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
            if verdict == Verdict::Granted || self.heed(verdict, asked)? == Wake::Granted {
                self.stopwatch.enter(TimeClass::Useful);
                return Ok(found);
            }
            asked += 1;
        }
    }

    /// One attempt to find a key's record and to lock it, at its bucket.
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

    /// Locks a record that was met under a key, and adds it. `false`: ask again from the look-up on.
    pub(super) fn lock_met(
        &mut self,
        place: Place<'_>,
        record: RecordRef,
        asked: u32,
    ) -> Result<bool, Abort> {
        let who = self.next_requester(place.partition);
        let verdict = self.architecture.at(place.partition, move |site| {
            ProtocolOf::<A>::acquire(site.meta(record), Mode::Shared, site.request(who))
        });
        let granted = self.heed(verdict, asked)? == Wake::Granted;
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
        let answer = self.heed(verdict, 0)?;
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
            Verdict::Queued => Ok(self.wait()),
            Verdict::Retry => {
                self.pause(asked);
                Ok(Wake::Retry)
            }
            Verdict::Abort(reason) => Err(self.poison(reason)),
        }
    }

    #[cold]
    fn wait(&mut self) -> Wake {
        let before = self.stopwatch.enter(TimeClass::Wait);
        let wake = self.architecture.wait(self.slot);
        self.stopwatch.enter(before);
        wake
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
        let found = self.look_up(place);
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
