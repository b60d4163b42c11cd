//! From measured points to a verdict: every comparison of a claim, or every line, is judged by itself, and the one that
//! speaks most against the claim decides. Those that the claim is not about count only if there are no others.

use super::figure::Figure;
use super::outcome::Outcome;
use super::pairs::Sides;
use super::untold::{self, Untold};
use super::{Claim, Claimed, Selection, Told, Verdict};
use super::{comparison, line};

/// What came of one comparison, or of one line.
pub(super) struct Judged {
    pub(super) outcome: Outcome,
    /// The value itself if there is no right side; infinite if right is 0. A line has none.
    pub(super) ratio: Option<f64>,
    /// The less, the more it speaks against the claim, among those of the same outcome.
    pub(super) favour: f64,
    pub(super) words: String,
}

/// What is answered.
struct Answer {
    verdict: Verdict,
    ratio: Option<f64>,
    why: String,
}

/// Tells every claim of `figure`. What a claim compares with another experiment's points is told if that is among the
/// `others`.
pub fn tell(figure: &Figure<'_>, others: &[Figure<'_>]) -> Vec<Told> {
    let told = |claim: &Claim| {
        let Answer { verdict, ratio, why } = answer(claim, figure, others);
        Told {
            that: claim.that.clone(),
            measure: claim.measure,
            left: claim.left.to_string(),
            right: claim.right.as_ref().map(Selection::to_string),
            at: claim.at.to_string(),
            over: claim.over().map(str::to_owned),
            bounds: claim.bounds(),
            claimed: claim.claimed.to_string(),
            about_workers: claim.about_workers,
            verdict,
            ratio: ratio.filter(|ratio| ratio.is_finite()),
            why,
            explanation: claim.explanation.clone().filter(|_| verdict.is_a_finding()),
        }
    };
    figure.experiment.claims.iter().map(told).collect()
}

fn answer(claim: &Claim, figure: &Figure<'_>, others: &[Figure<'_>]) -> Answer {
    let none = |reason: Untold| no_answer(claim, Verdict::NotApplicable, vec![reason]);
    let sides = match Sides::of(claim, figure, others) {
        Ok(sides) => sides,
        Err(reason) => return none(reason),
    };
    let pairs = match sides.pairs(claim) {
        Ok(pairs) => pairs,
        Err(reason) => return none(reason),
    };
    let judged = match &claim.claimed {
        Claimed::Number { bounds, per } => {
            pairs.into_iter().map(|pair| comparison::compare(claim, bounds, per.as_deref(), pair)).collect()
        }
        Claimed::Line { over, shape } => {
            line::lines(over, pairs).iter().map(|points| line::judge(claim, over, shape, points)).collect()
        }
    };
    settle(claim, judged)
}

/// What comes of all of them together.
fn settle(claim: &Claim, all: Vec<Result<Judged, Vec<Untold>>>) -> Answer {
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
    Answer { verdict, ratio: decides.ratio, why }
}

fn no_answer(claim: &Claim, verdict: Verdict, reasons: Vec<Untold>) -> Answer {
    Answer { verdict, ratio: None, why: untold::in_words(claim, reasons.into_iter()) }
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
