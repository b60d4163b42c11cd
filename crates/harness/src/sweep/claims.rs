//! Claims: sentences of a paper that the points of a sweep bear out or not.
//!
//! ```toml
//! [[claims]]
//! that = "Message passing carries DL_DETECT where latches do not"
//! left = { system = "delegation dl-detect", workers = "most" }
//! right = { system = "shared-everything dl-detect", workers = "most" }
//! measure = "throughput"           # or another of `Measure::names`
//! at_least = 7                     # and/or `at_most`: of left / right
//! fewest_workers = 16              # with fewer, the points do not tell; 1 if left out
//! ```
//!
//! Left and right select points by axis: a value, a list of values, and on an axis of numbers `"most"` or `"least"`.
//! Left and right name the same axes; what they do not name they share, so that each left point is compared with the
//! right points at its own values of the other axes. Without `right`, the bounds are for the measure itself.
//!
//! Medians over the repetitions are compared. The ratio's lower end is the left side's worst repetition over the right
//! side's best, its upper end the other way round. A comparison *holds* if the whole of that range keeps the bounds and
//! *does not hold* if none of it does; in between, the repetitions spread wider than the difference, and it cannot be
//! told. A claim holds if all its comparisons do, and does not hold if one does not.
//!
//! A claim that does not hold is a result like any other.

use super::cases::combinations;
use super::experiment::{Axis, Experiment, Source, in_order, scalar};
use crate::failure::Failure;
use crate::folder::samples::Sample;
use crate::summary::COSTS;
use crate::text::numbers::{counted, ratio};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use toml::{Spanned, Value};

/// A claim as the file says it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClaimText {
    that: String,
    left: Spanned<SelectionText>,
    right: Option<Spanned<SelectionText>>,
    measure: Spanned<String>,
    at_least: Option<Spanned<f64>>,
    at_most: Option<Spanned<f64>>,
    fewest_workers: Option<usize>,
}

type SelectionText = BTreeMap<Spanned<String>, Spanned<Value>>;

/// A claim that can be told.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The sentence.
    pub that: String,
    /// What is claimed to be more, or less.
    pub left: Selection,
    /// What it is compared with; `None` compares the measure itself.
    pub right: Option<Selection>,
    /// What is compared.
    pub measure: Measure,
    /// What is claimed of left / right.
    pub bounds: Bounds,
    /// With fewer workers than this the claim says nothing.
    pub fewest_workers: usize,
}

/// Points, by the values that they have on some axes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Axes with the values taken, as the file says them.
    by_axis: Vec<(String, Vec<String>)>,
}

/// What is claimed of a number: at least one of the two.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bounds {
    /// It is not below this.
    pub at_least: Option<f64>,
    /// It is not above this.
    pub at_most: Option<f64>,
}

/// A number that each repetition has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Measure(&'static str);

/// What came of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The points bear it out.
    Holds,
    /// The points are against it.
    DoesNotHold,
    /// These points do not tell.
    CannotBeToldHere,
}

/// A claim with its verdict: what `--json` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Told {
    /// The sentence.
    pub that: String,
    /// What was compared.
    pub measure: Measure,
    /// Which points.
    pub left: String,
    /// With which.
    pub right: Option<String>,
    /// What is claimed of left / right.
    #[serde(flatten)]
    pub bounds: Bounds,
    /// What came of it.
    pub verdict: Verdict,
    /// Left / right by their medians, of the comparison that decides; `None` if there is none, or if right is 0.
    pub ratio: Option<f64>,
    /// The verdict's reason.
    pub why: String,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Holds => "holds",
            Verdict::DoesNotHold => "does not hold",
            Verdict::CannotBeToldHere => "cannot be told here",
        })
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.replace('_', " "))
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.at_least, self.at_most) {
            (Some(least), Some(most)) => write!(f, "{least} to {most}"),
            (Some(least), None) => write!(f, "at least {least}"),
            (None, Some(most)) => write!(f, "at most {most}"),
            (None, None) => f.write_str("anything"),
        }
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one = |(axis, values): &(String, Vec<String>)| format!("{axis} {}", values.join(" or "));
        let all: Vec<String> = self.by_axis.iter().map(one).collect();
        f.write_str(if all.is_empty() { "all points".to_owned() } else { all.join(", ") }.as_str())
    }
}

