//! A request whose time is up is given up without a look at whether it was granted meanwhile: its lock is never released, and the
//! word that tells of it is taken for an answer to the slot's next request.

use super::{Broken, Defect};
use crate::architecture::Architecture;
use crate::physical::Physical;
use crate::protocol::{Locking, Request, Waker};
use crate::transaction::access::Locked;

pub(crate) struct HastyWithdrawal;

impl<B: Locking> Defect<B> for HastyWithdrawal {
    type Access<A: Architecture<Protocol = Broken<B, Self>>> = Locked;

    fn withdraw<P: Physical>(meta: &B::Meta<P>, request: Request<'_, B, P, impl Waker>) -> bool {
        let _: bool = B::withdraw(meta, request);
        true
    }
}
