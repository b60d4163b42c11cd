//! Did a change make it slower: the results of one command beside those of an earlier one, row by row.
//!
//! | file | what |
//! |---|---|
//! | [`recorded`] | a result folder as it was laid down: its repetitions, its parameters, its machine |
//! | [`interval`] | from where to where the ratio of two lies |
//! | [`baselines`] | results that are kept under a name |
//!
//! A row is a system, of a sweep at a point. Both sides must have been measured alike: on the same machine, with the same parameters. Whoever compares what
//! was not says so, and is told what differs.
//!
//! A row is *slower* or *faster* if its interval leaves out 1; intervals of all rows hold together with 95 % confidence (Bonferroni), so that a comparison of many rows does not find by chance what is not
//! there. It is a *regression* if it is slower by more than the tolerance.

pub mod baselines;
pub mod interval;
pub mod recorded;

use crate::confidence::Interval;
use interval::ratio_of;
use recorded::{Recorded, Row};
use serde::Serialize;
use std::fmt;

/// Name and version of [`Diff`]'s fields.
pub const DIFF_SCHEMA: &str = "trireme.diff/1";

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its column in `samples.csv`.
    pub column: &'static str,
    /// Whether more of it is better.
    pub more_is_better: bool,
}

/// All that can be.
pub const QUANTITIES: [Quantity; 5] = [
    Quantity { name: "throughput", column: "throughput_per_s", more_is_better: true },
    Quantity { name: "mean", column: "mean_ns", more_is_better: false },
    Quantity { name: "p50", column: "p50_ns", more_is_better: false },
    Quantity { name: "p99", column: "p99_ns", more_is_better: false },
    Quantity { name: "p999", column: "p999_ns", more_is_better: false },
];

impl Quantity {
    /// The one of this name.
    pub fn named(name: &str) -> Option<Quantity> {
        QUANTITIES.into_iter().find(|quantity| quantity.name == name)
    }
}

/// What came of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Better, for certain.
    Faster,
    /// Worse, for certain, and not by more than the tolerance.
    Slower,
    /// Worse, for certain, by more than the tolerance.
    Regression,
    /// The repetitions do not tell.
    WithinNoise,
    /// Only one of both has it, or nothing was measured.
    NotCompared,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Regression => "REGRESSION",
            Verdict::WithinNoise => "within noise",
            Verdict::NotCompared => "not compared",
        })
    }
}

/// One row.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// Its labels, by name.
    pub row: Vec<(String, String)>,
    /// The median of the first side's repetitions; `null` if it has none.
    pub before: Option<f64>,
    /// Of the second's.
    pub after: Option<f64>,
    /// The second over the first, by their geometric means.
    pub ratio: Option<f64>,
    /// From where to where it lies; `null` of fewer than two repetitions.
    pub low: Option<f64>,
    /// See `low`.
    pub high: Option<f64>,
    /// Whether repetitions were compared one by one, because both drew from the same seeds.
    pub paired: bool,
    /// What that comes to.
    pub verdict: Verdict,
}

/// Two results, side by side.
#[derive(Clone, Debug, Serialize)]
pub struct Diff {
    /// [`DIFF_SCHEMA`].
    pub schema: &'static str,
    /// What was compared.
    pub quantity: &'static str,
    /// By how much a row may be worse, as a part.
    pub tolerance: f64,
    /// What differs between how both were measured.
    pub differences: Vec<String>,
    /// In the order of the second side.
    pub rows: Vec<Compared>,
}

impl Diff {
    /// Compares `after` with `before`, row by row.
    pub fn of(before: &Recorded, after: &Recorded, quantity: Quantity, tolerance: f64) -> Diff {
        let only_before = before.rows.iter().filter(|row| after.row(&row.labels).is_none());
        let pairs: Vec<(Option<&Row>, Option<&Row>)> = after
            .rows
            .iter()
            .map(|row| (before.row(&row.labels), Some(row)))
            .chain(only_before.map(|row| (Some(row), None)))
            .collect();
        let compared = pairs.iter().filter(|(one, other)| one.is_some() && other.is_some()).count();
        let level = interval::LEVEL / compared.max(1) as f64;
        let rows = pairs.into_iter().map(|pair| compare(pair, quantity, tolerance, level)).collect();
        let differences = before.differences(after);
        Diff { schema: DIFF_SCHEMA, quantity: quantity.name, tolerance, differences, rows }
    }

    /// Whether a row is worse by more than the tolerance.
    pub fn has_regression(&self) -> bool {
        self.rows.iter().any(|row| row.verdict == Verdict::Regression)
    }
}

