//! The compilations of the engine that this binary links.

use harness::{BadValue, Failure};

/// The engine on the machine at hand.
pub type Hardware = engine::ThisEngine;
/// The engine on the simulated machine.
pub type Simulated = engine_simulated::ThisEngine;

/// Refuses a machine that no engine runs on.
pub fn admit_machine(on: &str) -> Result<(), Failure> {
    match on {
        "hardware" => Ok(()),
        other => Err(BadValue::new("on", other, "hardware; this build has no simulated machine yet").into()),
    }
}

/// Hardware threads that this process may use: what `cores` means on the command line.
pub fn cores() -> usize {
    machine::hardware::topology::Topology::of_this_machine().hardware_threads()
}
