//! WAIT_DIE: two-phase locking in which an older transaction waits for a younger one, and a younger one aborts
//! (*thousand-cores* 2.1).
//!
//! A transaction's age is when its first attempt began, which it keeps when it retries; of two that began in the same tick the
//! one of the lower slot is older. A request that conflicts with nobody is granted; one that conflicts with owners or waiters,
//! each of them younger, waits; one that conflicts with somebody older aborts ("dies").
//!
//! State: a latch and the head of a list of requests, owners first, then waiters, the youngest first, in which order they are
//! granted. There is no lock table: a request lives in an array of its slot and partition, at the number of the access.
//!
//! | bits of the head | what |
//! |---|---|
//! | 0..27 | the first request, 0 for none |
//! | 27..29 | how the owners hold the record, if there are any |
//! | 29 | WAITED: somebody waits, or an owner wants to be upgraded |
//! | 30 | DEAD: unlinked, ask again |
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
//! An owner that wants to be upgraded waits for the other owners if all are younger, and dies otherwise.
//!
//! Missing keys: gaps are locked in the same way, `Shared` by misses and `Insert` by inserters. A record that dies tells its
//! waiters to ask again.
//!
//! We differ: the paper's waiters are granted in the same order, but a young reader may pass an older writer that waits there.

use super::{
    Attempt, GapMode, Locking, Mode, Protocol, Request, RequestWith, Requester, SlotId, SlotState, Verdict,
    Wake, Waker,
};
use crate::architecture::Architecture;
use crate::facade::clock;
use crate::facade::latch::Latch;
use crate::facade::region::Region;
use crate::physical::{Metadata, Physical, Word};
use crate::record::header::Narrow;
use crate::transaction::access::Locked;
use contract::AbortReason;
use std::marker::PhantomData;

const FIRST: u32 = (1 << 27) - 1;
const HELD_SHIFT: u32 = 27;
const HELD: u32 = 3 << HELD_SHIFT;
const WAITED: u32 = 1 << 29;
const DEAD: u32 = 1 << 30;

/// Accesses of one transaction.
const MOST_ACCESSES: u32 = 1 << 16;

const SHARED: u32 = 1;
const INSERT: u32 = 2;
const EXCLUSIVE: u32 = 3;

/// Of a request's state: what it holds or wants, and how far it is.
const WANTS: u32 = 3;
const OWNER: u32 = 4;
const UPGRADING: u32 = 8;

const fn of_gap(mode: GapMode) -> u32 {
    match mode {
        GapMode::Shared => SHARED,
        GapMode::Insert => INSERT,
        GapMode::Exclusive => EXCLUSIVE,
    }
}

const fn of_record(mode: Mode) -> u32 {
    match mode {
        Mode::Shared => SHARED,
        Mode::Exclusive => EXCLUSIVE,
    }
}

const fn compatible(a: u32, b: u32) -> bool {
    a == b && a != EXCLUSIVE
}

/// WAIT_DIE.
pub(crate) struct WaitDie;

/// When a transaction's first attempt began, in halves: a stamp is aligned as 32-bit words are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Age {
    high: u32,
    low: u32,
}

impl Age {
    const fn of(ticks: u64) -> Age {
        Age { high: (ticks >> 32) as u32, low: ticks as u32 }
    }

    const fn ticks(self) -> u64 {
        (self.high as u64) << 32 | self.low as u64
    }
}

/// The age of a slot's transaction.
pub(crate) struct Birth(Age);

impl SlotState for Birth {
    type Stamp = Age;

    fn new() -> Self {
        Birth(Age::of(0))
    }

    #[inline(always)]
    fn begin(&mut self, attempt: Attempt) {
        if attempt == Attempt::First {
            self.0 = Age::of(clock::now().0);
        }
    }

    #[inline(always)]
    fn stamp(&self) -> Age {
        self.0
    }
}

/// A record's metadata.
#[repr(C)]
pub(crate) struct Lock<P: Physical> {
    latch: P::Latch,
    head: P::Word32,
}

// SAFETY: a latch, which is a word or nothing, and a word.
unsafe impl<P: Physical> Metadata for Lock<P> {}

