//! What durability costs: the recommended system at every level, in rounds of all levels.
//!
//! A level that was asked for is required, and the others are told beside it. Otherwise it is the one under which what is acknowledged survives most, of those that keep the latency goal and 95 % of the
//! throughput that there is without a log; of two under which the same survives (*group* and *sync*), the faster one. The rule goes by medians; whether repetitions tell a level apart from none is said beside.
//!
//! Commits are acknowledged by the epoch: a level runs for whole epochs. A simulated machine would take minutes for epochs of 40 ms: there they last one and a half times as long as a sync.

use super::pace::{EPOCHS_BEFORE, LEAST_EPOCHS, takes_minutes};
use super::verdict::told_apart;
use super::{Candidate, Figures, Goal, Length, Pace, Run, Trials};
use crate::failure::Failure;
use crate::measure::After;
use crate::results::System;
use crate::text::durations;
use crate::text::numbers::{latency, percent};
use contract::{Durability, Engine};
use serde::Serialize;
use std::time::Duration;

/// The part of the throughput without a log that a level has to keep.
const WORTH_IT: f64 = 0.95;

/// What levels of durability cost the recommended system.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Levels {
    /// The level that was asked for; `null` if none was.
    pub required: Option<String>,
    /// What to take; `null` if nothing is known.
    pub recommended: Option<String>,
    /// How long an epoch was, in microseconds; `null` if nothing was measured.
    pub epoch_us: Option<f64>,
    /// From the weakest on.
    pub tried: Vec<LevelTold>,
    /// Levels under which nothing was acknowledged.
    pub silent: Vec<String>,
    /// Why nothing was measured; `null` if something was.
    pub why_not: Option<String>,
}

/// One level.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LevelTold {
    /// Its name.
    pub level: String,
    /// What an acknowledged commit survives, in words.
    pub survives: &'static str,
    /// Its throughput as a part of what there is without a log.
    pub part_of_none: f64,
    /// Beside those without a log.
    #[serde(flatten)]
    pub figures: Figures,
}

/// Measures `best` at every level; nothing after an interrupt.
pub(super) fn of<E: Engine>(
    trials: &Trials<'_, E>,
    pace: &Pace,
    best: Candidate,
    run: Run<'_>,
) -> Result<Option<Levels>, Failure> {
    let required = trials.goal.durability.map(|level| level.to_string());
    let (epoch, length) = match length(trials, pace, best.workers) {
        Ok(told) => told,
        Err(why) => return Ok(Some(Levels::unmeasured(required, why))),
    };
    let candidates = Durability::ALL.map(|level| Candidate { level, ..best });
    trials.announce("levels of durability", candidates.len(), length);
    let mut systems = run(0, &candidates, length, After::Nothing)?;
    systems.sort_by_key(|system| system.summary.durability);
    let is_without = |system: &System| system.summary.durability == Durability::None;
    if trials.is_interrupted() || !systems.first().is_some_and(is_without) {
        return Ok(None);
    }
    let refs: Vec<&System> = systems.iter().collect();
    let apart = told_apart(&refs, Goal::default(), trials.model_factor());
    let tell = |(system, is_told_apart)| LevelTold::of(trials, system, &systems[0], is_told_apart);
    let tried: Vec<LevelTold> = systems.iter().zip(apart).map(tell).collect();
    let is_silent = |level: &Durability| !systems.iter().any(|system| system.summary.durability == *level);
    let silent = Durability::ALL.into_iter().filter(is_silent).map(|level| level.to_string());
    let recommended = required.clone().or_else(|| worth_it(&tried));
    let epoch_us = Some(epoch.as_secs_f64() * 1e6);
    Ok(Some(Levels { required, recommended, epoch_us, silent: silent.collect(), tried, why_not: None }))
}

/// How long an epoch is, and how long a level runs; or why none does.
fn length<E: Engine>(
    trials: &Trials<'_, E>,
    pace: &Pace,
    workers: usize,
) -> Result<(Duration, Length), String> {
    let Some(disk) = &trials.disk else {
        return Err("the machine's file has no [disk]".to_owned());
    };
    if pace.epochs < LEAST_EPOCHS {
        return Err("with so small an --effort fewer than two epochs would be counted".to_owned());
    }
    let epoch = disk.epoch.unwrap_or(trials.options().engine.epoch_interval);
    let (warmup, duration) = (epoch * EPOCHS_BEFORE, epoch * pace.epochs);
    if trials.place.simulated && takes_minutes(epoch, workers) {
        let epoch = durations::show(epoch);
        return Err(format!(
            "to simulate {workers} cores for epochs of {epoch}, as its disk has them, takes too long"
        ));
    }
    Ok((epoch, Length { warmup, duration, repeat: pace.point.repeat }))
}

