//! What a worker draws, counts and decides: its client, the transactions drawn, the tally of those that ended, and
//! whether the run is over.
//!
//! What counts, and for what, is told in [`interval`](super::interval). Of a transaction's time there are two parts:
//!
//! - its *latency*: from the beginning of its first attempt to its commit, with all that lies in between, aborted attempts and
//!   back-off among them;
//! - what lies *between* the end of one transaction of a slot and the beginning of the next: drawing it, planning it, and
//!   waiting for the worker where several slots share one.
//!
//! In an open loop a transaction's *response* is from its arrival on, and what a closed loop calls latency is its *service*. All that arrived in the interval is followed to its end,
//! whether or not it ever began: who left out those that waited would leave out the longest.
//!
//! This is so under every architecture. Together they are all of a slot's time, which is what Little's law is checked by.
//!
//! A transaction that carries a stopwatch takes longer than it would without: it counts for everything but the histogram of
//! latencies.
//!
//! Everything here belongs to one worker, and nothing is shared until the interval is over, which is read off the worker's own
//! clock.

use super::Run;
use super::interval::{CoolDown, Interval};
use super::processor::Processor;
use super::put_off::{Committed, PutOff};
use super::resting::Resting;
use super::ring::{Drawn, RING, Ring};
use super::schedule::{Among, Schedule};
use super::series::SliceCounts;
use super::slot::Ended;
use crate::facade::clock::{self, Ticks};
use crate::work;
use contract::{
    AbortReason, Arrival, Arrived, Client, Completion, Effort, EngineOptions, KindCounts, LatencyHistogram,
    Measurement, Outcome, Procedure, Receipts, RunError, Sampled, Series, TimeShare, Until,
};
use std::collections::VecDeque;

/// Transactions of a worker for which there is room until they are durable: half a million a second, for two epochs of 40 ms.
const MOST_UNDURABLE: usize = 1 << 16;

/// Drawn at once when so many are left.
const REFILL_AT: usize = 4;

/// Aborts by reason.
pub(super) type Aborts = [u64; AbortReason::ALL.len()];

/// What one worker brings back.
pub(crate) struct Report<C> {
    pub client: C,
    pub counts: Counts,
    /// The counted time.
    pub elapsed_ns: u64,
    pub error: Option<RunError>,
}

/// What was counted in the interval.
pub(crate) struct Counts {
    pub commits: u64,
    pub user_rollbacks: u64,
    /// Commits that took more than one attempt.
    pub retried: u64,
    pub aborts: Aborts,
    pub time_share: TimeShare,
    pub effort: Effort,
    /// Of what arrived in the interval and committed, without a stopwatch.
    pub latency_ns: LatencyHistogram,
    /// By kind, if there are several.
    pub kinds: Vec<KindCounts>,
    /// Of an open loop.
    pub arrived: Option<Arrived>,
    /// By slices, if that is asked for.
    pub series: Option<Series>,
    /// Of all that began in the interval and ended, rollbacks among them.
    pub response: Sampled,
    /// What lay between two transactions.
    pub between: Sampled,
    /// What arrived in the interval and was given up.
    pub unfinished: u64,
    /// What began before the interval and ended, or was given up, after it.
    pub outlasting: u64,
    /// Time of slots that waited for a transaction of theirs at the end of the interval.
    pub idle_ns: u64,
}

impl Counts {
    fn new() -> Self {
        Counts {
            commits: 0,
            user_rollbacks: 0,
            retried: 0,
            aborts: Aborts::default(),
            time_share: TimeShare::default(),
            effort: Effort::default(),
            latency_ns: touched(Measurement::empty_histogram()),
            kinds: Vec::new(),
            arrived: None,
            series: None,
            response: Sampled::default(),
            between: Sampled::default(),
            unfinished: 0,
            outlasting: 0,
            idle_ns: 0,
        }
    }
}

/// A histogram whose pages the system has given, so that none is cleared while transactions run.
fn touched(mut histogram: LatencyHistogram) -> LatencyHistogram {
    histogram.reset();
    histogram
}

