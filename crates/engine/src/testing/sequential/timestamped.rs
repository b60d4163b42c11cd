//! Records are asked by the transaction's timestamp when they are accessed.

use super::{Op, Phase, Transaction, Way, World};
use crate::physical::Physical;
use crate::protocol::{Answer, Attempt, Mode, Protocol, SlotState, Timestamping};
use crate::timestamp::Halves;
use contract::Presence;

pub(in crate::testing) struct ByTime;

impl<P: Timestamping> Way<P> for ByTime {
    const LOCKS: bool = false;
    const IN_PLACE: bool = false;
    const ORDERS: bool = true;

    fn ask_by_time<F: Physical>(meta: &P::Meta<F>, mode: Mode, by: Halves) -> Answer {
        match mode {
            Mode::Shared => P::read::<F>(meta, by),
            Mode::Exclusive => P::write::<F>(meta, Presence::Present, by),
        }
    }

    fn still_is<F: Physical>(meta: &P::Meta<F>, token: u64) -> bool {
        P::still_is::<F>(meta, token)
    }

    fn lock_written<F: Physical>(meta: &P::Meta<F>) {
        P::lock::<F>(meta, 0);
    }

    const KEEPS_VERSIONS: bool = P::KEEPS_VERSIONS;

    fn time(by: Halves) -> u64 {
        by.time()
    }

    fn decide<F: Physical>(meta: &P::Meta<F>, commits: bool, by: Halves) {
        match commits {
            true => P::publish::<F>(meta, Presence::Present, by),
            false => P::withdraw::<F>(meta),
        }
    }
}

impl<P: Protocol, W: Way<P>, F: Physical> World<P, W, F> {
    pub(super) fn operation_by_time(&self, number: usize, txn: &mut Transaction<P::Slot>, at: usize) {
        if !std::mem::replace(&mut txn.has_begun, true) {
            txn.state.begin(Attempt::First, || self.draw());
        }
        let op = txn.script[at];
        let record = op.record();
        let mode = if matches!(op, Op::Read(_)) { Mode::Shared } else { Mode::Exclusive };
        if !txn.held[record].accepted {
            if mode == Mode::Shared && txn.held[record].token.is_some() {
                return txn.phase = Phase::Copy(at);
            }
            match W::ask_by_time::<F>(self.meta(record), mode, txn.state.stamp()) {
                Answer::Present(token) if mode == Mode::Shared => {
                    txn.held[record].token = Some(token);
                    return txn.phase = Phase::Copy(at);
                }
                Answer::Present(token) => {
                    txn.held[record].accepted = true;
                    if txn.held[record].token.is_some_and(|seen| seen != token) {
                        // Under a canary only.
                        return self.abort(number, txn);
                    }
                }
                Answer::Older if mode == Mode::Shared => {
                    txn.held[record].token = Some(self.older(txn, record).0);
                    return txn.phase = Phase::Copy(at);
                }
                Answer::Older => unreachable!("a write is accepted over the newest"),
                Answer::Wait => return txn.stalled = true,
                Answer::Abort(_) => return self.abort(number, txn),
                Answer::Absent(_) | Answer::Unlinked => unreachable!("no record goes here"),
            }
        }
        if mode == Mode::Exclusive {
            txn.held[record].written = true;
        } else if !txn.held[record].written {
            txn.seen.push((record, self.values[record].get()));
        }
        txn.phase = Self::after_operation_by_time(number, txn, at);
    }

    pub(super) fn after_operation_by_time(number: usize, txn: &Transaction<P::Slot>, at: usize) -> Phase {
        if at + 1 < txn.script.len() {
            Phase::Operation(at + 1)
        } else if W::LOOKS {
            Self::next_to_ask_for(number, txn, 0)
        } else {
            Phase::Lock
        }
    }

    /// The version that a transaction's timestamp finds, and what it is.
    pub(super) fn older(&self, txn: &Transaction<P::Slot>, record: usize) -> (u64, u64) {
        let time = W::time(txn.state.stamp());
        let versions = self.versions[record].borrow();
        *versions.iter().rfind(|(since, _)| *since <= time).expect("a loaded one")
    }

    /// Copies what is there, if it still is what was granted; asks again otherwise, or aborts if it has seen it before.
    pub(super) fn copy(&self, number: usize, txn: &mut Transaction<P::Slot>, at: usize) {
        let record = txn.script[at].record();
        let token = txn.held[record].token.expect("a read was granted");
        // Who has only looked relies on a version that somebody younger has replaced, and may be shown another otherwise.
        let is_kept = || !W::LOOKS || W::look::<F>(self.meta(record), txn.state.stamp()) == Answer::Older;
        let is_it = || !W::LOOKS || self.older(txn, record).0 == token;
        if W::still_is::<F>(self.meta(record), token) {
            txn.seen.push((record, self.values[record].get()));
            txn.phase = Self::after_operation_by_time(number, txn, at);
        } else if W::KEEPS_VERSIONS && is_kept() && is_it() {
            let versions = self.versions[record].borrow();
            let (_, value) = versions.iter().find(|(since, _)| *since == token).expect("it is kept");
            txn.seen.push((record, *value));
            txn.phase = Self::after_operation_by_time(number, txn, at);
        } else if txn.seen.iter().any(|&(seen, _)| seen == record) {
            self.withdraw_writes(txn);
            txn.phase = Phase::Aborted;
        } else {
            txn.held[record].token = None;
            txn.phase = Phase::Operation(at);
        }
    }

    pub(super) fn withdraw_writes(&self, txn: &Transaction<P::Slot>) {
        for (record, held) in txn.held.iter().enumerate() {
            if held.accepted {
                W::decide::<F>(self.meta(record), false, txn.state.stamp());
            }
        }
    }

    pub(super) fn lock(&self, txn: &mut Transaction<P::Slot>) {
        for record in (0..2).filter(|&record| txn.held[record].written) {
            W::lock_written::<F>(self.meta(record));
        }
        txn.phase = Phase::Install;
    }
}
