//! HEKATON: optimistic multiversion concurrency control; a transaction reads what was there when it began, and at its end validates that
//! it still is (Larson et al., *High-Performance Concurrency Control Mechanisms for Main-Memory Databases*, PVLDB 5(4), 2011: section 2, and
//! section 3, the scheme MV/O, serializable).
//!
//! A transaction draws two timestamps: its *begin*, before it reads anything, and its *end*, once it has claimed all that it writes. It reads
//! the versions of its begin. If it writes nothing, it comes there in the serial order, and is done: it validates nothing and never aborts.
//! Otherwise it comes at its end.
//!
//! State, four words in the record:
//!
//! | word | what |
//! |---|---|
//! | `state` | the end of who wrote the row, above four bits of status: since then the row is what it is |
//! | `claimer` | the slot, from 1, of who has claimed the record, that is the only one who may write it; 0: nobody, or it is not told yet |
//! | `end` | of who is installing |
//! | `previous` | the address of the version before the row; 0: there is none |
//!
//! | status | what |
//! |---|---|
//! | LOCKED | the row is being replaced by a transaction that has committed, whose end is told, and the row as it was is `previous` |
//! | SUPERSEDED | unlinked from the index |
//! | ABSENT | the key has no row: an insert not yet committed, or a tombstone |
//! | CLAIMED | somebody will write it |
//!
//! And a word for each slot, where the paper has its table of transactions ([`Ends`]): its transaction is *active*; or it is *preparing*,
//! about to draw its end; or its end is this. What the paper's End field holds of a version, `claimer` holds here of the newest.
//!
//! Steps:
//! - *Look* at time t, a begin or an end (section 2, version visibility): a row since after t: go to the versions before it. Not claimed, or
//!   by somebody active: the row. By somebody whose end is before t: wait for what comes of it; after t: the row, or `previous` once it is
//!   LOCKED. By somebody preparing: wait until the end is told, which is at once.
//! - *Claim* (section 2, updating a version): the row must be the newest version, and of the begin; if somebody else has claimed or replaced
//!   it, abort at once: the first writer wins; but a key that had no row at the begin is missing, whoever inserts it since. Nobody who reads is kept from anything by that.
//! - *Commit* (section 3, preparation and postprocessing): say *preparing*; draw the end; tell it. Look at all that was read again, at the
//!   end: it must be the version that was read. Then make versions of what is replaced, lock, copy the private copies in, publish the end.
//!   *Abort*: give the claims back.
//!
//! Invariants:
//! - Versions of a record stand in the order of their timestamps. They are never changed.
//! - Who has claimed a record and is active will have a larger end than every timestamp that was drawn before anybody found it so: it says
//!   *preparing*, and then draws; who looks has drawn, and then looks; all in one total order. Timestamps must ascend in that order. Those
//!   of batches do not, and are refused ([`crate::matrix`]).
//! - So what was answered to a look at t is what all others find at t, for ever.
//! - Who is preparing has its end without waiting for anybody. Who waits, waits for a smaller end than its own begin or end, of somebody
//!   who validates and installs: so there is no cycle of waiting, and nobody waits for who is active, but for the
//!   moment in which it tells whose claim it is. Where releases travel, what a slot gives back may still be claimed in its name when it commits
//!   next; whoever looks waits until it has arrived.
//! - The status and time of a tombstone name it for ever: timestamps are drawn once.
//!
//! *Why that is serializable.* The order is that of the ends, and of the begins of those who write nothing: each look at a transaction's place
//! in it answers the last version before. A reader has looked there. A writer's looks at its begin are confirmed at its end; what it
//! has claimed nobody else has replaced since its begin. And it is the order of time: who begins after another has ended has a larger begin.
//!
//! **Phantoms** (section 3; the paper repeats scans). A gap's word is a version, advanced whenever a record is linked into the gap, as SILO's
//! ([`super::silo`]). An insert links its record, ABSENT and claimed, before it draws its end. So a look-up that finds no record at all
//! finds the key missing at every timestamp drawn before: a reader needs no more. Who writes validates at its end that the gap's word is
//! what it was before the look-up, or the scan; and looks again, as at all others, at records that it has found without a row.
//!
//! A delete leaves a tombstone, so that an older reader finds the row before it. Once everybody has ended who was active at the delete, it is
//! unlinked, between transactions, and aborts who has found it and validates then ([`crate::transaction`]). An insert of the key before that
//! writes to the tombstone.
//!
//! **A version is freed when the epoch has passed in which it was replaced.** Who then runs has begun after the transaction that replaced it
//! had ended: its begin is larger than that one's end, and it stops at what has replaced the version, or before.
//!
//! We differ:
//! - *No commit dependencies* (section 2). In the paper who looks reads what somebody preparing has written, and waits for the outcome when it
//!   commits itself. Here what is not committed is nobody else's to see, and who looks waits for the outcome: as long as the other validates
//!   and copies. So nobody aborts because somebody else does, and nobody lists who depends on whom.
//! - The newest version is the row, in place, and old ones are copies that the index does not know. So a claim is given to a record, not to a
//!   version, and the newest version is not moved when it ages.
//! - A transaction that writes nothing draws no end, and validates nothing. The paper validates it, unless it asks for a snapshot.
//! - Ends come from the same source as begins, the core's clock if nothing else is asked for, instead of one counter.

