//! VLL: two-phase locking without queues at the records. A transaction asks for all its locks at once, and transactions are granted in the
//! order in which they asked (Ren, Thomson and Abadi, PVLDB 6(2), 2012, section 2; *trireme* 3.2 has its semaphore).
//!
//! State: in a record two counters, of the transactions that hold it or want it `Exclusive` (the paper's Cx) and `Shared` (Cs). Nobody is named
//! in a record, and nobody waits at one. And one queue, of all transactions that have asked for anything, in the order in which they first
//! did (the paper's TxnQueue), each free or blocked. Counters and queue are changed in critical sections only, under the one latch that they share:
//! so words of records are loaded and stored, without an atomic read-modify-write.
//!
//! - A transaction that begins counts itself in each record that it knows it will touch, and comes to the end of the queue, in one critical
//!   section. It is *free* if nobody was counted that conflicts with it, and runs. Otherwise it is *blocked*.
//! - A transaction that commits takes itself out of the counters and out of the queue, in one critical section; one that aborts takes itself out of
//!   each counter first, when it has undone what it did there, and then out of the queue. If a blocked one is in front of the queue then, it is
//!   free from now on, and is woken.
//! - If it is asked for ([`EngineOptions::selective_contention_analysis`]), who leaves the queue looks for those that are blocked and conflict with
//!   nobody ahead any more, too ([`analysis`]): they are free, and woken.
//!
//! *Who is free holds what it has asked for.* Whoever conflicts with a transaction in a record was counted there before it or after it. Who was
//! counted after it is blocked, and behind it. Who was counted before it is ahead of it in the queue; then it was blocked, and
//! if it is free now it has come to the front, where all who were ahead of it have ended, or was found to conflict with nobody who is still
//! ahead.
//!
//! *Late requests.* What a transaction has not asked for when it began it asks for when it comes to it. It is counted if nobody is that conflicts with
//! it, and aborts otherwise; it never waits. So the order of the queue still is that of conflicting requests, though the counting was late: when it was
//! counted nobody was there, so who conflicts came after it, and is behind it, because it came when the late one was in the queue already. A
//! transaction joins the queue with its first request, late or not: one that knows nothing is not in it until then.
//!
//! *Nobody waits in a circle*: who waits is blocked, for those ahead of it, and the one in front is free and waits for nobody. Without the
//! analysis it waits for all who are ahead, also those with whom it does not conflict: a program that keeps one transaction open until another has
//! ended may wait for ever.
//!
//! *A transaction that panics while it commits* leaves the queue, so that others go on, and not the records, which nobody knows what it has done to. The
//! queue is *broken* from then on: who is in nobody's way runs as before, and who conflicts with somebody, and would be blocked, aborts.
//! Nothing is analysed any more: who holds something need not be in the queue.
//!
//! What is known: what the procedure's plan names, and what the attempts before were counted in, or were denied ([`Known`]). So a transaction that nobody
//! has planned finds out in its first attempt what it touches, and asks for that in the next one: the paper's and *orthrus* 3.2's
//! reconnaissance (OLLP), except that this one commits if nobody is in its way. Records under byte strings, whose numbers are a transaction's own, those
//! that are inserted, and missing keys are asked for late, always. Gaps are those of NO_WAIT ([`semaphore`](super::semaphore)).
//!
//! A record that dies keeps its counters, which nobody looks at again, and tells those who ask late to look it up again. A transaction that was blocked
//! by who deleted it finds that out when it is free, and begins again.
//!
//! We differ:
//! - The paper has a queue for each partition, and one thread, or a queue that threads share, which is what is here: its partitions are not built, so
//!   under an architecture whose partitions have owners there is no VLL.
//! - A paper's thread whose transaction is blocked runs another one, up to a number of blocked ones. Under shared-everything a worker has one in flight
//!   and waits.
//! - The analysis (the paper's section 2.5) is made by who leaves the queue, not by who has nothing to run: [`analysis`].

mod analysis;

use super::semaphore::{self, Semaphore};
use super::waits_for::SlotSet;
use super::{
    Ahead, AheadWith, Attempt, GapMode, Locking, Mode, Protocol, RecordPlace, Request, RequestWith, SlotId,
    SlotState, Verdict, Wake, Waker,
};
use crate::architecture::Architecture;
use crate::epoch::Line;
use crate::facade::atomic::{AtomicU32, Ordering};
use crate::physical::latch::{ChosenLatch, MetadataLatch};
use crate::physical::{Metadata, Physical, Word};
use crate::record::header::Narrow;
use crate::timestamp::Timestamp;
use crate::transaction::access::Locked;
use crate::transaction::known::Known;
use analysis::{Analysis, Hashed};
use contract::{AbortReason, EngineOptions, LatchName};

