//! A read lock is upgraded to a write lock although others hold it, too: lost updates.

use super::{Broken, Defect};
use crate::architecture::Architecture;
use crate::physical::Physical;
use crate::protocol::{Protocol, Request, Verdict, WaitDie, Waker};
use crate::transaction::access::Locked;

pub(crate) struct EagerUpgrade;

impl Defect<WaitDie> for EagerUpgrade {
    type Access<A: Architecture<Protocol = Broken<WaitDie, Self>>> = Locked;

    fn upgrade<P: Physical>(
        meta: &<WaitDie as Protocol>::Meta<P>,
        request: Request<'_, WaitDie, P, impl Waker>,
    ) -> Verdict {
        WaitDie::upgrade_eagerly(meta, request)
    }
}
