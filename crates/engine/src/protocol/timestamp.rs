//! TIMESTAMP: basic timestamp ordering; a transaction's place in the serial order is drawn when it begins, and an operation that comes too
//! late for its place aborts (Bernstein and Goodman, *Concurrency Control in Distributed Database Systems*, 1981; *thousand-cores* 2.2).
//!
//! State, three words in the record:
//!
//! | word | what |
//! |---|---|
//! | `state` | wts, the timestamp of who wrote the version, above four bits of status |
//! | `read` | rts, the largest timestamp of those who have read the record |
//! | `pending` | the timestamp of who has an accepted write that has not committed; 0: nobody, or it is not told yet |
//!
//! | status | what |
//! |---|---|
//! | LOCKED | the pending write is being installed |
//! | SUPERSEDED | unlinked from the index |
//! | ABSENT | the key has no row: an insert not yet committed, or a *tombstone*, what a delete leaves |
//! | PENDING | somebody has an accepted write |
//!
//! Steps, of a transaction with timestamp ts:
//! - *Read*: raise rts to ts; then look. A version with wts > ts, or a younger write that is being installed: too late. A pending write
//!   older than ts: ask again, until it is decided; a younger one does not matter. Then copy the row and look whether the version is still
//!   there: a younger write may have been installed.
//! - *Write*: a younger version, reader or pending write: too late. An older pending write: ask again. Otherwise set PENDING, tell
//!   ts, and then look at rts: if somebody younger has read, take it back.
//! - *Commit*: nothing is left to be asked. Lock what was written, copy the private copies in, publish wts = ts. *Abort*: clear PENDING.
//!
//! A reader raises rts and then looks for pending writes, a writer sets PENDING and then looks at rts, all in one total order: of two
//! that conflict at least one sees the other.
//!
//! Invariants:
//! - Who was granted a read of a version reads the newest one older than ts, for ever: nobody between the two will be accepted.
//! - One write at a time is pending; as long as it is, nobody else changes `state`.
//! - A transaction waits for older ones only: no cycle of waiting. So nobody reads what has not committed, and nobody waits for ever.
//! - What an abort leaves behind is its rts. That keeps others from writing for no reason, and never lets in what should be kept out.
//! - wts and rts never go back. The status and wts of a tombstone name it for ever: timestamps are drawn once.
//!
//! Missing keys. A gap has one word, an rts: nobody older than that may insert there. A miss raises it and looks again; a scan raises a
//! leaf's and then copies it; an insert links its record, ABSENT and PENDING, and then looks at it. A leaf that is split gives it to both
//! halves, one that leaves the index to its heir, and a record that is unlinked gives its rts to the gap. Who has inserted a key and deleted
//! it again has found it missing, and leaves no version: its own timestamp goes to the gap.
//!
//! A delete leaves a tombstone, so that an older reader finds that it came too late, and an older insert, too. Once everybody has ended who
//! was active at the delete, and so all that are older, it is unlinked, between transactions ([`crate::transaction`]). An insert of the key
//! before that writes to the tombstone.
//!
//! The order is that of timestamps. It is that of time, too, unless they come from batches.
//!
//! We differ: the paper's record has lists of waiting reads and of several accepted writes, installed in their order; ours accepts one write
//! at a time, and those who wait ask again.

use super::{Answer, Attempt, Protocol, SlotState, Timestamping, Versioning};
use crate::architecture::Architecture;
use crate::physical::{Metadata, Physical, SingleWriter, Word};
use crate::record::header::Wide;
use crate::timestamp::{END_OF_TIME, Halves, Timestamp};
use crate::transaction::access::Timestamped;
use contract::{AbortReason, EngineOptions, Presence};

const LOCKED: u64 = 1;
const SUPERSEDED: u64 = 2;
const ABSENT: u64 = 4;
const PENDING: u64 = 8;
const STATUS: u64 = 15;
const TIME_SHIFT: u32 = STATUS.count_ones();
const _: () = assert!(END_OF_TIME <= 1 << (u64::BITS - TIME_SHIFT), "a word has room for a timestamp");

