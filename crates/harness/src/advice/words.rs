//! An advice in sentences.

use super::{Beside, Flip, Goal, OnMachine, Row};
use crate::subject::shown;
use crate::text::durations;
use crate::text::numbers::{counted, latency, ratio, thousands};

impl OnMachine {
    /// The machine's name, for people.
    pub fn shown(&self) -> String {
        format!("{}, {}", shown(&self.machine, self.simulated), counted(self.cores, "core"))
    }

    /// What to take, by how much, why, and where it flips.
    pub(super) fn in_sentences(&self, goal: Goal) -> Vec<String> {
        let best = &self.ranking[0];
        let mut sentences = vec![taken(best, &self.durability)];
        if let Some(goal) = goal.latency_p99 {
            sentences.push(against_goal(best, &durations::show(goal)));
        }
        if !self.verdict.ties.is_empty() {
            sentences.push(format!(
                "It is a tie: {} not told apart from {}: take whichever you prefer.",
                are(&self.verdict.ties),
                if self.verdict.ties.len() == 1 { "it" } else { "it by these repetitions" }
            ));
        }
        sentences.extend(self.verdict.next.as_ref().map(|next| {
            let (throughput, model) = (times(next.times), self.by_the_model(next.times));
            format!("It has {throughput} the throughput of {}, the next{}{model}.", next.system, why(next))
        }));
        sentences.extend(self.verdict.worst.as_ref().map(|worst| {
            format!(
                "The slowest of the first heat, {}, was {} slower than the fastest there{}.",
                worst.system,
                times(worst.times),
                why(worst)
            )
        }));
        match self.flips.is_empty() {
            true if self.axes.is_empty() => {}
            true => sentences.push(format!("No other system leads anywhere along {}.", self.axes_walked())),
            false => sentences.extend(self.flips.iter().map(flip)),
        }
        sentences
    }

    /// What the model's error says of a difference.
    fn by_the_model(&self, times: f64) -> String {
        match self.model_error.filter(|error| times < *error) {
            Some(error) => format!(
                "; the model may be off by {} times, so on a real machine the two may change places",
                ratio(error)
            ),
            None => String::new(),
        }
    }

    fn axes_walked(&self) -> String {
        self.axes.iter().map(|axis| axis.name.as_str()).collect::<Vec<_>>().join(", ")
    }
}

fn taken(best: &Row, durability: &str) -> String {
    format!(
        "Take {} with {} and {}, durability {durability}: {} transactions a second{}.",
        best.system,
        counted(best.workers, "worker"),
        counted(best.partitions as usize, "partition"),
        thousands(best.throughput_per_s),
        best.latency_p99_ns.map_or(String::new(), |p99| format!(", 99 of 100 within {}", latency(p99)))
    )
}

fn against_goal(best: &Row, goal: &str) -> String {
    match best.meets_goal {
        true => format!("It keeps the goal of {goal}."),
        false => format!("None of the final keeps the goal of {goal}: it comes closest."),
    }
}

fn are(systems: &[String]) -> String {
    let verb = if systems.len() == 1 { "is" } else { "are" };
    format!("{} {verb}", systems.join(", "))
}

fn times(times: f64) -> String {
    if times.is_finite() { format!("{} times", ratio(times)) } else { "infinitely many times".to_owned() }
}

fn why(one: &Beside) -> String {
    if one.why.is_empty() { String::new() } else { format!(": {}", one.why.join("; ")) }
}

fn flip(flip: &Flip) -> String {
    let times =
        if flip.times.is_finite() { format!(", {} times ahead", ratio(flip.times)) } else { String::new() };
    format!(
        "Along {}, {} leads up to {}, and {} from {} on{times}.",
        flip.axis, flip.before, flip.until, flip.after, flip.from
    )
}
