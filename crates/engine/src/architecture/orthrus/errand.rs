//! A request on its way: whose it is, and which part of the lock set is to be granted next.
//!
//! It is had by one thread at a time, or waits in a lock table until a release gives it to who releases. Who has it reads the lock set; who has sent it
//! on, left it in a table or told the transaction does not, because from then on the transaction may have all its locks, and may ask for
//! others.

use super::lock_set::LockSet;
use super::lock_table::{Lock, LockTable};
use crate::facade::cpu;
use crate::protocol::SlotId;
use crate::work;

/// See the module.
#[derive(Clone, Copy)]
pub(super) struct Errand {
    pub slot: SlotId,
    list: *const LockSet,
    stop: u32,
}

// SAFETY: whoever has the errand only reads the lock set, after the message that brought it, or after taking it from a table whose latch it has, or
// which is its own.
unsafe impl Send for Errand {}

impl Errand {
    /// The slot's, to a stop of its lock set.
    ///
    /// # Safety
    /// The lock set stays where it is, and as it is, until all that it asks for is granted, or the slot's run has failed and it is leaked; and
    /// the errand is used by who has it, in the sense of the module.
    pub unsafe fn new(slot: SlotId, list: &LockSet, stop: usize) -> Self {
        Errand { slot, list, stop: stop as u32 }
    }

    fn list(&self) -> &LockSet {
        // SAFETY: by the contract of `Errand::new`.
        unsafe { &*self.list }
    }

    fn locks(&self) -> &[Lock] {
        self.list().at_stop(self.stop as usize)
    }

    /// Who has the locks of its stop.
    pub fn owner(&self) -> usize {
        self.list().owner_at(self.stop as usize)
    }

    /// The same, to the next stop; `None`: this was the last.
    pub fn next(&self) -> Option<Errand> {
        let next = self.stop + 1;
        ((next as usize) < self.list().stops()).then_some(Errand { stop: next, ..*self })
    }

    /// Accounts for reading what it asks for at its stop, which the transaction's thread has written.
    pub fn fetch(&self) {
        let locks = self.locks();
        cpu::take_over(locks.as_ptr().cast(), size_of_val(locks));
        for _ in locks {
            work::operation(0);
        }
    }

    /// Asks for the locks of its stop in the table that has them. Answers whether all are granted; otherwise the errand is left there.
    pub fn ask(self, table: &mut LockTable<Errand>) -> bool {
        table.request(self.slot, self.locks(), self)
    }
}
