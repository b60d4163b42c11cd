//! WAIT_DIE: two-phase locking in which an older transaction waits for a younger one, and a younger one aborts
//! (*thousand-cores* 2.1).
//!
//! A transaction's age is the timestamp of its first attempt ([`crate::timestamp`]), which it keeps when it retries. A request that conflicts with nobody is granted; one that conflicts with owners or waiters,
//! each of them younger, waits; one that conflicts with somebody older aborts ("dies"). An owner that wants to be upgraded waits
//! for the other owners if all are younger, and dies otherwise.
//!
//! State: the lock's queue ([`lock_queue`]), in which requests have their ages, and waiters stand the youngest first. There is no
//! waits-for graph: who waits for long finds out for whom from the queue.
//!
//! Invariants:
//! - Every waiter is older than every owner. A waiter W conflicted with somebody when it came, all of whom were younger. If that
//!   was an owner, all owners held the record in the same mode, and W was older than each. If it was a waiter V, V was older than
//!   every owner, and W than V. Owners that come later were waiters younger than W: those are granted first.
//! - So a transaction that waits waits for younger ones, also behind an owner that is upgraded before the waiters; and there is no cycle of
//!   waiting.
//! - Nobody conflicting overtakes a waiter but those who are older than somebody it waits for, and they are finitely many: the
//!   oldest transaction of all is never aborted, and always gets on.
//!
//! With a timeout a transaction that has waited for so long takes its request back, and dies; it keeps its age.
//!
//! Missing keys: gaps are locked in the same way, `Shared` by misses and `Insert` by inserters. A record that dies tells its
//! waiters to ask again.
//!
//! We differ: the paper's waiters are granted in the same order, but a young reader may pass an older writer that waits there.
//!
//! [`lock_queue`]: super::lock_queue

use super::lock_queue::{Entries, Entry, Lock, LockMode, Places, Queue, QueuedStamp};
use super::waits_for::SlotSet;
use super::{
    Attempt, GapMode, Locking, Mode, Protocol, Request, RequestWith, SlotId, SlotState, Verdict, Wake, Waker,
};
use crate::architecture::Architecture;
use crate::physical::{Physical, Word};
use crate::record::header::Narrow;
use crate::timestamp::{Halves, Timestamp};
use crate::transaction::access::Locked;
use contract::{AbortReason, EngineOptions};

/// WAIT_DIE.
pub(crate) struct WaitDie;

/// The timestamp of a transaction's first attempt.
pub(crate) type Age = Halves;

impl QueuedStamp for Age {
    /// Its timestamp.
    type Kept<P: Physical> = P::Word64;

    #[inline(always)]
    fn state_bits(self) -> u32 {
        0
    }

    #[inline(always)]
    fn keep<P: Physical>(self, kept: &P::Word64) {
        kept.store(self.time());
    }
}

/// The age of a slot's transaction.
pub(crate) struct Birth(Age);

impl SlotState for Birth {
    type Stamp = Age;

    fn new() -> Self {
        Birth(Age::of(Timestamp(0)))
    }

    #[inline(always)]
    fn begin(&mut self, attempt: Attempt, draw: impl FnOnce() -> Timestamp) {
        if attempt == Attempt::First {
            self.0 = Age::of(draw());
        }
    }

    #[inline(always)]
    fn stamp(&self) -> Age {
        self.0
    }
}

/// The requests of every slot in every partition, and where each slot waits.
pub(crate) struct Common<P: Physical> {
    entries: Entries<P, Age>,
    places: Places,
}

/// Whether the transaction that has made a request is older than one that asks.
fn is_older<P: Physical>(entry: &Entry<P, Age>, than: Requester) -> bool {
    entry.kept().read() < than.stamp.time()
}

/// Who asks, of what age.
type Requester = super::Requester<Age>;

impl WaitDie {
    #[inline(always)]
    fn ask<P: Physical>(
        lock: &Lock<P>,
        mode: LockMode,
        request: Request<'_, Self, P, impl Waker>,
    ) -> Verdict {
        let RequestWith { common, who, .. } = request;
        let queue = Queue::latch(lock, &common.entries, who);
        if let Some(verdict) = queue.grant_at_once(mode, who.stamp) {
            return verdict;
        }
        Self::wait_or_die(common, &queue, mode, who)
    }

