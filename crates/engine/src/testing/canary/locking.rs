//! Protocols that lock, with a defect.

use crate::architecture::Architecture;
use crate::physical::Physical;
use crate::protocol::waits_for::SlotSet;
use crate::protocol::{Ahead, GapMode, Locking, Mode, Preparing, Protocol, Request, SlotId, Verdict, Waker};
use crate::transaction::access::Access;
use crate::transaction::known::Known;
use contract::EngineOptions;
use std::marker::PhantomData;

/// Protocol `B` with defect `D`.
pub(crate) struct Broken<B, D>(PhantomData<(B, D)>);

/// The steps that a canary may break; those that it does not name are the real protocol's.
pub(crate) trait Defect<B: Locking>: Sized + 'static {
    /// How transactions access records, as under the real protocol.
    type Access<A: Architecture<Protocol = Broken<B, Self>>>: Access<A>;

    fn acquire<P: Physical>(
        meta: &B::Meta<P>,
        mode: Mode,
        request: Request<'_, B, P, impl Waker>,
    ) -> Verdict {
        B::acquire(meta, mode, request)
    }

    fn upgrade<P: Physical>(meta: &B::Meta<P>, request: Request<'_, B, P, impl Waker>) -> Verdict {
        B::upgrade(meta, request)
    }

    fn withdraw<P: Physical>(meta: &B::Meta<P>, request: Request<'_, B, P, impl Waker>) -> bool {
        B::withdraw(meta, request)
    }

    fn release<P: Physical>(meta: &B::Meta<P>, mode: Mode, request: Request<'_, B, P, impl Waker>) {
        B::release(meta, mode, request);
    }

    fn mark_deleted<P: Physical>(meta: &B::Meta<P>, request: Request<'_, B, P, impl Waker>) {
        B::mark_deleted(meta, request);
    }

    fn hold_gap<P: Physical>(
        gap: &B::Gap<P>,
        mode: GapMode,
        request: Request<'_, B, P, impl Waker>,
    ) -> Verdict {
        B::hold_gap(gap, mode, request)
    }

    fn upgrade_gap<P: Physical>(
        gap: &B::Gap<P>,
        from: GapMode,
        request: Request<'_, B, P, impl Waker>,
    ) -> Verdict {
        B::upgrade_gap(gap, from, request)
    }

    fn release_gap<P: Physical>(gap: &B::Gap<P>, mode: GapMode, request: Request<'_, B, P, impl Waker>) {
        B::release_gap(gap, mode, request);
    }

    fn request_all<'m, P: Physical>(
        records: impl Iterator<Item = Ahead<'m, B, P>>,
        request: Request<'_, B, P, impl Waker>,
    ) -> Verdict {
        B::request_all(records, request)
    }

    fn release_all<'m, P: Physical>(
        records: impl Iterator<Item = (&'m B::Meta<P>, Mode)>,
        request: Request<'_, B, P, impl Waker>,
    ) {
        B::release_all(records, request);
    }

    fn prepare<P: Physical>(
        meta: &B::Meta<P>,
        inserted: bool,
        request: Request<'_, B, P, impl Waker>,
    ) -> Verdict
    where
        B: Preparing,
    {
        B::prepare(meta, inserted, request)
    }

    fn unprepare<P: Physical>(meta: &B::Meta<P>, inserted: bool, request: Request<'_, B, P, impl Waker>)
    where
        B: Preparing,
    {
        B::unprepare(meta, inserted, request);
    }
}

impl<B: Locking, D: Defect<B>> Protocol for Broken<B, D> {
    type Meta<P: Physical> = B::Meta<P>;
    type Header = B::Header;
    type Gap<P: Physical> = B::Gap<P>;
    type Common<P: Physical> = B::Common<P>;
    type Slot = B::Slot;
    type Access<A: Architecture<Protocol = Self>> = D::Access<A>;

    const LOOKS_WHILE_WAITING: bool = B::LOOKS_WHILE_WAITING;
    const REQUESTS_AHEAD: bool = B::REQUESTS_AHEAD;
    const MAY_PRECLAIM: bool = B::MAY_PRECLAIM;

    fn waits_for_itself<P: Physical>(common: &B::Common<P>, slot: SlotId) -> bool {
        B::waits_for_itself(common, slot)
    }

