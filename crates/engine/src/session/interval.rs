//! The counted interval: one for all workers of a run, and what follows it.
//!
//! ```text
//!   start          from                                 to            until all have ended, or `given_up_at`
//!     |  warm-up    |        the counted interval        |  cool-down  |
//!     |             |                                    |             |
//!         ==========|====   one transaction's time       |             |    throughput
//!                       |==========|                     |             |    throughput, latency
//!                                                     |==|========     |    latency
//! ```
//!
//! *One interval.* It follows from the moment at which all workers were let go, and from nothing that a worker does. (A worker
//! that counted from its own first transaction on would count in a time of its own if it was let run late, as happens where
//! workers share cores, or if it waited for long; the sum of such rates can be many times what was done.)
//!
//! *Throughput* counts the transactions that end in the interval; the abort rate has the aborts that happen in it.
//!
//! *Latency* is that of the transactions that begin in it, every one of them: those that are still running when it ends are
//! followed to their end. Dropping them would drop the longest ones, and shorten the mean where latencies are of the interval's
//! length. Meanwhile every worker goes on as before, so that they end under the load under which they began, until the last
//! one has ended ([`CoolDown`]). That time is bounded for transactions that abort: one that outlasts it is given up, and results say so. Who waits for a lock, and gets
//! it, is not given up: where many transactions queue for few locks (ORTHRUS with many in flight) the end of a run may take longer.

use crate::epoch::Line;
use crate::facade::atomic::{AtomicUsize, Ordering};
use crate::facade::clock::{self, Ticks};
use contract::Until;
use std::time::Duration;

/// The longest cool-down, in intervals, and whatever the interval.
const LONGEST_COOL_DOWN: (u32, Duration) = (4, Duration::from_secs(1));

/// When transactions count. The same for every worker of a run.
#[derive(Clone, Copy)]
pub(crate) struct Interval {
    pub from: Ticks,
    pub to: Ticks,
    /// When a transaction that has not ended is given up.
    pub given_up_at: Ticks,
}

impl Interval {
    /// Of a run whose workers were let go at `start`.
    pub fn new(start: Ticks, until: Until) -> Self {
        match until {
            Until::Interval { warmup, duration } => {
                let after = |time: Ticks, pass: Duration| Ticks(time.0.saturating_add(clock::ticks_of(pass)));
                let from = after(start, warmup);
                let to = after(from, duration);
                let (intervals, most) = LONGEST_COOL_DOWN;
                let longest = duration.saturating_mul(intervals).min(most);
                Interval { from, to, given_up_at: after(to, longest) }
            }
            Until::Transactions(_) => {
                let never = Ticks(u64::MAX);
                Interval { from: start, to: never, given_up_at: never }
            }
        }
    }

    /// Whether a point in time lies in it.
    #[inline(always)]
    pub fn contains(&self, time: Ticks) -> bool {
        self.from <= time && time < self.to
    }
}

/// How many workers have transactions that began in the interval and have not ended. Nobody looks at it before the interval
/// is over.
pub(crate) struct CoolDown(Line<AtomicUsize>);

impl CoolDown {
    /// Of a run in which so many workers host transactions.
    pub fn new(workers: usize) -> Self {
        CoolDown(Line(AtomicUsize::new(workers)))
    }

    /// All that a worker began in the interval has ended. To be told once by each.
    pub fn worker_done(&self) {
        // Relaxed, here and below: the count orders nothing else.
        let before = self.0.0.fetch_sub(1, Ordering::Relaxed);
        assert!(before > 0, "a worker is done once");
    }

    /// Whether all that was begun in the interval has ended.
    pub fn is_over(&self) -> bool {
        self.0.0.load(Ordering::Relaxed) == 0
    }
}
