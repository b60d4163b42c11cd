//! NO_WAIT: two-phase locking in which a conflicting request aborts; nobody ever waits (*trireme* 3.1).
//!
//! State: a counting semaphore in the record ([`super::semaphore`]).
//!
//! Invariant: of readers, inserters and a writer, at most one kind is there and has been granted.
//!
//! Atomic instructions of an access under `Shared`: reading is one to acquire and one to release; writing is one to
//! acquire, and a plain store to release.
//!
//! Missing keys: the gap's count of misses excludes inserters until commit.

use super::semaphore::{self, Counted, DEAD, Semaphore, WRITER};
use super::{GapMode, Locking, Mode, Protocol, Request, Verdict, Waker};
use crate::architecture::Architecture;
use crate::facade::unobserved;
use crate::physical::Physical;
use crate::record::header::Narrow;
use crate::transaction::access::Locked;
use contract::{AbortReason, EngineOptions};

/// NO_WAIT.
pub(crate) struct NoWait;

impl Protocol for NoWait {
    type Meta<P: Physical> = Semaphore<P>;
    type Header = Narrow;
    type Gap<P: Physical> = Semaphore<P>;
    type Common<P: Physical> = ();
    type Slot = ();
    type Access<A: Architecture<Protocol = Self>> = Locked;

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

impl Locking for NoWait {
    #[inline(always)]
    fn acquire<P: Physical>(meta: &Semaphore<P>, mode: Mode, _: Request<'_, Self, P, impl Waker>) -> Verdict {
        match mode {
            Mode::Shared => meta.enter(Counted::Reader, WRITER),
            Mode::Exclusive => meta.close(0, WRITER, None, AbortReason::Conflict),
        }
    }

    fn upgrade<P: Physical>(meta: &Semaphore<P>, _: Request<'_, Self, P, impl Waker>) -> Verdict {
        meta.trade(Counted::Reader, WRITER)
    }

    #[inline(always)]
    fn release<P: Physical>(meta: &Semaphore<P>, mode: Mode, _: Request<'_, Self, P, impl Waker>) {
        match mode {
            Mode::Exclusive => {
                // Not in release: a load of a word that others want by now, which the store alone does not wait for.
                debug_assert_eq!(unobserved(|| meta.flags()), WRITER, "released without being held");
                meta.set(0);
            }
            Mode::Shared => meta.leave(Counted::Reader),
        }
    }

    fn mark_deleted<P: Physical>(meta: &Semaphore<P>, _: Request<'_, Self, P, impl Waker>) {
        assert_eq!(meta.flags(), WRITER, "marked deleted without being held");
        meta.set(DEAD);
    }

    fn claim<P: Physical>(meta: &Semaphore<P>, _: Request<'_, Self, P, impl Waker>) {
        meta.set(WRITER);
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
