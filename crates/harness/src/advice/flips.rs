//! Where the recommendation flips: the values of an axis from which on another system leads.
//!
//! At each value the systems stand in an order. The recommended system leads at first, and whoever leads stays in the lead until another one is ahead of it by more than a
//! short run may be wrong: who is level with the leader does not take its place.

use super::Goal;
use super::axes::AxisKind;
use super::halving::{better, in_order};
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
    /// Where another system leads.
    #[serde(skip)]
    pub flips: Vec<Flip>,
}

/// Another system leads from a value on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Flip {
    /// The axis, for people.
    pub axis: String,
    /// The last value at which the first one leads.
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
            command: String::new(),
        }
    }

    /// Whether it is ahead of `other` for certain.
    fn leads(&self, other: &Standing, margin: f64) -> bool {
        match (self.meets_goal, other.meets_goal) {
            (true, false) => true,
            (false, true) => false,
            _ => self.throughput_per_s > margin * other.throughput_per_s,
        }
    }
}

/// The flips along `points`, of an axis called `axis`.
pub(super) fn flips(axis: &str, points: &[AxisPoint], recommended: &str, margin: f64) -> Vec<Flip> {
    let mut found = Vec::new();
    let mut points = points.iter().filter(|point| !point.order.is_empty());
    let Some(first) = points.next() else { return found };
    let ahead = &first.order[0];
    let is_level = |one: &&Standing| one.system == recommended && !ahead.leads(one, margin);
    let mut leader = first.order.iter().find(is_level).unwrap_or(ahead).system.clone();
    let mut until = &first.value;
    for point in points {
        let best = &point.order[0];
        let kept = point.order.iter().find(|standing| standing.system == leader);
        // Who was not measured here leads nobody.
        let is_overtaken = best.system != leader && kept.is_none_or(|kept| best.leads(kept, margin));
        if is_overtaken {
            let times = kept.map_or(f64::INFINITY, |kept| best.throughput_per_s / kept.throughput_per_s);
            found.push(Flip {
                axis: axis.to_owned(),
                until: until.clone(),
                from: point.value.clone(),
                before: std::mem::replace(&mut leader, best.system.clone()),
                after: best.system.clone(),
                times,
            });
        }
        until = &point.value;
    }
    found
}

/// The final's systems at each number of workers, rising.
pub(super) fn by_workers(raced: &[System], goal: Goal) -> Vec<AxisPoint> {
    let mut numbers: Vec<usize> = raced.iter().map(|system| system.summary.workers).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let at = |workers: &usize| {
        let mut order: Vec<&System> =
            raced.iter().filter(|system| system.summary.workers == *workers).collect();
        order.sort_by(|one, other| better(one, other, goal));
        AxisPoint {
            value: workers.to_string(),
            order: order.iter().map(|one| Standing::of(one, goal)).collect(),
        }
    };
    numbers.iter().map(at).collect()
}

impl AxisTold {
    /// Nothing of fewer than two points.
    pub(super) fn of(
        (kind, name): (AxisKind, &str),
        points: Vec<AxisPoint>,
        recommended: &str,
        margin: f64,
    ) -> Option<AxisTold> {
        let flips = flips(name, &points, recommended, margin);
        (points.len() > 1).then(|| AxisTold { kind, name: name.to_owned(), points, flips })
    }
}

/// A point whose systems are in no order yet.
pub(super) fn point(
    value: &str,
    mut systems: Vec<System>,
    goal: Goal,
    command: impl Fn(&System) -> String,
) -> AxisPoint {
    in_order(&mut systems, goal);
    let standing = |system: &System| Standing { command: command(system), ..Standing::of(system, goal) };
    AxisPoint { value: value.to_owned(), order: systems.iter().map(standing).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(value: &str, order: &[(&str, f64)]) -> AxisPoint {
        let standing = |(system, throughput_per_s): &(&str, f64)| Standing {
            system: (*system).to_owned(),
            workers: 2,
            throughput_per_s: *throughput_per_s,
            abort_rate: 0.0,
            latency_p99_ns: None,
            meets_goal: true,
            command: String::new(),
        };
        AxisPoint { value: value.to_owned(), order: order.iter().map(standing).collect() }
    }

    fn told(points: &[AxisPoint]) -> Vec<String> {
        let tell = |flip: &Flip| format!("{} {} {} {}", flip.until, flip.before, flip.from, flip.after);
        flips("axis", points, "a", 1.1).iter().map(tell).collect()
    }

    #[test]
    fn a_flip_is_where_another_one_leads_for_certain() {
        let points = [
            point("0", &[("a", 100.0), ("b", 50.0)]),
            point("1", &[("b", 105.0), ("a", 100.0)]),
            point("2", &[("b", 120.0), ("a", 100.0)]),
            point("3", &[("a", 100.0), ("b", 99.0)]),
            point("4", &[("a", 100.0), ("b", 10.0)]),
        ];
        assert_eq!(told(&points), ["1 a 2 b", "3 b 4 a"], "who is level leads nobody");
        assert_eq!(flips("axis", &points, "a", 1.1)[1].times, 10.0);
        assert_eq!(told(&points[..2]), [""; 0]);
        assert_eq!(told(&[]), [""; 0]);
    }

    #[test]
    fn who_is_recommended_leads_where_nobody_is_ahead_for_certain() {
        let level = [point("0", &[("b", 105.0), ("a", 100.0)]), point("1", &[("a", 100.0), ("b", 50.0)])];
        assert_eq!(told(&level), [""; 0]);
        let behind = [point("0", &[("b", 150.0), ("a", 100.0)]), point("1", &[("a", 100.0), ("b", 50.0)])];
        assert_eq!(told(&behind), ["0 b 1 a"]);
    }

    #[test]
    fn who_misses_the_goal_does_not_lead() {
        let mut late = point("1", &[("b", 10.0), ("a", 100.0)]);
        late.order[1].meets_goal = false;
        assert_eq!(told(&[point("0", &[("a", 100.0), ("b", 9.0)]), late]), ["0 a 1 b"]);
    }

    #[test]
    fn who_is_not_there_leads_no_longer() {
        assert_eq!(
            told(&[point("0", &[("a", 1.0)]), point("1", &[]), point("2", &[("b", 1.0)])]),
            ["0 a 2 b"]
        );
    }
}
