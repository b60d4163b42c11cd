//! SILO: optimistic; reads write nothing shared, and commit validates them (*silo* 4; *trireme* 3.1).
//!
//! State, one TID word in the record (*silo* 4.2):
//!
//! | bits | what |
//! |---|---|
//! | 0 | LOCKED: being installed; a latch, held from phase 1 to phase 3 of a commit |
//! | 1 | SUPERSEDED: unlinked from the index; the inverse of the paper's latest-version bit |
//! | 2 | ABSENT: the key has no row: an insert not yet committed, or a delete |
//! | 3..16 | number of the transaction within its epoch |
//! | 16..64 | epoch: at half a million a second, as where who waits closes them, they last for 17 years |
//!
//! Ids ascend; that is all that is asked of them. So what is too much for the number, in an epoch that lasts for milliseconds,
//! goes over into the epoch's bits.
//!
//! Commit, in three phases (the transaction takes them, [`crate::transaction`]):
//! 1. `prepare`: lock every record of the write set. Locks are tried in the order of access; if one is taken, all are
//!    released and then waited for in the order of their keys, which is the same for everybody.
//! 2. Read the global epoch: the serialization point. `validate`: every record that was read carries the word that
//!    was seen and is not locked by another; every gap at which a key was missing carries the version that was
//!    seen. The transaction's id is the smallest that is larger than every version read or overwritten and the
//!    slot's last, in that epoch; nothing central is touched.
//! 3. Install the private copies, and `publish` the id, which unlocks in the same store.
//!
//! Phase 1's locks and phase 2's looks are in one total order with everybody else's (`replace` and `read_in_order`):
//! of two transactions that each read what the other writes, one sees the other's lock.
//!
//! Readers copy racing words between two looks at the TID word (a seqlock); the copy is shown to the procedure only
//! if both looks agree, so a procedure never sees a torn row, though it may see rows of different moments before
//! validation fails.
//!
//! Missing keys. A gap's word is a version, advanced whenever a record is linked into the gap. An insert links an
//! ABSENT record before commit, so a reader either finds it and validates its word, or misses it and validates the
//! gap's. Deletes set ABSENT and SUPERSEDED after unlinking.
//!
//! We differ: previous versions are no business of the protocol's ([`crate::versions`]); the latest bit is inverted, so that zeroed memory is a
//! present record; the write set is sorted only when somebody is in the way (sorting ten keys cost a sixth of a
//! transaction), and then by key, not by address, so that runs can be replayed.

use super::{Attempt, Observation, Preparing, Protocol, Request, SlotState, Validating, Validity};
use super::{Verdict, Waker};
use crate::architecture::Architecture;
use crate::facade::unobserved;
use crate::physical::{Physical, SingleWriter, Word};
use crate::record::header::Narrow;
use crate::timestamp::Timestamp;
use crate::transaction::access::Validated;
use contract::{AbortReason, EngineOptions};

const LOCKED: u64 = 1;
const SUPERSEDED: u64 = 2;
const ABSENT: u64 = 4;
const STATUS: u64 = 7;
/// One transaction further within the epoch.
const NEXT: u64 = 8;
const EPOCH_SHIFT: u32 = 16;

/// SILO.
pub(crate) struct Silo;

impl Silo {
    /// Whether the version that `token` names is there, and not locked by another; `mine`: locked by the transaction that asks.
    #[inline(always)]
    pub fn validate_version(meta: &impl Word<u64>, token: u64, mine: bool) -> Validity {
        let expected = if mine { token | LOCKED } else { token };
        if meta.read_in_order() == expected { Validity::Valid } else { Validity::Invalid }
    }
}

/// The id of the slot's last transaction.
pub(crate) struct LastId(u64);

impl SlotState for LastId {
    type Stamp = ();

    fn new() -> Self {
        LastId(0)
    }

    #[inline(always)]
    fn begin(&mut self, _: Attempt, _: impl FnOnce() -> Timestamp) {}

    #[inline(always)]
    fn stamp(&self) {}
}

