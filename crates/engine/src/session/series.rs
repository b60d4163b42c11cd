//! What a worker counts slice by slice ([`contract::Series`]).

use super::interval::Interval;
use crate::facade::clock::{self, Ticks};
use contract::{Series, Slice, Until};

/// A worker's.
pub(super) struct SliceCounts {
    series: Series,
    from: Ticks,
    to: Ticks,
    slice_ticks: u64,
}

impl SliceCounts {
    /// Of the interval of a run that has one; `None` of others.
    pub fn new(interval: Interval, until: Until) -> Option<Self> {
        let Interval { from, to, .. } = interval;
        // As long as it was told to be: ticks are rounded, and a nanosecond more would be a slice more.
        let Until::Interval { duration, .. } = until else { return None };
        let mut series = Series::of(duration, Series::slice_of(duration));
        // The system gives their memory now, and not while transactions run.
        series.slices.iter_mut().for_each(|slice| slice.latency_ns.reset());
        let slice_ticks = clock::ticks_of(series.slice).max(1);
        Some(SliceCounts { series, from, to, slice_ticks })
    }

    /// In which a moment lies, if it lies in the interval.
    #[inline]
    fn at(&mut self, time: Ticks) -> Option<&mut Slice> {
        if time < self.from || time >= self.to {
            return None;
        }
        // Ticks and nanoseconds are rounded each by itself.
        let last = self.series.slices.len() - 1;
        let number = (time.since(self.from) / self.slice_ticks) as usize;
        self.series.slices.get_mut(number.min(last))
    }

    /// A transaction that had arrived then begins.
    pub fn begin(&mut self, arrived: Ticks, began: Ticks) {
        if began >= self.from {
            self.arrive(arrived);
        }
        if let Some(slice) = self.at(began) {
            slice.began += 1;
        }
    }

    /// A transaction has arrived then that has not begun before the interval.
    pub fn arrive(&mut self, arrived: Ticks) {
        self.series.queued_before += u64::from(arrived < self.from);
        if let Some(slice) = self.at(arrived) {
            slice.arrived += 1;
        }
    }

    /// A transaction commits that took so many ticks.
    pub fn commit(&mut self, now: Ticks, ticks: u64) {
        if let Some(slice) = self.at(now) {
            slice.commits += 1;
            slice.latency_ns.saturating_record(clock::nanoseconds(ticks));
        }
    }

    /// One ends that was aborted so often.
    pub fn abort(&mut self, now: Ticks, aborts: u64) {
        if let Some(slice) = self.at(now) {
            slice.aborts += aborts;
        }
    }

    /// What was counted.
    pub fn into_series(self) -> Series {
        self.series
    }
}
