//! Canaries: protocols with one step removed, which the checker must reject. A checker that never fails proves
//! nothing.
//!
//! A canary is a [`Defect`] of a real protocol: it states the steps that are broken, everything else is the real
//! protocol's. So each file here holds exactly what is wrong with it.

mod dirty_reads;
mod early_release;
#[cfg(test)]
mod lost_wake_up;
mod no_miss_validation;
mod no_read_validation;
mod skipped_certify;
mod unheld;
mod unlocked_gaps;

use crate::physical::Physical;
use crate::protocol::waits_for::SlotSet;
use crate::protocol::{Mode, NoWait, Observation, Protocol, Reads, Request, Silo, SlotId};
use crate::protocol::{TwoVersionNoWait, Verdict, Waker, Writes};
use std::marker::PhantomData;
use unheld::Unheld;

/// NO_WAIT that reads without a lock.
pub(crate) type DirtyReads = Broken<NoWait, Unheld<dirty_reads::DirtyReads>>;
/// NO_WAIT that releases a read lock right after it was granted.
pub(crate) type EarlyRelease = Broken<NoWait, Unheld<early_release::EarlyRelease>>;
/// DL_DETECT that grants what it releases, and wakes nobody. No checker can reject it: its runs do not end.
#[cfg(test)]
pub(crate) type LostWakeUp = Broken<crate::protocol::DlDetect, lost_wake_up::LostWakeUp>;
/// SILO that does not validate the keys that it found missing.
pub(crate) type NoMissValidation = Broken<Silo, no_miss_validation::NoMissValidation>;
/// SILO that does not validate its read set.
pub(crate) type NoReadValidation = Broken<Silo, no_read_validation::NoReadValidation>;
/// 2V_NO_WAIT that installs while readers read.
pub(crate) type SkippedCertify = Broken<TwoVersionNoWait, skipped_certify::SkippedCertify>;

/// NO_WAIT whose inserts do not hold the gaps of their keys.
pub(crate) type UnlockedGaps = Broken<NoWait, Unheld<unlocked_gaps::UnlockedGaps>>;

/// Protocol `B` with defect `D`.
pub(crate) struct Broken<B, D>(PhantomData<(B, D)>);

/// The steps that a canary may break; those that it does not name are the real protocol's.
trait Defect<B: Protocol>: 'static {
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

    fn upgrade_gap<P: Physical>(
        meta: &B::Meta<P>,
        from: Mode,
        request: Request<'_, B, P, impl Waker>,
    ) -> Verdict {
        B::upgrade_gap(meta, from, request)
    }

    fn release<P: Physical>(meta: &B::Meta<P>, mode: Mode, request: Request<'_, B, P, impl Waker>) {
        B::release(meta, mode, request);
    }

    fn mark_deleted<P: Physical>(meta: &B::Meta<P>, request: Request<'_, B, P, impl Waker>) {
        B::mark_deleted(meta, request);
    }

    fn prepare<P: Physical>(meta: &B::Meta<P>, inserted: bool) -> Verdict {
        B::prepare(meta, inserted)
    }

    fn unprepare<P: Physical>(meta: &B::Meta<P>, inserted: bool) {
        B::unprepare(meta, inserted);
    }

    fn validate<P: Physical>(meta: &B::Meta<P>, token: u64, mine: bool) -> bool {
        B::validate(meta, token, mine)
    }

    fn validate_missing<P: Physical>(meta: &B::Meta<P>, token: u64) -> bool {
        B::validate_missing(meta, token)
    }
}

impl<B: Protocol, D: Defect<B>> Protocol for Broken<B, D> {
    type Meta<P: Physical> = B::Meta<P>;
    type Common<P: Physical> = B::Common<P>;
    type Slot = B::Slot;

    const READS: Reads = B::READS;
    const WRITES: Writes = B::WRITES;

    fn common<P: Physical>(slots: usize, partitions: usize) -> B::Common<P> {
        B::common(slots, partitions)
    }

    fn is_quiescent<P: Physical>(meta: &B::Meta<P>) -> bool {
        B::is_quiescent(meta)
    }

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

    fn upgrade_gap<P: Physical>(
        meta: &B::Meta<P>,
        from: Mode,
        request: Request<'_, B, P, impl Waker>,
    ) -> Verdict {
        D::upgrade_gap(meta, from, request)
    }

    fn release<P: Physical>(meta: &B::Meta<P>, mode: Mode, request: Request<'_, B, P, impl Waker>) {
        D::release(meta, mode, request);
    }

    fn mark_deleted<P: Physical>(meta: &B::Meta<P>, request: Request<'_, B, P, impl Waker>) {
        D::mark_deleted(meta, request);
    }

    fn retire_gap<P: Physical>(meta: &B::Meta<P>, common: &B::Common<P>) -> bool {
        B::retire_gap(meta, common)
    }

    fn waits_for<P: Physical>(common: &B::Common<P>, slot: SlotId) -> Option<SlotSet> {
        B::waits_for(common, slot)
    }

    fn claim<P: Physical>(meta: &B::Meta<P>, request: Request<'_, B, P, impl Waker>) {
        B::claim(meta, request);
    }

    fn prepare<P: Physical>(meta: &B::Meta<P>, inserted: bool) -> Verdict {
        D::prepare(meta, inserted)
    }

    fn unprepare<P: Physical>(meta: &B::Meta<P>, inserted: bool) {
        D::unprepare(meta, inserted);
    }

    fn observe<P: Physical>(meta: &B::Meta<P>) -> Observation {
        B::observe(meta)
    }

    fn validate<P: Physical>(meta: &B::Meta<P>, token: u64, mine: bool) -> bool {
        D::validate(meta, token, mine)
    }

    fn validate_missing<P: Physical>(meta: &B::Meta<P>, token: u64) -> bool {
        D::validate_missing(meta, token)
    }

    fn observe_gap<P: Physical>(meta: &B::Meta<P>) -> u64 {
        B::observe_gap(meta)
    }

    fn advance_gap<P: Physical>(meta: &B::Meta<P>) -> (u64, u64) {
        B::advance_gap(meta)
    }

    fn version<P: Physical>(meta: &B::Meta<P>) -> u64 {
        B::version(meta)
    }

    fn transaction_id(slot: &mut B::Slot, above: u64, epoch: u64) -> u64 {
        B::transaction_id(slot, above, epoch)
    }

    fn publish<P: Physical>(meta: &B::Meta<P>, id: u64) {
        B::publish(meta, id);
    }
}
