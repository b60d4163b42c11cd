//! A concurrency-control thread of ORTHRUS: takes requests and releases from its rings, one after the other, grants in its lock table, and
//! forwards what it has granted to the next thread, or tells the transaction (*orthrus* 3.1, 3.3).
//!
//! Its lock table is its own, or one that all such threads share ([`shared_lock_table`](super::shared_lock_table)): then it gets a transaction all its
//! locks, and forwards nothing.
//!
//! It runs until all threads that execute have ended; then nobody holds anything, which it asserts; of a shared table, the last one does.
//!
//! If lines are asked for ahead it takes some messages, asks for the lines of the locks that they ask for, and then serves one after the other: what the
//! threads that execute have written comes at once, and not line by line.
//!
//! What comes for a thread whose ring is full it keeps, and goes on. At most as many messages are kept as there are transactions in flight, because
//! each transaction has one request on its way.

use super::OrthrusState;
use super::errand::Errand;
use super::lock_table::LockTable;
use super::shared_lock_table::{Parts, SharedLockTable};
use crate::architecture::server::{BETWEEN_CLOCKS, Serving, Stretch};
use crate::facade::clock::{self, Ticks};
use crate::facade::{cpu, worker};
use crate::message::{Inbox, Outbox};
use crate::protocol::{Planning, Rules, SlotId, Wake, Waker};
use crate::work;
use contract::Effort;
use std::collections::VecDeque;

/// What concurrency-control threads are sent.
#[derive(Clone, Copy)]
pub(super) enum Message {
    /// Grant what the lock set has here; of a shared table, all that it has.
    Request(Errand),
    /// The slot's oldest transaction here has ended.
    Release(SlotId),
    /// The slot's transaction has ended, which has locks in these parts of the shared table.
    ReleaseParts(SlotId, Parts),
}

/// Messages that are taken before the first of them is served, if lines are asked for ahead.
const MOST_AT_ONCE: usize = 16;

/// See the module.
pub(crate) struct CcThread<'e, P: Planning> {
    state: &'e OrthrusState<'e, P>,
    inbox: Inbox<'e>,
    /// Empty between servings: what has been taken and is not served.
    come: Vec<Message>,
    grantor: Grantor<'e, P>,
    stretch: Stretch,
    effort: Effort,
}

const MISSENT: &str = "a release goes to the table from which the locks are";

/// Where a thread has its locks.
enum Locks<'e> {
    Own(Box<LockTable<Errand>>),
    Shared(&'e SharedLockTable),
}

/// What grants, apart from the inbox.
struct Grantor<'e, P: Planning> {
    state: &'e OrthrusState<'e, P>,
    outbox: Outbox<'e>,
    locks: Locks<'e>,
    /// What found its ring full.
    outbound: VecDeque<(usize, Message)>,
    /// Empty; what a release grants is taken on when the table is at rest.
    granted_now: Vec<Errand>,
    sent: u64,
}

impl<'e, P: Planning> CcThread<'e, P> {
    /// Thread `me`.
    pub fn new(me: usize, state: &'e OrthrusState<'e, P>) -> Self {
        let locks = match &state.shared_table {
            None => Locks::Own(Box::new(LockTable::new(state.slots, state.tables, P::Rules::READERS_WAIT))),
            Some(table) => Locks::Shared(table),
        };
        CcThread {
            state,
            inbox: Inbox::new(&state.rings, me),
            come: Vec::with_capacity(MOST_AT_ONCE),
            grantor: Grantor {
                state,
                outbox: Outbox::new(&state.rings, me),
                locks,
                outbound: VecDeque::with_capacity(state.slots),
                granted_now: Vec::with_capacity(state.slots),
                sent: 0,
            },
            stretch: Stretch::default(),
            effort: Effort::default(),
        }
    }

    /// Takes what has come by `deadline`, or somewhat later; answers how many messages there were, and how many that were kept are on their way now.
    fn serve(&mut self, deadline: Ticks) -> u64 {
        let CcThread { state, inbox, come, grantor, stretch, effort } = self;
        let at_once = if state.prefetches { MOST_AT_ONCE } else { 1 };
        let kept = grantor.outbound.len();
        grantor.send_off();
        let served = inbox.serve(|taken| {
            stretch.goes_on();
            // SAFETY: through these rings nothing but messages of this type is sent.
            let message = unsafe { taken.body::<Message>() };
            // The line may be used again.
            taken.done();
            if let Message::Request(errand) = message
                && state.prefetches
            {
                errand.prefetch();
            }
            come.push(message);
            if come.len() == at_once {
                grantor.serve(come);
            }
        });
        grantor.serve(come);
        effort.served += served;
        effort.messages += std::mem::take(&mut grantor.sent);
        if served == 0 {
            stretch.ends(deadline, effort);
        }
        served + kept.saturating_sub(grantor.outbound.len()) as u64
    }
}

