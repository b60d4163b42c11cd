//! What a worker counts slice by slice ([`contract::Series`]).

use super::interval::Interval;
use crate::facade::clock::{self, Ticks};
use contract::{Series, Slice, Until};

/// A worker's.
pub(super) struct SliceCounts {
    series: Series,
    times: Times,
    /// Where the last moment lay of those that are now, and of those at which transactions had arrived. Both ascend, mostly.
    now: Position,
    arrival: Position,
}

/// When slices are.
struct Times {
    from: Ticks,
    to: Ticks,
    slice_ticks: u64,
    last: usize,
}

/// A slice, and when it is.
struct Position {
    number: usize,
    from: Ticks,
    to: Ticks,
}

impl Position {
    /// In no slice.
    const NOWHERE: Position = Position { number: 0, from: Ticks(0), to: Ticks(0) };

    /// Goes to where `time` lies; the number of its slice, if it lies in the interval.
    #[inline]
    fn go_to(&mut self, time: Ticks, times: &Times) -> Option<usize> {
        if time < self.from || time >= self.to {
            *self = times.position_of(time)?;
        }
        Some(self.number)
    }
}

impl Times {
    #[cold]
    fn position_of(&self, time: Ticks) -> Option<Position> {
        if time < self.from || time >= self.to {
            return None;
        }
        // Ticks and nanoseconds are rounded each by itself.
        let number = (time.since(self.from) / self.slice_ticks).min(self.last as u64);
        let from = self.from.0 + number * self.slice_ticks;
        let to = if number == self.last as u64 { self.to } else { Ticks(from + self.slice_ticks) };
        Some(Position { number: number as usize, from: Ticks(from), to })
    }
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
        let times = Times { from, to, slice_ticks, last: series.slices.len() - 1 };
        Some(SliceCounts { series, times, now: Position::NOWHERE, arrival: Position::NOWHERE })
    }

    /// That in which `now` lies, if it lies in the interval.
    #[inline]
    fn at(&mut self, now: Ticks) -> Option<&mut Slice> {
        let number = self.now.go_to(now, &self.times)?;
        Some(&mut self.series.slices[number])
    }

    /// A transaction that had arrived then begins.
    pub fn begin(&mut self, arrived: Ticks, began: Ticks) {
        if began >= self.times.from {
            self.arrive(arrived);
        }
        if let Some(slice) = self.at(began) {
            slice.began += 1;
        }
    }

    /// A transaction has arrived then that has not begun before the interval.
    pub fn arrive(&mut self, arrived: Ticks) {
        self.series.queued_before += u64::from(arrived < self.times.from);
        if let Some(number) = self.arrival.go_to(arrived, &self.times) {
            self.series.slices[number].arrived += 1;
        }
    }

    /// A transaction commits that took so many nanoseconds, if it was timed.
    pub fn commit(&mut self, now: Ticks, latency_ns: Option<u64>) {
        if let Some(slice) = self.at(now) {
            slice.commits += 1;
            if let Some(latency_ns) = latency_ns {
                slice.latency_ns.saturating_record(latency_ns);
            }
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
