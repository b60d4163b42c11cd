//! Did a change make it slower: the results of one command beside those of an earlier one, row by row.
//!
//! | file | what |
//! |---|---|
//! | [`recorded`] | a result folder as it was laid down: its repetitions, its parameters, its machine |
//! | [`interval`] | from where to where the ratio of two lies |
//! | [`baselines`] | results that are kept under a name |
//! | [`rounds`] | two programs by turns, as two results |
//!
//! A row is a system, of a sweep at a point. Both sides must have been measured alike: on the same machine, with the same parameters. Whoever compares what
//! was not says so, and is told what differs.
//!
//! A row is *slower* or *faster* if its interval leaves out 1; intervals of all rows hold together with 95 % confidence (Bonferroni), so that a comparison of many rows does not find by chance what is not
//! there. It is a *regression* if it is slower for certain, and by more than the tolerance on average; or if nothing commits any more. A row that was not measured again, and one of which a single repetition
//! tells nothing, is not as good as before either: who compares must know. On a simulated machine, which repeats bit for bit, one repetition tells all.
//!
//! The interval holds what differs between repetitions, and not what differs between two calls, hours apart, on a machine that others use: who wants to know of small differences takes both by turns ([`rounds`]).

pub mod baselines;
pub mod interval;
pub mod recorded;
pub mod rounds;

use crate::confidence::Interval;
use interval::ratio_of;
use recorded::{Recorded, Row};
use serde::Serialize;
use std::fmt;

/// Name and version of [`Diff`]'s fields.
pub const DIFF_SCHEMA: &str = "trireme.diff/2";

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
    /// Worse, for certain, and on average not by more than the tolerance.
    Slower,
    /// Worse, for certain, and on average by more than the tolerance.
    Regression,
    /// The repetitions do not tell a difference.
    WithinNoise,
    /// One of both has a single repetition, or none of this quantity, or one in which nothing was committed; or a larger share of the second side's repetitions lack it.
    CannotBeTold,
    /// Only the first side has it.
    Gone,
    /// Only the second side has it.
    New,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Regression => "REGRESSION",
            Verdict::WithinNoise => "within noise",
            Verdict::CannotBeTold => "cannot be told",
            Verdict::Gone => "gone",
            Verdict::New => "new",
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
        let how = How { quantity, tolerance, level, repeats: before.is_simulated() && after.is_simulated() };
        let rows = pairs.into_iter().map(|pair| how.compare(pair)).collect();
        let differences = before.differences(after);
        Diff { schema: DIFF_SCHEMA, quantity: quantity.name, tolerance, differences, rows }
    }

    /// Whether nothing is worse by more than the tolerance, as far as it can be told of every row. `partly`: rows that only the first side has are none of the question.
    pub fn is_as_good(&self, partly: bool) -> bool {
        let has = |verdict: Verdict| self.rows.iter().any(|row| row.verdict == verdict);
        let is_compared = |row: &Compared| row.ratio.is_some();
        let is_untold = has(Verdict::CannotBeTold) || (!partly && has(Verdict::Gone));
        !has(Verdict::Regression) && !is_untold && self.rows.iter().any(is_compared)
    }

    /// Rows that are told no worse, while their intervals reach beyond the tolerance: a regression could be there unseen.
    pub fn blind_rows(&self) -> usize {
        let more_is_better = Quantity::named(self.quantity).is_none_or(|quantity| quantity.more_is_better);
        let is_blind = |row: &&Compared| {
            let worst = if more_is_better { row.low } else { row.high };
            let is_beyond = worst.is_some_and(|worst| is_worse(worst, more_is_better, self.tolerance));
            row.verdict == Verdict::WithinNoise && is_beyond
        };
        self.rows.iter().filter(is_blind).count()
    }
}

/// Whether the second side over the first, `ratio`, is worse by more than the tolerance.
fn is_worse(ratio: f64, more_is_better: bool, tolerance: f64) -> bool {
    if more_is_better { ratio < 1.0 - tolerance } else { ratio > 1.0 + tolerance }
}

/// How rows are compared.
struct How {
    quantity: Quantity,
    tolerance: f64,
    /// How often one row may be told apart where it is not.
    level: f64,
    /// Whether what was measured repeats bit for bit.
    repeats: bool,
}

