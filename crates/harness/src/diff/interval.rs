//! From where to where the ratio of two sides' repetitions lies.
//!
//! A change multiplies, so logarithms are compared. Where both sides drew from the same seeds, repetition *n* of the one is held against repetition *n* of the other, and what a seed makes of both is no noise; else each side is
//! taken by itself.
//!
//! *The bootstrap* (Efron, 1979): repetitions are drawn anew, with replacement, and the percentiles of the means that come of it are the interval. Of few repetitions it is too short; it is expanded
//! as Hesterberg has it (*What teachers should know about the bootstrap*, The American Statistician 69, 2015, section 4.3.2), so that it is as long as Student's where noise is normal. Yet of three repetitions no resampling goes beyond the least and the most,
//! and three go the same way by chance one time in four. So the interval is the longer of the bootstrap's and Student's at each end.

use crate::confidence::Interval;
use fastrand::Rng;
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// How often a difference may be told where there is none, in all rows together.
pub const LEVEL: f64 = 0.05;

/// Means that are drawn.
const RESAMPLES: usize = 9_999;

/// A ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// By the geometric means of both sides.
    pub mean: f64,
    /// `None` if a side has fewer than two repetitions.
    pub interval: Option<Interval>,
}

/// The ratio of `after` to `before`, at the confidence `1 - level`; `None` if a side has nothing, or a repetition has zero.
pub fn ratio_of(before: &[f64], after: &[f64], paired: bool, level: f64) -> Option<Ratio> {
    let logarithms = |values: &[f64]| -> Option<Vec<f64>> {
        let all: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        (!all.is_empty() && all.iter().all(|value| value.is_finite())).then_some(all)
    };
    let (before, after) = (logarithms(before)?, logarithms(after)?);
    let mean = mean_of(&after) - mean_of(&before);
    let interval = match paired {
        true => {
            let differences: Vec<f64> = after.iter().zip(&before).map(|(one, other)| one - other).collect();
            of_one(&differences, level)
        }
        false => of_two(&before, &after, level),
    };
    let interval = interval.map(|Interval { low, high }| Interval { low: low.exp(), high: high.exp() });
    Some(Ratio { mean: mean.exp(), interval })
}

fn mean_of(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Of the mean.
fn error_of(values: &[f64]) -> f64 {
    let mean = mean_of(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len() - 1) as f64 / values.len() as f64).sqrt()
}

/// The mean of differences.
fn of_one(differences: &[f64], level: f64) -> Option<Interval> {
    let repetitions = differences.len();
    if repetitions < 2 {
        return None;
    }
    let freedom = (repetitions - 1) as f64;
    let student = around(mean_of(differences), error_of(differences), freedom, level);
    let drawn = bootstrap(|random| resampled(differences, random), repetitions as f64, freedom, level);
    Some(hull(student, drawn))
}

/// The difference of two means (Welch, 1947).
fn of_two(before: &[f64], after: &[f64], level: f64) -> Option<Interval> {
    let fewest = before.len().min(after.len());
    if fewest < 2 {
        return None;
    }
    let (one, other) = (error_of(before).powi(2), error_of(after).powi(2));
    let of = |part: f64, values: &[f64]| part.powi(2) / (values.len() - 1) as f64;
    let least = (fewest - 1) as f64;
    // Of no noise at all the quotient is no number.
    let freedom = ((one + other).powi(2) / (of(one, before) + of(other, after))).max(least);
    let freedom = if freedom.is_nan() { least } else { freedom };
    let student = around(mean_of(after) - mean_of(before), (one + other).sqrt(), freedom, level);
    let draw = |random: &mut Rng| resampled(after, random) - resampled(before, random);
    Some(hull(student, bootstrap(draw, fewest as f64, freedom, level)))
}

fn around(mean: f64, error: f64, freedom: f64, level: f64) -> Interval {
    let half = error * quantile_of_student(freedom, level);
    Interval { low: mean - half, high: mean + half }
}

fn quantile_of_student(freedom: f64, level: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).expect("one degree of freedom at least").inverse_cdf(1.0 - level / 2.0)
}

