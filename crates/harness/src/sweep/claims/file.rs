//! Claims in an experiment file: read, checked as far as can be before anything is measured, and written back.

use super::selection::SelectionText;
use super::{Bounds, Claim, Measure, Selection};
use crate::failure::Failure;
use crate::sweep::experiment::{Axis, Source};
use serde::Deserialize;
use toml::{Spanned, Value};

/// A claim as the file says it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::sweep) struct ClaimText {
    that: String,
    left: Spanned<SelectionText>,
    right: Option<Spanned<SelectionText>>,
    measure: Spanned<String>,
    at_least: Option<Spanned<f64>>,
    at_most: Option<Spanned<f64>>,
    fewest_workers: Option<usize>,
}

impl ClaimText {
    /// The claim, if it can be told on these `axes`.
    pub(in crate::sweep) fn checked(self, source: &Source<'_>, axes: &[Axis]) -> Result<Claim, Failure> {
        let left_at = self.left.span().start;
        let left = Selection::checked("left", self.left, source, axes)?;
        let right = match self.right {
            Some(text) => Some(checked_right(text, &left, source, axes)?),
            None => None,
        };
        let measure = Measure::named(self.measure.get_ref()).ok_or_else(|| {
            let allowed: Vec<&str> = Measure::names().collect();
            let what = format!("measure {}: allowed: {}", self.measure.get_ref(), allowed.join(", "));
            source.failure(self.measure.span().start, what)
        })?;
        Ok(Claim {
            that: self.that.trim().to_owned(),
            left,
            right,
            measure,
            bounds: checked_bounds(self.at_least, self.at_most, left_at, source)?,
            fewest_workers: self.fewest_workers.unwrap_or(1),
        })
    }
}

/// Only like is compared with like, and nothing with itself.
fn checked_right(
    text: Spanned<SelectionText>,
    left: &Selection,
    source: &Source<'_>,
    axes: &[Axis],
) -> Result<Selection, Failure> {
    let at = text.span().start;
    let right = Selection::checked("right", text, source, axes)?;
    if left.axes() != right.axes() {
        let (right, left) = (right.axes().join(", "), left.axes().join(", "));
        let what = format!("right names the axes {right}, left {left}: allowed: the same ones");
        return Err(source.failure(at, what));
    }
    if *left == right {
        return Err(source.failure(at, "left and right are the same points: allowed: different ones"));
    }
    Ok(right)
}

/// `claim_at` is where to say what is wrong with both together.
fn checked_bounds(
    at_least: Option<Spanned<f64>>,
    at_most: Option<Spanned<f64>>,
    claim_at: usize,
    source: &Source<'_>,
) -> Result<Bounds, Failure> {
    for (name, bound) in [("at_least", &at_least), ("at_most", &at_most)] {
        let Some(bound) = bound else { continue };
        if !(bound.get_ref().is_finite() && *bound.get_ref() >= 0.0) {
            let what = format!("{name} {}: allowed: a finite number, at least 0", bound.get_ref());
            return Err(source.failure(bound.span().start, what));
        }
    }
    let value = |bound: Option<Spanned<f64>>| bound.map(Spanned::into_inner);
    match (value(at_least), value(at_most)) {
        (None, None) => Err(source.failure(claim_at, "the claim needs at_least or at_most")),
        (Some(least), Some(most)) if least > most => {
            let what = format!("at_least {least}: allowed: at_least <= at_most, which is {most}");
            Err(source.failure(claim_at, what))
        }
        (at_least, at_most) => Ok(Bounds { at_least, at_most }),
    }
}

/// The claims as the end of an experiment file.
pub(in crate::sweep) fn toml(claims: &[Claim]) -> String {
    let text = |text: &str| Value::String(text.to_owned()).to_string();
    let one = |claim: &Claim| {
        let mut lines = vec![
            "\n[[claims]]".to_owned(),
            format!("that = {}", text(&claim.that)),
            format!("left = {}", claim.left.toml()),
        ];
        lines.extend(claim.right.as_ref().map(|right| format!("right = {}", right.toml())));
        lines.push(format!("measure = {}", text(claim.measure.name())));
        let bounds = [("at_least", claim.bounds.at_least), ("at_most", claim.bounds.at_most)];
        lines.extend(bounds.iter().filter_map(|(name, bound)| Some(format!("{name} = {:?}", (*bound)?))));
        lines.push(format!("fewest_workers = {}\n", claim.fewest_workers));
        lines.join("\n")
    };
    claims.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::Experiment;

    const HEAD: &str = "workload = 'ycsb'\n[axes]\nprotocol = ['silo', 'no-wait']\nworkers = [1, 2]\n";

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
                "e.toml:7:20: left: workers []: allowed: a value of the axis",
            ),
            (
                "left = { protocol = 'silo' }\nright = { workers = 1 }\nmeasure = 'p99_ns'",
                "e.toml:8:9: right names the axes workers, left protocol: allowed: the same ones",
            ),
            (
                "left = { workers = 1 }\nright = { workers = 1 }\nmeasure = 'p99_ns'",
                "e.toml:8:9: left and right are the same points: allowed: different ones",
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
            (
                "measure = 'p99_ns'\nat_most = -1",
                "e.toml:10:11: at_most -1: allowed: a finite number, at least 0",
            ),
            (
                "measure = 'p99_ns'\nat_most = nan",
                "e.toml:10:11: at_most NaN: allowed: a finite number, at least 0",
            ),
            ("measure = 'p99_ns'\nat_most = '1'", "e.toml:10:11: invalid type: string \"1\", expected f64"),
            (
                "measure = 'p99_ns'\nat_most = 1\nat_least = 2",
                "e.toml:7:8: at_least 2: allowed: at_least <= at_most, which is 1",
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
