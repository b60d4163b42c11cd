//! Asking records and buckets for locks, and waiting as their verdicts say.

use super::access_set::{Gap, MOST_RECORDS, Token};
use super::{MetaOf, Place, ProtocolOf, Txn};
use crate::architecture::Architecture;
use crate::protocol::{Mode, Protocol, Reads, Verdict, Wake};
use crate::storage::RecordRef;
use contract::{Abort, AbortReason, TimeClass};

/// What came of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Granted,
    /// Look the key up again.
    Again,
}

/// Whether a bucket was held before it was asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum GapHeld {
    /// It was: what a look-up said since then holds.
    Already,
    /// It is from now on: look again.
    FromNowOn,
}

impl<A: Architecture> Txn<'_, A> {
    /// Finds the record of a key and locks it in `mode`; the caller adds the entry. `None`: the key is missing, and the
    /// transaction holds its bucket.
    #[inline(always)]
    pub(super) fn lock_record(&mut self, place: Place, mode: Mode) -> Result<Option<RecordRef>, Abort> {
        let who = self.next_requester(place.partition);
        let mut asked = 0;
        loop {
            self.look_up_if_sampled(place);
            let is_here = self.architecture.is_here(place.partition);
            if !is_here {
                self.stopwatch.enter(TimeClass::Wait);
            }
            let (found, verdict) = self.architecture.at(place.partition, move |site| {
                let found = site.partition(place.table, place.partition).index.find(place.hash, place.key);
                let verdict = found.map(|record| {
                    ProtocolOf::<A>::acquire(site.common, record.meta::<MetaOf<A>>(), mode, who, site.waker)
                });
                (found, verdict)
            });
            if !is_here {
                self.stopwatch.enter(TimeClass::Manager);
            }
            let Some(verdict) = verdict else {
                if ProtocolOf::<A>::READS == Reads::Alone {
                    return Ok(None);
                }
                match self.hold_gap(place, Mode::Shared)? {
                    GapHeld::Already => return Ok(None),
                    GapHeld::FromNowOn => continue,
                }
            };
            if verdict == Verdict::Granted || self.heed(verdict, asked)? == Answer::Granted {
                self.stopwatch.enter(TimeClass::Useful);
                return Ok(found);
            }
            asked += 1;
        }
    }

    /// Locks a record that was met under a key to be inserted. `false`: ask again from the look-up on.
    pub(super) fn lock_found(&mut self, place: Place, record: RecordRef, asked: u32) -> Result<bool, Abort> {
        let who = self.next_requester(place.partition);
        let verdict = self.architecture.at(place.partition, move |site| {
            ProtocolOf::<A>::acquire(site.common, record.meta::<MetaOf<A>>(), Mode::Shared, who, site.waker)
        });
        Ok(self.heed(verdict, asked)? == Answer::Granted)
    }

    /// Raises the read lock of an entry to a write lock.
    pub(super) fn raise(&mut self, position: usize) -> Result<(), Abort> {
        let access = self.accesses[position];
        let who = self.requester(access.partition, position);
        let verdict = self.architecture.at(access.partition, move |site| {
            ProtocolOf::<A>::raise(site.common, access.record.meta::<MetaOf<A>>(), who, site.waker)
        });
        let answer = self.heed(verdict, 0)?;
        match answer {
            Answer::Granted => Ok(()),
            // A record that the transaction holds cannot die, unless it runs a canary that let it go.
            Answer::Again => Err(self.poison(AbortReason::Conflict)),
        }
    }

    /// The gap for the bucket of a key, if the transaction has one.
    pub(super) fn find_gap(&self, place: Place) -> Option<usize> {
        if self.gaps.is_empty() {
            return None;
        }
        let bucket = self.bucket_address(place);
        self.gaps.iter().position(|gap| gap.bucket == bucket)
    }

    fn bucket_address(&self, place: Place) -> *const () {
        let index = &self.table(place.table).partition(place.partition).index;
        (&raw const *index.bucket(place.hash)).cast()
    }

    /// Adds a gap for the bucket of a key.
    pub(super) fn add_gap(&mut self, place: Place, mode: Mode, token: Token) {
        let bucket = self.bucket_address(place);
        let Place { table, partition, hash, .. } = place;
        self.gaps.push(Gap { table, partition, hash, bucket, mode, token });
        assert!(self.gaps.len() <= MOST_RECORDS, "a transaction with 32,768 missing keys and inserts");
    }

    /// Holds the bucket of a key at least in `mode`, which is `Shared` or `Insert`. Both together are `Exclusive`:
    /// another's insert must not fill what this transaction found missing.
    pub(super) fn hold_gap(&mut self, place: Place, mode: Mode) -> Result<GapHeld, Abort> {
        let mut asked = 0;
        let held = self.find_gap(place);
        loop {
            let number = held.unwrap_or(self.gaps.len());
            let who = self.gap_requester(place.partition, number);
            let from = held.map(|held| self.gaps[held].mode);
            if from.is_some_and(|from| from == mode || from == Mode::Exclusive) {
                return Ok(GapHeld::Already);
            }
            let verdict = self.architecture.at(place.partition, move |site| {
                let index = &site.partition(place.table, place.partition).index;
                let meta = index.bucket(place.hash).meta::<MetaOf<A>>();
                match from {
                    Some(from) => ProtocolOf::<A>::raise_bucket(site.common, meta, from, who, site.waker),
                    None => ProtocolOf::<A>::acquire(site.common, meta, mode, who, site.waker),
                }
            });
            if self.heed(verdict, asked)? == Answer::Granted {
                match held {
                    Some(held) => self.gaps[held].mode = Mode::Exclusive,
                    None => self.add_gap(place, mode, Token(0)),
                }
                return Ok(GapHeld::FromNowOn);
            }
            asked += 1;
        }
    }

    /// Does what a verdict says.
    #[inline]
    fn heed(&mut self, verdict: Verdict, asked: u32) -> Result<Answer, Abort> {
        match verdict {
            Verdict::Granted => Ok(Answer::Granted),
            Verdict::Queued => Ok(self.wait()),
            Verdict::Again => {
                self.pause(asked);
                Ok(Answer::Again)
            }
            Verdict::Abort(reason) => Err(self.poison(reason)),
        }
    }

    #[cold]
    fn wait(&mut self) -> Answer {
        let before = self.stopwatch.enter(TimeClass::Wait);
        let wake = self.architecture.wait(self.slot);
        self.stopwatch.enter(before);
        match wake {
            Wake::Granted => Answer::Granted,
            Wake::Again => Answer::Again,
        }
    }

    /// Lets the holder of a record that said "again" get on.
    #[cold]
    pub(super) fn pause(&mut self, asked: u32) {
        let before = self.stopwatch.enter(TimeClass::Wait);
        self.architecture.pause(asked);
        self.stopwatch.enter(before);
    }

    /// In a sampled transaction, a look-up in place is made once for the clock and then once more with the lock.
    #[inline(always)]
    pub(super) fn look_up_if_sampled(&mut self, place: Place) {
        if self.stopwatch.is_on() && self.architecture.is_here(place.partition) {
            self.stopwatch.enter(TimeClass::Index);
            let index = &self.table(place.table).partition(place.partition).index;
            std::hint::black_box(index.find(place.hash, place.key));
            self.stopwatch.enter(TimeClass::Manager);
        }
    }
}
