//! A worker's scheduler: which of the fibers that are here runs next.
//!
//! | queue | fibers that | run |
//! |---|---|---|
//! | ready | came from another worker, were granted what they waited for, or wait no longer | first: they hold locks |
//! | wanted | did nothing until somebody wanted it of them, which somebody does now | next: they hold nothing, and others wait for them |
//! | retrying | have slept after an abort, or looked whether they can go on | next |
//! | idle | are at home between two transactions | last, the one that ran last first: its stack is in the cache |
//! | sleeping, parked | wait for a time; for a grant, until a time at most, or for somebody to want something of them | not yet |
//! | outbound | found the ring to where they go full | elsewhere |
//!
//! Those that are parked are resumed now and then though nothing was granted, to see whether they wait for ever.
//!
//! So a transaction is begun only when nothing that was begun can go on, and one that was aborted does not take the
//! thread from one that holds the lock it wants.

use super::{Fiber, Idleness, Parcel, Suspension};
use crate::facade::clock::{self, Ticks};
use crate::message::Grants;
use crate::message::{Inbox, Outbox, Rings};
use crate::protocol::SlotId;
use crate::work;
use std::collections::VecDeque;
use std::ops::Range;

/// See the module.
pub(crate) struct Scheduler<'e> {
    me: usize,
    inbox: Inbox<'e>,
    outbox: Outbox<'e>,
    grants: &'e Grants,
    ready: VecDeque<Fiber>,
    wanted: VecDeque<Fiber>,
    retrying: VecDeque<Fiber>,
    idle: Vec<Fiber>,
    /// For those that are visited.
    visited: Vec<Fiber>,
    sleeping: Vec<(Ticks, Fiber)>,
    parked: Vec<Parked>,
    outbound: VecDeque<(usize, Parcel)>,
    /// Fibers of this home that have not ended.
    living: usize,
    /// Looks at those that are parked, until they themselves look whether they wait for ever.
    until_look: u32,
    /// If it is counted.
    idleness: Option<Idleness>,
}

/// A fiber that waits for a grant, until a time at most.
struct Parked {
    slot: SlotId,
    until: Option<Ticks>,
    /// What it waits for may never come.
    is_idle: bool,
    fiber: Fiber,
}

/// What the others do while a fiber runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Others {
    /// One can go on, which may hold locks, or is wanted.
    pub can_go_on: bool,
    /// One is about to begin a transaction.
    pub can_begin: bool,
    /// None has anything to do: but for those between two transactions, of which one at a time is as good as all, they wait for what may never come.
    pub are_quiescent: bool,
}

/// What came of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// A fiber ran.
    Ran,
    /// One looked whether it can go on, and cannot: it is others that must run.
    Looked,
    /// One asked its client for a transaction, which had none now.
    NothingNow,
    /// None could run.
    NoFiber,
}

/// So many in all.
const LOOK_EVERY: u32 = 4096;

impl<'e> Scheduler<'e> {
    /// Worker `me`'s, for `fibers` that are at home here, none of which has begun; there are `all` in the run.
    pub fn new(me: usize, rings: &'e Rings, grants: &'e Grants, fibers: Vec<Fiber>, all: usize) -> Self {
        Scheduler {
            me,
            inbox: Inbox::new(rings, me),
            outbox: Outbox::new(rings, me),
            grants,
            ready: VecDeque::with_capacity(all),
            wanted: VecDeque::with_capacity(all),
            retrying: VecDeque::with_capacity(all),
            living: fibers.len(),
            visited: Vec::with_capacity(fibers.len()),
            idle: fibers,
            sleeping: Vec::with_capacity(all),
            parked: Vec::with_capacity(all),
            outbound: VecDeque::with_capacity(all),
            until_look: LOOK_EVERY,
            idleness: None,
        }
    }

    /// Counts how long nobody of this home could go on, in an interval.
    pub fn counting_idleness(self, counted: Range<Ticks>) -> Self {
        Scheduler { idleness: Some(Idleness::within(counted)), ..self }
    }

