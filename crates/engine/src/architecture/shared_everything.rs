//! Shared-everything: any worker touches any record, in place (*trireme* 2.1, 3.2).
//!
//! A step is a call. A denied request waits by spinning on the grant word of its transaction slot, which the transaction that
//! releases the record writes.
//!
//! A worker may have several transactions in flight, each in a fiber ([`crate::session::interleaved`]): then whatever waits lets the others
//! run, and so does who has asked for lines that are probably far ([`Architecture::fetch`]), in the first attempt of a transaction; the lines of
//! a retry are at hand. Whether there is a fiber is looked at where it matters, so that there is one compilation for both.
//!
//! Its metadata must be of a [`Concurrent`] synchronization policy. Metadata that one thread owns does not compile:
//!
//! ```compile_fail,E0277
//! fn concurrent<F: engine::physical::Concurrent>() {}
//! concurrent::<engine::physical::Owned>();
//! ```
//!
//! while shared metadata does, with any latch:
//!
//! ```
//! fn concurrent<F: engine::physical::Concurrent>() {}
//! concurrent::<engine::physical::Shared>();
//! ```

use super::watchdog::{self, Watch};
use super::{Architecture, BackOff, Lately, SharedState, Site, SiteOf, Waited, back_off_parked, look, park};
use crate::facade::clock::{self, Ticks};
use crate::facade::cpu;
use crate::fiber::{Current, Suspension};
use crate::index::hash::Hash;
use crate::message::Grants;
use crate::physical::Concurrent;
use crate::protocol::{Attempt, Protocol, SlotId};
use crate::storage::Table;
use contract::TableId;

/// A fiber, to the transaction that it runs.
struct InFiber {
    current: Current,
    /// The worker's.
    lately: *mut Lately,
}

/// One worker of shared-everything, or one of its fibers.
pub(crate) struct SharedEverything<'e, P: Protocol, F: Concurrent> {
    site: Site<'e, P, F, Grants>,
    back_off: BackOff,
    spin: cpu::Spin,
    /// In which the transaction runs, if its worker has several in flight.
    fiber: Option<InFiber>,
    /// Whether others are there that would run meanwhile, and whether this attempt lets them.
    has_others: bool,
    interleaves: bool,
    /// Whether who waits keeps the worker, as who is in no fiber does.
    stays: bool,
}

impl<'e, P: Protocol, F: Concurrent> SharedEverything<'e, P, F> {
    /// A worker over these tables.
    pub fn new(tables: &'e [Table], state: &'e SharedState<P, F>, back_off: BackOff) -> Self {
        // SAFETY: the run has this one state, and metadata is of a policy that lets any thread touch it.
        let site = unsafe { state.site(tables) };
        let spin = cpu::Spin::new();
        SharedEverything {
            site,
            back_off,
            spin,
            fiber: None,
            has_others: false,
            interleaves: false,
            stays: false,
        }
    }

    /// The same in the fiber that runs.
    ///
    /// # Safety
    /// What `lately` points to outlives this, and belongs to the worker, which the fiber does not leave.
    pub unsafe fn in_fiber(
        current: Current,
        lately: *mut Lately,
        tables: &'e [Table],
        state: &'e SharedState<P, F>,
        back_off: BackOff,
    ) -> Self {
        SharedEverything { fiber: Some(InFiber { current, lately }), ..Self::new(tables, state, back_off) }
    }

    /// Whether others run while the next transaction waits for lines.
    #[inline(always)]
    pub fn let_others_run_meanwhile(&mut self, has_others: bool) {
        self.has_others = has_others;
    }

    /// Whether none of the worker's other fibers runs, even while this one waits for a lock. Until that ends none of them may hold anything: it would be waited for for ever.
    #[inline(always)]
    pub fn stay_if(&mut self, stays: bool) {
        self.stays = stays;
    }

    /// The fiber, if it is suspended when it waits, so that others run.
    #[inline(always)]
    fn suspended(&mut self) -> Option<&mut InFiber> {
        if self.stays { None } else { self.fiber.as_mut() }
    }

