//! A worker: draws transactions from a client, runs each until it commits or rolls back by its own will, and counts.
//!
//! It counts as the engine's workers do. All count in one interval, which follows from the moment at which they were let go: what ends in it
//! counts, and of latency what begins in it, followed to its end while the others go on.

use crate::session::Session;
use crate::transaction::Left;
use crate::wire::Failed;
use contract::{
    AbortReason, Arrival, Client, Completion, EngineOptions, Measurement, Outcome, Plan, PrefetchName,
    Procedure, Sampled, Until,
};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How often a client that has nothing is asked again.
const ASK_AGAIN: Duration = Duration::from_millis(1);

/// The longest time that what began in the interval is followed after it, in intervals, and whatever the interval.
const LONGEST_COOL_DOWN: (u32, Duration) = (4, Duration::from_secs(1));

/// What is the same for all workers of a run.
pub struct Run<'a> {
    /// When it ends.
    pub until: Until,
    /// What the engine is told.
    pub options: &'a EngineOptions,
    /// When workers were let go.
    pub start: Instant,
    /// Workers that have begun something in the interval that has not ended.
    pub busy: &'a AtomicUsize,
    /// Transactions that were begun and have not ended.
    pub open: &'a AtomicU64,
}

/// What a worker brings back.
pub struct Report<C> {
    /// Its client.
    pub client: C,
    /// What it counted.
    pub measurement: Measurement,
    /// Why it ended before its time, if it did.
    pub failed: Option<Failed>,
}

/// The counted interval, in time since the start.
#[derive(Clone, Copy)]
struct Interval {
    from: Duration,
    to: Duration,
    given_up_at: Duration,
}

impl Interval {
    fn of(until: Until) -> Interval {
        match until {
            Until::Transactions(_) => {
                Interval { from: Duration::ZERO, to: Duration::MAX, given_up_at: Duration::MAX }
            }
            Until::Interval { warmup, duration } => {
                let (intervals, most) = LONGEST_COOL_DOWN;
                let to = warmup + duration;
                Interval { from: warmup, to, given_up_at: to + (duration * intervals).min(most) }
            }
        }
    }

    fn contains(self, time: Duration) -> bool {
        self.from <= time && time < self.to
    }
}

/// How a transaction ended.
enum Ended {
    /// By its own will.
    Over { outcome: Outcome, attempts: u32, left: Left },
    /// When it had not ended long after the interval.
    GivenUp,
}

struct Worker<'a> {
    run: &'a Run<'a>,
    interval: Interval,
    session: Session,
    plan: Plan,
    measurement: Measurement,
    is_busy: bool,
}

/// Runs a client's transactions over a connection until the run is over.
pub fn work<C: Client>(mut client: C, session: Session, run: &Run<'_>) -> Report<C> {
    let mut worker = Worker {
        run,
        interval: Interval::of(run.until),
        session,
        plan: Plan::with_capacity(64),
        measurement: Measurement { commits_by_worker: vec![0], ..Measurement::nothing(Duration::ZERO, 1) },
        is_busy: matches!(run.until, Until::Interval { .. }),
    };
    let failed = worker.serve(&mut client).err();
    worker.tell_done();
    Report { client, measurement: worker.close(), failed }
}

