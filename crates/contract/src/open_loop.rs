//! An open loop: transactions arrive when they arrive, whether or not those before them have ended, as users do. Who waits for a
//! worker that is late waits, and that counts: his latency is from when he came.
//!
//! A closed loop, the papers' method, draws the next transaction when the last one has ended. It tells the most that a system does; it does not tell how long users
//! wait below that, for a system that stalls is asked for nothing meanwhile (Schroeder, Wierman and Harchol-Balter, *Open versus closed*, NSDI 2006).

use crate::names::ArrivalsName;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;
use std::time::Duration;

/// When transactions arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenLoop {
    /// How many in a second, at all workers together; each that hosts transactions has its part.
    pub rate_per_s: NonZeroU64,
    /// How they are spread over the second.
    pub arrivals: ArrivalsName,
}

impl OpenLoop {
    /// So many in a second are not exceeded: ten nanoseconds from one to the next.
    pub const MOST_PER_S: u64 = 100_000_000;
}

/// A run in slices of the same length, from the beginning of the counted interval to its end.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Series {
    /// How long a slice takes.
    pub slice: Duration,
    /// Transactions that had arrived before the interval and not begun.
    pub queued_before: u64,
    /// One after the other.
    pub slices: Vec<Slice>,
}

/// What happened in one of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Slice {
    /// Transactions that committed.
    pub commits: u64,
    /// Aborts of those that ended.
    pub aborts: u64,
    /// Transactions that arrived; in a closed loop those that began.
    pub arrived: u64,
    /// Transactions that began.
    pub began: u64,
    /// Latencies of those that committed.
    #[serde(with = "recorded")]
    pub latency_ns: SliceHistogram,
}

/// Latencies of a slice, in nanoseconds: two significant digits, up to a hundred seconds.
pub type SliceHistogram = Histogram<u32>;

impl Series {
    /// Of an interval, in which nothing has happened yet. The last slice is the shortest.
    pub fn of(interval: Duration, slice: Duration) -> Series {
        let slices = interval.as_nanos().div_ceil(slice.as_nanos().max(1)) as usize;
        Series {
            slice,
            queued_before: 0,
            slices: std::iter::repeat_with(Slice::empty).take(slices).collect(),
        }
    }

    /// How long a slice of such an interval is: a tenth of a second, or a tenth of the interval if that is shorter.
    pub fn slice_of(interval: Duration) -> Duration {
        (interval / 10).min(Duration::from_millis(100)).max(Duration::from_nanos(1))
    }

    /// Adds another worker's, of the same interval.
    pub fn merge(&mut self, other: &Series) {
        self.queued_before += other.queued_before;
        for (slice, other) in self.slices.iter_mut().zip(&other.slices) {
            slice.commits += other.commits;
            slice.aborts += other.aborts;
            slice.arrived += other.arrived;
            slice.began += other.began;
            slice.latency_ns.add(&other.latency_ns).expect("all histograms have the same bounds");
        }
    }

    /// How many transactions had arrived by the end of each slice and not begun.
    pub fn queues(&self) -> impl Iterator<Item = u64> + '_ {
        self.slices.iter().scan(self.queued_before, |queued, slice| {
            *queued = (*queued + slice.arrived).saturating_sub(slice.began);
            Some(*queued)
        })
    }
}

/// An empty histogram of that type.
pub(crate) fn empty_histogram() -> SliceHistogram {
    SliceHistogram::new_with_bounds(1, 100_000_000_000, 2).expect("1 <= 1 and 2 * 1 <= the upper bound")
}

impl Slice {
    fn empty() -> Slice {
        let latency_ns = empty_histogram();
        Slice { commits: 0, aborts: 0, arrived: 0, began: 0, latency_ns }
    }
}

/// A slice's histogram as what was recorded in it.
pub(crate) mod recorded {
    use super::{Slice, SliceHistogram};
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(of: &SliceHistogram, to: S) -> Result<S::Ok, S::Error> {
        let recorded = of.iter_recorded().map(|each| (each.value_iterated_to(), each.count_at_value()));
        recorded.collect::<Vec<_>>().serialize(to)
    }

    pub(crate) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<SliceHistogram, D::Error> {
        let mut histogram = Slice::empty().latency_ns;
        for (value, count) in Vec::<(u64, _)>::deserialize(from)? {
            histogram.record_n(value, count).map_err(D::Error::custom)?;
        }
        Ok(histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telling::{tell, told};

    #[test]
    fn an_interval_is_all_slices_and_what_is_told_comes() {
        let (second, part) = (Duration::from_secs(1), Duration::from_millis(300));
        let mut series = Series::of(second, part);
        assert_eq!(series.slices.len(), 4);
        assert_eq!(Series::slice_of(second), Duration::from_millis(100));
        assert_eq!(Series::slice_of(Duration::from_millis(1)), Duration::from_micros(100));
        series.slices[0].arrived = 5;
        series.slices[0].began = 2;
        series.slices[2].began = 4;
        series.queued_before = 1;
        series.slices[0].latency_ns += 17;
        let mut bytes = Vec::new();
        tell(&series, &mut bytes);
        let other: Series = told(&bytes).expect("a series");
        assert_eq!(other.slices[0].latency_ns, series.slices[0].latency_ns);
        series.merge(&other);
        assert_eq!(series.queues().collect::<Vec<_>>(), [8, 8, 0, 0]);
        assert_eq!(series.slices[0].latency_ns.len(), 2);
    }
}