impl How {
    fn compare(&self, (before, after): (Option<&Row>, Option<&Row>)) -> Compared {
        let values = |row: Option<&Row>| row.map(|row| row.values(self.quantity.column)).unwrap_or_default();
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
            verdict: Verdict::CannotBeTold,
        };
        let (before, after) = match (before, after) {
            (Some(before), Some(after)) => (before, after),
            (before, _) => {
                compared.verdict = if before.is_some() { Verdict::Gone } else { Verdict::New };
                return compared;
            }
        };
        let (all_before, all_after) =
            (before.repetitions(self.quantity.column), after.repetitions(self.quantity.column));
        compared.paired = before.seeds == after.seeds && all_before.len() == all_after.len();
        let without = |all: &[Option<f64>]| all.iter().filter(|value| value.is_none()).count();
        // More of them, as a share: both sides need not have as many repetitions.
        if without(all_after) * all_before.len() > without(all_before) * all_after.len() {
            return compared;
        }
        let sides = match compared.paired {
            // A repetition that one side lacks has no pair.
            true => all_before.iter().zip(all_after).filter_map(|(one, other)| one.zip(*other)).unzip(),
            false => (of_before, of_after),
        };
        let (of_before, of_after): (Vec<f64>, Vec<f64>) = sides;
        let Some(ratio) = ratio_of(&of_before, &of_after, compared.paired, self.level) else {
            let has_stopped = of_after.contains(&0.0) && !of_before.contains(&0.0);
            if self.quantity.more_is_better && has_stopped {
                (compared.ratio, compared.verdict) = (Some(0.0), Verdict::Regression);
            }
            return compared;
        };
        compared.ratio = Some(ratio.mean);
        let exact =
            (self.repeats && compared.paired).then_some(Interval { low: ratio.mean, high: ratio.mean });
        if let Some(interval) = ratio.interval.or(exact) {
            (compared.low, compared.high) = (Some(interval.low), Some(interval.high));
            compared.verdict = self.verdict(ratio.mean, interval);
        }
        compared
    }

    fn verdict(&self, mean: f64, Interval { low, high }: Interval) -> Verdict {
        let more_is_better = self.quantity.more_is_better;
        let (is_better, is_worse_for_certain) = match more_is_better {
            true => (low > 1.0, high < 1.0),
            false => (high < 1.0, low > 1.0),
        };
        match () {
            () if is_better => Verdict::Faster,
            () if is_worse_for_certain && is_worse(mean, more_is_better, self.tolerance) => {
                Verdict::Regression
            }
            () if is_worse_for_certain => Verdict::Slower,
            () => Verdict::WithinNoise,
        }
    }
}