    fn has_waited<P: Physical>(common: &B::Common<P>, slot: SlotId) {
        B::has_waited(common, slot);
    }

    fn common<P: Physical>(slots: usize, partitions: usize, options: &EngineOptions) -> B::Common<P> {
        B::common(slots, partitions, options)
    }

    fn is_quiescent<P: Physical>(meta: &B::Meta<P>) -> bool {
        B::is_quiescent(meta)
    }

    fn is_gap_quiescent<P: Physical>(gap: &B::Gap<P>) -> bool {
        B::is_gap_quiescent(gap)
    }

    unsafe fn waits_for<P: Physical>(common: &B::Common<P>, slot: SlotId) -> Option<SlotSet> {
        // SAFETY: the caller's contract.
        unsafe { B::waits_for(common, slot) }
    }
}

impl<B: Locking, D: Defect<B>> Locking for Broken<B, D> {
    fn acquire<P: Physical>(
        meta: &B::Meta<P>,
        mode: Mode,
        request: Request<'_, B, P, impl Waker>,
    ) -> Verdict {
        D::acquire(meta, mode, request)
    }

    fn upgrade<P: Physical>(meta: &B::Meta<P>, request: Request<'_, B, P, impl Waker>) -> Verdict {
        D::upgrade(meta, request)
    }

    fn withdraw<P: Physical>(meta: &B::Meta<P>, request: Request<'_, B, P, impl Waker>) -> bool {
        D::withdraw(meta, request)
    }

    fn withdraw_gap<P: Physical>(gap: &B::Gap<P>, request: Request<'_, B, P, impl Waker>) -> bool {
        B::withdraw_gap(gap, request)
    }

    fn release<P: Physical>(meta: &B::Meta<P>, mode: Mode, request: Request<'_, B, P, impl Waker>) {
        D::release(meta, mode, request);
    }

    fn mark_deleted<P: Physical>(meta: &B::Meta<P>, request: Request<'_, B, P, impl Waker>) {
        D::mark_deleted(meta, request);
    }

    fn hold_gap<P: Physical>(
        gap: &B::Gap<P>,
        mode: GapMode,
        request: Request<'_, B, P, impl Waker>,
    ) -> Verdict {
        D::hold_gap(gap, mode, request)
    }

    fn upgrade_gap<P: Physical>(
        gap: &B::Gap<P>,
        from: GapMode,
        request: Request<'_, B, P, impl Waker>,
    ) -> Verdict {
        D::upgrade_gap(gap, from, request)
    }

    fn abandon<P: Physical>(request: Request<'_, B, P, impl Waker>) {
        B::abandon(request);
    }

    fn release_gap<P: Physical>(gap: &B::Gap<P>, mode: GapMode, request: Request<'_, B, P, impl Waker>) {
        D::release_gap(gap, mode, request);
    }

    fn claim<P: Physical>(meta: &B::Meta<P>, request: Request<'_, B, P, impl Waker>) {
        B::claim(meta, request);
    }

    fn known(slot: &mut B::Slot) -> &mut Known {
        B::known(slot)
    }

    fn request_all<'m, P: Physical>(
        records: impl Iterator<Item = Ahead<'m, B, P>>,
        request: Request<'_, B, P, impl Waker>,
    ) -> Verdict {
        D::request_all(records, request)
    }

    fn release_all<'m, P: Physical>(
        records: impl Iterator<Item = (&'m B::Meta<P>, Mode)>,
        request: Request<'_, B, P, impl Waker>,
    ) {
        D::release_all(records, request);
    }

    fn is_dead<P: Physical>(meta: &B::Meta<P>) -> bool {
        B::is_dead(meta)
    }

    fn retire_gap<P: Physical>(gap: &B::Gap<P>, common: &B::Common<P>) -> bool {
        B::retire_gap(gap, common)
    }
}

impl<B: Locking + Preparing, D: Defect<B>> Preparing for Broken<B, D> {
    fn prepare<P: Physical>(
        meta: &B::Meta<P>,
        inserted: bool,
        request: Request<'_, B, P, impl Waker>,
    ) -> Verdict {
        D::prepare(meta, inserted, request)
    }

    fn unprepare<P: Physical>(meta: &B::Meta<P>, inserted: bool, request: Request<'_, B, P, impl Waker>) {
        D::unprepare(meta, inserted, request);
    }
}
