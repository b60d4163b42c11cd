//! DL_DETECT: two-phase locking that waits, and aborts a request whose waiting would close a cycle of the waits-for
//! graph (*trireme* 3.1, 3.2).
//!
//! State. There is no lock table: a record holds a latch and the head of a list of requests, owners first, then
//! waiters in the order in which they came. The head word also says how the owners hold the record and whether anybody
//! waits, so an uncontended request looks at no other request:
//!
//! | bits of the head | what |
//! |---|---|
//! | 0..27 | the first request, 0 for none |
//! | 27..29 | how the owners hold the record, if there are any |
//! | 29 | WAITED: somebody waits, or an owner wants to be upgraded |
//! | 30 | DEAD: unlinked, ask again |
//!
//! Requests live in arrays, one for every partition and transaction slot, indexed by the number of the access in the
//! transaction; a request is touched only under the latch of the record that it is for, or by the partition's owner.
//! The first requests of a slot, all that most transactions use, lie side by side, and the rest elsewhere. The graph is
//! [`waits_for`].
//!
//! Granting is first in, first out: nobody overtakes a waiter, compatible or not, except that an owner who wants to be
//! upgraded goes before all waiters (it could not be granted behind them), once it is the only owner.
//!
//! Whom a request waits for. A waiter waits for everybody before it in the list, owners and waiters, whether they conflict
//! with it or not; an owner who wants to be upgraded waits for all other owners. It publishes that as its edges under the
//! record's latch, then searches. If it finds a cycle, it is the victim: it takes its request back and aborts. Only
//! requesters are victims, so a transaction that waits is never aborted by another. Edges leave with whom they point to: who
//! leaves a list is struck out of the edges of those that still wait in it, and who is granted loses its own.
//!
//! *No edge is wrong*: each says that the waiter cannot be granted before the other has gone on, itself or through those
//! between them. Owners hold a record in one mode. So if the first waiter is not granted, then either all owners conflict
//! with it, or one of them wants to be upgraded and waits for all the others: it waits for every owner. All later waiters
//! wait for it.
//!
//! *No edge is missing*: what keeps a waiter from being granted is an owner that conflicts or wants to be upgraded, or a
//! waiter that stands before it; what keeps an upgrade is another owner. All of them stood in the list when the request
//! came: nobody enters it before a waiter, no waiter is granted while an owner wants to be upgraded, and who wants to be
//! upgraded later was an owner already. So edges are published once and only become fewer, and an upgrade that goes ahead
//! of a queue changes nobody's edges.
//!
//! *No deadlock is overlooked*: of transactions that wait for ever each has an edge to another of them, so there is a cycle.
//! Every edge of it was published by the transaction that it leaves from, before that one's search, and [`waits_for`] shows
//! that one of the searches sees them all. (Edges to conflicting
//! waiters only would miss some: a reader behind another reader waits for it, too; and once the writer before both has
//! taken its request back, it may wait for an owner who has been upgraded since.)
//!
//! Edges point to attempts, not to slots, where a release may still be on its way when its slot's next transaction waits.
//!
//! Missing keys: gaps are locked in the same way, `Shared` by misses and `Insert` by inserters. A record that dies
//! tells its waiters to ask again.
//!
//! The kind of latch is the synchronization policy's; under `Owned` it is none.

pub(crate) mod waits_for;

use super::{
    Attempt, GapMode, Locking, Mode, Protocol, Request, RequestWith, Requester, SlotId, SlotState, Verdict,
    Wake, Waker,
};
use crate::architecture::Architecture;
use crate::facade::latch::Latch;
use crate::facade::region::Region;
use crate::physical::{Metadata, Physical, Word};
use crate::record::header::Narrow;
use crate::transaction::access::Locked;
use contract::AbortReason;
use std::marker::PhantomData;
use waits_for::{SlotSet, WaitsFor};

const REQUEST: u32 = (1 << 27) - 1;
const MODE_SHIFT: u32 = 27;
const MODES: u32 = 3 << MODE_SHIFT;
const WAITED: u32 = 1 << 29;
const DEAD: u32 = 1 << 30;

/// Accesses of one transaction.
const MOST_ACCESSES: u32 = 1 << 16;

/// DL_DETECT.
pub(crate) struct DlDetect;

/// The attempts of a slot, counted: edges of the graph say to which they point.
pub(crate) struct Attempts(u32);

