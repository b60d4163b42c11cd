//! 2V_NO_WAIT: NO_WAIT with certify locks, so that readers pass a writer until it commits (*trireme* 3.1, 3.2).
//!
//! A writer changes a private copy (the copy that an undo log would have made), readers go on reading the committed
//! version, and at commit each write lock becomes a certify lock, which excludes readers, too. If one cannot, the
//! transaction aborts.
//!
//! State: a counting semaphore in the record ([`super::semaphore`]).
//!
//! Invariants: at most one writer; CERTIFIED implies WRITER and, once granted, no readers.
//!
//! A transaction that upgrades its read to a write trades its place among the readers for the write flag, which excludes
//! other writers just as well. Certifying therefore succeeds if the only reader is the transaction itself, as it must.
//!
//! A record that is being inserted has no committed version to show and is born certified. Missing keys: on gaps
//! the semaphore works as in NO_WAIT.
//!
//! We differ: the paper's certify lock is a read counter of -1, and its readers exchange the counter for one more. Here
//! it is a flag, so that a reader adds, which cannot fail.

use super::semaphore::{self, CERTIFIED, DEAD, Semaphore, WRITER};
use super::{Mode, Protocol, Reads, Request, Verdict, Waker, Writes};
use crate::physical::Physical;
use contract::AbortReason;

/// 2V_NO_WAIT.
pub(crate) struct TwoVersionNoWait;

impl Protocol for TwoVersionNoWait {
    type Meta<P: Physical> = Semaphore<P>;
    type Common<P: Physical> = ();
    type Slot = ();

    const READS: Reads = Reads::Locked;
    const WRITES: Writes = Writes::Certified;

    fn common<P: Physical>(slots: usize, _: usize) {
        semaphore::assert_countable(slots);
    }

    fn is_quiescent<P: Physical>(meta: &Semaphore<P>) -> bool {
        meta.is_quiescent()
    }

    #[inline(always)]
    fn acquire<P: Physical>(meta: &Semaphore<P>, mode: Mode, _: Request<'_, Self, P, impl Waker>) -> Verdict {
        match mode {
            Mode::Shared => meta.enter(mode, CERTIFIED),
            Mode::Insert => meta.enter(mode, WRITER),
            Mode::Exclusive => meta.mark(WRITER),
        }
    }

    fn upgrade<P: Physical>(meta: &Semaphore<P>, _: Request<'_, Self, P, impl Waker>) -> Verdict {
        // Other readers may stay until this transaction certifies.
        let verdict = meta.mark(WRITER);
        if verdict == Verdict::Granted {
            meta.leave(Mode::Shared);
        }
        verdict
    }

    fn upgrade_gap<P: Physical>(
        meta: &Semaphore<P>,
        from: Mode,
        _: Request<'_, Self, P, impl Waker>,
    ) -> Verdict {
        meta.trade(from, WRITER | CERTIFIED)
    }

    #[inline(always)]
    fn release<P: Physical>(meta: &Semaphore<P>, mode: Mode, _: Request<'_, Self, P, impl Waker>) {
        match mode {
            Mode::Exclusive => {
                debug_assert!(meta.flags() & WRITER != 0, "released without being held");
                meta.set(0);
            }
            Mode::Shared | Mode::Insert => meta.leave(mode),
        }
    }

    fn mark_deleted<P: Physical>(meta: &Semaphore<P>, _: Request<'_, Self, P, impl Waker>) {
        assert_eq!(meta.flags(), WRITER | CERTIFIED, "marked deleted without being certified");
        meta.set(DEAD);
    }

    fn retire_gap<P: Physical>(meta: &Semaphore<P>, (): &()) -> bool {
        meta.retire()
    }

    fn claim<P: Physical>(meta: &Semaphore<P>, _: Request<'_, Self, P, impl Waker>) {
        meta.set(WRITER | CERTIFIED);
    }

    fn prepare<P: Physical>(meta: &Semaphore<P>, inserted: bool) -> Verdict {
        if inserted {
            return Verdict::Granted;
        }
        meta.close(WRITER, WRITER | CERTIFIED, None, AbortReason::Certify)
    }

    fn unprepare<P: Physical>(meta: &Semaphore<P>, inserted: bool) {
        // What was inserted was certified before.
        if !inserted {
            meta.set(WRITER);
        }
    }
}
