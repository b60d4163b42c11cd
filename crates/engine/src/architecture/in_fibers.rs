//! Architectures whose transactions run in fibers, several in flight at a worker.
//!
//! Their verbs suspend the fiber, and the worker goes on with another one. What a suspension asks for, the worker's scheduler
//! does ([`crate::fiber::scheduler`]): a fiber may migrate to another worker, park until a grant, or sleep. Between two
//! transactions it is at home, where its client is.

use super::{Architecture, BackOff};
use crate::fiber::{Current, Others, Suspension, Workers};
use crate::message::Grants;
use crate::protocol::SlotId;
use crate::storage::Table;
use contract::EngineOptions;

/// See the module.
pub(crate) trait InFibers<'e>: Architecture + Sized {
    /// What its workers share, or the fibers of one.
    type State: 'e;

    /// Whether workers count how long none of their fibers had anything to do ([`crate::fiber::Idleness`]).
    const COUNTS_IDLENESS: bool = false;

    /// The transaction slot `slot`, in the fiber that runs, which is at home.
    fn new(
        current: Current,
        slot: SlotId,
        tables: &'e [Table],
        state: &'e Self::State,
        back_off: BackOff,
    ) -> Self;

    /// Slots of a worker that run branches of other instances' transactions: the last of so many.
    fn branch_slots(state: &Self::State, slots: usize) -> usize {
        let _ = (state, slots);
        0
    }

    /// The first of the slots of worker `me`, each of which has so many.
    fn first_slot(state: &Self::State, me: usize, slots: usize) -> usize {
        let _ = state;
        me * slots
    }

    /// A slot that ran branches has panicked: who waits for an answer must not do so for ever.
    fn branch_has_panicked(state: &Self::State) {
        let _ = state;
    }

    /// Whether a fiber may begin one transaction after the other while no other of its worker's has anything to do and they are local: it polls what other instances
    /// want of the worker itself ([`InFibers::communicate`]), and lets others run when something has come. Otherwise it does so after each.
    const POLLS_IN_PLACE: bool = false;

    /// For how many ticks a fiber begins one transaction after the other before it polls, or lets others run: by default after each. Who waits in the middle
    /// of one lets them run anyhow.
    #[inline(always)]
    fn polling_interval_ticks(state: &Self::State) -> u64 {
        let _ = state;
        0
    }

    /// What the worker's other fibers do while the next one runs.
    #[inline(always)]
    fn note_others(state: &Self::State, others: Others) {
        let _ = (state, others);
    }

    /// Whether the transactions that have ended since this was last asked wanted nothing of other instances.
    #[inline(always)]
    fn was_local(&mut self) -> bool {
        true
    }

    /// Whether it takes long to communicate: by calls of the system, or as long.
    #[inline(always)]
    fn is_slow(state: &Self::State) -> bool {
        let _ = state;
        false
    }

    /// Whether something is to go to other instances with what a transaction sends that is about to begin.
    #[inline(always)]
    fn has_posted(state: &Self::State) -> bool {
        let _ = state;
        false
    }

    /// Sends that, which nobody takes along.
    #[inline(always)]
    fn send_posted(state: &Self::State) {
        let _ = state;
    }

    /// Sends and receives what there is for other instances; whether there was anything.
    #[inline(always)]
    fn communicate(state: &Self::State) -> bool {
        let _ = state;
        false
    }

    /// Whether all that was sent to other instances is on its way.
    #[inline(always)]
    fn is_flushed(state: &Self::State) -> bool {
        let _ = state;
        true
    }

    /// The transactions of this process's workers have ended: whether those of all others that it talks with have, too.
    fn all_have_finished(state: &Self::State) -> bool {
        let _ = state;
        true
    }

    /// All transactions of all workers have ended: ends what runs branches.
    fn close(state: &Self::State) {
        let _ = state;
    }

    /// What ran branches has ended: nothing more comes from here.
    fn leave(state: &Self::State) {
        let _ = state;
    }

    /// The workers between which fibers migrate.
    fn workers(state: &Self::State) -> &Workers;

    /// Where fibers that park wait for what they want.
    fn grants(state: &Self::State) -> &Grants;

    /// The fiber, to itself.
    fn fiber(&mut self) -> &mut Current;

    /// Goes home, where it stays until the next transaction begins.
    fn go_home(&mut self);

    /// At home, after a transaction: so many have ended here.
    #[inline(always)]
    fn has_ended(&mut self, ended: u64, options: &EngineOptions) {
        let _ = (ended, options);
    }

    /// Lets the worker run others, between two transactions at home.
    #[inline(always)]
    fn let_others_run(&mut self) {
        self.fiber().suspend(Suspension::Idle);
    }
}