impl Measure {
    const THROUGHPUT: &'static str = "throughput";
    const ABORT_RATE: &'static str = "abort_rate";
    const P50: &'static str = "p50_ns";
    const P99: &'static str = "p99_ns";
    const P999: &'static str = "p999_ns";

    /// Commits per second, aborts per commit, percentiles of latency, and the architectures' costs.
    pub fn names() -> impl Iterator<Item = &'static str> {
        [Measure::THROUGHPUT, Measure::ABORT_RATE, Measure::P50, Measure::P99, Measure::P999]
            .into_iter()
            .chain(COSTS)
    }

    fn named(name: &str) -> Option<Measure> {
        Measure::names().find(|known| *known == name).map(Measure)
    }

    /// `None` if the repetition did not measure it.
    fn of(self, sample: &Sample) -> Option<f64> {
        match self.0 {
            Measure::THROUGHPUT => Some(sample.throughput_per_s),
            Measure::ABORT_RATE => {
                Some(sample.aborts.iter().sum::<u64>() as f64 / sample.commits.max(1) as f64)
            }
            Measure::P50 => Some(sample.latency_ns.p50 as f64),
            Measure::P99 => Some(sample.latency_ns.p99 as f64),
            Measure::P999 => Some(sample.latency_ns.p999 as f64),
            cost => COSTS.iter().zip(sample.costs.values()).find(|(name, _)| **name == cost)?.1,
        }
    }
}

/// What a value of a selection is on its axis.
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
        return axis
            .values
            .iter()
            .find(|value| *value == given)
            .map_or(Found::Unknown, |value| Found::At(value));
    };
    let place = |wanted: f64| numbers.iter().position(|&number| number == wanted);
    let wanted = match given {
        "most" => numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        "least" => numbers.iter().copied().fold(f64::INFINITY, f64::min),
        _ => match given.parse() {
            Ok(number) => number,
            Err(_) => return Found::Unknown,
        },
    };
    place(wanted).map_or(Found::Absent, |place| Found::At(&axis.values[place]))
}

impl ClaimText {
    pub(super) fn checked(self, source: &Source<'_>, axes: &[Axis]) -> Result<Claim, Failure> {
        let left_at = self.left.span().start;
        let left = Selection::checked("left", self.left, source, axes)?;
        let right_at = self.right.as_ref().map_or(left_at, |right| right.span().start);
        let right = self.right.map(|right| Selection::checked("right", right, source, axes)).transpose()?;
        if let Some(right) = &right {
            if left.axes() != right.axes() {
                let what = format!(
                    "right names the axes {}, left {}: allowed: the same ones",
                    right.axes().join(", "),
                    left.axes().join(", ")
                );
                return Err(source.failure(right_at, what));
            }
            if left == *right {
                return Err(source.failure(right_at, "left and right are the same points"));
            }
        }
        let measure = Measure::named(self.measure.get_ref()).ok_or_else(|| {
            let allowed: Vec<&str> = Measure::names().collect();
            let what = format!("measure {}: allowed: {}", self.measure.get_ref(), allowed.join(", "));
            source.failure(self.measure.span().start, what)
        })?;
        for bound in [&self.at_least, &self.at_most].into_iter().flatten() {
            if !(bound.get_ref().is_finite() && *bound.get_ref() >= 0.0) {
                let what = format!("{}: allowed: a number, at least 0", bound.get_ref());
                return Err(source.failure(bound.span().start, what));
            }
        }
        let at = |bound: Option<Spanned<f64>>| bound.map(Spanned::into_inner);
        let bounds = Bounds { at_least: at(self.at_least), at_most: at(self.at_most) };
        match bounds {
            Bounds { at_least: None, at_most: None } => {
                Err(source.failure(left_at, "the claim needs at_least or at_most"))
            }
            Bounds { at_least: Some(least), at_most: Some(most) } if least > most => {
                Err(source.failure(left_at, format!("at_least {least}: allowed: at most at_most, {most}")))
            }
            _ => Ok(Claim {
                that: self.that.trim().to_owned(),
                left,
                right,
                measure,
                bounds,
                fewest_workers: self.fewest_workers.unwrap_or(1),
            }),
        }
    }
}