/// VLL.
pub(crate) struct Vll;

/// The record is out of its index.
const DEAD: u32 = 1 << 31;

/// Those who hold a record, or want it.
#[repr(C)]
pub(crate) struct Counters<P: Physical> {
    exclusive: P::Word32,
    shared: P::Word32,
}

// SAFETY: two words.
unsafe impl<P: Physical> Metadata for Counters<P> {}

impl<P: Physical> Counters<P> {
    fn is_dead(&self) -> bool {
        self.exclusive.read() & DEAD != 0
    }

    fn of(&self, mode: Mode) -> &P::Word32 {
        match mode {
            Mode::Exclusive => &self.exclusive,
            Mode::Shared => &self.shared,
        }
    }

    /// Whether somebody is counted who conflicts with `mode`.
    fn conflicts(&self, mode: Mode) -> bool {
        self.exclusive.read() != 0 || mode == Mode::Exclusive && self.shared.read() != 0
    }

    fn count(&self, mode: Mode) {
        let counter = self.of(mode);
        counter.store(counter.read() + 1);
    }

    fn uncount(&self, mode: Mode) {
        if self.is_dead() {
            return;
        }
        let counter = self.of(mode);
        let counted = counter.read();
        assert!(counted > 0, "released without being held");
        counter.store(counted - 1);
    }
}

/// Not in the queue.
const OUT: u32 = 0;
const FREE: u32 = 1;
const BLOCKED: u32 = 2;

/// Nobody; otherwise a slot's number and one.
const NONE: u32 = 0;

/// A slot's place in the queue.
#[derive(Default)]
struct Place {
    state: AtomicU32,
    ahead: AtomicU32,
    behind: AtomicU32,
}

#[derive(Default)]
struct Ends {
    front: AtomicU32,
    back: AtomicU32,
    /// 1: somebody has left the queue, and not the records.
    is_broken: AtomicU32,
}

/// The transactions that have asked for something, in the order in which they first did.
pub(crate) struct TxnQueue {
    latch: Line<ChosenLatch>,
    kind: LatchName,
    ends: Line<Ends>,
    places: Box<[Line<Place>]>,
    /// If it is asked for.
    analysis: Option<Analysis>,
}

// Relaxed, all of them: words of the queue are changed under its latch, which orders them. Who looks without it are a transaction at
// whether it is in the queue itself, which its own steps say, and the watchdog, whose looks may be wrong.
fn get(word: &AtomicU32) -> u32 {
    word.load(Ordering::Relaxed)
}

fn set(word: &AtomicU32, value: u32) {
    word.store(value, Ordering::Relaxed);
}

/// The queue, latched.
struct CriticalSection<'q>(&'q TxnQueue);

impl Drop for CriticalSection<'_> {
    fn drop(&mut self) {
        self.0.latch.0.unlock(self.0.kind);
    }
}

impl TxnQueue {
    fn new(slots: usize, kind: LatchName, analysis: Option<Analysis>) -> Self {
        let places = (0..slots).map(|_| Line::default()).collect();
        TxnQueue { latch: Line(ChosenLatch::default()), kind, ends: Line::default(), places, analysis }
    }

    fn enter(&self) -> CriticalSection<'_> {
        self.latch.0.lock(self.kind);
        CriticalSection(self)
    }

    fn is_broken(&self) -> bool {
        get(&self.ends.0.is_broken) != 0
    }

    /// The place of whom a word names.
    fn named(&self, word: u32) -> &Place {
        &self.places[word as usize - 1].0
    }

    fn place(&self, SlotId(slot): SlotId) -> &Place {
        &self.places[slot as usize].0
    }

    /// The slots in the order of the queue, which is latched, and whether their transactions are blocked.
    fn in_order(&self) -> impl Iterator<Item = (SlotId, bool)> + Clone {
        let is_there = |word: u32| (word != NONE).then_some(word);
        let next = move |&word: &u32| is_there(get(&self.named(word).behind));
        let words = std::iter::successors(is_there(get(&self.ends.0.front)), next);
        words.map(|word| (SlotId(word - 1), get(&self.named(word).state) == BLOCKED))
    }

    /// Whom a slot's transaction waits for: all ahead of it, if it is blocked; `None`: they change meanwhile.
    fn waited_for(&self, slot: SlotId) -> Option<SlotSet> {
        let mut others = SlotSet::EMPTY;
        let place = self.place(slot);
        if get(&place.state) != BLOCKED {
            return Some(others);
        }
        let mut next = get(&place.ahead);
        for _ in 0..self.places.len() {
            if next == NONE {
                return Some(others);
            }
            others.insert(next - 1);
            next = get(&self.named(next).ahead);
        }
        None
    }
}

