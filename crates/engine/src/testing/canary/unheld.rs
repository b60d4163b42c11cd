//! What the canaries that hold nothing in one mode have in common: upgrading such a request is a new one, and there is
//! nothing to release.

use super::Defect;
use crate::physical::Physical;
use crate::protocol::semaphore::Semaphore;
use crate::protocol::{Mode, NoWait, Protocol, Requester, Verdict, Waker};
use std::marker::PhantomData;

/// How requests of one mode are granted without being held.
pub(super) trait Grant: 'static {
    /// The mode.
    const MODE: Mode;

    fn grant<P: Physical>(meta: &Semaphore<P>, who: Requester, waker: &impl Waker) -> Verdict;
}

/// NO_WAIT with requests granted in this way.
pub(crate) struct Unheld<G>(PhantomData<G>);

impl<G: Grant> Defect<NoWait> for Unheld<G> {
    fn acquire<P: Physical>(
        common: &(),
        meta: &Semaphore<P>,
        mode: Mode,
        who: Requester,
        waker: &impl Waker,
    ) -> Verdict {
        if mode == G::MODE {
            return G::grant::<P>(meta, who, waker);
        }
        NoWait::acquire::<P>(common, meta, mode, who, waker)
    }

    fn upgrade<P: Physical>(common: &(), meta: &Semaphore<P>, who: Requester, waker: &impl Waker) -> Verdict {
        if G::MODE == Mode::Shared {
            return NoWait::acquire::<P>(common, meta, Mode::Exclusive, who, waker);
        }
        NoWait::upgrade::<P>(common, meta, who, waker)
    }

    fn upgrade_gap<P: Physical>(
        common: &(),
        meta: &Semaphore<P>,
        from: Mode,
        who: Requester,
        waker: &impl Waker,
    ) -> Verdict {
        if from == G::MODE {
            return NoWait::acquire::<P>(common, meta, Mode::Exclusive, who, waker);
        }
        NoWait::upgrade_gap::<P>(common, meta, from, who, waker)
    }

    fn release<P: Physical>(
        common: &(),
        meta: &Semaphore<P>,
        mode: Mode,
        who: Requester,
        waker: &impl Waker,
    ) {
        if mode != G::MODE {
            NoWait::release::<P>(common, meta, mode, who, waker);
        }
    }
}
