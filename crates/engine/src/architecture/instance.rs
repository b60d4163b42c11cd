//! Within an instance of a deployment: any of its workers touches any of its records, in place, from fibers.
//!
//! What shared-everything is for all cores, an instance is for some. Its workers keep several transactions in flight each, because one that waits for
//! another instance's word ([`crate::deployment`]) must not keep the worker from what others ask of it. A worker alone in its instance touches what nobody else does:
//! its metadata is [`Owned`](crate::physical::Owned), without latches and atomic instructions.
//!
//! A denied request that is queued parks the fiber until the release that grants it.

use super::watchdog;
use super::{Architecture, BackOff, InFibers, SharedState, Site, SiteOf, Waited, back_off_parked, park};
use crate::facade::cell::Cell;
use crate::facade::clock::{self, Ticks};
use crate::facade::cpu;
use crate::facade::worker;
use crate::fiber::{Current, Others, Suspension, Workers};
use crate::message::Grants;
use crate::message::endpoint::Endpoint;
use crate::physical::Physical;
use crate::protocol::{Protocol, SlotId, Wake, Waker};
use crate::storage::Table;
use contract::{AbortReason, Effort, PartitionId};
use std::ops::Range;

/// What the fibers of one worker share.
pub(crate) struct InstanceWorker<'e, P: Protocol, F: Physical> {
    shared: &'e SharedState<P, F>,
    /// Of the whole deployment.
    workers: &'e Workers,
    /// The instance's.
    partitions: Range<u32>,
    /// Its number.
    instance: usize,
    /// The fibers run one at a time, on this thread.
    endpoint: *mut Endpoint<'e>,
    /// What the fibers do beside the one that runs.
    others: Cell<Others>,
}

impl<'e, P: Protocol, F: Physical> InstanceWorker<'e, P, F> {
    /// A worker of the instance that has these partitions and this state, which sends and receives by `endpoint`. Nobody else uses that.
    pub fn new(
        shared: &'e SharedState<P, F>,
        workers: &'e Workers,
        partitions: Range<u32>,
        endpoint: &'e mut Endpoint<'e>,
    ) -> Self {
        let instance = endpoint.position().instance;
        InstanceWorker { shared, workers, partitions, instance, endpoint, others: Cell::default() }
    }

    /// The end of all its streams.
    #[expect(clippy::mut_from_ref, reason = "the worker's fibers have it, one at a time")]
    fn endpoint(&self) -> &mut Endpoint<'e> {
        // SAFETY: this thread alone has it; who calls this does not suspend itself while it has the reference.
        unsafe { &mut *self.endpoint }
    }
}

/// A transaction slot, in its fiber.
pub(crate) struct Instance<'e, P: Protocol, F: Physical> {
    current: Current,
    slot: SlotId,
    worker: &'e InstanceWorker<'e, P, F>,
    site: Site<'e, P, F, Grants>,
    back_off: BackOff,
    effort: Effort,
    /// Since it was last asked whether it had been local.
    has_asked_others: bool,
}

impl<'e, P: Protocol, F: Physical> Instance<'e, P, F> {
    /// Its number among the slots of its worker.
    fn number(&self) -> usize {
        self.slot.0 as usize % self.worker.endpoint().position().slots()
    }

    /// Whether a partition belongs to the instance of this slot.
    #[inline(always)]
    pub fn has(&self, partition: PartitionId) -> bool {
        self.worker.partitions.contains(&partition.0)
    }

    /// The instance that a partition belongs to.
    #[inline(always)]
    pub fn instance_of(&self, partition: PartitionId) -> usize {
        partition.index() / self.worker.partitions.len()
    }

    /// The instance of this slot.
    #[inline(always)]
    pub fn instance(&self) -> usize {
        self.worker.instance
    }

    /// How many instances there are.
    pub fn instances(&self) -> usize {
        self.worker.endpoint().position().instances
    }

    /// Whether instances are processes.
    pub fn leaves_process(&self) -> bool {
        self.worker.endpoint().leaves_process()
    }

