//! Records are locked when they are accessed, in place or, where writes are certified, aside; or all that is known is asked for at once.

use super::{AskedAhead, Phase, Transaction, Wakes, Way, World, place};
use crate::physical::Physical;
use crate::protocol::{AheadWith, Locking, Mode, Preparing, Protocol, Request, SlotId, SlotState, Verdict};
use contract::EngineOptions;

pub(in crate::testing) struct TwoPhase;
/// Of a transaction, the first operations are known, as many as this: it asks for their locks together, before it does anything.
pub(super) struct Ahead<const OPERATIONS: usize>;
/// The same, and those that are blocked and conflict with nobody ahead are looked for.
pub(super) struct Analysed<const OPERATIONS: usize>;
pub(super) struct Certifying;

fn ask<P: Locking, F: Physical>(
    meta: &P::Meta<F>,
    mode: Mode,
    held: Option<Mode>,
    request: Request<'_, P, F, Wakes>,
) -> Verdict {
    match held {
        Some(_) => P::upgrade::<F>(meta, request),
        None => P::acquire::<F>(meta, mode, request),
    }
}

impl<P: Locking> Way<P> for TwoPhase {
    const LOCKS: bool = true;
    const IN_PLACE: bool = true;

    fn withdraw<F: Physical>(meta: &P::Meta<F>, request: Request<'_, P, F, Wakes>) -> bool {
        P::withdraw::<F>(meta, request)
    }

    fn ask<F: Physical>(
        meta: &P::Meta<F>,
        mode: Mode,
        held: Option<Mode>,
        request: Request<'_, P, F, Wakes>,
    ) -> Verdict {
        ask::<P, F>(meta, mode, held, request)
    }

    fn release<F: Physical>(meta: &P::Meta<F>, mode: Mode, request: Request<'_, P, F, Wakes>) {
        P::release::<F>(meta, mode, request);
    }
}

impl<P: Locking, const OPERATIONS: usize> Way<P> for Ahead<OPERATIONS> {
    const LOCKS: bool = true;
    const IN_PLACE: bool = true;
    const KNOWN: Option<usize> = Some(OPERATIONS);

    fn ask<F: Physical>(
        meta: &P::Meta<F>,
        mode: Mode,
        held: Option<Mode>,
        request: Request<'_, P, F, Wakes>,
    ) -> Verdict {
        ask::<P, F>(meta, mode, held, request)
    }

    fn request_all<'m, F: Physical>(
        records: impl Iterator<Item = AskedAhead<'m, P, F>>,
        request: Request<'_, P, F, Wakes>,
    ) -> Verdict {
        P::request_all::<F>(records, request)
    }

    fn release_all<'m, F: Physical>(
        records: impl Iterator<Item = (&'m P::Meta<F>, Mode)>,
        request: Request<'_, P, F, Wakes>,
    ) {
        P::release_all::<F>(records, request);
    }
}

impl<P: Locking, const OPERATIONS: usize> Way<P> for Analysed<OPERATIONS> {
    const LOCKS: bool = true;
    const IN_PLACE: bool = true;
    const KNOWN: Option<usize> = Some(OPERATIONS);

    fn options() -> EngineOptions {
        EngineOptions { selective_contention_analysis: true, ..EngineOptions::default() }
    }

    fn ask<F: Physical>(
        meta: &P::Meta<F>,
        mode: Mode,
        held: Option<Mode>,
        request: Request<'_, P, F, Wakes>,
    ) -> Verdict {
        ask::<P, F>(meta, mode, held, request)
    }

    fn request_all<'m, F: Physical>(
        records: impl Iterator<Item = AskedAhead<'m, P, F>>,
        request: Request<'_, P, F, Wakes>,
    ) -> Verdict {
        P::request_all::<F>(records, request)
    }

    fn release_all<'m, F: Physical>(
        records: impl Iterator<Item = (&'m P::Meta<F>, Mode)>,
        request: Request<'_, P, F, Wakes>,
    ) {
        P::release_all::<F>(records, request);
    }
}

