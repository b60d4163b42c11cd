//! What an open loop tells beside a closed one.

use super::{Latency, Measured};
use contract::{ArrivalsName, Measurement};
use serde::{Deserialize, Serialize};
use std::fmt;

/// From when on a latency is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LatencyOf {
    /// From the beginning of the first attempt.
    #[default]
    Service,
    /// From the transaction's arrival.
    Response,
}

impl LatencyOf {
    /// What is counted, in words.
    pub fn in_words(self) -> &'static str {
        match self {
            LatencyOf::Service => {
                "service times, from the beginning of a transaction's first attempt to its end"
            }
            LatencyOf::Response => "response times, from a transaction's arrival to its end",
        }
    }
}

impl fmt::Display for LatencyOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LatencyOf::Service => "service",
            LatencyOf::Response => "response",
        })
    }
}

/// The arrivals of all repetitions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arrivals {
    /// Transactions that arrived in a second, at all workers together, as they were told to.
    pub rate_per_s: u64,
    /// How they were spread.
    pub spread: ArrivalsName,
    /// How many transactions ended in a second in a closed loop, by commit or rollback, if the rate is a part of that; `null`: the rate was told.
    pub capacity_per_s: Option<f64>,
    /// How many arrived in the intervals.
    pub arrived: u64,
    /// How many had arrived by the end of their interval and not begun, in the repetition that had most.
    pub queued: u64,
    /// What a closed loop calls latency: from the beginning of the first attempt. `null` if nothing committed.
    pub service_ns: Option<Latency>,
}

impl Arrivals {
    /// Of a system's repetitions; `None`: it was a closed loop.
    pub fn of(measured: &Measured) -> Option<Arrivals> {
        let repetitions = || measured.repetitions.iter().filter_map(|repetition| repetition.arrived.as_ref());
        let first = repetitions().next()?;
        let mut service = Measurement::empty_histogram();
        repetitions().for_each(|of| service.add(&of.service_ns).expect("histograms of the same bounds"));
        Some(Arrivals {
            rate_per_s: first.open_loop.rate_per_s.get(),
            spread: first.open_loop.arrivals,
            capacity_per_s: measured.capacity_per_s,
            arrived: repetitions().map(|of| of.arrived).sum(),
            queued: repetitions().map(|of| of.queued).max().unwrap_or(0),
            service_ns: Latency::of(&service),
        })
    }

    /// Whether the system is behind: at the end of one of `repetitions` intervals more than a twentieth of what arrives in one had not begun, and more than the `slots` that it may have in flight.
    pub fn is_behind(&self, repetitions: usize, slots: usize) -> bool {
        let of_one = self.arrived as f64 / repetitions.max(1) as f64;
        self.queued > slots as u64 && self.queued as f64 > 0.05 * of_one
    }
}
