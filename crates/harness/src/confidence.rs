//! Which systems of a ranking are told apart: by confidence intervals over repetitions that were taken by turns.
//!
//! Repetition *n* of every system was taken in one round, in the same state of the machine and from the same seed, so that two
//! systems are compared pair by pair: the logarithms of their ratios have a mean, and by Student's distribution an
//! interval that holds the true mean with 95 % confidence. If it holds 0, the order of the two may be chance.
//!
//! A *tie* is a run of systems in the ranking, none of which is told apart from the first of them.

/// Half the width of the 95 % interval, in standard errors, by degrees of freedom from 1 on.
const STUDENT_95: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// With more than thirty the normal distribution's, which is a little narrower, by a fiftieth at most.
const NORMAL_95: f64 = 1.96;

/// From where to where a ratio lies, with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// The ratio of `one` to `other`, whose elements were measured side by side. `None` for fewer than two pairs, or if one of
    /// them is not above 0.
    ///
    /// Panics if they are not of one length.
    pub fn of_ratio(one: &[f64], other: &[f64]) -> Option<Interval> {
        assert_eq!(one.len(), other.len(), "repetitions are compared by pairs");
        let pairs = one.len();
        if pairs < 2 || one.iter().chain(other).any(|&value| value <= 0.0) {
            return None;
        }
        let logarithms: Vec<f64> = one.iter().zip(other).map(|(one, other)| (one / other).ln()).collect();
        let mean = logarithms.iter().sum::<f64>() / pairs as f64;
        let squares: f64 = logarithms.iter().map(|value| (value - mean).powi(2)).sum();
        let error = (squares / (pairs - 1) as f64 / pairs as f64).sqrt();
        let half = error * STUDENT_95.get(pairs - 2).copied().unwrap_or(NORMAL_95);
        Some(Interval { low: (mean - half).exp(), high: (mean + half).exp() })
    }

    /// Whether it may be one value or the other.
    pub fn holds(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// The place of each system of a ranking, best first; those that tie share the place of the first of them. `throughputs`: by
/// system, then by repetition.
pub fn places(throughputs: &[Vec<f64>]) -> Vec<usize> {
    let mut first = 0;
    let place = |position: usize| {
        let tied = Interval::of_ratio(&throughputs[position], &throughputs[first]);
        // Where nothing can be said, nobody is told apart; but nothing is less than something.
        let is_none = |repetitions: &[f64]| repetitions.iter().all(|&value| value == 0.0);
        let differ = is_none(&throughputs[position]) != is_none(&throughputs[first]);
        if differ || tied.is_some_and(|ratio| !ratio.holds(1.0)) {
            first = position;
        }
        first
    };
    (0..throughputs.len()).map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_students() {
        // Ratios e^0.1, e^0.2, e^0.3: mean 0.2, standard error 0.1 / sqrt 3.
        let one: Vec<f64> = [0.1f64, 0.2, 0.3].iter().map(|x| x.exp()).collect();
        let interval = Interval::of_ratio(&one, &[1.0; 3]).expect("three pairs");
        let half = 4.303 * 0.1 / 3f64.sqrt();
        assert!((interval.low.ln() - (0.2 - half)).abs() < 1e-9);
        assert!((interval.high.ln() - (0.2 + half)).abs() < 1e-9);
        assert_eq!(Interval::of_ratio(&[2.0], &[1.0]), None);
        assert_eq!(Interval::of_ratio(&[2.0, 0.0], &[1.0, 1.0]), None);
    }

    #[test]
    fn what_slows_both_down_does_not_hide_a_difference() {
        // The machine was half as fast in the second round: the repetitions overlap, their ratios do not.
        let (fast, slow) = ([1000.0, 500.0, 990.0], [900.0, 452.0, 889.0]);
        assert!(!Interval::of_ratio(&fast, &slow).expect("pairs").holds(1.0));
        let restless = [1000.0, 430.0, 1100.0];
        assert!(Interval::of_ratio(&restless, &slow).expect("pairs").holds(1.0));
    }

    #[test]
    fn ties_share_a_place() {
        let around = |value: f64, by: [f64; 3]| by.map(|part| value * part).to_vec();
        let ranked = [
            around(1000.0, [1.0, 1.01, 0.99]),
            around(998.0, [1.01, 0.99, 1.0]),
            around(700.0, [1.0, 1.01, 0.99]),
            around(699.0, [0.99, 1.0, 1.01]),
            around(300.0, [1.0, 1.0, 1.01]),
            vec![0.0; 3],
            vec![0.0; 3],
        ];
        assert_eq!(places(&ranked), [0, 0, 2, 2, 4, 5, 5]);
        assert_eq!(places(&[vec![2.0], vec![1.0]]), [0, 0], "one repetition tells nothing apart");
        assert_eq!(places(&[]), [0; 0]);
    }
}
