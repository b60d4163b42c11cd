//! Reads are not counted in the records: nobody who writes heeds them, and they heed nobody when they come late.

use super::{Broken, Defect};
use crate::architecture::Architecture;
use crate::physical::Physical;
use crate::protocol::{Ahead, Locking, Mode, Protocol, Request, Verdict, Vll, Waker};
use crate::transaction::access::Locked;

pub(crate) struct UncountedReads;

type Counters<P> = <Vll as Protocol>::Meta<P>;

impl Defect<Vll> for UncountedReads {
    type Access<A: Architecture<Protocol = Broken<Vll, Self>>> = Locked;

    fn acquire<P: Physical>(
        counters: &Counters<P>,
        mode: Mode,
        request: Request<'_, Vll, P, impl Waker>,
    ) -> Verdict {
        match mode {
            Mode::Shared if Vll::is_dead(counters) => Verdict::Retry,
            Mode::Shared => Verdict::Granted,
            Mode::Exclusive => Vll::acquire(counters, mode, request),
        }
    }

    fn upgrade<P: Physical>(counters: &Counters<P>, request: Request<'_, Vll, P, impl Waker>) -> Verdict {
        // Nothing is held.
        match Vll::acquire(counters, Mode::Exclusive, request) {
            Verdict::Retry => Verdict::Abort(contract::AbortReason::Conflict),
            verdict => verdict,
        }
    }

    fn release<P: Physical>(counters: &Counters<P>, mode: Mode, request: Request<'_, Vll, P, impl Waker>) {
        if mode == Mode::Exclusive {
            Vll::release(counters, mode, request);
        }
    }

    fn request_all<'m, P: Physical>(
        records: impl Iterator<Item = Ahead<'m, Vll, P>>,
        request: Request<'_, Vll, P, impl Waker>,
    ) -> Verdict {
        Vll::request_all(records.filter(|ahead| ahead.mode == Mode::Exclusive), request)
    }

    fn release_all<'m, P: Physical>(
        records: impl Iterator<Item = (&'m Counters<P>, Mode)>,
        request: Request<'_, Vll, P, impl Waker>,
    ) {
        Vll::release_all(records.filter(|(_, mode)| *mode == Mode::Exclusive), request);
    }
}
