//! Which values of one axis are meant: some of them by name, or a range of its numbers.

use crate::sweep::experiment::{Axis, scalar};
use std::fmt;
use toml::{Table, Value};

/// Values of an axis, as the file says them.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Wanted {
    /// These; on an axis of numbers, also `most` and `least`.
    Values(Vec<String>),
    /// All that the axis has within.
    Range(Range),
}

/// What a value must be; what is `None` or empty does not matter.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Range {
    from: Option<f64>,
    to: Option<f64>,
    above: Option<f64>,
    below: Option<f64>,
    not: Vec<String>,
}

const RANGE_KEYS: [&str; 5] = ["from", "to", "above", "below", "not"];

const ALLOWED: &str = "a value of the axis, a list of them, or a range such as { from = 2, to = 16 }, { below = 18 } or { not = 1 }";

impl Wanted {
    /// What the file says of the axis called `name`; `Err` says what is allowed.
    pub(super) fn read(name: &str, value: &Value) -> Result<Wanted, String> {
        let bad = || format!("{name} {value}: allowed: {ALLOWED}");
        let one = |value: &Value| scalar(name, value);
        match value {
            Value::Array(list) if !list.is_empty() => {
                Ok(Wanted::Values(list.iter().map(one).collect::<Option<_>>().ok_or_else(bad)?))
            }
            Value::Table(range) if !range.is_empty() => Range::read(name, range).map(Wanted::Range),
            alone => Ok(Wanted::Values(vec![one(alone).ok_or_else(bad)?])),
        }
    }

    /// Whether `axis` could have it, on this machine or on a larger one; `Err` says what is allowed.
    pub(super) fn admit(&self, axis: &Axis) -> Result<(), String> {
        let (name, values, numbers) = (&axis.name, axis.values.join(", "), numbers(axis));
        match self {
            Wanted::Values(wanted) => match wanted.iter().find(|value| find(axis, value) == Found::Unknown) {
                Some(unknown) => Err(format!("{name} {unknown}: allowed: {values}")),
                None => Ok(()),
            },
            Wanted::Range(range) if numbers.is_none() && range.has_ends() => Err(format!(
                "{name} {self}: allowed: {{ not = ... }}, for its values are no numbers: {values}"
            )),
            Wanted::Range(range) => {
                match range.not.iter().find(|value| find(axis, value) == Found::Unknown) {
                    Some(unknown) => Err(format!("{name} not {unknown}: allowed: {values}")),
                    None => Ok(()),
                }
            }
        }
    }