impl Protocol for Silo {
    type Meta<P: Physical> = P::SingleWriter;
    type Header = Narrow;
    type Gap<P: Physical> = P::SingleWriter;
    type Common<P: Physical> = ();
    type Slot = LastId;
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

impl Preparing for Silo {
    #[inline(always)]
    fn prepare<P: Physical>(
        meta: &P::SingleWriter,
        inserted: bool,
        _: Request<'_, Self, P, impl Waker>,
    ) -> Verdict {
        let word = meta.read();
        if word & LOCKED != 0 {
            return Verdict::Retry;
        }
        if word & STATUS != if inserted { ABSENT } else { 0 } {
            // Deleted since it was found.
            return Verdict::Abort(AbortReason::ReadValidation);
        }
        match meta.replace(word, word | LOCKED) {
            Ok(()) => Verdict::Granted,
            Err(_) => Verdict::Retry,
        }
    }

    #[inline(always)]
    fn unprepare<P: Physical>(meta: &P::SingleWriter, _: bool, _: Request<'_, Self, P, impl Waker>) {
        meta.store(meta.read() & !LOCKED);
    }
}

// SAFETY: the metadata is single-writer words.
unsafe impl Validating for Silo {
    const EXPIRES: bool = false;

    #[inline(always)]
    fn observe<P: Physical>(meta: &P::SingleWriter) -> Observation {
        let word = meta.read();
        match word & STATUS {
            0 => Observation::Present(word),
            status if status & LOCKED != 0 => Observation::Locked,
            ABSENT => Observation::Absent(word),
            _ => Observation::Unlinked,
        }
    }

    #[inline(always)]
    fn validate<P: Physical>(meta: &P::SingleWriter, token: u64, mine: bool, _: &LastId, _: u64) -> Validity {
        Silo::validate_version(meta, token, mine)
    }

    fn claim<P: Physical>(meta: &P::SingleWriter) {
        meta.store(ABSENT);
    }

    #[inline(always)]
    fn publish<P: Physical>(meta: &P::SingleWriter, id: u64) {
        // Not in release: a load of a word that others want by now, which the store alone does not wait for; 0.3 % of
        // the instructions of a transaction that updates.
        debug_assert!(
            matches!(unobserved(|| meta.read()), word if word & LOCKED != 0 && id > word & !STATUS),
            "versions of a record ascend"
        );
        meta.store(id);
    }

    fn mark_deleted<P: Physical>(meta: &P::SingleWriter, _: &P::SingleWriter, _: u64) {
        // Unlocked or locked by this transaction: either way nobody else changes it, since it is or was absent to all.
        meta.store((meta.read() | ABSENT | SUPERSEDED) & !LOCKED);
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
    fn transaction_id(last: &mut LastId, least: u64, epoch: u64, _: impl FnOnce() -> Timestamp) -> u64 {
        last.0 = least.max(last.0 + NEXT).max(epoch << EPOCH_SHIFT);
        last.0
    }

    fn observe_gap<P: Physical>(gap: &P::SingleWriter) -> u64 {
        gap.read()
    }

    #[inline(always)]
    fn validate_gap<P: Physical>(gap: &P::SingleWriter, token: u64, _: u64) -> Validity {
        if gap.read_in_order() == token { Validity::Valid } else { Validity::Invalid }
    }

    fn advance_gap<P: Physical>(gap: &P::SingleWriter, _: &P::SingleWriter) -> (u64, u64) {
        let before = gap.read();
        let after = before + NEXT;
        gap.store_in_order(after);
        (before, after)
    }

    fn split_gap<P: Physical>(_: &P::SingleWriter, _: &P::SingleWriter) {
        // Nobody has observed the fresh one, and any version of it will do.
    }

    fn retire_gap<P: Physical>(gap: &P::SingleWriter) {
        // A transaction that relies on a key's missing there did so while it was the leaf's.
        gap.store_in_order(gap.read() + NEXT);
    }

    fn inherit_gap<P: Physical>(_: &P::SingleWriter, _: &P::SingleWriter) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_ascend_and_carry_their_epoch() {
        let mut last = LastId::new();
        let draw = || unreachable!("its ids are no timestamps");
        let first = Silo::transaction_id(&mut last, 0, 5, draw);
        let second = Silo::transaction_id(&mut last, 0, 5, draw);
        let later = Silo::transaction_id(&mut LastId::new(), Silo::after_read(second), 6, draw);
        assert!(first < second && second < later);
        assert_eq!([first, second, later].map(|id| id >> EPOCH_SHIFT), [5, 5, 6]);
        assert_eq!([first, second, later].map(|id| id & STATUS), [0; 3]);
    }
}