use super::{
    Answer, Claiming, Drawn, Protocol, Request, Silo, SlotId, Validating, Validity, Versioning, Waker,
};
use crate::architecture::Architecture;
use crate::epoch::Line;
use crate::facade::atomic::{AtomicU64, Ordering};
use crate::physical::{Metadata, Physical, SingleWriter, Word};
use crate::record::header::Versioned;
use crate::timestamp::END_OF_TIME;
use crate::transaction::access::Multiversion;
use contract::{AbortReason, EngineOptions, Presence};

const LOCKED: u64 = 1;
const SUPERSEDED: u64 = 2;
const ABSENT: u64 = 4;
const CLAIMED: u64 = 8;
const STATUS: u64 = 15;
const TIME_SHIFT: u32 = STATUS.count_ones();
const _: () = assert!(END_OF_TIME <= 1 << (u64::BITS - TIME_SHIFT), "a word has room for a timestamp");

/// Somebody else writes the record, or has written it since the requester's begin.
const CONFLICT: Answer = Answer::Abort(AbortReason::Conflict);

/// HEKATON.
pub(crate) struct Hekaton;

/// The metadata of a record.
#[repr(C)]
pub(crate) struct Claimed<P: Physical> {
    state: P::SingleWriter,
    claimer: P::SingleWriter,
    end: P::SingleWriter,
    previous: P::SingleWriter,
}

// SAFETY: four words.
unsafe impl<P: Physical> Metadata for Claimed<P> {}

/// What each slot's transaction tells of its end: [`ACTIVE`], [`PREPARING`], or the end.
pub(crate) struct Ends(Box<[Line<AtomicU64>]>);

/// It has not begun to commit.
const ACTIVE: u64 = 0;
/// It is about to draw its end.
const PREPARING: u64 = END_OF_TIME;

/// When who has claimed a record comes, to somebody who looks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// Later than all that was drawn before the look.
    Later,
    At(u64),
    /// That is not told yet.
    Unknown,
}

impl Ends {
    fn of(&self, slot: usize) -> End {
        // SeqCst: in one order with `prepare`. Acquire: who finds it active again finds what it has installed; pairs with the Release in
        // `tell`.
        match self.0[slot].0.load(Ordering::SeqCst) {
            ACTIVE => End::Later,
            PREPARING => End::Unknown,
            end => End::At(end),
        }
    }

    fn prepare(&self, SlotId(slot): SlotId) {
        // SeqCst: who finds the slot active has drawn its timestamp before this, and so before this slot draws its end; pairs with the load
        // in `of`. An exchange, so that it is done before the clock is read.
        let was = self.0[slot as usize].0.swap(PREPARING, Ordering::SeqCst);
        assert!(was == ACTIVE, "a slot has one transaction at a time");
    }

