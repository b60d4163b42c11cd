//! A release grants the record to those who wait for it and tells none of them: they wait for ever. What is removed is the
//! wake-up; no history shows it, for the run does not end, which the watchdog tells.

use super::{Broken, Defect};
use crate::architecture::Architecture;
use crate::physical::Physical;
use crate::protocol::{DlDetect, Locking, Mode, Protocol, Request, RequestWith, SlotId, Wake, Waker};
use crate::transaction::access::Locked;

pub(crate) struct LostWakeUp;

/// Wakes nobody.
struct Mute;

impl Waker for Mute {
    fn wake(&self, _: SlotId, _: Wake) {}
}

impl Defect<DlDetect> for LostWakeUp {
    type Access<A: Architecture<Protocol = Broken<DlDetect, Self>>> = Locked;

    fn release<P: Physical>(
        meta: &<DlDetect as Protocol>::Meta<P>,
        mode: Mode,
        RequestWith { common, who, .. }: Request<'_, DlDetect, P, impl Waker>,
    ) {
        DlDetect::release(meta, mode, RequestWith { common, who, waker: &Mute });
    }
}
