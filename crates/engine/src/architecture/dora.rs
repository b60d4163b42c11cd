//! DORA: a transaction goes to its data. It runs in a fiber, which migrates to the thread that owns the partition that it
//! wants to touch, and goes on there (*trireme* 2.4, 3.5).
//!
//! Only a partition's owner touches its metadata, so it needs no physical synchronisation. A denied request that is
//! queued (DL_DETECT) parks the fiber at the owner, where the release that grants it will happen, too. While a fiber is
//! away, asleep or parked, its worker runs others, up to a limit of transactions in flight.
//!
//! At commit and abort, the steps that give locks back are kept for the owners that are not here; then the fiber visits
//! the threads where it has been, newest first, releases what it holds there and leaves. At last it goes home, where
//! its client is.
//!
//! A partition's owner may change between transactions; see [`super::owners`].
//!
//! An aborted transaction goes home and sleeps, and runs again only when no transaction that holds locks could run
//! instead. Without that, those who retry keep the holder of their lock from its own thread, and abort storms follow
//! ([`crate::fiber::scheduler`]).

use super::owners::Owners;
use super::watchdog;
use super::{Architecture, BackOff, InFibers, SharedState, Site, SiteOf, Waited, back_off_parked, park};
use crate::facade::clock::{self, Ticks};
use crate::facade::cpu;
use crate::fiber::{Current, Suspension, Workers};
use crate::message::{Grants, step};
use crate::physical::Owned;
use crate::protocol::{Protocol, SlotId};
use crate::storage::Table;
use contract::{AbortReason, Effort, EngineOptions, PartitionId};
use std::mem::MaybeUninit;

/// What the workers of DORA share.
pub(crate) struct DoraState<P: Protocol> {
    pub shared: SharedState<P, Owned>,
    pub owners: Owners,
    workers: Workers,
}

impl<P: Protocol> DoraState<P> {
    /// For `workers` workers that own `partitions` partitions, with `slots` transactions in flight in all.
    pub fn new(partitions: u32, workers: usize, slots: usize, options: &EngineOptions) -> Self {
        DoraState {
            shared: SharedState::new(slots, partitions as usize, options),
            owners: Owners::new(partitions, workers),
            workers: Workers::new(workers),
        }
    }
}

/// A step that waits for its fiber to come to where it runs.
struct Posted {
    partition: PartitionId,
    run: unsafe fn(&Captures, *const ()),
    captures: Captures,
}

type Captures = [MaybeUninit<u64>; step::CAPTURE_BYTES / 8];

impl Posted {
    fn new<T, S: FnOnce(&T) + Copy + Send>(partition: PartitionId, step: S) -> Posted {
        const { step::fits::<S, ()>() };
        unsafe fn run<T, S: FnOnce(&T) + Copy>(captures: &Captures, site: *const ()) {
            // SAFETY: the captures are an `S`, put there by `new`, and `site` is a live `T`, by `Posted::run`'s caller.
            let (step, site) = unsafe { (captures.as_ptr().cast::<S>().read(), &*site.cast::<T>()) };
            step(site);
        }
        let mut captures = [MaybeUninit::uninit(); step::CAPTURE_BYTES / 8];
        // SAFETY: large enough and aligned, as asserted by `fits`.
        unsafe { captures.as_mut_ptr().cast::<S>().write(step) };
        Posted { partition, run: run::<T, S>, captures }
    }
}

/// One migration in so many is timed.
const TIMED_ONE_IN: u64 = 64;

/// A transaction of DORA, in its fiber.
pub(crate) struct Dora<'e, P: Protocol> {
    current: Current,
    home: usize,
    state: &'e DoraState<P>,
    site: Site<'e, P, Owned, Grants>,
    back_off: BackOff,
    /// The partitions that the attempt has entered and not left, oldest first.
    entered: Vec<PartitionId>,
    posted: Vec<Posted>,
    effort: Effort,
}

impl<P: Protocol> Dora<'_, P> {
    #[inline(always)]
    fn migrate(&mut self, to: usize) {
        if self.current.here() == to {
            return;
        }
        let timed = self.effort.migrations.is_multiple_of(TIMED_ONE_IN);
        let began = if timed { Some(clock::now()) } else { None };
        self.effort.migrations += 1;
        self.current.migrate(to);
        if let Some(began) = began {
            self.effort.migration.add(clock::nanoseconds(clock::now().since(began)));
        }
    }

    /// Goes to the owner of a partition, wherever it is by the time of arrival.
    #[inline(always)]
    fn go_to(&mut self, partition: PartitionId) {
        loop {
            let owner = self.state.owners.owner(partition);
            if owner == self.current.here() {
                return;
            }
            self.migrate(owner);
        }
    }

    /// Offers a partition that is here to the next worker. Called at home.
    fn offer_a_partition(&self) {
        let here = self.current.here();
        let to = (here + 1) % self.state.workers.len();
        let first = self.state.owners.of(here).next();
        if let Some(partition) = first.filter(|_| to != here) {
            self.state.owners.offer(partition, to);
        }
    }

    /// Runs the steps that were kept for a partition, which is here.
    #[inline(always)]
    fn run_posted(&mut self, partition: PartitionId) {
        if self.posted.is_empty() {
            return;
        }
        let site = &self.site;
        let _sole = site.enter(partition);
        self.posted.retain(|posted| {
            let is_for_it = posted.partition == partition;
            if is_for_it {
                // SAFETY: the step was posted for this type of site.
                unsafe { (posted.run)(&posted.captures, (&raw const *site).cast()) };
            }
            !is_for_it
        });
    }
}

