//! The points that claims are told by: those of one experiment, and of others that it compares itself with.

use super::Selection;
use super::measure::{Measure, NoRange, Range};
use super::untold::Untold;
use crate::folder::samples::Sample;
use crate::sweep::cases::combinations;
use crate::sweep::experiment::{Axis, Experiment};
use crate::validation::SystemKind;
use std::collections::{BTreeMap, BTreeSet};

/// The axes whose values name a system.
const SYSTEMS: [&str; 3] = ["system", "architecture", "protocol"];

/// What is known of a point when the claims are told.
#[derive(Clone, Copy, Debug)]
pub enum Known<'a> {
    /// Its repetitions, its number of workers, and the kind of its system.
    Measured(&'a [Sample], usize, SystemKind),
    /// It has no numbers yet.
    NotYet,
    /// It is not measured at all, and why.
    LeftOut(&'a str),
}

/// An experiment with what is known of its points.
pub struct Figure<'a> {
    pub(super) experiment: &'a Experiment,
    points: BTreeMap<Vec<String>, Known<'a>>,
}

/// What is compared as one: a point, or the best of several that differ on some axes only.
pub(super) struct Spot<'f> {
    figure: &'f Figure<'f>,
    /// Whether the claim is another figure's.
    is_elsewhere: bool,
    /// Positions of the axes along which the best counts.
    best_of: Vec<usize>,
    /// At least one place.
    places: Vec<Vec<String>>,
}

/// The numbers of a [`Spot`], its most workers, and its kind.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub(super) range: Range,
    /// The same as one side of a ratio.
    pub(super) in_ratio: Range,
    pub(super) workers: usize,
    /// Of deployments, if one of them is a deployment.
    pub(super) kind: SystemKind,
}

impl<'a> Figure<'a> {
    /// `known` is asked for each combination of the axes' values, in their order.
    pub fn new(experiment: &'a Experiment, known: impl Fn(&[String]) -> Known<'a>) -> Figure<'a> {
        let point = |place: Vec<String>| {
            let known = known(&place);
            (place, known)
        };
        Figure { experiment, points: combinations(experiment).into_iter().map(point).collect() }
    }

    /// What `selection` means here, where it keeps `at`, too, in the order of the axes; or what they name that is not
    /// here.
    pub(super) fn spots<'f>(&'f self, selection: &Selection, at: &Selection) -> Result<Vec<Spot<'f>>, String>
    where
        'a: 'f,
    {
        let axes = &self.experiment.axes;
        let (selected, at) = (selection.among(axes)?, at.among(axes)?);
        let best_of: Vec<usize> =
            (0..axes.len()).filter(|&axis| selection.is_best_of(&axes[axis].name)).collect();
        let mut spots: Vec<Spot<'f>> = Vec::new();
        for place in
            combinations(self.experiment).into_iter().filter(|place| selected.has(place) && at.has(place))
        {
            let is_there = |spot: &&mut Spot<'f>| {
                (0..axes.len()).all(|axis| best_of.contains(&axis) || spot.places[0][axis] == place[axis])
            };
            let known = if best_of.is_empty() { None } else { spots.iter_mut().find(is_there) };
            match known {
                Some(spot) => spot.places.push(place),
                None => spots.push(Spot {
                    figure: self,
                    is_elsewhere: false,
                    best_of: best_of.clone(),
                    places: vec![place],
                }),
            }
        }
        Ok(spots)
    }
}

