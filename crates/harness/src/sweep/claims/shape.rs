//! What a line of a figure does from left to right: it rises, levels off, collapses.
//!
//! A line is a measure, or a ratio of two, at growing values of an axis. Every point is a range, from its slowest to its
//! fastest repetition, and each shape below says what must be so of the ranges, so that a step within the spread breaks
//! no shape and makes none. `within` is a part: what differs by less is the same.
//!
//! *The model's error.* Points that are simulated may be off, and a shape is asked twice: of the ranges as they are, and of the
//! ranges widened by the error ([`Doubt`]). Only what both say is told; where they disagree, it cannot be told. So wider
//! ranges make no shape easier to have, and none easier to miss:
//!
//! - *flat* cannot be told where the error exceeds `within`; nor can *levels off*, whose top nobody knows then;
//! - a step that goes the other way by more than the spread but less than the error leaves *rises* and *falls* open, if the
//!   ends differ by more than the error; a step that goes the claimed way is believed, however small: that a model could hide a
//!   turn between any two neighbours would leave no line of many points to be told, and the ends have to differ beyond it;
//! - *collapses* and *peaks* need the top to stand out by more than the error, *crosses* both sides to.
//!
//! Points of a line are compared with each other with the error along a line; a ratio with 1, and the height of a peak with
//! its bounds, by the error of the number itself.
//!
//! | shape | the whole claim | its direction alone |
//! |---|---|---|
//! | rises, falls | no point is behind an earlier one, and the ends differ | the ends differ as claimed |
//! | flat | all points are the same | |
//! | levels off | it has reached the top by a point of `between`, before the last one, and stays there | elsewhere |
//! | collapses | the last point has at most `to_at_most` of the top | it has less than the top |
//! | peaks | the top lies in `between`, at neither end, and keeps the bounds | it lies at neither end |
//! | crosses | a ratio passes 1 once, between two points of `between`, and `ends` ahead or behind | elsewhere |
//!
//! What is less than the direction is not reproduced.

use super::Bounds;
use super::bounds::Side;
use super::measure::Range;
use super::outcome::{Outcome, Sure};
use super::trust::Doubt;
use crate::text::numbers::short;
use std::fmt;

/// What a claimed shape is, if the file does not say.
pub(super) const WITHIN: f64 = 0.1;
pub(super) const TO_AT_MOST: f64 = 0.5;

/// A shape that is claimed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Shape {
    Rises { within: f64 },
    Falls { within: f64 },
    Flat { within: f64 },
    LevelsOff { within: f64, between: Option<Between> },
    Collapses { to_at_most: f64 },
    Peaks { between: Option<Between>, top: Option<Bounds> },
    Crosses { ends: End, between: Option<Between> },
}

/// From where to where on the axis, both included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Between {
    pub(super) from: f64,
    pub(super) to: f64,
}

/// Which side of 1 a ratio ends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Ahead,
    Behind,
}

/// A point of a line: its value on the axis, and its range.
pub(super) type Point = (f64, Range);

impl Between {
    fn has(&self, x: f64) -> bool {
        self.from <= x && x <= self.to
    }

    /// Whether something that lies somewhere from `first` to `last` lies here.
    fn holds(between: Option<Between>, first: f64, last: f64) -> Sure {
        let Some(between) = between else { return Sure::Yes };
        let outside = last < between.from || first > between.to;
        Sure::of(between.has(first) && between.has(last), outside)
    }
}

