//! Who waits to upgrade a read lock to a write lock, and finds that it waits for itself, has its lock at once, although others hold it, too,
//! where it should abort: lost updates.

use super::{Broken, Defect};
use crate::architecture::Architecture;
use crate::physical::Physical;
use crate::protocol::{Dreadlocks, Locking, Mode, Protocol, Request, Waker};
use crate::transaction::access::Locked;

pub(crate) struct ForcedUpgrade;

impl Defect<Dreadlocks> for ForcedUpgrade {
    type Access<A: Architecture<Protocol = Broken<Dreadlocks, Self>>> = Locked;

    fn withdraw<P: Physical>(
        meta: &<Dreadlocks as Protocol>::Meta<P>,
        request: Request<'_, Dreadlocks, P, impl Waker>,
    ) -> bool {
        !Dreadlocks::upgrade_by_force(meta, request) && Dreadlocks::withdraw(meta, request)
    }

    fn release<P: Physical>(
        meta: &<Dreadlocks as Protocol>::Meta<P>,
        _: Mode,
        request: Request<'_, Dreadlocks, P, impl Waker>,
    ) {
        // Another who was upgraded may have deleted the record, and all who held it with it.
        Dreadlocks::let_go(meta, request);
    }

    fn mark_deleted<P: Physical>(
        meta: &<Dreadlocks as Protocol>::Meta<P>,
        request: Request<'_, Dreadlocks, P, impl Waker>,
    ) {
        Dreadlocks::kill(meta, request);
    }
}
