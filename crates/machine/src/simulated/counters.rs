//! A simulated core has no counters of a processor's: what it does the model counts ([`super::statistics`]), and no instruction is simulated.

use std::fmt;

/// What a processor would count; nothing here.
pub type Counts = [Option<u64>; 6];

/// Why there are no counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal;

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a simulated machine runs no instructions, and has no counters of them")
    }
}

/// Always: there are none.
pub fn refusal() -> Option<Refusal> {
    Some(Refusal)
}

/// No counters.
pub struct Counters(());

impl Counters {
    /// Of this core: none.
    pub fn of_this_thread() -> Counters {
        Counters(())
    }

    /// Nothing is counted.
    pub fn begin(&mut self) {}

    /// Nothing was counted.
    pub fn end(&mut self) -> Counts {
        Counts::default()
    }
}