impl<P: Planning> Grantor<'_, P> {
    /// Serves messages, one after the other, until there are none.
    fn serve(&mut self, come: &mut Vec<Message>) {
        for message in come.drain(..) {
            match message {
                Message::Request(errand) => self.request(errand),
                Message::Release(slot) => self.release(slot),
                Message::ReleaseParts(slot, parts) => self.release_parts(slot, parts),
            }
        }
    }

    fn request(&mut self, errand: Errand) {
        match &mut self.locks {
            Locks::Own(table) => {
                errand.fetch();
                if errand.ask(table) {
                    self.granted_here(errand);
                }
            }
            Locks::Shared(table) => {
                if table.request(errand) {
                    self.granted(errand.slot);
                }
            }
        }
    }

    fn release(&mut self, slot: SlotId) {
        let Locks::Own(table) = &mut self.locks else { unreachable!("{MISSENT}") };
        work::operation(0);
        let mut errands = std::mem::take(&mut self.granted_now);
        table.release(slot, |errand| errands.push(errand));
        errands.drain(..).filter(|_| P::Rules::TELLS_WHO_WAITED).for_each(|errand| self.granted_here(errand));
        self.granted_now = errands;
    }

    fn release_parts(&mut self, slot: SlotId, parts: Parts) {
        let Locks::Shared(table) = self.locks else { unreachable!("{MISSENT}") };
        let mut errands = std::mem::take(&mut self.granted_now);
        table.release(slot, parts, &mut errands, |slot| {
            if P::Rules::TELLS_WHO_WAITED {
                self.granted(slot);
            }
        });
        self.granted_now = errands;
    }

    /// All that the errand wants of the thread's own table is granted.
    fn granted_here(&mut self, errand: Errand) {
        match errand.next() {
            Some(next) if self.state.forwards => self.send(next.owner(), Message::Request(next)),
            _ => self.granted(errand.slot),
        }
    }

    /// The slot's transaction has all that it asked for.
    fn granted(&mut self, slot: SlotId) {
        self.sent += 1;
        self.state.shared.grants.wake(slot, Wake::Granted);
    }

    fn send(&mut self, to: usize, message: Message) {
        if self.outbox.has_room(to) {
            self.outbox.post(to, message);
            self.sent += 1;
        } else {
            self.outbound.push_back((to, message));
        }
    }

    /// Sends what found its ring full.
    fn send_off(&mut self) {
        for _ in 0..self.outbound.len() {
            let (to, message) = self.outbound.pop_front().expect("counted");
            self.send(to, message);
        }
    }
}

impl<P: Planning> Serving for CcThread<'_, P> {
    fn serve_until(&mut self, deadline: Ticks) {
        let (mut since_clock, mut rest) = (0, cpu::Spin::new());
        while !self.state.workers.have_ended() {
            let served = self.serve(deadline);
            match served {
                0 => rest.rest(),
                _ => rest = cpu::Spin::new(),
            }
            since_clock += 1 + served;
            if since_clock >= BETWEEN_CLOCKS || rest.sleeps() {
                since_clock = 0;
                if clock::now() >= deadline {
                    return self.stretch.is_cut(deadline, &mut self.effort);
                }
            }
        }
        // What came before the last of them ended.
        self.serve(deadline);
        self.stretch.ends(deadline, &mut self.effort);
    }

    fn take_effort(&mut self) -> Effort {
        std::mem::take(&mut self.effort)
    }
}

/// Serves to the end. One that has panicked cannot, and tells those that wait for it.
impl<P: Planning> Drop for CcThread<'_, P> {
    fn drop(&mut self) {
        if worker::is_unwinding() {
            return self.state.shared.grants.set_dead(SlotId(0));
        }
        self.serve_until(Ticks(u64::MAX));
        let is_empty = match &self.grantor.locks {
            Locks::Own(table) => table.is_empty(),
            // Others may have releases to serve.
            Locks::Shared(table) => !table.one_has_ended() || table.is_empty(),
        };
        // Who was found to wait for ever has left what it wanted.
        let is_over = is_empty || self.state.shared.grants.has_dead();
        assert!(is_over, "locks are held or wanted after the end");
    }
}
