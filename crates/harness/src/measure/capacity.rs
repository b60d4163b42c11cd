//! What a system commits in a closed loop: what the rate of an open one may be a part of (`--rate 50%`).
//!
//! A short run before the first repetition tells, of the system itself over the same workload. It logs if the repetitions do, for a log is part of what a system can: into a folder of its own below theirs, which goes with its store. And it
//! counts for nothing else.

use crate::options::RunOptions;
use crate::text::numbers::thousands;
use contract::Measurement;

/// The part that a trial has of a repetition's interval. Its warm-up is as long: a cold system can less.
const PART_OF_AN_INTERVAL: u32 = 2;

/// What the trial is told.
pub fn trial(options: &RunOptions) -> RunOptions {
    let mut options = RunOptions {
        duration: options.duration / PART_OF_AN_INTERVAL,
        repeat: 1,
        percent_of_capacity: None,
        ..options.clone()
    };
    options.engine.open_loop = None;
    options.engine.series = false;
    options.logging.each_apart = true;
    options
}

/// Transactions that ended in a second, by commit or by their own rollback, since both arrive; `None`: it was interrupted.
pub fn of(trials: &[Measurement]) -> Option<f64> {
    let ended = |trial: &Measurement| (trial.commits + trial.user_rollbacks) as f64;
    trials.first().map(|trial| ended(trial) / trial.elapsed.as_secs_f64())
}

/// For people.
pub fn note(system: &str, per_s: f64, rate: &str) -> String {
    format!(
        "{system}: {} transactions a second in a closed loop, by a short run; {rate} of them arrive",
        thousands(per_s)
    )
}
