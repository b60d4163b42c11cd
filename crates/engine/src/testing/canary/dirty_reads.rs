//! Reads take no lock: they see what a writer may yet undo. Keys that were missing may appear.

use super::{Broken, Defect};
use crate::architecture::Architecture;
use crate::physical::Physical;
use crate::protocol::semaphore::{DEAD, Semaphore};
use crate::protocol::{GapMode, Locking, Mode, NoWait, Request, Verdict, Waker};
use crate::transaction::access::Locked;

pub(crate) struct DirtyReads;

fn grant<P: Physical>(meta: &Semaphore<P>) -> Verdict {
    if meta.flags() & DEAD != 0 { Verdict::Retry } else { Verdict::Granted }
}

impl Defect<NoWait> for DirtyReads {
    type Access<A: Architecture<Protocol = Broken<NoWait, Self>>> = Locked;

    fn acquire<P: Physical>(
        meta: &Semaphore<P>,
        mode: Mode,
        request: Request<'_, NoWait, P, impl Waker>,
    ) -> Verdict {
        match mode {
            Mode::Shared => grant(meta),
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
            GapMode::Shared => grant(gap),
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
