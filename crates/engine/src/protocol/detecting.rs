//! Two-phase locking that waits in the lock's queue and finds deadlocks: what DL_DETECT and DREADLOCKS have in common, which is all but
//! how a request that waits finds out that it waits for itself ([`Detection`]).
//!
//! State: the lock's queue ([`lock_queue`]), in which waiters stand in the order in which they came, and the graph
//! ([`waits_for`]), of which each slot's row says whom it waits for directly. Granting is first in, first out: nobody overtakes a
//! waiter, compatible or not, except that an owner who wants to be upgraded goes before all waiters.
//!
//! Whom a request waits for. A waiter waits for everybody before it in the list, owners and waiters, whether they conflict
//! with it or not; an owner who wants to be upgraded waits for all other owners. It publishes that as its edges under the
//! record's latch. If it finds a cycle of edges through itself, it is the victim: it takes its request back and aborts. Only
//! who looks is a victim, of its own accord: a transaction that waits is never aborted by another. Edges leave with whom they point
//! to: who leaves a list is struck out of the edges of those that still wait in it, and who is granted loses its own.
//!
//! *No edge is wrong*: each says that the waiter cannot be granted before the other has gone on, which is so of everybody before
//! it in any such queue.
//!
//! *No edge is missing*: what keeps a waiter from being granted is an owner that conflicts or wants to be upgraded, or a
//! waiter that stands before it; what keeps an upgrade is another owner. All of them stood in the list when the request
//! came: nobody enters it before a waiter, no waiter is granted while an owner wants to be upgraded, and who wants to be
//! upgraded later was an owner already. So edges are published once and only become fewer, and an upgrade that goes ahead
//! of a queue changes nobody's edges.
//!
//! So *of transactions that wait for ever each has an edge to another of them*, and there is a cycle of edges, which stays until one of
//! its members gives up. (Edges to conflicting waiters only would miss some: a reader behind another reader
//! waits for it, too; and once the writer before both has taken its request back, it may wait for an owner who has been
//! upgraded since.)
//!
//! With a timeout (*thousand-cores* 4.2) a transaction that has waited for so long takes its request back in the same way as a
//! victim does ([`Locking::withdraw`]); with one of zero a request that would have to wait aborts at once, as under NO_WAIT. Who
//! measures the time is the transaction that waits, not the protocol.
//!
//! Edges point to attempts, not to slots, where a release may still be on its way when its slot's next transaction waits.
//!
//! Missing keys: gaps are locked in the same way, `Shared` by misses and `Insert` by inserters. A record that dies
//! tells its waiters to ask again.
//!
//! [`lock_queue`]: super::lock_queue

use super::lock_queue::{Entries, Entry, Lock, LockMode, Queue, QueuedStamp, STAMP_BITS};
use super::waits_for::{SlotSet, WaitsFor};
use super::{
    Attempt, GapMode, Locking, Mode, Protocol, Request, RequestWith, SlotId, SlotState, Verdict, Wake, Waker,
};
use crate::architecture::Architecture;
use crate::physical::Physical;
use crate::record::header::Narrow;
use crate::timestamp::Timestamp;
use crate::transaction::access::Locked;
use contract::{AbortReason, EngineOptions};
use std::marker::PhantomData;

/// How a request that waits finds out that it waits for itself.
pub(crate) trait Detection: Sized + 'static {
    /// What it keeps beside the graph.
    type Kept: Send + Sync + 'static;

    /// Whether it looks while it waits ([`Detection::look`]), and not only when it begins to.
    const LOOKS_WHILE_WAITING: bool;

    /// Of `slots` slots, none of which waits.
    fn keep(slots: usize) -> Self::Kept;

    /// The request of a slot was queued, and its edges are published: whether it waits for itself. The record's latch is free again.
    fn queued(graph: &WaitsFor, kept: &Self::Kept, slot: SlotId) -> bool;

    /// Whether the request of a slot, which was not decided when its transaction looked, waits for itself. That transaction asks.
    fn look(graph: &WaitsFor, kept: &Self::Kept, slot: SlotId) -> bool;

    /// The transaction of a slot that has looked waits no longer.
    fn has_waited(kept: &Self::Kept, slot: SlotId);
}