fn compare(
    (before, after): (Option<&Row>, Option<&Row>),
    quantity: Quantity,
    tolerance: f64,
    level: f64,
) -> Compared {
    let values = |row: Option<&Row>| row.map(|row| row.values(quantity.column)).unwrap_or_default();
    let (of_before, of_after) = (values(before), values(after));
    let labels = after.or(before).map(|row| row.labels.clone()).unwrap_or_default();
    let mut compared = Compared {
        row: labels,
        before: median(&of_before),
        after: median(&of_after),
        ratio: None,
        low: None,
        high: None,
        paired: false,
        verdict: Verdict::NotCompared,
    };
    let (Some(before), Some(after)) = (before, after) else { return compared };
    compared.paired = before.seeds == after.seeds && of_before.len() == of_after.len();
    let Some(ratio) = ratio_of(&of_before, &of_after, compared.paired, level) else { return compared };
    compared.ratio = Some(ratio.mean);
    compared.verdict = match ratio.interval {
        None => Verdict::WithinNoise,
        Some(interval) => {
            (compared.low, compared.high) = (Some(interval.low), Some(interval.high));
            verdict(ratio.mean, interval, quantity, tolerance)
        }
    };
    compared
}

fn verdict(mean: f64, Interval { low, high }: Interval, quantity: Quantity, tolerance: f64) -> Verdict {
    // As if more were better.
    let (mean, low, high) = match quantity.more_is_better {
        true => (mean, low, high),
        false => (1.0 / mean, 1.0 / high, 1.0 / low),
    };
    match () {
        () if low > 1.0 => Verdict::Faster,
        () if high < 1.0 && mean < 1.0 - tolerance => Verdict::Regression,
        () if high < 1.0 => Verdict::Slower,
        () => Verdict::WithinNoise,
    }
}

fn median(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| crate::summary::min_median_max(values.to_vec())[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(labels: &str, seeds: &[u64], per_s: &[f64]) -> Row {
        Row::of_throughputs(vec![("system".to_owned(), labels.to_owned())], seeds, per_s)
    }

    fn recorded(rows: Vec<Row>) -> Recorded {
        Recorded { rows, ..Recorded::default() }
    }

    const THROUGHPUT: Quantity = QUANTITIES[0];

    #[test]
    fn rows_are_told_apart_and_those_of_one_side_are_named() {
        let seeds = [1, 2, 3, 4, 5];
        let steady = [100.0, 101.0, 99.0, 100.5, 99.5];
        let times = |factor: f64| steady.map(|value| value * factor).to_vec();
        let before = recorded(vec![
            row("same", &seeds, &steady),
            row("slower", &seeds, &steady),
            row("a little slower", &seeds, &steady),
            row("faster", &seeds, &steady),
            row("gone", &seeds, &steady),
        ]);
        let after = recorded(vec![
            row("same", &seeds, &steady),
            row("slower", &seeds, &times(0.95)),
            row("a little slower", &seeds, &times(0.99)),
            row("faster", &seeds, &times(1.2)),
            row("new", &seeds, &steady),
        ]);
        let diff = Diff::of(&before, &after, THROUGHPUT, 0.02);
        let verdicts: Vec<(&str, Verdict)> =
            diff.rows.iter().map(|row| (row.row[0].1.as_str(), row.verdict)).collect();
        let expected = [
            ("same", Verdict::WithinNoise),
            ("slower", Verdict::Regression),
            ("a little slower", Verdict::Slower),
            ("faster", Verdict::Faster),
            ("new", Verdict::NotCompared),
            ("gone", Verdict::NotCompared),
        ];
        assert_eq!(verdicts, expected);
        assert!(diff.has_regression() && diff.rows.iter().take(4).all(|row| row.paired));
        let slower = &diff.rows[1];
        assert!((slower.ratio.expect("a ratio") - 0.95).abs() < 1e-9 && slower.low <= slower.high);
        assert_eq!(slower.after.map(f64::round), Some(95.0));
    }

    /// Of latencies less is better.
    #[test]
    fn a_quantity_knows_which_way_is_better() {
        let quantity = Quantity::named("p99").expect("a quantity");
        let wide = Interval { low: 1.05, high: 1.2 };
        assert_eq!(verdict(1.1, wide, quantity, 0.02), Verdict::Regression);
        assert_eq!(verdict(1.1, wide, THROUGHPUT, 0.02), Verdict::Faster);
        assert!(Quantity::named("p42").is_none());
    }
}