    fn tell(&self, SlotId(slot): SlotId, what: u64) {
        // Release: what was installed comes before; pairs with the Acquire in `of`.
        self.0[slot as usize].0.store(what, Ordering::Release);
    }
}

const fn since(state: u64) -> u64 {
    state >> TIME_SHIFT
}

const fn presence(state: u64) -> Presence {
    if state & ABSENT == 0 { Presence::Present } else { Presence::Missing }
}

/// The version that is the row.
const fn newest(state: u64) -> Answer {
    match presence(state) {
        Presence::Present => Answer::Present(since(state)),
        Presence::Missing => Answer::Absent(since(state)),
    }
}

impl Hekaton {
    /// A look at a claimed record, whose row is of the time, if the claim does not say otherwise.
    #[cold]
    fn look_at_claimed<P: Physical>(meta: &Claimed<P>, ends: &Ends, state: u64, time: u64) -> Answer {
        let end = match meta.claimer.read() {
            _ if state & LOCKED != 0 => End::At(meta.end.read()),
            0 => End::Unknown,
            slot => ends.of(slot as usize - 1),
        };
        if meta.state.read_in_order() != state {
            // It has been decided meanwhile, or somebody else has claimed it.
            return Answer::Wait;
        }
        match end {
            End::Later => newest(state),
            End::At(end) if end > time && state & LOCKED == 0 => newest(state),
            End::At(end) if end > time => Answer::Older,
            End::At(_) | End::Unknown => Answer::Wait,
        }
    }

    /// The state of a record that is this version.
    const fn state_of(presence: Presence, since: u64) -> u64 {
        since << TIME_SHIFT | if matches!(presence, Presence::Missing) { ABSENT } else { 0 }
    }
}

impl Protocol for Hekaton {
    type Meta<P: Physical> = Claimed<P>;
    type Header = Versioned;
    type Gap<P: Physical> = P::SingleWriter;
    type Common<P: Physical> = Ends;
    type Slot = Drawn;
    type Access<A: Architecture<Protocol = Self>> = Multiversion;

    fn common<P: Physical>(slots: usize, _: usize, _: &EngineOptions) -> Ends {
        Ends((0..slots).map(|_| Line(AtomicU64::new(ACTIVE))).collect())
    }

    fn is_quiescent<P: Physical>(meta: &Claimed<P>) -> bool {
        meta.state.read() & STATUS == 0 && meta.claimer.read() == 0
    }

    fn is_gap_quiescent<P: Physical>(_: &P::SingleWriter) -> bool {
        // A version is not a hold.
        true
    }
}

// SAFETY: the metadata is single-writer words.
unsafe impl Versioning for Hekaton {
    const KEEPS_VERSIONS: bool = true;

    #[inline(always)]
    fn still_is<P: Physical>(meta: &Claimed<P>, token: u64) -> bool {
        let state = meta.state.read();
        since(state) == token && state & (LOCKED | SUPERSEDED | ABSENT) == 0
    }

    #[inline(always)]
    fn previous<P: Physical>(meta: &Claimed<P>) -> u64 {
        meta.previous.read()
    }

    fn tombstone(time: u64) -> u64 {
        Self::state_of(Presence::Missing, time)
    }

    fn bury<P: Physical>(meta: &Claimed<P>, tombstone: u64) -> Answer {
        match meta.state.replace(tombstone, tombstone | SUPERSEDED) {
            Ok(()) => Answer::Absent(since(tombstone)),
            Err(found) if found & !CLAIMED == tombstone => Answer::Wait,
            Err(_) => Answer::Unlinked,
        }
    }
}

// SAFETY: the metadata, and that of gaps, is single-writer words.
unsafe impl Claiming for Hekaton {
    #[inline(always)]
    fn look<P: Physical>(meta: &Claimed<P>, ends: &Ends, time: u64) -> Answer {
        let state = meta.state.read_in_order();
        if state & SUPERSEDED != 0 {
            return Answer::Unlinked;
        }
        if since(state) > time {
            return Answer::Older;
        }
        match state & CLAIMED {
            0 => newest(state),
            _ => Self::look_at_claimed(meta, ends, state, time),
        }
    }

