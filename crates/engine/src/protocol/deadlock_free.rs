//! DEADLOCK_FREE: two-phase locking in which transactions ask for their locks in one order, and so wait without a look at whom they wait
//! for (*thousand-cores* 4.2, figure 4: "DL_DETECT without deadlock detection"; *orthrus* 4: "Deadlock free locking").
//!
//! The order is that of the tables, then of their keys. A request that conflicts waits behind all that came before it, if it is for a key
//! above every key that its transaction holds; then it is *in order*. If it is *out of order* it is granted at once, or aborts.
//! Nothing is searched, and there are neither ages nor edges.
//!
//! State: the lock's queue ([`lock_queue`]), in which waiters stand in the order in which they came; and with each slot the highest key
//! that its transaction holds.
//!
//! What keeps it free of deadlocks. Let the transactions of a circle each wait for the next one: at the record that it wants, the next
//! one is an owner, or stands in the queue before it. If an owner, then what the next one wants is above this record, for it holds the
//! record and waits, and so is in order. If it stands in the queue, it wants the same record. So round the circle the keys wanted never
//! fall, hence they are all the same, and everybody stands before the next in one queue, which has an end: there is no circle.
//!
//! Out of order, and never waiting, are:
//! - A request for a key that is not above all that are held, as of a procedure that goes back.
//! - An upgrade from a read to a write, which wants a key that is held. Two readers who both waited for it would wait for each other.
//! - Gaps, which have no place in the order of keys: so nobody waits for who holds one either.
//! - Records under byte strings, whose numbers are a transaction's own ([`Transaction::key`](contract::Transaction::key)), and those that
//!   scans meet. What a scan or an insert has locked counts as held.
//!
//! So a transaction that touches each row once, in the order of the tables and keys, never aborts here. YCSB and the microbenchmark have such
//! transactions (`order=key`, with distinct keys). Others run, and are serializable, but abort as under NO_WAIT where they meet.
//!
//! *Who sorts the requests.* The papers' systems sort a transaction's locks for it before it runs. Here they do with `--preclaim on`: what the plan names
//! is locked first, in order ([`preclaiming`](crate::transaction::preclaiming)), and only what it does not name may be out of order. Otherwise the
//! procedure sorts its operations, and holds each lock from its first operation on, as in *thousand-cores*' figure 4.
//!
//! We differ: a transaction that is out of order is noticed and aborted, where it would be a deadlock there.
//!
//! [`lock_queue`]: super::lock_queue

use super::lock_queue::{Entries, Lock, LockMode, Places, Queue, QueuedStamp};
use super::waits_for::SlotSet;
use super::{
    Attempt, GapMode, Locking, Mode, Protocol, RecordPlace, Request, RequestWith, SlotId, SlotState, Verdict,
    Wake, Waker,
};
use crate::architecture::Architecture;
use crate::physical::Physical;
use crate::record::header::Narrow;
use crate::timestamp::Timestamp;
use crate::transaction::access::Locked;
use contract::{AbortReason, EngineOptions};

/// DEADLOCK_FREE.
pub(crate) struct DeadlockFree;

/// Whether a request may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It is for a key above all that its transaction holds.
    InOrder,
    OutOfOrder,
}

impl QueuedStamp for Turn {
    type Kept<P: Physical> = ();

    #[inline(always)]
    fn state_bits(self) -> u32 {
        0
    }

    #[inline(always)]
    fn keep<P: Physical>(self, (): &()) {}
}

/// The highest place of those that a slot's transaction holds.
pub(crate) struct Highest(Option<RecordPlace>);

impl SlotState for Highest {
    type Stamp = Turn;

    fn new() -> Self {
        Highest(None)
    }

    #[inline(always)]
    fn begin(&mut self, _: Attempt, _: impl FnOnce() -> Timestamp) {
        self.0 = None;
    }

    #[inline(always)]
    fn stamp(&self) -> Turn {
        Turn::OutOfOrder
    }

    #[inline(always)]
    fn stamp_for(&self, place: RecordPlace) -> Turn {
        match self.0.is_none_or(|highest| highest < place) {
            true => Turn::InOrder,
            false => Turn::OutOfOrder,
        }
    }

    #[inline(always)]
    fn holds(&mut self, place: RecordPlace) {
        self.0 = self.0.max(Some(place));
    }
}

/// The requests of every slot in every partition, and where each slot waits.
pub(crate) struct Common<P: Physical> {
    entries: Entries<P, Turn>,
    places: Places,
}

impl<P: Physical> Common<P> {
    #[inline(always)]
    fn latch<'a>(&'a self, lock: &'a Lock<P>, who: Requester) -> Queue<'a, P, Turn> {
        Queue::latch(lock, &self.entries, who)
    }
}

/// Who asks, in order or not.
type Requester = super::Requester<Turn>;

impl DeadlockFree {
    #[inline(always)]
    fn ask<P: Physical>(
        lock: &Lock<P>,
        mode: LockMode,
        request: Request<'_, Self, P, impl Waker>,
    ) -> Verdict {
        let RequestWith { common, who, .. } = request;
        let queue = common.latch(lock, who);
        match queue.grant_at_once(mode, who.stamp) {
            Some(verdict) => verdict,
            None => Self::wait_in_order(common, &queue, mode, who),
        }
    }

