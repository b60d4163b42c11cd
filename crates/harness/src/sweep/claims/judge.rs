//! From measured points to a verdict: every comparison of a claim, or every line, is judged by itself, and the one that
//! speaks most against the claim decides. Those that the claim is not about count only if there are no others.

use super::figure::{Figure, Spot};
use super::measure::Range;
use super::outcome::Outcome;
use super::pairs::{Pair, Sides};
use super::trust::{ErrorUsed, Trust};
use super::untold::{self, Untold};
use super::{Claim, Claimed, Part, Selection, Told, Verdict};
use super::{comparison, line};
use serde::Serialize;

/// What came of one comparison, or of one line.
pub(super) struct Judged {
    pub(super) outcome: Outcome,
    /// The value itself if there is no right side; infinite if right is 0. A line has none.
    pub(super) ratio: Option<f64>,
    /// The number and how far it may reach; `None` of a line, unless its top is claimed to be a number.
    pub(super) interval: Option<Interval>,
    /// The less, the more it speaks against the claim, among those of the same outcome.
    pub(super) favour: f64,
    /// The model's error, if there is one.
    pub(super) error: Option<ErrorUsed>,
    pub(super) words: String,
}

/// The same, or why nothing came of it.
type Judgement = Result<Judged, Vec<Untold>>;

/// A number that was found, and how far it may reach.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// By the medians of the repetitions.
    pub median: f64,
    /// By the repetitions that make it least; and most.
    pub spread: [f64; 2],
    /// With the model's error, too, if there is one and it is known.
    pub with_error: Option<[f64; 2]>,
}

impl Interval {
    pub(super) fn new(range: Range, wide: Option<Range>) -> Interval {
        let ends = |range: Range| [range.low, range.high];
        Interval { median: range.median, spread: ends(range), with_error: wide.map(ends) }
    }

    fn is_finite(&self) -> bool {
        let ends = self.spread.into_iter().chain(self.with_error.into_iter().flatten());
        self.median.is_finite() && ends.into_iter().all(f64::is_finite)
    }
}

/// What is answered.
struct Answer {
    verdict: Verdict,
    direction_holds: bool,
    ratio: Option<f64>,
    interval: Option<Interval>,
    part: Option<Part>,
    places: Vec<Vec<String>>,
    error: Option<ErrorUsed>,
    why: String,
}

/// Tells every claim of `figure`. What a claim compares with another experiment's points is told if that is among the
/// `others`. `trust` says how far the points are what they stand for, those of the others, too.
pub fn tell(figure: &Figure<'_>, others: &[Figure<'_>], trust: Trust<'_>) -> Vec<Told> {
    let told = |claim: &Claim| {
        let Answer { verdict, direction_holds, ratio, interval, part, places, error, why } =
            answer(claim, figure, others, trust);
        Told {
            that: claim.that.clone(),
            section: claim.section.clone(),
            says: claim.says.clone(),
            standing: claim.standing.clone(),
            measure: claim.measure,
            left: claim.left.to_string(),
            right: claim.right.as_ref().map(Selection::to_string),
            at: claim.at.to_string(),
            over: claim.over().map(str::to_owned),
            places,
            bounds: claim.bounds(),
            claimed: claim.claimed.to_string(),
            about_workers: claim.about_workers,
            paper_number: claim.paper_number(),
            verdict,
            direction_holds,
            part,
            ratio: ratio.filter(|ratio| ratio.is_finite()),
            interval: interval.filter(Interval::is_finite),
            error,
            why,
            explanation: claim.explanation.clone().filter(|_| verdict.says_what_came_out()),
        }
    };
    figure.experiment.claims.iter().map(told).collect()
}