/// The mean of as many values, drawn with replacement.
fn resampled(values: &[f64], random: &mut Rng) -> f64 {
    let drawn = (0..values.len()).map(|_| values[random.usize(0..values.len())]);
    drawn.sum::<f64>() / values.len() as f64
}

/// The expanded percentile interval. The same results have the same interval: the draws are always the same.
fn bootstrap(draw: impl Fn(&mut Rng) -> f64, repetitions: f64, freedom: f64, level: f64) -> Interval {
    let mut random = Rng::with_seed(0);
    let mut drawn: Vec<f64> = std::iter::repeat_with(|| draw(&mut random)).take(RESAMPLES).collect();
    drawn.sort_unstable_by(f64::total_cmp);
    let expanded = (repetitions / (repetitions - 1.0)).sqrt() * quantile_of_student(freedom, level);
    let normal = Normal::new(0.0, 1.0).expect("the standard deviation is 1");
    let part = normal.cdf(-expanded);
    let at = |part: f64| drawn[((part * RESAMPLES as f64) as usize).min(RESAMPLES - 1)];
    Interval { low: at(part), high: at(1.0 - part) }
}

fn hull(one: Interval, other: Interval) -> Interval {
    Interval { low: one.low.min(other.low), high: one.high.max(other.high) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noisy(random: &mut Rng, repetitions: usize, noise: f64) -> Vec<f64> {
        // The sum of twelve is nearly normal.
        let mut normal = || (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
        (0..repetitions).map(|_| 1000.0 * (noise * normal()).exp()).collect()
    }

    /// How often, of a thousand comparisons of the same with the same, one is told.
    fn false_alarms(repetitions: usize, paired: bool) -> usize {
        let mut random = Rng::with_seed(42);
        let alarm = |_: &usize| {
            let (one, other) = (noisy(&mut random, repetitions, 0.03), noisy(&mut random, repetitions, 0.03));
            let interval = ratio_of(&one, &other, paired, LEVEL).and_then(|ratio| ratio.interval);
            let Interval { low, high } = interval.expect("repetitions");
            low > 1.0 || high < 1.0
        };
        (0..1000).filter(alarm).count()
    }

    #[test]
    fn what_does_not_differ_is_told_apart_in_a_twentieth_at_most() {
        for repetitions in [2, 3, 5, 10] {
            for paired in [false, true] {
                let alarms = false_alarms(repetitions, paired);
                assert!(alarms <= 65, "{alarms} of 1000, of {repetitions} repetitions, paired: {paired}");
            }
        }
    }

    #[test]
    fn what_differs_by_more_than_the_noise_is_found() {
        let mut random = Rng::with_seed(7);
        for _ in 0..200 {
            let one = noisy(&mut random, 5, 0.005);
            let other: Vec<f64> = noisy(&mut random, 5, 0.005).iter().map(|value| 0.95 * value).collect();
            let ratio = ratio_of(&one, &other, false, LEVEL).expect("both have repetitions");
            assert!(ratio.interval.expect("five repetitions").high < 1.0, "{ratio:?}");
        }
    }

    #[test]
    fn what_repeats_bit_for_bit_has_no_interval_to_speak_of() {
        let of =
            |after: &[f64], paired| ratio_of(&[10.0, 20.0, 30.0], after, paired, LEVEL).expect("a ratio");
        let same = of(&[10.0, 20.0, 30.0], true);
        assert_eq!((same.mean, same.interval), (1.0, Some(Interval { low: 1.0, high: 1.0 })));
        let slower = of(&[9.5, 19.0, 28.5], true).interval.expect("three repetitions");
        assert!(slower.high < 0.951 && slower.low > 0.949, "{slower:?}");
        assert!(
            of(&[9.5, 19.0, 28.5], false).interval.expect("three").high > 1.0,
            "by themselves they are noise"
        );
    }

    #[test]
    fn nothing_has_no_ratio() {
        assert_eq!(ratio_of(&[], &[1.0], false, LEVEL), None);
        assert_eq!(ratio_of(&[1.0, 0.0], &[1.0, 1.0], true, LEVEL), None);
        assert_eq!(ratio_of(&[1.0], &[2.0], true, LEVEL), Some(Ratio { mean: 2.0, interval: None }));
    }
}
