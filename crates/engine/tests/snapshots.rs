//! Snapshots on the hardware, with real threads.

mod shared;

use contract::{ArchitectureName, EngineOptions, PairName, Selection};
use engine::ThisEngine;
use shared::snapshots::{LEDGERS, ledger_run};
use std::time::Duration;

/// The pairs that have snapshots, with the options of a short one.
fn with_snapshots(snapshot_every: u64) -> impl Iterator<Item = (PairName, EngineOptions)> {
    let options = EngineOptions {
        snapshots: true,
        snapshot_every,
        epoch_interval: Duration::from_micros(50),
        ..EngineOptions::default()
    };
    let has_snapshots = {
        let options = options.clone();
        move |pair: &PairName| {
            pair.architecture == ArchitectureName::SharedEverything
                && shared::arrange_with::<ThisEngine>(*pair, 2, &options).layout.snapshot_every > 0
        }
    };
    let pairs = shared::supported::<ThisEngine>().into_iter().filter(has_snapshots);
    pairs.map(move |pair| (pair, options.clone()))
}

#[test]
fn every_snapshot_has_all_the_money() {
    let (mut runs, mut snapshots) = (0, 0);
    for ledger in LEDGERS {
        for snapshot_every in [1, 2, 5] {
            for (pair, options) in with_snapshots(snapshot_every) {
                let run = ledger_run::<ThisEngine>(ledger, Selection::Pair(pair), 3, 4_000, &options);
                let found = run.unwrap_or_else(|broken| panic!("{pair}, {ledger:?}, {options:?}: {broken}"));
                assert_eq!(found.sums, 2 * 3 * 1_000, "{pair}, {ledger:?}: every fourth transaction is a sum");
                (runs, snapshots) = (runs + 1, snapshots + found.snapshots);
            }
        }
    }
    assert!(runs == 5 * 5 * 3 && snapshots > 2 * 3 * 2 * runs, "{snapshots} snapshots in {runs} runs");
}