    #[inline(always)]
    fn claim<P: Physical>(
        meta: &Claimed<P>,
        wanted: Presence,
        request: Request<'_, Self, P, impl Waker>,
    ) -> Answer {
        let found = Self::look::<P>(meta, request.common, request.who.stamp.time());
        let (there, time) = match found {
            Answer::Present(since) => (Presence::Present, since),
            Answer::Absent(since) => (Presence::Missing, since),
            Answer::Older | Answer::Wait | Answer::Unlinked | Answer::Abort(_) => return found,
        };
        if there != wanted {
            return found;
        }
        let free = Self::state_of(there, time);
        match meta.state.replace(free, free | CLAIMED) {
            Ok(()) => {
                meta.claimer.store(u64::from(request.who.slot.0) + 1);
                found
            }
            Err(other) if other & CLAIMED != 0 => CONFLICT,
            // It was replaced, or unlinked, or a claim was given back, since it was looked at.
            Err(_) => Answer::Wait,
        }
    }

    fn claim_new<P: Physical>(meta: &Claimed<P>, request: Request<'_, Self, P, impl Waker>) {
        meta.claimer.store(u64::from(request.who.slot.0) + 1);
        meta.state.store(ABSENT | CLAIMED);
    }

    #[inline(always)]
    fn lock<P: Physical>(meta: &Claimed<P>, previous: u64, end: u64) {
        // First those: who finds the row locked, or younger, finds what it was.
        meta.previous.store(previous);
        meta.end.store(end);
        // Nobody else changes it.
        meta.state.store(meta.state.read() | LOCKED);
    }

    #[inline(always)]
    fn publish<P: Physical>(meta: &Claimed<P>, to_be: Presence, end: u64) {
        let state = meta.state.read();
        assert!(state & CLAIMED != 0 && end > since(state), "versions of a record ascend");
        meta.claimer.store(0);
        meta.state.store(Self::state_of(to_be, end));
    }

    fn withdraw<P: Physical>(meta: &Claimed<P>) {
        meta.claimer.store(0);
        // Nobody else changes it.
        meta.state.store(meta.state.read() & !CLAIMED);
    }

    fn abandon<P: Physical>(meta: &Claimed<P>, SlotId(slot): SlotId) {
        if meta.claimer.read() == u64::from(slot) + 1 {
            // So whoever looks waits, or sees the version before.
            meta.claimer.store(0);
        }
    }

    fn mark_deleted<P: Physical>(meta: &Claimed<P>) {
        meta.claimer.store(0);
        // Claimed by this transaction, or buried: either way nobody else changes it.
        meta.state.store_in_order((meta.state.read() | ABSENT | SUPERSEDED) & !(CLAIMED | LOCKED));
    }

    #[inline(always)]
    fn prepare<P: Physical>(ends: &Ends, slot: SlotId) {
        ends.prepare(slot);
    }

    #[inline(always)]
    fn tell_end<P: Physical>(ends: &Ends, slot: SlotId, end: u64) {
        ends.tell(slot, end);
    }

    #[inline(always)]
    fn forget_end<P: Physical>(ends: &Ends, slot: SlotId) {
        ends.tell(slot, ACTIVE);
    }

    #[inline(always)]
    fn observe_gap<P: Physical>(gap: &P::SingleWriter) -> u64 {
        Silo::observe_gap::<P>(gap)
    }

    #[inline(always)]
    fn is_gap_valid<P: Physical>(gap: &P::SingleWriter, token: u64) -> bool {
        Silo::validate_gap::<P>(gap, token, 0) == Validity::Valid
    }

    fn advance_gap<P: Physical>(gap: &P::SingleWriter) -> (u64, u64) {
        // Of records SILO's gaps know nothing.
        Silo::advance_gap::<P>(gap, gap)
    }

    fn retire_gap<P: Physical>(gap: &P::SingleWriter) {
        Silo::retire_gap::<P>(gap);
    }
}
