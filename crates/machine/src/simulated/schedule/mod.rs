//! Schedules: which core goes on at a scheduling point.
//!
//! A scheduler is told when cores start and is asked at every point, with the cores that could go on. One
//! file each; a scheduler knows nothing of what the cores do, and draws only from its seed.

mod pct;
mod preempt;
mod random;
mod round_robin;

/// How the next core is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// Each core one access in turn.
    RoundRobin,
    /// At one access in `switch_one_in`, and at every pause, another core goes on, each as likely as any.
    Random {
        /// Of all that is drawn.
        seed: u64,
        /// 1 switches at every access.
        switch_one_in: u32,
    },
    /// Probabilistic concurrency testing: the core of highest priority goes on; priorities are drawn at the
    /// start, and at `depth - 1` drawn points the core that runs loses its own. Finds a bug that takes
    /// `depth` ordered events with probability at least `1 / (cores * steps^(depth - 1))` (Burckhardt et al.,
    /// ASPLOS 2010).
    Pct {
        /// Of all that is drawn.
        seed: u64,
        /// At least 1.
        depth: u32,
        /// The number of accesses that a run is expected to make: change points are drawn among them.
        steps: u64,
    },
    /// The cores in their order, each until it pauses; at one access, the core that runs comes after all others. To be
    /// tried for every access of something short.
    Preempt {
        /// The number of that access since the cores started, from 0.
        at: u64,
    },
}

/// Where a core is when it asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Point {
    /// Nobody ran before, or the last one ended or sleeps; it is not among the runnable.
    Vacant,
    /// About to access.
    Access {
        /// The core.
        core: usize,
    },
    /// Waiting for others.
    Pause {
        /// The core.
        core: usize,
    },
}

/// A source of choices.
pub(super) trait Scheduler {
    /// Cores `0..cores` are about to start.
    fn start(&mut self, cores: usize);

    /// The core to go on: one of `runnable`, which is ascending and not empty.
    fn next(&mut self, point: Point, runnable: &[usize]) -> usize;
}

impl Schedule {
    pub(super) fn scheduler(self) -> Box<dyn Scheduler> {
        match self {
            Schedule::RoundRobin => Box::new(round_robin::RoundRobin::default()),
            Schedule::Random { seed, switch_one_in } => Box::new(random::Random::new(seed, switch_one_in)),
            Schedule::Pct { seed, depth, steps } => Box::new(pct::Pct::new(seed, depth, steps)),
            Schedule::Preempt { at } => Box::new(preempt::Preempt::new(at)),
        }
    }
}
