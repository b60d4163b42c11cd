//! The keys that claim a shape, and those that claim a number, each refused where it says nothing.

use super::shape::{self, Between, End, Shape};
use super::{Bounds, Claimed};
use crate::failure::Failure;
use crate::sweep::experiment::Source;
use toml::Spanned;

/// The keys, as the file says them.
pub(super) struct ClaimedText {
    pub(super) at_least: Option<Spanned<f64>>,
    pub(super) at_most: Option<Spanned<f64>>,
    pub(super) about: Option<Spanned<f64>>,
    pub(super) within: Option<Spanned<f64>>,
    pub(super) per: Option<Spanned<String>>,
    pub(super) over: Option<Spanned<String>>,
    pub(super) shape: Option<Spanned<String>>,
    pub(super) between: Option<Spanned<[f64; 2]>>,
    pub(super) to_at_most: Option<Spanned<f64>>,
    pub(super) ends: Option<Spanned<String>>,
}

const SHAPES: &str = "rises, falls, flat, levels off, collapses, peaks, crosses";

impl ClaimedText {
    /// `claim_at` is where to say what is wrong with several keys together.
    pub(super) fn checked(mut self, claim_at: usize, source: &Source<'_>) -> Result<Claimed, Failure> {
        let claimed = match (self.over.take(), self.shape.take()) {
            (None, None) => {
                let per = self.per.take().map(Spanned::into_inner);
                let bounds = self.bounds(source)?;
                let needed = "the claim needs at_least, at_most or about; or over and shape";
                Claimed::Number { bounds: bounds.ok_or_else(|| source.failure(claim_at, needed))?, per }
            }
            (Some(over), Some(shape)) => {
                Claimed::Line { over: over.into_inner(), shape: self.shape(&shape, source)? }
            }
            (Some(alone), None) => {
                let what = format!("over {} needs a shape: allowed: {SHAPES}", alone.get_ref());
                return Err(source.failure(alone.span().start, what));
            }
            (None, Some(alone)) => {
                let what = format!("shape {} needs over: allowed: an axis of numbers", alone.get_ref());
                return Err(source.failure(alone.span().start, what));
            }
        };
        self.refuse_the_rest(source)?;
        Ok(claimed)
    }

    /// Takes the keys of bounds; `None` if there are none.
    fn bounds(&mut self, source: &Source<'_>) -> Result<Option<Bounds>, Failure> {
        let at_least = number("at_least", self.at_least.take(), source)?;
        let at_most = number("at_most", self.at_most.take(), source)?;
        let about = number("about", self.about.take(), source)?;
        if about.or(at_least).or(at_most).is_none() {
            return Ok(None);
        }
        match (about, at_least.or(at_most), at_least, at_most) {
            (Some((about, at)), Some(_), _, _) => {
                let what = format!("about {about}: allowed: alone, or else at_least and at_most");
                return Err(source.failure(at, what));
            }
            (Some((0.0, at)), ..) => {
                return Err(source.failure(at, "about 0: allowed: above 0; or at_most = 0"));
            }
            (_, _, Some((least, at)), Some((most, _))) if least > most => {
                let what = format!("at_least {least}: allowed: at_least <= at_most, which is {most}");
                return Err(source.failure(at, what));
            }
            _ => {}
        }
        let within = match about {
            Some(_) => part("within", self.within.take(), source)?,
            None => None,
        };
        let value = |number: Option<(f64, usize)>| number.map(|(value, _)| value);
        Ok(Some(Bounds { at_least: value(at_least), at_most: value(at_most), about: value(about), within }))
    }

