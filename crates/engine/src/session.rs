//! A worker's loop: takes transactions from its client, runs each until it ends, and measures.
//!
//! Transactions are drawn in bursts into a ring, ahead of being run. So the time to draw them is not counted in their
//! latency, one clock reading between two transactions ends the one and begins the next, and the lines of planned keys
//! can be asked for while earlier transactions run: the index's two transactions ahead, the records' one.
//!
//! The loop allocates nothing, makes no system call, and writes no cache line that another worker looks at, except the
//! data: everything here belongs to the worker, and the run's end is read off the worker's own clock.

use crate::architecture::Architecture;
use crate::facade::clock::{self, Ticks};
use crate::transaction::Txn;
use contract::{
    AbortReason, Client, Completion, EngineOptions, LatencyHistogram, Measurement, Outcome, Plan, Procedure,
    TimeShare, Until,
};

/// Transactions drawn ahead.
const RING: usize = 16;
/// Drawn at once when so many are left.
const REFILL_AT: usize = 4;

/// Transactions between two looks at the garbage.
const RECLAIM_EVERY: u64 = 64;

/// What one worker brings back.
pub(crate) struct Report<C> {
    pub client: C,
    pub elapsed_ns: u64,
    pub commits: u64,
    pub user_rollbacks: u64,
    pub aborts: [u64; AbortReason::ALL.len()],
    pub latency_ns: LatencyHistogram,
    pub time_share: TimeShare,
}

/// A transaction drawn, and what it says it will touch.
struct Drawn<P> {
    procedure: P,
    plan: Plan,
}

/// Transactions drawn and not yet run, oldest first.
struct Ring<P> {
    places: [Option<Drawn<P>>; RING],
    /// Plans whose transactions have run, for reuse.
    plans: Vec<Plan>,
    first: usize,
    len: usize,
}

impl<P> Ring<P> {
    fn new() -> Self {
        let plans = std::iter::repeat_with(|| Plan::with_capacity(256)).take(RING).collect();
        Ring { places: [const { None }; RING], plans, first: 0, len: 0 }
    }

    fn push(&mut self, drawn: Drawn<P>) {
        assert!(self.len < RING, "drawn into a full ring");
        self.places[(self.first + self.len) % RING] = Some(drawn);
        self.len += 1;
    }

    fn pop(&mut self) -> Drawn<P> {
        let drawn = self.places[self.first].take().expect("the ring was refilled");
        self.first = (self.first + 1) % RING;
        self.len -= 1;
        drawn
    }

    /// The transaction that will run after `ahead` others.
    fn peek(&self, ahead: usize) -> Option<&Drawn<P>> {
        self.places[(self.first + ahead) % RING].as_ref().filter(|_| ahead < self.len)
    }
}

/// What was counted since the warm-up ended.
struct Counts {
    commits: u64,
    user_rollbacks: u64,
    aborts: [u64; AbortReason::ALL.len()],
    latency_ns: LatencyHistogram,
}

impl Counts {
    fn new() -> Self {
        Counts {
            commits: 0,
            user_rollbacks: 0,
            aborts: [0; AbortReason::ALL.len()],
            latency_ns: Measurement::empty_histogram(),
        }
    }

    fn clear(&mut self) {
        (self.commits, self.user_rollbacks) = (0, 0);
        self.aborts = [0; AbortReason::ALL.len()];
        self.latency_ns.reset();
    }
}

/// One worker.
pub(crate) struct Session<'e, A: Architecture, C: Client> {
    txn: Txn<'e, A>,
    client: C,
    ring: Ring<C::Procedure>,
    counts: Counts,
    prefetch: bool,
    sample_one_in: u32,
    epochs: &'e crate::epoch::Epochs,
}

impl<'e, A: Architecture, C: Client> Session<'e, A, C> {
    /// A worker that runs `client`'s transactions in `txn`'s slot.
    pub fn new(
        txn: Txn<'e, A>,
        client: C,
        epochs: &'e crate::epoch::Epochs,
        options: &EngineOptions,
    ) -> Self {
        let (prefetch, sample_one_in) = (options.prefetch, options.sample_one_in);
        Session { txn, client, ring: Ring::new(), counts: Counts::new(), prefetch, sample_one_in, epochs }
    }

