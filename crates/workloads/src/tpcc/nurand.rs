//! Numbers that are not uniform (clause 2.1.6): `NURand(A, x, y) = ((rnd(0..=A) | rnd(x..=y)) + C) % (y - x + 1) + x`.
//!
//! C is a constant, one for each A. The one for last names is another for loading than for a run: the two must differ by 65 to
//! 119, but not by 96 nor by 112 (clause 2.1.6.1), so that what is asked for often is not what is there often. A run's
//! constants follow from its seed, and are the same for all its clients.
//!
//! The standard chooses A by the size of the range: 255 for 1,000 last names, 1,023 for 3,000 customers, 8,191 for 100,000 items.
//! Of a smaller range ([`super::scale`]) A is halved as often as the range, so that it is as uneven, up to a factor of two.

use super::names::LAST_NAMES;
use super::{CUSTOMERS, ITEMS, Scale};
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

/// What is drawn unevenly, with the constants C of a run, or of loading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uneven {
    last: Range,
    customer: Range,
    item: Range,
}

/// Numbers of a range, drawn unevenly: `least`, and `count - 1` more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    a: u32,
    least: u32,
    count: u32,
    c: u32,
}

impl Uneven {
    /// For loading, which draws last names only, and only where there are more customers than names.
    pub const LOAD: Uneven = Uneven {
        last: Range { a: A_LAST, least: 0, count: LAST_NAMES, c: C_LOAD_LAST },
        customer: Range { a: A_CUSTOMER, least: 1, count: CUSTOMERS, c: 0 },
        item: Range { a: A_ITEM, least: 1, count: ITEMS, c: 0 },
    };

    /// For a run with this seed.
    pub fn of_run(scale: Scale, seed: u64) -> Self {
        let random = mix(mix(seed) ^ 0x7063_635f_7275_6e00);
        let allowed = || (0..=A_LAST).filter(|last| is_allowed(*last));
        let nth = (random % allowed().count() as u64) as usize;
        let last = allowed().nth(nth).expect("below their number");
        Uneven {
            last: Uneven::LOAD.last.with(last).of(scale.last_names()),
            customer: Uneven::LOAD.customer.with((random >> 20) as u32 & A_CUSTOMER).of(scale.customers()),
            item: Uneven::LOAD.item.with((random >> 40) as u32 & A_ITEM).of(scale.items()),
        }
    }

    /// The number of a last name, 0 to 999.
    #[inline]
    pub fn last_name(&self, rng: &mut Rng) -> u32 {
        self.last.draw(rng)
    }

    /// A customer of a district.
    #[inline]
    pub fn customer(&self, rng: &mut Rng) -> u32 {
        self.customer.draw(rng)
    }

    /// An item.
    #[inline]
    pub fn item(&self, rng: &mut Rng) -> u32 {
        self.item.draw(rng)
    }
}

impl Range {
    fn with(self, c: u32) -> Self {
        Range { c, ..self }
    }

    /// The first `count` numbers of it. A is halved as often as the range is, and C with it.
    fn of(self, count: u32) -> Self {
        let a = self.a >> (self.count / count).ilog2();
        Range { a, least: self.least, count, c: self.c & a }
    }

    #[inline]
    fn draw(&self, rng: &mut Rng) -> u32 {
        let Range { a, least, count, c } = *self;
        ((rng.u32(0..=a) | rng.u32(least..=least + count - 1)) + c) % count + least
    }
}

/// Whether a run may have this constant for last names.
fn is_allowed(last: u32) -> bool {
    let delta = last.abs_diff(C_LOAD_LAST);
    (65..=119).contains(&delta) && delta != 96 && delta != 112
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_run_has_constants_that_the_standard_allows() {
        let of_run = |seed| Uneven::of_run(Scale::STANDARD, seed);
        let runs: Vec<Uneven> = (0..2000).map(of_run).collect();
        for run in &runs {
            let delta = run.last.c.abs_diff(C_LOAD_LAST);
            assert!((65..=119).contains(&delta) && ![96, 112].contains(&delta), "{run:?}");
            assert!(run.last.c <= 255 && run.customer.c <= 1023 && run.item.c <= 8191, "{run:?}");
        }
        let lasts: HashSet<u32> = runs.iter().map(|run| run.last.c).collect();
        assert_eq!(lasts.len(), (0..=255).filter(|last| is_allowed(*last)).count(), "all that are allowed");
        assert_eq!(of_run(7), of_run(7));
    }

    #[test]
    fn a_smaller_range_is_as_uneven() {
        for (items, a) in [(100_000, 8_191), (50_001, 8_191), (50_000, 4_095), (10_000, 1_023), (10, 0)] {
            let range = Uneven::LOAD.item.with(8_191).of(items);
            assert_eq!(range, Range { a, least: 1, count: items, c: a }, "{items}");
        }
    }

    /// Counts against the distribution worked out from all pairs of the two draws.
    fn check(range: Range) {
        let Range { a, least, count, c } = range;
        let (most, span) = (least + count - 1, count as usize);
        let mut weights = vec![0u64; span];
        for one in 0..=a {
            for other in least..=most {
                weights[(((one | other) + c) % span as u32) as usize] += 1;
            }
        }
        let (draws, mut counts, mut rng) = (1_000_000, vec![0u64; span], Rng::with_seed(3));
        for _ in 0..draws {
            counts[(range.draw(&mut rng) - least) as usize] += 1;
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
        let run = Uneven::of_run(Scale::STANDARD, 11);
        for range in [run.last, run.customer, Uneven::LOAD.last, run.customer.of(300), run.last.of(77)] {
            check(range);
        }
    }

    #[test]
    fn items_are_drawn_from_the_whole_range_but_not_evenly() {
        let (run, mut rng) = (Uneven::of_run(Scale::STANDARD, 11), Rng::with_seed(5));
        let mut counts = vec![0u32; 100_001];
        (0..1_000_000).for_each(|_| counts[run.item(&mut rng) as usize] += 1);
        assert_eq!(counts[0], 0);
        let often = counts.iter().filter(|count| **count >= 100).count();
        assert!(
            (50..5000).contains(&often),
            "{often} items were drawn ten times as often as the mean, and more"
        );
    }
}