/// Where a worker is in its run, by its own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing counts yet.
    WarmUp,
    /// What ends counts.
    Counting,
    /// What began in the interval is followed to its end.
    CoolDown,
}

impl Phase {
    /// In which a run begins.
    pub fn first(until: Until) -> Phase {
        match until {
            Until::Interval { .. } => Phase::WarmUp,
            Until::Transactions(_) => Phase::Counting,
        }
    }
}

/// What a worker does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// It runs the first transaction of the ring.
    Drawn,
    /// It asks again: the client has none now.
    NothingNow,
    /// It ends its run.
    Over,
}

/// When a transaction began, and when it had arrived: in a closed loop that is the same.
#[derive(Clone, Copy)]
pub(super) struct Begun {
    pub arrived: Ticks,
    pub began: Ticks,
}

/// A worker's statistics.
pub(crate) struct WorkerStatistics<'e, C: Client> {
    client: C,
    ring: Ring<C::Procedure>,
    /// Transactions to be taken yet.
    left: u64,
    counts: Counts,
    interval: Interval,
    phase: Phase,
    /// When transactions arrive, in an open loop.
    schedule: Option<Schedule>,
    slices: Option<SliceCounts>,
    /// Of an open loop, as what follows.
    resting: Option<Resting>,
    put_off: Option<PutOff>,
    processor: Processor,
    /// When the last transaction ended, or the worker was ready for another.
    last: Ticks,
    /// Transactions that have begun and not ended, and had arrived in the interval.
    running: usize,
    cool_down: &'e CoolDown,
    /// Whether the cool-down has been told that all of them have.
    done: bool,
    error: Option<RunError>,
    /// What has committed and is not durable, in the order of the commits.
    undurable: VecDeque<Undurable>,
    /// The last epoch that the client was told of.
    durable: u64,
}

/// A transaction that has committed and is not durable.
struct Undurable {
    epoch: u64,
    begun: Begun,
    kind: usize,
    ended: Ended,
}

impl<'e, C: Client> WorkerStatistics<'e, C> {
    /// The worker of this number, with up to `in_flight` transactions at a time, in a run that began at `start`.
    pub fn new(client: C, number: usize, start: Ticks, in_flight: usize, run: Run<'e>) -> Self {
        let Run { until, cool_down, log, options, among, .. } = run;
        let interval = Interval::new(start, until);
        let among = Among { number: among.number + number, ..among };
        let mut counts = Counts::new();
        counts.kinds = client.kinds().iter().map(|name| KindCounts::nothing(name)).collect();
        counts.kinds.iter_mut().for_each(|of| of.latency_ns.reset());
        counts.arrived = options.open_loop.map(|open_loop| Arrived {
            open_loop,
            arrived: 0,
            queued: 0,
            service_ns: touched(Measurement::empty_histogram()),
        });
        let left = match until {
            Until::Interval { .. } => u64::MAX,
            Until::Transactions(number) => number,
        };
        let mut processor = Processor::of_this_thread(options);
        if Phase::first(until) == Phase::Counting {
            processor.begin();
        }
        WorkerStatistics {
            client,
            ring: Ring::new(in_flight),
            left,
            counts,
            interval,
            phase: Phase::first(until),
            schedule: options.open_loop.map(|of| Schedule::new(of, among, start, options.seed)),
            slices: options.series.then(|| SliceCounts::new(interval, until)).flatten(),
            resting: options.open_loop.map(|_| Resting::new(interval)),
            put_off: options.open_loop.map(|_| PutOff::new()),
            processor,
            last: start,
            running: 0,
            cool_down,
            // A run of so many transactions has no interval, and nobody waits for its end.
            done: matches!(until, Until::Transactions(_)),
            error: None,
            undurable: VecDeque::with_capacity(if log.is_some() { MOST_UNDURABLE } else { 0 }),
            durable: 0,
        }
    }

