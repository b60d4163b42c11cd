//! The watchdog: tells a transaction that waits for ever from one that waits for long, and says who waits for whom.
//!
//! While waits are short nobody looks. A transaction that has waited for one record longer than the run's patience asks from then
//! on, now and then, whom it waits for ([`Protocol::waits_for`]), says that and that it waits for long beside its grant
//! word, and looks who keeps it waiting, directly or through others:
//!
//! - If one of them has not said so, it runs, or waits for a shorter time, or has been granted what it waited for: the run
//!   is slow, and goes on.
//! - If all of them have, then each waits for nobody but these: none will ever be woken. That is a hang, a deadlock that was
//!   overlooked or a wake-up that was lost, and a defect of the protocol: the transaction panics with the graph. It releases what it
//!   holds on the way out, as after any panic, and the run ends, if need be by the panics of those who still wait for it.
//!
//! What a transaction says is as old as its last look. Who has left a queue since then only makes its waiters look as if they might
//! go on; who has come before a waiter since then is not seen until the next look. So a hang is believed when every look for
//! the run's patience has shown it.
//!
//! Under ORTHRUS only the concurrency-control threads know whom a transaction waits for. There it may be all that have asked for locks and
//! not given them back, which each says beside its grant word. A grant that was lost is found out once nobody else goes on, at the latest when
//! the run is over.
//!
//! Cost: a waiter counts its pauses, and reads the clock once in [`PAUSES`] of them; who is aborted reads a line that nobody writes.
//!
//! Where a protocol cannot say whom a transaction waits for, none is judged; a transaction that is aborted, or told to ask again,
//! again and again waits for nobody in particular, and is not either. But once somebody was found to wait for ever, whose request
//! stays in the way, who is aborted gives up as well, so that the run ends ([`aborted`]).

use super::Site;
use crate::facade::clock::{self, Ticks};
use crate::message::Grants;
use crate::physical::Physical;
use crate::protocol::waits_for::SlotSet;
use crate::protocol::{Protocol, SlotId};
use std::fmt::Write;

/// Pauses of a waiter between two readings of the clock.
const PAUSES: u32 = 1024;

/// An attempt of a transaction was aborted. Panics if the next ones may be for ever.
#[inline(always)]
pub(super) fn aborted(grants: &Grants) {
    assert!(!grants.has_dead(), "aborted in a run in which somebody waits for ever");
}

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
        // SAFETY: the slot's transaction waits here ([`Architecture::wait`](super::Architecture::wait)), until it is told.
        self.look_at(slot, site.waker, || unsafe { P::waits_for(site.common, slot) });
    }

    /// The same where it is not known here whom it waits for: it may be all that have asked for something.
    #[cold]
    pub fn look_at_all(&mut self, slot: SlotId, grants: &Grants) {
        self.look_at(slot, grants, || Some(grants.others_present(slot)));
    }

    fn look_at(&mut self, slot: SlotId, grants: &Grants, others: impl FnOnce() -> Option<SlotSet>) {
        let now = clock::now();
        let since = *self.since.get_or_insert(now);
        if now.since(since) < grants.patience() {
            return;
        }
        let Some(others) = others() else {
            return self.suspected = None;
        };
        self.is_overdue = true;
        grants.set_overdue(slot, &others);
        let Some(graph) = hang(slot, grants) else { return self.suspected = None };
        // Not at first sight: others' rows may be old, and who decides a request may be kept from waking it for a while.
        if now.since(*self.suspected.get_or_insert(now)) >= grants.patience() {
            grants.set_dead(slot);
            panic!("transactions wait for ever: {graph}");
        }
    }
}

/// The graph of all that `slot` waits for, in words, if all of it waits; `None`: somebody may yet go on.
fn hang(slot: SlotId, grants: &Grants) -> Option<String> {
    let (mut seen, mut ahead) = (SlotSet::EMPTY, SlotSet::EMPTY);
    seen.insert(slot.0);
    ahead.insert(slot.0);
    let mut graph = String::new();
    while let Some(next) = ahead.remove_any() {
        if !grants.is_stuck(SlotId(next)) {
            return None;
        }
        let mut others = grants.waits_for(SlotId(next));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Wake, Waker};

    #[test]
    fn a_hang_is_told_in_words() {
        let grants = Grants::new(3, None);
        let mut others = SlotSet::EMPTY;
        others.insert(1);
        grants.set_overdue(SlotId(0), &others);
        assert_eq!(hang(SlotId(0), &grants), None, "slot 1 has not waited for long");
        grants.set_overdue(SlotId(1), &SlotSet::EMPTY);
        let words = "slot 0 waits for 1; slot 1 was granted what it waited for, and not woken";
        assert_eq!(hang(SlotId(0), &grants).as_deref(), Some(words));
        grants.wake(SlotId(1), Wake::Granted);
        assert_eq!(hang(SlotId(0), &grants), None, "slot 1 was woken");
    }

    #[test]
    fn who_has_asked_for_nothing_is_in_nobodys_way() {
        let grants = Grants::new(3, None);
        grants.set_away(SlotId(2));
        let others = || grants.others_present(SlotId(0));
        assert!(others().contains(1) && !others().contains(0) && !others().contains(2));
        grants.set_overdue(SlotId(0), &others());
        assert_eq!(hang(SlotId(0), &grants), None, "slot 1 runs");
        grants.set_away(SlotId(1));
        grants.set_overdue(SlotId(0), &others());
        let words = "slot 0 was granted what it waited for, and not woken";
        assert_eq!(hang(SlotId(0), &grants).as_deref(), Some(words));
    }
}
