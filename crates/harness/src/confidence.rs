//! Which systems of a ranking are told apart, by repetitions that were taken by turns.
//!
//! Repetition *n* of every system was taken in one round, in the same state of the machine and from the same seed, so that two
//! systems are compared pair by pair: the logarithms of their ratios have a mean, and by Student's distribution an
//! interval that holds the true mean with 95 % confidence ([`Interval`]).
//!
//! In a ranking of many systems some pair differs by chance, however alike all of them are. So its pairs are judged together:
//! sorted by how unlikely they are to differ by chance, and held against ever less strict levels until one fails (Holm 1979);
//! then with 95 % confidence none is told apart that is alike. What was simulated has, beside its seeds, the error of the model: two
//! systems that differ by less than that are not told apart either.
//!
//! A system's *place* is 1 and the number of systems that are faster for certain.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// How often a difference may be told where there is none.
const LEVEL: f64 = 0.05;

/// From where to where a ratio lies, with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The logarithms of ratios, taken in pairs.
struct Paired {
    mean: f64,
    /// Of the mean.
    error: f64,
    student: StudentsT,
}

impl Paired {
    /// `None` for fewer than two pairs, or if one of the values is not above 0.
    fn of(one: &[f64], other: &[f64]) -> Option<Paired> {
        assert_eq!(one.len(), other.len(), "repetitions are compared by pairs");
        let pairs = one.len() as f64;
        if one.len() < 2 || one.iter().chain(other).any(|&value| value <= 0.0) {
            return None;
        }
        let logarithms: Vec<f64> = one.iter().zip(other).map(|(one, other)| (one / other).ln()).collect();
        let mean = logarithms.iter().sum::<f64>() / pairs;
        let squares: f64 = logarithms.iter().map(|value| (value - mean).powi(2)).sum();
        let error = (squares / (pairs - 1.0) / pairs).sqrt();
        let student = StudentsT::new(0.0, 1.0, pairs - 1.0).expect("one degree of freedom at least");
        Some(Paired { mean, error, student })
    }

    fn interval(&self) -> Interval {
        let half = self.error * self.student.inverse_cdf(1.0 - LEVEL / 2.0);
        Interval { low: (self.mean - half).exp(), high: (self.mean + half).exp() }
    }

    /// How likely so large a difference is by chance.
    fn chance(&self) -> f64 {
        if self.error == 0.0 {
            // What repeats bit for bit has no chance in it.
            return if self.mean == 0.0 { 1.0 } else { 0.0 };
        }
        2.0 * self.student.cdf(-(self.mean / self.error).abs())
    }
}

impl Interval {
    /// The ratio of `one` to `other`, whose elements were measured side by side. `None` for fewer than two pairs, or if one of
    /// them is not above 0.
    ///
    /// Panics if they are not of one length.
    pub fn of_ratio(one: &[f64], other: &[f64]) -> Option<Interval> {
        Paired::of(one, other).map(|paired| paired.interval())
    }

    /// Whether it may be one value or the other.
    pub fn holds(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// The place of each system of a ranking. `throughputs`: by system, best first, then by repetition. `model_error`: a factor of
/// at least 1, by which ratios may be off besides.
pub fn places(throughputs: &[Vec<f64>], model_error: f64) -> Vec<usize> {
    let systems = throughputs.len();
    let pairs = (0..systems).flat_map(|worse| (0..worse).map(move |better| (better, worse)));
    let mut chances: Vec<((usize, usize), f64)> = pairs
        .map(|(better, worse)| {
            ((better, worse), chance(&throughputs[better], &throughputs[worse], model_error))
        })
        .collect();
    chances.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    let mut places = vec![1; systems];
    let all = chances.len();
    for (number, ((_, worse), chance)) in chances.into_iter().enumerate() {
        if chance > LEVEL / (all - number) as f64 {
            break;
        }
        places[worse] += 1;
    }
    places
}

/// How likely `better` is ahead by chance; 1 where nothing can be said.
fn chance(better: &[f64], worse: &[f64], model_error: f64) -> f64 {
    let is_none = |repetitions: &[f64]| repetitions.iter().all(|&value| value == 0.0);
    if is_none(worse) && !is_none(better) {
        // Something is more than nothing.
        return 0.0;
    }
    match Paired::of(better, worse) {
        Some(paired) if paired.mean > model_error.ln() => paired.chance(),
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_students() {
        // Ratios e^0.1, e^0.2, e^0.3: mean 0.2, standard error 0.1 / sqrt 3; 4.303 of them with two degrees of freedom.
        let one: Vec<f64> = [0.1f64, 0.2, 0.3].iter().map(|x| x.exp()).collect();
        let interval = Interval::of_ratio(&one, &[1.0; 3]).expect("three pairs");
        let half = 4.302_653 * 0.1 / 3f64.sqrt();
        assert!((interval.low.ln() - (0.2 - half)).abs() < 1e-6, "{interval:?}");
        assert!((interval.high.ln() - (0.2 + half)).abs() < 1e-6, "{interval:?}");
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

    fn around(value: f64, by: [f64; 5]) -> Vec<f64> {
        by.map(|part| value * part).to_vec()
    }

    #[test]
    fn a_place_is_the_number_of_those_that_are_faster_for_certain() {
        let ranked = [
            around(1000.0, [1.0, 1.001, 0.999, 1.0, 1.002]),
            around(999.0, [1.001, 0.999, 1.0, 1.002, 1.0]),
            around(700.0, [1.0, 1.001, 0.999, 1.001, 1.0]),
            around(300.0, [0.999, 1.0, 1.001, 1.0, 1.0]),
            vec![0.0; 5],
            vec![0.0; 5],
        ];
        assert_eq!(places(&ranked, 1.0), [1, 1, 3, 4, 5, 5]);
        assert_eq!(places(&[vec![2.0], vec![1.0]], 1.0), [1, 1], "one repetition tells nothing apart");
        assert_eq!(places(&[], 1.0), [0; 0]);
        // A restless one may be faster than all, and is told apart from none, though another one is.
        let restless = vec![1000.0, 500.0, 1500.0, 700.0, 900.0];
        let steady = [ranked[0].clone(), restless, ranked[2].clone()];
        assert_eq!(places(&steady, 1.0), [1, 1, 2]);
    }

    #[test]
    fn a_model_that_is_off_tells_no_smaller_differences_apart() {
        let ranked = [vec![1000.0; 3], vec![900.0; 3], vec![500.0; 3]];
        assert_eq!(places(&ranked, 1.0), [1, 2, 3]);
        assert_eq!(places(&ranked, 1.3), [1, 1, 3]);
    }

    /// Sixteen systems that are alike, with noise of a hundredth: without correction every other ranking tells some apart.
    #[test]
    fn what_is_alike_is_hardly_ever_told_apart() {
        let mut draw = fastrand::Rng::with_seed(7);
        let rankings = 400;
        // Twelve uniform draws are as good as normal here.
        let mut noisy = || 1000.0 * (1.0 + 0.01 * ((0..12).map(|_| draw.f64()).sum::<f64>() - 6.0));
        let wrong = (0..rankings).filter(|_| {
            let mut systems: Vec<Vec<f64>> = (0..16).map(|_| (0..3).map(|_| noisy()).collect()).collect();
            systems.sort_by(|a, b| b.iter().sum::<f64>().total_cmp(&a.iter().sum::<f64>()));
            places(&systems, 1.0).iter().any(|place| *place > 1)
        });
        let wrong = wrong.count();
        assert!(wrong <= rankings / 10, "{wrong} of {rankings}, where a twentieth is allowed");
    }
}
