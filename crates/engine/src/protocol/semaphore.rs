//! The metadata in which NO_WAIT and 2V_NO_WAIT count who holds a record, and in what mode: a counting semaphore, after
//! VLL (*trireme* 3.2). VLL counts so who holds a gap.
//!
//! State, two words of one line:
//!
//! | word | bits | what |
//! |---|---|---|
//! | counts | 0..16 | readers; of a gap, transactions that found a key missing |
//! | counts | 16..32 | of a gap, inserters |
//! | flags | 0 | WRITER |
//! | flags | 1 | CERTIFIED (2V_NO_WAIT): the writer installs |
//! | flags | 2 | DEAD: unlinked, ask again |
//!
//! A holder that is counted adds itself first and then looks for whom it conflicts with; a writer sets its flag first and then
//! looks whether anybody is counted. Of two that meet so, at least one sees the other and takes back what it did. So
//! counting is one atomic addition, which cannot fail and be repeated as an exchange would, however many do it at once;
//! and since nobody else changes the flags while one is set, giving them back is a plain store.
//!
//! Two that meet may both give up. They would under NO_WAIT in any case: one of them conflicts, and tries again later.
//!
//! The paper's semaphore has no inserters and no dead records, since its workloads have no inserts.

use super::{GapMode, Verdict};
use crate::physical::{Metadata, Physical, Word};
use contract::AbortReason;

const READER: u32 = 1;
const READERS: u32 = (1 << 16) - 1;
const INSERTER: u32 = 1 << 16;
const INSERTERS: u32 = !READERS;

pub(crate) const WRITER: u32 = 1;
pub(crate) const CERTIFIED: u32 = 2;
pub(crate) const DEAD: u32 = 4;

/// Slots that can be counted at once.
pub(crate) const MOST_SLOTS: usize = READERS as usize;

/// Who holds a record or a gap. All zero: nobody.
#[repr(C)]
pub(crate) struct Semaphore<P: Physical> {
    counts: P::Word32,
    flags: P::Word32,
}

// SAFETY: two words.
unsafe impl<P: Physical> Metadata for Semaphore<P> {}

/// Holders that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    Reader,
    Inserter,
}

impl Counted {
    /// What one adds to the counts.
    const fn unit(self) -> u32 {
        match self {
            Counted::Reader => READER,
            Counted::Inserter => INSERTER,
        }
    }

    /// The others, whom it excludes.
    const fn others(self) -> u32 {
        match self {
            Counted::Reader => INSERTERS,
            Counted::Inserter => READERS,
        }
    }
}

/// Why a request is denied by these flags.
const fn denied(flags: u32) -> Verdict {
    if flags & DEAD != 0 { Verdict::Retry } else { Verdict::Abort(AbortReason::Conflict) }
}

impl<P: Physical> Semaphore<P> {
    /// Counts one holder more of a kind, unless another kind is counted or one of `closing` is set.
    #[inline(always)]
    pub fn enter(&self, kind: Counted, closing: u32) -> Verdict {
        let counted = self.counts.add(kind.unit());
        let flags = self.flags.read_in_order();
        if counted & kind.others() == 0 && flags & (closing | DEAD) == 0 {
            return Verdict::Granted;
        }
        self.leave(kind);
        denied(flags)
    }

    /// Takes a counted holder away, others coming and going meanwhile.
    #[inline(always)]
    pub fn leave(&self, kind: Counted) {
        let before = self.counts.subtract(kind.unit());
        assert!(before & !kind.others() != 0, "released without being held");
    }

    /// Sets `flags` if none is set, however many holders are counted.
    #[inline(always)]
    pub fn mark(&self, flags: u32) -> Verdict {
        match self.flags.replace(0, flags) {
            Ok(()) => Verdict::Granted,
            Err(found) => denied(found),
        }
    }

    /// Turns the flags from `from` into `to`, which excludes everybody who is counted: succeeds if nobody is, but the
    /// requester itself of the kind `mine`. Otherwise they remain, and it aborts for `reason`.
    #[inline(always)]
    pub fn close(&self, from: u32, to: u32, mine: Option<Counted>, reason: AbortReason) -> Verdict {
        if let Err(found) = self.flags.replace(from, to) {
            return denied(found);
        }
        if self.counts.read_in_order() == mine.map_or(0, Counted::unit) {
            return Verdict::Granted;
        }
        self.flags.store(from);
        Verdict::Abort(reason)
    }

    /// Trades the place among the counted for `to`: see [`Semaphore::close`].
    pub fn trade(&self, from: Counted, to: u32) -> Verdict {
        let verdict = self.close(0, to, Some(from), AbortReason::Conflict);
        if verdict == Verdict::Granted {
            self.leave(from);
        }
        verdict
    }

    /// Of a gap: asks for it in `mode`.
    #[inline(always)]
    pub fn hold(&self, mode: GapMode) -> Verdict {
        match mode {
            GapMode::Shared => self.enter(Counted::Reader, WRITER),
            GapMode::Insert => self.enter(Counted::Inserter, WRITER),
            GapMode::Exclusive => self.close(0, WRITER, None, AbortReason::Conflict),
        }
    }

    /// Of a gap: upgrades what is held to `Exclusive`.
    pub fn upgrade(&self, from: GapMode) -> Verdict {
        match from {
            GapMode::Shared => self.trade(Counted::Reader, WRITER),
            GapMode::Insert => self.trade(Counted::Inserter, WRITER),
            GapMode::Exclusive => Verdict::Granted,
        }
    }

    /// Of a gap: releases what is held in `mode`.
    #[inline(always)]
    pub fn let_go(&self, mode: GapMode) {
        match mode {
            GapMode::Shared => self.leave(Counted::Reader),
            GapMode::Insert => self.leave(Counted::Inserter),
            GapMode::Exclusive => {
                assert_eq!(self.flags(), WRITER, "released without being held");
                self.set(0);
            }
        }
    }

    /// Makes it dead for ever if nobody is there; answers whether it did. Who looks meanwhile is told to ask again.
    pub fn retire(&self) -> bool {
        self.close(0, DEAD, None, AbortReason::Conflict) == Verdict::Granted
    }

    /// The flags; only their holder may rely on them.
    pub fn flags(&self) -> u32 {
        self.flags.read()
    }

    /// Sets the flags, which the caller holds, or those of a record that nobody can find yet.
    #[inline(always)]
    pub fn set(&self, flags: u32) {
        self.flags.store(flags);
    }

    /// Nobody is there, and what it belongs to is linked.
    pub fn is_quiescent(&self) -> bool {
        self.counts.read() == 0 && self.flags.read() == 0
    }
}

/// Panics if more transactions can be in flight than can be counted.
pub(crate) fn assert_countable(slots: usize) {
    assert!(slots <= MOST_SLOTS, "{slots} transactions in flight, and at most {MOST_SLOTS} can be counted");
}