    /// Those of `axis`; or what it does not have.
    pub(super) fn on<'a>(&self, axis: &'a Axis) -> Result<Vec<&'a str>, String> {
        let found: Vec<&str> = match self {
            Wanted::Values(wanted) => {
                let value = |value: &String| match find(axis, value) {
                    Found::At(value) => Ok(value),
                    _ => Err(absent(axis, value)),
                };
                wanted.iter().map(value).collect::<Result<_, _>>()?
            }
            Wanted::Range(range) => {
                let values = axis.values.iter().map(String::as_str);
                values.filter(|value| range.has(axis, value)).collect()
            }
        };
        match found.is_empty() {
            true => Err(absent(axis, &self.to_string())),
            false => Ok(found),
        }
    }

    /// As a file says it.
    pub(super) fn toml(&self) -> String {
        let text = |value: &String| Value::String(value.clone()).to_string();
        let list =
            |values: &[String]| format!("[{}]", values.iter().map(text).collect::<Vec<_>>().join(", "));
        match self {
            Wanted::Values(values) => list(values),
            Wanted::Range(range) => {
                let ends =
                    range.ends().into_iter().filter_map(|(key, end)| Some(format!("{key} = {:?}", end?)));
                let not = (!range.not.is_empty()).then(|| format!("not = {}", list(&range.not)));
                format!("{{ {} }}", ends.chain(not).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

impl Range {
    fn read(name: &str, table: &Table) -> Result<Range, String> {
        if let Some(other) = table.keys().find(|key| !RANGE_KEYS.contains(&key.as_str())) {
            return Err(format!("{name}: a range names {other}: allowed: {}", RANGE_KEYS.join(", ")));
        }
        let end = |key: &str| match table.get(key) {
            None => Ok(None),
            Some(Value::Integer(end)) => Ok(Some(*end as f64)),
            Some(Value::Float(end)) if end.is_finite() => Ok(Some(*end)),
            Some(other) => Err(format!("{name}: {key} {other}: allowed: a finite number")),
        };
        let not = match table.get("not") {
            None => Some(Vec::new()),
            Some(Value::Array(list)) => list.iter().map(|value| scalar(name, value)).collect(),
            Some(one) => scalar(name, one).map(|one| vec![one]),
        };
        let not = not.ok_or_else(|| format!("{name}: not {}: allowed: a value or a list", table["not"]))?;
        Ok(Range { from: end("from")?, to: end("to")?, above: end("above")?, below: end("below")?, not })
    }

    fn ends(&self) -> [(&'static str, Option<f64>); 4] {
        [("from", self.from), ("to", self.to), ("above", self.above), ("below", self.below)]
    }

    fn has_ends(&self) -> bool {
        self.ends().iter().any(|(_, end)| end.is_some())
    }

    fn has(&self, axis: &Axis, value: &str) -> bool {
        let number: Option<f64> = value.parse().ok();
        let keeps = |end: Option<f64>, test: fn(f64, f64) -> bool| {
            end.is_none_or(|end| number.is_some_and(|number| test(number, end)))
        };
        keeps(self.from, |number, end| number >= end)
            && keeps(self.to, |number, end| number <= end)
            && keeps(self.above, |number, end| number > end)
            && keeps(self.below, |number, end| number < end)
            && !self.not.iter().any(|not| find(axis, not) == Found::At(value))
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wanted::Values(values) => f.write_str(&values.join(" or ")),
            Wanted::Range(range) => {
                let ends = range.ends().into_iter().filter_map(|(key, end)| Some(format!("{key} {}", end?)));
                let not = range.not.iter().map(|not| format!("not {not}"));
                f.write_str(&ends.chain(not).collect::<Vec<_>>().join(" "))
            }
        }
    }
}

fn absent(axis: &Axis, wanted: &str) -> String {
    format!("there is no point at {} {wanted}; here: {}", axis.name, axis.values.join(", "))
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

/// The values of an axis, if all of them are numbers.
pub(super) fn numbers(axis: &Axis) -> Option<Vec<f64>> {
    axis.values.iter().map(|value| value.parse().ok()).collect()
}

fn find<'a>(axis: &'a Axis, given: &str) -> Found<'a> {
    let Some(numbers) = numbers(axis) else {
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
        Axis { name: "a".to_owned(), values, cut: None, place: String::new() }
    }

    fn wanted(text: &str) -> Result<Wanted, String> {
        let table: Table = toml::from_str(&format!("a = {text}")).expect(text);
        Wanted::read("a", &table["a"])
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

    #[test]
    fn ranges_take_what_the_axis_has() {
        let (all, words) = (axis(&["1", "2", "9", "18", "72"]), axis(&["silo", "no-wait"]));
        let on = |text: &str, axis: &Axis| {
            let wanted = wanted(text).expect(text);
            assert_eq!(wanted.admit(axis), Ok(()), "{text}");
            wanted.on(axis).map(|values| values.join(" "))
        };
        for (text, values) in [
            ("{ from = 2, to = 18 }", "2 9 18"),
            ("{ below = 18 }", "1 2 9"),
            ("{ below = 18, not = 1 }", "2 9"),
            ("{ above = 2 }", "9 18 72"),
            ("{ not = [1, 'most'] }", "2 9 18"),
            ("[2, 'most']", "2 72"),
        ] {
            assert_eq!(on(text, &all).as_deref(), Ok(values), "{text}");
        }
        assert_eq!(on("{ not = 'silo' }", &words).as_deref(), Ok("no-wait"));
        assert_eq!(
            on("{ above = 72 }", &all),
            Err("there is no point at a above 72; here: 1, 2, 9, 18, 72".to_owned())
        );
        assert_eq!(on("[2, 4]", &all), Err("there is no point at a 4; here: 1, 2, 9, 18, 72".to_owned()));
    }

    #[test]
    fn what_no_axis_could_have_is_refused() {
        let bad = [
            ("{ over = 2 }", "a: a range names over: allowed: from, to, above, below, not"),
            ("{ below = 'most' }", "a: below \"most\": allowed: a finite number"),
            ("{ from = nan }", "a: from nan: allowed: a finite number"),
            ("{ not = {} }", "a: not {}: allowed: a value or a list"),
            ("[]", "a []: allowed: a value of the axis, a list of them, or a range such as"),
            ("{}", "a {}: allowed: a value of the axis, a list of them, or a range such as"),
            ("[[1]]", "a [[1]]: allowed: a value of the axis, a list of them, or a range such as"),
        ];
        for (text, message) in bad {
            let refused = wanted(text).expect_err(text);
            assert!(refused.starts_with(message), "{refused}");
        }
        let words = axis(&["silo", "no-wait"]);
        let bad = [
            (
                "{ below = 2 }",
                "a below 2: allowed: { not = ... }, for its values are no numbers: silo, no-wait",
            ),
            ("{ not = 'sillo' }", "a not sillo: allowed: silo, no-wait"),
            ("'sillo'", "a sillo: allowed: silo, no-wait"),
        ];
        for (text, message) in bad {
            assert_eq!(wanted(text).expect(text).admit(&words), Err(message.to_owned()));
        }
    }
}
