//! Architectures: how a step of a transaction reaches its record, and how it waits, one file each.
//!
//! A *step* is a function over a [`Site`], the place where a partition's records may be touched. What reaches the
//! site is the architecture's business: a call in place, a message, a migrating fiber.
//!
//! An architecture has four verbs:
//!
//! | verb | what | waits | step |
//! |---|---|---|---|
//! | [`Architecture::at`] | runs a step at a partition, answers its result | for the result | may borrow |
//! | [`Architecture::post`] | runs a step at a partition | no | `'static`; first in, first out with `at` |
//! | [`Architecture::wait`] | waits for a queued request, or gives it up | yes | |
//! | [`Architecture::back_off`] | lets time pass before a retry | yes | |
//!
//! and [`Architecture::pause`], a short `back_off` for a record that says "ask again". Between transactions it is
//! [`Architecture::idle`]; and before a step whose lines are probably far, [`Architecture::fetch`] lets others run until they may have come.
//! Around them, an attempt of a
//! transaction begins ([`Architecture::begin`]), enters every partition before it touches a record there
//! ([`Architecture::enter`]), and releases ([`Architecture::release_all`]), after which it holds nothing anywhere.
//!
//! A step never sends and never suspends, and nothing is suspended while a latch is held. Steps fit in a message with
//! their captures and own nothing, which is asserted at compile time, under every architecture.

mod back_off;
mod delegation;
mod dora;
mod in_fibers;
mod instance;
mod lately;
mod orthrus;
mod owners;
mod partition_queue;
mod partitioned_serial;
mod server;
mod shared_everything;
mod waiting;
mod watchdog;

pub(crate) use back_off::BackOff;
pub(crate) use delegation::{Delegation, DelegationState};
pub(crate) use dora::{Dora, DoraState};
pub(crate) use in_fibers::InFibers;
pub(crate) use instance::{Instance, InstanceWorker};
pub(crate) use lately::Lately;
pub(crate) use orthrus::{CcThread, ExecutionThread, Lock, LockTable, Orthrus, OrthrusState};
pub(crate) use partitioned_serial::{PartitionLatches, PartitionedSerial};
pub(crate) use server::{Server, Serving};
pub(crate) use shared_everything::SharedEverything;
pub(crate) use waiting::{Waited, back_off_parked, look, park};

use crate::facade::clock::Ticks;
use crate::facade::cpu;
use crate::facade::sole::{SoleUse, Using};
use crate::index::hash::Hash;
use crate::index::ordered::Leaf;
use crate::index::{Bucket, GapId};
use crate::message::{Grants, step};
use crate::physical::Physical;
use crate::physical::synchronization_policy::SynchronizationPolicy;
use crate::protocol::{Attempt, Mode, Protocol, Request, RequestWith, Requester, SlotId, StampOf, Waker};
use crate::record::RecordRef;
use crate::storage::{Partition, Table};
use crate::timestamp::{Timestamp, Timestamps};
use contract::{AbortReason, Effort, EngineOptions, Key, PartitionId, Plan, TableId};
use std::ops::Range;

/// What the workers share beside the tables, under every architecture.
pub(crate) struct SharedState<P: Protocol, F: Physical> {
    pub common: P::Common<F>,
    pub grants: Grants,
    timestamps: Timestamps,
    in_use: SoleUse,
}

impl<P: Protocol, F: Physical> SharedState<P, F> {
    /// For `slots` transaction slots over `partitions` partitions.
    pub fn new(slots: usize, partitions: usize, options: &EngineOptions) -> Self {
        let in_use = SoleUse::new(if F::HAS_OWNER { partitions } else { 0 });
        let grants = Grants::new(slots, options.patience);
        let timestamps = Timestamps::new(options.timestamps, slots);
        SharedState { common: P::common(slots, partitions, options), grants, timestamps, in_use }
    }

    /// Where steps run.
    ///
    /// # Safety
    /// Nobody runs over the tables but by sites of one state; and a step runs at a site only where the policy `F` lets the
    /// metadata of the step's partition be touched: anywhere if it is [`Concurrent`](crate::physical::Concurrent), on its owner's
    /// thread if it is [`Owned`](crate::physical::Owned).
    pub unsafe fn site<'e>(&'e self, tables: &'e [Table]) -> Site<'e, P, F, Grants> {
        let SharedState { common, grants, timestamps, in_use } = self;
        Site { tables, common, waker: grants, timestamps, in_use }
    }
}

