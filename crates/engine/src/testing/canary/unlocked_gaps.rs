//! Inserts hold no gap, and heed nobody who does: phantoms. What protects missing keys and ranges from them under locking
//! is removed; those who find keys missing still hold the gaps, and an insert into a gap that its own transaction relies on is
//! as under NO_WAIT.

use super::{Broken, Defect};
use crate::architecture::Architecture;
use crate::physical::Physical;
use crate::protocol::semaphore::{DEAD, Semaphore};
use crate::protocol::{GapMode, Locking, NoWait, Request, Verdict, Waker};
use crate::transaction::access::Locked;

pub(crate) struct UnlockedGaps;

fn grant<P: Physical>(meta: &Semaphore<P>) -> Verdict {
    if meta.flags() & DEAD != 0 { Verdict::Retry } else { Verdict::Granted }
}

impl Defect<NoWait> for UnlockedGaps {
    type Access<A: Architecture<Protocol = Broken<NoWait, Self>>> = Locked;

    fn hold_gap<P: Physical>(
        gap: &Semaphore<P>,
        mode: GapMode,
        request: Request<'_, NoWait, P, impl Waker>,
    ) -> Verdict {
        match mode {
            GapMode::Insert => grant(gap),
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
            GapMode::Insert => NoWait::hold_gap::<P>(gap, GapMode::Exclusive, request),
            _ => NoWait::upgrade_gap::<P>(gap, from, request),
        }
    }

    fn release_gap<P: Physical>(
        gap: &Semaphore<P>,
        mode: GapMode,
        request: Request<'_, NoWait, P, impl Waker>,
    ) {
        if mode != GapMode::Insert {
            NoWait::release_gap::<P>(gap, mode, request);
        }
    }
}
