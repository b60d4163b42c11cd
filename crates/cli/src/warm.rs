//! How long a simulation has to be until it says what the hardware says after seconds.
//!
//! A simulated run begins with empty caches, and a millisecond of its time is a thousand transactions or two: of a table of
//! 100,000 rows most are touched for the first time, from memory, long after what `reproduce` simulates on many cores. What
//! is held against the hardware has to have its caches as warm. So it is simulated for as long as the system takes, by its
//! measured rate, to run twice as many transactions as there are rows: until the caches are warm each takes several times as
//! long.

use std::time::Duration;

/// As of a fast system.
const BRIEFLY_PER_S: f64 = 1e6;

/// Below this rate simulations are not made longer.
const LEAST_PER_S: f64 = 10_000.0;

/// Warm-up and counted interval of a simulation over `rows` rows, of a system that was measured to do `per_s` transactions a
/// second. Tables that no cache holds are not touched whole: there is no need to. Beside what committed nothing there is nothing to
/// compare, and it is simulated briefly.
pub fn times(rows: u64, per_s: f64) -> (Duration, Duration) {
    let warmup = (2 * rows).clamp(4_000, 100_000);
    let counted = (rows / 4).clamp(1_000, 10_000);
    let per_s = if per_s == 0.0 { BRIEFLY_PER_S } else { per_s.max(LEAST_PER_S) };
    let for_so_many = |transactions: u64| Duration::from_secs_f64(transactions as f64 / per_s);
    (for_so_many(warmup), for_so_many(counted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_systems_are_simulated_for_longer() {
        assert_eq!(times(20_000, 1e6), (Duration::from_millis(40), Duration::from_millis(5)));
        assert_eq!(times(20_000, 1e5), (Duration::from_millis(400), Duration::from_millis(50)));
        assert_eq!(times(10, 1e6), (Duration::from_millis(4), Duration::from_millis(1)));
        assert_eq!(times(1 << 40, 1.0), (Duration::from_secs(10), Duration::from_secs(1)));
        assert_eq!(times(10, 0.0), times(10, 1e6));
    }
}
