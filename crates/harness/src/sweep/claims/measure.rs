//! The numbers that claims compare: one of each repetition, and from the least to the most over a point's repetitions.

use crate::folder::samples::Sample;
use crate::summary::{COSTS, Latency, min_median_max};
use contract::AbortReason;
use serde::Serialize;
use std::fmt;

/// A number that each repetition has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Measure(&'static str);

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.replace('_', " "))
    }
}

impl Measure {
    const THROUGHPUT: &'static str = "throughput";
    const ABORT_RATE: &'static str = "abort_rate";
    const RETRIED: &'static str = "retried_share";
    const MEAN: &'static str = "mean_ns";
    const P50: &'static str = "p50_ns";
    const P99: &'static str = "p99_ns";
    const P999: &'static str = "p999_ns";

    /// Aborts per commit for one reason, by [`AbortReason::index`].
    const ABORT_RATES: [&'static str; AbortReason::ALL.len()] = [
        "abort_rate_conflict",
        "abort_rate_deadlock",
        "abort_rate_read_validation",
        "abort_rate_phantom",
        "abort_rate_certify",
        "abort_rate_undeclared",
        "abort_rate_hand_over",
        "abort_rate_timeout",
    ];

    /// Commits per second, aborts per commit, for any reason and by reason, the part of the commits that had been aborted, the commit latency's mean and percentiles,
    /// and the architectures' costs.
    pub fn names() -> impl Iterator<Item = &'static str> {
        [Measure::THROUGHPUT, Measure::ABORT_RATE, Measure::RETRIED]
            .into_iter()
            .chain(Measure::ABORT_RATES)
            .chain([Measure::MEAN, Measure::P50, Measure::P99, Measure::P999])
            .chain(COSTS.iter().map(|cost| cost.name))
    }

    pub(super) fn named(name: &str) -> Option<Measure> {
        Measure::names().find(|known| *known == name).map(Measure)
    }

    /// As the file says it.
    pub fn name(self) -> &'static str {
        self.0
    }

    /// Whether it is a speed or a time: a number whose size says something by itself, and not only that it is none.
    pub(super) fn is_a_magnitude(self) -> bool {
        self.0 == Measure::THROUGHPUT || self.0.ends_with("_ns")
    }

    /// Whether the highest is the best: of throughput it is, of aborts, latencies and costs the lowest.
    pub(super) fn highest_is_best(self) -> bool {
        self.0 == Measure::THROUGHPUT
    }

    /// Whether it counts aborts by commits.
    pub(super) fn is_of_aborts(self) -> bool {
        [Measure::ABORT_RATE, Measure::RETRIED].contains(&self.0) || Measure::ABORT_RATES.contains(&self.0)
    }

    /// `None` if the repetition did not measure it: a latency where nothing committed, a cost that was never sampled.
    fn of(self, sample: &Sample) -> Option<f64> {
        // Where every transaction was timed class by class, there are none either.
        let latency =
            |of: fn(&Latency) -> f64| sample.latency_ns.as_ref().filter(|_| sample.commits > 0).map(of);
        let per_commit = |aborts: u64| Some(aborts as f64 / sample.commits.max(1) as f64);
        match self.0 {
            Measure::THROUGHPUT => Some(sample.throughput_per_s),
            Measure::ABORT_RATE => per_commit(sample.aborts.iter().sum()),
            Measure::RETRIED => (sample.commits > 0).then_some(sample.retried_share),
            Measure::MEAN => latency(|latencies| latencies.mean),
            Measure::P50 => latency(|latencies| latencies.p50 as f64),
            Measure::P99 => latency(|latencies| latencies.p99 as f64),
            Measure::P999 => latency(|latencies| latencies.p999 as f64),
            other => match Measure::ABORT_RATES.iter().position(|name| *name == other) {
                Some(reason) => per_commit(sample.aborts[reason]),
                None => sample.costs.get(other),
            },
        }
    }
}

/// A number over the repetitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    pub(super) low: f64,
    pub(super) median: f64,
    pub(super) high: f64,
}

/// Why repetitions have no [`Range`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoRange {
    /// There is only one.
    OneRepetition,
    /// So many of them lack the number.
    Lacking(usize),
}

impl Range {
    pub(super) fn of(measure: Measure, samples: &[Sample]) -> Result<Range, NoRange> {
        let values: Vec<f64> = samples.iter().filter_map(|sample| measure.of(sample)).collect();
        match samples.len() - values.len() {
            0 if values.len() < 2 => Err(NoRange::OneRepetition),
            0 => {
                let [low, median, high] = min_median_max(values);
                Ok(Range { low, median, high })
            }
            lacking => Err(NoRange::Lacking(lacking)),
        }
    }

    /// The best of several: nobody knows better than each end which one it is.
    pub(super) fn best(measure: Measure, ranges: impl Iterator<Item = Range>) -> Option<Range> {
        let better = if measure.highest_is_best() { f64::max } else { f64::min };
        ranges.reduce(|one, other| Range {
            low: better(one.low, other.low),
            median: better(one.median, other.median),
            high: better(one.high, other.high),
        })
    }

