//! Why a comparison says nothing, and how that is told.

use super::Claim;
use crate::text::numbers::counted;

/// Why a comparison has no numbers.
#[derive(Debug, PartialEq)]
pub(super) enum Untold {
    /// Both sides are the point at this place.
    SamePoint(String),
    /// This point is not measured yet.
    NotYet(String),
    /// This point is left out.
    LeftOut(String),
    /// Without a spread nothing tells a difference from chance.
    OneRepetition,
    /// So many of all repetitions at this place lack the measure.
    Lacking { at: String, repetitions: usize, of: usize },
    /// The claim is about more workers than these.
    FewWorkers(usize),
    /// Nothing over nothing is no number.
    ZeroOverZero,
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
    fn says_the_same(&self, other: &Untold) -> bool {
        self == other || matches!((self, other), (Untold::FewWorkers(_), Untold::FewWorkers(_)))
    }

    fn words(&self, claim: &Claim) -> String {
        match self {
            Untold::SamePoint(at) => format!("both sides are the point {at}"),
            Untold::NotYet(at) => format!("{at} is not measured yet"),
            Untold::LeftOut(at) => format!("{at} is left out"),
            Untold::OneRepetition => "one repetition has no spread; use repeat 3 or more".to_owned(),
            Untold::Lacking { at, repetitions, of } => {
                format!(
                    "{at} has no {} in {repetitions} of {}",
                    claim.measure.name(),
                    counted(*of, "repetition")
                )
            }
            Untold::FewWorkers(here) => {
                let (fewest, here) = (claim.fewest_workers, counted(*here, "worker"));
                format!("it is about {fewest} workers or more; here: {here}")
            }
            Untold::ZeroOverZero => format!("the {} is 0 on both sides", claim.measure),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::Experiment;

    #[test]
    fn each_reason_is_told_once_and_a_crowd_is_counted() {
        let text = "workload = 'micro'\n[axes]\nworkers = [1, 2]\n[[claims]]\nthat = 'so'\n\
                    left = {}\nmeasure = 'throughput'\nat_least = 1\nfewest_workers = 16";
        let claim = Experiment::parse("e.toml", text, 2).expect("an experiment").claims.remove(0);
        let few = [1, 2].map(Untold::FewWorkers);
        assert_eq!(in_words(&claim, few.into_iter()), "it is about 16 workers or more; here: 1 worker");
        let not_yet = (0..12).map(|point| Untold::NotYet((point / 2).to_string()));
        let expected = "0 is not measured yet; 1 is not measured yet; 2 is not measured yet; 3 is not measured yet; \
                        and 2 more";
        assert_eq!(in_words(&claim, not_yet), expected);
    }
}
