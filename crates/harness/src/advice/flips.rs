//! Where the recommendation flips: the values of an axis from which on another system leads.
//!
//! At each value the systems stand in an order. The recommended system leads at first, unless another one is told apart from it there, and whoever leads stays in the lead until another one is
//! ahead of it and told apart from it: by repetitions, and by more than the model may be off. Where another one is ahead and not told apart, or nothing is known of who leads, it cannot be told.

use super::Goal;
use super::axes::AxisKind;
use super::halving::better;
use super::verdict::told_apart;
use crate::results::System;
use serde::Serialize;

/// How a system does at a place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Standing {
    /// For people.
    pub system: String,
    /// Its workers.
    pub workers: usize,
    /// Commits per second.
    pub throughput_per_s: f64,
    /// Aborts per commit.
    pub abort_rate: f64,
    /// In nanoseconds; `null` if it is not known.
    pub latency_p99_ns: Option<u64>,
    /// Whether it fulfils the goal.
    pub meets_goal: bool,
    /// Whether it is told apart from the first of its order: by repetitions, the model's error allowed for, or because only one of the two keeps the goal.
    pub is_told_apart: bool,
    /// The line that measures it again; empty for a heat's.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub command: String,
}

/// A value of an axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AxisPoint {
    /// In words.
    pub value: String,
    /// Best first.
    pub order: Vec<Standing>,
}

/// What was measured along an axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AxisTold {
    /// What it is about.
    pub kind: AxisKind,
    /// For people.
    pub name: String,
    /// From the mildest value on.
    pub points: Vec<AxisPoint>,
    /// Where the workload itself lies; empty if that is said elsewhere.
    pub own: String,
    /// Who leads at the first value.
    pub leads_first: String,
    /// The values at which it cannot be told whether another one leads.
    pub cannot_be_told: Vec<String>,
    /// Where another system leads.
    #[serde(skip)]
    pub flips: Vec<Flip>,
}

/// Another system leads from a value on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Flip {
    /// The axis, for people.
    pub axis: String,
    /// Where the workload itself lies; empty if that is said elsewhere.
    pub own: String,
    /// The last value at which the first one leads, or is not told apart from who does.
    pub until: String,
    /// The first at which the other one does.
    pub from: String,
    /// Who leads before.
    pub before: String,
    /// Who leads then.
    pub after: String,
    /// How many times the throughput of the first one the other one has there.
    pub times: f64,
}

impl Standing {
    pub(super) fn of(system: &System, goal: Goal) -> Standing {
        let summary = &system.summary;
        Standing {
            system: summary.system(),
            workers: summary.workers,
            throughput_per_s: summary.throughput_per_s,
            abort_rate: summary.abort_rate,
            latency_p99_ns: summary.latency_ns.as_ref().map(|latency| latency.p99),
            meets_goal: goal.is_met(system),
            is_told_apart: false,
            command: String::new(),
        }
    }
}

/// Who leads along an axis.
#[derive(Debug, Default, PartialEq)]
struct Led {
    first: String,
    cannot_be_told: Vec<String>,
    flips: Vec<Flip>,
}

/// Who leads along `points`, of an axis called `axis` on which the workload itself lies at `own`.
fn led((axis, own): (&str, &str), points: &[AxisPoint], recommended: &str) -> Led {
    let mut led = Led::default();
    let mut leader = recommended.to_owned();
    let mut until: Option<&str> = None;
    for point in points.iter().filter(|point| !point.order.is_empty()) {
        let best = &point.order[0];
        let kept = point.order.iter().find(|standing| standing.system == leader);
        if best.system != leader {
            match (kept, until) {
                (Some(kept), Some(until)) if kept.is_told_apart => led.flips.push(Flip {
                    axis: axis.to_owned(),
                    own: own.to_owned(),
                    until: until.to_owned(),
                    from: point.value.clone(),
                    before: std::mem::replace(&mut leader, best.system.clone()),
                    after: best.system.clone(),
                    times: best.throughput_per_s / kept.throughput_per_s,
                }),
                (Some(kept), None) if kept.is_told_apart => leader.clone_from(&best.system),
                // Who is level, or was not measured here, neither loses the lead nor is seen to have it.
                _ => led.cannot_be_told.push(point.value.clone()),
            }
        }
        if until.is_none() {
            led.first.clone_from(&leader);
        }
        until = Some(&point.value);
    }
    led
}

/// The final's systems at each number of workers, rising.
pub(super) fn by_workers(raced: &[&System], goal: Goal, model_factor: f64) -> Vec<AxisPoint> {
    let mut numbers: Vec<usize> = raced.iter().map(|system| system.summary.workers).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let at = |workers: &usize| {
        let here = raced.iter().copied().filter(|system| system.summary.workers == *workers);
        let order = standings(here.collect(), goal, model_factor, |_| String::new());
        AxisPoint { value: workers.to_string(), order }
    };
    numbers.iter().map(at).collect()
}