impl<P: Locking + Preparing> Way<P> for Certifying {
    const LOCKS: bool = true;
    const IN_PLACE: bool = false;

    fn ask<F: Physical>(
        meta: &P::Meta<F>,
        mode: Mode,
        held: Option<Mode>,
        request: Request<'_, P, F, Wakes>,
    ) -> Verdict {
        ask::<P, F>(meta, mode, held, request)
    }

    fn release<F: Physical>(meta: &P::Meta<F>, mode: Mode, request: Request<'_, P, F, Wakes>) {
        P::release::<F>(meta, mode, request);
    }

    fn prepare<F: Physical>(meta: &P::Meta<F>, request: Request<'_, P, F, Wakes>) -> Verdict {
        P::prepare::<F>(meta, false, request)
    }

    fn unprepare<F: Physical>(meta: &P::Meta<F>, request: Request<'_, P, F, Wakes>) {
        P::unprepare::<F>(meta, false, request);
    }
}

impl<P: Protocol, W: Way<P>, F: Physical> World<P, W, F> {
    /// A step of its own: asks for the locks of the first operations.
    pub(super) fn request_known(&self, number: usize, txn: &mut Transaction<P::Slot>, known: usize) {
        let mut wanted = [None; 2];
        for op in &txn.script[..known.min(txn.script.len())] {
            if wanted[op.record()] != Some(Mode::Exclusive) {
                wanted[op.record()] = Some(op.mode());
            }
        }
        if wanted == [None; 2] {
            return;
        }
        let mut are_counted = [false; 2];
        let records = wanted.iter().zip(&mut are_counted).enumerate();
        let records = records.filter_map(|(record, (mode, is_counted))| {
            let stamp = txn.state.stamp_for(place(record));
            mode.map(|mode| AheadWith { meta: self.meta(record), mode, stamp, is_counted })
        });
        let verdict = W::request_all::<F>(records, self.request(number, txn, 0));
        for (held, mode) in txn.held.iter_mut().zip(wanted) {
            held.mode = mode;
        }
        match verdict {
            Verdict::Granted => {}
            Verdict::Queued => txn.phase = Phase::Waiting(0),
            denied => unreachable!("{denied:?} of all that is known"),
        }
    }

    /// Takes the queued request of an operation back, unless it was granted meanwhile.
    pub(super) fn withdraw(&self, number: usize, txn: &mut Transaction<P::Slot>, at: usize) {
        let record = txn.script[at].record();
        P::has_waited::<F>(&self.common, SlotId(number as u32));
        if W::withdraw::<F>(self.meta(record), self.request(number, txn, record)) {
            return self.abort(number, txn);
        }
        assert_eq!(txn.phase, Phase::Told(at), "neither taken back nor granted");
        self.granted(number, txn, at);
    }

    /// A transaction that waits looks whether it waits for itself, and if it does takes its request back.
    pub(super) fn look(&self, number: usize, txn: &mut Transaction<P::Slot>, at: usize) {
        let slot = SlotId(number as u32);
        txn.stalled = !P::waits_for_itself::<F>(&self.common, slot);
        if txn.stalled {
            return;
        }
        P::has_waited::<F>(&self.common, slot);
        let record = txn.script[at].record();
        if W::withdraw::<F>(self.meta(record), self.request(number, txn, record)) {
            self.abort(number, txn);
        }
        // Otherwise it has been granted, under a canary, and is told.
    }

    /// Nothing else can be done: who waits looks, again and again, until one finds that it waits for itself. Answers whether one did.
    pub(super) fn look_on(&self, txns: &mut [Transaction<P::Slot>]) -> bool {
        for number in (0..txns.len()).cycle().take(txns.len() * txns.len()) {
            if let Phase::Waiting(at) = txns[number].phase {
                self.look(number, &mut txns[number], at);
                if !txns[number].stalled {
                    self.deliver(txns, None);
                    return true;
                }
            }
        }
        false
    }
}