impl Selection {
    fn checked(
        side: &str,
        text: Spanned<SelectionText>,
        source: &Source<'_>,
        axes: &[Axis],
    ) -> Result<Selection, Failure> {
        let mut by_axis = Vec::new();
        for (name, value) in in_order(text.into_inner()) {
            let at = value.span().start;
            let Some(axis) = axes.iter().find(|axis| axis.name == name) else {
                let names: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
                let what = format!("{side} names {name}: allowed: the axes {}", names.join(", "));
                return Err(source.failure(at, what));
            };
            let values: Option<Vec<String>> = match value.get_ref() {
                Value::Array(list) if !list.is_empty() => list.iter().map(scalar).collect(),
                one => scalar(one).map(|one| vec![one]),
            };
            let values = values.ok_or_else(|| {
                source.failure(at, format!("{side}: {name}: allowed: a value of the axis, or a list of them"))
            })?;
            if let Some(unknown) = values.iter().find(|value| matches!(find(axis, value), Found::Unknown)) {
                let what = format!("{side}: {name} {unknown}: allowed: {}", axis.values.join(", "));
                return Err(source.failure(at, what));
            }
            by_axis.push((name, values));
        }
        Ok(Selection { by_axis })
    }

    /// The names of its axes, sorted.
    fn axes(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.by_axis.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        names
    }

    /// Its values that this experiment has, by axis; or one that it does not have.
    fn here<'a>(&self, axes: &'a [Axis]) -> Result<Vec<(usize, Vec<&'a str>)>, String> {
        let on_axis = |(name, values): &(String, Vec<String>)| {
            let position = axes.iter().position(|axis| axis.name == *name).expect("checked");
            let value = |value: &String| match find(&axes[position], value) {
                Found::At(value) => Ok(value),
                _ => Err(format!("there is no point at {name} {value}")),
            };
            Ok((position, values.iter().map(value).collect::<Result<_, String>>()?))
        };
        self.by_axis.iter().map(on_axis).collect()
    }

    fn toml(&self) -> String {
        let value = |value: &String| Value::String(value.clone()).to_string();
        let one = |(axis, values): &(String, Vec<String>)| {
            format!("{axis} = [{}]", values.iter().map(value).collect::<Vec<_>>().join(", "))
        };
        format!("{{ {} }}", self.by_axis.iter().map(one).collect::<Vec<_>>().join(", "))
    }
}

/// The claims as the end of an experiment file.
pub(super) fn toml(claims: &[Claim]) -> String {
    let text = |text: &str| Value::String(text.to_owned()).to_string();
    let one = |claim: &Claim| {
        let mut lines = vec![
            "\n[[claims]]".to_owned(),
            format!("that = {}", text(&claim.that)),
            format!("left = {}", claim.left.toml()),
        ];
        lines.extend(claim.right.as_ref().map(|right| format!("right = {}", right.toml())));
        lines.push(format!("measure = {}", text(claim.measure.0)));
        let bounds = [("at_least", claim.bounds.at_least), ("at_most", claim.bounds.at_most)];
        lines.extend(bounds.iter().filter_map(|(name, bound)| Some(format!("{name} = {:?}", (*bound)?))));
        lines.push(format!("fewest_workers = {}\n", claim.fewest_workers));
        lines.join("\n")
    };
    claims.iter().map(one).collect()
}