/// Where steps run: the tables, the protocol's shared state, and the way to wake those who wait. The holder of a site may touch
/// metadata, by the contract of [`SharedState::site`].
pub(crate) struct Site<'e, P: Protocol, F: Physical, W> {
    tables: &'e [Table],
    pub common: &'e P::Common<F>,
    pub waker: &'e W,
    pub timestamps: &'e Timestamps,
    in_use: &'e SoleUse,
}

impl<P: Protocol, F: Physical, W> Clone for Site<'_, P, F, W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Protocol, F: Physical, W> Copy for Site<'_, P, F, W> {}

impl<'e, P: Protocol, F: Physical, W: Waker> Site<'e, P, F, W> {
    /// A partition of a table.
    #[inline(always)]
    pub fn partition(&self, table: TableId, partition: PartitionId) -> &'e Partition {
        self.tables[table.index()].partition(partition)
    }

    /// A record's metadata.
    #[inline(always)]
    pub fn meta(&self, record: RecordRef) -> &'e P::Meta<F> {
        // SAFETY: of the protocol that runs, in its policy, and here it may be touched, by the contract of `SharedState::site`.
        // The tables own the arena.
        unsafe { record.meta::<P::Header, P::Meta<F>>() }
    }

    /// A gap's metadata.
    #[inline(always)]
    pub fn gap(&self, table: TableId, partition: PartitionId, gap: GapId) -> &'e P::Gap<F> {
        // SAFETY: as in `meta`.
        unsafe { self.partition(table, partition).index.gap(gap) }
    }

    /// The metadata of a leaf's gap.
    #[inline(always)]
    pub fn leaf<'l, O: SynchronizationPolicy>(&self, leaf: &'l Leaf<O>) -> &'l P::Gap<F> {
        // SAFETY: as in `meta`.
        unsafe { leaf.meta() }
    }

    /// The metadata of a bucket's gap.
    #[inline(always)]
    pub fn bucket<'b>(&self, bucket: &'b Bucket) -> &'b P::Gap<F> {
        // SAFETY: as in `meta`.
        unsafe { bucket.meta() }
    }

    /// A request of `who`, as records are given it.
    #[inline(always)]
    pub fn request(&self, who: Requester<StampOf<P>>) -> Request<'e, P, F, W> {
        RequestWith { common: self.common, who, waker: self.waker }
    }

    /// Around every step at a partition: if its metadata has an owner, nobody else is there.
    #[inline(always)]
    pub fn enter(&self, partition: PartitionId) -> Option<Using<'e>> {
        if F::HAS_OWNER { Some(self.in_use.enter(partition.index())) } else { None }
    }
}

/// The site of an architecture.
pub(crate) type SiteOf<'s, A> =
    Site<'s, <A as Architecture>::Protocol, <A as Architecture>::Physical, <A as Architecture>::Waker>;

/// How a step of a transaction reaches its record, and how it waits.
pub(crate) trait Architecture {
    /// What its records answer.
    type Protocol: Protocol;
    /// Who touches metadata.
    type Physical: Physical;
    /// Wakes those who wait.
    type Waker: Waker;

    /// Whether a transaction must declare its partitions, by its plan, before it runs.
    const DECLARES: bool = false;

    /// Whether what a transaction has planned is locked before it begins, and all else refused it.
    const LOCKS_PLANS: bool = false;

    /// Whether an attempt of a transaction has a timestamp for the architecture, which [`Architecture::begin`] is given.
    #[inline(always)]
    fn wants_timestamp(&self) -> bool {
        false
    }

    /// Whether a transaction that is prepared may wait for a decision that is made elsewhere, so that nobody may wait for it in order to prepare.
    const DECIDES_ELSEWHERE: bool = false;

    /// Whether a transaction goes to its data: what that takes is time that it waits.
    const MIGRATES: bool = false;

    /// The only partitions that its transactions reach, if these are not all.
    #[inline(always)]
    fn within(&self) -> Option<Range<u32>> {
        None
    }

    /// Begins an attempt of a transaction; `plan` is its declaration, if the architecture asks for one: it waits until it has
    /// what is declared, and tells what it does meanwhile. Until it tells otherwise it waits.
    #[inline(always)]
    fn begin(&mut self, plan: &Plan, timestamp: Timestamp, tell: impl FnMut(Beginning)) {
        let _ = (plan, timestamp, tell);
    }

    /// An attempt of a transaction, or a look ahead of one, begins.
    #[inline(always)]
    fn begin_attempt(&mut self, attempt: Attempt) {
        let _ = attempt;
    }