impl CriticalSection<'_> {
    /// The slot's transaction is counted in a record of this name.
    fn tell(&self, slot: SlotId, record: Hashed, mode: Mode) {
        if let Some(analysis) = &self.0.analysis {
            analysis.tell(slot, record, mode);
        }
    }

    /// The slot's transaction comes to the end of the queue, unless it is there.
    fn join(&self, slot: SlotId, state: u32) {
        let CriticalSection(queue) = self;
        let place = queue.place(slot);
        if get(&place.state) != OUT {
            return;
        }
        let (mine, back) = (slot.0 + 1, get(&queue.ends.0.back));
        set(&place.state, state);
        set(&place.ahead, back);
        set(&place.behind, NONE);
        match back {
            NONE => set(&queue.ends.0.front, mine),
            back => set(&queue.named(back).behind, mine),
        }
        set(&queue.ends.0.back, mine);
        if state == BLOCKED
            && let Some(analysis) = &queue.analysis
        {
            analysis.blocked();
        }
    }

    /// The slot's transaction leaves the queue; who is in front then is free, and who is found to conflict with nobody ahead.
    fn leave(&self, slot: SlotId, waker: &impl Waker) {
        let CriticalSection(queue) = self;
        let place = queue.place(slot);
        let (ahead, behind) = (get(&place.ahead), get(&place.behind));
        match ahead {
            NONE => set(&queue.ends.0.front, behind),
            ahead => set(&queue.named(ahead).behind, behind),
        }
        match behind {
            NONE => set(&queue.ends.0.back, ahead),
            behind => set(&queue.named(behind).ahead, ahead),
        }
        if let Some(analysis) = &queue.analysis {
            analysis.forget(slot);
            if get(&place.state) == BLOCKED {
                analysis.unblocked();
            }
        }
        set(&place.state, OUT);
        let front = get(&queue.ends.0.front);
        if front != NONE && get(&queue.named(front).state) == BLOCKED {
            self.free(SlotId(front - 1), waker);
        }
        if let Some(analysis) = &queue.analysis
            && !queue.is_broken()
        {
            analysis.analyse(queue.in_order(), |slot| self.free(slot, waker));
        }
    }

    /// The slot's transaction, which was blocked, is free from now on.
    fn free(&self, slot: SlotId, waker: &impl Waker) {
        let CriticalSection(queue) = self;
        set(&queue.place(slot).state, FREE);
        if let Some(analysis) = &queue.analysis {
            analysis.unblocked();
        }
        waker.wake(slot, if queue.is_broken() { Wake::Retry } else { Wake::Granted });
    }
}

/// What a slot's transaction is known to touch.
impl SlotState for Known {
    /// Names a record, for the analysis.
    type Stamp = Hashed;

    fn new() -> Self {
        Known::new()
    }

    #[inline(always)]
    fn begin(&mut self, attempt: Attempt, _: impl FnOnce() -> Timestamp) {
        if attempt == Attempt::First {
            self.clear();
        }
    }

    #[inline(always)]
    fn stamp(&self) -> Hashed {
        Hashed::NAMELESS
    }

    #[inline(always)]
    fn stamp_for(&self, place: RecordPlace) -> Hashed {
        Hashed::of(place)
    }
}

impl Protocol for Vll {
    type Meta<P: Physical> = Counters<P>;
    type Header = Narrow;
    type Gap<P: Physical> = Semaphore<P>;
    type Common<P: Physical> = TxnQueue;
    type Slot = Known;
    type Access<A: Architecture<Protocol = Self>> = Locked;

    const REQUESTS_AHEAD: bool = true;

    fn common<P: Physical>(slots: usize, _: usize, options: &EngineOptions) -> TxnQueue {
        semaphore::assert_countable(slots);
        let analysis = options.selective_contention_analysis.then(|| Analysis::new(slots));
        TxnQueue::new(slots, options.latch, analysis)
    }

    unsafe fn waits_for<P: Physical>(queue: &TxnQueue, slot: SlotId) -> Option<SlotSet> {
        queue.waited_for(slot)
    }

    fn is_quiescent<P: Physical>(counters: &Counters<P>) -> bool {
        counters.exclusive.read() == 0 && counters.shared.read() == 0
    }

    fn is_gap_quiescent<P: Physical>(gap: &Semaphore<P>) -> bool {
        gap.is_quiescent()
    }
}

impl Locking for Vll {
    fn known(slot: &mut Known) -> &mut Known {
        slot
    }

