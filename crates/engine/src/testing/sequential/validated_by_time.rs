//! Records are looked at by the transaction's timestamp when they are accessed, and asked at commit.

use super::{ByTime, Op, Phase, Transaction, Way, World};
use crate::physical::Physical;
use crate::protocol::{Answer, Attempt, Looking, Mode, Protocol, SlotState};
use crate::timestamp::Halves;

pub(super) struct ByTimeAtLast;

impl<P: Looking> Way<P> for ByTimeAtLast {
    const LOCKS: bool = false;
    const IN_PLACE: bool = false;
    const ORDERS: bool = true;
    const LOOKS: bool = true;
    const KEEPS_VERSIONS: bool = P::KEEPS_VERSIONS;

    fn look<F: Physical>(meta: &P::Meta<F>, by: Halves) -> Answer {
        P::look::<F>(meta, by.time())
    }

    fn was_read_after<F: Physical>(meta: &P::Meta<F>, by: Halves) -> bool {
        P::was_read_after::<F>(meta, by.time())
    }

    fn ask_by_time<F: Physical>(meta: &P::Meta<F>, mode: Mode, by: Halves) -> Answer {
        <ByTime as Way<P>>::ask_by_time::<F>(meta, mode, by)
    }

    fn still_is<F: Physical>(meta: &P::Meta<F>, token: u64) -> bool {
        P::still_is::<F>(meta, token)
    }

    fn lock_written<F: Physical>(meta: &P::Meta<F>) {
        P::lock::<F>(meta, 0);
    }

    fn time(by: Halves) -> u64 {
        by.time()
    }

    fn decide<F: Physical>(meta: &P::Meta<F>, commits: bool, by: Halves) {
        <ByTime as Way<P>>::decide::<F>(meta, commits, by);
    }
}

impl<P: Protocol, W: Way<P>, F: Physical> World<P, W, F> {
    pub(super) fn operation_by_look(&self, number: usize, txn: &mut Transaction<P::Slot>, at: usize) {
        if !std::mem::replace(&mut txn.has_begun, true) {
            txn.state.begin(Attempt::First, || self.draw());
        }
        let record = txn.script[at].record();
        let held = txn.held[record];
        if held.written {
            return txn.phase = Self::after_operation_by_time(number, txn, at);
        }
        let is_read = matches!(txn.script[at], Op::Read(_));
        if is_read && held.token.is_some() {
            return txn.phase = Phase::Copy(at);
        }
        match W::look::<F>(self.meta(record), txn.state.stamp()) {
            Answer::Present(token) if is_read => {
                txn.held[record].token = Some(token);
                txn.phase = Phase::Copy(at);
            }
            Answer::Older if is_read => {
                txn.held[record].token = Some(self.older(txn, record).0);
                txn.phase = Phase::Copy(at);
            }
            Answer::Present(token) => {
                let is_other = held.token.is_some_and(|seen| seen != token);
                if is_other || W::was_read_after::<F>(self.meta(record), txn.state.stamp()) {
                    return self.abort(number, txn);
                }
                txn.held[record].written = true;
                txn.phase = Self::after_operation_by_time(number, txn, at);
            }
            Answer::Older => self.abort(number, txn),
            Answer::Wait => txn.stalled = true,
            Answer::Absent(_) | Answer::Unlinked | Answer::Abort(_) => unreachable!("a look at a row"),
        }
    }

    /// What is asked for next: the writes from the `from`-th on, and then what was read. Every other transaction begins with the last, as no
    /// order is agreed upon.
    pub(super) fn next_to_ask_for(number: usize, txn: &Transaction<P::Slot>, from: usize) -> Phase {
        let mut written = (from..2).map(|nth| if number.is_multiple_of(2) { nth } else { 1 - nth });
        match written.find(|&record| txn.held[record].written) {
            Some(record) => Phase::Prepare(record),
            None => Self::next_to_confirm(txn, 0),
        }
    }

    pub(super) fn next_to_confirm(txn: &Transaction<P::Slot>, from: usize) -> Phase {
        let was_read = |record: usize| txn.held[record].token.is_some() && !txn.held[record].written;
        (from..2).find(|&record| was_read(record)).map_or(Phase::Lock, Phase::Confirm)
    }

    pub(super) fn ask_for_write(&self, number: usize, txn: &mut Transaction<P::Slot>, at: usize) {
        match W::ask_by_time::<F>(self.meta(at), Mode::Exclusive, txn.state.stamp()) {
            Answer::Present(token) => {
                txn.held[at].accepted = true;
                if txn.held[at].token.is_some_and(|seen| seen != token) {
                    return self.abort(number, txn);
                }
                let nth = if number.is_multiple_of(2) { at } else { 1 - at };
                txn.phase = Self::next_to_ask_for(number, txn, nth + 1);
            }
            Answer::Wait => txn.stalled = true,
            Answer::Abort(_) => self.abort(number, txn),
            Answer::Older | Answer::Absent(_) | Answer::Unlinked => unreachable!("a write of a row"),
        }
    }

    pub(super) fn ask_for_read(&self, number: usize, txn: &mut Transaction<P::Slot>, at: usize) {
        let seen = txn.held[at].token.expect("it was read");
        let found = match W::ask_by_time::<F>(self.meta(at), Mode::Shared, txn.state.stamp()) {
            Answer::Present(token) => token,
            Answer::Older => self.older(txn, at).0,
            Answer::Wait => return txn.stalled = true,
            Answer::Absent(_) | Answer::Unlinked | Answer::Abort(_) => unreachable!("a read of a row"),
        };
        match found == seen {
            true => txn.phase = Self::next_to_confirm(txn, at + 1),
            false => self.abort(number, txn),
        }
    }
}
