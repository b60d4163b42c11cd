//! The watchdog: tells a transaction that waits for ever from one that waits for long, and says who waits for whom.
//!
//! While waits are short nobody looks. A transaction that has waited for one record longer than the run's patience says so
//! in its own grant word's line, and asks from then on, now and then, who keeps it waiting, directly or through others
//! ([`Protocol::waits_for`]):
//!
//! - If one of them has not said so, it runs, or waits for a shorter time, or has been granted what it waited for: the run
//!   is slow, and goes on.
//! - If all of them have, then each waits for nobody but these: none will ever be woken. That is a hang, a deadlock that was
//!   overlooked or a wake-up that was lost, and a defect of the protocol: the transaction panics with the graph. It releases what it
//!   holds on the way out, as after any panic, and the run ends, if need be by the panics of those who still wait for it.
//!
//! Cost: a waiter counts its pauses, and reads the clock once in [`PAUSES`] of them.
//!
//! Where a protocol cannot say whom a transaction waits for, none is judged; a transaction that is told to ask again and again
//! waits for nobody in particular, and is not either.

use super::Site;
use crate::facade::clock::{self, Ticks};
use crate::message::Grants;
use crate::physical::Physical;
use crate::protocol::waits_for::SlotSet;
use crate::protocol::{Protocol, SlotId};
use std::fmt::Write;

/// Pauses of a waiter between two readings of the clock.
const PAUSES: u32 = 1024;

/// One wait.
pub(super) struct Watch {
    pauses: u32,
    /// When the clock was read first.
    since: Option<Ticks>,
    is_overdue: bool,
    /// When it was found to be for ever, if it still looks so.
    suspected: Option<Ticks>,
}

impl Watch {
    /// A wait that begins.
    pub const fn new() -> Self {
        Watch { pauses: 0, since: None, is_overdue: false, suspected: None }
    }

    /// `slot` has waited a little longer.
    #[inline(always)]
    pub fn paused<P: Protocol, F: Physical>(&mut self, slot: SlotId, site: &Site<'_, P, F, Grants>) {
        self.pauses += 1;
        if self.pauses == PAUSES {
            self.pauses = 0;
            self.look(slot, site);
        }
    }

    /// `slot` has been told what it waited for.
    #[inline(always)]
    pub fn over(&self, slot: SlotId, grants: &Grants) {
        if self.is_overdue {
            grants.set_in_time(slot);
        }
    }

    /// `slot` has waited for long, perhaps for too long. Panics if it will wait for ever.
    #[cold]
    pub fn look<P: Protocol, F: Physical>(&mut self, slot: SlotId, site: &Site<'_, P, F, Grants>) {
        let (now, grants) = (clock::now(), site.waker);
        let since = *self.since.get_or_insert(now);
        if now.since(since) < grants.patience() {
            return;
        }
        self.is_overdue = true;
        grants.set_overdue(slot);
        let Some(graph) = hang(slot, site) else { return self.suspected = None };
        // Not at first sight: who grants a request clears its edges first, and may be kept from waking it for a while.
        if now.since(*self.suspected.get_or_insert(now)) >= grants.patience() {
            grants.set_dead(slot);
            panic!("transactions wait for ever: {graph}");
        }
    }
}

/// The graph of all that `slot` waits for, in words, if all of it waits; `None`: somebody may yet go on.
fn hang<P: Protocol, F: Physical>(slot: SlotId, site: &Site<'_, P, F, Grants>) -> Option<String> {
    let (mut seen, mut ahead) = (SlotSet::EMPTY, SlotSet::EMPTY);
    seen.insert(slot.0);
    ahead.insert(slot.0);
    let mut graph = String::new();
    while let Some(next) = ahead.remove_any() {
        if !site.waker.is_stuck(SlotId(next)) {
            return None;
        }
        let mut others = P::waits_for(site.common, SlotId(next))?;
        let mut names = String::new();
        while let Some(other) = others.remove_any() {
            let comma = if names.is_empty() { "" } else { ", " };
            write!(names, "{comma}{other}").expect("memory");
            if seen.insert(other) {
                ahead.insert(other);
            }
        }
        let separator = if graph.is_empty() { "" } else { "; " };
        let what = match names.as_str() {
            "" => "was granted what it waited for, and not woken".to_owned(),
            names => format!("waits for {names}"),
        };
        write!(graph, "{separator}slot {next} {what}").expect("memory");
    }
    Some(graph)
}