impl Shape {
    /// The file's word for it.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Shape::Rises { .. } => "rises",
            Shape::Falls { .. } => "falls",
            Shape::Flat { .. } => "flat",
            Shape::LevelsOff { .. } => "levels off",
            Shape::Collapses { .. } => "collapses",
            Shape::Peaks { .. } => "peaks",
            Shape::Crosses { .. } => "crosses",
        }
    }

    pub(super) fn between(&self) -> Option<Between> {
        match *self {
            Shape::LevelsOff { between, .. }
            | Shape::Peaks { between, .. }
            | Shape::Crosses { between, .. } => between,
            Shape::Rises { .. } | Shape::Falls { .. } | Shape::Flat { .. } | Shape::Collapses { .. } => None,
        }
    }

    /// With fewer points no line has it.
    pub(super) fn fewest_points(&self) -> usize {
        match self {
            Shape::LevelsOff { .. } | Shape::Peaks { .. } => 3,
            _ => 2,
        }
    }

    /// Whether it is of the line's points, compared with each other; else it compares each with 1.
    pub(super) fn compares_points(&self) -> bool {
        !matches!(self, Shape::Crosses { .. })
    }

    /// What comes of it on `line`, whose points stand from left to right and may be off as `doubt` says, and what was found,
    /// in words.
    pub(super) fn on(&self, line: &[Point], doubt: Doubt) -> (Outcome, String) {
        assert!(line.len() >= self.fewest_points() && line.is_sorted_by(|one, next| one.0 < next.0));
        let (as_they_are, found) = self.of(line, line);
        let (widened, _) = self.of(&widened(line, doubt.among), &widened(line, doubt.itself));
        (as_they_are.or(widened), found)
    }

    /// `line` has the ranges to be compared with each other, `numbers` the same ones to be compared with a number.
    fn of(&self, line: &[Point], numbers: &[Point]) -> (Outcome, String) {
        match *self {
            Shape::Rises { within } => goes(line, within, |range| range),
            Shape::Falls { within } => goes(line, within, upside_down),
            Shape::Flat { within } => flat(line, within),
            Shape::LevelsOff { within, between } => levels_off(line, within, between),
            Shape::Collapses { to_at_most } => collapses(line, to_at_most),
            Shape::Peaks { between, top: bounds } => peaks(line, between, bounds, top(numbers)),
            Shape::Crosses { ends, between } => crosses(numbers, ends, between),
        }
    }
}

fn widened(line: &[Point], factor: f64) -> Vec<Point> {
    line.iter().map(|(at, range)| (*at, range.widened(factor))).collect()
}

fn upside_down(range: Range) -> Range {
    Range { low: -range.high, median: -range.median, high: -range.low }
}

/// `up` turns a line that is claimed to fall into one that is claimed to rise.
fn goes(line: &[Point], within: f64, up: fn(Range) -> Range) -> (Outcome, String) {
    let slack = |range: Range| within * range.high.abs();
    let against = |one: Range, later: Range| up(later).high + slack(up(one)) < up(one).low;
    // Many small steps back are a large one: each point is held against all before it.
    let back = (0..line.len()).flat_map(|later| (0..later).map(move |one| [one, later]));
    let turn = back.map(|two| two.map(|at| line[at])).find(|[one, later]| against(one.1, later.1));
    let (first, last) = (up(line[0].1), up(line[line.len() - 1].1));
    let margin = slack(first).min(slack(last));
    let ends = Sure::of(last.low > first.high + margin, last.high < first.low + margin);
    let found = match turn {
        Some([one, later]) => format!("it turns between {} and {}", one.0, later.0),
        None => "no step goes the other way".to_owned(),
    };
    let whole = ends.and(if turn.is_none() { Sure::Yes } else { Sure::No });
    (Outcome::of(whole, Some(ends)), found)
}

fn flat(line: &[Point], within: f64) -> (Outcome, String) {
    let most =
        |of: fn(&Range) -> f64| line.iter().map(|(_, range)| of(range)).fold(f64::NEG_INFINITY, f64::max);
    let least = |of: fn(&Range) -> f64| line.iter().map(|(_, range)| of(range)).fold(f64::INFINITY, f64::min);
    let yes = most(|range| range.high) <= least(|range| range.low) * (1.0 + within);
    let no = most(|range| range.low) > least(|range| range.high) * (1.0 + within);
    let found = format!("the highest is {} of the lowest", part(most(|r| r.median), least(|r| r.median)));
    (Outcome::of(Sure::of(yes, no), None), found)
}

/// The highest point of `line`, each end by itself.
pub(super) fn top(line: &[Point]) -> Range {
    let most =
        |of: fn(&Range) -> f64| line.iter().map(|(_, range)| of(range)).fold(f64::NEG_INFINITY, f64::max);
    Range { low: most(|range| range.low), median: most(|range| range.median), high: most(|range| range.high) }
}

