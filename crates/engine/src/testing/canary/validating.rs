//! Protocols that validate, with a flaw.

use crate::architecture::Architecture;
use crate::physical::Physical;
use crate::protocol::{
    Held, Mode, Observation, Preparing, Protecting, Protocol, Request, Validating, Validity, Verdict, Waker,
};
use crate::timestamp::Timestamp;
use crate::transaction::access::Access;
use crate::transaction::lock_list::LockList;
use contract::EngineOptions;
use std::marker::PhantomData;

/// Protocol `B` with flaw `D`.
pub(crate) struct Flawed<B, D>(PhantomData<(B, D)>);

/// The steps that a canary may break; those that it does not name are the real protocol's.
pub(crate) trait Flaw<B: Validating>: Sized + 'static {
    /// The real protocol's.
    type Access<A: Architecture<Protocol = Flawed<B, Self>>>: Access<A>;

    fn validate<P: Physical>(meta: &B::Meta<P>, token: u64, mine: bool, slot: &B::Slot, id: u64) -> Validity {
        B::validate(meta, token, mine, slot, id)
    }

    fn validate_gap<P: Physical>(gap: &B::Gap<P>, token: u64, id: u64) -> Validity {
        B::validate_gap(gap, token, id)
    }

    fn is_hot<P: Physical>(meta: &B::Meta<P>) -> bool
    where
        B: Protecting,
    {
        B::is_hot(meta)
    }

    fn hold<P: Physical>(meta: &B::Meta<P>, mode: Mode) -> Verdict
    where
        B: Protecting,
    {
        B::hold(meta, mode)
    }

    fn lock<P: Physical>(meta: &B::Meta<P>, held: Option<Held>, inserted: bool) -> Verdict
    where
        B: Protecting,
    {
        B::lock(meta, held, inserted)
    }

    fn give_back<P: Physical>(meta: &B::Meta<P>, held: Held, cools: bool)
    where
        B: Protecting,
    {
        B::give_back(meta, held, cools);
    }
}

impl<B: Validating, D: Flaw<B>> Protocol for Flawed<B, D> {
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

impl<B: Validating, D: Flaw<B>> Preparing for Flawed<B, D> {
    fn prepare<P: Physical>(
        meta: &B::Meta<P>,
        inserted: bool,
        request: Request<'_, B, P, impl Waker>,
    ) -> Verdict {
        B::prepare(meta, inserted, request)
    }

    fn unprepare<P: Physical>(meta: &B::Meta<P>, inserted: bool, request: Request<'_, B, P, impl Waker>) {
        B::unprepare(meta, inserted, request);
    }
}

// SAFETY: the metadata is the real protocol's, which any thread may look at.
unsafe impl<B: Validating, D: Flaw<B>> Validating for Flawed<B, D> {
    const EXPIRES: bool = B::EXPIRES;
    const LATCHES_READS: bool = B::LATCHES_READS;

    fn observe<P: Physical>(meta: &B::Meta<P>) -> Observation {
        B::observe(meta)
    }

    fn is_same(one: u64, other: u64) -> bool {
        B::is_same(one, other)
    }

    fn validate<P: Physical>(meta: &B::Meta<P>, token: u64, mine: bool, slot: &B::Slot, id: u64) -> Validity {
        D::validate(meta, token, mine, slot, id)
    }

    fn extend<P: Physical>(meta: &B::Meta<P>, token: u64, id: u64) -> bool {
        B::extend(meta, token, id)
    }

    fn claim<P: Physical>(meta: &B::Meta<P>) {
        B::claim(meta);
    }

    fn publish<P: Physical>(meta: &B::Meta<P>, id: u64) {
        B::publish(meta, id);
    }

    fn mark_deleted<P: Physical>(meta: &B::Meta<P>, gap: &B::Gap<P>, id: u64) {
        B::mark_deleted(meta, gap, id);
    }

    fn after_read(token: u64) -> u64 {
        B::after_read(token)
    }

    fn after_gap(token: u64) -> u64 {
        B::after_gap(token)
    }

    fn after_write<P: Physical>(meta: &B::Meta<P>) -> u64 {
        B::after_write(meta)
    }

    fn transaction_id(slot: &mut B::Slot, least: u64, epoch: u64, draw: impl FnOnce() -> Timestamp) -> u64 {
        B::transaction_id(slot, least, epoch, draw)
    }

    fn observe_gap<P: Physical>(gap: &B::Gap<P>) -> u64 {
        B::observe_gap(gap)
    }

    fn validate_gap<P: Physical>(gap: &B::Gap<P>, token: u64, id: u64) -> Validity {
        D::validate_gap(gap, token, id)
    }

    fn extend_gap<P: Physical>(gap: &B::Gap<P>, token: u64, id: u64) -> bool {
        B::extend_gap(gap, token, id)
    }

    fn advance_gap<P: Physical>(gap: &B::Gap<P>, record: &B::Meta<P>) -> (u64, u64) {
        B::advance_gap(gap, record)
    }

    fn split_gap<P: Physical>(gap: &B::Gap<P>, fresh: &B::Gap<P>) {
        B::split_gap(gap, fresh);
    }

    fn retire_gap<P: Physical>(gap: &B::Gap<P>) {
        B::retire_gap(gap);
    }

    fn inherit_gap<P: Physical>(retired: &B::Gap<P>, heir: &B::Gap<P>) {
        B::inherit_gap(retired, heir);
    }
}

impl<B: Protecting, D: Flaw<B>> Protecting for Flawed<B, D> {
    const COOLS_ONE_IN: u32 = B::COOLS_ONE_IN;

    fn locks(slot: &B::Slot) -> &LockList {
        B::locks(slot)
    }

    fn locks_mut(slot: &mut B::Slot) -> &mut LockList {
        B::locks_mut(slot)
    }

    fn is_hot<P: Physical>(meta: &B::Meta<P>) -> bool {
        D::is_hot(meta)
    }

    fn hold<P: Physical>(meta: &B::Meta<P>, mode: Mode) -> Verdict {
        D::hold(meta, mode)
    }

    fn lock<P: Physical>(meta: &B::Meta<P>, held: Option<Held>, inserted: bool) -> Verdict {
        D::lock(meta, held, inserted)
    }

    fn give_back<P: Physical>(meta: &B::Meta<P>, held: Held, cools: bool) {
        D::give_back(meta, held, cools);
    }

    fn temperature<P: Physical>(meta: &B::Meta<P>) -> Option<u32> {
        B::temperature(meta)
    }

    fn warm<P: Physical>(meta: &B::Meta<P>, from: u32) {
        B::warm(meta, from);
    }
}