    /// Between two transactions, in a fiber.
    #[inline(always)]
    pub fn let_others_run(&mut self) {
        self.suspend(Suspension::Idle);
    }

    /// A transaction has ended: lets the others run, if there are any.
    #[inline(always)]
    pub fn has_ended(&mut self) {
        if self.has_others {
            self.let_others_run();
        }
    }

    #[inline(always)]
    fn suspend(&mut self, suspension: Suspension) {
        assert!(!self.stays, "who keeps the worker lets others run");
        self.fiber.as_mut().expect("who lets others run is in a fiber").current.suspend(suspension);
    }
}

impl<P: Protocol, F: Concurrent> Architecture for SharedEverything<'_, P, F> {
    type Protocol = P;
    type Physical = F;
    type Waker = Grants;

    #[inline(always)]
    fn site(&self) -> &SiteOf<'_, Self> {
        &self.site
    }

    const MAY_INTERLEAVE: bool = true;

    #[inline(always)]
    fn begin_attempt(&mut self, attempt: Attempt) {
        self.interleaves = self.has_others && attempt == Attempt::First;
    }

    #[inline(always)]
    fn interleaves(&self) -> bool {
        self.interleaves
    }

    #[inline(always)]
    fn touches_again(&mut self, table: TableId, hash: Hash) -> bool {
        let fiber = self.fiber.as_ref().expect("who lets others run is in a fiber");
        // SAFETY: the worker's, on whose thread this runs, by the contract of `in_fiber`; nobody holds a borrow of it beyond such a call.
        unsafe { &mut *fiber.lately }.touch(table, hash)
    }

    #[inline(always)]
    fn fetch(&mut self) {
        let fiber = self.fiber.as_mut().expect("who lets others run is in a fiber");
        fiber.current.suspend_in_line(Suspension::Fetch);
    }

    fn wait(&mut self, slot: SlotId, until: Option<Ticks>) -> Waited {
        if let (Some(fiber), false) = (&mut self.fiber, self.stays) {
            return park(&mut fiber.current, slot, until, &self.site);
        }
        let (mut spin, mut watch) = (cpu::Spin::new(), Watch::new());
        loop {
            if let Some(waited) = look(slot, until, &self.site) {
                watch.over(slot, self.site.waker);
                return waited;
            }
            match until {
                Some(until) => spin.pause_until(until),
                None => spin.pause(),
            }
            watch.paused(slot, &self.site);
        }
    }

    fn back_off(&mut self, attempt: u32) {
        watchdog::aborted(self.site.waker);
        let until = self.back_off.until(attempt);
        if let Some(fiber) = self.suspended() {
            return back_off_parked(&mut fiber.current, until, attempt);
        }
        if clock::now() >= until {
            return cpu::give_way();
        }
        let mut spin = cpu::Spin::new();
        loop {
            match attempt > BackOff::ATTEMPTS_BEFORE_YIELDING {
                true => spin.pause_until(until),
                false => cpu::pause_until(until),
            }
            if clock::now() >= until {
                return;
            }
        }
    }

    fn pause(&mut self, asked: u32) {
        // Many that ask for one record, each under its bucket's latch, may keep the one that would unlink it from that latch: on a
        // machine without noise for ever. A random time parts them.
        const ASKS_A_STEP: u32 = 32;
        if asked >= ASKS_A_STEP {
            return self.back_off(asked / ASKS_A_STEP);
        }
        if let Some(fiber) = self.suspended() {
            return fiber.current.suspend(Suspension::Look(clock::now()));
        }
        if asked == 0 {
            self.spin = cpu::Spin::new();
        }
        self.spin.pause();
    }

    /// In a fiber the worker rests, once none of them has anything to do.
    fn idle(&mut self, rest: &mut cpu::Spin) {
        match self.suspended() {
            Some(fiber) => fiber.current.suspend(Suspension::NothingNow),
            None => rest.rest(),
        }
    }
}
