//! How many of a worker's fibers begin transactions: all of them, or as many as bring most.
//!
//! Several in flight hide the time in which lines come from memory; but if lines are at hand, switching is for nothing, and transactions of one
//! worker that want the same rows abort each other, or wait. What prevails depends on the data, the machine and the mix, and only the time that
//! transactions take tells. So a worker measures it ([`Trial`]): it runs a *window* of transactions with each number of fibers, in rounds, one number
//! after the other, so that what disturbs one of them disturbs all. What disturbs a window makes it longer, never shorter: a machine that is busy takes
//! the core away, for longer than a window lasts. So of each number's windows those decide that were disturbed least, their lower quartile, and the number
//! that was found is kept eighty times as long. Then comes the next trial: tables grow, and mixes change.
//!
//! More in flight must be worth it: each takes longer then, and those of all workers meet more often. So the least number is kept whose
//! transactions take at most three hundredths longer than those of the best, which is about what quartiles err by. A number that is far worse than one is found out early, and
//! tried no longer, because trying it is what is lost: where nothing but one will do, less than a hundredth.
//!
//! Workers do not agree on a number, and need not: what one does to the others is in what they measure.

use crate::facade::clock::{self, Ticks};
use crate::facade::cpu;
use contract::InFlight;

/// Numbers of a trial, at most: the powers of two up to [`MOST_TRIED`].
const NUMBERS: usize = MOST_TRIED.ilog2() as usize + 1;
/// The most in flight that are tried.
pub(crate) const MOST_TRIED: usize = 8;
/// Windows of each number in a trial.
const ROUNDS: usize = 9;
/// After so many rounds what is far worse is tried no longer.
const ROUNDS_OF_THE_WORST: usize = 3;
/// How much longer transactions take with a number that is far worse than one, in hundredths.
const FAR_WORSE: u64 = 125;
/// How long they may take, in hundredths of what they take with the best number, with one that is lower.
const WORTH: u64 = 103;
/// Windows' lengths for which the number found is kept: eighty times those of a trial of four numbers.
const KEPT: u64 = 80 * (NUMBERS * ROUNDS) as u64;

/// Transactions of a window; many times as many as are in flight, and so many that one which takes ten times as long as others does not decide.
fn window() -> u64 {
    4 * cpu::transactions_between_looks()
}

/// See the module.
pub(super) struct Admission {
    admitted: usize,
    /// If it is to be found out.
    finding: Option<Finding>,
}

/// Where a worker is in finding out.
struct Finding {
    most: usize,
    /// Transactions until the next step.
    left: u64,
    step: Step,
}

enum Step {
    /// Those that began before the number changed end.
    Settles(Trial),
    /// A window, which began then.
    Measures(Trial, Ticks),
    /// The number found is kept.
    Keeps,
}

impl Admission {
    /// As the options say, of so many fibers.
    pub fn new(in_flight: InFlight, most: usize) -> Self {
        let finding = (in_flight == InFlight::Auto && most > 1).then(|| Finding::begin(most));
        Admission { admitted: if finding.is_some() { 1 } else { most }, finding }
    }

    /// The first so many.
    #[inline(always)]
    pub fn admitted(&self) -> usize {
        self.admitted
    }

    /// A transaction has ended; how many were admitted when it did, if that is to be found out.
    #[inline(always)]
    pub fn has_ended(&mut self) -> Option<usize> {
        let finding = self.finding.as_mut()?;
        let admitted = self.admitted;
        finding.left -= 1;
        if finding.left == 0 {
            self.admitted = finding.go_on(admitted);
        }
        Some(admitted)
    }
}

impl Finding {
    fn begin(most: usize) -> Finding {
        Finding { most, left: most as u64, step: Step::Settles(Trial::new(most)) }
    }

    /// The next step, and how many are admitted from now on.
    #[cold]
    fn go_on(&mut self, admitted: usize) -> usize {
        let now = clock::now();
        let (step, left, admitted) = match std::mem::replace(&mut self.step, Step::Keeps) {
            Step::Settles(trial) => (Step::Measures(trial, now), window(), admitted),
            Step::Measures(mut trial, since) => match trial.measured(now.since(since)) {
                Next::Try(number) => (Step::Settles(trial), 2 * self.most as u64, number),
                Next::Keep(number) => (Step::Keeps, KEPT * window(), number),
            },
            Step::Keeps => {
                *self = Self::begin(self.most);
                return 1;
            }
        };
        (self.step, self.left) = (step, left);
        admitted
    }
}

