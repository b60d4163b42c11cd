//! One number: a measure at a point, or its ratio to another point's.

use super::figure::Found;
use super::judge::Judged;
use super::measure::Range;
use super::outcome::{Grade, Outcome};
use super::pairs::Pair;
use super::untold::Untold;
use super::{Bounds, Claim, Verdict};
use crate::text::numbers::ratio;

/// What comes of `claim` for one pair of points.
pub(super) fn compare(
    claim: &Claim,
    bounds: &Bounds,
    per: Option<&str>,
    pair: Pair<'_, '_>,
) -> Result<Judged, Vec<Untold>> {
    let (left, right) = pair;
    let found = ratio_of(claim, pair)?;
    if found.workers < claim.fewest_workers() {
        return Err(vec![Untold::FewWorkers(found.workers)]);
    }
    let claimed = claim.claimed_of(found.workers);
    let Some(right) = right else {
        let place = format!("claimed: {claimed}; {}", left.name(None));
        let outcome = bounds.of_value(found.range);
        return Ok(judged("value", bounds, outcome, found.range, place));
    };
    let at = format!("claimed: {claimed}; {} against {}", left.name(None), right.name(None));
    let Some(axis) = per else {
        return Ok(judged("ratio", bounds, bounds.of_ratio(found.range), found.range, at));
    };
    let number = |value: Option<&str>| value.and_then(|value| value.parse::<f64>().ok());
    let times = match (number(left.value(axis)), number(right.value(axis))) {
        (Some(left), Some(right)) if left > 0.0 && right > 0.0 => left / right,
        _ => return Err(vec![Untold::NoPoints(format!("{axis} has no number above 0 on both sides"))]),
    };
    let what = format!("ratio {} over {} times the {axis}:", number_of(found.range.median), number_of(times));
    Ok(judged(&what, bounds, bounds.of_growth(found.range, times), found.range.divided(times), at))
}

/// The measure of the left point, over that of the right one if there is one; and the most workers of both.
pub(super) fn ratio_of(claim: &Claim, (left_at, right_at): Pair<'_, '_>) -> Result<Found, Vec<Untold>> {
    let Some(right_at) = right_at else { return left_at.found(claim.measure) };
    if left_at.is(right_at) {
        return Err(vec![Untold::SamePoint(left_at.name(None))]);
    }
    let (left, right) = match (left_at.found(claim.measure), right_at.found(claim.measure)) {
        (Ok(left), Ok(right)) => (left, right),
        (left, right) => {
            return Err(left.err().into_iter().chain(right.err()).flatten().collect());
        }
    };
    if left.range.median == 0.0 && right.range.median == 0.0 {
        return Err(vec![Untold::ZeroOverZero]);
    }
    Ok(Found { range: left.range.over(right.range), workers: left.workers.max(right.workers) })
}

/// `at` says what is claimed, and where.
fn judged(what: &str, bounds: &Bounds, outcome: Outcome, range: Range, at: String) -> Judged {
    let spread = match outcome.verdict() {
        Verdict::CannotBeTold if outcome.at_worst == Grade::Direction => {
            ", a spread wider than the difference; the direction holds"
        }
        Verdict::CannotBeTold => ", a spread wider than the difference",
        _ => "",
    };
    let [low, median, high] = [range.low, range.median, range.high].map(number_of);
    let words = format!("{what} {median} ({low} to {high}){spread}; {at}");
    Judged { outcome, ratio: Some(range.median), favour: bounds.favour(range.median), words }
}

fn number_of(value: f64) -> String {
    if value.is_infinite() { "infinity".to_owned() } else { ratio(value) }
}
