//! A worker that hosts no transactions, and serves those of others: what it does in the counted interval is part of the run's
//! effort, as it is of workers that host transactions.

use super::interval::Interval;
use crate::architecture::Serving;
use crate::facade::clock::Ticks;
use contract::{Effort, Until};

/// Serves a run that began at `start` until all that host transactions have ended; answers what was done in the interval.
pub(crate) fn serve(mut server: impl Serving, start: Ticks, until: Until) -> Effort {
    let interval = Interval::new(start, until);
    if start < interval.from {
        server.serve_until(interval.from);
        server.take_effort();
    }
    server.serve_until(interval.to);
    // While it is dropped it serves on.
    server.take_effort()
}