    /// Runs until `until`; answers what was counted, and the slot's supply of records.
    pub fn run(mut self, until: Until) -> (Report<C>, crate::storage::store::Supply) {
        let start = clock::now();
        let (mut counted_from, mut end, mut left) = match until {
            Until::Interval { warmup, .. } => {
                let warm = clock::ticks_of(warmup);
                let warm_at = Ticks(start.0 + warm);
                (Some(warm_at), Ticks(u64::MAX), u64::MAX)
            }
            Until::Transactions(number) => (None, Ticks(u64::MAX), number),
        };
        let mut began = start;
        let mut counting_since = start;
        let mut until_sample = self.sample_one_in;
        while left > 0 {
            if self.ring.len <= REFILL_AT.min(left as usize - 1) {
                self.refill(left);
                began = clock::now();
            }
            if self.sample_one_in != 0 {
                until_sample -= 1;
                if until_sample == 0 {
                    until_sample = self.sample_one_in;
                    self.txn.stopwatch.start();
                }
            }
            let drawn = self.ring.pop();
            self.prefetch_next();
            let (outcome, attempts) = self.execute(&drawn.procedure);
            if self.txn.stopwatch.is_on() {
                self.txn.stopwatch.stop();
            }
            let ended = clock::now();
            self.end_transaction(drawn, outcome, attempts, began, ended);
            began = ended;
            left -= 1;
            if counted_from.is_some_and(|from| ended >= from) {
                // The warm-up is over: what came before does not count.
                (counted_from, counting_since) = (None, ended);
                self.counts.clear();
                self.txn.stopwatch.take();
                if let Until::Interval { duration, .. } = until {
                    end = Ticks(ended.0 + clock::ticks_of(duration));
                }
            }
            if ended >= end {
                break;
            }
        }
        let elapsed_ns = clock::nanoseconds(began.since(counting_since));
        self.report(elapsed_ns)
    }

    /// Runs one transaction until it commits or rolls back; answers how, and after how many attempts.
    #[inline(always)]
    fn execute(&mut self, procedure: &C::Procedure) -> (Outcome, u32) {
        let mut attempts = 1;
        loop {
            self.txn.begin();
            let ended = match procedure.run(&mut self.txn) {
                Ok(Outcome::Commit) => self.txn.commit().map(|()| Outcome::Commit),
                // A poisoned transaction cannot roll back by its own will either: it saw what it must not rely on.
                Ok(Outcome::Rollback) => self.txn.roll_back().map(|()| Outcome::Rollback),
                Err(abort) => {
                    self.txn.abort();
                    Err(abort)
                }
            };
            match ended {
                Ok(outcome) => return (outcome, attempts),
                Err(abort) => {
                    self.counts.aborts[abort.0.index()] += 1;
                    self.txn.architecture.back_off(attempts);
                    self.txn.stopwatch.aborted();
                    attempts += 1;
                }
            }
        }
    }

    #[inline(always)]
    fn end_transaction(
        &mut self,
        drawn: Drawn<C::Procedure>,
        outcome: Outcome,
        attempts: u32,
        began: Ticks,
        ended: Ticks,
    ) {
        match outcome {
            Outcome::Commit => {
                self.counts.commits += 1;
                self.counts.latency_ns.saturating_record(clock::nanoseconds(ended.since(began)));
            }
            Outcome::Rollback => self.counts.user_rollbacks += 1,
        }
        if (self.counts.commits + self.counts.user_rollbacks).is_multiple_of(RECLAIM_EVERY) {
            let reclaimable = self.epochs.reclaimable();
            self.txn.supply.iter_mut().flatten().for_each(|cache| cache.reclaim(reclaimable));
        }
        let completion = Completion {
            outcome,
            began_ns: clock::nanoseconds(began.0),
            ended_ns: clock::nanoseconds(ended.0),
            attempts,
            receipts: self.txn.receipts(),
        };
        self.client.finished(drawn.procedure, &completion);
        self.ring.plans.push(drawn.plan);
    }

    /// Draws transactions until the ring is full, or until as many are drawn as are left to run.
    fn refill(&mut self, left: u64) {
        while self.ring.len < RING && (self.ring.len as u64) < left {
            let procedure = self.client.next();
            let mut plan = self.ring.plans.pop().expect("a plan for every place of the ring");
            plan.clear();
            if self.prefetch {
                self.plan(&procedure, &mut plan);
            }
            self.ring.push(Drawn { procedure, plan });
        }
    }

    /// Lets a procedure plan, in a transaction of its own. What it saw is for prefetching only, so it is let go.
    #[inline(always)]
    fn plan(&mut self, procedure: &C::Procedure, plan: &mut Plan) {
        self.txn.begin();
        if procedure.plan(&mut self.txn, plan).is_err() {
            plan.clear();
        }
        self.txn.end_look();
    }

    #[inline(always)]
    fn prefetch_next(&self) {
        if !self.prefetch {
            return;
        }
        if let Some(second) = self.ring.peek(1) {
            self.txn.prefetch_index(&second.plan);
        }
        if let Some(next) = self.ring.peek(0) {
            self.txn.prefetch_records(&next.plan);
        }
    }

    fn report(mut self, elapsed_ns: u64) -> (Report<C>, crate::storage::store::Supply) {
        let time_share = self.txn.stopwatch.take();
        let Counts { commits, user_rollbacks, aborts, latency_ns } = self.counts;
        let client = self.client;
        let report = Report { client, elapsed_ns, commits, user_rollbacks, aborts, latency_ns, time_share };
        (report, self.txn.leave())
    }
}