    /// Whether there is to be another transaction: if so, it is drawn, and is the first of the ring. `plan` is given every
    /// transaction that is drawn.
    #[inline(always)]
    pub fn next(&mut self, mut plan: impl FnMut(&mut Drawn<C::Procedure>)) -> Next {
        if self.phase == Phase::CoolDown
            && (self.cool_down.is_over() || self.last >= self.interval.given_up_at)
        {
            self.left = 0;
        }
        if self.left == 0 {
            return Next::Over;
        }
        if self.ring.len() <= REFILL_AT.min(self.left as usize - 1) {
            while self.draw(&mut plan) {}
            self.last = clock::now();
            if self.ring.len() == 0 {
                return self.nothing_drawn();
            }
        }
        if self.schedule.is_some() && !self.has_arrived() {
            if self.resting.as_mut().is_some_and(Resting::nothing_has_arrived) {
                self.count_put_off();
                self.draw(&mut plan);
            }
            return self.nothing_drawn();
        }
        Next::Drawn
    }

    /// Draws one more, if there is room, one is left, and the client has one.
    #[inline]
    fn draw(&mut self, plan: &mut impl FnMut(&mut Drawn<C::Procedure>)) -> bool {
        if self.ring.len() == RING || self.ring.len() as u64 >= self.left {
            return false;
        }
        match self.client.arrival() {
            Arrival::Ready => {}
            Arrival::NothingNow => return false,
            Arrival::Closed => {
                self.left = self.ring.len() as u64;
                return false;
            }
        }
        work::transaction();
        let due = self.schedule.as_mut().map_or(Ticks(0), Schedule::next);
        self.ring.push(self.client.next(), due);
        let last = self.ring.len() - 1;
        plan(self.ring.peek(last).expect("just drawn"));
        true
    }

    /// Whether no transaction is taken any more.
    #[inline(always)]
    pub fn is_over(&self) -> bool {
        self.left == 0
    }

    /// Whether the first of the ring has.
    #[inline]
    fn has_arrived(&mut self) -> bool {
        let due = self.ring.due().expect("it is drawn");
        if due > self.last {
            self.last = clock::now();
        }
        due <= self.last
    }

    /// When the next transaction arrives, in an open loop.
    #[inline]
    pub fn next_arrival(&self) -> Option<Ticks> {
        let schedule = self.schedule.as_ref()?;
        Some(self.ring.due().unwrap_or_else(|| schedule.peek()))
    }

    /// The client, to decode fragments.
    pub fn client(&mut self) -> &mut C {
        &mut self.client
    }

    /// The client has no transaction, now or ever.
    #[cold]
    fn nothing_drawn(&mut self) -> Next {
        self.turn(self.last);
        if self.phase == Phase::CoolDown {
            self.tell_if_done();
        }
        if self.left == 0 { Next::Over } else { Next::NothingNow }
    }

    /// The transaction that will run after `ahead` others; the one that runs, if it was not taken out, is the first.
    #[inline(always)]
    pub fn peek(&mut self, ahead: usize) -> Option<&mut Drawn<C::Procedure>> {
        self.ring.peek(ahead)
    }

    /// Takes the first transaction out.
    #[inline(always)]
    pub fn take(&mut self) -> Drawn<C::Procedure> {
        self.left -= 1;
        self.ring.pop().expect("there is a next one")
    }

    /// A transaction that was due then begins, in a slot that has been free since `free_since`.
    #[inline(always)]
    pub fn begin(&mut self, free_since: Ticks, due: Ticks, began: Ticks) -> Begun {
        self.turn(began);
        if let Some(resting) = &mut self.resting {
            resting.begin(began);
        }
        let arrived = if self.schedule.is_some() { due } else { began };
        self.running += usize::from(self.interval.contains(arrived));
        if self.interval.contains(began) {
            self.counts.between.add(began.since(free_since.max(self.interval.from)));
        } else {
            self.idle(free_since);
        }
        if let Some(of_all) = &mut self.counts.arrived {
            of_all.arrived += u64::from(self.interval.contains(arrived));
            of_all.queued += u64::from(arrived < self.interval.to && began >= self.interval.to);
        }
        if let Some(slices) = &mut self.slices {
            slices.begin(arrived, began);
        }
        Begun { arrived, began }
    }