    /// What it may stand for if it is off by `factor`, which is at least 1.
    pub(super) fn widened(self, factor: f64) -> Range {
        Range { low: self.low / factor, median: self.median, high: self.high * factor }
    }

    /// All of it divided by `by`, which is above 0.
    pub(super) fn divided(self, by: f64) -> Range {
        Range { low: self.low / by, median: self.median / by, high: self.high / by }
    }

    /// As one side of a ratio. Of n commits none was aborted: of all that there would be, with 95 % confidence, up to three in n
    /// are; without this, the ratio to it would be infinite for certain.
    pub(super) fn in_ratio(self, measure: Measure, samples: &[Sample]) -> Range {
        if self.high > 0.0 || !measure.is_of_aborts() {
            return self;
        }
        let commits: u64 = samples.iter().map(|sample| sample.commits).sum();
        Range { high: 3.0 / commits.max(1) as f64, ..self }
    }

    /// From the left side's worst over the right side's best to the other way round. The right median is not 0, or the
    /// left one is not.
    pub(super) fn over(self, right: Range) -> Range {
        // Nothing over nothing may be any number.
        let over = |left: f64, right: f64, unclear: f64| {
            if left == 0.0 && right == 0.0 { unclear } else { left / right }
        };
        Range {
            low: over(self.low, right.high, 0.0),
            median: self.median / right.median,
            high: over(self.high, right.low, f64::INFINITY),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::{some_measurement, some_subject};
    use contract::Measurement;

    fn range(low: f64, median: f64, high: f64) -> Range {
        Range { low, median, high }
    }

    #[test]
    fn a_ratio_reaches_from_worst_over_best_to_best_over_worst() {
        assert_eq!(range(2.0, 3.0, 4.0).over(range(1.0, 1.5, 2.0)), range(1.0, 2.0, 4.0));
        assert_eq!(
            range(5.0, 5.0, 5.0).over(range(0.0, 0.0, 0.0)),
            range(f64::INFINITY, f64::INFINITY, f64::INFINITY)
        );
        let unclear = range(0.0, 1.0, 1.0).over(range(0.0, 1.0, 1.0));
        assert_eq!(unclear, range(0.0, 1.0, f64::INFINITY));
    }

    /// A simulated abort or two against none are no ratio of any size.
    #[test]
    fn none_of_n_may_be_three_of_n() {
        let samples = Sample::all(&[some_measurement(1.0), some_measurement(1.0)], &some_subject().options);
        let aborts = Measure::named("abort_rate_deadlock").expect("a measure");
        let none = Range::of(aborts, &samples).expect("measured");
        assert_eq!(none, range(0.0, 0.0, 0.0));
        assert_eq!(none.in_ratio(aborts, &samples), range(0.0, 0.0, 3.0 / 2000.0));
        let ratio = range(0.002, 0.003, 0.004).over(none.in_ratio(aborts, &samples));
        assert!(ratio.low < 2.0 && ratio.median == f64::INFINITY, "{ratio:?}");
    }

    #[test]
    fn the_best_is_the_highest_throughput_and_the_lowest_latency() {
        let both = || [range(1.0, 3.0, 4.0), range(2.0, 2.5, 9.0)].into_iter();
        let best = |name| Range::best(Measure::named(name).expect("a measure"), both());
        assert_eq!(best("throughput"), Some(range(2.0, 3.0, 9.0)));
        assert_eq!(best("mean_ns"), Some(range(1.0, 2.5, 4.0)));
        assert_eq!(Range::best(Measure("throughput"), [].into_iter()), None);
    }

    #[test]
    fn aborts_are_told_by_reason_and_latencies_by_their_mean() {
        for (reason, name) in AbortReason::ALL.iter().zip(Measure::ABORT_RATES) {
            assert_eq!(name, format!("abort_rate_{}", reason.name().replace('-', "_")));
        }
        let samples = Sample::all(&[some_measurement(1.0), some_measurement(1.0)], &some_subject().options);
        let of = |name| Range::of(Measure::named(name).expect("a measure"), &samples).expect(name).median;
        assert_eq!([of("abort_rate_conflict"), of("abort_rate_read_validation")], [0.01, 0.02]);
        assert_eq!((of("abort_rate"), of("abort_rate_deadlock")), (0.03, 0.0));
        assert!((of("mean_ns") - 5005.0).abs() < 5.0, "{}", of("mean_ns"));
    }

    #[test]
    fn a_repetition_without_commits_has_no_latency() {
        let options = &some_subject().options;
        let idle = Measurement { commits: 0, ..some_measurement(0.0) };
        let samples = Sample::all(&[some_measurement(1.0), idle], options);
        let of = |name| Range::of(Measure::named(name).expect("a measure"), &samples);
        assert_eq!(of("p99_ns"), Err(NoRange::Lacking(1)));
        assert_eq!(of("round_trip_ns"), Err(NoRange::Lacking(2)));
        assert_eq!(of("throughput"), Ok(range(0.0, 0.5, 1.0)));
        assert_eq!(Range::of(Measure("throughput"), &samples[..1]), Err(NoRange::OneRepetition));
    }
}
