//! A worker that hosts no transactions, and serves those of others: what it does in the counted interval is part of the run's
//! effort, as it is of workers that host transactions.

use super::interval::Interval;
use super::processor::Processor;
use crate::architecture::Serving;
use crate::facade::clock::Ticks;
use contract::{Effort, EngineOptions, Until};

/// Serves a run that began at `start` until all that host transactions have ended; answers what was done in the interval.
pub(crate) fn serve(mut server: impl Serving, start: Ticks, until: Until, options: &EngineOptions) -> Effort {
    let mut processor = Processor::of_this_thread(options);
    let interval = Interval::new(start, until);
    if start < interval.from {
        server.serve_until(interval.from);
        server.take_effort();
    }
    processor.begin();
    server.serve_until(interval.to);
    let mut effort = server.take_effort();
    effort.merge(&processor.end());
    // While it is dropped the server serves on.
    effort
}
