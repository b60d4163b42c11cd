//! A request that would have to wait out of order waits: two transactions that ask for two records in different orders wait for each
//! other. No history shows it, for the run does not end, which the watchdog tells.

use super::{Broken, Defect};
use crate::architecture::Architecture;
use crate::physical::Physical;
use crate::protocol::{
    DeadlockFree, Locking, Mode, Protocol, Request, RequestWith, Requester, Turn, Verdict, Waker,
};
use crate::transaction::access::Locked;

pub(crate) struct WaitsOutOfOrder;

impl Defect<DeadlockFree> for WaitsOutOfOrder {
    type Access<A: Architecture<Protocol = Broken<DeadlockFree, Self>>> = Locked;

    fn acquire<P: Physical>(
        meta: &<DeadlockFree as Protocol>::Meta<P>,
        mode: Mode,
        RequestWith { common, who, waker }: Request<'_, DeadlockFree, P, impl Waker>,
    ) -> Verdict {
        let who = Requester { stamp: Turn::InOrder, ..who };
        DeadlockFree::acquire(meta, mode, RequestWith { common, who, waker })
    }
}
