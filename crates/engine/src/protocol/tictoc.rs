//! TICTOC: optimistic; the order of transactions is computed at commit from what they have read and written, instead of taken from
//! a counter or a clock (Yu et al., *TicToc: Time Traveling Optimistic Concurrency Control*, SIGMOD 2016).
//!
//! State, one word in the record and in the gap (section 3.5 of the paper):
//!
//! | bits | what |
//! |---|---|
//! | 0 | LOCKED: being installed |
//! | 1 | SUPERSEDED: unlinked from the index |
//! | 2 | ABSENT: the key has no row: an insert not yet committed, or a delete |
//! | 3..18 | delta |
//! | 18..64 | wts, the logical time at which the version was written; it is valid up to rts = wts + delta |
//!
//! A transaction's id is its commit time, the least at which all that it has read is valid and all that it overwrites was not
//! read any more: max(wts of what it read, rts + 1 of what it overwrites). Commit:
//! 1. `prepare`: lock every record of the write set, as in SILO ([`super::silo`]).
//! 2. Choose the id. Nothing central is touched.
//! 3. `validate`: a record that was read and whose rts, as it was then, is at least the id needs no look, also if it has been
//!    overwritten since: the transaction comes before that, in logical time. Otherwise its version must still be the one that was
//!    read, unlocked by others, and its rts is *extended* to the id: a write, and so a step where the metadata may be written.
//! 4. Install the private copies, and publish wts = rts = id, which unlocks.
//!
//! Ids agree with the order of transactions that conflict: who overwrites has a larger one than who wrote or read before, who
//! reads has at least the writer's. They do not agree with time: a transaction may come before others that had ended when it
//! began. So histories are serializable and not strictly so.
//!
//! Missing keys. A gap has a word of the same kind, its version is that of the set of keys in it:
//! - Who relies on keys being missing at its id validates the gap and extends it. A token of a gap is always looked at, because
//!   what was missing when the gap was observed may have been there when the look-up was made.
//! - An insert links an ABSENT record, locked until it has the gap's times: the key has been missing since the gap's wts, and
//!   somebody may rely on that up to its rts. (It was there before, perhaps: a delete left its time to the gap.) A new version of
//!   the gap begins behind: so the insert's id, which is larger than the record's rts, is larger than those of all who have
//!   missed the key before, and who finds the record ABSENT has an id not below the delete's.
//! - A record that is unlinked leaves its time to the gap: the deleting transaction's id as wts, before anybody can find the
//!   record dead, so that who misses the key has a larger one; and its rts, up to which others may have relied on it.
//! - A leaf that is split gives its word to both halves, one that leaves the index gives its time to its heir.
//!
//! We differ: the paper does not say how missing keys are protected; wts has two bits less, which are status here; the delta of
//! an extension beyond 15 bits moves wts along, which aborts those who have read the version (the paper's section 3.5, too).

use super::{Observation, Preparing, Protocol, Request, Validating, Validity, Verdict, Waker};
use crate::architecture::Architecture;
use crate::facade::unobserved;
use crate::physical::{Physical, Word};
use crate::record::header::Narrow;
use crate::timestamp::Timestamp;
use crate::transaction::access::Validated;
use contract::{AbortReason, EngineOptions};

const LOCKED: u64 = 1;
const SUPERSEDED: u64 = 2;
const ABSENT: u64 = 4;
const STATUS: u64 = 7;
const DELTA_SHIFT: u32 = 3;
const MOST_DELTA: u64 = (1 << 15) - 1;
const WTS_SHIFT: u32 = 18;

/// TICTOC.
pub(crate) struct TicToc;

const fn wts(word: u64) -> u64 {
    word >> WTS_SHIFT
}

const fn rts(word: u64) -> u64 {
    wts(word) + (word >> DELTA_SHIFT & MOST_DELTA)
}

/// A version from `wts` to `rts`, or from later on if they are too far apart.
const fn word(wts: u64, rts: u64, status: u64) -> u64 {
    let wts = if rts - wts > MOST_DELTA { rts - MOST_DELTA } else { wts };
    wts << WTS_SHIFT | (rts - wts) << DELTA_SHIFT | status
}

/// The same version, valid up to `until` at least.
const fn extended(found: u64, until: u64) -> u64 {
    if rts(found) >= until { found } else { word(wts(found), until, found & STATUS) }
}

/// Changes a word that others may extend meanwhile; answers what it was and is.
fn change(meta: &impl Word<u64>, to: impl Fn(u64) -> u64) -> (u64, u64) {
    loop {
        let before = meta.read();
        let after = to(before);
        if meta.replace(before, after).is_ok() {
            return (before, after);
        }
    }
}

/// Extends a token, unless its version is no more or is being replaced.
fn extend(meta: &impl Word<u64>, token: u64, id: u64) -> bool {
    loop {
        let found = meta.read_in_order();
        match judge(found, token, id) {
            Validity::Valid => return true,
            Validity::Invalid => return false,
            Validity::Expired => {
                if meta.replace(found, extended(found, id)).is_ok() {
                    return true;
                }
            }
        }
    }
}

/// What a token is worth at `id` if the word is `found`.
const fn judge(found: u64, token: u64, id: u64) -> Validity {
    if wts(found) != wts(token) || (found ^ token) & STATUS & !LOCKED != 0 {
        return Validity::Invalid;
    }
    match (rts(found) >= id, found & LOCKED != 0) {
        (true, _) => Validity::Valid,
        (false, true) => Validity::Invalid,
        (false, false) => Validity::Expired,
    }
}

impl Protocol for TicToc {
    type Meta<P: Physical> = P::SingleWriter;
    type Header = Narrow;
    type Gap<P: Physical> = P::SingleWriter;
    type Common<P: Physical> = ();
    type Slot = ();
    type Access<A: Architecture<Protocol = Self>> = Validated;

