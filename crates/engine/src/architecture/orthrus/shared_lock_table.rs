//! One lock table for all concurrency-control threads, instead of one each (*orthrus* 3.4).
//!
//! Any of the threads gets a transaction all its locks: it is sent one request, whatever the transaction touches, and one release. What the threads save in
//! messages they pay in latches, and in lines that move between them; only they do, and the threads that execute share nothing more than before.
//!
//! State: the table is divided into parts, by the tables' partition functions or by the keys' hashes, as locks are divided among threads
//! otherwise. A part is a [`LockTable`] behind a latch of its own. A range is in every part that may have keys of it.
//!
//! - *Request.* A thread asks for what the transaction wants of a part, under its latch, and goes on to the next part, in ascending order, if that was
//!   granted. If it was not, the thread leaves the errand in the part and goes on with other messages.
//! - *Release.* A thread gives back what the transaction has, part after part. The errands that are granted thereby are its own from now on, whoever had
//!   left them: it takes each on to the parts that are left, and tells the transaction that has all.
//!
//! *No deadlock.* A thread has one latch at a time. A transaction waits in one part and holds nothing in those after it, as with threads that forward
//! ([`super`]).
//!
//! *No grant is lost.* Under the latch of the part in which a transaction waits, either its errand is there before the last lock that it waits for is given
//! back, and is granted then, or it comes later and finds nothing in its way.
//!
//! A simulated machine is told of the latches and of the root of a part, which every request and release writes; not of the queues beyond.
//!
//! We differ: the paper leaves open how such a table is latched. Its two-phase locking has a latch for each bucket (section 4); here a latch is for more
//! keys, because a range is to be locked in every part.

use super::errand::Errand;
use super::lock_table::LockTable;
use crate::epoch::Line;
use crate::facade::atomic::{AtomicUsize, Ordering};
use crate::facade::cpu;
use crate::facade::latched::Latched;
use crate::protocol::SlotId;
use crate::work;

/// Parts for each thread: of two threads that come to the table at once, few come to the same part.
const PARTS_A_THREAD: usize = 4;
/// They are named in a word.
const MOST_PARTS: usize = u64::BITS as usize;

/// Parts of the table in which a transaction has locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parts(u64);

impl FromIterator<u32> for Parts {
    fn from_iter<I: IntoIterator<Item = u32>>(parts: I) -> Self {
        Parts(parts.into_iter().fold(0, |parts, part| parts | 1 << part))
    }
}

impl Iterator for Parts {
    type Item = usize;

    /// In ascending order.
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let part = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(part)
    }
}

/// See the module.
pub(super) struct SharedLockTable {
    parts: Box<[Line<Latched<LockTable<Errand>>>]>,
    /// Threads that have not ended.
    threads: Line<AtomicUsize>,
}

impl SharedLockTable {
    /// Of so many threads, for transactions of so many slots over so many tables. `readers_wait`: as of a [`LockTable`].
    pub fn new(threads: usize, slots: usize, tables: usize, readers_wait: bool) -> Self {
        let part = || Line(Latched::new(LockTable::new(slots, tables, readers_wait)));
        SharedLockTable {
            parts: std::iter::repeat_with(part).take(Self::parts_for(threads)).collect(),
            threads: Line(AtomicUsize::new(threads)),
        }
    }

    /// Into how many parts the table of so many threads is divided.
    pub fn parts_for(threads: usize) -> usize {
        (PARTS_A_THREAD * threads).min(MOST_PARTS)
    }

    /// Shows a part to `f`.
    fn with<R>(&self, part: usize, f: impl FnOnce(&mut LockTable<Errand>) -> R) -> R {
        self.parts[part].0.with(|table| {
            cpu::take_over((&raw const *table).cast(), size_of_val(table));
            f(table)
        })
    }

    /// Asks for all that an errand wants, from its stop on. Answers whether it has it all; otherwise it is left in a part, and a release takes it on.
    pub fn request(&self, mut errand: Errand) -> bool {
        loop {
            errand.fetch();
            if !self.with(errand.owner(), |part| errand.ask(part)) {
                return false;
            }
            match errand.next() {
                Some(next) => errand = next,
                None => return true,
            }
        }
    }

    /// The slot's oldest transaction in these parts gives back all that it has there. `granted` is told the slots of those who have all that they asked
    /// for, now. `errands` is empty, before and after.
    pub fn release(
        &self,
        slot: SlotId,
        parts: Parts,
        errands: &mut Vec<Errand>,
        mut granted: impl FnMut(SlotId),
    ) {
        for part in parts {
            work::operation(0);
            self.with(part, |part| part.release(slot, |errand| errands.push(errand)));
        }
        for errand in errands.drain(..) {
            let has_all = errand.next().is_none_or(|next| self.request(next));
            if has_all {
                granted(errand.slot);
            }
        }
    }

    /// A thread has ended. Answers whether it was the last.
    pub fn one_has_ended(&self) -> bool {
        // AcqRel: what every other thread has done comes before what the last one sees; pairs with itself.
        self.threads.0.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Whether nobody holds or wants anything.
    pub fn is_empty(&self) -> bool {
        self.parts.iter().all(|part| part.0.with(|table| table.is_empty()))
    }
}

#[cfg(test)]
mod tests;