const TOO_LATE: Answer = Answer::Abort(AbortReason::Conflict);

/// TIMESTAMP.
pub(crate) struct BasicTimestamp;

/// The metadata of a record.
#[repr(C)]
pub(crate) struct Stamps<P: Physical> {
    state: P::SingleWriter,
    read: P::SingleWriter,
    pending: P::SingleWriter,
}

// SAFETY: three words.
unsafe impl<P: Physical> Metadata for Stamps<P> {}

/// The timestamp of a slot's attempt.
pub(crate) struct Drawn(Halves);

impl SlotState for Drawn {
    type Stamp = Halves;

    fn new() -> Self {
        Drawn(Halves::of(Timestamp::default()))
    }

    #[inline(always)]
    fn begin(&mut self, _: Attempt, draw: impl FnOnce() -> Timestamp) {
        self.0 = Halves::of(draw());
    }

    #[inline(always)]
    fn stamp(&self) -> Halves {
        self.0
    }
}

const fn wts(state: u64) -> u64 {
    state >> TIME_SHIFT
}

const fn presence(state: u64) -> Presence {
    if state & ABSENT == 0 { Presence::Present } else { Presence::Missing }
}

/// A record that is there, as it was seen, to whom it was granted.
const fn granted(state: u64) -> Answer {
    match presence(state) {
        Presence::Present => Answer::Present(wts(state)),
        Presence::Missing => Answer::Absent(wts(state)),
    }
}

/// Raises a word to `to`. A word that is there already is not written.
#[inline(always)]
fn raise(word: &impl Word<u64>, to: u64) {
    loop {
        let found = word.read_in_order();
        if found >= to || word.replace(found, to).is_ok() {
            return;
        }
    }
}

impl BasicTimestamp {
    /// What a reader finds whose timestamp the record knows.
    #[inline(always)]
    pub fn look<P: Physical>(meta: &Stamps<P>, time: u64) -> Answer {
        let state = meta.state.read_in_order();
        if state & SUPERSEDED != 0 {
            return Answer::Unlinked;
        }
        if wts(state) > time {
            return Answer::Older;
        }
        if state & PENDING != 0 {
            let pending = meta.pending.read();
            // Not told yet, or older; or somebody else's is pending by now, and the first may have committed.
            if pending <= time || meta.state.read() != state {
                return Answer::Wait;
            }
            if state & LOCKED != 0 {
                return Answer::Older;
            }
        }
        granted(state)
    }

    /// Whether somebody younger has read the record.
    #[inline(always)]
    pub fn was_read_after<P: Physical>(meta: &Stamps<P>, time: u64) -> bool {
        meta.read.read() > time
    }

    /// What a reader finds, who leaves its timestamp.
    #[inline(always)]
    pub fn mark_and_look<P: Physical>(meta: &Stamps<P>, time: u64) -> Answer {
        raise(&meta.read, time);
        Self::look(meta, time)
    }

    /// Accepts a write of a row that is as wanted.
    #[inline(always)]
    fn accept<P: Physical>(meta: &Stamps<P>, state: u64, time: u64) -> Answer {
        if wts(state) > time || meta.read.read() > time {
            return TOO_LATE;
        }
        if state & PENDING != 0 {
            return if meta.pending.read() > time { TOO_LATE } else { Answer::Wait };
        }
        if meta.state.replace(state, state | PENDING).is_err() {
            return Answer::Wait;
        }
        meta.pending.store(time);
        if meta.read.read_in_order() > time {
            Self::withdraw(meta);
            return TOO_LATE;
        }
        granted(state)
    }
}

impl Protocol for BasicTimestamp {
    type Meta<P: Physical> = Stamps<P>;
    type Header = Wide;
    type Gap<P: Physical> = P::SingleWriter;
    type Common<P: Physical> = ();
    type Slot = Drawn;
    type Access<A: Architecture<Protocol = Self>> = Timestamped;

    fn common<P: Physical>(_: usize, _: usize, _: &EngineOptions) {}