fn answer(claim: &Claim, figure: &Figure<'_>, others: &[Figure<'_>], trust: Trust<'_>) -> Answer {
    let none = |reason: Untold| no_answer(claim, Verdict::NotApplicable, vec![reason]);
    let sides = match Sides::of(claim, figure, others) {
        Ok(sides) => sides,
        Err(reason) => return none(reason),
    };
    let pairs = match sides.pairs(claim) {
        Ok(pairs) => pairs,
        Err(reason) => return none(reason),
    };
    let judged: Vec<(Vec<Pair<'_, '_>>, Judgement)> = match &claim.claimed {
        Claimed::Number { bounds, per } => {
            let compare = |pair| comparison::compare(claim, bounds, per.as_deref(), pair, trust);
            pairs.into_iter().map(|pair| (vec![pair], compare(pair))).collect()
        }
        Claimed::Line { over, shape } => {
            let judge = |points: &[Pair<'_, '_>]| line::judge(claim, over, shape, points, trust);
            let lines = line::lines(over, pairs).into_iter();
            lines
                .map(|points| {
                    let judged = judge(&points);
                    (points, judged)
                })
                .collect()
        }
    };
    let told = judged.iter().filter(|(_, result)| result.is_ok());
    // Of a line some points may be left out.
    let is_there = |spot: &&Spot<'_>| spot.found(claim.measure).is_ok();
    let judged_at: Vec<&Spot<'_>> =
        told.flat_map(|(pairs, _)| pairs).map(|(left, _)| *left).filter(is_there).collect();
    let part = Part::of(claim, figure, &judged_at);
    let places = judged_at.iter().flat_map(|spot| spot.places()).cloned().collect();
    Answer { part, places, ..settle(claim, judged.into_iter().map(|(_, result)| result).collect()) }
}

/// What comes of all of them together.
fn settle(claim: &Claim, all: Vec<Judgement>) -> Answer {
    let (mut judged, mut untold, mut apart, mut of) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for one in all {
        match one {
            Ok(one) => judged.push(one),
            Err(reasons) if reasons.iter().all(Untold::does_not_apply) => {
                apart.extend(reasons);
                continue;
            }
            Err(reasons) => untold.push(reasons),
        }
        of += 1;
    }
    let unknown = if untold.is_empty() { None } else { Some(Outcome::OPEN) };
    let outcomes = judged.iter().map(|judged| judged.outcome).chain(unknown);
    let Some(outcome) = outcomes.reduce(Outcome::and) else {
        return match apart.is_empty() {
            true => {
                let none = Untold::NoPoints("there are no such points".to_owned());
                no_answer(claim, Verdict::NotApplicable, vec![none])
            }
            false => no_answer(claim, Verdict::NotApplicable, apart),
        };
    };
    let verdict = outcome.verdict();
    if verdict == Verdict::CannotBeTold && !untold.is_empty() {
        let cannot = match of {
            1 => String::new(),
            _ => format!("; of {of} comparisons {} cannot be told", untold.len()),
        };
        let mut answer = no_answer(claim, verdict, untold.into_iter().flatten().collect());
        answer.why += &cannot;
        return answer;
    }
    let decides = decides(verdict, judged).expect("no verdict but for what was judged");
    let mut why = decides.words;
    if of > 1 {
        why += &format!("; of {of} comparisons this one is the worst");
    }
    if !apart.is_empty() {
        why += &format!("; besides, {}", untold::in_words(claim, apart.into_iter()));
    }
    Answer {
        verdict,
        direction_holds: outcome.is_of_certain_direction(),
        ratio: decides.ratio,
        interval: decides.interval,
        part: None,
        places: Vec::new(),
        error: decides.error,
        why,
    }
}

fn no_answer(claim: &Claim, verdict: Verdict, reasons: Vec<Untold>) -> Answer {
    Answer {
        verdict,
        direction_holds: false,
        ratio: None,
        interval: None,
        part: None,
        places: Vec::new(),
        error: None,
        why: untold::in_words(claim, reasons.into_iter()),
    }
}

/// The one that settles it; or, if nothing is settled, the one that leaves most open.
fn decides(verdict: Verdict, judged: Vec<Judged>) -> Option<Judged> {
    let rank = |judged: &Judged| match verdict {
        Verdict::CannotBeTold => (judged.outcome.at_worst, judged.outcome.at_best),
        _ => (judged.outcome.at_best, judged.outcome.at_worst),
    };
    judged
        .into_iter()
        .min_by(|one, other| rank(one).cmp(&rank(other)).then(one.favour.total_cmp(&other.favour)))
}
