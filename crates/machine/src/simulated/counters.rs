//! A simulated core has no counters of a processor's: what it does is counted by the model ([`super::statistics`]).

/// What a processor would count; nothing here.
pub type Counts = [Option<u64>; 6];

/// No counters.
pub struct Counters(());

impl Counters {
    /// Of this core: none.
    pub fn of_this_thread() -> Counters {
        Counters(())
    }

    /// None.
    pub fn none() -> Counters {
        Counters(())
    }

    /// Nothing is counted.
    pub fn begin(&mut self) {}

    /// Nothing was counted.
    pub fn end(&mut self) -> Counts {
        Counts::default()
    }
}
