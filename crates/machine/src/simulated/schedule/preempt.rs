//! One interruption, at a point that is named: to be tried at every point of what is to be interrupted.
//!
//! State: the cores, the one that goes on first; the points so far. Invariant: the first of the runnable goes on. At the
//! named point, and at every pause, the core that runs is put behind all others.

use super::{Point, Scheduler};

pub(super) struct Preempt {
    at: u64,
    points: u64,
    order: Vec<usize>,
}

impl Preempt {
    pub(super) fn new(at: u64) -> Self {
        Preempt { at, points: 0, order: Vec::new() }
    }

    fn put_behind_all(&mut self, core: usize) {
        self.order.retain(|&other| other != core);
        self.order.push(core);
    }
}

impl Scheduler for Preempt {
    fn start(&mut self, cores: usize) {
        self.order = (0..cores).collect();
        self.points = 0;
    }

    fn next(&mut self, point: Point, runnable: &[usize]) -> usize {
        match point {
            Point::Vacant => {}
            Point::Access { core } => {
                if self.points == self.at {
                    self.put_behind_all(core);
                }
                self.points += 1;
            }
            Point::Pause { core } => {
                self.put_behind_all(core);
                self.points += 1;
            }
        }
        *self.order.iter().find(|core| runnable.contains(core)).expect("a runnable core")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_core_is_interrupted_once() {
        let mut schedule = Preempt::new(1);
        schedule.start(2);
        let all = [0, 1];
        assert_eq!(schedule.next(Point::Vacant, &all), 0);
        assert_eq!(schedule.next(Point::Access { core: 0 }, &all), 0);
        assert_eq!(schedule.next(Point::Access { core: 0 }, &all), 1, "interrupted");
        assert_eq!(schedule.next(Point::Access { core: 1 }, &all), 1);
        assert_eq!(schedule.next(Point::Pause { core: 1 }, &all), 0);
        assert_eq!(schedule.next(Point::Vacant, &[1]), 1);
    }
}
