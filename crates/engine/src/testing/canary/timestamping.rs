//! Protocols that go by timestamps, with a lapse.

use crate::architecture::Architecture;
use crate::horizon::Horizon;
use crate::physical::Physical;
use crate::protocol::{Answer, Looking, Protocol, Timestamping, Versioning};
use crate::timestamp::Halves;
use crate::transaction::access::Access;
use contract::{EngineOptions, Presence};
use std::marker::PhantomData;

/// Protocol `B` with lapse `D`.
pub(crate) struct Amiss<B, D>(PhantomData<(B, D)>);

/// The steps that a canary may break; those that it does not name are the real protocol's.
pub(crate) trait Lapse<B: Timestamping>: Sized + 'static {
    /// The real protocol's.
    type Access<A: Architecture<Protocol = Amiss<B, Self>>>: Access<A>;

    fn read<P: Physical>(meta: &B::Meta<P>, by: Halves) -> Answer {
        B::read(meta, by)
    }

    fn write<P: Physical>(meta: &B::Meta<P>, wanted: Presence, by: Halves) -> Answer {
        B::write(meta, wanted, by)
    }

    fn rely<P: Physical>(gap: &B::Gap<P>, by: Halves) {
        B::rely(gap, by);
    }
}

impl<B: Timestamping, D: Lapse<B>> Protocol for Amiss<B, D> {
    type Meta<P: Physical> = B::Meta<P>;
    type Header = B::Header;
    type Gap<P: Physical> = B::Gap<P>;
    type Common<P: Physical> = B::Common<P>;
    type Slot = B::Slot;
    type Access<A: Architecture<Protocol = Self>> = D::Access<A>;

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
unsafe impl<B: Timestamping, D: Lapse<B>> Versioning for Amiss<B, D> {
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

impl<B: Timestamping, D: Lapse<B>> Timestamping for Amiss<B, D> {
    fn read<P: Physical>(meta: &B::Meta<P>, by: Halves) -> Answer {
        D::read(meta, by)
    }

    fn write<P: Physical>(meta: &B::Meta<P>, wanted: Presence, by: Halves) -> Answer {
        D::write(meta, wanted, by)
    }

    fn lock<P: Physical>(meta: &B::Meta<P>, previous: u64) {
        B::lock(meta, previous);
    }

    fn publish<P: Physical>(meta: &B::Meta<P>, to_be: Presence, by: Halves) {
        B::publish(meta, to_be, by);
    }

    fn withdraw<P: Physical>(meta: &B::Meta<P>) {
        B::withdraw(meta);
    }

    fn claim<P: Physical>(meta: &B::Meta<P>, by: Halves) {
        B::claim(meta, by);
    }

    fn mark_deleted<P: Physical>(meta: &B::Meta<P>, gap: &B::Gap<P>) {
        B::mark_deleted(meta, gap);
    }

    fn rely<P: Physical>(gap: &B::Gap<P>, by: Halves) {
        D::rely(gap, by);
    }

    fn relied_on<P: Physical>(gap: &B::Gap<P>) -> u64 {
        B::relied_on(gap)
    }

    fn split_gap<P: Physical>(gap: &B::Gap<P>, fresh: &B::Gap<P>) {
        B::split_gap(gap, fresh);
    }

    fn inherit_gap<P: Physical>(retired: &B::Gap<P>, heir: &B::Gap<P>) {
        B::inherit_gap(retired, heir);
    }
}

impl<B: Looking, D: Lapse<B>> Looking for Amiss<B, D> {
    fn look<P: Physical>(meta: &B::Meta<P>, time: u64) -> Answer {
        B::look(meta, time)
    }

    fn was_read_after<P: Physical>(meta: &B::Meta<P>, time: u64) -> bool {
        B::was_read_after(meta, time)
    }

    fn horizon<P: Physical>(common: &B::Common<P>) -> &Horizon {
        B::horizon(common)
    }
}
