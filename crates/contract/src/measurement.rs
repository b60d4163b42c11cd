//! What a run measured.

use crate::open_loop::{self, OpenLoop, Series, SliceHistogram};
use crate::transaction::AbortReason;
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;
use std::time::Duration;

/// Latencies in nanoseconds. *Service*, of a closed loop: from the beginning of a transaction's first attempt to its commit, with aborted attempts and
/// back-off. Drawing a transaction, planning it and what it waits for a free slot are outside, under every architecture. *Response*, of an open loop: from its
/// arrival, all of that included.
pub type LatencyHistogram = hdrhistogram::Histogram<u64>;

/// Where a transaction's time goes: the six classes of *thousand-cores* section 3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeClass {
    /// The procedure itself, and access to its rows.
    Useful,
    /// Attempts that aborted, whole, and backing off after them.
    Abort,
    /// Drawing timestamps or transaction ids.
    Timestamp,
    /// Looking keys up.
    Index,
    /// Waiting for a lock or for a record to be unlocked.
    Wait,
    /// Lock and transaction management: everything else.
    Manager,
}

impl TimeClass {
    /// Every class, in the order of their [`TimeClass::index`].
    pub const ALL: [TimeClass; 6] = [
        TimeClass::Useful,
        TimeClass::Abort,
        TimeClass::Timestamp,
        TimeClass::Index,
        TimeClass::Wait,
        TimeClass::Manager,
    ];

    /// Position in [`TimeClass::ALL`].
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Name in results.
    pub const fn name(self) -> &'static str {
        match self {
            TimeClass::Useful => "useful",
            TimeClass::Abort => "abort",
            TimeClass::Timestamp => "timestamp",
            TimeClass::Index => "index",
            TimeClass::Wait => "wait",
            TimeClass::Manager => "manager",
        }
    }
}

/// Time by class, over the sampled transactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeShare {
    /// Nanoseconds by [`TimeClass::index`].
    pub ns: [u64; 6],
    /// Transactions that were sampled.
    pub samples: u64,
}

impl TimeShare {
    /// The class's part of the whole, 0 to 1; 0 if nothing was sampled.
    pub fn share(&self, class: TimeClass) -> f64 {
        let whole: u64 = self.ns.iter().sum();
        if whole == 0 { 0.0 } else { self.ns[class.index()] as f64 / whole as f64 }
    }

    /// Adds another worker's samples.
    #[inline]
    pub fn add(&mut self, other: &TimeShare) {
        for (sum, ns) in self.ns.iter_mut().zip(other.ns) {
            *sum += ns;
        }
        self.samples += other.samples;
    }
}

/// A mean of what was timed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sampled {
    /// How many were timed.
    pub samples: u64,
    /// Nanoseconds in all.
    pub ns: u64,
}

impl Sampled {
    /// Adds one that took `ns`.
    #[inline]
    pub fn add(&mut self, ns: u64) {
        self.samples += 1;
        self.ns += ns;
    }

    /// Nanoseconds, the mean; `None` if nothing was timed.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.samples > 0).then(|| self.ns as f64 / self.samples as f64)
    }
}

impl AddAssign for Sampled {
    fn add_assign(&mut self, other: Sampled) {
        self.samples += other.samples;
        self.ns += other.ns;
    }
}

/// What processors have counted of workers' threads in the interval, in user mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Events {
    /// Threads of which it was told: all, or none if the system gives no such counter or nobody asked; fewer where the limit on open files was reached.
    pub threads: u64,
    /// Of all of them together.
    pub events: u64,
}

impl Events {
    /// Of one thread; nothing if it was not told.
    pub fn of_thread(events: Option<u64>) -> Events {
        Events { threads: u64::from(events.is_some()), events: events.unwrap_or(0) }
    }

    /// What so many threads have come to; `None` unless it was told of every one.
    pub fn of_all(self, threads: u64) -> Option<u64> {
        (threads > 0 && self.threads == threads).then_some(self.events)
    }
}

impl AddAssign for Events {
    fn add_assign(&mut self, other: Events) {
        self.threads += other.threads;
        self.events += other.events;
    }
}