    /// Sends a message to the slot that answers this one at another instance.
    pub fn send_to_branch(&mut self, instance: usize, message: &[u8]) {
        self.effort.messages += 1;
        self.has_asked_others = true;
        let number = self.number();
        self.worker.endpoint().send_to_branch(instance, number, message);
    }

    /// The same of one that asks for no answer: it may go with the next.
    pub fn post_to_branch(&mut self, instance: usize, message: &[u8]) {
        self.effort.messages += 1;
        let number = self.number();
        self.worker.endpoint().post_to_branch(instance, number, message);
    }

    /// What was posted goes.
    #[inline(always)]
    pub fn send_posted(&mut self) {
        self.worker.endpoint().send_posted();
    }

    /// Sends a message to the slot that this one answers. If a transaction of this worker is about to begin, it may go with what that one sends.
    pub fn send_to_coordinator(&mut self, message: &[u8]) {
        self.effort.messages += 1;
        let number = self.number();
        let Others { can_go_on, can_begin, .. } = self.worker.others.get();
        match can_begin && !can_go_on {
            true => self.worker.endpoint().post_to_coordinator(number, message),
            false => self.worker.endpoint().send_to_coordinator(number, message),
        }
    }

    /// Waits for the first message of a branch to this slot, which has none; `None`: as for [`Instance::receive`]. Where writes take long, those that can go on do so first, be it because the
    /// branch before has just ended: they may hold locks, and begin what this slot's answer can go with.
    pub fn await_branch(&mut self, into: &mut Vec<u8>) -> Option<()> {
        let number = self.number();
        let endpoint = self.worker.endpoint();
        if endpoint.is_slow() && endpoint.has(number) && !self.worker.others.get().are_quiescent {
            self.site.waker.wake(self.slot, Wake::Granted);
            self.current.suspend(Suspension::Await(self.slot));
        }
        self.receive_unless(into, Endpoint::serves_no_more, Suspension::Await(self.slot))
    }

    /// Waits for the next message to this slot, which runs a branch; `None`: the run is over, and there will be none.
    /// Or an instance that is a process is lost: its branches decide nothing any more, and who waits for what they hold would never end.
    pub fn receive(&mut self, into: &mut Vec<u8>) -> Option<()> {
        self.receive_unless(into, Endpoint::serves_no_more, Suspension::Park(self.slot, None))
    }

    /// Waits for the next answer to this slot, which coordinates; `None`: a branch has panicked or an instance is lost, and there may be none.
    pub fn receive_answer(&mut self, into: &mut Vec<u8>) -> Option<()> {
        self.receive_unless(into, Endpoint::is_broken, Suspension::Park(self.slot, None))
    }

    /// Whether a branch of some transaction has panicked, or an instance is lost.
    pub fn is_broken(&self) -> bool {
        self.worker.endpoint().is_broken()
    }