    /// Waits behind all owners and younger waiters, or dies.
    fn wait_or_die<P: Physical>(
        common: &Common<P>,
        queue: &Queue<'_, P, Age>,
        mode: LockMode,
        who: Requester,
    ) -> Verdict {
        let mut before = None;
        let (mut conflicts, mut is_past) = (false, false);
        for (_, other) in queue.others() {
            let (state, is_older) = (other.state(), is_older(other, who));
            if !state.wants().is_compatible(mode) {
                conflicts = true;
                if is_older {
                    return Verdict::Abort(AbortReason::Conflict);
                }
            }
            is_past |= !state.is_owner() && is_older;
            if !is_past {
                before = Some(other);
            }
        }
        if !conflicts {
            // Those who wait are compatible, and so are the owners: nobody waits, and there was an upgrade that died.
            queue.join_owners(mode, who.stamp);
            return Verdict::Granted;
        }
        if !queue.may_wait() {
            return Verdict::Abort(AbortReason::Timeout);
        }
        common.places.note(queue);
        queue.wait_behind(before.expect("owners come first"), mode, who.stamp);
        Verdict::Queued
    }

    /// Releases what a request holds; answers whether it does.
    #[inline(always)]
    pub fn let_go<P: Physical>(lock: &Lock<P>, request: Request<'_, Self, P, impl Waker>) -> bool {
        let RequestWith { common, who, waker } = request;
        let queue = Queue::latch(lock, &common.entries, who);
        queue.release(|| queue.grant(|slot| waker.wake(slot, Wake::Granted)))
    }

    /// Marks the record deleted and tells its waiters to ask again; answers whether no other owner was there.
    pub fn kill<P: Physical>(lock: &Lock<P>, request: Request<'_, Self, P, impl Waker>) -> bool {
        let RequestWith { common, who, waker } = request;
        Queue::latch(lock, &common.entries, who).mark_deleted(|slot| waker.wake(slot, Wake::Retry))
    }

    /// Upgrades without a look at the other owners: what the canary does.
    pub fn upgrade_eagerly<P: Physical>(lock: &Lock<P>, request: Request<'_, Self, P, impl Waker>) {
        let queue = Queue::latch(lock, &request.common.entries, request.who);
        if queue.has_mine() {
            queue.upgrade();
        }
    }
}

impl Protocol for WaitDie {
    type Meta<P: Physical> = Lock<P>;
    type Header = Narrow;
    type Gap<P: Physical> = Lock<P>;
    type Common<P: Physical> = Common<P>;
    type Slot = Birth;
    type Access<A: Architecture<Protocol = Self>> = Locked;

    // Each has an entry for its queue.
    const MOST_RECORDS: usize = contract::transaction::MOST_RECORDS;

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

impl Locking for WaitDie {
    #[inline(always)]
    fn acquire<P: Physical>(
        lock: &Lock<P>,
        mode: Mode,
        request: Request<'_, Self, P, impl Waker>,
    ) -> Verdict {
        Self::ask(lock, LockMode::of_record(mode), request)
    }

    fn upgrade<P: Physical>(lock: &Lock<P>, request: Request<'_, Self, P, impl Waker>) -> Verdict {
        let RequestWith { common, who, .. } = request;
        let queue = Queue::latch(lock, &common.entries, who);
        let mut is_alone = true;
        for (_, other) in queue.others() {
            if other.state().is_owner() {
                is_alone = false;
                if is_older(other, who) {
                    return Verdict::Abort(AbortReason::Conflict);
                }
            }
        }
        if is_alone {
            queue.upgrade();
            return Verdict::Granted;
        }
        if !queue.may_wait() {
            return Verdict::Abort(AbortReason::Timeout);
        }
        common.places.note(&queue);
        queue.wait_for_upgrade();
        Verdict::Queued
    }

    fn withdraw<P: Physical>(lock: &Lock<P>, request: Request<'_, Self, P, impl Waker>) -> bool {
        let RequestWith { common, who, waker } = request;
        let queue = Queue::latch(lock, &common.entries, who);
        let is_withdrawn = queue.withdraw(|| ());
        if is_withdrawn {
            queue.grant(|slot| waker.wake(slot, Wake::Granted));
        }
        is_withdrawn
    }

    fn withdraw_gap<P: Physical>(gap: &Lock<P>, request: Request<'_, Self, P, impl Waker>) -> bool {
        Self::withdraw(gap, request)
    }

    #[inline(always)]
    fn release<P: Physical>(lock: &Lock<P>, _: Mode, request: Request<'_, Self, P, impl Waker>) {
        assert!(Self::let_go(lock, request), "a request is released by whom it was granted to, once");
    }

    fn mark_deleted<P: Physical>(lock: &Lock<P>, request: Request<'_, Self, P, impl Waker>) {
        assert!(Self::kill(lock, request), "marked deleted while somebody else holds it");
    }

    fn claim<P: Physical>(lock: &Lock<P>, request: Request<'_, Self, P, impl Waker>) {
        Queue::latch(lock, &request.common.entries, request.who).claim(request.who.stamp);
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