impl Worker<'_> {
    fn now(&self) -> Duration {
        self.run.start.elapsed()
    }

    fn serve<C: Client>(&mut self, client: &mut C) -> Result<(), Failed> {
        let mut left = match self.run.until {
            Until::Interval { .. } => u64::MAX,
            Until::Transactions(number) => number,
        };
        let mut free_since = Duration::ZERO;
        while left > 0 && !self.is_over() {
            match client.arrival() {
                Arrival::Ready => {}
                Arrival::Closed => break,
                Arrival::NothingNow => {
                    thread::sleep(ASK_AGAIN);
                    continue;
                }
            }
            let procedure = client.next();
            let began = self.now();
            if self.interval.contains(began) {
                self.measurement.between.add(nanoseconds(began - free_since.max(self.interval.from)));
            }
            let asked = self.session.round_trips();
            let ended = self.carry_out(&procedure)?;
            let now = self.now();
            self.count_requests(asked, now);
            self.count(&ended, began, now);
            let Ended::Over { outcome, attempts, left: receipts } = ended else { break };
            let completion = Completion {
                outcome,
                began_ns: nanoseconds(began),
                ended_ns: nanoseconds(now),
                attempts,
                // Ignite tells its clients neither of versions nor of an order.
                id: None,
                epoch: None,
                snapshot: None,
                receipts: &receipts,
            };
            client.finished(procedure, &completion);
            (free_since, left) = (now, left - 1);
        }
        Ok(())
    }

    /// Whether the interval is over, and all that anybody began in it has ended.
    fn is_over(&mut self) -> bool {
        let now = self.now();
        if now < self.interval.to {
            return false;
        }
        self.tell_done();
        // Relaxed, here and below: the count orders nothing else.
        self.run.busy.load(Ordering::Relaxed) == 0 || now >= self.interval.given_up_at
    }

    /// All that this worker began in the interval has ended. Told once.
    fn tell_done(&mut self) {
        if std::mem::take(&mut self.is_busy) {
            self.run.busy.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Tries until it ends.
    fn carry_out<P: Procedure>(&mut self, procedure: &P) -> Result<Ended, Failed> {
        for attempts in 1.. {
            match self.attempt(procedure) {
                Ok((outcome, left)) => return Ok(Ended::Over { outcome, attempts, left }),
                Err(Failed::Aborted(reason)) => self.count_abort(reason),
                Err(failed) => return Err(failed),
            }
            if self.now() >= self.interval.given_up_at {
                return Ok(Ended::GivenUp);
            }
            self.session.back_off(attempts);
        }
        unreachable!("it is tried until it ends")
    }

    fn attempt<P: Procedure>(&mut self, procedure: &P) -> Result<(Outcome, Left), Failed> {
        let Run { options, open, .. } = *self.run;
        let plan = &mut self.plan;
        plan.clear();
        open.fetch_add(1, Ordering::Relaxed);
        let done = self.session.attempt(|txn| {
            if options.prefetch != PrefetchName::Off {
                procedure.plan(txn, plan)?;
                txn.fetch(plan)?;
            }
            procedure.run(txn)
        });
        if !matches!(done, Err(Failed::Otherwise(_))) {
            open.fetch_sub(1, Ordering::Relaxed);
        }
        done
    }

    /// Aborts count when they happen.
    fn count_abort(&mut self, reason: AbortReason) {
        if self.interval.contains(self.now()) {
            self.measurement.aborts[reason.index()] += 1;
        }
    }

    fn count(&mut self, ended: &Ended, began: Duration, now: Duration) {
        let measurement = &mut self.measurement;
        let (began_within, ns) = (self.interval.contains(began), nanoseconds(now - began));
        if began_within {
            measurement.response.add(ns);
        }
        measurement.outlasting += u64::from(began < self.interval.from && now >= self.interval.to);
        match *ended {
            Ended::Over { outcome, attempts, .. } if self.interval.contains(now) => match outcome {
                Outcome::Commit => {
                    measurement.commits += 1;
                    measurement.commits_by_worker[0] += 1;
                    measurement.retried += u64::from(attempts > 1);
                }
                Outcome::Rollback => measurement.user_rollbacks += 1,
            },
            Ended::Over { .. } => {}
            Ended::GivenUp => measurement.unfinished += u64::from(began_within),
        }
        let is_rollback = matches!(ended, Ended::Over { outcome: Outcome::Rollback, .. });
        if began_within && !is_rollback {
            measurement.latency_ns.saturating_record(ns.max(1));
        }
    }

    /// What was asked since then, and how long the answers took.
    fn count_requests(&mut self, (before, waited_before): (u64, Duration), now: Duration) {
        if self.interval.contains(now) {
            let (requests, waited) = self.session.round_trips();
            let (samples, waited) = (requests - before, waited - waited_before);
            self.measurement.effort.messages += samples;
            self.measurement.effort.round_trip += Sampled { samples, ns: nanoseconds(waited) };
        }
    }

    /// What was counted in the whole interval.
    fn close(mut self) -> Measurement {
        let now = self.now();
        let interval = self.interval;
        self.measurement.elapsed = interval.to.min(now).saturating_sub(interval.from);
        self.measurement.absent_workers =
            usize::from(self.measurement.commits + self.measurement.user_rollbacks == 0);
        self.measurement
    }
}

fn nanoseconds(time: Duration) -> u64 {
    time.as_nanos() as u64
}