    fn receive_unless(
        &mut self,
        into: &mut Vec<u8>,
        ends: fn(&Endpoint<'e>) -> bool,
        otherwise: Suspension,
    ) -> Option<()> {
        let number = self.number();
        loop {
            // Nothing is queued beside: the word says no more than that something came, or the run is over. Only this thread says it, so none is lost.
            let _ = self.site.waker.take(self.slot);
            if self.worker.endpoint().take(number, into) {
                return Some(());
            }
            if ends(self.worker.endpoint()) {
                return None;
            }
            if worker::is_unwinding() {
                // Nobody runs who could bring it.
                return None;
            }
            watchdog::aborted(self.site.waker);
            self.current.suspend(otherwise);
        }
    }
}

impl<'e, P: Protocol, F: Physical> InFibers<'e> for Instance<'e, P, F>
where
    P::Common<F>: Sync,
{
    type State = InstanceWorker<'e, P, F>;

    const COUNTS_IDLENESS: bool = true;
    const POLLS_IN_PLACE: bool = true;

    fn new(
        current: Current,
        slot: SlotId,
        tables: &'e [Table],
        worker: &'e InstanceWorker<'e, P, F>,
        back_off: BackOff,
    ) -> Self {
        // SAFETY: the instance has this one state, and nobody but its workers touches its partitions, which is asserted where they are entered; of
        // a policy that only one thread may touch, the instance has one worker.
        let site = unsafe { worker.shared.site(tables) };
        let effort = Effort::default();
        Instance { current, slot, worker, site, back_off, effort, has_asked_others: false }
    }

    fn branch_slots(worker: &InstanceWorker<'e, P, F>, slots: usize) -> usize {
        slots - worker.endpoint().position().in_flight
    }

    fn first_slot(worker: &InstanceWorker<'e, P, F>, _: usize, slots: usize) -> usize {
        worker.endpoint().position().rank * slots
    }

    fn branch_has_panicked(worker: &InstanceWorker<'e, P, F>) {
        worker.endpoint().break_off();
    }

    fn is_flushed(worker: &InstanceWorker<'e, P, F>) -> bool {
        worker.endpoint().is_flushed()
    }

    fn workers<'s>(worker: &'s InstanceWorker<'e, P, F>) -> &'s Workers {
        worker.workers
    }

    fn grants<'s>(worker: &'s InstanceWorker<'e, P, F>) -> &'s Grants {
        &worker.shared.grants
    }

    fn polling_interval_ticks(worker: &InstanceWorker<'e, P, F>) -> u64 {
        clock::ticks_of(worker.endpoint().polling_interval())
    }

    #[inline]
    fn note_others(worker: &InstanceWorker<'e, P, F>, others: Others) {
        worker.others.set(others);
    }

    #[inline]
    fn has_posted(worker: &InstanceWorker<'e, P, F>) -> bool {
        worker.endpoint().has_posted()
    }

    #[inline]
    fn is_slow(worker: &InstanceWorker<'e, P, F>) -> bool {
        worker.endpoint().is_slow()
    }

    #[inline]
    fn send_posted(worker: &InstanceWorker<'e, P, F>) {
        worker.endpoint().send_posted();
    }

    #[inline]
    fn communicate(worker: &InstanceWorker<'e, P, F>) -> bool {
        worker.endpoint().communicate(&worker.shared.grants)
    }

    fn all_have_finished(worker: &InstanceWorker<'e, P, F>) -> bool {
        worker.endpoint().all_have_finished()
    }

    fn close(worker: &InstanceWorker<'e, P, F>) {
        worker.endpoint().close(&worker.shared.grants);
    }

    fn leave(worker: &InstanceWorker<'e, P, F>) {
        worker.endpoint().leave(&worker.shared.grants);
    }

    #[inline(always)]
    fn was_local(&mut self) -> bool {
        !std::mem::take(&mut self.has_asked_others)
    }

    #[inline(always)]
    fn fiber(&mut self) -> &mut Current {
        &mut self.current
    }

    /// It never leaves.
    #[inline(always)]
    fn go_home(&mut self) {}
}

impl<P: Protocol, F: Physical> Architecture for Instance<'_, P, F> {
    type Protocol = P;
    type Physical = F;
    type Waker = Grants;

    const DECIDES_ELSEWHERE: bool = true;

    fn within(&self) -> Option<Range<u32>> {
        Some(self.worker.partitions.clone())
    }

    #[inline(always)]
    fn enter(&mut self, partition: PartitionId) -> Result<(), AbortReason> {
        assert!(
            self.has(partition),
            "partition {} is entered by instance {}, which does not have it",
            partition.0,
            self.instance()
        );
        Ok(())
    }

    #[inline(always)]
    fn site(&self) -> &SiteOf<'_, Self> {
        &self.site
    }

    fn wait(&mut self, slot: SlotId, until: Option<Ticks>) -> Waited {
        park(&mut self.current, slot, until, &self.site)
    }

    fn back_off(&mut self, attempt: u32) {
        watchdog::aborted(self.site.waker);
        let until = self.back_off.until(attempt);
        back_off_parked(&mut self.current, until, attempt);
    }

    fn pause(&mut self, _: u32) {
        self.current.suspend(Suspension::Look(clock::now()));
    }

    /// The worker rests, once none of its fibers has anything to do.
    fn idle(&mut self, _: &mut cpu::Spin) {
        // No transaction takes it along.
        self.send_posted();
        self.current.suspend(Suspension::NothingNow);
    }

    fn take_effort(&mut self) -> Effort {
        std::mem::take(&mut self.effort)
    }
}