/// What an acknowledged commit survives.
const fn survives(level: Durability) -> &'static str {
    match level {
        Durability::None => "nothing",
        Durability::Buffered => "the end of the process",
        Durability::Group | Durability::Sync => "a power cut",
    }
}

/// The level to take where none was asked for.
fn worth_it(tried: &[LevelTold]) -> Option<String> {
    let without = tried.first()?;
    let mut best = without;
    // From the weakest on: who comes later survives as much or more.
    for level in tried.iter().skip(1) {
        let is_kept = level.figures.meets_goal && level.part_of_none >= WORTH_IT;
        let is_faster = level.figures.throughput_per_s > best.figures.throughput_per_s;
        let is_stronger = level.survives != best.survives || is_faster;
        if without.figures.meets_goal && is_kept && is_stronger {
            best = level;
        }
    }
    Some(best.level.clone())
}

impl LevelTold {
    fn of<E: Engine>(
        trials: &Trials<'_, E>,
        system: &System,
        without: &System,
        is_told_apart: bool,
    ) -> LevelTold {
        let summary = &system.summary;
        LevelTold {
            level: summary.durability.to_string(),
            survives: survives(summary.durability),
            part_of_none: summary.throughput_per_s / without.summary.throughput_per_s,
            figures: Figures::of(trials, system, is_told_apart),
        }
    }

    /// What it costs, in words.
    fn cost(&self) -> String {
        let Figures { latency_p99_ns, meets_goal, is_told_apart, .. } = self.figures;
        let p99 = latency_p99_ns.map_or(String::new(), |ns| format!(", 99 of 100 within {}", latency(ns)));
        let missed = if meets_goal { "" } else { ", which misses the goal" };
        let lost = 1.0 - self.part_of_none;
        match (is_told_apart, lost < 0.005) {
            (_, true) => format!("costs no throughput{p99}{missed}"),
            (true, false) => format!("costs {}{p99}{missed}", percent(lost)),
            (false, false) => format!("costs {}, not told apart from nothing{p99}{missed}", percent(lost)),
        }
    }
}

impl Levels {
    fn unmeasured(required: Option<String>, why: String) -> Levels {
        let (tried, silent) = (Vec::new(), Vec::new());
        Levels { recommended: required.clone(), required, epoch_us: None, tried, silent, why_not: Some(why) }
    }

    /// Which level to take, and what each costs.
    pub(super) fn in_sentences(&self, is_simulated: bool) -> Vec<String> {
        if let Some(why) = &self.why_not {
            return vec![format!("What durability costs was not measured: {why}.")];
        }
        let Some(taken) = self.recommended.as_deref() else { return Vec::new() };
        let told = self.tried.iter().find(|one| one.level == taken);
        let epochs = match self.epoch_us.filter(|_| is_simulated) {
            Some(us) => format!(", with epochs of {}", durations::show(Duration::from_secs_f64(us * 1e-6))),
            None => String::new(),
        };
        let head = match (told, &self.required) {
            (None, _) => format!(
                "Durability {taken} is required, and nothing was acknowledged under it in this time{epochs}"
            ),
            (Some(told), Some(_)) if taken == "none" => {
                format!("Durability none is required: nothing survives{}", told.and_p99())
            }
            (Some(told), Some(_)) => {
                format!("Durability {taken} is required: beside none it {}{epochs}", told.cost())
            }
            (Some(told), None) if taken == "none" => {
                format!("Durability: none, unless a commit must survive something{}{epochs}", told.and_p99())
            }
            (Some(told), None) => format!(
                "Durability: take {taken}, under which a commit survives {}: it {}, and what keeps {:.0} % of the throughput is worth it{epochs}",
                told.survives,
                told.cost(),
                100.0 * WORTH_IT
            ),
        };
        let mut sentences = vec![format!("{head}.")];
        let others = self.tried.iter().filter(|one| one.level != taken && one.level != "none");
        let others: Vec<String> =
            others.map(|one| format!("{} {} (survives {})", one.level, one.cost(), one.survives)).collect();
        if !others.is_empty() {
            sentences.push(format!("Beside it: {}.", others.join("; ")));
        }
        if !self.silent.is_empty() {
            sentences
                .push(format!("Nothing was acknowledged in this time under {}.", self.silent.join(", ")));
        }
        sentences
    }
}