/// What a trial wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// A window with so many.
    Try(usize),
    /// It is over, and has found this number.
    Keep(usize),
}

/// A trial of several numbers, one first. It is in place: the next one begins within the measured loop.
struct Trial {
    numbers: [Tried; NUMBERS],
    /// The first so many are still tried.
    tried: usize,
    /// Of which a window is next, or runs.
    position: usize,
    /// Rounds that are over.
    rounds: usize,
}

/// A number, and how long its windows took.
#[derive(Clone, Copy)]
struct Tried {
    number: usize,
    took: [u64; ROUNDS],
}

impl Tried {
    /// The lower quartile of the first so many windows.
    fn quartile(&self, rounds: usize) -> u64 {
        let mut times = self.took;
        let times = &mut times[..rounds];
        times.sort_unstable();
        times[rounds / 4]
    }
}

impl Trial {
    /// Of the powers of two up to `most`. The first window is one of one.
    fn new(most: usize) -> Trial {
        let numbers = std::array::from_fn(|power| Tried { number: 1 << power, took: [0; ROUNDS] });
        let tried = numbers.iter().filter(|tried| tried.number <= most).count();
        Trial { numbers, tried, position: 0, rounds: 0 }
    }

    /// The window that ran took so long.
    fn measured(&mut self, ticks: u64) -> Next {
        self.numbers[self.position].took[self.rounds] = ticks;
        self.position += 1;
        if self.position < self.tried {
            return Next::Try(self.numbers[self.position].number);
        }
        self.position = 0;
        self.rounds += 1;
        if self.rounds == ROUNDS_OF_THE_WORST {
            self.drop_the_worst();
        }
        if self.rounds < ROUNDS && self.tried > 1 {
            return Next::Try(1);
        }
        let quartiles =
            self.numbers[..self.tried].iter().map(|tried| (tried.number, tried.quartile(self.rounds)));
        let least = quartiles.clone().map(|(_, took)| took).min().expect("one is tried");
        let (number, _) =
            { quartiles }.find(|(_, took)| took * 100 <= least * WORTH).expect("the least one is");
        Next::Keep(number)
    }

    /// Tries what is far worse than one no longer.
    fn drop_the_worst(&mut self) {
        let (one, mut kept) = (self.numbers[0].quartile(self.rounds), 0);
        for position in 0..self.tried {
            let tried = self.numbers[position];
            if tried.number == 1 || tried.quartile(self.rounds) * 100 <= one * FAR_WORSE {
                self.numbers[kept] = tried;
                kept += 1;
            }
        }
        self.tried = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a trial finds, and how many windows it had, if one with `number` in flight takes as long as `took` says, and each is disturbed.
    fn found(most: usize, took: impl Fn(usize) -> u64) -> (usize, usize) {
        let mut random = fastrand::Rng::with_seed(1);
        let (mut trial, mut number, mut windows) = (Trial::new(most), 1, 0);
        loop {
            windows += 1;
            let disturbance = match random.u64(0..3) {
                0 => 100_000,
                _ => random.u64(0..20),
            };
            match trial.measured(took(number) + disturbance) {
                Next::Try(next) => number = next,
                Next::Keep(number) => return (number, windows),
            }
        }
    }

    #[test]
    fn what_takes_least_is_kept() {
        assert_eq!(found(8, |number| 8_000 / number as u64).0, 8);
        assert_eq!(found(8, |number| [0, 2_000, 1_700, 0, 1_000, 0, 0, 0, 1_100][number]).0, 4);
        assert_eq!(found(8, |number| [0, 2_000, 1_700, 0, 1_000, 0, 0, 0, 990][number]).0, 4);
        assert_eq!(found(3, |number| 8_000 / number as u64).0, 2);
    }

    #[test]
    fn one_is_kept_unless_more_are_worth_it() {
        assert_eq!(found(8, |_| 10_000).0, 1);
        assert_eq!(found(8, |number| 10_000 - 20 * number as u64).0, 1);
        assert_eq!(found(8, |number| 10_000 + 100 * number as u64).0, 1);
    }

    #[test]
    fn what_is_far_worse_is_found_out_early() {
        let (number, windows) = found(8, |number| 5_000 * number as u64);
        assert_eq!((number, windows), (1, 4 * ROUNDS_OF_THE_WORST));
    }

    #[test]
    fn a_number_that_was_told_is_kept() {
        let mut admission = Admission::new(InFlight::Told(5), 5);
        assert!((0..100_000).all(|_| admission.has_ended().is_none()));
        assert_eq!(admission.admitted(), 5);
    }
}
