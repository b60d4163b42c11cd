//! What the canaries that hold nothing in one mode have in common: upgrading such a request is a new one, and there is
//! nothing to release.

use super::Defect;
use crate::physical::Physical;
use crate::protocol::semaphore::Semaphore;
use crate::protocol::{Mode, NoWait, Protocol, Request, Verdict, Waker};
use std::marker::PhantomData;

/// How requests of one mode are granted without being held.
pub(super) trait Grant: 'static {
    /// The mode.
    const MODE: Mode;

    fn grant<P: Physical>(meta: &Semaphore<P>, request: Request<'_, NoWait, P, impl Waker>) -> Verdict;
}

/// NO_WAIT with requests granted in this way.
pub(crate) struct Unheld<G>(PhantomData<G>);

impl<G: Grant> Defect<NoWait> for Unheld<G> {
    fn acquire<P: Physical>(
        meta: &Semaphore<P>,
        mode: Mode,
        request: Request<'_, NoWait, P, impl Waker>,
    ) -> Verdict {
        if mode == G::MODE {
            return G::grant::<P>(meta, request);
        }
        NoWait::acquire::<P>(meta, mode, request)
    }

    fn upgrade<P: Physical>(meta: &Semaphore<P>, request: Request<'_, NoWait, P, impl Waker>) -> Verdict {
        if G::MODE == Mode::Shared {
            return NoWait::acquire::<P>(meta, Mode::Exclusive, request);
        }
        NoWait::upgrade::<P>(meta, request)
    }

    fn upgrade_gap<P: Physical>(
        meta: &Semaphore<P>,
        from: Mode,
        request: Request<'_, NoWait, P, impl Waker>,
    ) -> Verdict {
        if from == G::MODE {
            return NoWait::acquire::<P>(meta, Mode::Exclusive, request);
        }
        NoWait::upgrade_gap::<P>(meta, from, request)
    }

    fn release<P: Physical>(meta: &Semaphore<P>, mode: Mode, request: Request<'_, NoWait, P, impl Waker>) {
        if mode != G::MODE {
            NoWait::release::<P>(meta, mode, request);
        }
    }
}