fn median(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| crate::summary::min_median_max(values.to_vec())[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(labels: &str, seeds: &[u64], per_s: &[f64]) -> Row {
        let values: Vec<Option<f64>> = per_s.iter().copied().map(Some).collect();
        Row::of(vec![("system".to_owned(), labels.to_owned())], seeds, THROUGHPUT.column, &values)
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
            ("new", Verdict::New),
            ("gone", Verdict::Gone),
        ];
        assert_eq!(verdicts, expected);
        assert!(!diff.is_as_good(true) && diff.rows.iter().take(4).all(|row| row.paired));
        let slower = &diff.rows[1];
        assert!((slower.ratio.expect("a ratio") - 0.95).abs() < 1e-9 && slower.low <= slower.high);
        assert_eq!(slower.after.map(f64::round), Some(95.0));
    }

    fn how(quantity: Quantity, tolerance: f64) -> How {
        How { quantity, tolerance, level: interval::LEVEL, repeats: false }
    }

    /// Of latencies less is better, and twice as much is worse by 100 %.
    #[test]
    fn a_quantity_knows_which_way_is_better() {
        let quantity = Quantity::named("p99").expect("a quantity");
        let wide = Interval { low: 1.05, high: 1.2 };
        assert_eq!(how(quantity, 0.02).verdict(1.1, wide), Verdict::Regression);
        assert_eq!(how(THROUGHPUT, 0.02).verdict(1.1, wide), Verdict::Faster);
        let twice = Interval { low: 1.8, high: 2.0 };
        assert_eq!(how(quantity, 0.5).verdict(1.9, twice), Verdict::Regression);
        assert_eq!(how(quantity, 0.95).verdict(1.9, twice), Verdict::Slower);
        assert!(Quantity::named("p42").is_none());
    }

    /// Latencies of the second repetition's transactions are not those of the first's.
    #[test]
    fn repetitions_without_latencies_are_no_pairs() {
        let p99 = Quantity::named("p99").expect("a quantity");
        let side = |seeds: &[u64], values: &[Option<f64>]| {
            recorded(vec![Row::of(vec![("system".to_owned(), "it".to_owned())], seeds, p99.column, values)])
        };
        let seeds = [1, 2, 3, 4];
        let before = side(&seeds, &[None, Some(10.0), Some(20.0), Some(30.0)]);
        let after = side(&seeds, &[Some(99.0), Some(10.0), Some(20.0), Some(30.0)]);
        let same = &Diff::of(&before, &after, p99, 0.02).rows[0];
        assert_eq!((same.verdict, same.ratio, same.paired), (Verdict::WithinNoise, Some(1.0), true));
        // It stalls where it did not: what is left of its latencies says nothing for it, with pairs and without.
        let stalls = &Diff::of(&after, &before, p99, 0.02);
        assert_eq!(stalls.rows[0].verdict, Verdict::CannotBeTold);
        assert!(!stalls.is_as_good(true));
        let others = side(&[5, 6, 7, 8], &[None, Some(1.0), Some(2.0), Some(3.0)]);
        assert_eq!(Diff::of(&after, &others, p99, 0.02).rows[0].verdict, Verdict::CannotBeTold);
    }

    #[test]
    fn what_cannot_be_told_is_not_as_good() {
        let diff = |before: Row, after: Row| {
            Diff::of(&recorded(vec![before]), &recorded(vec![after]), THROUGHPUT, 0.02)
        };
        let steady = row("it", &[1, 2], &[100.0, 101.0]);
        let same = diff(steady.clone(), steady.clone());
        assert!(same.is_as_good(false) && same.blind_rows() == 0);
        // Nothing commits any more.
        let stopped = diff(steady.clone(), row("it", &[1, 2], &[100.0, 0.0]));
        assert_eq!((stopped.rows[0].verdict, stopped.rows[0].ratio), (Verdict::Regression, Some(0.0)));
        // One repetition, ten times slower.
        let one = diff(row("it", &[1], &[100.0]), row("it", &[1], &[10.0]));
        assert_eq!(one.rows[0].verdict, Verdict::CannotBeTold);
        assert!(!one.is_as_good(false) && !one.is_as_good(true));
        // Another system.
        let other = diff(steady.clone(), row("other", &[1, 2], &[100.0, 101.0]));
        assert!(!other.is_as_good(false) && !other.is_as_good(true), "nothing was compared");
        // Half of them, which may be meant.
        let both = recorded(vec![steady.clone(), row("other", &[1, 2], &[1.0, 1.1])]);
        let half = Diff::of(&both, &recorded(vec![steady]), THROUGHPUT, 0.02);
        assert!(!half.is_as_good(false) && half.is_as_good(true));
        // Noise in which a regression could hide.
        let noisy =
            diff(row("it", &[1, 2, 3], &[100.0, 150.0, 70.0]), row("it", &[4, 5, 6], &[90.0, 160.0, 70.0]));
        assert!(noisy.is_as_good(false) && noisy.blind_rows() == 1);
    }

    /// What repeats bit for bit is told by one repetition.
    #[test]
    fn a_simulated_repetition_tells_all() {
        let simulated = |per_s: f64| Recorded {
            parameters: [("machine".to_owned(), "m".to_owned())].into(),
            ..recorded(vec![row("it", &[1], &[per_s])])
        };
        let verdict = |per_s| Diff::of(&simulated(100.0), &simulated(per_s), THROUGHPUT, 0.0).rows[0].verdict;
        assert_eq!(
            [100.0, 99.9, 100.1].map(verdict),
            [Verdict::WithinNoise, Verdict::Regression, Verdict::Faster]
        );
    }
}