fn levels_off(line: &[Point], within: f64, between: Option<Between>) -> (Outcome, String) {
    let (top, last) = (top(line), line.len() - 1);
    let below = |range: &Range| range.high < top.low * (1.0 - within);
    let up_there = |range: &Range| range.low >= top.high * (1.0 - within);
    let early = line.iter().position(|(_, range)| !below(range)).expect("one point is the top");
    // Where the spread is wider than `within`, no point is certainly up there.
    let late = line.iter().position(|(_, range)| up_there(range)).unwrap_or(last).max(early);
    let falls_again = line[late..].iter().any(|(_, range)| below(range));
    let somewhere = Sure::of(early > 0, early == 0 && up_there(&line[0].1))
        .and(Sure::of(late < last, early == last))
        .and(if falls_again { Sure::No } else { Sure::Yes });
    let whole = somewhere.and(Between::holds(between, line[early].0, line[late].0));
    let found = match (early, late) {
        _ if falls_again => format!("it falls again after {}", line[late].0),
        (0, _) => "it does not rise".to_owned(),
        (early, _) if early == last => "it still rises at the end".to_owned(),
        (early, late) if early == late => format!("level from {} on", line[early].0),
        (early, late) => format!("level from somewhere between {} and {} on", line[early].0, line[late].0),
    };
    (Outcome::of(whole, Some(somewhere)), found)
}

fn collapses(line: &[Point], to_at_most: f64) -> (Outcome, String) {
    let (_, last) = line[line.len() - 1];
    let &(at, peak) =
        line.iter().max_by(|a, b| a.1.median.total_cmp(&b.1.median)).expect("two points at least");
    let whole = Sure::of(last.high <= to_at_most * peak.low, last.low > to_at_most * top(line).high);
    let earlier = &line[..line.len() - 1];
    let direction = Sure::of(last.high < peak.low, earlier.iter().all(|(_, range)| range.high <= last.low));
    let found = format!("the last point has {} of the top, at {at}", part(last.median, peak.median));
    (Outcome::of(whole, Some(direction)), found)
}

fn peaks(
    line: &[Point],
    between: Option<Between>,
    bounds: Option<Bounds>,
    height: Range,
) -> (Outcome, String) {
    let (top, last) = (top(line), line.len() - 1);
    let mut highest = line.iter().enumerate().filter(|(_, (_, range))| range.high >= top.low).map(|(n, _)| n);
    let first_of_them = highest.next().expect("one point is the top");
    let last_of_them = highest.next_back().unwrap_or(first_of_them);
    let inside =
        Sure::of(first_of_them > 0 && last_of_them < last, first_of_them == last || last_of_them == 0);
    let whole = inside
        .and(Between::holds(between, line[first_of_them].0, line[last_of_them].0))
        .and(bounds.map_or(Sure::Yes, |bounds| bounds.keep(height)));
    let (at, height) = (line.iter().find(|(_, range)| range.median == top.median), short(top.median));
    let at = at.expect("one point has the highest median").0;
    let found = match (first_of_them, last_of_them) {
        (one, other) if one == other => format!("the top is {height}, at {at}"),
        (one, other) => {
            let (from, to) = (line[one].0, line[other].0);
            format!("the top is {height}, at {at} or, by the spread, anywhere between {from} and {to}")
        }
    };
    (Outcome::of(whole, Some(inside)), found)
}

fn crosses(line: &[Point], ends: End, between: Option<Between>) -> (Outcome, String) {
    let (before, after) = match ends {
        End::Ahead => (Side::Below, Side::Above),
        End::Behind => (Side::Above, Side::Below),
    };
    let before = |range: &Range| before.has(*range) == Sure::Yes;
    let after = |range: &Range| after.has(*range) == Sure::Yes;
    let sure = |sure: Sure, found: String| (Outcome::of(sure, Some(sure)), found);
    let Some(from) = line.iter().rposition(|(_, range)| before(range)) else {
        return match line.iter().all(|(_, range)| after(range)) {
            true => sure(Sure::No, "it is on one side from the beginning".to_owned()),
            false => sure(Sure::Unclear, "no point is certainly on the side where it begins".to_owned()),
        };
    };
    if from + 1 == line.len() {
        return sure(Sure::No, "it ends on the other side".to_owned());
    }
    if line[..from].iter().any(|(_, range)| after(range)) {
        return sure(Sure::No, format!("it crosses back before {}", line[from].0));
    }
    let Some(to) = line[from..].iter().position(|(_, range)| after(range)).map(|steps| from + steps) else {
        return sure(Sure::Unclear, format!("after {} no point is certainly on either side", line[from].0));
    };
    let (from, to) = (line[from].0, line[to].0);
    // It is across before `to`, and not yet at `from`.
    let place = match between {
        Some(between) if to <= between.from || from >= between.to => Sure::No,
        between => Between::holds(between, from, to),
    };
    let (last_at, last) = line[line.len() - 1];
    let (stays, lost) = match after(&last) {
        true => (Sure::Yes, String::new()),
        false => (Sure::Unclear, format!("; at {last_at} no longer for certain")),
    };
    (Outcome::of(place.and(stays), Some(stays)), format!("it crosses between {from} and {to}{lost}"))
}

