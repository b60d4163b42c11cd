//! Which points one side of a claim means: those that have certain values on some axes.

use crate::failure::Failure;
use crate::options::BadValue;
use crate::sweep::experiment::{Axis, Source, in_order, names_of, scalar};
use std::collections::BTreeMap;
use std::fmt;
use toml::{Spanned, Value};

/// One side of a claim as the file says it.
pub(super) type SelectionText = BTreeMap<Spanned<String>, Spanned<Value>>;

/// Points, by the values that they have on some axes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Axes with the values taken, as the file says them.
    by_axis: Vec<(String, Vec<String>)>,
}

/// The points of a [`Selection`] in an experiment.
pub(super) struct Selected<'a> {
    /// Positions of axes with the values taken.
    by_axis: Vec<(usize, Vec<&'a str>)>,
}

impl Selected<'_> {
    /// Whether the axis at `position` is named.
    pub(super) fn names(&self, position: usize) -> bool {
        self.by_axis.iter().any(|(named, _)| *named == position)
    }

    /// Whether the point at `place` is among them.
    pub(super) fn has(&self, place: &[String]) -> bool {
        self.by_axis.iter().all(|(axis, values)| values.contains(&place[*axis].as_str()))
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.by_axis.is_empty() {
            return f.write_str("all points");
        }
        let one = |(axis, values): &(String, Vec<String>)| format!("{axis} {}", values.join(" or "));
        f.write_str(&self.by_axis.iter().map(one).collect::<Vec<_>>().join(", "))
    }
}

impl Selection {
    /// `side` is what the file calls it.
    pub(super) fn checked(
        side: &str,
        text: Spanned<SelectionText>,
        source: &Source<'_>,
        axes: &[Axis],
    ) -> Result<Selection, Failure> {
        let mut by_axis = Vec::new();
        for (name, value) in in_order(text.into_inner()) {
            let at = value.span().start;
            let Some(axis) = axes.iter().find(|axis| axis.name == name) else {
                return Err(source.failure(at, format!("{side} names {name}: allowed: {}", names_of(axes))));
            };
            let values: Option<Vec<String>> = match value.get_ref() {
                Value::Array(list) if !list.is_empty() => list.iter().map(scalar).collect(),
                one => scalar(one).map(|one| vec![one]),
            };
            let values = values.ok_or_else(|| {
                let bad = BadValue::new(&name, value.get_ref(), "a value of the axis, or a list of them");
                source.failure(at, format!("{side}: {bad}"))
            })?;
            if let Some(unknown) = values.iter().find(|value| matches!(find(axis, value), Found::Unknown)) {
                let bad = BadValue::new(&name, unknown, axis.values.join(", "));
                return Err(source.failure(at, format!("{side}: {bad}")));
            }
            by_axis.push((name, values));
        }
        Ok(Selection { by_axis })
    }

    /// The names of its axes, sorted.
    pub(super) fn axes(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.by_axis.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        names
    }

    /// Its points on these `axes`; or what it names that they do not have.
    pub(super) fn among<'a>(&self, axes: &'a [Axis]) -> Result<Selected<'a>, String> {
        let on_axis = |(name, values): &(String, Vec<String>)| {
            let position = axes.iter().position(|axis| axis.name == *name).expect("checked");
            let value = |value: &String| match find(&axes[position], value) {
                Found::At(value) => Ok(value),
                _ => Err(format!("there is no point at {name} {value}")),
            };
            Ok((position, values.iter().map(value).collect::<Result<_, String>>()?))
        };
        Ok(Selected { by_axis: self.by_axis.iter().map(on_axis).collect::<Result<_, String>>()? })
    }

    /// As a file says it.
    pub(super) fn toml(&self) -> String {
        let value = |value: &String| Value::String(value.clone()).to_string();
        let one = |(axis, values): &(String, Vec<String>)| {
            format!("{axis} = [{}]", values.iter().map(value).collect::<Vec<_>>().join(", "))
        };
        format!("{{ {} }}", self.by_axis.iter().map(one).collect::<Vec<_>>().join(", "))
    }
}

/// What a value of a selection is on its axis.
#[derive(Debug, PartialEq, Eq)]
enum Found<'a> {
    /// A value of the axis.
    At(&'a str),
    /// A number that the axis does not have, as on a machine of fewer cores.
    Absent,
    /// Nothing that the axis could have.
    Unknown,
}

fn find<'a>(axis: &'a Axis, given: &str) -> Found<'a> {
    let numbers: Option<Vec<f64>> = axis.values.iter().map(|value| value.parse().ok()).collect();
    let Some(numbers) = numbers else {
        let known = axis.values.iter().find(|value| *value == given);
        return known.map_or(Found::Unknown, |value| Found::At(value));
    };
    let wanted = match given {
        "most" => numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        "least" => numbers.iter().copied().fold(f64::INFINITY, f64::min),
        _ => match given.parse() {
            Ok(number) => number,
            Err(_) => return Found::Unknown,
        },
    };
    let place = numbers.iter().position(|&number| number == wanted);
    place.map_or(Found::Absent, |place| Found::At(&axis.values[place]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(values: &[&str]) -> Axis {
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        Axis { name: "a".to_owned(), values, place: String::new() }
    }

    #[test]
    fn numbers_are_found_by_value_and_words_by_letters() {
        let numbers = axis(&["2", "0.50", "10"]);
        for (given, found) in [
            ("0.5", Found::At("0.50")),
            ("2.0", Found::At("2")),
            ("most", Found::At("10")),
            ("least", Found::At("0.50")),
            ("4", Found::Absent),
            ("all", Found::Unknown),
        ] {
            assert_eq!(find(&numbers, given), found, "{given}");
        }
        let words = axis(&["silo", "2"]);
        assert_eq!(find(&words, "silo"), Found::At("silo"));
        assert_eq!(find(&words, "most"), Found::Unknown, "words have no order");
        assert_eq!(find(&words, "2.0"), Found::Unknown);
    }
}
