//! The word in which NO_WAIT and 2V_NO_WAIT count (*trireme* 3.2, after VLL): who holds a record, and in what mode.
//!
//! | bits | what |
//! |---|---|
//! | 0..32 | readers; of a bucket, transactions that found a key missing |
//! | 32..61 | of a bucket, inserters |
//! | 61 | WRITER |
//! | 62 | DEAD: unlinked, ask again |
//! | 63 | CERTIFIED (2V_NO_WAIT): the writer installs |
//!
//! A request names the holders that it conflicts with, and adds its unit to the word unless one of them is there. The
//! paper's semaphore has no inserters and no dead records, since its workloads have no inserts.

use super::{Mode, Verdict};
use crate::physical::Word;
use contract::AbortReason;

pub(super) const READER: u64 = 1;
pub(super) const READERS: u64 = (1 << 32) - 1;
const INSERTER: u64 = 1 << 32;
pub(super) const INSERTERS: u64 = (1 << 61) - (1 << 32);
pub(super) const WRITER: u64 = 1 << 61;
pub(super) const DEAD: u64 = 1 << 62;
pub(super) const CERTIFIED: u64 = 1 << 63;

/// What a holder in this mode adds to the word.
pub(super) const fn unit(mode: Mode) -> u64 {
    match mode {
        Mode::Shared => READER,
        Mode::Insert => INSERTER,
        Mode::Exclusive => WRITER,
    }
}

/// The bits that holders in this mode occupy.
const fn holders(mode: Mode) -> u64 {
    match mode {
        Mode::Shared => READERS,
        Mode::Insert => INSERTERS,
        Mode::Exclusive => WRITER,
    }
}

/// Adds `units` unless one of `conflicts` is there.
#[inline(always)]
pub(super) fn add(meta: &impl Word<u64>, conflicts: u64, units: u64) -> Verdict {
    let mut found = meta.read();
    loop {
        if found & (conflicts | DEAD) != 0 {
            return if found & DEAD != 0 { Verdict::Again } else { Verdict::Abort(AbortReason::Conflict) };
        }
        match meta.replace(found, found.wrapping_add(units)) {
            Ok(()) => return Verdict::Granted,
            Err(now) => found = now,
        }
    }
}

/// Replaces the word of a sole holder in mode `from`.
pub(super) fn raise_if_alone(meta: &impl Word<u64>, from: Mode, to: u64) -> Verdict {
    match meta.replace(unit(from), to) {
        Ok(()) => Verdict::Granted,
        Err(_) => Verdict::Abort(AbortReason::Conflict),
    }
}

/// Takes a holder in this mode away, others coming and going meanwhile.
#[inline(always)]
pub(super) fn take(meta: &impl Word<u64>, mode: Mode) {
    debug_assert!(meta.read() & holders(mode) != 0, "released without being held");
    meta.subtract(unit(mode));
}
