//! Round robin: the next core in number, at every point.

use super::{Point, Scheduler};

#[derive(Default)]
pub(super) struct RoundRobin {
    /// The core that ran last.
    last: usize,
}

impl Scheduler for RoundRobin {
    fn start(&mut self, cores: usize) {
        // So that core 0 comes first.
        self.last = cores.saturating_sub(1);
    }

    fn next(&mut self, _point: Point, runnable: &[usize]) -> usize {
        self.last = runnable.iter().copied().find(|&core| core > self.last).unwrap_or(runnable[0]);
        self.last
    }
}
