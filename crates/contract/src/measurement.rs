//! What a drive measured.

use crate::transaction::AbortReason;
use std::time::Duration;

/// Latencies in nanoseconds, from a transaction's first attempt to its commit, retries included.
pub type LatencyHistogram = hdrhistogram::Histogram<u64>;

/// Where a transaction's time goes: the six classes of *thousand-cores* section 4.1.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    pub fn add(&mut self, other: &TimeShare) {
        for (sum, ns) in self.ns.iter_mut().zip(other.ns) {
            *sum += ns;
        }
        self.samples += other.samples;
    }
}

/// What a drive measured, over all workers, in the counted interval only.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// The counted interval, the mean over the workers.
    pub elapsed: Duration,
    /// Commits per second: the sum over workers of commits by counted time.
    pub throughput_per_s: f64,
    /// Transactions committed.
    pub commits: u64,
    /// Transactions that the procedures rolled back by their own will.
    pub user_rollbacks: u64,
    /// Aborts by [`AbortReason::index`].
    pub aborts: [u64; AbortReason::ALL.len()],
    /// Commits by worker.
    pub commits_by_worker: Vec<u64>,
    /// Latency of committed transactions.
    pub latency_ns: LatencyHistogram,
    /// Where sampled transactions spent their time.
    pub time_share: TimeShare,
}

impl Measurement {
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