/// What is known of a point when the claims are told.
#[derive(Clone, Copy)]
pub enum Known<'a> {
    /// Its repetitions, and its number of workers.
    Measured(&'a [Sample], usize),
    /// It has no numbers yet.
    NotYet,
    /// It is not measured at all.
    LeftOut,
}

/// Tells every claim of `experiment` by what is `known` of the points at their places on the axes.
pub fn tell<'a>(experiment: &Experiment, known: impl Fn(&[String]) -> Known<'a>) -> Vec<Told> {
    let places = combinations(experiment);
    let told = |claim: &Claim| {
        let decided = decide(claim, &experiment.axes, &places, &known);
        Told {
            that: claim.that.clone(),
            measure: claim.measure,
            left: claim.left.to_string(),
            right: claim.right.as_ref().map(Selection::to_string),
            bounds: claim.bounds,
            verdict: decided.verdict,
            ratio: decided.ratio.filter(|ratio| ratio.is_finite()),
            why: decided.why,
        }
    };
    experiment.claims.iter().map(told).collect()
}

/// One comparison's verdict, or a claim's.
struct Decided {
    verdict: Verdict,
    ratio: Option<f64>,
    why: String,
}

impl Decided {
    fn cannot(why: impl Into<String>) -> Decided {
        Decided { verdict: Verdict::CannotBeToldHere, ratio: None, why: why.into() }
    }
}

fn decide<'a>(
    claim: &Claim,
    axes: &[Axis],
    places: &[Vec<String>],
    known: &impl Fn(&[String]) -> Known<'a>,
) -> Decided {
    let left = match claim.left.here(axes) {
        Ok(left) => left,
        Err(why) => return Decided::cannot(why),
    };
    let right = match claim.right.as_ref().map(|right| right.here(axes)).transpose() {
        Ok(right) => right,
        Err(why) => return Decided::cannot(why),
    };
    let mut all = Vec::new();
    for left_at in places.iter().filter(|place| is_at(place, &left)) {
        let Some(right) = &right else {
            all.push(compare(claim, axes, left_at, None, known));
            continue;
        };
        let shares = |place: &&Vec<String>| {
            (0..axes.len())
                .all(|axis| left.iter().any(|(named, _)| *named == axis) || place[axis] == left_at[axis])
        };
        for right_at in places.iter().filter(|place| is_at(place, right)).filter(shares) {
            all.push(compare(claim, axes, left_at, Some(right_at), known));
        }
    }
    let count = all.len();
    let mut decided = worst(claim.bounds, all);
    if count > 1 && decided.ratio.is_some() {
        decided.why = format!("{}; of {count} comparisons this one is the worst", decided.why);
    }
    decided
}

fn is_at(place: &[String], selected: &[(usize, Vec<&str>)]) -> bool {
    selected.iter().all(|(axis, values)| values.contains(&place[*axis].as_str()))
}

/// The one that decides: against the claim before untold before for it, and then the one nearest to being against it.
fn worst(bounds: Bounds, all: Vec<Decided>) -> Decided {
    let rank = |decided: &Decided| match decided.verdict {
        Verdict::DoesNotHold => 0,
        Verdict::CannotBeToldHere => 1,
        Verdict::Holds => 2,
    };
    let against = |decided: &Decided| match decided.ratio {
        None => f64::NEG_INFINITY,
        Some(ratio) if bounds.at_least.is_some() => ratio,
        Some(ratio) => -ratio,
    };
    all.into_iter()
        .min_by(|one, other| rank(one).cmp(&rank(other)).then(against(one).total_cmp(&against(other))))
        .unwrap_or_else(|| Decided::cannot("there are no such points"))
}

