//! What a worker draws, counts and decides: its client, the transactions drawn, the tally of those that ended, and
//! whether the run is over.
//!
//! What counts is what ends between the end of the warm-up and the end of the run, the same moments for every worker. (A
//! worker that began to count with its first transaction after the warm-up, for as long as the run is to take, would
//! have a time of its own if it had waited for long: under a latch that is not fair one after the other would have the
//! latch to itself for that time, and their sum be many times what was done in it.)
//!
//! Everything here belongs to one worker, and nothing is shared: the run's end is read off the worker's own clock.

use super::ring::{Drawn, RING, Ring};
use super::slot::Ended;
use crate::facade::clock::{self, Ticks};
use crate::work;
use contract::{
    AbortReason, Client, Completion, DriveError, Effort, EngineOptions, LatencyHistogram, Measurement,
    Outcome, Receipts, TimeShare, Until,
};
use std::time::Duration;

/// Drawn at once when so many are left.
const REFILL_AT: usize = 4;

/// Aborts by reason.
pub(super) type Aborts = [u64; AbortReason::ALL.len()];

/// What one worker brings back.
pub(crate) struct Report<C> {
    pub client: C,
    pub elapsed_ns: u64,
    pub commits: u64,
    pub user_rollbacks: u64,
    pub aborts: Aborts,
    pub latency_ns: LatencyHistogram,
    pub time_share: TimeShare,
    pub effort: Effort,
    pub error: Option<DriveError>,
}

/// What was counted since the warm-up ended.
struct Counts {
    commits: u64,
    user_rollbacks: u64,
    aborts: Aborts,
    latency_ns: LatencyHistogram,
    time_share: TimeShare,
    effort: Effort,
}

impl Counts {
    fn new() -> Self {
        Counts {
            commits: 0,
            user_rollbacks: 0,
            aborts: Aborts::default(),
            latency_ns: Measurement::empty_histogram(),
            time_share: TimeShare::default(),
            effort: Effort::default(),
        }
    }

    fn clear(&mut self) {
        (self.commits, self.user_rollbacks) = (0, 0);
        self.aborts = Aborts::default();
        self.latency_ns.reset();
        self.time_share = TimeShare::default();
        self.effort = Effort::default();
    }
}

/// When counting begins and when the run ends.
struct Interval {
    /// The end of the warm-up.
    counting_since: Ticks,
    /// Whether no transaction has ended since.
    warming_up: bool,
    end: Ticks,
    /// The end of the last transaction.
    last: Ticks,
}

/// A worker's desk.
pub(crate) struct Desk<C: Client> {
    client: C,
    ring: Ring<C::Procedure>,
    /// Transactions to be taken yet.
    left: u64,
    counts: Counts,
    interval: Interval,
    error: Option<DriveError>,
    /// How often counting has begun: what was tallied elsewhere before is not to be counted.
    pub generation: u32,
}

impl<C: Client> Desk<C> {
    /// A worker with up to `in_flight` transactions at a time.
    pub fn new(client: C, until: Until, in_flight: usize) -> Self {
        let start = clock::now();
        let after = |time: Ticks, pass: Duration| Ticks(time.0.saturating_add(clock::ticks_of(pass)));
        let (counting_since, end, left) = match until {
            Until::Interval { warmup, duration } => {
                let warm_at = after(start, warmup);
                (warm_at, after(warm_at, duration), u64::MAX)
            }
            Until::Transactions(number) => (start, Ticks(u64::MAX), number),
        };
        let warming_up = matches!(until, Until::Interval { .. });
        let interval = Interval { counting_since, warming_up, end, last: start };
        let (ring, counts) = (Ring::new(in_flight), Counts::new());
        Desk { client, ring, left, counts, interval, error: None, generation: 0 }
    }

    /// Whether there is to be another transaction: if so, it is drawn, and is the first of the ring. `plan` is given every
    /// transaction that is drawn.
    #[inline(always)]
    pub fn has_next(&mut self, mut plan: impl FnMut(&mut Drawn<C::Procedure>)) -> bool {
        if self.left == 0 {
            return false;
        }
        if self.ring.len() <= REFILL_AT.min(self.left as usize - 1) {
            // As many as are left, and no more.
            while self.ring.len() < RING && (self.ring.len() as u64) < self.left {
                self.ring.push(self.client.next());
                let last = self.ring.len() - 1;
                plan(self.ring.peek(last).expect("just drawn"));
            }
            self.interval.last = clock::now();
        }
        true
    }