impl<'e, P: Protocol> InFibers<'e> for Dora<'e, P>
where
    P::Common<Owned>: Sync,
{
    type State = DoraState<P>;

    fn new(
        current: Current,
        _: SlotId,
        tables: &'e [Table],
        state: &'e DoraState<P>,
        back_off: BackOff,
    ) -> Self {
        Dora {
            home: current.here(),
            current,
            state,
            // SAFETY: the run has this one state, and a fiber runs the steps of a partition where the partition is owned, by
            // `at` and `post`.
            site: unsafe { state.shared.site(tables) },
            back_off,
            entered: Vec::with_capacity(64),
            posted: Vec::with_capacity(64),
            effort: Effort::default(),
        }
    }

    fn workers(state: &DoraState<P>) -> &Workers {
        &state.workers
    }

    fn grants(state: &DoraState<P>) -> &Grants {
        &state.shared.grants
    }

    #[inline(always)]
    fn fiber(&mut self) -> &mut Current {
        &mut self.current
    }

    #[inline(always)]
    fn go_home(&mut self) {
        self.migrate(self.home);
    }

    #[inline(always)]
    fn has_ended(&mut self, ended: u64, options: &EngineOptions) {
        let every = options.hand_over_every;
        if every != 0 && ended.is_multiple_of(every) {
            self.offer_a_partition();
        }
    }
}

impl<P: Protocol> Architecture for Dora<'_, P> {
    type Protocol = P;
    type Physical = Owned;
    type Waker = Grants;

    const MIGRATES: bool = true;

    #[inline(always)]
    fn enter(&mut self, partition: PartitionId) -> Result<(), AbortReason> {
        if self.entered.contains(&partition) {
            return Ok(());
        }
        self.go_to(partition);
        self.state.owners.enter(partition)?;
        self.entered.push(partition);
        Ok(())
    }

    /// Visits the threads where the transaction has been, newest first.
    #[inline(always)]
    fn release_all(&mut self) {
        while let Some(&newest) = self.entered.last() {
            self.go_to(newest);
            // All that is here, newest first.
            for position in (0..self.entered.len()).rev() {
                let partition = self.entered[position];
                if self.is_here(partition) {
                    self.run_posted(partition);
                    self.entered.remove(position);
                    self.state.owners.leave(partition);
                }
            }
        }
        assert!(self.posted.is_empty(), "a step for a partition that was not entered");
    }

    #[inline(always)]
    fn is_here(&self, partition: PartitionId) -> bool {
        self.state.owners.owner(partition) == self.current.here()
    }

    #[inline(always)]
    fn site(&self) -> &SiteOf<'_, Self> {
        &self.site
    }

    #[inline(always)]
    fn at<S, R>(&mut self, partition: PartitionId, step: S) -> R
    where
        S: FnOnce(&SiteOf<'_, Self>) -> R + Copy + Send,
        R: Copy + Send,
    {
        // Not in release: 3 % of the instructions of a transaction of ten steps.
        debug_assert!(self.entered.contains(&partition), "a step at a partition that was not entered");
        self.go_to(partition);
        self.run_posted(partition);
        self.in_place(partition, step)
    }

    #[inline(always)]
    fn post<S>(&mut self, partition: PartitionId, step: S)
    where
        S: FnOnce(&SiteOf<'_, Self>) + Copy + Send + 'static,
    {
        if self.is_here(partition) {
            self.in_place(partition, step);
        } else {
            self.posted.push(Posted::new(partition, step));
        }
    }

    fn wait(&mut self, slot: SlotId, until: Option<Ticks>) -> Waited {
        park(&mut self.current, slot, until, &self.site)
    }

    fn back_off(&mut self, attempt: u32) {
        watchdog::aborted(self.site.waker);
        self.migrate(self.home);
        let until = self.back_off.until(attempt);
        back_off_parked(&mut self.current, until, attempt);
    }

    fn pause(&mut self, _: u32) {
        self.current.suspend(Suspension::Look(clock::now()));
    }

    /// The worker rests, once none of its fibers has anything to do.
    fn idle(&mut self, _: &mut cpu::Spin) {
        self.current.suspend(Suspension::NothingNow);
    }

    fn take_effort(&mut self) -> Effort {
        std::mem::take(&mut self.effort)
    }
}
