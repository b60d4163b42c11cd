//! How a run ends. A worker tells all others when the transactions of its instance's clients have ended, and serves theirs until it was told the same by each. Then it
//! ends its branches, tells all others that nothing more comes, and reads until it was told that, too: nothing is lost that was on its way, and nothing is left for the
//! next run.
//!
//! Who has lost an instance, or has a branch that has panicked, waits for no transaction. Within a process he waits until all others have told that theirs have ended: what they
//! decided came before. Between processes nobody does, and the log leaves out what is not there everywhere.

use super::Endpoint;
use super::counterpart::{Counterpart, END, FINISHED};
use crate::facade::cpu;
use crate::message::Grants;
use crate::message::channel::Channel;

impl Endpoint<'_> {
    /// The transactions of this instance's clients have ended: tells all others, once. Whether all of theirs have, or somebody has broken off.
    pub fn all_have_finished(&mut self) -> bool {
        if !std::mem::replace(&mut self.has_finished, true) {
            self.tell_all(FINISHED, b"");
        }
        self.is_broken || self.counterparts.iter().flatten().all(|counterpart| counterpart.has_finished)
    }

    /// All transactions of all instances have ended: wakes the slots that wait for branches, to end. Of a run that breaks off within a process, it takes first what the others have sent, up to that: a
    /// branch may be prepared, and its coordinator may have decided.
    pub fn close(&mut self, grants: &Grants) {
        let mut spin = cpu::Spin::new();
        while self.is_broken && !self.channels.leave_process() && !self.has_heard_all() {
            if !self.communicate_with_all(grants) {
                spin.pause();
            }
        }
        self.is_closed = true;
        self.wake_all(grants);
    }

    /// Whether all that was sent is on its way, and every other that is not lost has told that its transactions have ended.
    fn has_heard_all(&self) -> bool {
        let mut all = vec![true; self.counterparts.len()];
        for (instance, counterpart) in self.counterparts.iter().enumerate() {
            all[instance] = counterpart.as_ref().is_none_or(|counterpart| counterpart.has_finished);
        }
        self.channels.with_lost(|lost| lost.iter().for_each(|lost| all[lost.instance] = true));
        self.is_flushed() && all.iter().all(|has| *has)
    }

    /// All branches have ended: takes what the others sent, until nothing more comes.
    pub fn leave(&mut self, grants: &Grants) {
        if !self.is_broken {
            self.tell_all(END, b"");
        }
        self.has_left = true;
        let mut spin = cpu::Spin::new();
        let has_ended = |counterpart: &Counterpart| counterpart.has_ended;
        while !(self.is_broken || self.is_flushed() && self.counterparts.iter().flatten().all(has_ended)) {
            if !self.communicate_with_all(grants) {
                spin.pause();
                self.look_at_clock();
            }
        }
        if self.is_broken && self.channels.leave_process() {
            // What could not be sent any more, that this instance breaks off perhaps, is told by the connections' end.
            self.counterparts.iter().flatten().for_each(|counterpart| counterpart.channel.shut_down());
        }
    }

    /// A branch has panicked.
    #[cold]
    pub fn break_off(&self) {
        self.channels.break_off();
    }

    /// Whether one has, or an instance is lost, so that nobody may answer any more.
    pub fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Whether all transactions have ended, or an instance that is a process is lost.
    pub fn serves_no_more(&self) -> bool {
        self.is_closed || self.is_broken && self.channels.leave_process()
    }

    fn communicate_with_all(&mut self, grants: &Grants) -> bool {
        self.poll();
        self.look_at(self.counterparts.len(), grants)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Position;
    use super::super::tests::TWO;
    use super::*;
    use crate::message::channel::Channels;
    use crate::protocol::SlotId;
    use contract::ChannelName;

    fn two(channels: &Channels) -> [Endpoint<'_>; 2] {
        [0, 1].map(|instance| Endpoint::new(channels, Position { instance, ..TWO }))
    }

    /// A branch has panicked somewhere, so that nobody waits; another one is prepared here, and its coordinator has decided.
    #[test]
    fn who_closes_a_run_that_breaks_off_has_heard_what_was_decided() {
        let channels = Channels::open(ChannelName::SharedMemory, TWO);
        let grants = Grants::new(TWO.slots(), None);
        let [mut one, mut other] = two(&channels);
        one.break_off();
        assert!(!other.communicate(&grants) && other.is_broken());
        one.send_to_branch(1, 0, b"commit");
        assert!(other.all_have_finished(), "nobody waits for the others");
        assert!(!one.all_have_finished(), "it has not looked");
        other.close(&grants);
        let mut message = Vec::new();
        assert!(other.take(other.position.branch_slot(0, 0), &mut message));
        assert_eq!(message, b"commit");
    }

    /// Who serves until all have finished has all that was sent before, and tells every slot; who leaves leaves nothing behind.
    #[test]
    fn a_run_ends_with_everybodys_last_word() {
        let channels = Channels::open(ChannelName::SharedMemory, TWO);
        let grants = Grants::new(TWO.slots(), None);
        let [mut one, mut other] = two(&channels);
        assert!(!other.all_have_finished());
        one.send_to_branch(1, 0, b"the last");
        assert!(!one.all_have_finished(), "it has not looked");
        assert!(one.communicate(&grants) && one.all_have_finished());
        assert!(other.communicate(&grants) && other.all_have_finished());
        other.close(&grants);
        assert!(other.serves_no_more() && grants.is_decided(SlotId(0)));
        let mut message = Vec::new();
        assert!(other.take(other.position.branch_slot(0, 0), &mut message));
        assert_eq!(message, b"the last");
        // Sent after the other has finished, and asked for by nobody.
        other.send_to_coordinator(1, b"late");
        other.tell_all(END, b"");
        one.leave(&grants);
        while other.communicate(&grants) {}
        let has_ended =
            |endpoint: &Endpoint<'_>| endpoint.counterparts.iter().flatten().all(|other| other.has_ended);
        assert!(has_ended(&one) && has_ended(&other));
        assert!(!one.communicate(&grants) && !other.communicate(&grants));
    }
}
