//! What is claimed of a number: ends that it keeps, or the paper's own number and how far from it is still the same.

use super::measure::Range;
use super::outcome::{Outcome, Sure};
use serde::Serialize;
use std::fmt;

/// How far from [`Bounds::about`] is still the same, if the file does not say.
pub(super) const WITHIN: f64 = 0.25;

/// What is claimed of a number: `about`, or else at least one of the ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Bounds {
    /// It is not below this.
    pub at_least: Option<f64>,
    /// It is not above this.
    pub at_most: Option<f64>,
    /// It is this.
    pub about: Option<f64>,
    /// As a part of `about`: farther from it is another number.
    pub within: Option<f64>,
}

/// Which side of 1 a ratio is claimed to be on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Above,
    Below,
}

impl Side {
    pub(super) fn has(self, ratio: Range) -> Sure {
        match self {
            Side::Above => Sure::of(ratio.low > 1.0, ratio.high <= 1.0),
            Side::Below => Sure::of(ratio.high < 1.0, ratio.low >= 1.0),
        }
    }
}

impl Bounds {
    fn within(&self) -> f64 {
        self.within.unwrap_or(WITHIN)
    }

    fn ends(&self) -> (f64, f64) {
        match self.about {
            Some(about) => (about * (1.0 - self.within()), about * (1.0 + self.within())),
            None => (self.at_least.unwrap_or(0.0), self.at_most.unwrap_or(f64::INFINITY)),
        }
    }

    /// Whether they say how much something is, and not only on which side of a number.
    pub(super) fn have_two_ends(&self) -> bool {
        self.about.is_some() || (self.at_least.is_some() && self.at_most.is_some())
    }

    /// Whether `range` keeps them.
    pub(super) fn keep(&self, range: Range) -> Sure {
        let (least, most) = self.ends();
        Sure::of(range.low >= least && range.high <= most, range.high < least || range.low > most)
    }

    /// The side of 1 that they lie on: what is left of a claimed ratio without its size. `at_least = 1` has no size.
    pub(super) fn side(&self) -> Option<Side> {
        let lower = self.about.or(self.at_least).filter(|&lower| lower > 1.0);
        let upper = self.about.or(self.at_most).filter(|&upper| upper < 1.0);
        lower.map(|_| Side::Above).or(upper.map(|_| Side::Below))
    }

    /// Of a number that is no ratio.
    pub(super) fn of_value(&self, value: Range) -> Outcome {
        Outcome::of(self.keep(value), None)
    }

    /// Of a ratio.
    pub(super) fn of_ratio(&self, ratio: Range) -> Outcome {
        Outcome::of(self.keep(ratio), self.side().map(|side| side.has(ratio)))
    }

    /// Of a ratio that is divided by how many times as many there are, of workers say. What is claimed to grow may grow
    /// at all, if less than claimed; what is claimed to stay behind may do so at all.
    pub(super) fn of_growth(&self, ratio: Range, times: f64) -> Outcome {
        let by_each = ratio.divided(times);
        let direction = match (self.about.or(self.at_least), self.side()) {
            (Some(_), _) => Some(Side::Above.has(ratio)),
            (None, side) => side.map(|side| side.has(by_each)),
        };
        Outcome::of(self.keep(by_each), direction)
    }

    /// The more, the better for the claim.
    pub(super) fn favour(&self, value: f64) -> f64 {
        match (self.about, self.at_least) {
            (Some(about), _) => -(value / about).ln().abs(),
            (None, Some(_)) => value,
            (None, None) => -value,
        }
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.about, self.at_least, self.at_most) {
            (Some(about), _, _) => {
                write!(f, "about {about}, within {} %", (self.within() * 1e4).round() / 1e2)
            }
            (_, Some(least), Some(most)) => write!(f, "{least} to {most}"),
            (_, Some(least), None) => write!(f, "at least {least}"),
            (_, None, Some(most)) => write!(f, "at most {most}"),
            (_, None, None) => f.write_str("anything"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::claims::Verdict;

    fn range(low: f64, high: f64) -> Range {
        Range { low, median: (low + high) / 2.0, high }
    }

    fn about(about: f64) -> Bounds {
        Bounds { about: Some(about), ..Bounds::default() }
    }

    #[test]
    fn a_ratio_may_keep_its_direction_alone() {
        use Verdict::{CannotBeTold, DirectionOnly, NotReproduced, Reproduced};
        let least = |least| Bounds { at_least: Some(least), ..Bounds::default() };
        let most = |most| Bounds { at_most: Some(most), ..Bounds::default() };
        let cases = [
            (about(7.0), range(6.0, 8.0), Reproduced),
            (about(7.0), range(2.0, 3.0), DirectionOnly),
            (about(7.0), range(12.0, 13.0), DirectionOnly),
            (about(7.0), range(0.8, 0.9), NotReproduced),
            (about(7.0), range(5.0, 8.0), CannotBeTold),
            (about(0.5), range(0.7, 0.8), DirectionOnly),
            (about(0.5), range(1.1, 1.2), NotReproduced),
            (about(1.0), range(0.9, 1.1), Reproduced),
            (about(1.0), range(1.5, 1.6), NotReproduced),
            (least(2.0), range(1.5, 1.6), DirectionOnly),
            (least(2.0), range(0.9, 1.1), CannotBeTold),
            (least(1.0), range(0.7, 0.8), NotReproduced),
            (most(0.5), range(0.7, 0.8), DirectionOnly),
            (most(2.0), range(2.5, 2.6), NotReproduced),
        ];
        for (bounds, ratio, verdict) in cases {
            assert_eq!(bounds.of_ratio(ratio).verdict(), verdict, "{bounds}: {ratio:?}");
        }
        assert_eq!(about(5000.0).of_value(range(6000.0, 7000.0)).verdict(), CannotBeTold);
        assert_eq!(about(5000.0).of_value(range(6500.0, 7000.0)).verdict(), NotReproduced);
        let close = Bounds { within: Some(0.1), ..about(7.0) };
        assert_eq!(close.of_ratio(range(6.0, 6.2)).verdict(), DirectionOnly);
        assert_eq!(close.to_string(), "about 7, within 10 %");
    }

    #[test]
    fn growth_is_by_each_worker() {
        let scales = Bounds { at_least: Some(0.8), ..Bounds::default() };
        let of = |bounds: Bounds, low, high| bounds.of_growth(range(low, high), 72.0).verdict();
        assert_eq!(of(scales, 60.0, 70.0), Verdict::Reproduced);
        assert_eq!(of(scales, 20.0, 30.0), Verdict::DirectionOnly);
        assert_eq!(of(scales, 0.5, 0.9), Verdict::NotReproduced);
        let does_not = Bounds { at_most: Some(0.1), ..Bounds::default() };
        assert_eq!(of(does_not, 2.0, 3.0), Verdict::Reproduced);
        assert_eq!(of(does_not, 20.0, 30.0), Verdict::DirectionOnly);
        assert_eq!(of(does_not, 72.5, 73.0), Verdict::NotReproduced);
    }
}