    /// Waits behind all who are there, or aborts out of order.
    fn wait_in_order<P: Physical>(
        common: &Common<P>,
        queue: &Queue<'_, P, Turn>,
        mode: LockMode,
        who: Requester,
    ) -> Verdict {
        if who.stamp == Turn::OutOfOrder {
            return Verdict::Abort(AbortReason::Conflict);
        }
        if !queue.may_wait() {
            return Verdict::Abort(AbortReason::Timeout);
        }
        common.places.note(queue);
        let (_, last) = queue.others().last().expect("a request waits for somebody");
        queue.wait_behind(last, mode, who.stamp);
        Verdict::Queued
    }

    /// Releases what a request holds; answers whether it does.
    #[inline(always)]
    pub fn let_go<P: Physical>(lock: &Lock<P>, request: Request<'_, Self, P, impl Waker>) -> bool {
        let RequestWith { common, who, waker } = request;
        let queue = common.latch(lock, who);
        queue.release(|| queue.grant(|slot| waker.wake(slot, Wake::Granted)))
    }

    /// Marks the record deleted and tells its waiters to ask again; answers whether no other owner was there.
    pub fn kill<P: Physical>(lock: &Lock<P>, request: Request<'_, Self, P, impl Waker>) -> bool {
        let RequestWith { common, who, waker } = request;
        common.latch(lock, who).mark_deleted(|slot| waker.wake(slot, Wake::Retry))
    }

    /// Upgrades without a look at the other owners: what the canary does.
    pub fn upgrade_unguarded<P: Physical>(lock: &Lock<P>, request: Request<'_, Self, P, impl Waker>) {
        let queue = request.common.latch(lock, request.who);
        if queue.has_mine() {
            queue.upgrade();
        }
    }
}

impl Protocol for DeadlockFree {
    type Meta<P: Physical> = Lock<P>;
    type Header = Narrow;
    type Gap<P: Physical> = Lock<P>;
    type Common<P: Physical> = Common<P>;
    type Slot = Highest;
    type Access<A: Architecture<Protocol = Self>> = Locked;

    // Each has an entry for its queue.
    const MOST_RECORDS: usize = contract::transaction::MOST_RECORDS;
    const MAY_PRECLAIM: bool = true;

    fn common<P: Physical>(slots: usize, partitions: usize, options: &EngineOptions) -> Common<P> {
        Common { entries: Entries::new(slots, partitions, options), places: Places::new(slots) }
    }

    unsafe fn waits_for<P: Physical>(common: &Common<P>, slot: SlotId) -> Option<SlotSet> {
        // SAFETY: whoever is queued is noted; the rest is the caller's contract.
        unsafe { common.places.waited_for(slot, &common.entries) }
    }

    fn is_quiescent<P: Physical>(lock: &Lock<P>) -> bool {
        lock.is_quiescent()
    }

    fn is_gap_quiescent<P: Physical>(lock: &Lock<P>) -> bool {
        lock.is_quiescent()
    }
}

impl Locking for DeadlockFree {
    #[inline(always)]
    fn acquire<P: Physical>(
        lock: &Lock<P>,
        mode: Mode,
        request: Request<'_, Self, P, impl Waker>,
    ) -> Verdict {
        Self::ask(lock, LockMode::of_record(mode), request)
    }

    fn upgrade<P: Physical>(lock: &Lock<P>, request: Request<'_, Self, P, impl Waker>) -> Verdict {
        let queue = request.common.latch(lock, request.who);
        if queue.others().any(|(_, other)| other.state().is_owner()) {
            return Verdict::Abort(AbortReason::Conflict);
        }
        queue.upgrade();
        Verdict::Granted
    }

    fn withdraw<P: Physical>(lock: &Lock<P>, request: Request<'_, Self, P, impl Waker>) -> bool {
        let RequestWith { common, who, waker } = request;
        let queue = common.latch(lock, who);
        let is_withdrawn = queue.withdraw(|| ());
        if is_withdrawn {
            queue.grant(|slot| waker.wake(slot, Wake::Granted));
        }
        is_withdrawn
    }

    fn withdraw_gap<P: Physical>(_: &Lock<P>, _: Request<'_, Self, P, impl Waker>) -> bool {
        unreachable!("nobody waits for a gap")
    }

    #[inline(always)]
    fn release<P: Physical>(lock: &Lock<P>, _: Mode, request: Request<'_, Self, P, impl Waker>) {
        assert!(Self::let_go(lock, request), "a request is released by whom it was granted to, once");
    }

    fn mark_deleted<P: Physical>(lock: &Lock<P>, request: Request<'_, Self, P, impl Waker>) {
        assert!(Self::kill(lock, request), "marked deleted while somebody else holds it");
    }

    fn claim<P: Physical>(lock: &Lock<P>, request: Request<'_, Self, P, impl Waker>) {
        request.common.latch(lock, request.who).claim(request.who.stamp);
    }

    #[inline(always)]
    fn hold_gap<P: Physical>(
        gap: &Lock<P>,
        mode: GapMode,
        request: Request<'_, Self, P, impl Waker>,
    ) -> Verdict {
        Self::ask(gap, LockMode::of_gap(mode), request)
    }

    fn upgrade_gap<P: Physical>(
        gap: &Lock<P>,
        _: GapMode,
        request: Request<'_, Self, P, impl Waker>,
    ) -> Verdict {
        Self::upgrade(gap, request)
    }

    #[inline(always)]
    fn release_gap<P: Physical>(gap: &Lock<P>, _: GapMode, request: Request<'_, Self, P, impl Waker>) {
        // The request knows how it is held.
        Self::release(gap, Mode::Exclusive, request);
    }

    fn retire_gap<P: Physical>(gap: &Lock<P>, common: &Common<P>) -> bool {
        gap.retire(&common.entries)
    }
}