/// The protocol that finds deadlocks by `D`.
pub(crate) struct Detecting<D>(PhantomData<D>);

/// The number of a slot's attempt: edges of the graph say to which they point.
#[derive(Clone, Copy)]
pub(crate) struct AttemptNumber(u32);

impl QueuedStamp for AttemptNumber {
    type Kept<P: Physical> = ();

    #[inline(always)]
    fn state_bits(self) -> u32 {
        self.0
    }

    #[inline(always)]
    fn keep<P: Physical>(self, (): &()) {}
}

/// The attempts of a slot, counted.
pub(crate) struct Attempts(AttemptNumber);

impl SlotState for Attempts {
    type Stamp = AttemptNumber;

    fn new() -> Self {
        Attempts(AttemptNumber(0))
    }

    #[inline(always)]
    fn begin(&mut self, _: Attempt, _: impl FnOnce() -> Timestamp) {
        self.0 = AttemptNumber((self.0.0 + 1) % (1 << STAMP_BITS));
    }

    #[inline(always)]
    fn stamp(&self) -> AttemptNumber {
        self.0
    }
}

/// The requests of every slot in every partition, the waits-for graph, and what `D` keeps.
pub(crate) struct Common<P: Physical, D: Detection> {
    entries: Entries<P, AttemptNumber>,
    graph: WaitsFor,
    kept: D::Kept,
}

/// Who asks, in which attempt.
type Requester = super::Requester<AttemptNumber>;

/// The edges of a request that is about to wait.
struct Edges<'a> {
    graph: &'a WaitsFor,
    who: Requester,
    to: SlotSet,
}

impl<'a> Edges<'a> {
    fn of(who: Requester, graph: &'a WaitsFor) -> Self {
        Edges { graph, who, to: SlotSet::EMPTY }
    }

    /// An edge to the attempt that a request is of.
    fn point<P: Physical>(&mut self, slot: SlotId, entry: &Entry<P, AttemptNumber>) {
        self.to.insert(slot.0);
        self.graph.point(self.who.slot.0, slot.0, entry.state().stamp_bits());
    }

    fn publish(self) {
        self.graph.publish(self.who.slot.0, self.who.stamp.0, &self.to);
    }
}

impl<P: Physical, D: Detection> Common<P, D> {
    #[inline(always)]
    fn latch<'a>(&'a self, lock: &'a Lock<P>, who: Requester) -> Queue<'a, P, AttemptNumber> {
        Queue::latch(lock, &self.entries, who)
    }

    /// Tells a request that waits what came of it.
    fn decide(&self, slot: SlotId, wake: Wake, waker: &impl Waker) {
        // Before it runs again: until then the row is ours to write.
        self.graph.clear(slot.0);
        waker.wake(slot, wake);
    }

    /// Grants what can be granted now.
    fn grant(&self, queue: &Queue<'_, P, AttemptNumber>, waker: &impl Waker) {
        queue.grant(|slot| self.decide(slot, Wake::Granted, waker));
    }

    /// Takes a queued request back, unless it was decided meanwhile; answers whether it did.
    fn take_back(&self, lock: &Lock<P>, who: Requester, waker: &impl Waker) -> bool {
        let queue = self.latch(lock, who);
        let is_taken_back = queue.withdraw(|| self.strike_out(&queue, who.slot));
        if is_taken_back {
            self.grant(&queue, waker);
            self.graph.clear(who.slot.0);
        }
        is_taken_back
    }

