//! OCC: optimistic; a transaction validates at its end, against timestamps, that nothing which it has read was changed since it began
//! (Kung and Robinson, TODS 6(2), 1981; *thousand-cores* 2.2, 4.3).
//!
//! The paper's OCC validates in parallel, record by record, instead of in one critical section. A transaction draws two timestamps:
//! its *start*, before it reads anything, and its *end*, once it has latched all that it has read and will write. What it has read is
//! valid if the version that is there was written before its start: then it has read that one.
//!
//! State, one word in the record:
//!
//! | bits | what |
//! |---|---|
//! | 0 | LOCKED: latched by a transaction that validates |
//! | 1 | SUPERSEDED: unlinked from the index |
//! | 2 | ABSENT: the key has no row: an insert not yet committed, or a delete |
//! | 3..64 | the end of the transaction that wrote the version |
//!
//! Commit:
//! 1. `prepare`: latch every record that was read or is to be written, as SILO locks its write set ([`super::silo`]).
//! 2. Draw the end.
//! 3. `validate`: the version of each record that was read is the one that was read, and older than the start.
//! 4. Install the private copies, and publish the end, which unlatches.
//!
//! The order is that of the ends: all that a transaction has read or will write is latched when it draws its own. So ends of transactions
//! that conflict ascend, if timestamps do; if not, as those of batches, the end is what comes next to all that was read and overwritten.
//!
//! Both halves of validation are needed for what they say. That the version is the one that was read makes the history serializable,
//! whatever timestamps are worth. That it is older than the start is what makes this the paper's protocol, and aborts a transaction that has
//! read what another wrote after it had begun, which SILO lets pass.
//!
//! Missing keys are SILO's, too: a gap's word is a version, advanced whenever a record is linked into the gap; an insert links an ABSENT
//! record before commit.
//!
//! We differ: the paper's reads latch a record while they copy it, ours copy between two looks at the word; latches are tried in the
//! order of access, and in that of keys once somebody is in the way.

use super::{Attempt, Observation, Preparing, Protocol, Request, Silo, SlotState, Validating, Validity};
use super::{Verdict, Waker};
use crate::architecture::Architecture;
use crate::physical::{Physical, Word};
use crate::record::header::Narrow;
use crate::timestamp::{END_OF_TIME, Timestamp};
use crate::transaction::access::Validated;
use contract::EngineOptions;

const STATUS: u64 = 7;
const TIME_SHIFT: u32 = STATUS.count_ones();
/// One timestamp further.
const NEXT: u64 = 1 << TIME_SHIFT;
const _: () = assert!(END_OF_TIME <= 1 << (u64::BITS - TIME_SHIFT), "a word has room for a timestamp");

/// OCC.
pub(crate) struct Occ;

/// The start of a slot's transaction.
pub(crate) struct Start(Timestamp);

impl SlotState for Start {
    type Stamp = ();

    fn new() -> Self {
        Start(Timestamp::default())
    }

    #[inline(always)]
    fn begin(&mut self, _: Attempt, draw: impl FnOnce() -> Timestamp) {
        self.0 = draw();
    }

    #[inline(always)]
    fn stamp(&self) {}
}

impl Start {
    /// Whether the version that `token` names was written before it.
    #[inline(always)]
    fn is_after(&self, token: u64) -> bool {
        token >> TIME_SHIFT < self.0.0
    }
}

impl Protocol for Occ {
    type Meta<P: Physical> = P::SingleWriter;
    type Header = Narrow;
    type Gap<P: Physical> = P::SingleWriter;
    type Common<P: Physical> = ();
    type Slot = Start;
    type Access<A: Architecture<Protocol = Self>> = Validated;

    fn common<P: Physical>(_: usize, _: usize, _: &EngineOptions) {}

    fn is_quiescent<P: Physical>(meta: &P::SingleWriter) -> bool {
        meta.read() & STATUS == 0
    }

    fn is_gap_quiescent<P: Physical>(_: &P::SingleWriter) -> bool {
        // A version is not a hold.
        true
    }
}