    fn common<P: Physical>(_: usize, _: usize, _: &EngineOptions) {}

    fn is_quiescent<P: Physical>(meta: &P::SingleWriter) -> bool {
        meta.read() & STATUS == 0
    }

    fn is_gap_quiescent<P: Physical>(gap: &P::SingleWriter) -> bool {
        gap.read() & STATUS == 0
    }
}

impl Preparing for TicToc {
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
        // Nobody extends what is locked.
        meta.store(meta.read() & !LOCKED);
    }
}

// SAFETY: the metadata is single-writer words.
unsafe impl Validating for TicToc {
    const EXPIRES: bool = true;

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
    fn is_same(one: u64, other: u64) -> bool {
        wts(one) == wts(other) && (one ^ other) & STATUS == 0
    }

    #[inline(always)]
    fn validate<P: Physical>(meta: &P::SingleWriter, token: u64, mine: bool, (): &(), id: u64) -> Validity {
        if mine {
            // Locked by this transaction: nobody extends it, and its next version begins at the id.
            let found = meta.read_in_order();
            let same = wts(found) == wts(token) && found & STATUS == token & STATUS | LOCKED;
            return if same { Validity::Valid } else { Validity::Invalid };
        }
        if rts(token) >= id {
            return Validity::Valid;
        }
        judge(meta.read_in_order(), token, id)
    }

    fn extend<P: Physical>(meta: &P::SingleWriter, token: u64, id: u64) -> bool {
        extend(meta, token, id)
    }

    fn claim<P: Physical>(meta: &P::SingleWriter) {
        meta.store(ABSENT | LOCKED);
    }

    #[inline(always)]
    fn publish<P: Physical>(meta: &P::SingleWriter, id: u64) {
        // Not in release: a load of a word that others want by now, which the store alone does not wait for; 0.3 % of
        // the instructions of a transaction that updates.
        debug_assert!(
            matches!(unobserved(|| meta.read()), word if word & LOCKED != 0 && id > rts(word)),
            "versions of a record ascend"
        );
        meta.store(word(id, id, 0));
    }

    fn mark_deleted<P: Physical>(meta: &P::SingleWriter, gap: &P::SingleWriter, id: u64) {
        // First the gap: a scan that passes over a dead record misses its key, and must not do so at an earlier time.
        change(gap, |found| if wts(found) >= id { found } else { word(id, rts(found).max(id), 0) });
        let (_, dead) = change(meta, |found| (found | ABSENT | SUPERSEDED) & !LOCKED);
        change(gap, |found| extended(found, rts(dead).max(id)));
    }

    #[inline(always)]
    fn after_read(token: u64) -> u64 {
        wts(token)
    }

    #[inline(always)]
    fn after_gap(token: u64) -> u64 {
        wts(token)
    }

    #[inline(always)]
    fn after_write<P: Physical>(meta: &P::SingleWriter) -> u64 {
        rts(meta.read()) + 1
    }

    #[inline(always)]
    fn transaction_id((): &mut (), least: u64, _: u64, _: impl FnOnce() -> Timestamp) -> u64 {
        assert!(least < 1 << (u64::BITS - WTS_SHIFT), "2^46 commits of one record");
        least
    }

    fn observe_gap<P: Physical>(gap: &P::SingleWriter) -> u64 {
        gap.read()
    }

    fn validate_gap<P: Physical>(gap: &P::SingleWriter, token: u64, id: u64) -> Validity {
        judge(gap.read_in_order(), token, id)
    }

    fn extend_gap<P: Physical>(gap: &P::SingleWriter, token: u64, id: u64) -> bool {
        extend(gap, token, id)
    }

    fn advance_gap<P: Physical>(gap: &P::SingleWriter, record: &P::SingleWriter) -> (u64, u64) {
        let (before, after) = change(gap, |found| word(rts(found) + 1, rts(found) + 1, 0));
        // Nobody extends what is locked.
        record.store(word(wts(before), rts(before), ABSENT));
        (before, after)
    }

    fn split_gap<P: Physical>(gap: &P::SingleWriter, fresh: &P::SingleWriter) {
        // A reader that extends the first from now on finds its new range.
        fresh.store(gap.read());
    }

    fn retire_gap<P: Physical>(gap: &P::SingleWriter) {
        change(gap, |found| word(rts(found) + 1, rts(found) + 1, 0));
    }

    fn inherit_gap<P: Physical>(retired: &P::SingleWriter, heir: &P::SingleWriter) {
        let last = wts(retired.read());
        change(heir, |found| if wts(found) >= last { found } else { word(last, rts(found).max(last), 0) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_their_times() {
        for (from, until) in [(0, 0), (7, 9), (1 << 40, (1 << 40) + MOST_DELTA)] {
            let kept = word(from, until, ABSENT);
            assert_eq!((wts(kept), rts(kept), kept & STATUS), (from, until, ABSENT));
        }
        let moved = word(5, 5 + MOST_DELTA + 10, 0);
        assert_eq!((wts(moved), rts(moved)), (15, 5 + MOST_DELTA + 10), "the version begins later");
    }

    #[test]
    fn a_token_is_extended_only_if_its_version_is_there_and_free() {
        let token = word(5, 7, 0);
        assert_eq!(judge(token, token, 7), Validity::Valid);
        assert_eq!(judge(token, token, 8), Validity::Expired);
        assert_eq!(judge(token | LOCKED, token, 8), Validity::Invalid);
        assert_eq!(judge(extended(token, 9) | LOCKED, token, 8), Validity::Valid);
        assert_eq!(judge(word(8, 8, 0), token, 8), Validity::Invalid);
    }
}