    /// Nobody waits any more for the slot, which has left the queue or is leaving it.
    fn strike_out(&self, queue: &Queue<'_, P, AttemptNumber>, slot: SlotId) {
        for (other, entry) in queue.others() {
            if entry.state().waits() {
                self.graph.strike_out(other.0, slot.0);
            }
        }
    }
}

impl<D: Detection> Detecting<D> {
    /// Asks for a record or a gap, of which the requester holds nothing yet.
    #[inline(always)]
    fn ask<P: Physical>(
        lock: &Lock<P>,
        mode: LockMode,
        request: Request<'_, Self, P, impl Waker>,
    ) -> Verdict {
        let RequestWith { common, who, .. } = request;
        let queue = common.latch(lock, who);
        if let Some(verdict) = queue.grant_at_once(mode, who.stamp) {
            return verdict;
        }
        if !queue.may_wait() {
            return Verdict::Abort(AbortReason::Timeout);
        }
        Self::wait_behind_all(common, &queue, who, mode);
        drop(queue);
        Self::look_or_wait(lock, request)
    }

    /// Queues behind everybody, and publishes whom the request waits for: all of them.
    fn wait_behind_all<P: Physical>(
        common: &Common<P, D>,
        queue: &Queue<'_, P, AttemptNumber>,
        who: Requester,
        mode: LockMode,
    ) {
        let mut edges = Edges::of(who, &common.graph);
        let mut last = None;
        for (slot, other) in queue.others() {
            edges.point(slot, other);
            last = Some(other);
        }
        queue.wait_behind(last.expect("a request waits for somebody"), mode, who.stamp);
        edges.publish();
    }

    /// Waits, unless it is found that this closes a cycle. The edges were published under the latch, which is free again.
    fn look_or_wait<P: Physical>(lock: &Lock<P>, request: Request<'_, Self, P, impl Waker>) -> Verdict {
        let RequestWith { common, who, waker } = request;
        if !D::queued(&common.graph, &common.kept, who.slot) {
            return Verdict::Queued;
        }
        match common.take_back(lock, who, waker) {
            true => Verdict::Abort(AbortReason::Deadlock),
            // Decided meanwhile.
            false => Verdict::Queued,
        }
    }

    /// Releases what a request holds; answers whether it does.
    #[inline(always)]
    pub fn let_go<P: Physical>(lock: &Lock<P>, request: Request<'_, Self, P, impl Waker>) -> bool {
        let RequestWith { common, who, waker } = request;
        let queue = common.latch(lock, who);
        queue.release(|| {
            common.strike_out(&queue, who.slot);
            common.grant(&queue, waker);
        })
    }

    /// Marks the record deleted and tells its waiters to ask again; answers whether no other owner was there.
    pub fn kill<P: Physical>(lock: &Lock<P>, request: Request<'_, Self, P, impl Waker>) -> bool {
        let RequestWith { common, who, waker } = request;
        common.latch(lock, who).mark_deleted(|slot| common.decide(slot, Wake::Retry, waker))
    }

    /// Grants an upgrade that waits, although others hold the record, and answers whether there was one: what the canary does.
    pub fn upgrade_by_force<P: Physical>(lock: &Lock<P>, request: Request<'_, Self, P, impl Waker>) -> bool {
        let RequestWith { common, who, waker } = request;
        let queue = common.latch(lock, who);
        let state = queue.mine().state();
        let is_upgrading = state.waits() && state.is_owner();
        if is_upgrading {
            queue.upgrade();
            common.decide(who.slot, Wake::Granted, waker);
        }
        is_upgrading
    }
}

impl<D: Detection> Protocol for Detecting<D> {
    type Meta<P: Physical> = Lock<P>;
    type Header = Narrow;
    type Gap<P: Physical> = Lock<P>;
    type Common<P: Physical> = Common<P, D>;
    type Slot = Attempts;
    type Access<A: Architecture<Protocol = Self>> = Locked;