    fn request_all<'m, P: Physical>(
        records: impl Iterator<Item = Ahead<'m, Self, P>>,
        RequestWith { common, who, .. }: Request<'_, Self, P, impl Waker>,
    ) -> Verdict {
        let section = common.enter();
        let (mut is_blocked, mut is_denied) = (false, false);
        for AheadWith { meta: counters, mode, stamp, is_counted } in records {
            let conflicts = counters.conflicts(mode);
            // In a broken queue as what comes late: somebody may hold it for ever.
            is_denied |= conflicts && common.is_broken();
            *is_counted = !counters.is_dead() && !is_denied;
            if *is_counted {
                is_blocked |= conflicts;
                counters.count(mode);
                section.tell(who.slot, stamp, mode);
            }
        }
        section.join(who.slot, if is_blocked { BLOCKED } else { FREE });
        match (is_denied, is_blocked) {
            (true, _) => Verdict::Abort(AbortReason::Conflict),
            (false, true) => Verdict::Queued,
            (false, false) => Verdict::Granted,
        }
    }

    fn abandon<P: Physical>(RequestWith { common, who, waker }: Request<'_, Self, P, impl Waker>) {
        let section = common.enter();
        set(&common.ends.0.is_broken, 1);
        if get(&common.place(who.slot).state) != OUT {
            section.leave(who.slot, waker);
        }
    }

    fn release_all<'m, P: Physical>(
        records: impl Iterator<Item = (&'m Counters<P>, Mode)>,
        RequestWith { common, who, waker }: Request<'_, Self, P, impl Waker>,
    ) {
        if get(&common.place(who.slot).state) == OUT {
            // It has asked for nothing.
            return;
        }
        let section = common.enter();
        records.for_each(|(counters, mode)| counters.uncount(mode));
        section.leave(who.slot, waker);
    }

    fn is_dead<P: Physical>(counters: &Counters<P>) -> bool {
        counters.is_dead()
    }

    /// A late request.
    fn acquire<P: Physical>(
        counters: &Counters<P>,
        mode: Mode,
        RequestWith { common, who, .. }: Request<'_, Self, P, impl Waker>,
    ) -> Verdict {
        let section = common.enter();
        if counters.is_dead() {
            return Verdict::Retry;
        }
        if counters.conflicts(mode) {
            return Verdict::Abort(AbortReason::Conflict);
        }
        counters.count(mode);
        section.tell(who.slot, who.stamp, mode);
        section.join(who.slot, FREE);
        Verdict::Granted
    }

    /// A late request, too.
    fn upgrade<P: Physical>(
        counters: &Counters<P>,
        RequestWith { common, who, .. }: Request<'_, Self, P, impl Waker>,
    ) -> Verdict {
        let section = common.enter();
        if counters.exclusive.read() != 0 || counters.shared.read() != 1 {
            return Verdict::Abort(AbortReason::Conflict);
        }
        counters.uncount(Mode::Shared);
        counters.count(Mode::Exclusive);
        section.tell(who.slot, who.stamp, Mode::Exclusive);
        Verdict::Granted
    }

    fn release<P: Physical>(
        counters: &Counters<P>,
        mode: Mode,
        RequestWith { common, .. }: Request<'_, Self, P, impl Waker>,
    ) {
        let _section = common.enter();
        counters.uncount(mode);
    }

    fn mark_deleted<P: Physical>(
        counters: &Counters<P>,
        RequestWith { common, .. }: Request<'_, Self, P, impl Waker>,
    ) {
        let _section = common.enter();
        assert!(counters.exclusive.read() > 0, "marked deleted without being held");
        counters.exclusive.store(DEAD);
    }

    fn claim<P: Physical>(
        counters: &Counters<P>,
        RequestWith { common, who, .. }: Request<'_, Self, P, impl Waker>,
    ) {
        let section = common.enter();
        section.tell(who.slot, who.stamp, Mode::Exclusive);
        section.join(who.slot, FREE);
        counters.exclusive.store(1);
        counters.shared.store(0);
    }

    #[inline(always)]
    fn hold_gap<P: Physical>(
        gap: &Semaphore<P>,
        mode: GapMode,
        _: Request<'_, Self, P, impl Waker>,
    ) -> Verdict {
        gap.hold(mode)
    }

    fn upgrade_gap<P: Physical>(
        gap: &Semaphore<P>,
        from: GapMode,
        _: Request<'_, Self, P, impl Waker>,
    ) -> Verdict {
        gap.upgrade(from)
    }

    #[inline(always)]
    fn release_gap<P: Physical>(gap: &Semaphore<P>, mode: GapMode, _: Request<'_, Self, P, impl Waker>) {
        gap.let_go(mode);
    }

    fn retire_gap<P: Physical>(gap: &Semaphore<P>, _: &TxnQueue) -> bool {
        gap.retire()
    }
}
