//! A read lock is released as soon as it is granted: two-phase locking without its second phase for reads, of gaps, too.

use super::{Broken, Defect};
use crate::architecture::Architecture;
use crate::physical::Physical;
use crate::protocol::semaphore::Semaphore;
use crate::protocol::{GapMode, Locking, Mode, NoWait, Request, Verdict, Waker};
use crate::transaction::access::Locked;

pub(crate) struct EarlyRelease;

impl Defect<NoWait> for EarlyRelease {
    type Access<A: Architecture<Protocol = Broken<NoWait, Self>>> = Locked;

    fn acquire<P: Physical>(
        meta: &Semaphore<P>,
        mode: Mode,
        request: Request<'_, NoWait, P, impl Waker>,
    ) -> Verdict {
        match mode {
            Mode::Shared => {
                let verdict = NoWait::acquire::<P>(meta, mode, request);
                if verdict == Verdict::Granted {
                    NoWait::release::<P>(meta, mode, request);
                }
                verdict
            }
            Mode::Exclusive => NoWait::acquire::<P>(meta, mode, request),
        }
    }

    fn upgrade<P: Physical>(meta: &Semaphore<P>, request: Request<'_, NoWait, P, impl Waker>) -> Verdict {
        // Nothing is held.
        NoWait::acquire::<P>(meta, Mode::Exclusive, request)
    }

    fn release<P: Physical>(meta: &Semaphore<P>, mode: Mode, request: Request<'_, NoWait, P, impl Waker>) {
        if mode == Mode::Exclusive {
            NoWait::release::<P>(meta, mode, request);
        }
    }

    fn hold_gap<P: Physical>(
        gap: &Semaphore<P>,
        mode: GapMode,
        request: Request<'_, NoWait, P, impl Waker>,
    ) -> Verdict {
        match mode {
            GapMode::Shared => {
                let verdict = NoWait::hold_gap::<P>(gap, mode, request);
                if verdict == Verdict::Granted {
                    NoWait::release_gap::<P>(gap, mode, request);
                }
                verdict
            }
            _ => NoWait::hold_gap::<P>(gap, mode, request),
        }
    }

    fn upgrade_gap<P: Physical>(
        gap: &Semaphore<P>,
        from: GapMode,
        request: Request<'_, NoWait, P, impl Waker>,
    ) -> Verdict {
        match from {
            // Nothing is held.
            GapMode::Shared => NoWait::hold_gap::<P>(gap, GapMode::Exclusive, request),
            _ => NoWait::upgrade_gap::<P>(gap, from, request),
        }
    }

    fn release_gap<P: Physical>(
        gap: &Semaphore<P>,
        mode: GapMode,
        request: Request<'_, NoWait, P, impl Waker>,
    ) {
        if mode != GapMode::Shared {
            NoWait::release_gap::<P>(gap, mode, request);
        }
    }
}