/// One left point with one right point, or with the bounds themselves.
fn compare<'a>(
    claim: &Claim,
    axes: &[Axis],
    left_at: &[String],
    right_at: Option<&Vec<String>>,
    known: &impl Fn(&[String]) -> Known<'a>,
) -> Decided {
    if right_at.is_some_and(|right_at| right_at == left_at) {
        return Decided::cannot(format!("both sides are the point {}", name(axes, left_at)));
    }
    let both = [Some(left_at), right_at.map(Vec::as_slice)];
    let (mut ranges, mut most_workers) = (Vec::new(), 0);
    for at in both.into_iter().flatten() {
        let (samples, workers) = match known(at) {
            Known::Measured(samples, workers) => (samples, workers),
            Known::NotYet => return Decided::cannot(format!("{} is not measured yet", name(axes, at))),
            Known::LeftOut => return Decided::cannot(format!("{} is left out", name(axes, at))),
        };
        most_workers = most_workers.max(workers);
        match Range::of(claim.measure, samples) {
            Ok(range) => ranges.push(range),
            Err(why) => return Decided::cannot(format!("{}: {why}", name(axes, at))),
        }
    }
    if most_workers < claim.fewest_workers {
        let here = counted(most_workers, "worker");
        return Decided::cannot(format!(
            "it is about {} workers or more; here: {here}",
            claim.fewest_workers
        ));
    }
    let range = match ranges[..] {
        [left, right] if left.median == 0.0 && right.median == 0.0 => {
            return Decided::cannot(format!("the {} is 0 on both sides", claim.measure));
        }
        [left, right] => left.over(right),
        _ => ranges[0],
    };
    let (verdict, spread) = claim.bounds.judge(range);
    let Range { low, median, high } = range;
    let what = if right_at.is_some() { "ratio" } else { "value" };
    let place = right_at.map_or(name(axes, left_at), |right_at| {
        format!("{} against {}", name(axes, left_at), name(axes, right_at))
    });
    let why = format!(
        "{what} {} ({} to {}){spread}; claimed: {}; {place}",
        number(median),
        number(low),
        number(high),
        claim.bounds
    );
    Decided { verdict, ratio: Some(median), why }
}

fn name(axes: &[Axis], at: &[String]) -> String {
    let one = |(axis, value): (&Axis, &String)| match axis.name.as_str() {
        "system" | "architecture" | "protocol" => value.clone(),
        other => format!("{other} {value}"),
    };
    axes.iter().zip(at).map(one).collect::<Vec<_>>().join(", ")
}

/// A number over the repetitions.
#[derive(Clone, Copy)]
struct Range {
    low: f64,
    median: f64,
    high: f64,
}

impl Range {
    fn of(measure: Measure, samples: &[Sample]) -> Result<Range, String> {
        let values: Option<Vec<f64>> = samples.iter().map(|sample| measure.of(sample)).collect();
        let values = values.ok_or_else(|| format!("its {measure} was not measured"))?;
        if values.len() < 2 {
            return Err("one repetition has no spread; use repeat 3 or more".to_owned());
        }
        let [low, median, high] = crate::summary::min_median_max(values);
        Ok(Range { low, median, high })
    }

    fn over(self, right: Range) -> Range {
        // Nothing over nothing may be any number.
        let over = |left: f64, right: f64, unclear: f64| {
            if left == 0.0 && right == 0.0 { unclear } else { left / right }
        };
        Range {
            low: over(self.low, right.high, 0.0),
            median: self.median / right.median,
            high: over(self.high, right.low, f64::INFINITY),
        }
    }
}

impl Bounds {
    /// The verdict, and what to say if the repetitions do not tell.
    fn judge(self, range: Range) -> (Verdict, &'static str) {
        let (least, most) = (self.at_least.unwrap_or(0.0), self.at_most.unwrap_or(f64::INFINITY));
        if range.low >= least && range.high <= most {
            (Verdict::Holds, "")
        } else if range.high < least || range.low > most {
            (Verdict::DoesNotHold, "")
        } else {
            (Verdict::CannotBeToldHere, ", a spread wider than the difference")
        }
    }
}

