//! How many concurrency-control threads were chosen, and from what (`--cc-threads auto`).

use crate::text::numbers::thousands;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What was chosen by short runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChosenThreads {
    /// So many.
    pub cc_threads: usize,
    /// What was tried, fewest threads first.
    pub tried: Vec<Tried>,
}

/// A short run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// With so many concurrency-control threads.
    pub cc_threads: usize,
    /// Commits per second.
    pub throughput_per_s: f64,
}

impl fmt::Display for ChosenThreads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tried = |Tried { cc_threads, throughput_per_s }: &Tried| {
            format!("{cc_threads} with {}/s", thousands(*throughput_per_s))
        };
        match &self.tried[..] {
            [] => write!(f, "{} chosen, without a trial", self.cc_threads),
            all => {
                let all: Vec<String> = all.iter().map(tried).collect();
                write!(f, "{} chosen, by short runs: {}", self.cc_threads, all.join(", "))
            }
        }
    }
}
