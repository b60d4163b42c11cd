//! An advice in sentences.

use super::{AxisTold, Beside, Flip, Goal, OnMachine, Row, Shares};
use crate::subject::shown;
use crate::text::durations;
use crate::text::numbers::{counted, latency, part_of_best, ratio, thousands};

impl OnMachine {
    /// The machine's name, for people.
    pub fn shown(&self) -> String {
        format!("{}, {}", shown(&self.machine, self.simulated), counted(self.cores, "core"))
    }

    /// What to take, by how much, why, and where it flips.
    pub(super) fn in_sentences(&self, goal: Goal) -> Vec<String> {
        let best = &self.ranking[0];
        let mut sentences = Vec::new();
        if self.interrupted {
            sentences.push("Interrupted: it is told from what there was by then.".to_owned());
        }
        if !self.verdict.is_sound {
            let failed = best.failed_checks.join(", ");
            sentences.push(format!(
                "Take none of them: under every system of the final a check has failed ({failed})."
            ));
            return sentences;
        }
        sentences.push(taken(best, &self.durability));
        for row in self.ranking.iter().filter(|row| !row.failed_checks.is_empty()) {
            sentences.push(format!(
                "Out of the question: {}, under which a check has failed ({}).",
                row.system,
                row.failed_checks.join(", ")
            ));
        }
        if let Some(goal) = goal.latency_p99 {
            sentences.push(against_goal(best, &durations::show(goal)));
        }
        sentences.extend(self.partitioned());
        sentences
            .extend(self.durability_levels.iter().flat_map(|levels| levels.in_sentences(self.simulated)));
        sentences.extend(self.not_told_apart());
        sentences.extend(self.verdict.next.as_ref().map(|next| {
            let next_of =
                if self.verdict.ties.is_empty() { "the next" } else { "the next that is told apart" };
            format!("It has {} the throughput of {}, {next_of}{}.", times(next.times), next.system, why(next))
        }));
        sentences.extend(self.verdict.worst.as_ref().map(|worst| {
            format!(
                "The slowest of the first heat, {}, was {} slower than the fastest there{}.",
                worst.system,
                times(worst.times),
                why(worst)
            )
        }));
        let (plain, others): (Vec<&AxisTold>, Vec<&AxisTold>) =
            self.axes.iter().partition(|axis| axis.is_led_by(&self.verdict.system));
        others.iter().for_each(|axis| sentences.extend(axis.in_sentences(&self.verdict.system)));
        if !plain.is_empty() {
            let names: Vec<String> = plain.iter().map(|axis| axis.named()).collect();
            sentences.push(format!("No other system leads anywhere along {}.", names.join(", ")));
        }
        sentences
    }

    /// How many of its workers serve, and what other shares brought; or that its partitions go by its workers.
    fn partitioned(&self) -> Option<String> {
        let best = &self.ranking[0];
        let Some(servers) = best.servers else {
            let is_by_workers = best.partitions > 1 && best.partitions as usize == best.workers;
            return is_by_workers.then(|| {
                "It has a partition for each worker, as its architecture does by itself.".to_owned()
            });
        };
        let is_it = |shares: &&Shares| shares.system == best.system;
        let tried = self.shares.iter().find(|shares| is_it(shares) && shares.workers == best.workers);
        Some(tried.map_or_else(
            || {
                let keep = if servers == 1 { "serves" } else { "serve" };
                let with = self.shares.iter().filter(is_it).map(|shares| shares.workers.to_string());
                let with: Vec<String> = with.collect();
                let why = match &with[..] {
                    [] => "other shares were not tried".to_owned(),
                    with => format!("other shares were tried with {} workers", with.join(" and ")),
                };
                format!("Of its {} {servers} {keep}: {why}.", counted(best.workers, "worker"))
            },
            Shares::in_a_sentence,
        ))
    }

    /// Who is not told apart from the best, and how far they are from it.
    fn not_told_apart(&self) -> Option<String> {
        let level: Vec<&Row> = self.ranking.iter().skip(1).filter(|row| !row.figures.is_told_apart).collect();
        let parts = || level.iter().map(|row| row.part_of_best);
        let (least, most) = (parts().fold(f64::INFINITY, f64::min), parts().fold(0.0, f64::max));
        let systems: Vec<String> = level.iter().map(|row| row.system.clone()).collect();
        let by = match (self.ranking.iter().all(|row| row.figures.repetitions == 1), self.model_error) {
            (true, _) => "each ran once, which tells nothing apart".to_owned(),
            (false, Some(error)) => {
                format!("by these repetitions and a model that may be off by {} times", ratio(error))
            }
            (false, None) if self.simulated => "by a model of unknown error".to_owned(),
            (false, None) => "by these repetitions".to_owned(),
        };
        let range = match level.len() {
            0 => return None,
            1 => format!("a median of {} of its", part_of_best(least)),
            _ => format!("medians of {} to {} of its", part_of_best(least), part_of_best(most)),
        };
        Some(format!(
            "Not told apart from it: {} ({by}), with {range}; that is not to say that they are equal.",
            systems.join(", ")
        ))
    }
}

impl AxisTold {
    /// Whether `recommended` leads all along it, for certain or not behind.
    fn is_led_by(&self, recommended: &str) -> bool {
        self.flips.is_empty() && self.cannot_be_told.is_empty() && self.leads_first == recommended
    }

    /// With the place of the workload itself.
    fn named(&self) -> String {
        named(&self.name, &self.own)
    }

    fn in_sentences(&self, recommended: &str) -> Vec<String> {
        let mut sentences: Vec<String> = self.flips.iter().map(flip).collect();
        if self.flips.is_empty() && self.leads_first != recommended {
            sentences.push(format!(
                "Along {}, {} leads from the first value on.",
                self.named(),
                self.leads_first
            ));
        }
        if !self.cannot_be_told.is_empty() {
            sentences.push(format!(
                "Along {}, at {} it cannot be told whether another system leads.",
                self.named(),
                self.cannot_be_told.join(", ")
            ));
        }
        sentences
    }
}

fn named(axis: &str, own: &str) -> String {
    if own.is_empty() { axis.to_owned() } else { format!("{axis}, where the workload itself has {own}") }
}

fn taken(best: &Row, durability: &str) -> String {
    format!(
        "Take {} with {} and {}: {} transactions a second at durability {durability}{}.",
        best.system,
        counted(best.workers, "worker"),
        counted(best.partitions as usize, "partition"),
        thousands(best.figures.throughput_per_s),
        best.figures
            .latency_p99_ns
            .map_or(String::new(), |p99| format!(", 99 of 100 within {}", latency(p99)))
    )
}

fn against_goal(best: &Row, goal: &str) -> String {
    match best.figures.meets_goal {
        true => format!("It keeps the goal of {goal}."),
        false => format!("None of the final keeps the goal of {goal}: it comes closest."),
    }
}

fn times(times: f64) -> String {
    if times.is_finite() { format!("{} times", ratio(times)) } else { "infinitely many times".to_owned() }
}

fn why(one: &Beside) -> String {
    if one.why.is_empty() { String::new() } else { format!(": {}", one.why.join("; ")) }
}

fn flip(flip: &Flip) -> String {
    // With less throughput it is ahead for the goal's sake.
    let times = match flip.times > 1.0 {
        true => format!("{} times ahead", ratio(flip.times)),
        false => "which keeps the goal there".to_owned(),
    };
    format!(
        "Along {}, {} leads up to {}, and {} from {} on, {times}.",
        named(&flip.axis, &flip.own),
        flip.before,
        flip.until,
        flip.after,
        flip.from
    )
}
