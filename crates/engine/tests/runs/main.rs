//! Whole runs of the engine, under every pair.

mod at_fault;
mod ids;
mod interval;
mod panics;
mod reclaimed;
mod rows;
mod time;
#[allow(dead_code, reason = "simulations use all of it")]
#[path = "../shared/writes.rs"]
mod writes;

use contract::{Engine, PairName, Support};
use engine::ThisEngine;

/// Every pair that the engine supports.
fn supported() -> impl Iterator<Item = PairName> {
    PairName::all().filter(|pair| ThisEngine::support(*pair) == Support::Supported)
}
