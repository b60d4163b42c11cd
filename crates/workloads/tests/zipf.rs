//! The zipfian distribution against exact probabilities and against `rand_distr`, by chi-square tests whose
//! seeds are fixed; and the canary: the approximation of Gray et al., which the same test must reject.

use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand_distr::Distribution;
use workloads::zipf::Zipf;

const THETAS: [f64; 5] = [0.0, 0.5, 0.8, 0.9, 0.99];
const DRAWS: u64 = 1_000_000;
/// Standard deviations that a chi-square may lie off. Once in 16,000 tests by chance, and the seeds are
/// fixed.
const TOLERANCE: f64 = 4.0;

/// The sum of `k^-theta` for `k` in `first..=last`; by Euler and Maclaurin where that is exact to 10^-15.
fn weight(first: u64, last: u64, theta: f64) -> f64 {
    let term = |k: u64| (k as f64).powf(-theta);
    let slope = |k: u64| -theta * (k as f64).powf(-theta - 1.0);
    let direct_end = last.min(first.max(2000) - 1);
    let direct: f64 = (first..=direct_end).rev().map(term).sum();
    let first = first.max(direct_end + 1);
    if first > last {
        return direct;
    }
    let antiderivative = |k: u64| (k as f64).powf(1.0 - theta) / (1.0 - theta);
    let integral = antiderivative(last) - antiderivative(first);
    direct + integral + (term(first) + term(last)) / 2.0 + (slope(last) - slope(first)) / 12.0
}

/// Ranks in cells that are expected to be drawn often enough: one each at first, then ever wider.
struct Cells {
    /// First rank of each.
    firsts: Vec<u64>,
    probabilities: Vec<f64>,
}

impl Cells {
    fn new(ranks: u64, theta: f64) -> Self {
        let total = weight(1, ranks, theta);
        let (mut firsts, mut probabilities, mut first) = (vec![], vec![], 0);
        while first < ranks {
            let mut end = first + 1 + first / 20;
            let mut probability = weight(first + 1, end.min(ranks), theta) / total;
            while end < ranks && probability * (DRAWS as f64) < 20.0 {
                end += end - first;
                probability = weight(first + 1, end.min(ranks), theta) / total;
            }
            firsts.push(first);
            probabilities.push(probability);
            first = end;
        }
        assert!((probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-9, "the cells tile the ranks");
        Cells { firsts, probabilities }
    }

    fn count(&self, mut draw: impl FnMut() -> u64) -> Vec<f64> {
        let mut counts = vec![0.0; self.firsts.len()];
        for _ in 0..DRAWS {
            let rank = draw();
            counts[self.firsts.partition_point(|first| *first <= rank) - 1] += 1.0;
        }
        counts
    }

    /// Standard deviations by which the counts' chi-square exceeds what it should be.
    fn deviation(&self, counts: &[f64]) -> f64 {
        let expected = self.probabilities.iter().map(|probability| probability * DRAWS as f64);
        let chi_square =
            counts.iter().zip(expected).map(|(count, expected)| (count - expected).powi(2) / expected);
        normal(chi_square.sum(), counts.len() - 1)
    }
}

/// A chi-square as a standard normal deviate (Wilson and Hilferty 1931).
fn normal(chi_square: f64, degrees: usize) -> f64 {
    if degrees == 0 {
        return chi_square;
    }
    let variance = 2.0 / (9.0 * degrees as f64);
    ((chi_square / degrees as f64).cbrt() - (1.0 - variance)) / variance.sqrt()
}

#[test]
fn draws_follow_the_exact_probabilities() {
    for ranks in [1, 2, 10, 33, 1000, 1_000_000, 100_000_000, 10_000_000_000] {
        for theta in THETAS {
            let (zipf, cells) = (Zipf::new(ranks, theta).expect("in range"), Cells::new(ranks, theta));
            let mut rng = fastrand::Rng::with_seed(ranks);
            let deviation = cells.deviation(&cells.count(|| zipf.draw(&mut rng)));
            assert!(deviation < TOLERANCE, "{ranks} ranks, theta {theta}: off by {deviation:.1}");
        }
    }
}

#[test]
fn draws_follow_those_of_rand_distr() {
    for ranks in [2, 10, 1000, 1_000_000, 100_000_000] {
        for theta in THETAS {
            let ours = Zipf::new(ranks, theta).expect("in range");
            let theirs = rand_distr::Zipf::new(ranks as f64, theta).expect("in range");
            let cells = Cells::new(ranks, theta);
            let mut rng = fastrand::Rng::with_seed(ranks);
            let our_counts = cells.count(|| ours.draw(&mut rng));
            let mut rng = SmallRng::seed_from_u64(ranks);
            let their_counts = cells.count(|| theirs.sample(&mut rng) as u64 - 1);
            let both = our_counts.iter().zip(&their_counts).filter(|(our, their)| *our + *their > 0.0);
            let chi_square = both.map(|(our, their)| (our - their).powi(2) / (our + their)).sum();
            let deviation = normal(chi_square, our_counts.len() - 1);
            assert!(deviation < TOLERANCE, "{ranks} ranks, theta {theta}: off by {deviation:.1}");
        }
    }
}

#[test]
fn canary_the_usual_approximation_is_rejected() {
    let (ranks, theta) = (1000, 0.8);
    // Gray et al., "Quickly generating billion-record synthetic databases", SIGMOD 1994, figure 3; as in
    // YCSB.
    let (zeta, zeta_of_two) = (weight(1, ranks, theta), weight(1, 2, theta));
    let alpha = 1.0 / (1.0 - theta);
    let eta = (1.0 - (2.0 / ranks as f64).powf(1.0 - theta)) / (1.0 - zeta_of_two / zeta);
    let mut rng = fastrand::Rng::with_seed(1);
    let cells = Cells::new(ranks, theta);
    let counts = cells.count(|| match rng.f64() {
        uniform if uniform * zeta < 1.0 => 0,
        uniform if uniform * zeta < zeta_of_two => 1,
        uniform => (ranks as f64 * (eta * uniform - eta + 1.0).powf(alpha)) as u64,
    });
    let deviation = cells.deviation(&counts);
    assert!(deviation > 5.0 * TOLERANCE, "off by {deviation:.1} only");
}

#[test]
fn canary_a_slightly_wrong_theta_is_rejected() {
    let zipf = Zipf::new(1_000_000, 0.81).expect("in range");
    let mut rng = fastrand::Rng::with_seed(1);
    let cells = Cells::new(1_000_000, 0.8);
    assert!(cells.deviation(&cells.count(|| zipf.draw(&mut rng))) > 5.0 * TOLERANCE);
}

#[test]
fn partial_sums_are_exact() {
    for theta in THETAS {
        let direct: f64 = (1..=100_000u64).rev().map(|k| (k as f64).powf(-theta)).sum();
        assert!((weight(1, 100_000, theta) / direct - 1.0).abs() < 1e-12);
        let halves = weight(1, 5000, theta) + weight(5001, 100_000, theta);
        assert!((halves / direct - 1.0).abs() < 1e-12);
    }
}

#[test]
fn the_seed_decides_the_draws() {
    let zipf = Zipf::new(1_000_000, 0.8).expect("in range");
    let draws = |seed| {
        let mut rng = fastrand::Rng::with_seed(seed);
        std::array::from_fn::<u64, 100, _>(|_| zipf.draw(&mut rng))
    };
    assert_eq!(draws(1), draws(1));
    assert_ne!(draws(1), draws(2));
}
