//! Successive halving (Jamieson and Talwalkar, AISTATS 2016), by thirds, as Hyperband has it by default (Li and others, JMLR 2018): all candidates run shortly, the best third
//! runs on for longer, and so on. A heat has a third of the candidates of the one before, for up to three times the time, and no longer than a run of the final.
//!
//! Candidates are systems with a number of workers. It ends once no more systems are left than reach the final.

use super::{Candidate, Goal};
use crate::failure::Failure;
use crate::results::System;
use std::cmp::Ordering;

/// Hyperband's reduction factor: one candidate in so many goes on, for so many times the time.
pub(super) const REDUCTION_FACTOR: usize = 3;

/// Runs heats until `finalists` systems are left at most; answers what they brought, best first, heat by heat. `run` measures candidates in the heat of a number; who
/// is missing from what it answers was not measured, and does not run again; if all are missing it was interrupted.
pub(super) fn halve<T>(
    mut candidates: Vec<Candidate>,
    finalists: usize,
    who: impl Fn(&T) -> Candidate,
    better: impl Fn(&T, &T) -> Ordering,
    mut run: impl FnMut(usize, &[Candidate]) -> Result<Vec<T>, Failure>,
) -> Result<Vec<Vec<T>>, Failure> {
    let mut heats: Vec<Vec<T>> = Vec::new();
    loop {
        let mut order = run(heats.len(), &candidates)?;
        if order.is_empty() {
            return Ok(heats);
        }
        order.sort_by(&better);
        let known: Vec<Candidate> = order.iter().map(&who).collect();
        heats.push(order);
        // A third, and never fewer systems than reach the final.
        let is_enough = |end: &usize| systems(&known[..*end]) >= finalists;
        let kept =
            (known.len().div_ceil(REDUCTION_FACTOR)..known.len()).find(is_enough).unwrap_or(known.len());
        candidates = known[..kept].to_vec();
        if kept == known.len() || systems(&candidates) <= finalists {
            return Ok(heats);
        }
    }
}

/// How many systems, whatever their workers.
fn systems(candidates: &[Candidate]) -> usize {
    let is_first = |(position, one): &(usize, &Candidate)| {
        !candidates[..*position].iter().any(|other| other.pair == one.pair)
    };
    candidates.iter().enumerate().filter(is_first).count()
}

/// Best first.
pub(super) fn in_order(systems: &mut [System], goal: Goal) {
    systems.sort_by(|one, other| better(one, other, goal));
}

/// Who fulfils the goal goes before who does not, then more throughput before less, and less latency before more where neither fulfils it.
pub(super) fn better(one: &System, other: &System, goal: Goal) -> Ordering {
    let p99 = |system: &System| system.summary.latency_ns.as_ref().map_or(u64::MAX, |latency| latency.p99);
    let (first, second) = (goal.is_met(one), goal.is_met(other));
    let by_throughput = other.summary.throughput_per_s.total_cmp(&one.summary.throughput_per_s);
    match (first, second) {
        (false, false) => p99(one).cmp(&p99(other)).then(by_throughput),
        _ => second.cmp(&first).then(by_throughput),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::{Durability, PairName};

    fn all(workers: &[usize], pairs: usize) -> Vec<Candidate> {
        let with = |&workers: &usize| {
            PairName::all().take(pairs).map(move |pair| Candidate::new(pair, workers, Durability::None))
        };
        workers.iter().flat_map(with).collect()
    }

    /// Candidates' numbers, of which the least is the best; those who ran in each heat, and who is left, best first.
    fn raced(candidates: &[Candidate], finalists: usize, missing: Option<usize>) -> (Vec<usize>, Vec<usize>) {
        let number = |one: &Candidate| candidates.iter().position(|other| other == one).expect("one of them");
        let heats = halve(
            candidates.to_vec(),
            finalists,
            |&number: &usize| candidates[number],
            Ord::cmp,
            |_, running| Ok(running.iter().map(number).filter(|one| Some(*one) != missing).collect()),
        );
        let heats = heats.expect("nothing fails");
        (heats.iter().map(Vec::len).collect(), heats.last().expect("a heat").clone())
    }

    #[test]
    fn the_best_third_runs_on() {
        let candidates = all(&[2], 12);
        assert_eq!(
            raced(&candidates, 4, None),
            (vec![12], (0..12).collect()),
            "the third of 12 are the finalists"
        );
        assert_eq!(raced(&candidates, 2, None).0, [12, 4]);
        assert_eq!(
            raced(&candidates, 2, Some(0)),
            (vec![11, 4], vec![1, 2, 3, 4]),
            "who is not measured is out"
        );
    }

    #[test]
    fn systems_are_counted_once_whatever_their_workers() {
        // The best third are two systems at most, each with 8 and with 2 workers; three are to reach the final.
        let mut candidates = all(&[8, 2], 4);
        candidates.sort_by_key(|one| PairName::all().position(|pair| pair == one.pair));
        let (heats, last) = raced(&candidates, 3, None);
        assert_eq!((heats, last), (vec![8], (0..8).collect()), "five candidates are three systems");
        assert_eq!(systems(&candidates), 4);
    }

    #[test]
    fn few_systems_run_once() {
        assert_eq!(raced(&all(&[1], 3), 4, None).0, [3]);
        let none = halve(all(&[1], 3), 4, |_: &usize| unreachable!(), Ord::cmp, |_, _| Ok(Vec::new()));
        assert!(none.expect("an interrupt is no failure").is_empty());
    }
}
