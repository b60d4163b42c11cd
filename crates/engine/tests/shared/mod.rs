//! Tests of an engine through its contract, run over both compilations.

pub mod concurrent;
pub mod model;

use contract::{ArchitectureName, Engine, PairName, Support};

/// Every pair that the engine supports.
pub fn supported<E: Engine>() -> Vec<PairName> {
    PairName::all().filter(|&pair| E::support(pair) == Support::Supported).collect()
}

/// The default architecture's layout.
pub fn layout<E: Engine>() -> contract::Layout {
    E::layout(ArchitectureName::SharedEverything, 1)
}
