//! A read lock is given back as soon as it is granted: two-phase locking without its second phase for reads.

use super::Defect;
use crate::physical::Physical;
use crate::protocol::{Mode, NoWait, Protocol, Requester, Verdict, Waker};

pub(crate) struct EarlyRelease;

impl Defect<NoWait> for EarlyRelease {
    fn acquire<P: Physical>(
        common: &(),
        meta: &P::Word64,
        mode: Mode,
        who: Requester,
        waker: &impl Waker,
    ) -> Verdict {
        let verdict = NoWait::acquire::<P>(common, meta, mode, who, waker);
        if mode == Mode::Shared && verdict == Verdict::Granted {
            NoWait::release::<P>(common, meta, mode, who, waker);
        }
        verdict
    }

    fn raise<P: Physical>(common: &(), meta: &P::Word64, who: Requester, waker: &impl Waker) -> Verdict {
        NoWait::acquire::<P>(common, meta, Mode::Exclusive, who, waker)
    }

    fn raise_bucket<P: Physical>(
        common: &(),
        meta: &P::Word64,
        from: Mode,
        who: Requester,
        waker: &impl Waker,
    ) -> Verdict {
        match from {
            Mode::Shared => NoWait::acquire::<P>(common, meta, Mode::Exclusive, who, waker),
            _ => NoWait::raise_bucket::<P>(common, meta, from, who, waker),
        }
    }

    fn release<P: Physical>(common: &(), meta: &P::Word64, mode: Mode, who: Requester, waker: &impl Waker) {
        if mode != Mode::Shared {
            NoWait::release::<P>(common, meta, mode, who, waker);
        }
    }
}
