//! Why a comparison says nothing, and how that is told. Some say nothing because the claim is not about these points;
//! others would, if their numbers were there.

use super::Claim;
use crate::text::numbers::counted;

/// Why a comparison has no numbers.
#[derive(Debug, PartialEq)]
pub(super) enum Untold {
    /// Both sides are the point at this place.
    SamePoint(String),
    /// This point is left out.
    LeftOut { at: String, why: String },
    /// The claim is about more workers than these.
    FewWorkers(usize),
    /// No line of so few points has the shape.
    FewPoints { line: String, points: usize },
    /// The line ends before the values that the claim is about.
    EndsBefore { line: String, at: f64 },
    /// There are no points of the kind that is claimed of.
    NoPoints(String),
    /// This point is not measured yet.
    NotYet(String),
    /// Without a spread nothing tells a difference from chance.
    OneRepetition,
    /// So many of all repetitions at this place lack the measure.
    Lacking { at: String, repetitions: usize, of: usize },
    /// Nothing over nothing is no number.
    ZeroOverZero,
    /// Fewer simulated aborts than this by commit are chance: the model is not validated for them.
    FewAborts(f64),
}

/// Reasons that are listed before the others are only counted.
const MOST_REASONS: usize = 4;

/// Each reason of `claim`'s comparisons once, and what to do about it.
pub(super) fn in_words(claim: &Claim, untold: impl Iterator<Item = Untold>) -> String {
    let mut distinct: Vec<Untold> = Vec::new();
    for reason in untold {
        if !distinct.iter().any(|known| known.says_the_same(&reason)) {
            distinct.push(reason);
        }
    }
    let mut words: Vec<String> =
        distinct.iter().take(MOST_REASONS).map(|reason| reason.words(claim)).collect();
    if distinct.len() > MOST_REASONS {
        words.push(format!("and {} more", distinct.len() - MOST_REASONS));
    }
    if distinct.iter().any(|reason| matches!(reason, Untold::Lacking { .. })) {
        words.push("a longer --duration may sample it, if the system has it at all".to_owned());
    }
    words.join("; ")
}

impl Untold {
    /// Whether the claim is not about these points at all.
    pub(super) fn does_not_apply(&self) -> bool {
        match self {
            Untold::SamePoint(_)
            | Untold::LeftOut { .. }
            | Untold::FewWorkers(_)
            | Untold::FewPoints { .. }
            | Untold::EndsBefore { .. }
            | Untold::NoPoints(_) => true,
            Untold::NotYet(_)
            | Untold::OneRepetition
            | Untold::Lacking { .. }
            | Untold::ZeroOverZero
            | Untold::FewAborts(_) => false,
        }
    }

    fn says_the_same(&self, other: &Untold) -> bool {
        self == other || matches!((self, other), (Untold::FewWorkers(_), Untold::FewWorkers(_)))
    }

    fn words(&self, claim: &Claim) -> String {
        match self {
            Untold::SamePoint(at) => format!("both sides are the point {at}"),
            Untold::LeftOut { at, why } => format!("{at} is left out: {why}"),
            Untold::FewWorkers(here) => {
                let here = counted(*here, "worker");
                match (claim.about_workers, claim.fewest_workers()) {
                    (Some(about), fewest) if about == fewest => {
                        format!("it is about {about} workers; here: {here}")
                    }
                    (_, fewest) => format!("it is about {fewest} workers or more; here: {here}"),
                }
            }
            Untold::FewPoints { line, points } => format!("{line} has {} only", counted(*points, "point")),
            Untold::EndsBefore { line, at } => format!("{line} ends at {at}"),
            Untold::NoPoints(what) => what.clone(),
            Untold::NotYet(at) => format!("not measured yet: {at}"),
            Untold::OneRepetition => "one repetition has no spread; use repeat 3 or more".to_owned(),
            Untold::Lacking { at, repetitions, of } => {
                format!(
                    "{at} has no {} in {repetitions} of {}",
                    claim.measure.name(),
                    counted(*of, "repetition")
                )
            }
            Untold::ZeroOverZero => format!("the {} is 0 on both sides", claim.measure),
            Untold::FewAborts(fewest) => format!(
                "the {} is below {fewest} on one side: so few simulated aborts are chance, and the model is not validated for them",
                claim.measure
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::Experiment;

    #[test]
    fn each_reason_is_told_once_and_a_crowd_is_counted() {
        let claim = |workers: &str| {
            let text = format!(
                "workload = 'micro'\n[axes]\nworkers = [1, 2]\n[[claims]]\nthat = 'so'\nleft = {{}}\n\
                 measure = 'abort_rate'\nat_least = 1\n{workers}"
            );
            Experiment::parse("e.toml", &text, 2).expect("an experiment").claims.remove(0)
        };
        let few = || [1, 2].map(Untold::FewWorkers).into_iter();
        let fewest = claim("fewest_workers = 16");
        assert_eq!(in_words(&fewest, few()), "it is about 16 workers or more; here: 1 worker");
        assert_eq!(in_words(&claim("about_workers = 72"), few()), "it is about 72 workers; here: 1 worker");
        let both = claim("about_workers = 72\nfewest_workers = 36");
        assert_eq!(in_words(&both, few()), "it is about 36 workers or more; here: 1 worker");
        let not_yet = (0..12).map(|point| Untold::NotYet((point / 2).to_string()));
        let expected =
            "not measured yet: 0; not measured yet: 1; not measured yet: 2; not measured yet: 3; and 2 more";
        assert_eq!(in_words(&fewest, not_yet), expected);
    }
}
