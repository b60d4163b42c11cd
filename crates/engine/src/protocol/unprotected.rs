//! No protocol, for an architecture in which whoever runs has its partitions to itself (*trireme* 3.3).
//!
//! State: none. Reads and writes are in place, and hold nothing; what is overwritten is kept for undo.

use super::{Mode, Protocol, Reads, Request, Verdict, Waker, Writes};
use crate::physical::{Physical, Word};

/// No protocol.
pub(crate) struct Unprotected;

impl Protocol for Unprotected {
    type Meta<P: Physical> = P::Word64;
    type Common<P: Physical> = ();
    type Slot = ();

    const READS: Reads = Reads::Alone;
    const WRITES: Writes = Writes::InPlace;

    fn common<P: Physical>(_: usize, _: usize) {}

    fn is_quiescent<P: Physical>(meta: &P::Word64) -> bool {
        meta.read() == 0
    }

    #[inline(always)]
    fn acquire<P: Physical>(_: &P::Word64, _: Mode, _: Request<'_, Self, P, impl Waker>) -> Verdict {
        Verdict::Granted
    }

    #[inline(always)]
    fn upgrade<P: Physical>(_: &P::Word64, _: Request<'_, Self, P, impl Waker>) -> Verdict {
        Verdict::Granted
    }

    #[inline(always)]
    fn upgrade_gap<P: Physical>(_: &P::Word64, _: Mode, _: Request<'_, Self, P, impl Waker>) -> Verdict {
        Verdict::Granted
    }

    #[inline(always)]
    fn release<P: Physical>(_: &P::Word64, _: Mode, _: Request<'_, Self, P, impl Waker>) {}

    fn mark_deleted<P: Physical>(_: &P::Word64, _: Request<'_, Self, P, impl Waker>) {}

    fn retire_gap<P: Physical>(_: &P::Word64, (): &()) -> bool {
        true
    }

    fn claim<P: Physical>(_: &P::Word64, _: Request<'_, Self, P, impl Waker>) {}
}
