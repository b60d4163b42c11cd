//! Transactions that have committed in an open loop and are not in histograms yet.
//!
//! There each goes into three histograms, which together take as long as a small transaction's operation. A worker that keeps up with what arrives has nothing to do between
//! two of them: so they are written down, and counted when it rests ([`super::resting`]), or when there are [`MOST`].

use crate::facade::clock::Ticks;

/// Written down at most: as many as arrive in a short burst.
const MOST: usize = 64;

/// A transaction that has committed.
#[derive(Clone, Copy)]
pub(super) struct Committed {
    pub arrived: Ticks,
    pub began: Ticks,
    pub ended: Ticks,
    /// Whether its time goes into histograms.
    pub is_timed: bool,
}

/// A worker's.
pub(super) struct PutOff(Vec<Committed>);

impl PutOff {
    /// Nothing, and room for all that may be put off.
    pub fn new() -> Self {
        PutOff(Vec::with_capacity(MOST))
    }

    /// Writes one down; whether all are to be counted now.
    #[inline(always)]
    pub fn write_down(&mut self, committed: Committed) -> bool {
        self.0.push(committed);
        self.0.len() >= MOST
    }

    /// Takes the last one out.
    pub fn pop(&mut self) -> Option<Committed> {
        self.0.pop()
    }
}
