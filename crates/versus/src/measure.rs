//! A round: clients run transactions over a store for a while, each in a thread of its own; then the tables are checked.
//!
//! A commit counts at the moment when it survives what its class says. A client may go on before that: then it has so many commits in
//! flight, and waits for the oldest before it begins another one. What begins in the warm-up and ends in the interval counts; what ends
//! after it does not. Latency is from the beginning of the first attempt until the commit counts, or is seen to.

use crate::store::{Failed, Session, Store, Ticket};
use crate::workload::{Tally, Workload};
use hdrhistogram::Histogram;
use std::collections::VecDeque;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How a round is run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Clients.
    pub clients: usize,
    /// Commits of a client that may be waited for while it goes on; 1: it waits for each.
    pub in_flight: usize,
    /// Before what counts.
    pub warmup: Duration,
    /// What counts.
    pub duration: Duration,
    /// Of what is drawn.
    pub seed: u64,
}

/// What came of a round.
#[derive(Clone, Debug)]
pub struct Round {
    /// Commits that came to count in the interval, a second.
    pub throughput: f64,
    /// Attempts that were in vain, of all transactions.
    pub retries: u64,
    /// Of commits in the interval, in nanoseconds.
    pub latency: Histogram<u64>,
}

/// One client's part.
struct Part {
    latency: Histogram<u64>,
    retries: u64,
    tally: Tally,
}

impl Default for Part {
    fn default() -> Self {
        Part { latency: histogram(), retries: 0, tally: Tally::default() }
    }
}

/// Of nanoseconds, up to a minute, to three digits. Recording allocates nothing.
pub fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("the bounds are apart, and three digits are few")
}

/// The time that counts.
#[derive(Clone, Copy)]
struct Interval {
    begin: Instant,
    end: Instant,
}

impl Part {
    /// A commit that began then has come to count now.
    fn counts(&mut self, began: Instant, now: Instant, interval: Interval) {
        if interval.begin <= now && now < interval.end {
            self.latency.saturating_record((now - began).as_nanos() as u64);
        }
    }
}

/// Runs a round. What its transactions have done is added to `tally`.
pub fn round<S: Store, W: Workload>(
    store: &S,
    workload: &W,
    plan: Plan,
    tally: &mut Tally,
    stop: &AtomicBool,
) -> Result<Round, Failed> {
    let sessions = (0..plan.clients).map(|_| store.session()).collect::<Result<Vec<_>, _>>()?;
    let ready = Barrier::new(plan.clients);
    let failed = AtomicBool::new(false);
    let run = |number: usize, mut session: S::Session| {
        let mut client = workload.client(number as u64, plan.clients as u64, plan.seed);
        ready.wait();
        let begin = Instant::now() + plan.warmup;
        let interval = Interval { begin, end: begin + plan.duration };
        // Relaxed: who sees it late ends late.
        let goes_on = || !stop.load(Ordering::Relaxed) && !failed.load(Ordering::Relaxed);
        let part = one_client(workload, &mut client, &mut session, plan.in_flight, interval, goes_on);
        if part.is_err() {
            failed.store(true, Ordering::Relaxed);
        }
        part
    };
    let parts: Vec<Result<Part, Failed>> = thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = sessions
            .into_iter()
            .enumerate()
            .map(|(number, session)| scope.spawn(move || run(number, session)))
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a client does not panic")).collect()
    });
    let mut all = Part::default();
    for part in parts {
        let part = part?;
        all.latency.add(&part.latency).expect("both have the same bounds");
        all.retries += part.retries;
        *tally += part.tally;
    }
    let throughput = all.latency.len() as f64 / plan.duration.as_secs_f64();
    Ok(Round { throughput, retries: all.retries, latency: all.latency })
}

fn one_client<W: Workload, S: Session>(
    workload: &W,
    client: &mut W::Client,
    session: &mut S,
    in_flight: usize,
    interval: Interval,
    goes_on: impl Fn() -> bool,
) -> Result<Part, Failed> {
    let mut part = Part::default();
    let mut waiting: VecDeque<(Instant, S::Ticket)> = VecDeque::with_capacity(in_flight);
    let mut now = Instant::now();
    while now < interval.end && goes_on() {
        let began = now;
        let done = workload.next(client, session)?;
        part.retries += done.attempts - 1;
        part.tally += done.tally;
        now = Instant::now();
        match done.ticket {
            Some(ticket) if !ticket.counts() => waiting.push_back((began, ticket)),
            _ => part.counts(began, now, interval),
        }
        // In the order of their epochs, so the first that does not count yet is before others that do not.
        while waiting.front().is_some_and(|(_, ticket)| ticket.counts()) {
            let (began, _) = waiting.pop_front().expect("there is a first");
            part.counts(began, now, interval);
        }
        if waiting.len() >= in_flight {
            let (began, ticket) = waiting.pop_front().expect("one at least may be in flight");
            ticket.wait()?;
            now = Instant::now();
            part.counts(began, now, interval);
        }
    }
    for (_, ticket) in waiting {
        ticket.wait()?;
    }
    Ok(part)
}
