//! Delegation: a step runs on the thread that owns its partition, and reaches it as a message (*trireme* 2.3, 3.4).
//!
//! Thread `p` owns partition `p`: its index, and the metadata of its records, which need no physical synchronisation.
//! For its own partition a worker runs steps in place. For another's it puts the step into the ring to the owner
//! ([`crate::message`]), and while it waits for the answer it serves its own inbox. The owner answers with the verdict
//! and the record's place, and the transaction then reads or writes the row directly. Releases are posted and not
//! waited for.
//!
//! A denied request that is queued (DL_DETECT) waits on the grant word of its slot, which the owner writes when it
//! serves the release.
//!
//! Asymmetric delegation (*trireme* 5.1) is the same with fewer owners than threads: the first `servers` threads own
//! the partitions and host no transactions, they are [`Server`]s and nothing else; the others own nothing.
//!
//! Progress. A worker that waits, for an answer, for room in a ring, for a grant, to back off or for the run to end, serves its
//! inbox, and a worker that never waits serves it between its steps. Serving a step never sends. So every message is
//! served once its receiver runs; one that finds nothing to do offers its core to the system, since there may be more
//! workers than cores; and a worker that has no transaction, or has ended, sleeps once nothing has come for long.
//!
//! A worker that has ended, by its run's end or by a panic, serves on until all have: it owns records that they need.

use super::server::{Server, Serving};
use super::watchdog::{self, Watch};
use super::{Architecture, BackOff, Beginning, SharedState, SiteOf, Waited, look};
use crate::epoch::Line;
use crate::facade::atomic::{AtomicUsize, Ordering};
use crate::facade::clock::{self, Ticks};
use crate::facade::cpu;
use crate::message::{Grants, Outbox, Rings, step};
use crate::physical::Owned;
use crate::protocol::{Protocol, SlotId};
use crate::storage::Table;
use crate::timestamp::Timestamp;
use contract::{Effort, EngineOptions, PartitionId, Plan};

/// What the workers of delegation share.
pub(crate) struct DelegationState<P: Protocol> {
    pub(super) shared: SharedState<P, Owned>,
    pub(super) rings: Rings,
    workers: usize,
    /// Workers that host transactions and may need others.
    pub(super) hosts_left: Line<AtomicUsize>,
}

impl<P: Protocol> DelegationState<P> {
    /// For `workers` threads, of which `hosts` host transactions, over `partitions` partitions.
    pub fn new(workers: usize, hosts: usize, partitions: usize, options: &EngineOptions) -> Self {
        DelegationState {
            shared: SharedState::new(workers, partitions, options),
            rings: Rings::new(workers),
            workers,
            hosts_left: Line(AtomicUsize::new(hosts)),
        }
    }
}

/// One call in so many is timed.
const TIMED_ONE_IN: u64 = 64;

/// One worker of delegation that hosts transactions.
pub(crate) struct Delegation<'e, P: Protocol> {
    state: &'e DelegationState<P>,
    outbox: Outbox<'e>,
    back_off: BackOff,
    effort: Effort,
    /// Local steps between two servings: looking into all rings takes longer the more workers there are.
    serve_one_in: u32,
    until_serving: u32,
    /// Dropped last: it serves on.
    server: Server<'e, P>,
}

/// Workers whose rings are looked into as quickly as a step is made.
const WORKERS_A_STEP: usize = 4;

impl<'e, P: Protocol> Delegation<'e, P> {
    /// Thread `me`.
    pub fn new(me: usize, tables: &'e [Table], state: &'e DelegationState<P>, back_off: BackOff) -> Self {
        Delegation {
            state,
            outbox: Outbox::new(&state.rings, me),
            back_off,
            effort: Effort::default(),
            serve_one_in: state.workers.div_ceil(WORKERS_A_STEP) as u32,
            until_serving: 1,
            server: Server::new(me, tables, state),
        }
    }

    /// Between two steps of an own transaction that go nowhere else: a worker that waits for an answer should not wait for the
    /// transaction's end.
    #[inline(always)]
    fn serve_now_and_then(&mut self) {
        self.until_serving -= 1;
        if self.until_serving == 0 {
            self.until_serving = self.serve_one_in;
            self.server.serve();
        }
    }

    #[inline(always)]
    fn wait_for_room(&mut self, owner: usize) {
        while !self.outbox.has_room(owner) {
            self.server.serve_or_pause();
        }
    }

