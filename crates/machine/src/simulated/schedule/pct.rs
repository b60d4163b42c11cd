//! Probabilistic concurrency testing (Burckhardt et al., ASPLOS 2010).
//!
//! State: a priority per core, all distinct; the lowest ever given; the points left at which the core that
//! runs is put below everyone. Invariant: the runnable core of highest priority goes on.
//!
//! We differ: a core that pauses is put below everyone as well, so that one that spins cannot starve the one
//! that it waits for; and points are counted from the start of each run of cores.

use super::{Point, Scheduler};

pub(super) struct Pct {
    draw: fastrand::Rng,
    depth: u32,
    steps: u64,
    priorities: Vec<i64>,
    lowest: i64,
    /// Descending, so that the next one is last.
    change_points: Vec<u64>,
    points: u64,
}

impl Pct {
    pub(super) fn new(seed: u64, depth: u32, steps: u64) -> Self {
        assert!(depth >= 1, "a depth of 0 orders no events");
        assert!(steps >= 1, "no steps among which to draw change points");
        let draw = fastrand::Rng::with_seed(seed);
        Pct { draw, depth, steps, priorities: Vec::new(), lowest: 0, change_points: Vec::new(), points: 0 }
    }

    fn put_below_everyone(&mut self, core: usize) {
        self.lowest -= 1;
        self.priorities[core] = self.lowest;
    }

    /// Whether this point is one of the drawn ones. Points that were drawn twice change twice.
    fn at_change_point(&mut self) -> bool {
        let due = self.change_points.last().is_some_and(|&point| point < self.points);
        if due {
            self.change_points.pop();
        }
        due
    }
}

impl Scheduler for Pct {
    fn start(&mut self, cores: usize) {
        self.priorities = (1..=cores as i64).collect();
        self.draw.shuffle(&mut self.priorities);
        self.lowest = 0;
        self.points = 0;
        self.change_points = (1..self.depth).map(|_| self.draw.u64(..self.steps)).collect();
        self.change_points.sort_unstable_by(|a, b| b.cmp(a));
    }

    fn next(&mut self, point: Point, runnable: &[usize]) -> usize {
        match point {
            Point::Vacant => {}
            Point::Access { core } => {
                self.points += 1;
                if self.at_change_point() {
                    self.put_below_everyone(core);
                }
            }
            Point::Pause { core } => {
                self.points += 1;
                self.put_below_everyone(core);
            }
        }
        let highest = runnable.iter().copied().max_by_key(|&core| self.priorities[core]);
        highest.expect("a runnable core")
    }
}