    /// How long it was so far, in nanoseconds, if it is counted.
    pub fn idle_ns(&self) -> Option<u64> {
        self.idleness.as_ref().map(Idleness::ns)
    }

    /// Whether fibers of this home live.
    pub fn has_living(&self) -> bool {
        self.living > 0
    }

    /// Whether fibers wait here for something that will come.
    pub fn has_waiting(&self) -> bool {
        let all_are_idle = || self.parked.iter().all(|parked| parked.is_idle);
        !(self.sleeping.is_empty() && self.outbound.is_empty() && all_are_idle())
    }

    /// Lets every fiber make what it needs, until it is at home between two transactions for the first time. Nothing is measured yet.
    pub fn open(&mut self) {
        for fiber in &mut self.idle {
            let suspended = fiber.resume(self.me);
            assert!(matches!(suspended, Some(Suspension::Idle)), "a fiber that was opened: {suspended:?}");
        }
    }

    /// Runs each fiber that is between two transactions, in the order in which they lie.
    #[cold]
    pub fn visit_idle(&mut self) {
        std::mem::swap(&mut self.idle, &mut self.visited);
        self.visited.reverse();
        while let Some(fiber) = self.visited.pop() {
            let _ = self.run(fiber);
        }
    }

    /// Runs the fiber whose turn it is until it suspends itself.
    #[inline]
    pub fn turn(&mut self) -> Turn {
        self.look();
        match self.choose() {
            Some(fiber) => self.run(fiber),
            None => Turn::NoFiber,
        }
    }

    /// Finds the fibers that have come, and those that wait no longer.
    #[inline]
    pub fn look(&mut self) {
        self.receive();
        self.send_off();
        self.wake();
    }

    /// Takes out the fiber whose turn it is, for [`Scheduler::run`]. If there is none, none can go on.
    #[inline]
    pub fn choose(&mut self) -> Option<Fiber> {
        let begun = self.ready.pop_front().or_else(|| self.wanted.pop_front());
        let next = begun.or_else(|| self.retrying.pop_front()).or_else(|| self.idle.pop());
        if next.is_none() {
            self.none_can_go_on();
        }
        next
    }

    /// What those that are left do.
    #[inline]
    pub fn others(&self) -> Others {
        let can_go_on = self.can_go_on();
        let are_quiescent = !can_go_on && self.retrying.is_empty() && !self.has_waiting();
        Others { can_go_on, can_begin: self.has_idle(), are_quiescent }
    }

    /// Whether there are fibers that can go on, and may hold locks, or are wanted.
    #[inline]
    pub fn can_go_on(&self) -> bool {
        self.can_go_on_now() > 0
    }

    /// How many there are.
    #[inline]
    pub fn can_go_on_now(&self) -> usize {
        self.ready.len() + self.wanted.len()
    }

    /// Whether there are fibers between two transactions.
    #[inline]
    pub fn has_idle(&self) -> bool {
        !self.idle.is_empty()
    }

    /// Runs a fiber, which [`Scheduler::choose`] took out, until it suspends itself.
    #[inline]
    pub fn run(&mut self, mut fiber: Fiber) -> Turn {
        let resumed = self.idleness.as_ref().and_then(Idleness::would_end);
        work::switch();
        let suspended = fiber.resume(self.me);
        if let Some(resumed) = resumed
            && let Some(idleness) = &mut self.idleness
            && !matches!(suspended, Some(Suspension::NothingNow))
        {
            idleness.ends(resumed);
        }
        match suspended {
            Some(Suspension::Migrate { to, hot }) => self.send(to, Parcel::pack(fiber, hot)),
            Some(Suspension::Park(slot, until)) => {
                self.parked.push(Parked { slot, until, is_idle: false, fiber });
            }
            Some(Suspension::Await(slot)) => {
                self.parked.push(Parked { slot, until: None, is_idle: true, fiber });
            }
            Some(Suspension::Sleep(until)) => self.sleeping.push((until, fiber)),
            Some(Suspension::Look(until)) => {
                self.sleeping.push((until, fiber));
                return Turn::Looked;
            }
            Some(Suspension::Fetch) => self.ready.push_back(fiber),
            Some(Suspension::Idle) => self.idle.push(fiber),
            Some(Suspension::NothingNow) => {
                // At the bottom: the others ask in their turn, and leave their epochs.
                self.idle.insert(0, fiber);
                self.none_can_go_on();
                return Turn::NothingNow;
            }
            None => self.living -= 1,
        }
        Turn::Ran
    }

