//! A read lock is released as soon as it is granted: two-phase locking without its second phase for reads.

use super::unheld::Grant;
use crate::physical::Physical;
use crate::protocol::semaphore::Semaphore;
use crate::protocol::{Mode, NoWait, Protocol, Request, Verdict, Waker};

pub(crate) struct EarlyRelease;

impl Grant for EarlyRelease {
    const MODE: Mode = Mode::Shared;

    fn grant<P: Physical>(meta: &Semaphore<P>, request: Request<'_, NoWait, P, impl Waker>) -> Verdict {
        let verdict = NoWait::acquire::<P>(meta, Mode::Shared, request);
        if verdict == Verdict::Granted {
            NoWait::release::<P>(meta, Mode::Shared, request);
        }
        verdict
    }
}
