//! How a transaction waits for a queued request, and backs off in a fiber.
//!
//! Whoever decides the request writes the grant word of the transaction's slot ([`Grants`]). A thread looks at it again and again; a fiber is
//! parked, and its worker goes on with others. Where a protocol lets those who wait look for deadlocks, each look does so, and a fiber is
//! parked for so long only. The watchdog ([`super::watchdog`]) tells a wait that is for ever.

use super::watchdog::Watch;
use super::{BackOff, Site};
use crate::facade::clock::{self, Ticks};
use crate::fiber::{Current, Suspension};
use crate::message::Grants;
use crate::physical::Physical;
use crate::protocol::{Protocol, SlotId, Wake};
use contract::AbortReason;
use std::time::Duration;

/// How a wait for a queued request has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    /// The request was decided.
    Told(Wake),
    /// It is queued, or was a moment ago, and is to be taken back, for this reason.
    InVain(AbortReason),
}

/// One look of a transaction that waits.
#[inline(always)]
pub(crate) fn look<P: Protocol, F: Physical>(
    slot: SlotId,
    until: Option<Ticks>,
    site: &Site<'_, P, F, Grants>,
) -> Option<Waited> {
    let waited = match site.waker.take(slot) {
        Some(wake) => Waited::Told(wake),
        None if is_past(until) => Waited::InVain(AbortReason::Timeout),
        None if P::LOOKS_WHILE_WAITING && P::waits_for_itself(site.common, slot) => {
            Waited::InVain(AbortReason::Deadlock)
        }
        None => return None,
    };
    if P::LOOKS_WHILE_WAITING {
        P::has_waited(site.common, slot);
    }
    Some(waited)
}

/// Parks the fiber until its request is decided, or is to be taken back.
pub(crate) fn park<P: Protocol, F: Physical>(
    current: &mut Current,
    slot: SlotId,
    until: Option<Ticks>,
    site: &Site<'_, P, F, Grants>,
) -> Waited {
    let (mut watch, mut looks) = (Watch::new(), 0u32);
    loop {
        current.suspend(Suspension::Park(slot, next_look::<P>(until, looks)));
        if let Some(waited) = look(slot, until, site) {
            watch.over(slot, site.waker);
            return waited;
        }
        // Its worker lets those that are parked look now and then; those that look for themselves do so often.
        match P::LOOKS_WHILE_WAITING {
            true => watch.paused(slot, site),
            false => watch.look(slot, site),
        }
        looks = looks.saturating_add(1);
    }
}

/// Lets the worker's other fibers run until then, after so many attempts in a row. After many it counts as one that only looks: whoever is in its way may need
/// the core, so the worker pauses if none of its fibers gets on.
pub(crate) fn back_off_parked(current: &mut Current, until: Ticks, attempts: u32) {
    current.suspend(match attempts > BackOff::ATTEMPTS_BEFORE_YIELDING {
        true => Suspension::Look(until),
        false => Suspension::Sleep(until),
    });
}

/// For how long a fiber is parked that looks meanwhile whether it waits for itself: its worker has others to run. The first time about as long
/// as a transaction takes, and from one look to the next twice as long, so that long queues of fibers do not spend their workers' time.
const BEFORE_FIRST_LOOK: Duration = Duration::from_micros(5);
/// How often that doubles.
const MOST_DOUBLINGS: u32 = 5;

/// Until when a fiber is parked that has looked so often and waits until `until`, if until a time at all.
#[inline(always)]
fn next_look<P: Protocol>(until: Option<Ticks>, looks: u32) -> Option<Ticks> {
    if !P::LOOKS_WHILE_WAITING {
        return until;
    }
    let next = Ticks(clock::now().0 + (clock::ticks_of(BEFORE_FIRST_LOOK) << looks.min(MOST_DOUBLINGS)));
    Some(until.map_or(next, |until| until.min(next)))
}

/// Whether a wait that ends at `until`, if at a time at all, is over. The clock is read only if so.
#[inline(always)]
fn is_past(until: Option<Ticks>) -> bool {
    until.is_some_and(|until| clock::now() >= until)
}