impl SlotState for Attempts {
    type Stamp = u32;

    fn new() -> Self {
        Attempts(0)
    }

    #[inline(always)]
    fn begin(&mut self, _: Attempt) {
        self.0 = (self.0 + 1) % (1 << ATTEMPT_BITS);
    }

    #[inline(always)]
    fn stamp(&self) -> u32 {
        self.0
    }
}

/// A requester with the number of its attempt.
type Who = Requester<u32>;

/// A record's metadata.
#[repr(C)]
pub(crate) struct Lock<P: Physical> {
    latch: P::Latch,
    head: P::Word32,
}

// SAFETY: a latch, which is a word or nothing, and a word.
unsafe impl<P: Physical> Metadata for Lock<P> {}

/// A transaction's request for one record: an entry of its list. Touched only under the record's latch.
#[repr(C)]
pub(crate) struct Entry<P: Physical> {
    /// The next request of the record, 0 for none.
    next: P::Word32,
    state: P::Word32,
}

/// As many bits as the number of an attempt has.
const ATTEMPT_BITS: u32 = 24;
/// The attempt that the request is of stands above the rest of its state.
const ATTEMPT_SHIFT: u32 = u32::BITS - ATTEMPT_BITS;

const STATE_MODE: u32 = 3;
const STATE_OWNER: u32 = 4;
const STATE_UPGRADING: u32 = 8;

/// The state of an owner that was upgraded.
const fn upgraded(state: u32) -> u32 {
    state & !(STATE_MODE | STATE_UPGRADING) | mode_bits(Mode::Exclusive) | STATE_OWNER
}

/// How a request holds a record or a gap, or wants to.
const fn gap_bits(mode: GapMode) -> u32 {
    match mode {
        GapMode::Shared => 1,
        GapMode::Insert => 2,
        GapMode::Exclusive => 3,
    }
}

const fn mode_bits(mode: Mode) -> u32 {
    match mode {
        Mode::Shared => gap_bits(GapMode::Shared),
        Mode::Exclusive => gap_bits(GapMode::Exclusive),
    }
}

const fn compatible(a: u32, b: u32) -> bool {
    a == b && a != mode_bits(Mode::Exclusive)
}

/// Requests of a slot in a partition that lie side by side: 2 KiB of them.
const NEAR_ACCESSES: u32 = 256;

/// The requests of every slot in every partition, and the waits-for graph.
pub(crate) struct Common<P: Physical> {
    near: Region,
    far: Region,
    slots: usize,
    graph: WaitsFor,
    policy: PhantomData<fn() -> P>,
}

impl<P: Physical> Common<P> {
    fn new(slots: usize, partitions: usize) -> Self {
        let bytes = |accesses: u32| partitions * slots * accesses as usize * size_of::<Entry<P>>();
        let reserve = |accesses| {
            Region::reserve(bytes(accesses))
                .expect("address space for 512 KiB of requests a slot and partition")
        };
        let near = reserve(NEAR_ACCESSES);
        // Of large runs, what is used is faulted in as it is used.
        const AHEAD_BYTES: usize = 64 << 20;
        near.fault_in(0..bytes(NEAR_ACCESSES).min(AHEAD_BYTES));
        Common {
            near,
            far: reserve(MOST_ACCESSES),
            slots,
            graph: WaitsFor::new(slots, P::RELEASES_TRAVEL),
            policy: PhantomData,
        }
    }

    /// A request's number within its partition, never 0.
    fn id(who: Who) -> u32 {
        assert!(who.access < MOST_ACCESSES, "a transaction of more than {MOST_ACCESSES} accesses");
        (who.slot.0 + 1) * MOST_ACCESSES + who.access
    }

    fn slot(id: u32) -> SlotId {
        SlotId(id / MOST_ACCESSES - 1)
    }

    #[inline(always)]
    fn request(&self, partition: u32, id: u32) -> &Entry<P> {
        let (slot, access) = (Self::slot(id).0 as usize, id % MOST_ACCESSES);
        let array = partition as usize * self.slots + slot;
        let (region, room) =
            if access < NEAR_ACCESSES { (&self.near, NEAR_ACCESSES) } else { (&self.far, MOST_ACCESSES) };
        let offset = (array * room as usize + access as usize) * size_of::<Entry<P>>();
        assert!(offset < region.len());
        // SAFETY: within the region (asserted), which is zeroed, suitably aligned and lives as long as `self`; zero
        // bytes are a valid request, and all its fields have interior mutability.
        unsafe { &*region.base().byte_add(offset).cast::<Entry<P>>() }
    }
}

