//! A release grants the record to those who wait for it and tells none of them: they wait for ever. What is removed is the
//! wake-up; no history shows it, for the run does not end, which the watchdog tells.

use super::{Broken, Defect};
use crate::architecture::Architecture;
use crate::physical::Physical;
use crate::protocol::{Locking, Mode, Request, RequestWith, SlotId, Wake, Waker};
use crate::transaction::access::Locked;

pub(crate) struct LostWakeUp;

/// Wakes nobody.
struct Mute;

impl Waker for Mute {
    fn wake(&self, _: SlotId, _: Wake) {}
}

impl<B: Locking> Defect<B> for LostWakeUp {
    type Access<A: Architecture<Protocol = Broken<B, Self>>> = Locked;

    fn release<P: Physical>(
        meta: &B::Meta<P>,
        mode: Mode,
        RequestWith { common, who, .. }: Request<'_, B, P, impl Waker>,
    ) {
        B::release(meta, mode, RequestWith { common, who, waker: &Mute });
    }
}