impl<'f> Spot<'f> {
    /// The same, for a claim of another figure.
    pub(super) fn elsewhere(self) -> Spot<'f> {
        Spot { is_elsewhere: true, ..self }
    }

    pub(super) fn axes(&self) -> &[Axis] {
        &self.figure.experiment.axes
    }

    /// Its value on `axis`; `None` if it has several there, or the experiment has no such axis.
    pub(super) fn value(&self, axis: &str) -> Option<&str> {
        let position = self.axes().iter().position(|known| known.name == axis)?;
        (!self.best_of.contains(&position)).then(|| self.places[0][position].as_str())
    }

    /// The systems that it is, each as the words of its architecture and protocol.
    pub(super) fn systems(&self) -> BTreeSet<String> {
        let base = &self.figure.experiment.base;
        let of = |place: &Vec<String>| {
            let on_axes = self.axes().iter().zip(place).map(|(axis, value)| (&axis.name, value));
            let named: Vec<(&String, &String)> =
                base.iter().map(|setting| (&setting.name, &setting.value)).chain(on_axes).collect();
            let value = |name: &&str| named.iter().find(|(named, _)| named == name).map(|(_, value)| *value);
            let words: Vec<&str> =
                SYSTEMS.iter().filter_map(value).flat_map(|value| value.split_whitespace()).collect();
            // The protocol of what needs none may be left out.
            words.into_iter().filter(|word| *word != "none").collect::<Vec<_>>().join(" ")
        };
        self.places.iter().map(of).collect()
    }

    /// Whether both are at one point, but maybe of different systems. Of another figure's points that is not known.
    pub(super) fn is_beside(&self, other: &Spot<'_>) -> bool {
        let apart = |spot: &Spot<'_>| -> BTreeSet<Vec<String>> {
            let of = |place: &Vec<String>| {
                let others = spot.axes().iter().zip(place);
                let others = others.filter(|(axis, _)| !SYSTEMS.contains(&axis.name.as_str()));
                others.map(|(_, value)| value.clone()).collect()
            };
            spot.places.iter().map(of).collect()
        };
        self.is_elsewhere == other.is_elsewhere && apart(self) == apart(other)
    }

    /// Its values on all axes: one list of them, or several where the best counts.
    pub(super) fn places(&self) -> &[Vec<String>] {
        &self.places
    }

    /// Whether both are the same points.
    pub(super) fn is(&self, other: &Spot<'_>) -> bool {
        self.is_elsewhere == other.is_elsewhere && self.places == other.places
    }

    /// For people; `unnamed` is an axis to leave out.
    pub(super) fn name(&self, unnamed: Option<&str>) -> String {
        match &self.places[..] {
            [one] => self.name_of(one, unnamed),
            places => {
                let names: Vec<String> = places.iter().map(|place| self.name_of(place, unnamed)).collect();
                format!("the best of {}", names.join(" or "))
            }
        }
    }

    fn name_of(&self, place: &[String], unnamed: Option<&str>) -> String {
        let axes = self.axes().iter().zip(place).filter(|(axis, _)| Some(axis.name.as_str()) != unnamed);
        let one = |(axis, value): (&Axis, &String)| match axis.name.as_str() {
            name if SYSTEMS.contains(&name) => value.clone(),
            other => format!("{other} {value}"),
        };
        let name = axes.map(one).collect::<Vec<_>>().join(", ");
        if self.is_elsewhere { format!("{}: {name}", self.figure.experiment.name) } else { name }
    }

    /// The measure here. Of several points those that are left out are not the best.
    pub(super) fn found(&self, measure: Measure) -> Result<Found, Vec<Untold>> {
        let (mut found, mut left_out, mut untold) = (Vec::new(), Vec::new(), Vec::new());
        for place in &self.places {
            match self.found_at(place, measure) {
                Ok(one) => found.push(one),
                Err(reason @ Untold::LeftOut { .. }) => left_out.push(reason),
                Err(reason) => untold.push(reason),
            }
        }
        if !untold.is_empty() {
            return Err(untold);
        }
        let workers = found.iter().map(|one| one.workers).max();
        let kind = found.iter().map(|one| one.kind).reduce(SystemKind::beside);
        let range = Range::best(measure, found.iter().map(|one| one.range));
        let in_ratio = Range::best(measure, found.iter().map(|one| one.in_ratio));
        match (range, in_ratio, workers.zip(kind)) {
            (Some(range), Some(in_ratio), Some((workers, kind))) => {
                Ok(Found { range, in_ratio, workers, kind })
            }
            _ => Err(left_out),
        }
    }

    fn found_at(&self, place: &[String], measure: Measure) -> Result<Found, Untold> {
        let at = || self.name_of(place, None);
        let (samples, workers, kind) = match self.figure.points[place] {
            Known::Measured(samples, workers, kind) => (samples, workers, kind),
            Known::NotYet => return Err(Untold::NotYet(at())),
            Known::LeftOut(why) => return Err(Untold::LeftOut { at: at(), why: why.to_owned() }),
        };
        match Range::of(measure, samples) {
            Ok(range) => Ok(Found { range, in_ratio: range.in_ratio(measure, samples), workers, kind }),
            Err(NoRange::OneRepetition) => Err(Untold::OneRepetition),
            Err(NoRange::Lacking(repetitions)) => {
                Err(Untold::Lacking { at: at(), repetitions, of: samples.len() })
            }
        }
    }
}