/// What is counted by worker and added up over all of them.
macro_rules! counters {
    ($(#[$of:meta])* $type:ident: $($(#[$doc:meta])* $name:ident: $counter:ty,)+) => {
        $(#[$of])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct $type { $($(#[$doc])* pub $name: $counter,)+ }

        impl $type {
            /// Adds another worker's.
            pub fn merge(&mut self, other: &$type) {
                $(self.$name += other.$name;)+
            }
        }
    };
}

counters! {
    /// What the architecture itself costs: what explains the results of *trireme* 4.
    Effort:
    /// Messages sent: requests and releases, an answer not counted.
    messages: u64,
    /// Messages of others that were served.
    served: u64,
    /// Servings: of a worker that hosts transactions, looks into an inbox that was not empty; of one that only serves, times in which it always found
    /// something to serve.
    servings: u64,
    /// How long one takes; of those that host transactions, one in 64 is timed.
    serving: Sampled,
    /// From sending a request to having its answer; one in 64 is timed.
    round_trip: Sampled,
    /// Fibers that left a worker for another one.
    migrations: u64,
    /// From a migration's start to the fiber's running at its end; one in 64 is timed.
    migration: Sampled,
    /// From an attempt's first lock to having released all, aborted attempts included; of sampled transactions that held one. Who
    /// validates locks when it commits; a partition that is latched is locked.
    lock_hold: Sampled,
    /// Locks of hot records that were got before they were read (MOCC).
    hot_locks: u64,
    /// Transactions that ended where `--in-flight auto` decides how many their worker has in flight ([`InFlight::Auto`](crate::InFlight::Auto)).
    admissions: u64,
    /// How many that were when each of them ended, added up.
    admitted: u64,
    /// For how long none of a worker's fibers could go on; a sample a worker, where that is counted (ORTHRUS, instances).
    idle: Sampled,
    /// In an open loop under any other architecture, for how long none of a worker's transactions had begun and not ended, and none had arrived.
    rested: Sampled,
    /// Instructions of all workers, those that only serve among them, as far as that is asked for ([`EngineOptions::counters`](crate::EngineOptions::counters)); so are those below.
    instructions: Events,
    /// Cycles, those spent waiting in user mode among them.
    cycles: Events,
    /// Accesses that missed the last level of the caches.
    cache_misses: Events,
    /// Loads whose page was not in the first buffer of translations.
    tlb_misses: Events,
    /// Branches that were predicted wrongly.
    branch_misses: Events,
    /// Pages that the system had to give.
    page_faults: Events,
}

impl Effort {
    /// The part of their time that workers spent serving others, 0 to 1; `workers_ns`: the time of all that serve.
    pub fn serving_share(&self, workers_ns: f64) -> f64 {
        let ns = self.serving.mean_ns().unwrap_or(0.0) * self.servings as f64;
        if workers_ns > 0.0 { (ns / workers_ns).min(1.0) } else { 0.0 }
    }
}

/// What a run measured, over all workers. They count in one interval: what *ends* in it counts, for everything but latency;
/// latency is that of what *begins* in it, followed to its end.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measurement {
    /// The counted interval, one for all workers.
    pub elapsed: Duration,
    /// Instances among which the workers were divided; 1: it was no deployment.
    pub instances: usize,
    /// Transactions that the workers may have begun and not ended, all together.
    pub slots: usize,
    /// Transactions committed.
    pub commits: u64,
    /// Transactions that the procedures rolled back by their own will.
    pub user_rollbacks: u64,
    /// Commits of transactions that had been aborted at least once.
    pub retried: u64,
    /// Aborts in the interval by [`AbortReason::index`], of whatever transactions.
    pub aborts: [u64; AbortReason::ALL.len()],
    /// Commits by worker.
    pub commits_by_worker: Vec<u64>,
    /// Workers that host transactions of which none ended in the interval: they waited, or the system did not let them run.
    pub absent_workers: usize,
    /// Latency of transactions that began in the interval, of an open loop: that arrived in it, and committed, but for those of the time share: timing them class by
    /// class takes time itself. Those that were given up are here with the time that they had taken.
    #[serde(with = "recorded")]
    pub latency_ns: LatencyHistogram,
    /// The time from beginning to end of all that began in the interval: the mean latency, and how many there were.
    pub response: Sampled,
    /// The time between the end of a slot's transaction and the beginning of its next: drawing, planning, and waiting for the
    /// worker.
    pub between: Sampled,
    /// Transactions that began in the interval, of an open loop: that arrived in it, and were given up when they had not ended long after it.
    pub unfinished: u64,
    /// Transactions that ran through the whole interval: they count for nothing, and took a slot's time.
    pub outlasting: u64,
    /// Time that slots were free at the end of the interval without beginning another transaction in it.
    pub idle_ns: u64,
    /// Where sampled transactions spent their time.
    pub time_share: TimeShare,
    /// Workers that host no transactions and do nothing but serve.
    pub servers: usize,
    /// What the architecture itself cost, servers included.
    pub effort: Effort,
    /// The most bytes that previous versions of records have taken over the store so far; `None`: it has no snapshots.
    pub version_bytes: Option<u64>,
    /// Bytes of the store's records after the run, without indexes and previous versions.
    pub record_bytes: u64,
    /// By kind of transaction, if there are several ([`Client::kinds`](crate::Client::kinds)).
    pub kinds: Vec<KindCounts>,
    /// Of an open loop.
    pub arrived: Option<Arrived>,
    /// What happened slice by slice, if that was asked for.
    pub series: Option<Series>,
}

impl Measurement {
    /// An interval in which nothing has happened yet.
    pub fn nothing(elapsed: Duration, slots: usize) -> Measurement {
        Measurement {
            elapsed,
            instances: 1,
            slots,
            commits: 0,
            user_rollbacks: 0,
            retried: 0,
            aborts: [0; AbortReason::ALL.len()],
            commits_by_worker: Vec::new(),
            absent_workers: 0,
            latency_ns: Measurement::empty_histogram(),
            response: Sampled::default(),
            between: Sampled::default(),
            unfinished: 0,
            outlasting: 0,
            idle_ns: 0,
            time_share: TimeShare::default(),
            servers: 0,
            effort: Effort::default(),
            version_bytes: None,
            record_bytes: 0,
            kinds: Vec::new(),
            arrived: None,
            series: None,
        }
    }

    /// Adds what other workers of the same deployment have measured in the same interval, over a store of their own.
    pub fn merge(&mut self, other: &Measurement) {
        let Measurement {
            elapsed,
            instances,
            slots,
            commits,
            user_rollbacks,
            retried,
            aborts,
            commits_by_worker,
            absent_workers,
            latency_ns,
            response,
            between,
            unfinished,
            outlasting,
            idle_ns,
            time_share,
            servers,
            effort,
            version_bytes,
            record_bytes,
            kinds,
            arrived,
            series,
        } = other;
        self.elapsed = self.elapsed.max(*elapsed);
        self.instances = self.instances.max(*instances);
        self.slots += slots;
        self.commits += commits;
        self.user_rollbacks += user_rollbacks;
        self.retried += retried;
        for (sum, aborts) in self.aborts.iter_mut().zip(aborts) {
            *sum += aborts;
        }
        self.commits_by_worker.extend(commits_by_worker);
        self.absent_workers += absent_workers;
        self.latency_ns.add(latency_ns).expect("all histograms have the same bounds");
        self.response += *response;
        self.between += *between;
        self.unfinished += unfinished;
        self.outlasting += outlasting;
        self.idle_ns += idle_ns;
        self.time_share.add(time_share);
        self.servers += servers;
        self.effort.merge(effort);
        self.version_bytes = self.version_bytes.zip(*version_bytes).map(|(one, other)| one + other);
        self.record_bytes += record_bytes;
        self.add_kinds(kinds);
        self.add_open(arrived.clone(), series.clone());
    }

    /// Adds what another worker counted of each kind.
    pub fn add_kinds(&mut self, kinds: &[KindCounts]) {
        if self.kinds.is_empty() {
            self.kinds = kinds.to_vec();
            return;
        }
        self.kinds.iter_mut().zip(kinds).for_each(|(sum, other)| sum.merge(other));
    }

    /// Adds what another worker counted of an open loop, and slice by slice.
    pub fn add_open(&mut self, arrived: Option<Arrived>, series: Option<Series>) {
        match (&mut self.arrived, arrived) {
            (Some(sum), Some(other)) => sum.merge(&other),
            (sum, other) => *sum = sum.take().or(other),
        }
        match (&mut self.series, series) {
            (Some(sum), Some(other)) => sum.merge(&other),
            (sum, other) => *sum = sum.take().or(other),
        }
    }

    /// Workers, those that only serve among them.
    pub fn threads(&self) -> usize {
        self.commits_by_worker.len() + self.servers
    }

    /// The time of all workers that serve, in nanoseconds: of the servers if there are any, or else of all workers.
    pub fn serving_workers_ns(&self) -> f64 {
        let workers = if self.servers > 0 { self.servers } else { self.commits_by_worker.len() };
        self.elapsed.as_secs_f64() * 1e9 * workers as f64
    }

    /// The time of all workers that host transactions, in nanoseconds.
    pub fn hosts_ns(&self) -> f64 {
        self.elapsed.as_secs_f64() * 1e9 * self.commits_by_worker.len() as f64
    }

    /// Commits per second.
    pub fn throughput_per_s(&self) -> f64 {
        self.commits as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// The part of the commits that had been aborted at least once, 0 to 1; 0 if nothing committed.
    pub fn retried_share(&self) -> f64 {
        self.retried as f64 / self.commits.max(1) as f64
    }

    /// By Little's law as many transactions are under way as arrive in the time that one takes. The arrivals times the time,
    /// latency and what lies between two transactions, over the slots that took part (those that were free to the end, and those
    /// that one transaction had throughout, are taken off): 1 if nothing is missing from either. `None` if nothing ended.
    pub fn littles_law(&self) -> Option<f64> {
        let ended = self.commits + self.user_rollbacks;
        let each_ns = self.response.mean_ns()? + self.between.mean_ns()?;
        let per_ns = ended as f64 / self.elapsed.as_nanos().max(1) as f64;
        let idle = self.idle_ns as f64 / self.elapsed.as_nanos().max(1) as f64;
        let slots = self.slots as f64 - idle - self.outlasting as f64;
        (ended > 0 && slots > 0.0).then(|| per_ns * each_ns / slots)
    }

    /// Aborts for any reason.
    pub fn all_aborts(&self) -> u64 {
        self.aborts.iter().sum()
    }

    /// Aborts per commit; 0 if nothing committed and nothing aborted.
    pub fn abort_rate(&self) -> f64 {
        if self.all_aborts() == 0 { 0.0 } else { self.all_aborts() as f64 / self.commits.max(1) as f64 }
    }

    /// An empty histogram of the kind used: 1 ns to 1,000 s, three significant digits.
    pub fn empty_histogram() -> LatencyHistogram {
        LatencyHistogram::new_with_bounds(1, 1_000_000_000_000, 3)
            .expect("1 <= 1 and 2 * 1 <= the upper bound")
    }
}

/// What was counted of one kind of transactions, in the interval.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KindCounts {
    /// The kind's name.
    pub name: String,
    /// Transactions committed.
    pub commits: u64,
    /// Transactions rolled back by their own will.
    pub user_rollbacks: u64,
    /// Attempts that were aborted, of those that ended.
    pub aborts: u64,
    /// Latencies of those that committed, to two significant digits.
    #[serde(with = "crate::open_loop::recorded")]
    pub latency_ns: SliceHistogram,
}

impl KindCounts {
    /// Of a kind of which nothing has ended yet.
    pub fn nothing(name: &str) -> KindCounts {
        let latency_ns = open_loop::empty_histogram();
        KindCounts { name: name.to_owned(), commits: 0, user_rollbacks: 0, aborts: 0, latency_ns }
    }

    /// Adds another worker's.
    pub fn merge(&mut self, other: &KindCounts) {
        self.commits += other.commits;
        self.user_rollbacks += other.user_rollbacks;
        self.aborts += other.aborts;
        self.latency_ns.add(&other.latency_ns).expect("all histograms have the same bounds");
    }
}

/// What an open loop tells beside a closed one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Arrived {
    /// When transactions arrived.
    pub open_loop: OpenLoop,
    /// How many arrived in the interval.
    pub arrived: u64,
    /// How many had arrived by its end, and had not begun.
    pub queued: u64,
    /// What a closed loop calls latency: from the beginning of the first attempt. It leaves out how long transactions waited to begin.
    #[serde(with = "recorded")]
    pub service_ns: LatencyHistogram,
}

impl Arrived {
    /// Adds another worker's, of the same run.
    pub fn merge(&mut self, other: &Arrived) {
        self.arrived += other.arrived;
        self.queued += other.queued;
        self.service_ns.add(&other.service_ns).expect("all histograms have the same bounds");
    }
}

/// A histogram as what was recorded in it: values, with how often each.
mod recorded {
    use super::{LatencyHistogram, Measurement};
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(of: &LatencyHistogram, to: S) -> Result<S::Ok, S::Error> {
        let recorded = of.iter_recorded().map(|each| (each.value_iterated_to(), each.count_at_value()));
        recorded.collect::<Vec<_>>().serialize(to)
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<LatencyHistogram, D::Error> {
        let mut histogram = Measurement::empty_histogram();
        for (value, count) in Vec::<(u64, _)>::deserialize(from)? {
            histogram.record_n(value, count).map_err(D::Error::custom)?;
        }
        Ok(histogram)
    }
}
