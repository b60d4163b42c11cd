//! Tests of an engine through its contract, run over both compilations.
#![allow(dead_code, reason = "each test uses its part")]

pub mod arrivals;
pub mod concurrent;
pub mod counters;
pub mod model;
pub mod queues;
pub mod seeds;
pub mod snapshots;
pub mod starving;

use contract::{Arrangement, Engine, EngineOptions, Indexing, PairName, ProtocolName, Support};

/// The kinds of tables that can be scanned.
pub const ORDERED: [Indexing; 2] = [Indexing::Ordered, Indexing::OrderedBytes { most: 24 }];

/// The protocols whose requests wait in a lock's queue.
pub const QUEUEING: [ProtocolName; 4] =
    [ProtocolName::DlDetect, ProtocolName::Dreadlocks, ProtocolName::WaitDie, ProtocolName::DeadlockFree];

/// Every pair that the engine supports.
pub fn supported<E: Engine>() -> Vec<PairName> {
    PairName::all().filter(|&pair| E::support(pair) == Support::Supported).collect()
}

/// What a pair makes of `workers` workers.
pub fn arrange<E: Engine>(pair: PairName, workers: usize) -> Arrangement {
    arrange_with::<E>(pair, workers, &EngineOptions::default())
}

/// The same under these options.
pub fn arrange_with<E: Engine>(pair: PairName, workers: usize, options: &EngineOptions) -> Arrangement {
    E::arrange(pair, workers, options).expect("the options fit")
}