/// `of` a `whole`, for people.
fn part(of: f64, whole: f64) -> String {
    if whole == 0.0 { "any part".to_owned() } else { crate::text::numbers::percent(of / whole) }
}

impl fmt::Display for Between {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " between {} and {}", self.from, self.to)
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            End::Ahead => "ahead",
            End::Behind => "behind",
        })
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        if let Shape::Flat { within } = self {
            write!(f, " within {}", crate::text::numbers::percent(*within))?;
        }
        if let Shape::Collapses { to_at_most } = self {
            write!(f, " to at most {to_at_most} of the top")?;
        }
        if let Shape::Crosses { ends, .. } = self {
            write!(f, " and ends {ends}")?;
        }
        if let Some(between) = self.between() {
            write!(f, "{between}")?;
        }
        match self {
            Shape::Peaks { top: Some(bounds), .. } => write!(f, " at {bounds}"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::claims::Verdict::{self, CannotBeTold, DirectionOnly, NotReproduced, Reproduced};

    const WORKERS: [f64; 8] = [1.0, 2.0, 4.0, 9.0, 18.0, 36.0, 54.0, 72.0];

    /// Points at so many workers, with `spread` about each as a part of it.
    fn line(values: &[f64], spread: f64) -> Vec<Point> {
        let range =
            |value: f64| Range { low: value * (1.0 - spread), median: value, high: value * (1.0 + spread) };
        WORKERS.iter().copied().zip(values.iter().map(|&value| range(value))).collect()
    }

    fn told(shape: Shape, values: &[f64], spread: f64) -> Verdict {
        shape.on(&line(values, spread), Doubt::NONE).0.verdict()
    }

    /// The same of a model that is off by `along` between any two points, and by `itself` at each.
    fn doubted(shape: Shape, values: &[f64], along: f64, itself: f64) -> Verdict {
        let doubt = Doubt { itself, among: along.sqrt(), asked: None };
        shape.on(&line(values, 0.01), doubt).0.verdict()
    }

    const BETWEEN: Option<Between> = Some(Between { from: 18.0, to: 54.0 });

    #[test]
    fn rising_and_falling() {
        let (rises, falls) = (Shape::Rises { within: 0.1 }, Shape::Falls { within: 0.1 });
        let cases: [(&[f64], f64, Verdict, Verdict); 8] = [
            (&[1.0, 2.0, 4.0], 0.02, Reproduced, NotReproduced),
            (&[4.0, 2.0, 1.0], 0.02, NotReproduced, Reproduced),
            (&[1.0, 4.0, 2.0], 0.02, DirectionOnly, NotReproduced),
            (&[1.0, 2.0, 1.95, 4.0], 0.02, Reproduced, NotReproduced),
            (&[1.0, 2.0, 1.6, 4.0], 0.2, Reproduced, NotReproduced),
            (&[1.0, 1.0, 1.05], 0.01, NotReproduced, NotReproduced),
            (&[1.0, 1.2], 0.2, CannotBeTold, CannotBeTold),
            (&[1.0, 0.94, 0.88, 0.82, 4.0], 0.01, DirectionOnly, NotReproduced),
        ];
        for (values, spread, up, down) in cases {
            assert_eq!(told(rises, values, spread), up, "{values:?}");
            assert_eq!(told(falls, values, spread), down, "{values:?}");
        }
    }

    #[test]
    fn staying_the_same() {
        let flat = Shape::Flat { within: 0.1 };
        assert_eq!(told(flat, &[1.0, 1.05, 0.98], 0.01), Reproduced);
        assert_eq!(told(flat, &[1.0, 1.3, 1.0], 0.01), NotReproduced);
        assert_eq!(told(flat, &[1.0, 1.05], 0.2), CannotBeTold);
        assert_eq!(told(flat, &[0.0, 0.0], 0.0), Reproduced, "nothing is as much as nothing");
    }

    #[test]
    fn levelling_off() {
        let shape = Shape::LevelsOff { within: 0.1, between: BETWEEN };
        assert_eq!(told(shape, &[1.0, 2.0, 4.0, 8.0, 15.0, 28.0, 28.5, 29.0], 0.01), Reproduced);
        assert_eq!(told(shape, &[1.0, 2.0, 4.0, 4.1, 4.1, 4.0, 4.1, 4.1], 0.01), DirectionOnly);
        assert_eq!(told(shape, &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 50.0, 66.0], 0.01), NotReproduced);
        assert_eq!(told(shape, &[1.0, 2.0, 4.0, 8.0, 15.0, 28.0, 28.5, 20.0], 0.01), NotReproduced);
        assert_eq!(told(shape, &[4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0], 0.01), NotReproduced);
        assert_eq!(told(shape, &[1.0, 2.0, 4.0, 8.0, 15.0, 28.0, 28.5, 29.0], 0.2), CannotBeTold);
    }

    #[test]
    fn collapsing() {
        let shape = Shape::Collapses { to_at_most: 0.5 };
        assert_eq!(told(shape, &[1.0, 4.0, 1.0], 0.05), Reproduced);
        assert_eq!(told(shape, &[1.0, 4.0, 3.0], 0.05), DirectionOnly);
        assert_eq!(told(shape, &[1.0, 2.0, 4.0], 0.05), NotReproduced);
        assert_eq!(told(shape, &[1.0, 4.0, 2.0], 0.05), CannotBeTold);
    }

    #[test]
    fn peaking() {
        let shape = |about| Shape::Peaks {
            between: BETWEEN,
            top: Some(Bounds { about: Some(about), ..Bounds::default() }),
        };
        let hill = [1.0, 2.0, 4.0, 8.0, 15.0, 28.0, 20.0, 15.0];
        assert_eq!(told(shape(30.0), &hill, 0.01), Reproduced);
        assert_eq!(told(shape(80.0), &hill, 0.01), DirectionOnly);
        assert_eq!(told(shape(30.0), &[1.0, 2.0, 28.0, 8.0, 7.0, 6.0, 5.0, 4.0], 0.01), DirectionOnly);
        assert_eq!(told(shape(30.0), &[1.0, 2.0, 4.0, 8.0, 15.0, 20.0, 25.0, 30.0], 0.01), NotReproduced);
        assert_eq!(told(shape(30.0), &[1.0, 2.0, 4.0, 8.0, 15.0, 25.0, 28.0, 27.0], 0.1), CannotBeTold);
    }

    #[test]
    fn crossing() {
        let shape = |ends| Shape::Crosses { ends, between: BETWEEN };
        let over = [0.3, 0.4, 0.5, 0.7, 0.9, 1.5, 3.0, 7.0];
        assert_eq!(told(shape(End::Ahead), &over, 0.05), Reproduced);
        assert_eq!(told(shape(End::Behind), &over, 0.05), NotReproduced);
        assert_eq!(told(shape(End::Behind), &over.map(|ratio| 1.0 / ratio), 0.05), Reproduced);
        assert_eq!(told(shape(End::Ahead), &[0.3, 2.0, 2.0, 2.0, 2.0, 2.0, 3.0, 7.0], 0.05), DirectionOnly);
        assert_eq!(told(shape(End::Ahead), &[2.0; 8], 0.05), NotReproduced);
        assert_eq!(told(shape(End::Ahead), &[0.3, 2.0, 0.4, 2.0], 0.05), NotReproduced);
        assert_eq!(told(shape(End::Ahead), &over, 0.4), CannotBeTold, "somewhere between 4 and 54");
        assert_eq!(told(shape(End::Ahead), &[1.0; 8], 0.05), CannotBeTold);
        let fading = [0.3, 0.4, 0.5, 0.7, 0.9, 1.5, 3.0, 1.01];
        assert_eq!(told(shape(End::Ahead), &fading, 0.05), CannotBeTold, "whether it ends ahead");
        let found = shape(End::Ahead).on(&line(&over, 0.05), Doubt::NONE).1;
        assert_eq!(found, "it crosses between 18 and 36");
    }

    #[test]
    fn an_error_makes_no_shape_easier_to_have_and_none_easier_to_miss() {
        let of = |shape: Shape, values: &[f64], along: f64| doubted(shape, values, along, 1.0);
        let rises = Shape::Rises { within: 0.1 };
        assert_eq!(of(rises, &[1.0, 2.0, 4.0], 1.5), Reproduced);
        assert_eq!(of(rises, &[1.0, 1.2, 1.4], 1.5), CannotBeTold, "the ends differ by less than the error");
        assert_eq!(of(rises, &[1.0, 2.0, 1.6, 4.0], 1.0), DirectionOnly);
        assert_eq!(of(rises, &[1.0, 2.0, 1.6, 4.0], 1.5), CannotBeTold, "a step back within the error");
        assert_eq!(of(rises, &[1.0, 2.0, 0.8, 4.0], 1.5), DirectionOnly, "and one beyond it");
        assert_eq!(of(rises, &[4.0, 2.0, 1.0], 1.5), NotReproduced);
        let flat = Shape::Flat { within: 0.1 };
        assert_eq!(of(flat, &[1.0, 1.0, 1.0], 1.02), Reproduced);
        assert_eq!(of(flat, &[1.0, 1.0, 1.0], 1.2), CannotBeTold);
        assert_eq!(of(flat, &[1.0, 1.3, 1.0], 1.4), CannotBeTold, "they may be the same");
        assert_eq!(of(flat, &[1.0, 3.0, 1.0], 1.4), NotReproduced);
        let levels_off = Shape::LevelsOff { within: 0.1, between: BETWEEN };
        let level = [1.0, 2.0, 4.0, 8.0, 15.0, 28.0, 28.5, 29.0];
        assert_eq!(of(levels_off, &level, 1.02), Reproduced);
        assert_eq!(of(levels_off, &level, 1.3), CannotBeTold);
        let falls_again = [1.0, 2.0, 4.0, 8.0, 15.0, 28.0, 28.5, 25.0];
        assert_eq!(of(levels_off, &falls_again, 1.0), NotReproduced);
        assert_eq!(of(levels_off, &falls_again, 1.05), CannotBeTold, "it may fall by less");
        assert_eq!(of(levels_off, &[4.0; 8], 1.3), CannotBeTold, "it may have risen before");
        let collapses = Shape::Collapses { to_at_most: 0.5 };
        assert_eq!(of(collapses, &[1.0, 4.0, 1.0], 1.5), Reproduced);
        assert_eq!(of(collapses, &[1.0, 4.0, 1.6], 1.5), CannotBeTold);
        assert_eq!(of(collapses, &[1.0, 4.0, 2.4], 1.05), DirectionOnly);
        assert_eq!(of(collapses, &[1.0, 2.0, 4.0], 1.5), NotReproduced);
    }

    #[test]
    fn a_peak_and_a_crossing_have_to_stand_out_by_more_than_the_error() {
        let peaks = |about| Shape::Peaks {
            between: BETWEEN,
            top: Some(Bounds { about: Some(about), ..Bounds::default() }),
        };
        let hill = [1.0, 2.0, 4.0, 8.0, 15.0, 28.0, 15.0, 8.0];
        assert_eq!(doubted(peaks(28.0), &hill, 1.3, 1.1), Reproduced);
        assert_eq!(doubted(peaks(28.0), &hill, 1.3, 1.4), CannotBeTold, "how high it is");
        assert_eq!(doubted(peaks(28.0), &hill, 4.0, 1.1), CannotBeTold, "where it is");
        let crosses = Shape::Crosses { ends: End::Ahead, between: None };
        let over = [0.3, 0.4, 0.5, 0.7, 0.9, 1.5, 3.0, 7.0];
        assert_eq!(doubted(crosses, &over, 1.0, 1.2), Reproduced);
        assert_eq!(doubted(crosses, &[0.9, 0.95, 1.01, 1.1], 1.0, 1.2), CannotBeTold);
        assert_eq!(doubted(crosses, &[0.3, 2.0, 0.9, 2.0], 1.0, 1.2), CannotBeTold, "it may have stayed");
        assert_eq!(doubted(crosses, &[3.0, 4.0], 1.0, 1.2), NotReproduced);
    }
}
