//! Lines: the points that differ on one axis only, as one thing that has a shape.

use super::comparison::ratio_of;
use super::judge::{Interval, Judged};
use super::outcome::Outcome;
use super::pairs::Pair;
use super::shape::{Point, Shape, top};
use super::trust::{Asked, Doubt, Trust};
use super::untold::Untold;
use super::{Bounds, Verdict};
use super::{Claim, Claimed};
use crate::sweep::experiment::Axis;
use crate::text::numbers::ratio;
use crate::validation::SystemKind;

/// The `pairs` by the line along `over` that they lie on.
pub(super) fn lines<'s, 'f>(over: &str, pairs: Vec<Pair<'s, 'f>>) -> Vec<Vec<Pair<'s, 'f>>> {
    let mut lines: Vec<(String, Vec<Pair<'s, 'f>>)> = Vec::new();
    for pair in pairs {
        let name = name(over, pair);
        match lines.iter_mut().find(|(known, _)| *known == name) {
            Some((_, line)) => line.push(pair),
            None => lines.push((name, vec![pair])),
        }
    }
    lines.into_iter().map(|(_, line)| line).collect()
}

/// What comes of `claim` for one of its lines. Points that are left out make it shorter.
pub(super) fn judge(
    claim: &Claim,
    over: &str,
    shape: &Shape,
    line: &[Pair<'_, '_>],
    trust: Trust<'_>,
) -> Result<Judged, Vec<Untold>> {
    let name = line.first().map_or(String::new(), |pair| name(over, *pair));
    let (mut points, mut workers, mut untold): (Vec<Point>, usize, Vec<Untold>) = (Vec::new(), 0, Vec::new());
    let (mut told, mut kind) = (Vec::new(), SystemKind::OneInstance);
    for pair in line {
        let at = pair.0.value(over).and_then(|at| at.parse().ok()).expect("an axis of numbers");
        match ratio_of(claim, *pair, trust) {
            Ok(found) => {
                points.push((at, found.range));
                (kind, workers) = (kind.beside(found.kind), workers.max(found.workers));
                told.push(*pair);
            }
            Err(reasons) => untold.extend(reasons),
        }
    }
    if !untold.iter().all(Untold::does_not_apply) || points.is_empty() {
        return Err(untold);
    }
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    if workers < claim.fewest_workers() {
        return Err(vec![Untold::FewWorkers(workers)]);
    }
    let at = points[points.len() - 1].0;
    if shape.between().is_some_and(|between| between.to > at) {
        return Err(vec![Untold::EndsBefore { line: in_words(name, over), at }]);
    }
    if points.len() < shape.fewest_points() {
        return Err(vec![Untold::FewPoints { line: in_words(name, over), points: points.len() }]);
    }
    // A deployment among the points is compared with all of them.
    let doubt = told.into_iter().try_fold(Doubt::NONE, |most, pair| {
        Ok::<Doubt, String>(most.or(trust.doubt(claim.measure, pair, kind)?))
    });
    let (by_spread, found) = shape.on(&points, Doubt::NONE);
    let outcome = match &doubt {
        Ok(doubt) => shape.on(&points, *doubt).0,
        Err(_) => Outcome::OPEN,
    };
    let error = doubt.as_ref().ok().and_then(|doubt| error_of(shape, *doubt, line));
    let mut found = found;
    if let Some((asked, factor)) = error {
        found += &format!(", with the model's error of {factor:.2} {}", asked.in_words());
    }
    match (&doubt, outcome.verdict(), by_spread.verdict()) {
        (Err(why), ..) => found += &format!(", by a model of unknown error: {why}"),
        (_, Verdict::CannotBeTold, by_spread) if by_spread != Verdict::CannotBeTold => {
            found += ", which is wider than what there is to see";
        }
        _ => {}
    }
    if outcome.is_of_certain_direction() {
        found += "; the direction holds";
    }
    let values: Vec<String> =
        points.iter().map(|(at, range)| format!("{} at {at}", ratio(range.median))).collect();
    let who = if name.is_empty() { "it" } else { &name };
    let words = format!("{found}; claimed: {}; {who} has {}", claim.claimed_of(workers), values.join(", "));
    let interval = of_the_top(claim).map(|_| {
        let top = top(&points);
        Interval::new(
            top,
            doubt.ok().filter(|doubt| doubt.asked.is_some()).map(|doubt| top.widened(doubt.itself)),
        )
    });
    let error = error.and_then(|(asked, factor)| trust.used(asked, factor, (claim.measure, kind), workers));
    Ok(Judged { outcome, ratio: None, interval, favour: 0.0, error, words })
}

/// What is claimed of the height of a peak.
pub(super) fn of_the_top(claim: &Claim) -> Option<Bounds> {
    match &claim.claimed {
        Claimed::Line { shape: Shape::Peaks { top, .. }, .. } => *top,
        _ => None,
    }
}

/// The error that decides `shape`, and of what it is.
fn error_of(shape: &Shape, doubt: Doubt, line: &[Pair<'_, '_>]) -> Option<(Asked, f64)> {
    let asked = doubt.asked?;
    if !shape.compares_points() {
        return Some((asked, doubt.itself));
    }
    // Of a line of values each point has the root of the error between two of them.
    let is_of_values = line.iter().any(|(_, right)| right.is_none());
    Some((Asked::Along, if is_of_values { doubt.among * doubt.among } else { doubt.among }))
}

/// What the points of a line have in common.
fn name(over: &str, (left, right): Pair<'_, '_>) -> String {
    match right {
        None => left.name(Some(over)),
        Some(right) => format!("{} against {}", left.name(Some(over)), right.name(Some(over))),
    }
}

fn in_words(name: String, over: &str) -> String {
    if name.is_empty() { format!("the line over {over}") } else { format!("{name} over {over}") }
}

/// Whether a line can go along `axis`.
pub(super) fn can_go_along(axis: &Axis) -> bool {
    super::wanted::numbers(axis).is_some()
}
