//! Clients that have nothing now and then, under explored schedules.

#[path = "../../engine/tests/shared/mod.rs"]
mod shared;

use contract::{Arrival, Engine, EngineOptions, Selection};
use engine_simulated::ThisEngine;
use machine::simulated::{Exploration, Schedule, explore};
use shared::arrivals::{Arrivals, serve};

/// So many transactions, and before each the client has none as often as it says.
fn after_pauses(transactions: u64, pauses: u64) -> Arrivals {
    let (mut left, mut paused) = (transactions, 0);
    Box::new(move || {
        if left > 0 && paused < pauses {
            paused += 1;
            return Arrival::NothingNow;
        }
        paused = 0;
        match left.checked_sub(1) {
            Some(fewer) => {
                left = fewer;
                Arrival::Ready
            }
            None => Arrival::Closed,
        }
    })
}

#[test]
fn all_that_arrives_commits_under_every_schedule() {
    for pair in shared::supported::<ThisEngine>() {
        for seed in 0..4 {
            let schedule = Schedule::Random { seed, switch_one_in: 4 };
            let options = EngineOptions { seed, ..EngineOptions::default() };
            let held = explore(Exploration::of(schedule), || {
                let arrivals = vec![after_pauses(10, 0), after_pauses(6, 3), after_pauses(2, 40)];
                let (store, run) = serve::<ThisEngine>(Selection::Pair(pair), &options, arrivals);
                let committed: Vec<u64> = run.clients.iter().map(|client| client.committed).collect();
                assert_eq!(committed, [10, 6, 2], "{pair}, seed {seed}");
                ThisEngine::leak_check(&store).held
            });
            assert_eq!(held, 0, "{pair}, seed {seed}");
        }
    }
}