    /// Nobody can go on. A home whose fibers have ended is not idle any more.
    fn none_can_go_on(&mut self) {
        if let Some(idleness) = &mut self.idleness
            && self.living > 0
        {
            idleness.begins();
        }
    }

    /// When the first of those that sleep, or wait until a time, wants to go on.
    pub fn next_wake(&self) -> Option<Ticks> {
        let parked = self.parked.iter().filter_map(|parked| parked.until);
        self.sleeping.iter().map(|(until, _)| *until).chain(parked).min()
    }

    /// Takes in the fibers that came from other workers.
    #[inline(always)]
    fn receive(&mut self) {
        let ready = &mut self.ready;
        self.inbox.serve(|taken| {
            // SAFETY: schedulers of a run send parcels and nothing else.
            let parcel = unsafe { taken.body::<Parcel>() };
            // SAFETY: a message is taken once, and its sender has kept no copy.
            let fiber = unsafe { parcel.unpack() };
            taken.done();
            ready.push_back(fiber);
        });
    }

    #[inline(always)]
    fn send(&mut self, to: usize, parcel: Parcel) {
        if self.outbox.has_room(to) {
            self.outbox.post(to, parcel);
        } else {
            self.outbound.push_back((to, parcel));
        }
    }

    /// Sends fibers whose ring was full.
    #[inline(always)]
    fn send_off(&mut self) {
        for _ in 0..self.outbound.len() {
            let (to, parcel) = self.outbound.pop_front().expect("counted");
            self.send(to, parcel);
        }
    }

