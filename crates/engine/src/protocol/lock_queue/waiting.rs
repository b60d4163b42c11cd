//! Whom a request in a queue waits for, found out by the transaction that waits, when the watchdog asks.
//!
//! A request that is queued notes where, in its slot's own line; nothing else is done until somebody asks. Then the waiter goes
//! through the queue without the latch, which under `Owned` is not its to take. What it finds while others change the queue may be
//! wrong, and it may end up in another queue; while nobody does, as in a hang, it is exact.

use super::entry::{Entries, EntryId, QueuedStamp};
use super::{FIRST, Queue};
use crate::epoch::Line;
use crate::facade::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use crate::physical::{Physical, Word};
use crate::protocol::SlotId;
use crate::protocol::waits_for::SlotSet;

/// A word of a lock or of a request: whoever has the latch reads and writes it, and a waiter may look. So it is an atomic under
/// every synchronization policy; as it is loaded and stored only, that costs an owner nothing.
#[repr(transparent)]
pub(super) struct QueueWord(AtomicU32);

impl QueueWord {
    #[inline(always)]
    pub fn read(&self) -> u32 {
        Word::read(&self.0)
    }

    #[inline(always)]
    pub fn store(&self, value: u32) {
        Word::store(&self.0, value);
    }
}

/// Where a slot's request was queued last.
#[derive(Default)]
struct Place {
    /// The address of the lock's head.
    head: AtomicUsize,
    /// The partition, and the request's number in it.
    request: AtomicU64,
}

/// Where every slot's request was queued last.
pub(in crate::protocol) struct Places(Box<[Line<Place>]>);

impl Places {
    /// Of `slots` slots.
    pub fn new(slots: usize) -> Self {
        Places((0..slots).map(|_| Line::default()).collect())
    }

    /// The requester waits there, or is about to.
    pub fn note<P: Physical, S: QueuedStamp>(&self, queue: &Queue<'_, P, S>) {
        let place = &self.0[queue.id.slot().0 as usize].0;
        // Relaxed: read by the waiter, which has run the step that writes this, or has had its answer.
        place.head.store((&raw const queue.lock.head).expose_provenance(), Ordering::Relaxed);
        place.request.store(u64::from(queue.partition) << 32 | u64::from(queue.id.0), Ordering::Relaxed);
    }

    /// Whom the request of `slot` waits for; `None`: the queue changes meanwhile.
    ///
    /// # Safety
    /// It was queued, and noted, and the slot's transaction, which calls this, has not ended: the lock is not freed.
    pub unsafe fn waited_for<P: Physical, S: QueuedStamp>(
        &self,
        slot: SlotId,
        entries: &Entries<P, S>,
    ) -> Option<SlotSet> {
        let place = &self.0[slot.0 as usize].0;
        let request = place.request.load(Ordering::Relaxed);
        let (partition, mine) = ((request >> 32) as u32, EntryId(request as u32));
        let head = std::ptr::with_exposed_provenance::<QueueWord>(place.head.load(Ordering::Relaxed));
        // SAFETY: the head of a lock that is not freed, by the caller's contract.
        let head = unsafe { &*head };
        let mut others = SlotSet::EMPTY;
        let state = entries.at(partition, mine).state();
        if !state.waits() {
            // Decided, and not told.
            return Some(others);
        }
        let mut next = EntryId(head.read() & FIRST);
        // A transaction has one request in a queue.
        for _ in 0..=self.0.len() {
            if next.0 == 0 {
                return state.is_owner().then_some(others);
            }
            let entry = entries.at(partition, next);
            if next == mine {
                if !state.is_owner() {
                    return Some(others);
                }
            } else if !state.is_owner() || entry.state().is_owner() {
                others.insert(next.slot().0);
            }
            next = EntryId(entry.next.read());
        }
        None
    }
}
