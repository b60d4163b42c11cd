//! Numbers that are not uniform (clause 2.1.6): `NURand(A, x, y) = ((rnd(0..=A) | rnd(x..=y)) + C) % (y - x + 1) + x`.
//!
//! C is a constant, one for each A. The one for last names is another for loading than for a run: the two must differ by 65 to
//! 119, but not by 96 nor by 112 (clause 2.1.6.1), so that what is asked for often is not what is there often. A run's
//! constants follow from its seed, and are the same for all its clients.

use crate::random::mix;
use fastrand::Rng;

/// C of last names when the database is loaded.
pub const C_LOAD_LAST: u32 = 157;

/// A of last names.
const A_LAST: u32 = 255;
/// A of customers.
const A_CUSTOMER: u32 = 1_023;
/// A of items.
const A_ITEM: u32 = 8_191;

/// The constants C of a run, or of loading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    /// For last names: 0 to 255.
    pub last: u32,
    /// For customers: 0 to 1023.
    pub customer: u32,
    /// For items: 0 to 8191.
    pub item: u32,
}

impl Constants {
    /// For loading, which draws last names only.
    pub const LOAD: Constants = Constants { last: C_LOAD_LAST, customer: 0, item: 0 };

    /// For a run with this seed.
    pub fn of_run(seed: u64) -> Self {
        let random = mix(mix(seed) ^ 0x7063_635f_7275_6e00);
        let allowed = || (0..=A_LAST).filter(|last| is_allowed(*last));
        let nth = (random % allowed().count() as u64) as usize;
        Constants {
            last: allowed().nth(nth).expect("below their number"),
            customer: (random >> 20) as u32 & A_CUSTOMER,
            item: (random >> 40) as u32 & A_ITEM,
        }
    }

    /// The number of a last name, 0 to 999.
    #[inline]
    pub fn last_name(&self, rng: &mut Rng) -> u32 {
        nurand(rng, A_LAST, 0, super::names::LAST_NAMES - 1, self.last)
    }

    /// A customer of a district.
    #[inline]
    pub fn customer(&self, rng: &mut Rng) -> u32 {
        nurand(rng, A_CUSTOMER, 1, super::CUSTOMERS, self.customer)
    }

    /// An item.
    #[inline]
    pub fn item(&self, rng: &mut Rng) -> u32 {
        nurand(rng, A_ITEM, 1, super::ITEMS, self.item)
    }
}

/// Whether a run may have this constant for last names.
fn is_allowed(last: u32) -> bool {
    let delta = last.abs_diff(C_LOAD_LAST);
    (65..=119).contains(&delta) && delta != 96 && delta != 112
}

/// A number from `least` to `most`.
#[inline]
fn nurand(rng: &mut Rng, a: u32, least: u32, most: u32, c: u32) -> u32 {
    ((rng.u32(0..=a) | rng.u32(least..=most)) + c) % (most - least + 1) + least
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_run_has_constants_that_the_standard_allows() {
        let runs: Vec<Constants> = (0..2000).map(Constants::of_run).collect();
        for run in &runs {
            let delta = run.last.abs_diff(C_LOAD_LAST);
            assert!((65..=119).contains(&delta) && ![96, 112].contains(&delta), "{run:?}");
            assert!(run.last <= 255 && run.customer <= 1023 && run.item <= 8191, "{run:?}");
        }
        let lasts: HashSet<u32> = runs.iter().map(|run| run.last).collect();
        assert_eq!(lasts.len(), (0..=255).filter(|last| is_allowed(*last)).count(), "all that are allowed");
        assert_eq!(Constants::of_run(7), Constants::of_run(7));
    }

    /// Counts against the distribution worked out from all pairs of the two draws.
    fn check(draw: impl Fn(&mut Rng) -> u32, a: u32, least: u32, most: u32, c: u32) {
        let span = (most - least + 1) as usize;
        let mut weights = vec![0u64; span];
        for one in 0..=a {
            for other in least..=most {
                weights[(((one | other) + c) % span as u32) as usize] += 1;
            }
        }
        let (draws, mut counts, mut rng) = (1_000_000, vec![0u64; span], Rng::with_seed(3));
        for _ in 0..draws {
            counts[(draw(&mut rng) - least) as usize] += 1;
        }
        let total = u64::from(a + 1) * span as u64;
        // The statistic has as many degrees of freedom as there are numbers; beyond six standard deviations is wrong.
        let expected = |weight: u64| weight as f64 * f64::from(draws) / total as f64;
        let possible = || weights.iter().zip(&counts).filter(|(weight, _)| **weight > 0);
        assert!(weights.iter().zip(&counts).all(|(weight, count)| *weight > 0 || *count == 0));
        let chi_square: f64 = possible()
            .map(|(weight, count)| (*count as f64 - expected(*weight)).powi(2) / expected(*weight))
            .sum();
        let freedom = possible().count() as f64 - 1.0;
        assert!((chi_square - freedom).abs() < 6.0 * (2.0 * freedom).sqrt(), "{chi_square} for {freedom}");
    }

    #[test]
    fn draws_follow_the_formula() {
        let constants = Constants::of_run(11);
        check(|rng| constants.last_name(rng), 255, 0, 999, constants.last);
        check(|rng| constants.customer(rng), 1023, 1, 3000, constants.customer);
        check(|rng| Constants::LOAD.last_name(rng), 255, 0, 999, C_LOAD_LAST);
    }

    #[test]
    fn items_are_drawn_from_the_whole_range_but_not_evenly() {
        let (constants, mut rng) = (Constants::of_run(11), Rng::with_seed(5));
        let mut counts = vec![0u32; 100_001];
        (0..1_000_000).for_each(|_| counts[constants.item(&mut rng) as usize] += 1);
        assert_eq!(counts[0], 0);
        let often = counts.iter().filter(|count| **count >= 100).count();
        assert!(
            (50..5000).contains(&often),
            "{often} items were drawn ten times as often as the mean, and more"
        );
    }
}
