//! Tests of an engine through its contract, run over both compilations.

pub mod concurrent;
pub mod model;

use contract::{ArchitectureName, Arrangement, Engine, EngineOptions, PairName, Support};

/// Every pair that the engine supports.
pub fn supported<E: Engine>() -> Vec<PairName> {
    PairName::all().filter(|&pair| E::support(pair) == Support::Supported).collect()
}

/// What an architecture makes of `workers` workers.
pub fn arrange<E: Engine>(architecture: ArchitectureName, workers: usize) -> Arrangement {
    E::arrange(architecture, workers, &EngineOptions::default()).expect("the defaults fit")
}