    /// A transaction of the worker ends, which may have so many in flight.
    #[inline]
    pub fn has_admitted(&mut self, in_flight: usize) {
        if self.phase == Phase::Counting {
            self.counts.effort.admissions += 1;
            self.counts.effort.admitted += in_flight as u64;
        }
    }

    /// A slot that has been free since then begins nothing more in the interval.
    pub fn idle(&mut self, free_since: Ticks) {
        // A slot whose last transaction has ended after the interval was busy at its end.
        if self.phase == Phase::CoolDown {
            self.counts.idle_ns += self.interval.to.since(free_since.max(self.interval.from));
        }
    }

    /// A slot that has been free since then begins nothing more in the run.
    pub fn leave(&mut self, free_since: Ticks) {
        if self.interval.to != Ticks(u64::MAX) {
            self.counts.idle_ns += self.interval.to.since(free_since.max(self.interval.from));
        }
    }

    /// A slot that has been free since then was to begin nothing until now; answers the time.
    pub fn has_rested(&mut self, free_since: Ticks) -> Ticks {
        let now = clock::now();
        let Interval { from, to, .. } = self.interval;
        self.counts.idle_ns += now.min(to).since(free_since.max(from));
        now
    }

    /// A transaction that had ended then has kept its slot until now, when it is durable: the next one begins now at the earliest.
    pub fn has_waited_for_log(&mut self, begun: Begun, ended: Ticks) {
        self.is_ready();
        if self.interval.contains(begun.began) {
            self.counts.response.ns += self.last.since(ended);
        }
    }

    /// The worker was busy with something else, and is ready for a transaction now.
    pub fn is_ready(&mut self) {
        self.last = clock::now();
    }

    /// No transaction of this worker runs, or will be ended: others need not wait for it.
    pub fn all_have_ended(&mut self) {
        self.running = 0;
        self.give_up_queue();
        self.tell_if_done();
    }

    /// What arrived in the interval and has not begun never will.
    fn give_up_queue(&mut self) {
        let Interval { to, .. } = self.interval;
        while to != Ticks(u64::MAX)
            && let Some(due) = self.next_arrival().filter(|due| *due < to)
        {
            if self.ring.pop().is_none()
                && let Some(schedule) = &mut self.schedule
            {
                schedule.next();
            }
            if let Some(of_all) = &mut self.counts.arrived {
                of_all.queued += 1;
                of_all.arrived += u64::from(self.interval.contains(due));
            }
            if self.interval.contains(due) {
                self.counts.unfinished += 1;
                // It would have taken longer still.
                self.counts.latency_ns.saturating_record(clock::nanoseconds(self.last.since(due)));
            }
            if let Some(slices) = &mut self.slices {
                slices.arrive(due);
            }
        }
    }

    /// When transactions count.
    #[inline(always)]
    pub fn interval(&self) -> Interval {
        self.interval
    }

    /// A transaction was given up, now: the run is over.
    pub fn give_up(&mut self, begun: Begun, aborts: &mut Aborts) {
        let Begun { arrived, began } = begun;
        let now = clock::now();
        self.turn(now);
        if let Some(resting) = &mut self.resting {
            resting.end();
        }
        self.count_aborts(aborts, now);
        if self.interval.contains(began) {
            self.counts.response.add(now.since(began));
        }
        if self.interval.contains(arrived) {
            self.counts.unfinished += 1;
            // It would have taken longer still.
            self.counts.latency_ns.saturating_record(clock::nanoseconds(now.since(arrived)));
            self.running -= 1;
        }
        self.count_outlasting(began, now);
        self.tell_if_done();
        self.last = now;
        self.left = 0;
    }

    /// When the last transaction ended, or the worker was ready for another.
    #[inline(always)]
    pub fn last(&self) -> Ticks {
        self.last
    }

