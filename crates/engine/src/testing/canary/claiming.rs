//! Protocols that claim what they write, and validate what they have read, with a slip.

use crate::architecture::Architecture;
use crate::physical::Physical;
use crate::protocol::{Answer, Claiming, Protocol, Request, SlotId, Versioning, Waker};
use crate::transaction::access::Multiversion;
use contract::{EngineOptions, Presence};
use std::marker::PhantomData;

/// Protocol `B` with slip `D`.
pub(crate) struct Slipped<B, D>(PhantomData<(B, D)>);

/// The steps that a canary may break; those that it does not name are the real protocol's.
pub(crate) trait Slip<B: Claiming>: 'static {
    fn look_at_end<P: Physical>(meta: &B::Meta<P>, common: &B::Common<P>, end: u64, seen: u64) -> Answer {
        B::look_at_end(meta, common, end, seen)
    }

    fn is_gap_valid<P: Physical>(gap: &B::Gap<P>, token: u64) -> bool {
        B::is_gap_valid(gap, token)
    }

    fn prepare<P: Physical>(common: &B::Common<P>, slot: SlotId) {
        B::prepare::<P>(common, slot);
    }

    fn lock<P: Physical>(meta: &B::Meta<P>, previous: u64, end: u64) {
        B::lock(meta, previous, end);
    }
}

impl<B: Claiming, D: Slip<B>> Protocol for Slipped<B, D> {
    type Meta<P: Physical> = B::Meta<P>;
    type Header = B::Header;
    type Gap<P: Physical> = B::Gap<P>;
    type Common<P: Physical> = B::Common<P>;
    type Slot = B::Slot;
    type Access<A: Architecture<Protocol = Self>> = Multiversion;

    fn common<P: Physical>(slots: usize, partitions: usize, options: &EngineOptions) -> B::Common<P> {
        B::common(slots, partitions, options)
    }

    fn is_quiescent<P: Physical>(meta: &B::Meta<P>) -> bool {
        B::is_quiescent(meta)
    }

    fn is_gap_quiescent<P: Physical>(gap: &B::Gap<P>) -> bool {
        B::is_gap_quiescent(gap)
    }
}

// SAFETY: the metadata is the real protocol's, at which any thread may look.
unsafe impl<B: Claiming, D: Slip<B>> Versioning for Slipped<B, D> {
    const KEEPS_VERSIONS: bool = B::KEEPS_VERSIONS;

    fn still_is<P: Physical>(meta: &B::Meta<P>, token: u64) -> bool {
        B::still_is(meta, token)
    }

    fn previous<P: Physical>(meta: &B::Meta<P>) -> u64 {
        B::previous(meta)
    }

    fn tombstone(time: u64) -> u64 {
        B::tombstone(time)
    }

    fn bury<P: Physical>(meta: &B::Meta<P>, tombstone: u64) -> Answer {
        B::bury(meta, tombstone)
    }
}

// SAFETY: as above.
unsafe impl<B: Claiming, D: Slip<B>> Claiming for Slipped<B, D> {
    fn look<P: Physical>(meta: &B::Meta<P>, common: &B::Common<P>, time: u64) -> Answer {
        B::look(meta, common, time)
    }

    fn look_at_end<P: Physical>(meta: &B::Meta<P>, common: &B::Common<P>, end: u64, seen: u64) -> Answer {
        D::look_at_end(meta, common, end, seen)
    }

    fn claim<P: Physical>(
        meta: &B::Meta<P>,
        wanted: Presence,
        request: Request<'_, B, P, impl Waker>,
    ) -> Answer {
        B::claim(meta, wanted, request)
    }

    fn claim_new<P: Physical>(meta: &B::Meta<P>, request: Request<'_, B, P, impl Waker>) {
        B::claim_new(meta, request);
    }

    fn lock<P: Physical>(meta: &B::Meta<P>, previous: u64, end: u64) {
        D::lock(meta, previous, end);
    }

    fn publish<P: Physical>(meta: &B::Meta<P>, to_be: Presence, end: u64) {
        B::publish(meta, to_be, end);
    }

    fn withdraw<P: Physical>(meta: &B::Meta<P>) {
        B::withdraw(meta);
    }

    fn abandon<P: Physical>(meta: &B::Meta<P>, slot: SlotId) {
        B::abandon(meta, slot);
    }

    fn mark_deleted<P: Physical>(meta: &B::Meta<P>) {
        B::mark_deleted(meta);
    }

    fn prepare<P: Physical>(common: &B::Common<P>, slot: SlotId) {
        D::prepare::<P>(common, slot);
    }

    fn tell_end<P: Physical>(common: &B::Common<P>, slot: SlotId, end: u64) {
        B::tell_end(common, slot, end);
    }

    fn forget_end<P: Physical>(common: &B::Common<P>, slot: SlotId) {
        B::forget_end(common, slot);
    }

    fn observe_gap<P: Physical>(gap: &B::Gap<P>) -> u64 {
        B::observe_gap(gap)
    }

    fn is_gap_valid<P: Physical>(gap: &B::Gap<P>, token: u64) -> bool {
        D::is_gap_valid(gap, token)
    }

    fn advance_gap<P: Physical>(gap: &B::Gap<P>) -> (u64, u64) {
        B::advance_gap(gap)
    }

    fn retire_gap<P: Physical>(gap: &B::Gap<P>) {
        B::retire_gap(gap);
    }
}
