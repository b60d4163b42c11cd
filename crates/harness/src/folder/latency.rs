//! `latency/SYSTEM.csv`: latency by percentile.

use crate::summary::LatencyOf;
use contract::LatencyHistogram;

/// Points of [`curve`] between one more nine and the next.
const POINTS_A_NINE: f64 = 12.0;

/// The file's text: the percentiles at which a recorded value stands, closer together towards the slowest. The second column's head names what the latencies are.
pub fn csv(histogram: &LatencyHistogram, of: LatencyOf) -> String {
    let mut text = format!("percentile,{of}_ns,transactions_up_to_it\n");
    let mut up_to = 0;
    for step in histogram.iter_quantiles(10) {
        up_to += step.count_since_last_iteration();
        text += &format!("{:.6},{},{up_to}\n", step.quantile_iterated_to() * 100.0, step.value_iterated_to());
    }
    text
}

/// `(one in how many is slower, latency in ns)` from the median on, evenly in the logarithm of the first and through
/// every power of ten, as far as the histogram has transactions for it.
pub fn curve(histogram: &LatencyHistogram) -> Vec<(f64, f64)> {
    let transactions = histogram.len() as f64;
    if transactions < 2.0 {
        return Vec::new();
    }
    let steps = (transactions.log10() * POINTS_A_NINE).floor() as u32;
    let nines = (0..=steps).map(|step| 10f64.powf(f64::from(step) / POINTS_A_NINE));
    let between = nines.filter(|&one_in| one_in > 2.0 && one_in < transactions);
    let all = std::iter::once(2.0).chain(between).chain((transactions > 2.0).then_some(transactions));
    all.map(|one_in| (one_in, histogram.value_at_quantile(1.0 - 1.0 / one_in) as f64)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::Measurement;

    fn thousand() -> LatencyHistogram {
        let mut histogram = Measurement::empty_histogram();
        (1..=1000).for_each(|ns| histogram.record(ns).expect("in bounds"));
        histogram
    }

    #[test]
    fn the_file_ends_with_the_slowest() {
        let text = csv(&thousand(), LatencyOf::Response);
        assert!(text.starts_with("percentile,response_ns,transactions_up_to_it\n"), "{text}");
        assert!(text.ends_with("100.000000,1000,1000\n"), "{text}");
    }

    #[test]
    fn the_curve_goes_from_the_median_to_the_slowest() {
        let curve = curve(&thousand());
        assert_eq!(curve.first(), Some(&(2.0, 500.0)));
        let &(one_in, slowest) = curve.last().expect("points");
        assert!((one_in - 1000.0).abs() < 1e-6 && (999.0..=1000.0).contains(&slowest));
        assert!([10.0, 100.0].iter().all(|ten| curve.iter().any(|(one_in, _)| one_in == ten)));
        assert!(curve.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 <= two[1].1));
    }

    #[test]
    fn too_few_transactions_have_no_curve() {
        assert!(curve(&Measurement::empty_histogram()).is_empty());
    }
}
