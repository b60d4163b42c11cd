//! A read lock is upgraded to a write lock although others hold it, too: lost updates.

use super::{Broken, Defect};
use crate::architecture::Architecture;
use crate::physical::Physical;
use crate::protocol::{Mode, Protocol, Request, Verdict, WaitDie, Waker};
use crate::transaction::access::Locked;

pub(crate) struct EagerUpgrade;

impl Defect<WaitDie> for EagerUpgrade {
    type Access<A: Architecture<Protocol = Broken<WaitDie, Self>>> = Locked;

    fn upgrade<P: Physical>(
        meta: &<WaitDie as Protocol>::Meta<P>,
        request: Request<'_, WaitDie, P, impl Waker>,
    ) -> Verdict {
        WaitDie::upgrade_eagerly(meta, request);
        Verdict::Granted
    }

    fn release<P: Physical>(
        meta: &<WaitDie as Protocol>::Meta<P>,
        _: Mode,
        request: Request<'_, WaitDie, P, impl Waker>,
    ) {
        // Another who was upgraded may have deleted the record, and all who held it with it.
        WaitDie::let_go(meta, request);
    }

    fn mark_deleted<P: Physical>(
        meta: &<WaitDie as Protocol>::Meta<P>,
        request: Request<'_, WaitDie, P, impl Waker>,
    ) {
        WaitDie::kill(meta, request);
    }
}