/// A lock whose latch is held.
struct Latched<'a, P: Physical> {
    common: &'a Common<P>,
    lock: &'a Lock<P>,
    partition: u32,
}

impl<P: Physical> Drop for Latched<'_, P> {
    #[inline(always)]
    fn drop(&mut self) {
        self.lock.latch.unlock();
    }
}

impl<'a, P: Physical> Latched<'a, P> {
    #[inline(always)]
    fn new(common: &'a Common<P>, lock: &'a Lock<P>, partition: u32) -> Self {
        lock.latch.lock();
        Latched { common, lock, partition }
    }

    #[inline(always)]
    fn request(&self, id: u32) -> &'a Entry<P> {
        self.common.request(self.partition, id)
    }

    /// The requests from `first` on, in order.
    fn requests(&self, first: u32) -> impl Iterator<Item = (u32, &'a Entry<P>)> + use<'a, P> {
        let (common, partition) = (self.common, self.partition);
        let mut next = first;
        std::iter::from_fn(move || {
            (next != 0).then(|| {
                let (id, request) = (next, common.request(partition, next));
                next = request.next.read();
                (id, request)
            })
        })
    }

    fn all(&self) -> impl Iterator<Item = (u32, &'a Entry<P>)> + use<'a, P> {
        self.requests(self.lock.head.read() & REQUEST)
    }

    /// Becomes an owner in front of the others, who hold the record in the same mode.
    #[inline(always)]
    fn grant_at_once(&self, head: u32, who: Who, mode: u32) {
        let id = Common::<P>::id(who);
        let request = self.request(id);
        request.next.store(head & REQUEST);
        request.state.store(mode | STATE_OWNER | who.stamp << ATTEMPT_SHIFT);
        self.lock.head.store(id | mode << MODE_SHIFT);
    }

    /// Queues behind everybody, and publishes whom the request waits for: all of them.
    fn queue(&self, who: Who, mode: u32) {
        let id = Common::<P>::id(who);
        let mut waited_for = SlotSet::EMPTY;
        let mut last = None;
        for (other, request) in self.all() {
            self.point(who, other, request, &mut waited_for);
            last = Some(request);
        }
        let request = self.request(id);
        request.next.store(0);
        request.state.store(mode | who.stamp << ATTEMPT_SHIFT);
        last.expect("a request waits for somebody").next.store(id);
        self.lock.head.store(self.lock.head.read() | WAITED);
        self.common.graph.publish(who.slot.0, who.stamp, &waited_for);
    }

    /// An edge from `who` to the attempt that a request is of.
    fn point(&self, who: Who, other: u32, request: &Entry<P>, waited_for: &mut SlotSet) {
        let slot = Common::<P>::slot(other).0;
        waited_for.insert(slot);
        self.common.graph.point(who.slot.0, slot, request.state.read() >> ATTEMPT_SHIFT);
    }

    /// Takes a request out of the list.
    fn remove(&self, id: u32) {
        let head = self.lock.head.read();
        let after = self.request(id).next.read();
        if head & REQUEST == id {
            self.lock.head.store(head & !REQUEST | after);
        } else {
            let (_, before) = self
                .all()
                .find(|(_, request)| request.next.read() == id)
                .expect("a request is released by whom it was granted to, once");
            before.next.store(after);
        }
    }

    /// Tells a request that waits what came of it.
    fn decide(&self, id: u32, wake: Wake, waker: &impl Waker) {
        let slot = Common::<P>::slot(id);
        // Before it runs again: until then the row is ours to write.
        self.common.graph.clear(slot.0);
        waker.wake(slot, wake);
    }

    /// Nobody waits any more for the slot, which has left the list or is leaving it.
    fn strike_out(&self, slot: SlotId) {
        for (other, request) in self.all() {
            let state = request.state.read();
            if state & STATE_OWNER == 0 || state & STATE_UPGRADING != 0 {
                self.common.graph.strike_out(Common::<P>::slot(other).0, slot.0);
            }
        }
    }

    /// Grants what can be granted now, and brings the head's summary up to date.
    fn grant(&self, waker: &impl Waker) {
        let first = self.lock.head.read() & REQUEST;
        let mut owners =
            self.requests(first).take_while(|(_, request)| request.state.read() & STATE_OWNER != 0);
        let one = owners.next();
        let two = owners.next();
        // An owner that is alone and wants to be upgraded goes first.
        if let (Some((id, request)), None) = (one, two)
            && request.state.read() & STATE_UPGRADING != 0
        {
            request.state.store(upgraded(request.state.read()));
            self.decide(id, Wake::Granted, waker);
        }
        let upgrading = self.all().any(|(_, request)| request.state.read() & STATE_UPGRADING != 0);
        let mut held = one.map(|(_, request)| request.state.read() & STATE_MODE);
        let mut waited = upgrading;
        for (id, request) in self.all() {
            let state = request.state.read();
            if state & STATE_OWNER != 0 {
                continue;
            }
            if upgrading || !held.is_none_or(|held| compatible(held, state & STATE_MODE)) {
                waited = true;
                break;
            }
            held = Some(state & STATE_MODE);
            request.state.store(state | STATE_OWNER);
            self.decide(id, Wake::Granted, waker);
        }
        let waited = if waited { WAITED } else { 0 };
        self.lock.head.store(first | held.unwrap_or(0) << MODE_SHIFT | waited);
    }
}

impl DlDetect {
    /// Asks for a record or a gap, of which the requester holds nothing yet.
    #[inline(always)]
    fn ask<P: Physical>(lock: &Lock<P>, mode: u32, request: Request<'_, Self, P, impl Waker>) -> Verdict {
        let RequestWith { common, who, waker } = request;
        let id = Common::<P>::id(who);
        let latched = Latched::new(common, lock, who.partition);
        let head = lock.head.read();
        if head & DEAD != 0 {
            return Verdict::Retry;
        }
        let held = (head & MODES) >> MODE_SHIFT;
        if head & REQUEST == 0 || head & WAITED == 0 && compatible(held, mode) {
            latched.grant_at_once(head, who, mode);
            return Verdict::Granted;
        }
        latched.queue(who, mode);
        drop(latched);
        Self::wait_or_die(common, lock, who, waker, |latched| {
            latched.remove(id);
            latched.strike_out(who.slot);
        })
    }

    /// Waits unless that closes a cycle. The edges were published under the latch, which is free again.
    fn wait_or_die<P: Physical>(
        common: &Common<P>,
        lock: &Lock<P>,
        who: Who,
        waker: &impl Waker,
        withdraw: impl FnOnce(&Latched<'_, P>),
    ) -> Verdict {
        let (id, slot) = (Common::<P>::id(who), who.slot.0);
        common.graph.order();
        // A search reads one row after the other, and what it has read may be over when it comes to the next. A cycle that is
        // there is there the second time, too, unless somebody else was its victim.
        if !common.graph.search(slot) || !common.graph.search(slot) {
            return Verdict::Queued;
        }
        let latched = Latched::new(common, lock, who.partition);
        let state = latched.request(id).state.read();
        // Decided while the search ran: the verdict is on its way.
        if state & STATE_DECIDED != 0 || state & STATE_OWNER != 0 && state & STATE_UPGRADING == 0 {
            return Verdict::Queued;
        }
        withdraw(&latched);
        latched.grant(waker);
        common.graph.clear(slot);
        Verdict::Abort(AbortReason::Deadlock)
    }
}

/// The record died while the request waited for it.
const STATE_DECIDED: u32 = 16;

impl Protocol for DlDetect {
    type Meta<P: Physical> = Lock<P>;
    type Header = Narrow;
    type Gap<P: Physical> = Lock<P>;
    type Common<P: Physical> = Common<P>;
    type Slot = Attempts;
    type Access<A: Architecture<Protocol = Self>> = Locked;

    fn common<P: Physical>(slots: usize, partitions: usize) -> Common<P> {
        Common::new(slots, partitions)
    }

    fn is_quiescent<P: Physical>(lock: &Lock<P>) -> bool {
        lock.head.read() == 0
    }

    fn is_gap_quiescent<P: Physical>(lock: &Lock<P>) -> bool {
        lock.head.read() == 0
    }

    fn waits_for<P: Physical>(common: &Common<P>, slot: SlotId) -> Option<SlotSet> {
        Some(common.graph.of(slot.0))
    }
}

impl Locking for DlDetect {
    #[inline(always)]
    fn acquire<P: Physical>(
        lock: &Lock<P>,
        mode: Mode,
        request: Request<'_, Self, P, impl Waker>,
    ) -> Verdict {
        Self::ask(lock, mode_bits(mode), request)
    }

    fn upgrade<P: Physical>(lock: &Lock<P>, request: Request<'_, Self, P, impl Waker>) -> Verdict {
        let RequestWith { common, who, waker } = request;
        let id = Common::<P>::id(who);
        let latched = Latched::new(common, lock, who.partition);
        let mut waited_for = SlotSet::EMPTY;
        let mut others = 0;
        for (other, request) in latched.all().filter(|&(other, _)| other != id) {
            if request.state.read() & STATE_OWNER != 0 {
                latched.point(who, other, request, &mut waited_for);
                others += 1;
            }
        }
        let request = common.request(who.partition, id);
        let head = lock.head.read();
        if others == 0 {
            request.state.store(upgraded(request.state.read()));
            lock.head.store(head | mode_bits(Mode::Exclusive) << MODE_SHIFT);
            return Verdict::Granted;
        }
        request.state.store(request.state.read() | STATE_UPGRADING);
        lock.head.store(head | WAITED);
        common.graph.publish(who.slot.0, who.stamp, &waited_for);
        drop(latched);
        Self::wait_or_die(common, lock, who, waker, |_| {
            request.state.store(request.state.read() & !STATE_UPGRADING)
        })
    }

    #[inline(always)]
    fn hold_gap<P: Physical>(
        gap: &Lock<P>,
        mode: GapMode,
        request: Request<'_, Self, P, impl Waker>,
    ) -> Verdict {
        Self::ask(gap, gap_bits(mode), request)
    }

    #[inline(always)]
    fn release_gap<P: Physical>(gap: &Lock<P>, _: GapMode, request: Request<'_, Self, P, impl Waker>) {
        // The request knows how it is held.
        Self::release(gap, Mode::Exclusive, request);
    }

    fn upgrade_gap<P: Physical>(
        lock: &Lock<P>,
        _: GapMode,
        request: Request<'_, Self, P, impl Waker>,
    ) -> Verdict {
        Self::upgrade(lock, request)
    }

    #[inline(always)]
    fn release<P: Physical>(lock: &Lock<P>, _: Mode, request: Request<'_, Self, P, impl Waker>) {
        let RequestWith { common, who, waker } = request;
        let id = Common::<P>::id(who);
        let latched = Latched::new(common, lock, who.partition);
        let head = lock.head.read();
        if head & REQUEST == id && latched.request(id).next.read() == 0 {
            assert!(latched.request(id).state.read() & STATE_OWNER != 0, "released without being held");
            lock.head.store(0);
            return;
        }
        latched.remove(id);
        if head & WAITED != 0 {
            latched.strike_out(who.slot);
            latched.grant(waker);
        }
    }

    fn mark_deleted<P: Physical>(lock: &Lock<P>, request: Request<'_, Self, P, impl Waker>) {
        let RequestWith { common, who, waker } = request;
        let id = Common::<P>::id(who);
        let latched = Latched::new(common, lock, who.partition);
        for (other, request) in latched.all() {
            if other != id {
                let state = request.state.read();
                assert!(state & STATE_OWNER == 0, "marked deleted while somebody else holds it");
                request.state.store(state | STATE_DECIDED);
                latched.decide(other, Wake::Retry, waker);
            }
        }
        lock.head.store(DEAD);
    }

    fn retire_gap<P: Physical>(lock: &Lock<P>, common: &Common<P>) -> bool {
        // No request is made: any partition will do.
        let latched = Latched::new(common, lock, 0);
        let is_free = latched.lock.head.read() == 0;
        if is_free {
            lock.head.store(DEAD);
        }
        is_free
    }

    fn claim<P: Physical>(lock: &Lock<P>, request: Request<'_, Self, P, impl Waker>) {
        let RequestWith { common, who, .. } = request;
        let latched = Latched::new(common, lock, who.partition);
        latched.grant_at_once(0, who, mode_bits(Mode::Exclusive));
    }
}
