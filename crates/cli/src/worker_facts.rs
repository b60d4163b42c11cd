//! What it costs two workers to ask each other, beside what a cache line costs there and back: the two are measured by
//! turns, for virtual machines move their cores.

use engine::inner_steps;
use machine::hardware::facts;
use machine::hardware::topology::Topology;
use serde::Serialize;

/// Between the first two workers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WorkerFacts {
    /// A line there and back.
    pub line_round_trip_ns: f64,
    /// Delegation: a lock request and its answer, the record's line being the owner's.
    pub delegated_request_ns: f64,
    /// The same in line round trips, the median of the turns.
    pub delegated_request_in_round_trips: f64,
    /// DORA: a fiber's migration there and back.
    pub migration_there_and_back_ns: f64,
    /// The same in line round trips, the median of the turns.
    pub migration_in_round_trips: f64,
}

const TURNS: usize = 7;

/// Measures in some 0.2 s; `None` if there is one core.
pub fn measure() -> Option<WorkerFacts> {
    let places = &Topology::of_this_machine().fill_order;
    let (&one, &other) = (places.first()?, places.get(1)?);
    let turn = |_| {
        let line = facts::line_round_trip_ns(one, other);
        let request = inner_steps::delegated_request_ns(11);
        let migration = inner_steps::migration_there_and_back_ns(11);
        [line, request, request / line, migration, migration / line]
    };
    let turns: Vec<[f64; 5]> = (0..TURNS).map(turn).collect();
    let median = |column: usize| {
        let mut values: Vec<f64> = turns.iter().map(|turn| turn[column]).collect();
        values.sort_unstable_by(f64::total_cmp);
        values[TURNS / 2]
    };
    Some(WorkerFacts {
        line_round_trip_ns: median(0),
        delegated_request_ns: median(1),
        delegated_request_in_round_trips: median(2),
        migration_there_and_back_ns: median(3),
        migration_in_round_trips: median(4),
    })
}