    /// Whether [`Architecture::fetch`] ever does anything.
    const MAY_INTERLEAVE: bool = false;

    /// Whether others would run if the transaction waited for lines.
    #[inline(always)]
    fn interleaves(&self) -> bool {
        false
    }

    /// Whether a key was touched at this worker so lately that its lines are probably at hand; from now on it was.
    #[inline(always)]
    fn touches_again(&mut self, table: TableId, hash: Hash) -> bool {
        let _ = (table, hash);
        false
    }

    /// Lines have been asked for, and are probably far: others may run meanwhile. Called before steps, never in one, and while nothing is read
    /// that must not change; a transaction's epoch keeps what it has found from being used again, as always.
    #[inline(always)]
    fn fetch(&mut self) {}

    /// Begins a look: a transaction that only reads, to make a plan.
    #[inline(always)]
    fn begin_reconnaissance(&mut self) {}

    /// The transaction is about to touch something in `partition`, perhaps for the first time. Denied, it aborts.
    #[inline(always)]
    fn enter(&mut self, partition: PartitionId) -> Result<(), AbortReason> {
        let _ = partition;
        Ok(())
    }

    /// Whether the transaction has a key locked since it began, in `mode` at least; of a byte string its prefix.
    #[inline(always)]
    fn holds(&self, table: TableId, key: Key, mode: Mode) -> bool {
        let _ = (table, key, mode);
        unreachable!("where locks are planned")
    }

    /// The same of all keys from one to another, to read them.
    fn holds_range(&self, table: TableId, first: Key, last: Key) -> bool {
        let _ = (table, first, last);
        unreachable!("where locks are planned")
    }

    /// The attempt has ended, all that it held was released by steps: waits until nothing of it is left anywhere
    /// but in messages on their way.
    #[inline(always)]
    fn release_all(&mut self) {}

    /// Whether the steps of `partition` run in place.
    #[inline(always)]
    fn is_here(&self, partition: PartitionId) -> bool {
        let _ = partition;
        true
    }

    /// Where the steps run that run in place.
    fn site(&self) -> &SiteOf<'_, Self>;

    /// Runs `step` at `partition` and answers its result; in place, unless the architecture says otherwise.
    #[inline(always)]
    fn at<S, R>(&mut self, partition: PartitionId, step: S) -> R
    where
        S: FnOnce(&SiteOf<'_, Self>) -> R + Copy + Send,
        R: Copy + Send,
    {
        self.in_place(partition, step)
    }

    /// Runs `step` at `partition`, some time, after every step sent there before; by [`Architecture::release_all`] it is on
    /// its way. In place, unless the architecture says otherwise.
    #[inline(always)]
    fn post<S>(&mut self, partition: PartitionId, step: S)
    where
        S: FnOnce(&SiteOf<'_, Self>) + Copy + Send + 'static,
    {
        self.in_place(partition, step);
    }

    /// Runs a step here and now. It could have been sent: that is asserted.
    #[inline(always)]
    fn in_place<S, R>(&self, partition: PartitionId, step: S) -> R
    where
        S: FnOnce(&SiteOf<'_, Self>) -> R + Copy + Send,
        R: Copy + Send,
    {
        const { step::fits::<S, R>() };
        let site = self.site();
        let _sole = site.enter(partition);
        step(site)
    }

    /// Waits until the queued request of `slot`, the transaction's that calls this, is decided, or it is `until`, if that was given, or it
    /// waits for itself, if the protocol wants it to look ([`Protocol::LOOKS_WHILE_WAITING`]). Panics if it never will be decided
    /// ([`watchdog`]).
    fn wait(&mut self, slot: SlotId, until: Option<Ticks>) -> Waited;

    /// Lets time pass after the `attempt`-th attempt (from 1) was aborted.
    fn back_off(&mut self, attempt: u32);

    /// Lets a little time pass before a record is asked again; `asked`: how often it was, from 0.
    fn pause(&mut self, asked: u32);

    /// There is no transaction to run: lets time pass. `rest` has waited since the last one ended, or since there was something
    /// else to do.
    fn idle(&mut self, rest: &mut cpu::Spin) {
        rest.rest();
    }

    /// What was spent on the architecture itself since this was last asked.
    #[inline]
    fn take_effort(&mut self) -> Effort {
        Effort::default()
    }
}

/// What an attempt does while it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// It asks for what is declared.
    Asks,
    /// It waits for that.
    Waits,
    /// It has got something.
    Got,
}
