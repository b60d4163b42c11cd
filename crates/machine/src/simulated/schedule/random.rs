//! Random: a coin at every access, and any other core when it falls so.

use super::{Point, Scheduler};

pub(super) struct Random {
    draw: fastrand::Rng,
    switch_one_in: u32,
}

impl Random {
    pub(super) fn new(seed: u64, switch_one_in: u32) -> Self {
        assert!(switch_one_in >= 1, "one switch in no accesses");
        Random { draw: fastrand::Rng::with_seed(seed), switch_one_in }
    }
}

impl Scheduler for Random {
    fn start(&mut self, _cores: usize) {}

    fn next(&mut self, point: Point, runnable: &[usize]) -> usize {
        let stays = match point {
            Point::Access { core } if self.draw.u32(..self.switch_one_in) != 0 => return core,
            Point::Access { core } | Point::Pause { core } => Some(core),
            Point::Vacant => None,
        };
        let others = runnable.len() - usize::from(stays.is_some());
        if others == 0 {
            return runnable[0];
        }
        let drawn = runnable[self.draw.usize(..others)];
        // The last one takes the place of the core that does not go on.
        if Some(drawn) == stays { runnable[others] } else { drawn }
    }
}