    fn call<S, R>(&mut self, owner: usize, step: S) -> R
    where
        S: FnOnce(&SiteOf<'_, Self>) -> R + Copy + Send,
        R: Copy + Send,
    {
        self.wait_for_room(owner);
        let timed = self.effort.messages.is_multiple_of(TIMED_ONE_IN);
        let began = if timed { Some(clock::now()) } else { None };
        self.outbox.call(owner, step::call(step));
        self.effort.messages += 1;
        self.server.begin_to_wait();
        let called = Called { worker: self, owner };
        let answer = loop {
            // SAFETY: the last message to this owner is the call just sent, whose answer is the step's.
            if let Some(answer) = unsafe { called.worker.outbox.answer(owner) } {
                break answer;
            }
            called.worker.server.serve_or_pause();
        };
        std::mem::forget(called);
        let Ok(answer) = answer else { panic!("worker {owner} panicked in a step that was sent to it") };
        if let Some(began) = began {
            self.effort.round_trip.add(clock::nanoseconds(clock::now().since(began)));
        }
        answer
    }
}

/// A call that was sent. Who is unwound before the answer has come waits for it all the same: others are sent from here.
struct Called<'d, 'e, P: Protocol> {
    worker: &'d mut Delegation<'e, P>,
    owner: usize,
}

impl<P: Protocol> Drop for Called<'_, '_, P> {
    fn drop(&mut self) {
        // SAFETY: of the answer, whatever it is, nothing is read.
        while unsafe { self.worker.outbox.answer::<()>(self.owner) }.is_none() {
            self.worker.server.serve_or_pause();
        }
    }
}

/// Needs nobody any more.
impl<P: Protocol> Drop for Delegation<'_, P> {
    fn drop(&mut self) {
        // Release: all that this worker posted comes before; pairs with the Acquire in `serve_until`.
        self.state.hosts_left.0.fetch_sub(1, Ordering::Release);
    }
}

impl<P: Protocol> Architecture for Delegation<'_, P> {
    type Protocol = P;
    type Physical = Owned;
    type Waker = Grants;

    #[inline(always)]
    fn begin(&mut self, _: &Plan, _: Timestamp, _: impl FnMut(Beginning)) {
        self.server.serve();
    }

    #[inline(always)]
    fn is_here(&self, partition: PartitionId) -> bool {
        partition == self.server.mine()
    }

    #[inline(always)]
    fn site(&self) -> &SiteOf<'_, Self> {
        self.server.site()
    }

    #[inline(always)]
    fn at<S, R>(&mut self, partition: PartitionId, step: S) -> R
    where
        S: FnOnce(&SiteOf<'_, Self>) -> R + Copy + Send,
        R: Copy + Send,
    {
        if self.is_here(partition) {
            self.serve_now_and_then();
            self.in_place(partition, step)
        } else {
            self.call(partition.index(), step)
        }
    }

    #[inline(always)]
    fn post<S>(&mut self, partition: PartitionId, step: S)
    where
        S: FnOnce(&SiteOf<'_, Self>) + Copy + Send + 'static,
    {
        if self.is_here(partition) {
            self.in_place(partition, step);
        } else {
            self.wait_for_room(partition.index());
            self.outbox.post(partition.index(), step::post(step));
            self.effort.messages += 1;
        }
    }

    fn wait(&mut self, slot: SlotId, until: Option<Ticks>) -> Waited {
        self.server.begin_to_wait();
        let mut watch = Watch::new();
        loop {
            if let Some(waited) = look(slot, until, self.site()) {
                watch.over(slot, self.site().waker);
                return waited;
            }
            match until {
                Some(until) => self.server.serve_or_pause_until(until),
                None => self.server.serve_or_pause(),
            }
            watch.paused(slot, self.site());
        }
    }

    /// Serves meanwhile, and at least until all that the aborted attempt gave back has arrived: to those who wait for it
    /// the transaction is in their way until then, and DL_DETECT would find the same cycle again and again.
    fn back_off(&mut self, attempt: u32) {
        watchdog::aborted(self.site().waker);
        let until = self.back_off.until(attempt);
        self.server.begin_to_wait();
        loop {
            self.server.serve_or_pause_until(until);
            if clock::now() >= until && self.outbox.is_drained() {
                return;
            }
        }
    }

    fn pause(&mut self, asked: u32) {
        if asked == 0 {
            self.server.begin_to_wait();
        }
        self.server.serve_or_pause();
    }

    /// Serves as long as there is something to be served.
    fn idle(&mut self, rest: &mut cpu::Spin) {
        self.server.serve_or_rest(rest);
    }

    fn take_effort(&mut self) -> Effort {
        let mut effort = std::mem::take(&mut self.effort);
        effort.merge(&self.server.take_effort());
        effort
    }
}