    fn is_quiescent<P: Physical>(meta: &Stamps<P>) -> bool {
        meta.state.read() & STATUS == 0 && meta.pending.read() == 0
    }

    fn is_gap_quiescent<P: Physical>(_: &P::SingleWriter) -> bool {
        // A timestamp is not a hold.
        true
    }
}

// SAFETY: the metadata is single-writer words.
unsafe impl Versioning for BasicTimestamp {
    #[inline(always)]
    fn still_is<P: Physical>(meta: &Stamps<P>, token: u64) -> bool {
        let state = meta.state.read();
        wts(state) == token && state & (LOCKED | SUPERSEDED | ABSENT) == 0
    }

    fn tombstone(time: u64) -> u64 {
        time << TIME_SHIFT | ABSENT
    }

    fn bury<P: Physical>(meta: &Stamps<P>, tombstone: u64) -> Answer {
        match meta.state.replace(tombstone, tombstone | SUPERSEDED) {
            Ok(()) => Answer::Absent(wts(tombstone)),
            Err(found) if found & !PENDING == tombstone => Answer::Wait,
            Err(_) => Answer::Unlinked,
        }
    }
}

impl Timestamping for BasicTimestamp {
    #[inline(always)]
    fn read<P: Physical>(meta: &Stamps<P>, by: Halves) -> Answer {
        match Self::mark_and_look(meta, by.time()) {
            Answer::Older => TOO_LATE,
            answer => answer,
        }
    }

    #[inline(always)]
    fn write<P: Physical>(meta: &Stamps<P>, wanted: Presence, by: Halves) -> Answer {
        let state = meta.state.read();
        if state & SUPERSEDED != 0 {
            return Answer::Unlinked;
        }
        if presence(state) == wanted {
            return Self::accept(meta, state, by.time());
        }
        match Self::read(meta, by) {
            // It has come, or gone, meanwhile: nothing was accepted.
            Answer::Present(_) if wanted == Presence::Present => Answer::Wait,
            Answer::Absent(_) if wanted == Presence::Missing => Answer::Wait,
            otherwise => otherwise,
        }
    }

    #[inline(always)]
    fn lock<P: Physical>(meta: &Stamps<P>, _: u64) {
        // Nobody else changes it.
        meta.state.store(meta.state.read() | LOCKED);
    }

    #[inline(always)]
    fn publish<P: Physical>(meta: &Stamps<P>, to_be: Presence, by: Halves) {
        assert!(meta.state.read() & PENDING != 0 && meta.pending.read() == by.time());
        meta.pending.store(0);
        meta.state.store(match to_be {
            Presence::Present => by.time() << TIME_SHIFT,
            Presence::Missing => Self::tombstone(by.time()),
        });
    }

    fn withdraw<P: Physical>(meta: &Stamps<P>) {
        meta.pending.store(0);
        // Nobody else changes it.
        meta.state.store(meta.state.read() & !PENDING);
    }

    fn claim<P: Physical>(meta: &Stamps<P>, by: Halves) {
        meta.pending.store(by.time());
        meta.state.store(ABSENT | PENDING);
    }

    fn mark_deleted<P: Physical>(meta: &Stamps<P>, gap: &P::SingleWriter) {
        meta.pending.store(0);
        // First that: who reads it afterwards finds it dead, and misses the key; who has read it is known.
        meta.state.store_in_order((meta.state.read() | ABSENT | SUPERSEDED) & !(PENDING | LOCKED));
        raise(gap, meta.read.read_in_order());
    }

    #[inline(always)]
    fn rely<P: Physical>(gap: &P::SingleWriter, by: Halves) {
        raise(gap, by.time());
    }

    #[inline(always)]
    fn relied_on<P: Physical>(gap: &P::SingleWriter) -> u64 {
        gap.read_in_order()
    }

    fn split_gap<P: Physical>(gap: &P::SingleWriter, fresh: &P::SingleWriter) {
        fresh.store(gap.read_in_order());
    }

    fn inherit_gap<P: Physical>(retired: &P::SingleWriter, heir: &P::SingleWriter) {
        raise(heir, retired.read_in_order());
    }
}
