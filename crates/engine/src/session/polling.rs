//! When a worker polls what other instances want of it: before each turn of a fiber, with two exceptions where that takes long, because it is done by calls of the system.
//!
//! - When something has come, those that it lets go on take their turns first: who polls between them finds little, and who polls after them has more to write at once.
//! - When something was *posted* ([`crate::message::endpoint`]), a transaction begins first, if one can, and takes it along. It waits for some turns at most: others wait for it.
//!
//! Between two local transactions a fiber polls in place, if no other one has anything to do ([`super::fibers`]).

/// See the module.
#[derive(Default)]
pub(super) struct Polling {
    /// That are left to those.
    turns: usize,
    /// Turns for which something has been posted.
    posted_for: u32,
}

impl Polling {
    /// Turns that what is posted waits: that of another branch, which answers, and that of who begins.
    const MOST_WAITED: u32 = 2;

    /// Something has come, for so many.
    pub fn has_come(&mut self, fibers: usize) {
        self.turns = fibers;
    }

    /// Before a turn: whether what is posted has waited for too long.
    pub fn is_late(&mut self, has_posted: bool) -> bool {
        self.posted_for = if has_posted { self.posted_for + 1 } else { 0 };
        self.posted_for > Self::MOST_WAITED
    }

    /// Whether it polls before the turn: if fibers can go on, and if one is about to begin that takes along what was posted.
    pub fn is_due(&mut self, can_go_on: bool, takes_along: bool) -> bool {
        if self.turns > 0 && can_go_on {
            self.turns -= 1;
            return false;
        }
        self.turns = 0;
        !takes_along
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_polls_once_those_have_had_their_turns_for_whom_something_has_come() {
        let mut polling = Polling::default();
        assert!(polling.is_due(false, false) && polling.is_due(true, false), "nothing has come");
        polling.has_come(2);
        assert!(!polling.is_due(true, false) && !polling.is_due(true, true));
        assert!(polling.is_due(true, false), "as many turns as there were fibers");
        polling.has_come(2);
        assert!(!polling.is_due(true, false) && polling.is_due(false, false), "none is left that can go on");
        assert!(polling.is_due(true, false), "the turns that were left are not another's");
    }

    #[test]
    fn what_is_posted_is_taken_along_or_goes_two_turns_later() {
        let mut polling = Polling::default();
        assert!(!polling.is_due(false, true), "a transaction begins that takes it along");
        assert_eq!([true; 4].map(|has_posted| polling.is_late(has_posted)), [false, false, true, true]);
        assert!(!polling.is_late(false) && !polling.is_late(true), "it has gone");
    }
}
