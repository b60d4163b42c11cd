//! Where a worker runs.

/// Where a worker runs, or would if it were bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// The number of its machine.
    pub machine: usize,
    /// The number of its socket, which no other machine has.
    pub socket: usize,
}