    /// Takes the keys of the shape that is called `name`.
    fn shape(&mut self, name: &Spanned<String>, source: &Source<'_>) -> Result<Shape, Failure> {
        let at = name.span().start;
        Ok(match name.get_ref().as_str() {
            "rises" => Shape::Rises { within: self.within(source)? },
            "falls" => Shape::Falls { within: self.within(source)? },
            "flat" => Shape::Flat { within: self.within(source)? },
            "levels off" => Shape::LevelsOff { within: self.within(source)?, between: self.between(source)? },
            "collapses" => {
                let to_at_most = part("to_at_most", self.to_at_most.take(), source)?;
                Shape::Collapses { to_at_most: to_at_most.unwrap_or(shape::TO_AT_MOST) }
            }
            "peaks" => Shape::Peaks { between: self.between(source)?, top: self.bounds(source)? },
            "crosses" => Shape::Crosses { ends: self.ends(at, source)?, between: self.between(source)? },
            other => return Err(source.failure(at, format!("shape {other}: allowed: {SHAPES}"))),
        })
    }

    fn within(&mut self, source: &Source<'_>) -> Result<f64, Failure> {
        Ok(part("within", self.within.take(), source)?.unwrap_or(shape::WITHIN))
    }

    fn between(&mut self, source: &Source<'_>) -> Result<Option<Between>, Failure> {
        let Some(between) = self.between.take() else { return Ok(None) };
        match *between.get_ref() {
            [from, to] if from.is_finite() && to.is_finite() && from <= to => Ok(Some(Between { from, to })),
            [from, to] => {
                let what =
                    format!("between [{from}, {to}]: allowed: two finite numbers, the lower one first");
                Err(source.failure(between.span().start, what))
            }
        }
    }

    fn ends(&mut self, shape_at: usize, source: &Source<'_>) -> Result<End, Failure> {
        let Some(ends) = self.ends.take() else {
            let what = "shape crosses needs ends: allowed: ahead, behind (where left / right ends)";
            return Err(source.failure(shape_at, what));
        };
        match ends.get_ref().as_str() {
            "ahead" => Ok(End::Ahead),
            "behind" => Ok(End::Behind),
            other => Err(source.failure(ends.span().start, format!("ends {other}: allowed: ahead, behind"))),
        }
    }

    /// Whatever was not taken says nothing of what is claimed.
    fn refuse_the_rest(&self, source: &Source<'_>) -> Result<(), Failure> {
        let at = |key: &Option<Spanned<f64>>| key.as_ref().map(|key| key.span().start);
        let of_text = |key: &Option<Spanned<String>>| key.as_ref().map(|key| key.span().start);
        let rest = [
            ("at_least", at(&self.at_least), "without shape, or with shape peaks"),
            ("at_most", at(&self.at_most), "without shape, or with shape peaks"),
            ("about", at(&self.about), "without shape, or with shape peaks"),
            ("within", at(&self.within), "with about, or with shape rises, falls, flat or levels off"),
            ("per", of_text(&self.per), "without shape"),
            (
                "between",
                self.between.as_ref().map(|key| key.span().start),
                "with shape levels off, peaks or crosses",
            ),
            ("to_at_most", at(&self.to_at_most), "with shape collapses"),
            ("ends", of_text(&self.ends), "with shape crosses"),
        ];
        match rest.into_iter().find_map(|(key, at, allowed)| Some((key, at?, allowed))) {
            Some((key, at, allowed)) => Err(source.failure(at, format!("{key}: allowed: {allowed}"))),
            None => Ok(()),
        }
    }
}

/// A number that is not negative, and where it stands.
fn number(
    name: &str,
    given: Option<Spanned<f64>>,
    source: &Source<'_>,
) -> Result<Option<(f64, usize)>, Failure> {
    let Some(given) = given else { return Ok(None) };
    let (value, at) = (*given.get_ref(), given.span().start);
    match value.is_finite() && value >= 0.0 {
        true => Ok(Some((value, at))),
        false => Err(source.failure(at, format!("{name} {value}: allowed: a finite number, at least 0"))),
    }
}

/// A part of something, below the whole.
fn part(name: &str, given: Option<Spanned<f64>>, source: &Source<'_>) -> Result<Option<f64>, Failure> {
    let Some(given) = given else { return Ok(None) };
    match *given.get_ref() {
        value if (0.0..1.0).contains(&value) => Ok(Some(value)),
        value => {
            let what = format!("{name} {value}: allowed: a part, 0 <= {name} < 1");
            Err(source.failure(given.span().start, what))
        }
    }
}
