//! What a simulation has done, and what it took the host.

use crate::simulated::model::LineStatistics;
use std::ops::Sub;
use std::time::Duration;

/// What has happened in a simulation. All but `host` is the same in every run with one seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// The clock of the core that is ahead of all.
    pub simulated: Duration,
    /// What the host took while cores ran.
    pub host: Duration,
    /// Accesses that the model was asked about, pauses, fences and looks at the clock.
    pub events: u64,
    /// Loads of the line that the load before was of; not among the events.
    pub repeated_loads: u64,
    /// Changes from one core to another.
    pub switches: u64,
    /// Pauses.
    pub pauses: u64,
    /// Cores that were put aside while they spun.
    pub parks: u64,
    /// What lines went through.
    pub lines: LineStatistics,
}

impl Statistics {
    /// Host time per event, in nanoseconds.
    pub fn host_ns_per_event(&self) -> f64 {
        self.host.as_nanos() as f64 / self.events.max(1) as f64
    }
}

impl Sub for Statistics {
    type Output = Statistics;

    /// What happened from `earlier` to here.
    fn sub(self, earlier: Statistics) -> Statistics {
        Statistics {
            simulated: self.simulated - earlier.simulated,
            host: self.host - earlier.host,
            events: self.events - earlier.events,
            repeated_loads: self.repeated_loads - earlier.repeated_loads,
            switches: self.switches - earlier.switches,
            pauses: self.pauses - earlier.pauses,
            parks: self.parks - earlier.parks,
            lines: self.lines - earlier.lines,
        }
    }
}

/// How far a simulation is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The clock of the core that is behind all.
    pub simulated: Duration,
    /// What the host has taken.
    pub host: Duration,
    /// Changes from one core to another so far.
    pub switches: u64,
}