impl Preparing for Occ {
    #[inline(always)]
    fn prepare<P: Physical>(
        meta: &P::SingleWriter,
        inserted: bool,
        request: Request<'_, Self, P, impl Waker>,
    ) -> Verdict {
        Silo::prepare::<P>(meta, inserted, request)
    }

    #[inline(always)]
    fn unprepare<P: Physical>(
        meta: &P::SingleWriter,
        inserted: bool,
        request: Request<'_, Self, P, impl Waker>,
    ) {
        Silo::unprepare::<P>(meta, inserted, request);
    }
}

// SAFETY: the metadata is single-writer words.
unsafe impl Validating for Occ {
    const EXPIRES: bool = false;
    const LATCHES_READS: bool = true;

    #[inline(always)]
    fn observe<P: Physical>(meta: &P::SingleWriter) -> Observation {
        Silo::observe::<P>(meta)
    }

    #[inline(always)]
    fn validate<P: Physical>(
        meta: &P::SingleWriter,
        token: u64,
        mine: bool,
        start: &Start,
        _: u64,
    ) -> Validity {
        match start.is_after(token) {
            true => Silo::validate_version(meta, token, mine),
            false => Validity::Invalid,
        }
    }

    fn claim<P: Physical>(meta: &P::SingleWriter) {
        Silo::claim::<P>(meta);
    }

    #[inline(always)]
    fn publish<P: Physical>(meta: &P::SingleWriter, id: u64) {
        Silo::publish::<P>(meta, id);
    }

    fn mark_deleted<P: Physical>(meta: &P::SingleWriter, gap: &P::SingleWriter, id: u64) {
        Silo::mark_deleted::<P>(meta, gap, id);
    }

    #[inline(always)]
    fn after_read(token: u64) -> u64 {
        (token & !STATUS) + NEXT
    }

    fn after_gap(_: u64) -> u64 {
        0
    }

    #[inline(always)]
    fn after_write<P: Physical>(meta: &P::SingleWriter) -> u64 {
        (meta.read() & !STATUS) + NEXT
    }

    #[inline(always)]
    fn transaction_id(_: &mut Start, least: u64, _: u64, draw: impl FnOnce() -> Timestamp) -> u64 {
        (draw().0 << TIME_SHIFT).max(least)
    }

    fn observe_gap<P: Physical>(gap: &P::SingleWriter) -> u64 {
        Silo::observe_gap::<P>(gap)
    }

    #[inline(always)]
    fn validate_gap<P: Physical>(gap: &P::SingleWriter, token: u64, id: u64) -> Validity {
        Silo::validate_gap::<P>(gap, token, id)
    }

    fn advance_gap<P: Physical>(gap: &P::SingleWriter, record: &P::SingleWriter) -> (u64, u64) {
        Silo::advance_gap::<P>(gap, record)
    }

    fn split_gap<P: Physical>(gap: &P::SingleWriter, fresh: &P::SingleWriter) {
        Silo::split_gap::<P>(gap, fresh);
    }

    fn retire_gap<P: Physical>(gap: &P::SingleWriter) {
        Silo::retire_gap::<P>(gap);
    }

    fn inherit_gap<P: Physical>(retired: &P::SingleWriter, heir: &P::SingleWriter) {
        Silo::inherit_gap::<P>(retired, heir);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_what_was_drawn_unless_a_version_is_younger() {
        let mut slot = Start::new();
        let end = |least| Occ::transaction_id(&mut Start::new(), least, 0, || Timestamp(7));
        assert_eq!(end(0) >> TIME_SHIFT, 7);
        assert_eq!(end(Occ::after_read(6 << TIME_SHIFT)) >> TIME_SHIFT, 7);
        assert_eq!(end(Occ::after_read(9 << TIME_SHIFT)) >> TIME_SHIFT, 10);
        slot.begin(Attempt::First, || Timestamp(7));
        assert!(slot.is_after(6 << TIME_SHIFT) && !slot.is_after(7 << TIME_SHIFT));
    }
}