    /// Where the worker is in its run.
    #[inline(always)]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// A transaction has ended, now.
    #[inline(always)]
    pub fn end(
        &mut self,
        drawn: Drawn<C::Procedure>,
        ended: Ended,
        begun: Begun,
        aborts: &mut Aborts,
        receipts: &dyn Receipts,
    ) {
        let Begun { began, .. } = begun;
        let now = clock::now();
        self.last = now;
        self.turn(now);
        if let Some(resting) = &mut self.resting {
            resting.end();
        }
        if ended.attempts > 1 {
            self.count_aborts(aborts, now);
        }
        if self.interval.contains(began) {
            self.counts.response.add(now.since(began));
        }
        self.count_outlasting(began, now);
        let kind = drawn.procedure.kind();
        match ended.epoch {
            None => self.count(&ended, begun, kind, now),
            Some(epoch) => self.undurable.push_back(Undurable { epoch, begun, kind, ended }),
        }
        if self.phase == Phase::CoolDown {
            self.tell_if_done();
        }
        let completion = Completion {
            outcome: ended.outcome,
            began_ns: clock::reading_ns(began),
            ended_ns: clock::reading_ns(now),
            attempts: ended.attempts,
            id: ended.id,
            epoch: ended.epoch,
            snapshot: ended.snapshot,
            receipts,
        };
        self.client.finished(drawn.procedure, &completion);
        self.ring.recycle(drawn.plan);
    }

    /// Goes on to the phase that `now` lies in.
    #[inline(always)]
    fn turn(&mut self, now: Ticks) {
        if self.phase == Phase::WarmUp && now >= self.interval.from {
            self.phase = Phase::Counting;
            self.processor.begin();
        }
        if self.phase == Phase::Counting && now >= self.interval.to {
            self.phase = Phase::CoolDown;
            self.counts.effort.merge(&self.processor.end());
        }
    }

    /// Once the interval is over and all that began, or arrived, in it has ended.
    #[inline(always)]
    fn tell_if_done(&mut self) {
        if self.running == 0 && !self.done && self.next_arrival().is_none_or(|due| due >= self.interval.to) {
            self.done = true;
            self.cool_down.worker_done();
        }
    }

    /// A transaction of epoch `durable` or before counts now.
    #[inline(always)]
    pub fn acknowledge(&mut self, durable: u64) {
        if durable > self.durable {
            self.durable = durable;
            self.count_durable();
        }
    }

    fn count_durable(&mut self) {
        let now = clock::now();
        self.turn(now);
        while let Some(Undurable { epoch, begun, kind, ended }) = self.undurable.pop_front() {
            if epoch > self.durable {
                self.undurable.push_front(Undurable { epoch, begun, kind, ended });
                break;
            }
            self.count(&ended, begun, kind, now);
        }
        if self.phase == Phase::CoolDown {
            self.tell_if_done();
        }
        self.client.durable(self.durable);
    }

    /// Whether something that has committed is still to become durable.
    pub fn waits_for_log(&self) -> bool {
        !self.undurable.is_empty()
    }

    /// What ends in the interval counts for throughput; what began in it, for latency. A transaction that is logged ends when it is
    /// durable.
    #[inline(always)]
    fn count(&mut self, ended: &Ended, begun: Begun, kind: usize, now: Ticks) {
        if self.phase == Phase::Counting {
            match ended.outcome {
                Outcome::Commit => {
                    self.counts.commits += 1;
                    self.counts.retried += u64::from(ended.attempts > 1);
                }
                Outcome::Rollback => self.counts.user_rollbacks += 1,
            }
        }
        let Begun { arrived, began } = begun;
        self.count_kind(ended, arrived, kind, now);
        self.running -= usize::from(self.interval.contains(arrived));
        if ended.outcome == Outcome::Rollback {
            return;
        }
        let committed = Committed { arrived, began, ended: now, is_timed: !ended.sampled };
        match &mut self.put_off {
            None => self.count_committed(committed),
            Some(put_off) => {
                if put_off.write_down(committed) {
                    self.count_put_off();
                }
            }
        }
    }

