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

use super::semaphore::{self, CERTIFIED, Counted, DEAD, Semaphore, WRITER};
use super::{GapMode, Locking, Mode, Preparing, Protocol, Request, Verdict, Waker};
use crate::architecture::Architecture;
use crate::facade::unobserved;
use crate::physical::Physical;
use crate::record::header::Narrow;
use crate::transaction::access::Certified;
use contract::{AbortReason, EngineOptions};

/// 2V_NO_WAIT.
pub(crate) struct TwoVersionNoWait;

impl Protocol for TwoVersionNoWait {
    type Meta<P: Physical> = Semaphore<P>;
    type Header = Narrow;
    type Gap<P: Physical> = Semaphore<P>;
    type Common<P: Physical> = ();
    type Slot = ();
    type Access<A: Architecture<Protocol = Self>> = Certified;

    fn common<P: Physical>(slots: usize, _: usize, _: &EngineOptions) {
        semaphore::assert_countable(slots);
    }

    fn is_quiescent<P: Physical>(meta: &Semaphore<P>) -> bool {
        meta.is_quiescent()
    }

    fn is_gap_quiescent<P: Physical>(gap: &Semaphore<P>) -> bool {
        gap.is_quiescent()
    }
}

impl Locking for TwoVersionNoWait {
    #[inline(always)]
    fn acquire<P: Physical>(meta: &Semaphore<P>, mode: Mode, _: Request<'_, Self, P, impl Waker>) -> Verdict {
        match mode {
            Mode::Shared => meta.enter(Counted::Reader, CERTIFIED),
            Mode::Exclusive => meta.mark(WRITER),
        }
    }

    fn upgrade<P: Physical>(meta: &Semaphore<P>, _: Request<'_, Self, P, impl Waker>) -> Verdict {
        // Other readers may stay until this transaction certifies.
        let verdict = meta.mark(WRITER);
        if verdict == Verdict::Granted {
            meta.leave(Counted::Reader);
        }
        verdict
    }

    #[inline(always)]
    fn release<P: Physical>(meta: &Semaphore<P>, mode: Mode, _: Request<'_, Self, P, impl Waker>) {
        match mode {
            Mode::Exclusive => {
                // Not in release: a load of a word that others want by now, which the store alone does not wait for.
                debug_assert!(unobserved(|| meta.flags()) & WRITER != 0, "released without being held");
                meta.set(0);
            }
            Mode::Shared => meta.leave(Counted::Reader),
        }
    }

    fn mark_deleted<P: Physical>(meta: &Semaphore<P>, _: Request<'_, Self, P, impl Waker>) {
        assert_eq!(meta.flags(), WRITER | CERTIFIED, "marked deleted without being certified");
        meta.set(DEAD);
    }

    fn claim<P: Physical>(meta: &Semaphore<P>, _: Request<'_, Self, P, impl Waker>) {
        meta.set(WRITER | CERTIFIED);
    }

    #[inline(always)]
    fn hold_gap<P: Physical>(
        gap: &Semaphore<P>,
        mode: GapMode,
        _: Request<'_, Self, P, impl Waker>,
    ) -> Verdict {
        gap.hold(mode)
    }

    fn upgrade_gap<P: Physical>(
        gap: &Semaphore<P>,
        from: GapMode,
        _: Request<'_, Self, P, impl Waker>,
    ) -> Verdict {
        gap.upgrade(from)
    }

    #[inline(always)]
    fn release_gap<P: Physical>(gap: &Semaphore<P>, mode: GapMode, _: Request<'_, Self, P, impl Waker>) {
        gap.let_go(mode);
    }

    fn retire_gap<P: Physical>(gap: &Semaphore<P>, (): &()) -> bool {
        gap.retire()
    }
}

impl Preparing for TwoVersionNoWait {
    fn prepare<P: Physical>(
        meta: &Semaphore<P>,
        inserted: bool,
        _: Request<'_, Self, P, impl Waker>,
    ) -> Verdict {
        if inserted {
            return Verdict::Granted;
        }
        meta.close(WRITER, WRITER | CERTIFIED, None, AbortReason::Certify)
    }

    fn unprepare<P: Physical>(meta: &Semaphore<P>, inserted: bool, _: Request<'_, Self, P, impl Waker>) {
        // What was inserted was certified before.
        if !inserted {
            meta.set(WRITER);
        }
    }
}
