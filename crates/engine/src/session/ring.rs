//! Transactions that a worker has drawn from its client and not yet run.
//!
//! Drawing ahead, in bursts, keeps the time to draw out of latencies, and shows which lines later transactions will
//! need.

use crate::facade::clock::Ticks;
use contract::Plan;

/// Transactions drawn ahead.
pub(super) const RING: usize = 16;

/// A transaction drawn, and what it says it will touch.
pub(super) struct Drawn<P> {
    pub procedure: P,
    pub plan: Plan,
    /// Whether it has planned.
    pub is_planned: bool,
    /// When it arrives, in an open loop.
    pub due: Ticks,
}

/// Transactions drawn and not yet run, oldest first.
pub(super) struct Ring<P> {
    places: [Option<Drawn<P>>; RING],
    /// Plans whose transactions have run, for reuse.
    plans: Vec<Plan>,
    first: usize,
    len: usize,
}

impl<P> Ring<P> {
    /// An empty ring, with plans for itself and for `running` transactions that were taken out of it.
    pub fn new(running: usize) -> Self {
        let plans = RING + running;
        let plans = std::iter::repeat_with(|| Plan::with_capacity(256)).take(plans).collect();
        Ring { places: [const { None }; RING], plans, first: 0, len: 0 }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// Adds a transaction that has not planned yet, and arrives then.
    pub fn push(&mut self, procedure: P, due: Ticks) {
        assert!(self.len < RING, "drawn into a full ring");
        let mut plan = self.plans.pop().expect("a plan for every transaction drawn");
        plan.clear();
        self.places[(self.first + self.len) % RING] = Some(Drawn { procedure, plan, is_planned: false, due });
        self.len += 1;
    }

    /// Takes the oldest out.
    pub fn pop(&mut self) -> Option<Drawn<P>> {
        let drawn = self.places[self.first].take()?;
        self.first = (self.first + 1) % RING;
        self.len -= 1;
        Some(drawn)
    }

    /// The transaction that will run after `ahead` others.
    pub fn peek(&mut self, ahead: usize) -> Option<&mut Drawn<P>> {
        if ahead < self.len { self.places[(self.first + ahead) % RING].as_mut() } else { None }
    }

    /// When the oldest arrives; `None`: there is none.
    #[inline(always)]
    pub fn due(&self) -> Option<Ticks> {
        self.places[self.first].as_ref().map(|drawn| drawn.due)
    }

    /// Takes back the plan of a transaction that has run; the memory of plans is used again.
    pub fn recycle(&mut self, plan: Plan) {
        self.plans.push(plan);
    }
}