    /// What has committed goes into histograms and slices.
    #[inline(always)]
    fn count_committed(&mut self, Committed { arrived, began, ended, is_timed }: Committed) {
        let latency_ns = is_timed.then(|| clock::nanoseconds(ended.since(arrived)));
        if let Some(latency_ns) = latency_ns.filter(|_| self.interval.contains(arrived)) {
            self.counts.latency_ns.saturating_record(latency_ns);
            if let Some(of_all) = &mut self.counts.arrived {
                of_all.service_ns.saturating_record(clock::nanoseconds(ended.since(began)));
            }
        }
        if let Some(slices) = &mut self.slices {
            slices.commit(ended, latency_ns);
        }
    }

    /// What was put off of that.
    #[inline(never)]
    fn count_put_off(&mut self) {
        while let Some(committed) = self.put_off.as_mut().and_then(PutOff::pop) {
            self.count_committed(committed);
        }
    }

    /// The same by kind; nothing if there is one.
    #[inline]
    fn count_kind(&mut self, ended: &Ended, arrived: Ticks, kind: usize, now: Ticks) {
        let is_counted = self.phase == Phase::Counting;
        let Some(of) = self.counts.kinds.get_mut(kind).filter(|_| is_counted) else { return };
        of.aborts += u64::from(ended.attempts - 1);
        match ended.outcome {
            Outcome::Commit => of.commits += 1,
            Outcome::Rollback => of.user_rollbacks += 1,
        }
        if ended.outcome == Outcome::Commit && !ended.sampled {
            of.latency_ns.saturating_record(clock::nanoseconds(now.since(arrived)));
        }
    }

    /// Aborts count when they happen, so these have happened in the interval, whenever their transaction ends.
    fn count_aborts(&mut self, aborts: &mut Aborts, now: Ticks) {
        if let Some(slices) = &mut self.slices {
            slices.abort(now, aborts.iter().sum());
        }
        for (sum, aborts) in self.counts.aborts.iter_mut().zip(std::mem::take(aborts)) {
            *sum += aborts;
        }
    }

    /// A transaction that ran through the whole interval neither began nor ended in it.
    #[inline(always)]
    fn count_outlasting(&mut self, began: Ticks, ended: Ticks) {
        self.counts.outlasting += u64::from(began < self.interval.from && ended >= self.interval.to);
    }

    /// Adds what was sampled of a transaction that has ended.
    pub fn add_sample(&mut self, time_share: &TimeShare) {
        if self.phase == Phase::Counting {
            self.counts.time_share.add(time_share);
        }
    }

    /// Adds what the architecture cost in the interval.
    pub fn add_effort(&mut self, effort: &Effort) {
        self.counts.effort.merge(effort);
    }

    /// The run is over for this worker, before its time.
    #[cold]
    pub fn fail(&mut self, error: RunError) {
        self.left = 0;
        self.error.get_or_insert(error);
    }

    /// No transaction is taken any more.
    pub fn stop(&mut self) {
        self.left = 0;
    }

    /// No transaction is taken any more, and nothing more becomes durable.
    #[cold]
    pub fn stop_for_good(&mut self) {
        self.left = 0;
        self.undurable.clear();
    }

    /// What the worker brings back.
    pub fn report(mut self) -> Report<C> {
        // Of a worker that failed, nobody will end what runs.
        self.all_have_ended();
        if self.phase == Phase::Counting {
            self.counts.effort.merge(&self.processor.end());
        }
        self.count_put_off();
        let Interval { from, to, .. } = self.interval;
        // Who keeps threads that execute counts it by itself, whatever the loop.
        if let Some(resting) = self.resting.filter(|_| self.counts.effort.idle.samples == 0) {
            self.counts.effort.rested = Sampled { samples: 1, ns: resting.ns() };
        }
        let end = if to == Ticks(u64::MAX) { self.last } else { to };
        let mut counts = self.counts;
        counts.series = self.slices.map(SliceCounts::into_series);
        // Until here in ticks.
        for ticks in [&mut counts.response.ns, &mut counts.between.ns, &mut counts.idle_ns] {
            *ticks = clock::nanoseconds(*ticks);
        }
        Report {
            client: self.client,
            counts,
            elapsed_ns: clock::nanoseconds(end.since(from)),
            error: self.error,
        }
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