impl LevelTold {
    fn and_p99(&self) -> String {
        self.figures.latency_p99_ns.map_or(String::new(), |ns| format!(" (99 of 100 within {})", latency(ns)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(of: Durability, throughput_per_s: f64, meets_goal: bool) -> LevelTold {
        LevelTold {
            level: of.to_string(),
            survives: survives(of),
            part_of_none: throughput_per_s / 100.0,
            figures: Figures {
                throughput_per_s,
                throughput_min: throughput_per_s,
                throughput_max: throughput_per_s,
                repetitions: 3,
                latency_p99_ns: Some(40_000),
                meets_goal,
                is_told_apart: throughput_per_s < 99.0,
                command: String::new(),
            },
        }
    }

    fn all(throughputs: [f64; 4], goals: [bool; 4]) -> Vec<LevelTold> {
        let each = Durability::ALL.into_iter().zip(throughputs).zip(goals);
        each.map(|((of, per_s), meets)| level(of, per_s, meets)).collect()
    }

    #[test]
    fn the_safest_level_that_costs_little_is_taken() {
        let taken = |throughputs, goals| worth_it(&all(throughputs, goals)).expect("there are levels");
        assert_eq!(taken([100.0, 99.0, 97.0, 38.0], [true; 4]), "group");
        assert_eq!(
            taken([100.0, 99.0, 97.0, 98.0], [true; 4]),
            "sync",
            "which survives the same, and is faster"
        );
        assert_eq!(
            taken([100.0, 96.0, 98.0, 96.0], [true; 4]),
            "group",
            "which survives more than the faster one"
        );
        assert_eq!(taken([100.0, 96.0, 94.0, 94.9], [true; 4]), "buffered");
        assert_eq!(taken([100.0, 94.0, 10.0, 10.0], [true; 4]), "none");
        assert_eq!(
            taken([100.0, 99.0, 98.0, 96.0], [true, true, false, true]),
            "sync",
            "group misses the goal"
        );
        assert_eq!(taken([100.0, 99.0, 98.0, 96.0], [false, true, true, true]), "none", "nobody keeps it");
        assert_eq!(worth_it(&[]), None);
    }

    fn levels(required: Option<&str>, tried: Vec<LevelTold>) -> Levels {
        let required = required.map(str::to_owned);
        let recommended = required.clone().or_else(|| worth_it(&tried));
        Levels { required, recommended, epoch_us: Some(150.0), tried, silent: Vec::new(), why_not: None }
    }

    #[test]
    fn levels_are_told_by_what_they_cost_and_survive() {
        let tried = || all([100.0, 99.7, 97.0, 38.0], [true, true, true, false]);
        assert_eq!(
            levels(None, tried()).in_sentences(true),
            [
                "Durability: take group, under which a commit survives a power cut: it costs 3.0 %, 99 of 100 within 40.0 µs, and what keeps 95 % of the throughput is worth it, with epochs of 150us.",
                "Beside it: buffered costs no throughput, 99 of 100 within 40.0 µs (survives the end of the process); sync costs 62.0 %, 99 of 100 within 40.0 µs, which misses the goal (survives a power cut).",
            ]
        );
        let required = levels(Some("sync"), tried()).in_sentences(false);
        assert!(
            required[0].starts_with("Durability sync is required: beside none it costs 62.0 %"),
            "{required:?}"
        );
        assert!(required[1].starts_with("Beside it: buffered costs no throughput"), "{required:?}");
        let silent =
            Levels { silent: vec!["sync".to_owned()], ..levels(Some("sync"), tried()[..3].to_vec()) };
        let silent = silent.in_sentences(false);
        assert!(silent[0].contains("nothing was acknowledged") && silent.len() == 3, "{silent:?}");
        let without = Levels::unmeasured(Some("none".to_owned()), "why".to_owned());
        assert_eq!(without.in_sentences(true), ["What durability costs was not measured: why."]);
        assert_eq!(without.recommended.as_deref(), Some("none"));
    }
}
