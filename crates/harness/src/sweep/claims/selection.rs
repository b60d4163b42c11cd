//! Which points one side of a claim means: those that have certain values on some axes, of this experiment or of
//! another one.

use super::wanted::Wanted;
use crate::failure::Failure;
use crate::sweep::experiment::{Axis, Source, in_order, names_of};
use std::collections::BTreeMap;
use std::fmt;
use toml::{Spanned, Value};

/// One side of a claim as the file says it.
pub(super) type SelectionText = BTreeMap<Spanned<String>, Spanned<Value>>;

/// Names that are no axes.
const EXPERIMENT: &str = "experiment";
const BEST_OF: &str = "best_of";

/// Points, by the values that they have on some axes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Selection {
    /// The experiment whose points they are, if it is another one.
    pub(super) experiment: Option<String>,
    /// Axes with the values taken.
    by_axis: Vec<(String, Wanted)>,
    /// Those of the axes along which only the best point counts.
    best_of: Vec<String>,
}

/// The points of a [`Selection`] in an experiment.
pub(super) struct Selected<'a> {
    /// Positions of axes with the values taken.
    by_axis: Vec<(usize, Vec<&'a str>)>,
}

impl Selected<'_> {
    /// Whether the point at `place` is among them.
    pub(super) fn has(&self, place: &[String]) -> bool {
        self.by_axis.iter().all(|(axis, values)| values.contains(&place[*axis].as_str()))
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(experiment) = &self.experiment {
            write!(f, "{experiment}: ")?;
        }
        if self.by_axis.is_empty() {
            return f.write_str("all points");
        }
        let one = |(axis, wanted): &(String, Wanted)| {
            format!("{}{axis} {wanted}", if self.is_best_of(axis) { "the best of " } else { "" })
        };
        f.write_str(&self.by_axis.iter().map(one).collect::<Vec<_>>().join(", "))
    }
}

impl Selection {
    /// All points.
    pub(super) fn all() -> Selection {
        Selection { experiment: None, by_axis: Vec::new(), best_of: Vec::new() }
    }

    /// Reads what the file calls `side`, as far as one experiment's `axes` can tell what it may say. Another one's are
    /// not known here.
    pub(super) fn checked(
        side: &str,
        text: Spanned<SelectionText>,
        source: &Source<'_>,
        axes: &[Axis],
    ) -> Result<Selection, Failure> {
        let mut selection = Selection::all();
        let mut places = Vec::new();
        for (name, value) in in_order(text.into_inner()) {
            let at = value.span().start;
            selection
                .read(&name, value.get_ref())
                .map_err(|what| source.failure(at, format!("{side}: {what}")))?;
            places.resize(selection.by_axis.len(), at);
        }
        if selection.experiment.is_some() {
            return Ok(selection);
        }
        for ((name, wanted), at) in selection.by_axis.iter().zip(places) {
            let Some(axis) = axes.iter().find(|axis| axis.name == *name) else {
                return Err(source.failure(at, format!("{side} names {name}: allowed: {}", names_of(axes))));
            };
            wanted.admit(axis).map_err(|what| source.failure(at, format!("{side}: {what}")))?;
        }
        Ok(selection)
    }

    /// One entry of the table.
    fn read(&mut self, name: &str, value: &Value) -> Result<(), String> {
        match (name, value) {
            (EXPERIMENT, Value::String(experiment)) => self.experiment = Some(experiment.clone()),
            (EXPERIMENT, other) => {
                return Err(format!("{EXPERIMENT} {other}: allowed: a file's name without .toml"));
            }
            (BEST_OF, Value::Table(axes)) if !axes.is_empty() => {
                for (axis, value) in axes {
                    self.take(axis, value)?;
                    self.best_of.push(axis.clone());
                }
            }
            (BEST_OF, other) => {
                let allowed = "axes with what is taken of them, such as { system = [\"a\", \"b\"] }";
                return Err(format!("{BEST_OF} {other}: allowed: {allowed}"));
            }
            (axis, value) => self.take(axis, value)?,
        }
        Ok(())
    }

    fn take(&mut self, axis: &str, value: &Value) -> Result<(), String> {
        if self.names(axis) {
            return Err(format!("{axis} is named in {BEST_OF} and beside it; name it once"));
        }
        self.by_axis.push((axis.to_owned(), Wanted::read(axis, value)?));
        Ok(())
    }

    /// The names of its axes, sorted.
    pub(super) fn axes(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.by_axis.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        names
    }

    /// What it names of `axis`.
    pub(super) fn wanted(&self, axis: &str) -> Option<&Wanted> {
        self.by_axis.iter().find(|(named, _)| named == axis).map(|(_, wanted)| wanted)
    }

    pub(super) fn names(&self, axis: &str) -> bool {
        self.by_axis.iter().any(|(named, _)| named == axis)
    }

    /// Whether it says nothing but which values of axes are meant.
    pub(super) fn is_plain(&self) -> bool {
        self.experiment.is_none() && self.best_of.is_empty()
    }

    /// Whether only the best point along `axis` counts.
    pub(super) fn is_best_of(&self, axis: &str) -> bool {
        self.best_of.iter().any(|named| named == axis)
    }

    /// Its points on these `axes`; or what it names that they do not have.
    pub(super) fn among<'a>(&self, axes: &'a [Axis]) -> Result<Selected<'a>, String> {
        let on_axis = |(name, wanted): &(String, Wanted)| {
            let position = axes.iter().position(|axis| axis.name == *name);
            let position = position.ok_or_else(|| format!("there is no axis {name}"))?;
            Ok((position, wanted.on(&axes[position])?))
        };
        Ok(Selected { by_axis: self.by_axis.iter().map(on_axis).collect::<Result<_, String>>()? })
    }

    /// As a file says it.
    pub(super) fn toml(&self) -> String {
        let one = |(axis, wanted): &(String, Wanted)| format!("{axis} = {}", wanted.toml());
        let (best, others): (Vec<_>, Vec<_>) =
            self.by_axis.iter().partition(|(axis, _)| self.is_best_of(axis));
        let experiment =
            self.experiment.as_ref().map(|name| format!("{EXPERIMENT} = {}", Value::from(&**name)));
        let best: Vec<String> = best.into_iter().map(one).collect();
        let best = (!best.is_empty()).then(|| format!("{BEST_OF} = {{ {} }}", best.join(", ")));
        let entries = experiment.into_iter().chain(best).chain(others.into_iter().map(one));
        format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
    }
}