    /// Finds those that have waited long enough.
    #[inline(always)]
    fn wake(&mut self) {
        let (mut position, mut now) = (0, None);
        let mut is_past = |until: Ticks| *now.get_or_insert_with(clock::now) >= until;
        while position < self.parked.len() {
            let Parked { slot, until, is_idle, .. } = self.parked[position];
            if self.grants.is_decided(slot) || until.is_some_and(&mut is_past) {
                let fiber = self.parked.swap_remove(position).fiber;
                if is_idle { self.wanted.push_back(fiber) } else { self.ready.push_back(fiber) }
            } else {
                position += 1;
            }
        }
        self.until_look -= 1;
        if self.until_look == 0 {
            self.until_look = LOOK_EVERY;
            for Parked { is_idle, fiber, .. } in self.parked.drain(..) {
                if is_idle { self.wanted.push_back(fiber) } else { self.ready.push_back(fiber) }
            }
        }
        if self.sleeping.is_empty() {
            return;
        }
        let (now, mut position) = (clock::now(), 0);
        while position < self.sleeping.len() {
            if now >= self.sleeping[position].0 {
                self.retrying.push_back(self.sleeping.swap_remove(position).1);
            } else {
                position += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fiber::Current;
    use crate::protocol::{Wake, Waker};

    #[test]
    fn a_fiber_that_only_looks_is_told_from_one_that_gets_on() {
        let (rings, grants) = (Rings::new(1), Grants::new(1, None));
        let body = |mut current: Current| {
            current.suspend(Suspension::Look(clock::now()));
            current.suspend(Suspension::Look(clock::now()));
            current.suspend(Suspension::Idle);
        };
        // SAFETY: it borrows nothing, and stays here.
        let fiber = unsafe { Fiber::new(body) };
        let mut scheduler = Scheduler::new(0, &rings, &grants, vec![fiber], 1);
        let turns = [(); 4].map(|()| {
            let mut turn = scheduler.turn();
            // The clock may not have gone on yet.
            while turn == Turn::NoFiber {
                turn = scheduler.turn();
            }
            turn
        });
        assert_eq!(turns, [Turn::Looked, Turn::Looked, Turn::Ran, Turn::Ran]);
        assert!(!scheduler.has_living());
    }

    /// Only the last one runs, again and again, but for those who visit.
    #[test]
    fn who_is_between_two_transactions_is_visited_in_order() {
        let (rings, grants) = (Rings::new(1), Grants::new(1, None));
        let ran = std::cell::RefCell::new(Vec::new());
        let body = |name: char| {
            let ran = &ran;
            move |mut current: Current| {
                for _ in 0..8 {
                    current.suspend(Suspension::Idle);
                    ran.borrow_mut().push(name);
                }
            }
        };
        // SAFETY: what they borrow outlives the scheduler, which stays here.
        let fibers = unsafe { ['a', 'b', 'c'].map(|name| Fiber::new(body(name))).into() };
        let mut scheduler = Scheduler::new(0, &rings, &grants, fibers, 3);
        scheduler.open();
        (0..3).for_each(|_| _ = scheduler.turn());
        assert_eq!(ran.take(), ['c', 'c', 'c']);
        scheduler.visit_idle();
        scheduler.visit_idle();
        assert_eq!(ran.take(), ['a', 'b', 'c', 'a', 'b', 'c']);
        assert_eq!((scheduler.turn(), ran.take()), (Turn::Ran, vec!['c']));
        while scheduler.has_living() {
            let _ = scheduler.turn();
        }
    }

    /// Two fibers sleep and end: while one sleeps and the other works the worker is not idle, and not when both have ended.
    #[test]
    fn a_worker_is_idle_while_no_fiber_can_go_on() {
        let (rings, grants) = (Rings::new(1), Grants::new(2, None));
        let after = |ms| Ticks(clock::now().0 + clock::ticks_of(std::time::Duration::from_millis(ms)));
        let spin_until = |until: Ticks| {
            while clock::now() < until {
                crate::facade::cpu::pause();
            }
        };
        let worked = std::cell::Cell::new(0);
        let sleeps = |mut current: Current| current.suspend(Suspension::Sleep(after(50)));
        let works = |mut current: Current| {
            let began = clock::now();
            spin_until(after(4));
            worked.set(clock::now().since(began));
            current.suspend(Suspension::Sleep(after(1)));
        };
        // SAFETY: they borrow what outlives them, and stay here.
        let fibers = unsafe { vec![Fiber::new(works), Fiber::new(sleeps)] };
        let all = Ticks(0)..Ticks(u64::MAX);
        let mut scheduler = Scheduler::new(0, &rings, &grants, fibers, 2).counting_idleness(all);
        let (began, mut seen) = (clock::now(), 0);
        while scheduler.has_living() {
            if scheduler.turn() == Turn::NoFiber {
                let idle_since = clock::now();
                crate::facade::cpu::pause();
                seen += clock::now().since(idle_since);
            }
        }
        let took = clock::now().since(began);
        let idle_ns = scheduler.idle_ns().expect("it is counted");
        let most_ns = clock::nanoseconds(took - worked.get());
        assert!(
            seen > 0 && clock::nanoseconds(seen) <= idle_ns && idle_ns <= most_ns,
            "{idle_ns} of {most_ns}"
        );
        assert_eq!(scheduler.turn(), Turn::NoFiber);
        spin_until(after(1));
        assert_eq!(scheduler.turn(), Turn::NoFiber);
        assert_eq!(scheduler.idle_ns(), Some(idle_ns), "nobody is left to be idle");
        assert_eq!(Scheduler::new(0, &rings, &grants, Vec::new(), 0).idle_ns(), None);
    }

    #[test]
    fn who_waits_for_what_may_never_come_keeps_nobody_awake() {
        let (rings, grants) = (Rings::new(1), Grants::new(1, None));
        let body = |mut current: Current| {
            current.suspend(Suspension::Await(SlotId(0)));
            let _ = grants.take(SlotId(0));
            current.suspend(Suspension::Park(SlotId(0), None));
        };
        // SAFETY: it borrows what outlives it, and stays here.
        let fiber = unsafe { Fiber::new(body) };
        let mut scheduler = Scheduler::new(0, &rings, &grants, vec![fiber], 1);
        for has_waiting in [false, true] {
            assert_eq!((scheduler.turn(), scheduler.turn()), (Turn::Ran, Turn::NoFiber));
            assert_eq!(scheduler.has_waiting(), has_waiting);
            grants.wake(SlotId(0), Wake::Granted);
        }
        assert_eq!(scheduler.turn(), Turn::Ran);
        assert!(!scheduler.has_living());
    }

    /// Who holds locks goes before who is wanted, and both before who begins something.
    #[test]
    fn who_is_wanted_goes_before_who_begins() {
        let (rings, grants) = (Rings::new(1), Grants::new(2, None));
        let order = std::cell::RefCell::new(Vec::new());
        let fiber = |name: &'static str, suspension: Suspension| {
            let order = &order;
            // SAFETY: it borrows what outlives it, and stays here.
            unsafe {
                Fiber::new(move |mut current: Current| {
                    current.suspend(suspension);
                    order.borrow_mut().push(name);
                })
            }
        };
        let fibers = vec![
            fiber("begins", Suspension::Idle),
            fiber("is wanted", Suspension::Await(SlotId(0))),
            fiber("holds locks", Suspension::Park(SlotId(1), None)),
        ];
        let mut scheduler = Scheduler::new(0, &rings, &grants, fibers, 3);
        assert_eq!([(); 3].map(|()| scheduler.turn()), [Turn::Ran; 3]);
        assert_eq!(scheduler.others(), Others { can_go_on: false, can_begin: true, are_quiescent: false });
        [SlotId(0), SlotId(1)].into_iter().for_each(|slot| grants.wake(slot, Wake::Granted));
        scheduler.look();
        assert!(scheduler.others().can_go_on);
        for left in [true, false] {
            let fiber = scheduler.choose().expect("one that can go on");
            assert_eq!((scheduler.others().can_go_on, scheduler.others().are_quiescent), (left, !left));
            scheduler.run(fiber);
        }
        assert_eq!(scheduler.turn(), Turn::Ran);
        assert_eq!(*order.borrow(), ["holds locks", "is wanted", "begins"]);
    }

    #[test]
    fn who_waits_until_a_time_goes_on_then() {
        let (rings, grants) = (Rings::new(1), Grants::new(1, None));
        let body = |mut current: Current| {
            let until = Ticks(clock::now().0 + clock::ticks_of(std::time::Duration::from_millis(2)));
            current.suspend(Suspension::Park(SlotId(0), Some(until)));
            assert!(clock::now() >= until, "it went on before its time, and nothing was granted");
        };
        // SAFETY: it borrows nothing, and stays here.
        let fiber = unsafe { Fiber::new(body) };
        let mut scheduler = Scheduler::new(0, &rings, &grants, vec![fiber], 1);
        assert_eq!(scheduler.turn(), Turn::Ran);
        let until = scheduler.next_wake().expect("a time");
        // Fewer turns than those after which all that are parked look.
        while scheduler.has_living() {
            assert!(scheduler.has_waiting());
            while clock::now() < until {
                crate::facade::cpu::pause();
            }
            assert_eq!(scheduler.turn(), Turn::Ran);
        }
        assert_eq!(scheduler.next_wake(), None);
    }
}
