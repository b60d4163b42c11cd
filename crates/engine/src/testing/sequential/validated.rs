//! Records are observed when they are accessed, written aside, and validated at commit; or most of them: those that are hot are locked, too.

use super::{Held, Phase, Protection, Transaction, Wakes, Way, World};
use crate::physical::Physical;
use crate::protocol::{Mode, Observation, Protecting, Protocol, Request, Validating, Validity, Verdict};
use crate::timestamp::Timestamp;

pub(in crate::testing) struct Optimistic;
/// Of two records, those of which a bit is set are hot.
pub(super) struct MostlyOptimistic<const HOT: usize>;

impl<P: Validating> Way<P> for Optimistic {
    const LOCKS: bool = false;
    const IN_PLACE: bool = false;
    const PREPARES_READS: bool = P::LATCHES_READS;

    fn observe<F: Physical>(meta: &P::Meta<F>) -> Option<Option<u64>> {
        match P::observe::<F>(meta) {
            Observation::Present(token) => Some(Some(token)),
            _ => None,
        }
    }

    fn is_same(one: u64, other: u64) -> bool {
        P::is_same(one, other)
    }

    fn prepare<F: Physical>(meta: &P::Meta<F>, request: Request<'_, P, F, Wakes>) -> Verdict {
        P::prepare::<F>(meta, false, request)
    }

    fn unprepare<F: Physical>(meta: &P::Meta<F>, request: Request<'_, P, F, Wakes>) {
        P::unprepare::<F>(meta, false, request);
    }

    fn after<F: Physical>(token: Option<u64>, prepared: Option<&P::Meta<F>>) -> u64 {
        token.map_or(0, P::after_read).max(prepared.map_or(0, P::after_write::<F>))
    }

    fn choose_id(slot: &mut P::Slot, least: u64, draw: impl FnOnce() -> Timestamp) -> u64 {
        P::transaction_id(slot, least, 3, draw)
    }

    fn validate<F: Physical>(meta: &P::Meta<F>, token: u64, mine: bool, slot: &P::Slot, id: u64) -> bool {
        match P::validate::<F>(meta, token, mine, slot, id) {
            Validity::Valid => true,
            Validity::Invalid => false,
            Validity::Expired => P::extend::<F>(meta, token, id),
        }
    }

    fn publish<F: Physical>(meta: &P::Meta<F>, id: u64) {
        P::publish::<F>(meta, id);
    }
}

impl<P: Protecting, const HOT: usize> Way<P> for MostlyOptimistic<HOT> {
    const LOCKS: bool = false;
    const IN_PLACE: bool = false;
    const PROTECTS: bool = true;

    fn observe<F: Physical>(meta: &P::Meta<F>) -> Option<Option<u64>> {
        <Optimistic as Way<P>>::observe::<F>(meta)
    }

    fn is_same(one: u64, other: u64) -> bool {
        <Optimistic as Way<P>>::is_same(one, other)
    }

    fn after<F: Physical>(token: Option<u64>, prepared: Option<&P::Meta<F>>) -> u64 {
        <Optimistic as Way<P>>::after::<F>(token, prepared)
    }

    fn choose_id(slot: &mut P::Slot, least: u64, draw: impl FnOnce() -> Timestamp) -> u64 {
        <Optimistic as Way<P>>::choose_id(slot, least, draw)
    }

    fn validate<F: Physical>(meta: &P::Meta<F>, token: u64, mine: bool, slot: &P::Slot, id: u64) -> bool {
        <Optimistic as Way<P>>::validate::<F>(meta, token, mine, slot, id)
    }

    fn publish<F: Physical>(meta: &P::Meta<F>, id: u64) {
        P::publish::<F>(meta, id);
    }

    fn warm<F: Physical>(meta: &P::Meta<F>, record: usize) {
        while HOT >> record & 1 != 0 && !P::is_hot::<F>(meta) {
            P::warm::<F>(meta, P::temperature::<F>(meta).expect("hot is not the hottest"));
        }
    }

    fn protect<F: Physical>(meta: &P::Meta<F>, mode: Mode) -> Option<Verdict> {
        P::is_hot::<F>(meta).then(|| P::hold::<F>(meta, mode))
    }

    fn lock<F: Physical>(
        meta: &P::Meta<F>,
        held: Option<Protection>,
        _: Request<'_, P, F, Wakes>,
    ) -> Verdict {
        P::lock::<F>(meta, held, false)
    }

    fn give_back<F: Physical>(meta: &P::Meta<F>, held: Protection) {
        P::give_back::<F>(meta, held, true);
    }
}

impl<P: Protocol, W: Way<P>, F: Physical> World<P, W, F> {
    /// A record was denied: gives back it and what comes behind, if there is any, or waits.
    pub(super) fn wait_in_order(&self, txn: &mut Transaction<P::Slot>, record: usize) {
        txn.stalled = true;
        for behind in record..2 {
            if let Some(held) = txn.held[behind].protection.take() {
                W::give_back::<F>(self.meta(behind), held);
                (txn.held[behind].prepared, txn.held[behind].is_protected) = (false, false);
                txn.stalled = false;
            }
        }
    }

    /// Records that are not written need no step.
    pub(super) fn next_to_prepare(txn: &Transaction<P::Slot>, from: usize) -> Phase {
        let is_to_prepare = |held: Held| held.written || W::PREPARES_READS && held.token.is_some();
        match (from..2).find(|&record| is_to_prepare(txn.held[record])) {
            Some(record) => Phase::Prepare(record),
            None if !W::LOCKS => Phase::Validate,
            None => Phase::Install,
        }
    }

    pub(super) fn prepare(&self, number: usize, txn: &mut Transaction<P::Slot>, at: usize) {
        match W::lock::<F>(self.meta(at), txn.held[at].protection, self.request(number, txn, at)) {
            Verdict::Granted => {
                txn.held[at].prepared = true;
                txn.held[at].protection = W::PROTECTS.then_some(Protection::Locked);
                txn.held[at].is_protected = false;
                txn.phase = Self::next_to_prepare(txn, at + 1);
            }
            Verdict::Retry => self.wait_in_order(txn, at),
            _ => self.abort(number, txn),
        }
    }

    pub(super) fn validate(&self, number: usize, txn: &mut Transaction<P::Slot>) {
        let least = (0..2).map(|record| {
            let held = txn.held[record];
            W::after::<F>(held.token, held.prepared.then(|| self.meta(record)))
        });
        txn.id = W::choose_id(&mut txn.state, least.fold(0, u64::max), || self.draw());
        let valid = (0..2).all(|record| {
            let held = txn.held[record];
            let valid = |token| W::validate::<F>(self.meta(record), token, held.prepared, &txn.state, txn.id);
            held.is_protected || held.token.is_none_or(valid)
        });
        if valid {
            txn.phase = Phase::Install;
        } else {
            self.abort(number, txn);
        }
    }
}
