//! What the canaries that hold nothing of what they read have in common: raising such a read is a new request, and
//! there is nothing to give back.

use super::Defect;
use crate::physical::Physical;
use crate::protocol::semaphore::Semaphore;
use crate::protocol::{Mode, NoWait, Protocol, Requester, Verdict, Waker};
use std::marker::PhantomData;

/// How a read is granted without being held.
pub(super) trait UnheldRead: 'static {
    fn grant<P: Physical>(meta: &Semaphore<P>, who: Requester, waker: &impl Waker) -> Verdict;
}

/// NO_WAIT with reads of this kind.
pub(crate) struct UnheldReads<R>(PhantomData<R>);

impl<R: UnheldRead> Defect<NoWait> for UnheldReads<R> {
    fn acquire<P: Physical>(
        common: &(),
        meta: &Semaphore<P>,
        mode: Mode,
        who: Requester,
        waker: &impl Waker,
    ) -> Verdict {
        match mode {
            Mode::Shared => R::grant::<P>(meta, who, waker),
            _ => NoWait::acquire::<P>(common, meta, mode, who, waker),
        }
    }

    fn raise<P: Physical>(common: &(), meta: &Semaphore<P>, who: Requester, waker: &impl Waker) -> Verdict {
        NoWait::acquire::<P>(common, meta, Mode::Exclusive, who, waker)
    }

    fn raise_bucket<P: Physical>(
        common: &(),
        meta: &Semaphore<P>,
        from: Mode,
        who: Requester,
        waker: &impl Waker,
    ) -> Verdict {
        match from {
            Mode::Shared => NoWait::acquire::<P>(common, meta, Mode::Exclusive, who, waker),
            _ => NoWait::raise_bucket::<P>(common, meta, from, who, waker),
        }
    }

    fn release<P: Physical>(
        common: &(),
        meta: &Semaphore<P>,
        mode: Mode,
        who: Requester,
        waker: &impl Waker,
    ) {
        if mode != Mode::Shared {
            NoWait::release::<P>(common, meta, mode, who, waker);
        }
    }
}
