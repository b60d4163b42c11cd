//! A number that was measured in several rounds, by turns with others.
//!
//! What is measured once says nothing of how steady the machine is, and two numbers that were measured one after the other
//! may be of two machines: a hypervisor moves its cores, a clock rate falls. So everything that is compared is measured once
//! in each round, ratios are taken within a round, and the median stands with the lowest and the highest.

use serde::Serialize;

/// A number of several rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fact {
    /// Of all rounds.
    pub median: f64,
    /// The lowest round.
    pub low: f64,
    /// The highest round.
    pub high: f64,
    /// Rounds.
    pub rounds: usize,
    /// Of these, the rounds that were off the median by more than [`Fact::STEADY`].
    pub off: usize,
}

impl Fact {
    /// Rounds that are off the median by no more than this factor agree with it.
    pub const STEADY: f64 = 1.25;

    /// Of the rounds' numbers, which are above 0; `None` if there are none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Fact> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (&low, &high) = (values.first()?, values.last()?);
        let upper = values.len() / 2;
        let median =
            if values.len() % 2 == 1 { values[upper] } else { (values[upper - 1] + values[upper]) / 2.0 };
        let is_off = |value: &&f64| factor(**value, median) > Fact::STEADY;
        Some(Fact { median, low, high, rounds: values.len(), off: values.iter().filter(is_off).count() })
    }

    /// Whether hardly more than one round in five was off the median: single rounds are disturbed on every machine.
    pub fn is_steady(&self) -> bool {
        self.off * 5 <= self.rounds + 1
    }

    /// From the lowest to the highest, as a factor.
    pub fn spread(&self) -> f64 {
        factor(self.high, self.low)
    }
}

/// How far two numbers above 0 are apart, as a factor of at least 1.
pub fn factor(one: f64, other: f64) -> f64 {
    (one / other).max(other / one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_is_the_median_with_its_ends() {
        let fact = Fact::of([3.0, 1.0, 2.0]).expect("three rounds");
        assert_eq!((fact.low, fact.median, fact.high, fact.rounds), (1.0, 2.0, 3.0, 3));
        assert_eq!(fact.spread(), 3.0);
        assert_eq!(Fact::of([4.0, 2.0]).map(|fact| fact.median), Some(3.0));
        assert_eq!(Fact::of([]), None);
    }

    #[test]
    fn one_disturbed_round_is_no_disagreement_and_two_machines_are() {
        let rounds = |values: [f64; 7]| Fact::of(values).expect("seven rounds");
        assert!(rounds([113.0, 112.0, 110.0, 451.0, 114.0, 113.0, 113.0]).is_steady());
        assert!(!rounds([113.0, 112.0, 110.0, 451.0, 455.0, 113.0, 113.0]).is_steady());
        assert!(!rounds([451.0, 451.0, 450.0, 452.0, 113.0, 113.0, 113.0]).is_steady());
    }
}