    /// The transaction that will run after `ahead` others; the one that runs, if it was not taken out, is the first.
    #[inline(always)]
    pub fn peek(&mut self, ahead: usize) -> Option<&mut Drawn<C::Procedure>> {
        self.ring.peek(ahead)
    }

    /// Takes the first transaction out.
    #[inline(always)]
    pub fn take(&mut self) -> Drawn<C::Procedure> {
        work::transaction();
        self.left -= 1;
        self.ring.pop().expect("there is a next one")
    }

    /// When a transaction that has not ended outlasts the run.
    #[inline(always)]
    pub fn gives_up_at(&self) -> Ticks {
        self.interval.end
    }

    /// A transaction was given up, now: the run is over.
    pub fn give_up(&mut self, aborts: &mut Aborts) {
        let now = clock::now();
        self.warm_up(now);
        for (sum, aborts) in self.counts.aborts.iter_mut().zip(std::mem::take(aborts)) {
            *sum += aborts;
        }
        self.interval.last = now;
        self.left = 0;
    }

    /// When the last transaction ended, or the worker was ready for another.
    #[inline(always)]
    pub fn last(&self) -> Ticks {
        self.interval.last
    }

    /// A transaction has ended, now.
    #[inline(always)]
    pub fn end(
        &mut self,
        drawn: Drawn<C::Procedure>,
        ended: Ended,
        began: Ticks,
        aborts: &mut Aborts,
        receipts: &dyn Receipts,
    ) {
        let now = clock::now();
        self.interval.last = now;
        self.warm_up(now);
        if now < self.interval.end {
            self.count(&ended, now.since(began), aborts);
        } else {
            self.left = 0;
        }
        let completion = Completion {
            outcome: ended.outcome,
            began_ns: clock::nanoseconds(began.0),
            ended_ns: clock::nanoseconds(now.0),
            attempts: ended.attempts,
            receipts,
        };
        self.client.finished(drawn.procedure, &completion);
        self.ring.recycle(drawn.plan);
    }

    /// If the warm-up is over, forgets what came before.
    #[inline(always)]
    fn warm_up(&mut self, now: Ticks) {
        if self.interval.warming_up && now >= self.interval.counting_since {
            self.interval.warming_up = false;
            self.counts.clear();
            self.generation += 1;
        }
    }

    #[inline(always)]
    fn count(&mut self, ended: &Ended, ticks: u64, aborts: &mut Aborts) {
        match ended.outcome {
            Outcome::Commit => {
                self.counts.commits += 1;
                self.counts.latency_ns.saturating_record(clock::nanoseconds(ticks));
            }
            Outcome::Rollback => self.counts.user_rollbacks += 1,
        }
        if ended.attempts > 1 {
            for (sum, aborts) in self.counts.aborts.iter_mut().zip(std::mem::take(aborts)) {
                *sum += aborts;
            }
        }
    }

    /// Adds what was sampled of a transaction.
    pub fn add_sample(&mut self, time_share: &TimeShare) {
        self.counts.time_share.add(time_share);
    }

    /// Adds what the architecture cost.
    pub fn add_effort(&mut self, effort: &Effort) {
        self.counts.effort.merge(effort);
    }

    /// The run is over for this worker, before its time.
    #[cold]
    pub fn fail(&mut self, error: DriveError) {
        self.left = 0;
        self.error.get_or_insert(error);
    }

    /// No transaction is taken any more.
    pub fn stop(&mut self) {
        self.left = 0;
    }

    /// What the worker brings back.
    pub fn report(self) -> Report<C> {
        let Counts { commits, user_rollbacks, aborts, latency_ns, time_share, effort } = self.counts;
        let Interval { counting_since, end, last, .. } = self.interval;
        let elapsed_ns = clock::nanoseconds(last.min(end).since(counting_since));
        let (client, error) = (self.client, self.error);
        Report { client, elapsed_ns, commits, user_rollbacks, aborts, latency_ns, time_share, effort, error }
    }
}

/// One transaction in so many is sampled.
pub(super) struct Sampling {
    one_in: u32,
    until: u32,
}

impl Sampling {
    /// As the options say.
    pub fn new(options: &EngineOptions) -> Self {
        Sampling { one_in: options.sample_one_in, until: options.sample_one_in }
    }

    /// Whether the next transaction is sampled.
    #[inline(always)]
    pub fn next(&mut self) -> bool {
        if self.one_in == 0 {
            return false;
        }
        self.until -= 1;
        let sampled = self.until == 0;
        if sampled {
            self.until = self.one_in;
        }
        sampled
    }
}
