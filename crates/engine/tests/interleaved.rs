//! Shared-everything with several transactions in flight at each worker, with as many workers as there are.

mod shared;

use contract::{ArchitectureName, EngineOptions, InFlight, Selection};
use engine::ThisEngine;
use shared::concurrent::bank_run;
use shared::queues::queues_run;

const TRANSACTIONS: u64 = 4_000;

fn every_number(run: impl Fn(Selection, usize, &EngineOptions) -> Result<(), String>) {
    for pair in shared::supported::<ThisEngine>() {
        if pair.architecture != ArchitectureName::SharedEverything {
            continue;
        }
        // The last: more fibers than rows, and more workers than cores on many a machine.
        for (workers, in_flight) in [
            (1, InFlight::Told(8)),
            (2, InFlight::Told(4)),
            (2, InFlight::Auto),
            (4, InFlight::Auto),
            (4, InFlight::Told(8)),
        ] {
            let options = EngineOptions { in_flight, ..EngineOptions::default() };
            let broken = run(Selection::Pair(pair), workers, &options).err();
            assert_eq!(broken, None, "{pair}, {workers} workers, {in_flight} in flight");
        }
    }
}

#[test]
fn fibers_of_a_worker_keep_the_sums() {
    every_number(|selection, workers, options| {
        bank_run::<ThisEngine>(selection, workers, 1, TRANSACTIONS, options)
    });
}

#[test]
fn fibers_of_a_worker_keep_the_queues() {
    for indexing in shared::ORDERED {
        every_number(|selection, workers, options| {
            queues_run::<ThisEngine>(selection, indexing, workers, 1, TRANSACTIONS / 4, options)
        });
    }
}
