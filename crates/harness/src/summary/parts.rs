//! What a summary is made of: percentiles, time by class, checks.

use contract::{LatencyHistogram, TimeClass, TimeShare};
use serde::{Deserialize, Serialize};

/// Percentiles in nanoseconds; zeros if nothing committed.
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
    /// The percentiles of `histogram`.
    pub fn of(histogram: &LatencyHistogram) -> Latency {
        if histogram.is_empty() {
            return Latency::default();
        }
        Latency {
            p50: histogram.value_at_quantile(0.50),
            p90: histogram.value_at_quantile(0.90),
            p99: histogram.value_at_quantile(0.99),
            p999: histogram.value_at_quantile(0.999),
            max: histogram.max(),
            mean: histogram.mean(),
        }
    }
}

/// Parts of the whole, 0 to 1, by [`TimeClass`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimeShares {
    /// [`TimeClass::Useful`].
    pub useful: f64,
    /// [`TimeClass::Abort`].
    pub abort: f64,
    /// [`TimeClass::Timestamp`].
    pub timestamp: f64,
    /// [`TimeClass::Index`].
    pub index: f64,
    /// [`TimeClass::Wait`].
    pub wait: f64,
    /// [`TimeClass::Manager`].
    pub manager: f64,
}

impl TimeShares {
    /// The classes' parts of what was sampled.
    pub fn of(time: &TimeShare) -> TimeShares {
        TimeShares {
            useful: time.share(TimeClass::Useful),
            abort: time.share(TimeClass::Abort),
            timestamp: time.share(TimeClass::Timestamp),
            index: time.share(TimeClass::Index),
            wait: time.share(TimeClass::Wait),
            manager: time.share(TimeClass::Manager),
        }
    }

    /// One class's part.
    pub fn get(&self, class: TimeClass) -> f64 {
        match class {
            TimeClass::Useful => self.useful,
            TimeClass::Abort => self.abort,
            TimeClass::Timestamp => self.timestamp,
            TimeClass::Index => self.index,
            TimeClass::Wait => self.wait,
            TimeClass::Manager => self.manager,
        }
    }
}

/// Something that must hold after a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Its name, kebab-case.
    pub name: String,
    /// Whether it held, after every repetition.
    pub passed: bool,
    /// What was found if it did not hold; else empty.
    pub detail: String,
}

impl Check {
    /// A check with what to say if it failed.
    pub fn new(name: &str, passed: bool, found: impl FnOnce() -> String) -> Check {
        Check { name: name.to_owned(), passed, detail: if passed { String::new() } else { found() } }
    }

    /// Adds a further repetition's checks: one that failed once has failed.
    pub fn join(all: &mut Vec<Check>, further: Vec<Check>) {
        for check in further {
            match all.iter_mut().find(|known| known.name == check.name) {
                Some(known) if known.passed => *known = check,
                Some(_) => {}
                None => all.push(check),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_check_stays_failed() {
        let mut checks = Vec::new();
        let check = |passed| vec![Check::new("nothing-held", passed, || "3 are held".to_owned())];
        for passed in [true, false, true] {
            Check::join(&mut checks, check(passed));
        }
        assert_eq!(checks, check(false));
    }
}