    // Each has an entry for its queue.
    const MOST_RECORDS: usize = contract::transaction::MOST_RECORDS;
    const LOOKS_WHILE_WAITING: bool = D::LOOKS_WHILE_WAITING;

    fn common<P: Physical>(slots: usize, partitions: usize, options: &EngineOptions) -> Common<P, D> {
        Common {
            entries: Entries::new(slots, partitions, options),
            graph: WaitsFor::new(slots, P::RELEASES_TRAVEL),
            kept: D::keep(slots),
        }
    }

    fn is_quiescent<P: Physical>(lock: &Lock<P>) -> bool {
        lock.is_quiescent()
    }

    fn is_gap_quiescent<P: Physical>(lock: &Lock<P>) -> bool {
        lock.is_quiescent()
    }

    unsafe fn waits_for<P: Physical>(common: &Common<P, D>, slot: SlotId) -> Option<SlotSet> {
        Some(common.graph.of(slot.0))
    }

    #[inline(always)]
    fn waits_for_itself<P: Physical>(common: &Common<P, D>, slot: SlotId) -> bool {
        D::look(&common.graph, &common.kept, slot)
    }

    #[inline(always)]
    fn has_waited<P: Physical>(common: &Common<P, D>, slot: SlotId) {
        D::has_waited(&common.kept, slot);
    }
}

impl<D: Detection> Locking for Detecting<D> {
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
        let queue = common.latch(lock, who);
        let mut edges = Edges::of(who, &common.graph);
        let mut is_alone = true;
        for (slot, other) in queue.others() {
            if other.state().is_owner() {
                edges.point(slot, other);
                is_alone = false;
            }
        }
        if is_alone {
            queue.upgrade();
            return Verdict::Granted;
        }
        if !queue.may_wait() {
            return Verdict::Abort(AbortReason::Timeout);
        }
        queue.wait_for_upgrade();
        edges.publish();
        drop(queue);
        Self::look_or_wait(lock, request)
    }

    fn withdraw<P: Physical>(lock: &Lock<P>, request: Request<'_, Self, P, impl Waker>) -> bool {
        request.common.take_back(lock, request.who, request.waker)
    }

    fn withdraw_gap<P: Physical>(gap: &Lock<P>, request: Request<'_, Self, P, impl Waker>) -> bool {
        Self::withdraw(gap, request)
    }

    #[inline(always)]
    fn hold_gap<P: Physical>(
        gap: &Lock<P>,
        mode: GapMode,
        request: Request<'_, Self, P, impl Waker>,
    ) -> Verdict {
        Self::ask(gap, LockMode::of_gap(mode), request)
    }

    #[inline(always)]
    fn release_gap<P: Physical>(gap: &Lock<P>, _: GapMode, request: Request<'_, Self, P, impl Waker>) {
        // The request knows how it is held.
        Self::release(gap, Mode::Exclusive, request);
    }

    fn upgrade_gap<P: Physical>(
        gap: &Lock<P>,
        _: GapMode,
        request: Request<'_, Self, P, impl Waker>,
    ) -> Verdict {
        Self::upgrade(gap, request)
    }

    #[inline(always)]
    fn release<P: Physical>(lock: &Lock<P>, _: Mode, request: Request<'_, Self, P, impl Waker>) {
        assert!(Self::let_go(lock, request), "a request is released by whom it was granted to, once");
    }

    fn mark_deleted<P: Physical>(lock: &Lock<P>, request: Request<'_, Self, P, impl Waker>) {
        assert!(Self::kill(lock, request), "marked deleted while somebody else holds it");
    }

    fn retire_gap<P: Physical>(gap: &Lock<P>, common: &Common<P, D>) -> bool {
        gap.retire(&common.entries)
    }

    fn claim<P: Physical>(lock: &Lock<P>, request: Request<'_, Self, P, impl Waker>) {
        request.common.latch(lock, request.who).claim(request.who.stamp);
    }
}