fn number(value: f64) -> String {
    if value.is_infinite() { "infinity".to_owned() } else { ratio(value) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::Latency;
    use contract::AbortReason;

    const HEAD: &str = "workload = 'ycsb'\n[axes]\nprotocol = ['silo', 'no-wait']\nworkers = [1, 2]\n";

    fn experiment(axes: &str, claim: &str) -> Experiment {
        let text = format!("workload = 'micro'\n[axes]\n{axes}\n[[claims]]\nthat = 'so'\n{claim}");
        Experiment::parse("e.toml", &text, 2).expect("an experiment")
    }

    /// Repetitions of these throughputs, with one abort for every ten commits.
    fn samples(throughputs: &[f64]) -> Vec<Sample> {
        let mut aborts = [0; AbortReason::ALL.len()];
        aborts[0] = 100;
        let sample = |(number, &throughput_per_s): (usize, &f64)| Sample {
            repetition: number + 1,
            seed: 1,
            elapsed_s: 1.0,
            throughput_per_s,
            commits: 1000,
            user_rollbacks: 0,
            aborts,
            latency_ns: Latency { p99: 500, ..Latency::default() },
            costs: Default::default(),
        };
        throughputs.iter().enumerate().map(sample).collect()
    }

    /// What comes of `claim` if the points on one axis of systems have these throughputs.
    fn told(claim: &str, points: &[(&str, &[f64])]) -> Told {
        let names: Vec<String> = points.iter().map(|(name, _)| format!("'{name}'")).collect();
        let experiment = experiment(&format!("system = [{}]", names.join(", ")), claim);
        let all: Vec<(&str, Vec<Sample>)> =
            points.iter().map(|(name, throughputs)| (*name, samples(throughputs))).collect();
        let mut told = tell(&experiment, |at| {
            let (_, samples) = all.iter().find(|(name, _)| *name == at[0]).expect("a point of the axis");
            if samples.is_empty() { Known::NotYet } else { Known::Measured(samples, 2) }
        });
        assert_eq!(told.len(), 1);
        told.remove(0)
    }

    const A_OVER_B: &str = "left = { system = 'a' }\nright = { system = 'b' }\nmeasure = 'throughput'\n";

    #[test]
    fn medians_are_compared_and_the_spread_must_not_decide() {
        use Verdict::{CannotBeToldHere, DoesNotHold, Holds};
        let cases: [(&str, &[f64], &[f64], Verdict); 9] = [
            ("at_least = 1.5", &[300.0, 310.0, 290.0], &[100.0, 101.0, 99.0], Holds),
            ("at_least = 2.9", &[300.0, 310.0, 290.0], &[100.0, 101.0, 99.0], CannotBeToldHere),
            ("at_least = 3.5", &[300.0, 310.0, 290.0], &[100.0, 101.0, 99.0], DoesNotHold),
            ("at_most = 3.5", &[300.0, 310.0, 290.0], &[100.0, 101.0, 99.0], Holds),
            ("at_most = 3", &[300.0, 310.0, 290.0], &[100.0, 101.0, 99.0], CannotBeToldHere),
            ("at_least = 0.9\nat_most = 1.1", &[100.0, 101.0], &[100.0, 101.0], Holds),
            ("at_least = 0.9\nat_most = 1.1", &[80.0, 81.0], &[100.0, 101.0], DoesNotHold),
            ("at_least = 10", &[5.0, 5.0], &[0.0, 0.0], Holds),
            ("at_least = 1", &[0.0, 0.0], &[0.0, 0.0], CannotBeToldHere),
        ];
        for (bounds, left, right, verdict) in cases {
            let told = told(&format!("{A_OVER_B}{bounds}"), &[("a", left), ("b", right)]);
            assert_eq!(told.verdict, verdict, "{bounds}: {}", told.why);
        }
        let told = told(
            &format!("{A_OVER_B}at_least = 3.5"),
            &[("a", &[290.0, 300.0, 310.0]), ("b", &[100.0, 100.0])],
        );
        assert_eq!(told.ratio, Some(3.0));
        assert_eq!(told.why, "ratio 3.00 (2.90 to 3.10); claimed: at least 3.5; a against b");
    }

    #[test]
    fn what_is_missing_is_not_told() {
        let why = |claim: &str, points: &[(&str, &[f64])]| {
            let told = told(&format!("{A_OVER_B}at_least = 1\n{claim}"), points);
            assert_eq!((told.verdict, told.ratio), (Verdict::CannotBeToldHere, None));
            told.why
        };
        assert_eq!(why("", &[("a", &[1.0, 2.0]), ("b", &[])]), "b is not measured yet");
        assert_eq!(
            why("", &[("a", &[1.0]), ("b", &[1.0])]),
            "a: one repetition has no spread; use repeat 3 or more"
        );
        assert_eq!(
            why("fewest_workers = 16", &[("a", &[3.0, 3.0]), ("b", &[1.0, 1.0])]),
            "it is about 16 workers or more; here: 2 workers"
        );
        let experiment = experiment("system = ['a', 'b']", &format!("{A_OVER_B}at_least = 1"));
        let left_out = tell(&experiment, |_| Known::LeftOut).remove(0);
        assert_eq!((left_out.verdict, &*left_out.why), (Verdict::CannotBeToldHere, "a is left out"));
    }

    #[test]
    fn a_value_alone_may_be_claimed() {
        let alone = |claim: &str| told(&format!("left = {{ system = 'a' }}\n{claim}"), &[("a", &[5.0, 5.0])]);
        let rate = alone("measure = 'abort_rate'\nat_least = 0.1\nat_most = 0.1");
        assert_eq!((rate.verdict, rate.ratio, rate.right), (Verdict::Holds, Some(0.1), None));
        assert_eq!(alone("measure = 'p99_ns'\nat_most = 499").verdict, Verdict::DoesNotHold);
        let unmeasured = alone("measure = 'lock_hold_ns'\nat_most = 499");
        assert_eq!(unmeasured.why, "a: its lock hold ns was not measured");
    }

    /// Points whose throughput is the product of their numbers on the axes.
    fn product(experiment: &Experiment) -> Told {
        let all: Vec<(Vec<String>, Vec<Sample>)> = combinations(experiment)
            .into_iter()
            .map(|at| {
                let value = at.iter().filter_map(|value| value.parse::<f64>().ok()).product();
                (at, samples(&[value, value]))
            })
            .collect();
        let known = |at: &[String]| {
            Known::Measured(&all.iter().find(|(place, _)| place == at).expect("a point").1, 2)
        };
        tell(experiment, known).remove(0)
    }

    #[test]
    fn axes_that_are_not_named_are_shared() {
        let axes = "workers = [1, 2, 10]\ntheta = [0.5, 1, 4]";
        let of = |claim: &str| product(&experiment(axes, claim));
        let shared =
            of("left = { workers = 'most' }\nright = { workers = 'least' }\nmeasure = 'throughput'\n\
                         at_least = 10\nat_most = 10");
        assert_eq!(shared.verdict, Verdict::Holds, "{}", shared.why);
        assert!(shared.why.ends_with("; of 3 comparisons this one is the worst"), "{}", shared.why);
        let worst = of("left = { workers = [2, 10] }\nright = { workers = 1 }\nmeasure = 'throughput'\n\
                        at_least = 5");
        assert_eq!((worst.verdict, worst.ratio), (Verdict::DoesNotHold, Some(2.0)), "{}", worst.why);
        assert!(worst.why.contains("workers 2, theta 0.5 against workers 1, theta 0.5"), "{}", worst.why);
        let absent =
            of("left = { workers = 4 }\nright = { workers = 1 }\nmeasure = 'throughput'\nat_least = 2");
        assert_eq!(absent.why, "there is no point at workers 4");
        let same =
            of("left = { theta = 4.0 }\nright = { theta = 'most' }\nmeasure = 'throughput'\nat_least = 2");
        assert_eq!(same.why, "both sides are the point workers 1, theta 4");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let failure = |claim: &str| {
            let text = format!("{HEAD}[[claims]]\nthat = 'so'\n{claim}");
            Experiment::parse("e.toml", &text, 2).expect_err(claim).to_string()
        };
        let both = "left = { protocol = 'silo' }\nright = { protocol = 'no-wait' }";
        let cases = [
            ("measure = 'throughput'\nat_least = 1", "e.toml:5:1: missing field `left`"),
            ("lefft = {}", "e.toml:7:1: unknown field `lefft`, expected one of `that`, `left`,"),
            (
                "left = { protocol = 'sillo' }\nmeasure = 'throughput'",
                "e.toml:7:21: left: protocol sillo: allowed: silo, no-wait",
            ),
            (
                "left = { workers = 'all' }\nmeasure = 'throughput'",
                "e.toml:7:20: left: workers all: allowed: 1, 2",
            ),
            (
                "left = { theta = 1 }\nmeasure = 'p99_ns'",
                "e.toml:7:18: left names theta: allowed: the axes protocol,",
            ),
            (
                "left = { workers = [] }\nmeasure = 'p99_ns'",
                "e.toml:7:20: left: workers: allowed: a value of the axis",
            ),
            (
                "left = { protocol = 'silo' }\nright = { workers = 1 }\nmeasure = 'p99_ns'",
                "e.toml:8:9: right names the axes workers, left protocol: allowed: the same ones",
            ),
            (
                "left = { workers = 1 }\nright = { workers = 1 }\nmeasure = 'p99_ns'",
                "e.toml:8:9: left and right are the same points",
            ),
        ];
        for (claim, message) in cases {
            let failure = failure(claim);
            assert!(failure.starts_with(message), "{failure}");
            assert_eq!(failure.lines().count(), 1);
        }
        let cases = [
            (
                "measure = 'speed'\nat_least = 1",
                "e.toml:9:11: measure speed: allowed: throughput, abort_rate, p50_ns,",
            ),
            ("measure = 'p99_ns'", "e.toml:7:8: the claim needs at_least or at_most"),
            ("measure = 'p99_ns'\nat_most = -1", "e.toml:10:11: -1: allowed: a number, at least 0"),
            ("measure = 'p99_ns'\nat_most = nan", "e.toml:10:11: NaN: allowed: a number, at least 0"),
            ("measure = 'p99_ns'\nat_most = '1'", "e.toml:10:11: invalid type: string \"1\", expected f64"),
            (
                "measure = 'p99_ns'\nat_most = 1\nat_least = 2",
                "e.toml:7:8: at_least 2: allowed: at most at_most, 1",
            ),
        ];
        for (claim, message) in cases {
            let failure = failure(&format!("{both}\n{claim}"));
            assert!(failure.starts_with(message), "{failure}");
        }
    }

    #[test]
    fn claims_are_written_as_they_are_read() {
        let text = format!(
            "{HEAD}[[claims]]\nthat = \"say 'so'\"\nleft = {{ protocol = 'silo', workers = 'most' }}\n\
             right = {{ protocol = ['no-wait', 'silo'], workers = 1 }}\nmeasure = 'abort_rate'\nat_most = 0.5\n\
             fewest_workers = 4\n[[claims]]\nthat = 'b'\nleft = {{}}\nmeasure = 'throughput'\nat_least = 1e3"
        );
        let claims = Experiment::parse("e.toml", &text, 2).expect("an experiment").claims;
        let again = Experiment::parse("e.toml", &format!("{HEAD}{}", toml(&claims)), 2);
        assert_eq!(again.expect("an experiment").claims, claims);
        assert_eq!(claims.len(), 2);
    }
}
