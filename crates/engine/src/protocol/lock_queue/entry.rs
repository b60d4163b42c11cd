//! Requests in queues, and where they live.

use super::LockMode;
use super::waiting::QueueWord;
use crate::facade::region::Region;
use crate::physical::{Metadata, Physical};
use crate::protocol::{Requester, SlotId};
use contract::{EngineOptions, LatchName};
use std::marker::PhantomData;

const MODE: u32 = 3;
const OWNER: u32 = 4;
const UPGRADING: u32 = 8;
/// The record died while the request waited for it.
const DECIDED: u32 = 16;
/// As many bits as a stamp may have in the state, above the rest.
pub(in crate::protocol) const STAMP_BITS: u32 = 24;
const STAMP_SHIFT: u32 = u32::BITS - STAMP_BITS;

/// How a request holds the record, or wants to, and how far it is.
#[derive(Clone, Copy)]
pub(in crate::protocol) struct State(u32);

impl State {
    #[inline(always)]
    pub(super) fn owner(mode: LockMode) -> State {
        State(mode.0 | OWNER)
    }

    pub(super) fn waiter(mode: LockMode) -> State {
        State(mode.0)
    }

    #[inline(always)]
    pub fn is_owner(self) -> bool {
        self.0 & OWNER != 0
    }

    /// An owner that waits to hold the record `Exclusive`.
    pub fn is_upgrading(self) -> bool {
        self.0 & UPGRADING != 0
    }

    /// Whether it waits, and what comes of it is not decided.
    pub fn waits(self) -> bool {
        self.0 & DECIDED == 0 && (!self.is_owner() || self.is_upgrading())
    }

    /// How an owner holds the record, or how a waiter wants to.
    pub fn mode(self) -> LockMode {
        LockMode(self.0 & MODE)
    }

    /// How it wants to hold the record in the end.
    pub fn wants(self) -> LockMode {
        if self.is_upgrading() { LockMode::EXCLUSIVE } else { self.mode() }
    }

    /// What its transaction's stamp has in it.
    pub fn stamp_bits(self) -> u32 {
        self.0 >> STAMP_SHIFT
    }

    pub(super) fn granted(self) -> State {
        State(self.0 | OWNER)
    }

    pub(super) fn upgrading(self) -> State {
        State(self.0 | UPGRADING)
    }

    pub(super) fn not_upgrading(self) -> State {
        State(self.0 & !UPGRADING)
    }

    pub(super) fn upgraded(self) -> State {
        State(self.0 & !(MODE | UPGRADING) | LockMode::EXCLUSIVE.0)
    }

    pub(super) fn decided(self) -> State {
        State(self.0 | DECIDED)
    }
}

/// A stamp that requests keep while they are in a queue.
pub(in crate::protocol) trait QueuedStamp: Copy {
    /// Where it is kept: a word of the request's own, or nothing, if it is in the state.
    type Kept<P: Physical>: Metadata;

    /// What of it is kept in the state, at most [`STAMP_BITS`].
    fn state_bits(self) -> u32;

    /// Keeps the rest.
    fn keep<P: Physical>(self, kept: &Self::Kept<P>);
}

/// A transaction's request for one record: an entry of its queue.
#[repr(C)]
pub(in crate::protocol) struct Entry<P: Physical, S: QueuedStamp> {
    /// The next request of the record, 0 for none.
    pub(super) next: QueueWord,
    state: QueueWord,
    kept: S::Kept<P>,
}

impl<P: Physical, S: QueuedStamp> Entry<P, S> {
    #[inline(always)]
    pub(super) fn set(&self, next: u32, state: State, stamp: S) {
        self.next.store(next);
        self.state.store(state.0 | stamp.state_bits() << STAMP_SHIFT);
        stamp.keep::<P>(&self.kept);
    }

    #[inline(always)]
    pub fn state(&self) -> State {
        State(self.state.read())
    }

    pub(super) fn set_state(&self, state: State) {
        self.state.store(state.0);
    }

    /// What is kept of its transaction's stamp beside the state.
    pub fn kept(&self) -> &S::Kept<P> {
        &self.kept
    }
}

/// Accesses of one transaction.
const MOST_ACCESSES: u32 = 1 << 16;

/// Requests of a slot in a partition that lie side by side.
const NEAR_ACCESSES: u32 = 256;

/// A request's number within its partition, never 0.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct EntryId(pub u32);

impl EntryId {
    #[inline(always)]
    pub fn of<S>(who: Requester<S>) -> EntryId {
        assert!(who.access < MOST_ACCESSES, "a transaction of more than {MOST_ACCESSES} accesses");
        EntryId((who.slot.0 + 1) * MOST_ACCESSES + who.access)
    }

    #[inline(always)]
    pub fn slot(self) -> SlotId {
        SlotId(self.0 / MOST_ACCESSES - 1)
    }
}

/// The requests of every slot in every partition.
pub(in crate::protocol) struct Entries<P: Physical, S: QueuedStamp> {
    near: Region,
    far: Region,
    slots: usize,
    /// The kind of the latches of all locks.
    pub(in crate::protocol) latch: LatchName,
    /// Not if who would have to wait for a lock has no time to.
    pub(super) may_wait: bool,
    of: PhantomData<fn() -> (P, S)>,
}

impl<P: Physical, S: QueuedStamp> Entries<P, S> {
    /// Of `slots` slots in each of `partitions` partitions.
    pub fn new(slots: usize, partitions: usize, options: &EngineOptions) -> Self {
        assert!((slots + 1) * MOST_ACCESSES as usize <= super::FIRST as usize + 1, "{slots} slots");
        let bytes = |accesses: u32| partitions * slots * accesses as usize * size_of::<Entry<P, S>>();
        let reserve = |accesses| {
            Region::reserve(bytes(accesses))
                .expect("address space for up to 1 MiB of requests a slot and partition")
        };
        let near = reserve(NEAR_ACCESSES);
        // Of large runs, what is used is faulted in as it is used.
        const AHEAD_BYTES: usize = 64 << 20;
        near.fault_in(0..bytes(NEAR_ACCESSES).min(AHEAD_BYTES));
        let may_wait = options.deadlock_timeout_ns != Some(0);
        let far = reserve(MOST_ACCESSES);
        Entries { near, far, slots, latch: options.latch, may_wait, of: PhantomData }
    }

    #[inline(always)]
    pub(super) fn at(&self, partition: u32, id: EntryId) -> &Entry<P, S> {
        let (slot, access) = (id.slot().0 as usize, id.0 % MOST_ACCESSES);
        let array = partition as usize * self.slots + slot;
        let (region, room) =
            if access < NEAR_ACCESSES { (&self.near, NEAR_ACCESSES) } else { (&self.far, MOST_ACCESSES) };
        let offset = (array * room as usize + access as usize) * size_of::<Entry<P, S>>();
        assert!(offset < region.len());
        // SAFETY: within the region (asserted), which is zeroed, suitably aligned and lives as long as `self`; zero
        // bytes are a valid entry, all of whose fields have interior mutability.
        unsafe { &*region.base().byte_add(offset).cast::<Entry<P, S>>() }
    }
}
