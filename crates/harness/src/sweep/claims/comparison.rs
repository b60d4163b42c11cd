//! One number: a measure at a point, or its ratio to another point's.

use super::figure::Found;
use super::judge::{Interval, Judged};
use super::measure::{Measure, Range};
use super::outcome::Outcome;
use super::pairs::Pair;
use super::trust::{Asked, Doubt, Trust};
use super::untold::Untold;
use super::{Bounds, Claim, Verdict};
use crate::text::numbers::ratio;
use crate::validation::FEWEST_ABORTS;

/// What comes of `claim` for one pair of points.
pub(super) fn compare(
    claim: &Claim,
    bounds: &Bounds,
    per: Option<&str>,
    pair: Pair<'_, '_>,
    trust: Trust<'_>,
) -> Result<Judged, Vec<Untold>> {
    let (left, right) = pair;
    let found = ratio_of(claim, pair, trust)?;
    if found.workers < claim.fewest_workers() {
        return Err(vec![Untold::FewWorkers(found.workers)]);
    }
    let claimed = claim.claimed_of(found.workers);
    let doubt = trust.doubt(claim.measure, pair, found.kind);
    let doubted = Doubted { bounds, measure: claim.measure, found, doubt, trust };
    let Some(right) = right else {
        let place = format!("claimed: {claimed}; {}", left.name(None));
        return Ok(doubted.judged("value", 1.0, |range| bounds.of_value(range), &place));
    };
    let at = format!("claimed: {claimed}; {} against {}", left.name(None), right.name(None));
    let Some(axis) = per else {
        return Ok(doubted.judged("ratio", 1.0, |range| bounds.of_ratio(range), &at));
    };
    let number = |value: Option<&str>| value.and_then(|value| value.parse::<f64>().ok());
    let times = match (number(left.value(axis)), number(right.value(axis))) {
        (Some(left), Some(right)) if left > 0.0 && right > 0.0 => left / right,
        _ => return Err(vec![Untold::NoPoints(format!("{axis} has no number above 0 on both sides"))]),
    };
    let what = format!("ratio {} over {} times the {axis}:", number_of(found.range.median), number_of(times));
    Ok(doubted.judged(&what, times, |range| bounds.of_growth(range, times), &at))
}

/// The measure of the left point, over that of the right one if there is one; the most workers of both, and the kind of the comparison.
pub(super) fn ratio_of(
    claim: &Claim,
    (left_at, right_at): Pair<'_, '_>,
    trust: Trust<'_>,
) -> Result<Found, Vec<Untold>> {
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
    let fewest = left.range.median.min(right.range.median);
    if trust.is_simulated() && claim.measure.is_of_aborts() && fewest < FEWEST_ABORTS {
        return Err(vec![Untold::FewAborts(FEWEST_ABORTS)]);
    }
    let range = left.in_ratio.over(right.in_ratio);
    let (workers, kind) = (left.workers.max(right.workers), left.kind.beside(right.kind));
    Ok(Found { range, in_ratio: range, workers, kind })
}

/// A number that was found, and how far it may be off.
struct Doubted<'a> {
    bounds: &'a Bounds,
    measure: Measure,
    found: Found,
    /// Or why nobody knows.
    doubt: Result<Doubt, String>,
    trust: Trust<'a>,
}

impl Doubted<'_> {
    /// `of` judges a range; `times` divides what is shown of it; `at` says what is claimed, and where.
    fn judged(self, what: &str, times: f64, of: impl Fn(Range) -> Outcome, at: &str) -> Judged {
        let range = self.found.range;
        let by_spread = of(range);
        let shown = range.divided(times);
        let [low, median, high] = [shown.low, shown.median, shown.high].map(number_of);
        let (outcome, error, interval, more) = match self.doubt {
            Ok(Doubt { itself, asked: Some(asked), .. }) => {
                let wide = shown.widened(itself);
                let Found { workers, kind, .. } = self.found;
                let used = self.trust.used(asked, itself, (self.measure, kind), workers);
                (of(range.widened(itself)), used, Some(wide), with_error(asked, itself, wide))
            }
            Ok(_) => (by_spread, None, None, String::new()),
            Err(_) => (Outcome::OPEN, None, None, String::new()),
        };
        let reason = match (&self.doubt, outcome.verdict(), by_spread.verdict()) {
            (Err(why), ..) => format!(", by a model of unknown error: {why}"),
            _ if outcome.is_of_another_size() => {
                ", certainly another size, and of a direction that cannot be told".to_owned()
            }
            (_, Verdict::CannotBeTold, Verdict::CannotBeTold) => {
                ", a spread wider than the difference".to_owned()
            }
            (_, Verdict::CannotBeTold, _) => ", an error wider than the difference".to_owned(),
            _ => String::new(),
        };
        let direction = if outcome.is_of_certain_direction() { "; the direction holds" } else { "" };
        Judged {
            outcome,
            ratio: Some(shown.median),
            interval: Some(Interval::new(shown, interval)),
            favour: self.bounds.favour(shown.median),
            error,
            words: format!("{what} {median} ({low} to {high}{more}){reason}{direction}; {at}"),
        }
    }
}

/// Inside the brackets of a spread.
fn with_error(asked: Asked, factor: f64, wide: Range) -> String {
    let [low, high] = [wide.low, wide.high].map(number_of);
    format!("; with the model's error of {factor:.2} {} {low} to {high}", asked.in_words())
}

pub(super) fn number_of(value: f64) -> String {
    if value.is_infinite() { "infinity".to_owned() } else { ratio(value) }
}
