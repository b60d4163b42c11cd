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

/// Lines that are asked for ahead; more would find no place among the requests that a core has under way.
const MOST_LINES_AHEAD: usize = 16;
const LINE_BYTES: usize = 64;

/// See the module. It names the locks of its stop and how many stops there are: where a transaction has all its locks of one owner, nothing else of the
/// lock set is looked at.
#[derive(Clone, Copy)]
pub(super) struct Errand {
    list: *const LockSet,
    locks: *const Lock,
    pub slot: SlotId,
    length: u32,
    stop: u32,
    stops: u32,
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
        let locks = list.at_stop(stop);
        Errand {
            list,
            locks: locks.as_ptr(),
            slot,
            length: locks.len() as u32,
            stop: stop as u32,
            stops: list.stops() as u32,
        }
    }

    fn list(&self) -> &LockSet {
        // SAFETY: by the contract of `Errand::new`.
        unsafe { &*self.list }
    }

    fn locks(&self) -> &[Lock] {
        // SAFETY: they are those of `at_stop`, which stay where they are, by the contract of `Errand::new`.
        unsafe { std::slice::from_raw_parts(self.locks, self.length as usize) }
    }

    /// Who has the locks of its stop.
    pub fn owner(&self) -> usize {
        self.list().owner_at(self.stop as usize)
    }

    /// The same, to the next stop; `None`: this was the last.
    pub fn next(&self) -> Option<Errand> {
        let next = self.stop + 1;
        // SAFETY: as of this one.
        (next < self.stops).then(|| unsafe { Errand::new(self.slot, self.list(), next as usize) })
    }

    /// Asks for the lines of what it asks for at its stop, at once; of very many locks for the first.
    #[inline(always)]
    pub fn prefetch(&self) {
        let bytes = (self.length as usize * size_of::<Lock>()).min(MOST_LINES_AHEAD * LINE_BYTES);
        for offset in (0..bytes).step_by(LINE_BYTES) {
            cpu::prefetch_read(self.locks.cast::<u8>().wrapping_add(offset));
        }
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
