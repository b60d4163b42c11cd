//! A simulated machine beside the one that it describes, as *thousand-cores* figure 3 does: throughput measured and
//! simulated, for every system and number of workers.

mod error;

pub use error::{Comparisons, ModelError, ModelErrors};

use crate::subject::Subject;
use crate::summary::Summary;
use serde::Serialize;
use std::collections::BTreeMap;

/// Name and version of [`Validation`]'s fields.
pub const SCHEMA: &str = "trireme.validation/1";

/// What `validate --json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct Validation {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The line that was typed.
    pub command: String,
    /// The simulated machine's name.
    pub machine: String,
    /// The workload's name.
    pub workload: String,
    /// Its effective parameters.
    pub parameters: BTreeMap<String, String>,
    /// Seed of everything random.
    pub seed: u64,
    /// Every system at every number of workers.
    pub rows: Vec<Compared>,
    /// The geometric mean of how far simulated is from measured, as a factor of at least 1.
    pub mean_factor: f64,
    /// The largest such factor.
    pub worst_factor: f64,
    /// Of the pairs of systems that were measured to differ by a fifth or more at one number of workers, the part that
    /// the simulation puts in the same order; `null` if there is none.
    pub order_kept: Option<f64>,
    /// A line between two of the host's cores; `null` if there is one core.
    pub round_trip: Option<RoundTrip>,
    /// What is odd, and what to do about it.
    pub warnings: Vec<String>,
}

/// A line there and back between two cores. A virtual machine's cores may be moved while it runs.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RoundTrip {
    /// Measured before everything else.
    pub before_ns: f64,
    /// Measured after it.
    pub after_ns: f64,
    /// On the simulated machine.
    pub simulated_ns: f64,
}

impl RoundTrip {
    /// Beyond this factor the cores are not where they were.
    const MOVED: f64 = 1.5;

    fn warning(&self) -> Option<String> {
        let all = [self.before_ns, self.after_ns, self.simulated_ns];
        let (least, most) =
            (all.iter().copied().fold(f64::MAX, f64::min), all.iter().copied().fold(0.0, f64::max));
        (most > least * RoundTrip::MOVED).then(|| {
            format!(
                "a line there and back took {:.0} ns before and {:.0} ns after the measurements, and {:.0} ns on the \
                 simulated machine: the host's cores are not where they were; calibrate and validate again",
                self.before_ns, self.after_ns, self.simulated_ns
            )
        })
    }
}

/// One system at one number of workers.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// The architecture's name.
    pub architecture: String,
    /// The protocol's name.
    pub protocol: String,
    /// Workers.
    pub workers: usize,
    /// Committed transactions per second, the median of what was measured.
    pub measured_per_s: f64,
    /// The slowest repetition.
    pub measured_min: f64,
    /// The fastest repetition.
    pub measured_max: f64,
    /// What was simulated.
    pub simulated_per_s: f64,
    /// Simulated over measured.
    pub ratio: f64,
}

impl Compared {
    /// One system, measured and simulated.
    pub fn of(measured: &Summary, simulated: &Summary) -> Compared {
        Compared {
            architecture: measured.architecture.clone(),
            protocol: measured.protocol.clone(),
            workers: measured.workers,
            measured_per_s: measured.throughput_per_s,
            measured_min: measured.throughput_min,
            measured_max: measured.throughput_max,
            simulated_per_s: simulated.throughput_per_s,
            ratio: simulated.throughput_per_s / measured.throughput_per_s,
        }
    }

    fn factor(&self) -> f64 {
        self.ratio.max(1.0 / self.ratio)
    }
}

impl Validation {
    /// Of all rows.
    pub fn of(
        command: &str,
        machine: String,
        subject: &Subject,
        rows: Vec<Compared>,
        round_trip: Option<RoundTrip>,
    ) -> Validation {
        let sum: f64 = rows.iter().map(|row| row.factor().ln()).sum();
        Validation {
            schema: SCHEMA,
            command: command.to_owned(),
            machine,
            workload: subject.workload.clone(),
            parameters: subject.parameters.clone(),
            seed: subject.options.seed,
            mean_factor: (sum / rows.len().max(1) as f64).exp(),
            worst_factor: rows.iter().map(Compared::factor).fold(1.0, f64::max),
            order_kept: order_kept(&rows),
            round_trip,
            warnings: round_trip.as_ref().and_then(RoundTrip::warning).into_iter().collect(),
            rows,
        }
    }
}

/// Systems that differ by less may as well stand in either order.
const DIFFERENT: f64 = 1.2;

fn order_kept(rows: &[Compared]) -> Option<f64> {
    let (mut pairs, mut kept) = (0u64, 0u64);
    for (position, one) in rows.iter().enumerate() {
        for other in rows[position + 1..].iter().filter(|other| other.workers == one.workers) {
            let measured = one.measured_per_s / other.measured_per_s;
            if measured.max(1.0 / measured) < DIFFERENT {
                continue;
            }
            let simulated = one.simulated_per_s / other.simulated_per_s;
            pairs += 1;
            kept += u64::from((measured > 1.0) == (simulated > 1.0));
        }
    }
    (pairs > 0).then(|| kept as f64 / pairs as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(workers: usize, measured_per_s: f64, simulated_per_s: f64) -> Compared {
        Compared {
            architecture: "a".to_owned(),
            protocol: "p".to_owned(),
            workers,
            measured_per_s,
            measured_min: measured_per_s,
            measured_max: measured_per_s,
            simulated_per_s,
            ratio: simulated_per_s / measured_per_s,
        }
    }

    #[test]
    fn cores_that_moved_are_noticed() {
        let trip = |before_ns, after_ns| RoundTrip { before_ns, after_ns, simulated_ns: 100.0 };
        assert_eq!(trip(110.0, 90.0).warning(), None);
        assert!(trip(110.0, 300.0).warning().is_some_and(|words| words.contains("300 ns after")));
        assert!(trip(30.0, 30.0).warning().is_some(), "the file is of other cores");
    }

    #[test]
    fn only_clear_differences_have_an_order() {
        // 100 before 50 is kept; 50 and 55 are alike; 100 and 55 are turned round.
        let rows = [row(2, 100.0, 60.0), row(2, 50.0, 40.0), row(2, 55.0, 70.0), row(1, 1.0, 1000.0)];
        assert_eq!(order_kept(&rows), Some(0.5));
        assert_eq!(order_kept(&rows[3..]), None);
        assert_eq!(row(1, 100.0, 50.0).factor(), 2.0);
        assert_eq!(row(1, 50.0, 100.0).factor(), 2.0);
    }
}