impl AxisTold {
    /// Nothing of fewer than two points.
    pub(super) fn of(
        kind: AxisKind,
        (name, own): (&str, &str),
        points: Vec<AxisPoint>,
        recommended: &str,
    ) -> Option<AxisTold> {
        let Led { first, cannot_be_told, flips } = led((name, own), &points, recommended);
        (points.len() > 1).then(|| AxisTold {
            kind,
            name: name.to_owned(),
            points,
            own: own.to_owned(),
            leads_first: first,
            cannot_be_told,
            flips,
        })
    }
}

/// A point whose systems are in no order yet.
pub(super) fn point(
    value: &str,
    systems: &[System],
    goal: Goal,
    model_factor: f64,
    command: impl Fn(&System) -> String,
) -> AxisPoint {
    let order = standings(systems.iter().collect(), goal, model_factor, command);
    AxisPoint { value: value.to_owned(), order }
}

/// Best first, beside the best.
fn standings(
    mut systems: Vec<&System>,
    goal: Goal,
    model_factor: f64,
    command: impl Fn(&System) -> String,
) -> Vec<Standing> {
    systems.sort_by(|one, other| better(one, other, goal));
    let apart = told_apart(&systems, goal, model_factor);
    let standing = |(system, is_told_apart): (&&System, bool)| Standing {
        is_told_apart,
        command: command(system),
        ..Standing::of(system, goal)
    };
    systems.iter().zip(apart).map(standing).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Systems with their throughputs, best first; who has a fifth less than the first is told apart.
    fn point(value: &str, order: &[(&str, f64)]) -> AxisPoint {
        let standing = |(system, throughput_per_s): &(&str, f64)| Standing {
            system: (*system).to_owned(),
            workers: 2,
            throughput_per_s: *throughput_per_s,
            abort_rate: 0.0,
            latency_p99_ns: None,
            meets_goal: true,
            is_told_apart: *throughput_per_s < 0.8 * order[0].1,
            command: String::new(),
        };
        AxisPoint { value: value.to_owned(), order: order.iter().map(standing).collect() }
    }

    fn told(points: &[AxisPoint]) -> Vec<String> {
        let tell = |flip: &Flip| format!("{} {} {} {}", flip.until, flip.before, flip.from, flip.after);
        led(("axis", ""), points, "a").flips.iter().map(tell).collect()
    }

    #[test]
    fn a_flip_is_where_another_one_is_told_to_be_ahead() {
        let points = [
            point("0", &[("a", 100.0), ("b", 50.0)]),
            point("1", &[("b", 105.0), ("a", 100.0)]),
            point("2", &[("b", 150.0), ("a", 100.0)]),
            point("3", &[("a", 100.0), ("b", 99.0)]),
            point("4", &[("a", 100.0), ("b", 10.0)]),
        ];
        assert_eq!(told(&points), ["1 a 2 b", "3 b 4 a"]);
        let all = led(("axis", "2"), &points, "a");
        assert_eq!((all.flips[1].times, all.flips[1].own.as_str()), (10.0, "2"));
        assert_eq!(all.cannot_be_told, ["1", "3"], "who is level leads nobody");
        assert_eq!(all.first, "a");
        assert_eq!(led(("axis", ""), &[], "a"), Led::default());
    }

    #[test]
    fn who_is_recommended_leads_where_nobody_is_told_to_be_ahead() {
        let level = [point("0", &[("b", 105.0), ("a", 100.0)]), point("1", &[("a", 100.0), ("b", 50.0)])];
        assert_eq!((told(&level), led(("axis", ""), &level, "a").first), (vec![], "a".to_owned()));
        let behind = [point("0", &[("b", 150.0), ("a", 100.0)]), point("1", &[("a", 100.0), ("b", 50.0)])];
        assert_eq!(told(&behind), ["0 b 1 a"]);
        assert_eq!(led(("axis", ""), &behind[..1], "a").first, "b");
    }

    #[test]
    fn who_was_not_measured_makes_no_flip() {
        let points = [
            point("0", &[("a", 1.0)]),
            point("1", &[]),
            point("2", &[("b", 1.0)]),
            point("3", &[("a", 1.0), ("b", 0.1)]),
        ];
        let all = led(("axis", ""), &points, "a");
        assert_eq!((all.flips, all.cannot_be_told), (vec![], vec!["2".to_owned()]));
        assert_eq!(led(("axis", ""), &points[2..], "a").cannot_be_told, ["2"]);
    }
}