/// A request. Touched only under the latch of the record that it is for.
#[repr(C)]
struct Entry<P: Physical> {
    /// The next request of the record, 0 for none.
    next: P::Word32,
    state: P::Word32,
    /// The ticks of its transaction's age.
    age: P::Word64,
}

/// Requests of a slot in a partition that lie side by side, all that most transactions use; the rest is elsewhere.
const NEAR_ACCESSES: u32 = 256;

/// The requests of every slot in every partition.
pub(crate) struct Common<P: Physical> {
    near: Region,
    far: Region,
    slots: usize,
    policy: PhantomData<fn() -> P>,
}

impl<P: Physical> Common<P> {
    fn new(slots: usize, partitions: usize) -> Self {
        let bytes = |accesses: u32| partitions * slots * accesses as usize * size_of::<Entry<P>>();
        let reserve = |accesses| {
            Region::reserve(bytes(accesses))
                .expect("address space for 1 MiB of requests a slot and partition")
        };
        let near = reserve(NEAR_ACCESSES);
        // Of large runs, what is used is faulted in as it is used.
        const AHEAD_BYTES: usize = 64 << 20;
        near.fault_in(0..bytes(NEAR_ACCESSES).min(AHEAD_BYTES));
        Common { near, far: reserve(MOST_ACCESSES), slots, policy: PhantomData }
    }

    /// A request's number within its partition, never 0.
    fn id(who: Requester<Age>) -> u32 {
        assert!(who.access < MOST_ACCESSES, "a transaction of more than {MOST_ACCESSES} accesses");
        (who.slot.0 + 1) * MOST_ACCESSES + who.access
    }

    fn slot(id: u32) -> SlotId {
        SlotId(id / MOST_ACCESSES - 1)
    }

    #[inline(always)]
    fn entry(&self, partition: u32, id: u32) -> &Entry<P> {
        let (slot, access) = (Self::slot(id).0 as usize, id % MOST_ACCESSES);
        let array = partition as usize * self.slots + slot;
        let (region, room) =
            if access < NEAR_ACCESSES { (&self.near, NEAR_ACCESSES) } else { (&self.far, MOST_ACCESSES) };
        let offset = (array * room as usize + access as usize) * size_of::<Entry<P>>();
        assert!(offset < region.len());
        // SAFETY: within the region (asserted), which is zeroed, suitably aligned and lives as long as `self`; zero
        // bytes are a valid entry, and all its fields have interior mutability.
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
    fn entry(&self, id: u32) -> &'a Entry<P> {
        self.common.entry(self.partition, id)
    }

