//! A read lock is upgraded to a write lock although others hold it, too, where it should abort: lost updates.

use super::{Broken, Defect};
use crate::architecture::Architecture;
use crate::physical::Physical;
use crate::protocol::{DeadlockFree, Mode, Protocol, Request, Verdict, Waker};
use crate::transaction::access::Locked;

pub(crate) struct UnguardedUpgrade;

impl Defect<DeadlockFree> for UnguardedUpgrade {
    type Access<A: Architecture<Protocol = Broken<DeadlockFree, Self>>> = Locked;

    fn upgrade<P: Physical>(
        meta: &<DeadlockFree as Protocol>::Meta<P>,
        request: Request<'_, DeadlockFree, P, impl Waker>,
    ) -> Verdict {
        DeadlockFree::upgrade_unguarded(meta, request);
        Verdict::Granted
    }

    fn release<P: Physical>(
        meta: &<DeadlockFree as Protocol>::Meta<P>,
        _: Mode,
        request: Request<'_, DeadlockFree, P, impl Waker>,
    ) {
        // Another who was upgraded may have deleted the record, and all who held it with it.
        DeadlockFree::let_go(meta, request);
    }

    fn mark_deleted<P: Physical>(
        meta: &<DeadlockFree as Protocol>::Meta<P>,
        request: Request<'_, DeadlockFree, P, impl Waker>,
    ) {
        DeadlockFree::kill(meta, request);
    }
}
