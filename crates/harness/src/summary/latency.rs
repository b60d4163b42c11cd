//! Latency by percentile.

use hdrhistogram::{Counter, Histogram};
use serde::{Deserialize, Serialize};

/// Percentiles in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Half were faster.
    pub p50: u64,
    /// Nine of ten were faster.
    pub p90: u64,
    /// 99 of 100 were faster.
    pub p99: u64,
    /// 999 of 1000 were faster.
    pub p999: u64,
    /// The slowest.
    pub max: u64,
    /// The arithmetic mean.
    pub mean: f64,
}

impl Latency {
    /// The percentiles of `histogram`, whatever it counts by; `None` if it is empty.
    pub fn of<C: Counter>(histogram: &Histogram<C>) -> Option<Latency> {
        (!histogram.is_empty()).then(|| Latency {
            p50: histogram.value_at_quantile(0.50),
            p90: histogram.value_at_quantile(0.90),
            p99: histogram.value_at_quantile(0.99),
            p999: histogram.value_at_quantile(0.999),
            max: histogram.max(),
            mean: histogram.mean(),
        })
    }
}
