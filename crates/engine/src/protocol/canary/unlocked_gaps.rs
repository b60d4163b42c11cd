//! Inserts hold no gap, and heed nobody who does: phantoms. What protects missing keys and ranges from them under locking
//! is removed; those who find keys missing still hold the gaps, and an insert into a gap that its own transaction relies on is
//! as under NO_WAIT.

use super::Defect;
use crate::physical::Physical;
use crate::protocol::semaphore::{DEAD, Semaphore};
use crate::protocol::{Mode, NoWait, Protocol, Requester, Verdict, Waker};

pub(crate) struct UnlockedGaps;

impl Defect<NoWait> for UnlockedGaps {
    fn acquire<P: Physical>(
        common: &(),
        meta: &Semaphore<P>,
        mode: Mode,
        who: Requester,
        waker: &impl Waker,
    ) -> Verdict {
        match mode {
            Mode::Insert if meta.flags() & DEAD != 0 => Verdict::Again,
            Mode::Insert => Verdict::Granted,
            Mode::Shared | Mode::Exclusive => NoWait::acquire::<P>(common, meta, mode, who, waker),
        }
    }

    fn raise_bucket<P: Physical>(
        common: &(),
        meta: &Semaphore<P>,
        from: Mode,
        who: Requester,
        waker: &impl Waker,
    ) -> Verdict {
        match from {
            Mode::Insert => NoWait::acquire::<P>(common, meta, Mode::Exclusive, who, waker),
            Mode::Shared | Mode::Exclusive => NoWait::raise_bucket::<P>(common, meta, from, who, waker),
        }
    }

    fn release<P: Physical>(
        common: &(),
        meta: &Semaphore<P>,
        mode: Mode,
        who: Requester,
        waker: &impl Waker,
    ) {
        if mode != Mode::Insert {
            NoWait::release::<P>(common, meta, mode, who, waker);
        }
    }
}