    /// All requests, in order.
    fn all(&self) -> impl Iterator<Item = (u32, &'a Entry<P>)> + use<'a, P> {
        let (common, partition) = (self.common, self.partition);
        let mut next = self.lock.head.read() & FIRST;
        std::iter::from_fn(move || {
            (next != 0).then(|| {
                let (id, entry) = (next, common.entry(partition, next));
                next = entry.next.read();
                (id, entry)
            })
        })
    }

    /// Becomes an owner in front of the others, who hold the record in the same mode.
    #[inline(always)]
    fn grant_at_once(&self, head: u32, id: u32, mode: u32, age: Age) {
        let entry = self.entry(id);
        entry.next.store(head & FIRST);
        entry.state.store(mode | OWNER);
        entry.age.store(age.ticks());
        self.lock.head.store(id | mode << HELD_SHIFT | head & WAITED);
    }

    /// Waits behind all owners and younger waiters, or dies.
    fn wait_or_die(&self, id: u32, mode: u32, age: Age) -> Verdict {
        let mine = (age.ticks(), Common::<P>::slot(id).0);
        let mut before = None;
        let (mut conflicts, mut is_past) = (false, false);
        for (other, entry) in self.all() {
            let state = entry.state.read();
            let is_older = (entry.age.read(), Common::<P>::slot(other).0) < mine;
            let wants = if state & UPGRADING != 0 { EXCLUSIVE } else { state & WANTS };
            if !compatible(mode, wants) {
                conflicts = true;
                if is_older {
                    return Verdict::Abort(AbortReason::Conflict);
                }
            }
            is_past |= state & OWNER == 0 && is_older;
            if !is_past {
                before = Some(entry);
            }
        }
        let head = self.lock.head.read();
        if !conflicts {
            // Those who wait are compatible, and so are the owners: nobody waits, and there was an upgrade that died.
            self.grant_at_once(head, id, mode, age);
            return Verdict::Granted;
        }
        let before = before.expect("owners come first");
        let entry = self.entry(id);
        entry.next.store(before.next.read());
        entry.state.store(mode);
        entry.age.store(age.ticks());
        before.next.store(id);
        self.lock.head.store(head | WAITED);
        Verdict::Queued
    }

    /// Takes a request out of the list, if it is there.
    fn remove(&self, id: u32) -> bool {
        let head = self.lock.head.read();
        let after = self.entry(id).next.read();
        if head & FIRST == id {
            self.lock.head.store(head & !FIRST | after);
            return true;
        }
        let before = self.all().find(|(_, entry)| entry.next.read() == id);
        if let Some((_, before)) = before {
            before.next.store(after);
        }
        before.is_some()
    }

    /// Grants what can be granted now, and brings the head's summary up to date.
    fn grant(&self, waker: &impl Waker) {
        let mut owners = self.all().take_while(|(_, entry)| entry.state.read() & OWNER != 0);
        let (one, two) = (owners.next(), owners.next());
        // An owner that is alone and wants to be upgraded goes first.
        if let (Some((id, entry)), None) = (one, two)
            && entry.state.read() & UPGRADING != 0
        {
            entry.state.store(EXCLUSIVE | OWNER);
            waker.wake(Common::<P>::slot(id), Wake::Granted);
        }
        let upgrading = self.all().any(|(_, entry)| entry.state.read() & UPGRADING != 0);
        let mut held = one.map(|(_, entry)| entry.state.read() & WANTS);
        let mut waited = upgrading;
        for (id, entry) in self.all() {
            let state = entry.state.read();
            if state & OWNER != 0 {
                continue;
            }
            if upgrading || !held.is_none_or(|held| compatible(held, state & WANTS)) {
                waited = true;
                break;
            }
            held = Some(state & WANTS);
            entry.state.store(state | OWNER);
            waker.wake(Common::<P>::slot(id), Wake::Granted);
        }
        let waited = if waited { WAITED } else { 0 };
        let first = self.lock.head.read() & FIRST;
        self.lock.head.store(first | held.unwrap_or(0) << HELD_SHIFT | waited);
    }

    /// What the owner `id` holds is `Exclusive` from now on, however many others wait.
    fn upgrade_owner(&self, id: u32) {
        self.entry(id).state.store(EXCLUSIVE | OWNER);
        self.lock.head.store(self.lock.head.read() | EXCLUSIVE << HELD_SHIFT);
    }
}

impl WaitDie {
    #[inline(always)]
    fn ask<P: Physical>(lock: &Lock<P>, mode: u32, request: Request<'_, Self, P, impl Waker>) -> Verdict {
        let RequestWith { common, who, .. } = request;
        let id = Common::<P>::id(who);
        let latched = Latched::new(common, lock, who.partition);
        let head = lock.head.read();
        if head & DEAD != 0 {
            return Verdict::Retry;
        }
        let held = (head & HELD) >> HELD_SHIFT;
        if head & FIRST == 0 || head & WAITED == 0 && compatible(held, mode) {
            latched.grant_at_once(head, id, mode, who.stamp);
            return Verdict::Granted;
        }
        latched.wait_or_die(id, mode, who.stamp)
    }

    /// Releases what a request holds; answers whether it does.
    #[inline(always)]
    pub fn let_go<P: Physical>(lock: &Lock<P>, request: Request<'_, Self, P, impl Waker>) -> bool {
        let RequestWith { common, who, waker } = request;
        let id = Common::<P>::id(who);
        let latched = Latched::new(common, lock, who.partition);
        let head = lock.head.read();
        if head & FIRST == id && latched.entry(id).next.read() == 0 {
            assert!(latched.entry(id).state.read() & OWNER != 0, "released without being held");
            lock.head.store(0);
            return true;
        }
        let was_held = latched.remove(id);
        if was_held && head & WAITED != 0 {
            latched.grant(waker);
        }
        was_held
    }

