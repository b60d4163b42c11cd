//! The machine that this compilation of the engine runs on: the only place that asks which one it is.

#[cfg(not(simulated))]
pub use machine::hardware::*;
#[cfg(simulated)]
pub use machine::simulated::*;
