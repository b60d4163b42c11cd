//! How many of ORTHRUS's workers do concurrency control: `--cc-threads auto` (*orthrus* 4.2).
//!
//! With few such threads those that execute wait for them; with many, too few execute. So throughput rises and then falls with their number, and the
//! highest is found by Fibonacci search (Kiefer, 1953): of two numbers the one with less throughput, and all beyond it, are out. Some ten runs do
//! for a hundred workers. Each is a short run of the system itself, over the same workload and from the same seed, logs nothing, and counts for
//! nothing else. Where runs repeat bit for bit the choice does, too.
//!
//! On a noisy machine two numbers that are about as good may be taken for each other; what was tried stands in the result.

use crate::failure::Failure;
use crate::options::{BadValue, Division, Logging, RunOptions};
use crate::summary::{ChosenThreads, Tried};
use contract::{ArchitectureName, PairName};
use std::collections::BTreeMap;

/// The part that a trial has of a repetition's warm-up, and of its interval.
const PART_OF_A_REPETITION: u32 = 4;

/// Whether it is for a system to be divided.
pub fn is_divided(pair: PairName) -> bool {
    pair.architecture == ArchitectureName::Orthrus
}

/// Refuses to choose where no system has such threads.
pub fn admit_division(pairs: &[PairName], options: &RunOptions) -> Result<(), BadValue> {
    match options.division {
        Division::Measured if !pairs.iter().copied().any(is_divided) => {
            let allowed = "where orthrus is measured, which takes at least 2 workers; other systems have no such threads";
            Err(BadValue::new("cc-threads", options.get("cc-threads"), allowed))
        }
        _ => Ok(()),
    }
}

/// What a trial of so many is told.
pub fn trial(options: &RunOptions, cc_threads: usize) -> RunOptions {
    RunOptions {
        warmup: options.warmup / PART_OF_A_REPETITION,
        duration: options.duration / PART_OF_A_REPETITION,
        repeat: 1,
        logging: Logging::default(),
        ..told(options, cc_threads)
    }
}

/// The options of a measurement for which so many were chosen.
pub fn told(options: &RunOptions, cc_threads: usize) -> RunOptions {
    let mut options = options.clone();
    options.engine.cc_threads = cc_threads;
    options
}

/// The number of threads, 1 to `most`, with the highest throughput; of those that were tried, and of several the fewest. `throughput` answers
/// `None` if there is to be no further trial.
pub fn choose(
    most: usize,
    mut throughput: impl FnMut(usize) -> Result<Option<f64>, Failure>,
) -> Result<ChosenThreads, Failure> {
    let mut tried = BTreeMap::new();
    let mut of = |threads: usize| -> Result<Option<f64>, Failure> {
        if threads > most {
            return Ok(Some(f64::NEG_INFINITY));
        }
        if let Some(&known) = tried.get(&threads) {
            return Ok(Some(known));
        }
        let told = throughput(threads)?;
        tried.extend(told.map(|per_s| (threads, per_s)));
        Ok(told)
    };
    // The highest is above `low` and below `low + near + far`; the two distances are Fibonacci numbers that follow each other.
    let (mut low, mut near, mut far) = (0, 1, 1);
    while near + far <= most {
        (near, far) = (far, near + far);
    }
    while far > 1 {
        let Some(one) = of(low + near)? else { break };
        let Some(other) = of(low + far)? else { break };
        if one < other {
            low += near;
        }
        (near, far) = (far - near, near);
    }
    let tried: Vec<Tried> = tried
        .into_iter()
        .map(|(cc_threads, throughput_per_s)| Tried { cc_threads, throughput_per_s })
        .collect();
    let best =
        tried.iter().rev().max_by(|one, other| one.throughput_per_s.total_cmp(&other.throughput_per_s));
    Ok(ChosenThreads { cc_threads: best.map_or(1, |best| best.cc_threads), tried })
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::ProtocolName;

    fn chosen(most: usize, of: impl Fn(usize) -> f64) -> ChosenThreads {
        let mut asked = Vec::new();
        let chosen = choose(most, |threads| {
            asked.push(threads);
            Ok(Some(of(threads)))
        });
        let chosen = chosen.expect("nothing fails");
        asked.sort_unstable();
        let tried: Vec<usize> = chosen.tried.iter().map(|tried| tried.cc_threads).collect();
        assert_eq!(tried, asked, "each once, ascending");
        assert!(tried.iter().all(|threads| (1..=most).contains(threads)), "{tried:?} of {most}");
        chosen
    }

    #[test]
    fn the_highest_is_found_wherever_it_is() {
        for most in 1..100 {
            for peak in 1..=most {
                let found = chosen(most, |threads| -(threads.abs_diff(peak) as f64));
                assert_eq!(found.cc_threads, peak, "of {most}");
                assert!(found.tried.len() <= 10, "{} of {most}", found.tried.len());
            }
        }
        assert!(chosen(1, |_| 1.0).tried.is_empty(), "there is no choice");
    }

    /// What limits is the threads for concurrency control first, then those that execute.
    #[test]
    fn threads_are_divided_as_they_are_needed() {
        for (each_grants, each_executes, best) in [(4.0, 1.0, 16), (1.0, 1.0, 40), (79.0, 1.0, 1)] {
            let of =
                |threads: usize| (each_grants * threads as f64).min(each_executes * (80 - threads) as f64);
            assert_eq!(chosen(79, of).cc_threads, best);
        }
    }

    #[test]
    fn of_as_many_the_fewest_are_chosen() {
        assert_eq!(chosen(50, |_| 7.0).cc_threads, 1);
    }

    #[test]
    fn who_is_interrupted_has_the_best_so_far() {
        let mut left = 2;
        let interrupted = choose(50, |threads| {
            left -= 1;
            Ok((left >= 0).then_some(threads as f64))
        });
        assert_eq!(interrupted.expect("nothing fails").cc_threads, 34, "of the first two");
        assert_eq!(choose(50, |_| Ok(None)).expect("nothing fails").cc_threads, 1);
    }

    #[test]
    fn there_is_nothing_to_choose_without_such_threads() {
        let mut options = RunOptions::for_run(4);
        let silo =
            PairName { architecture: ArchitectureName::SharedEverything, protocol: ProtocolName::Silo };
        let orthrus =
            PairName { architecture: ArchitectureName::Orthrus, protocol: ProtocolName::Unprotected };
        admit_division(&[silo], &options).expect("it is told");
        options.set("cc-threads", "auto").expect("a known option").expect("a good value");
        admit_division(&[silo, orthrus], &options).expect("one has such threads");
        let refused = admit_division(&[silo], &options).expect_err("none has").to_string();
        assert!(refused.starts_with("cc-threads auto: allowed: where orthrus is measured"), "{refused}");
    }
}