    /// Marks the record deleted and tells its waiters to ask again; answers whether no other owner was there.
    pub fn kill<P: Physical>(lock: &Lock<P>, request: Request<'_, Self, P, impl Waker>) -> bool {
        let RequestWith { common, who, waker } = request;
        let id = Common::<P>::id(who);
        let latched = Latched::new(common, lock, who.partition);
        let mut is_alone = true;
        for (other, entry) in latched.all().filter(|&(other, _)| other != id) {
            match entry.state.read() & OWNER {
                0 => waker.wake(Common::<P>::slot(other), Wake::Retry),
                _ => is_alone = false,
            }
        }
        lock.head.store(DEAD);
        is_alone
    }

    /// Upgrades without a look at the other owners: what the canary does.
    pub fn upgrade_eagerly<P: Physical>(lock: &Lock<P>, request: Request<'_, Self, P, impl Waker>) {
        let RequestWith { common, who, .. } = request;
        let id = Common::<P>::id(who);
        let latched = Latched::new(common, lock, who.partition);
        if latched.all().any(|(other, _)| other == id) {
            latched.upgrade_owner(id);
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

    fn common<P: Physical>(slots: usize, partitions: usize) -> Common<P> {
        Common::new(slots, partitions)
    }

    fn is_quiescent<P: Physical>(lock: &Lock<P>) -> bool {
        lock.head.read() == 0
    }

    fn is_gap_quiescent<P: Physical>(lock: &Lock<P>) -> bool {
        lock.head.read() == 0
    }
}

impl Locking for WaitDie {
    #[inline(always)]
    fn acquire<P: Physical>(
        lock: &Lock<P>,
        mode: Mode,
        request: Request<'_, Self, P, impl Waker>,
    ) -> Verdict {
        Self::ask(lock, of_record(mode), request)
    }

    fn upgrade<P: Physical>(lock: &Lock<P>, request: Request<'_, Self, P, impl Waker>) -> Verdict {
        let RequestWith { common, who, .. } = request;
        let id = Common::<P>::id(who);
        let latched = Latched::new(common, lock, who.partition);
        let mine = (who.stamp.ticks(), who.slot.0);
        let mut is_alone = true;
        for (other, entry) in latched.all() {
            if other != id && entry.state.read() & OWNER != 0 {
                is_alone = false;
                if (entry.age.read(), Common::<P>::slot(other).0) < mine {
                    return Verdict::Abort(AbortReason::Conflict);
                }
            }
        }
        if is_alone {
            latched.upgrade_owner(id);
            return Verdict::Granted;
        }
        let entry = latched.entry(id);
        entry.state.store(entry.state.read() | UPGRADING);
        lock.head.store(lock.head.read() | WAITED);
        Verdict::Queued
    }

    #[inline(always)]
    fn release<P: Physical>(lock: &Lock<P>, _: Mode, request: Request<'_, Self, P, impl Waker>) {
        assert!(Self::let_go(lock, request), "a request is released by whom it was granted to, once");
    }

    fn mark_deleted<P: Physical>(lock: &Lock<P>, request: Request<'_, Self, P, impl Waker>) {
        assert!(Self::kill(lock, request), "marked deleted while somebody else holds it");
    }

    fn claim<P: Physical>(lock: &Lock<P>, request: Request<'_, Self, P, impl Waker>) {
        let RequestWith { common, who, .. } = request;
        let latched = Latched::new(common, lock, who.partition);
        latched.grant_at_once(0, Common::<P>::id(who), EXCLUSIVE, who.stamp);
    }

    #[inline(always)]
    fn hold_gap<P: Physical>(
        gap: &Lock<P>,
        mode: GapMode,
        request: Request<'_, Self, P, impl Waker>,
    ) -> Verdict {
        Self::ask(gap, of_gap(mode), request)
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
        // No request is made: any partition will do.
        let latched = Latched::new(common, gap, 0);
        let is_free = latched.lock.head.read() == 0;
        if is_free {
            gap.head.store(DEAD);
        }
        is_free
    }
}
