//! Reads take no lock: they see what a writer may yet undo.

use super::Defect;
use crate::physical::{Physical, Word};
use crate::protocol::no_wait::DEAD;
use crate::protocol::{Mode, NoWait, Protocol, Requester, Verdict, Waker};

pub(crate) struct DirtyReads;

impl Defect<NoWait> for DirtyReads {
    fn acquire<P: Physical>(
        common: &(),
        meta: &P::Word64,
        mode: Mode,
        who: Requester,
        waker: &impl Waker,
    ) -> Verdict {
        match mode {
            Mode::Shared if meta.read() & DEAD != 0 => Verdict::Again,
            Mode::Shared => Verdict::Granted,
            _ => NoWait::acquire::<P>(common, meta, mode, who, waker),
        }
    }

    fn raise<P: Physical>(common: &(), meta: &P::Word64, who: Requester, waker: &impl Waker) -> Verdict {
        NoWait::acquire::<P>(common, meta, Mode::Exclusive, who, waker)
    }

    fn raise_bucket<P: Physical>(
        common: &(),
        meta: &P::Word64,
        from: Mode,
        who: Requester,
        waker: &impl Waker,
    ) -> Verdict {
        match from {
            Mode::Shared => NoWait::acquire::<P>(common, meta, Mode::Exclusive, who, waker),
            _ => NoWait::raise_bucket::<P>(common, meta, from, who, waker),
        }
    }

    fn release<P: Physical>(common: &(), meta: &P::Word64, mode: Mode, who: Requester, waker: &impl Waker) {
        if mode != Mode::Shared {
            NoWait::release::<P>(common, meta, mode, who, waker);
        }
    }
}
