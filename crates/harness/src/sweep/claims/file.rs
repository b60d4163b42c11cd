//! Claims in an experiment file: read, and checked as far as can be before anything is measured.

use super::line::can_go_along;
use super::selection::SelectionText;
use super::shape::Shape;
use super::shape_text::ClaimedText;
use super::{Claim, Claimed, Measure, Selection, Standing};
use crate::failure::Failure;
use crate::sweep::experiment::{Axis, Source, names_of};
use serde::Deserialize;
use toml::Spanned;

/// A claim as the file says it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::sweep) struct ClaimText {
    that: String,
    section: Option<String>,
    says: Option<String>,
    fitted: Option<Spanned<String>>,
    ours: Option<Spanned<bool>>,
    left: Spanned<SelectionText>,
    right: Option<Spanned<SelectionText>>,
    at: Option<Spanned<SelectionText>>,
    measure: Spanned<String>,
    at_least: Option<Spanned<f64>>,
    at_most: Option<Spanned<f64>>,
    about: Option<Spanned<f64>>,
    within: Option<Spanned<f64>>,
    per: Option<Spanned<String>>,
    over: Option<Spanned<String>>,
    shape: Option<Spanned<String>>,
    between: Option<Spanned<[f64; 2]>>,
    to_at_most: Option<Spanned<f64>>,
    ends: Option<Spanned<String>>,
    paper_number: Option<Spanned<f64>>,
    about_workers: Option<Spanned<usize>>,
    fewest_workers: Option<Spanned<usize>>,
    explanation: Option<String>,
}

impl ClaimText {
    /// The claim, if it can be told on these `axes`.
    pub(in crate::sweep) fn checked(self, source: &Source<'_>, axes: &[Axis]) -> Result<Claim, Failure> {
        let left_at = self.left.span().start;
        let left = Selection::checked("left", self.left, source, axes)?;
        if left.experiment.is_some() {
            let what = "left names another experiment: allowed: right does, and left is this one";
            return Err(source.failure(left_at, what));
        }
        let right = match self.right {
            Some(text) => Some(checked_right(text, &left, source, axes)?),
            None => None,
        };
        let at = match self.at {
            Some(text) => checked_at(text, &left, right.as_ref(), source, axes)?,
            None => Selection::all(),
        };
        let along_at = self.over.as_ref().or(self.per.as_ref()).map_or(left_at, |axis| axis.span().start);
        let measure = Measure::named(self.measure.get_ref()).ok_or_else(|| {
            let allowed: Vec<&str> = Measure::names().collect();
            let what = format!("measure {}: allowed: {}", self.measure.get_ref(), allowed.join(", "));
            source.failure(self.measure.span().start, what)
        })?;
        let claimed = ClaimedText {
            at_least: self.at_least,
            at_most: self.at_most,
            about: self.about,
            within: self.within,
            per: self.per,
            over: self.over,
            shape: self.shape,
            between: self.between,
            to_at_most: self.to_at_most,
            ends: self.ends,
        };
        let claimed = claimed.checked(left_at, source)?;
        let fits = match &claimed {
            Claimed::Number { per: None, .. } => Ok(()),
            Claimed::Number { per: Some(per), .. } => fits_growth(per, &left, right.as_ref(), axes),
            Claimed::Line { over, shape } => fits_line(over, shape, &left, right.as_ref(), axes),
        };
        fits.map_err(|what| source.failure(along_at, what))?;
        let (about_workers, fewest_workers) =
            checked_workers(self.about_workers, self.fewest_workers, source)?;
        if right.is_none() {
            admit_magnitude(measure, &claimed).map_err(|what| source.failure(left_at, what))?;
        }
        let paper_number = checked_paper_number(self.paper_number, &claimed, source)?;
        let trimmed = |text: Option<String>| text.map(|text| text.trim().to_owned());
        Ok(Claim {
            that: self.that.trim().to_owned(),
            section: trimmed(self.section),
            says: trimmed(self.says),
            standing: checked_standing(self.fitted, self.ours, source)?,
            left,
            right,
            at,
            measure,
            claimed,
            paper_number,
            about_workers,
            fewest_workers,
            explanation: trimmed(self.explanation),
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
    if right.experiment.is_some() {
        return Ok(right);
    }
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

/// Where both sides are, neither says.
fn checked_at(
    text: Spanned<SelectionText>,
    left: &Selection,
    right: Option<&Selection>,
    source: &Source<'_>,
    axes: &[Axis],
) -> Result<Selection, Failure> {
    let place = text.span().start;
    let at = Selection::checked("at", text, source, axes)?;
    if !at.is_plain() {
        return Err(
            source.failure(place, "at: allowed: axes with their values, without experiment and best_of")
        );
    }
    let is_named = |axis: &&str| left.names(axis) || right.is_some_and(|right| right.names(axis));
    match at.axes().into_iter().find(is_named) {
        Some(axis) => {
            let what = format!("at names {axis}, which a side names, too: allowed: an axis that both share");
            Err(source.failure(place, what))
        }
        None => Ok(at),
    }
}

/// How fast something is, or how long it takes, is a number with two ends: "more than 10 million" is as true of eleven as of
/// two hundred million, and says nothing of what the paper found.
fn admit_magnitude(measure: Measure, claimed: &Claimed) -> Result<(), String> {
    match claimed {
        Claimed::Number { bounds, .. } if measure.is_a_magnitude() && !bounds.have_two_ends() => {
            Err(format!(
                "a {measure} alone with {bounds}: allowed: about, or at_least and at_most; or a right side"
            ))
        }
        _ => Ok(()),
    }
}

/// A claim that was fitted says to what; and nobody fits on a question of their own.
fn checked_standing(
    fitted: Option<Spanned<String>>,
    ours: Option<Spanned<bool>>,
    source: &Source<'_>,
) -> Result<Standing, Failure> {
    let is_ours = ours.as_ref().is_some_and(|ours| *ours.get_ref());
    match fitted {
        Some(why) if is_ours => {
            Err(source
                .failure(why.span().start, "fitted: allowed: of a sentence of the paper, not with ours"))
        }
        Some(why) if why.get_ref().trim().is_empty() => {
            Err(source.failure(why.span().start, "fitted says nothing: allowed: what was chosen, in words"))
        }
        Some(why) => Ok(Standing::Fitted(why.into_inner().trim().to_owned())),
        None if is_ours => Ok(Standing::Ours),
        None => Ok(Standing::Paper),
    }
}

/// It stands beside a number that is found.
fn checked_paper_number(
    given: Option<Spanned<f64>>,
    claimed: &Claimed,
    source: &Source<'_>,
) -> Result<Option<f64>, Failure> {
    let Some(given) = given else { return Ok(None) };
    let (number, at) = (*given.get_ref(), given.span().start);
    if !(number.is_finite() && number > 0.0) {
        let what = format!("paper_number {number}: allowed: a finite number above 0");
        return Err(source.failure(at, what));
    }
    match claimed {
        Claimed::Number { .. } | Claimed::Line { shape: Shape::Peaks { top: Some(_), .. }, .. } => {
            Ok(Some(number))
        }
        Claimed::Line { .. } => {
            let what =
                "paper_number: allowed: without shape, or with shape peaks and the bounds of its height";
            Err(source.failure(at, what))
        }
    }
}

/// Growth is from one number on the axis to another.
fn fits_growth(per: &str, left: &Selection, right: Option<&Selection>, axes: &[Axis]) -> Result<(), String> {
    let numbers = axes.iter().any(|axis| axis.name == per && can_go_along(axis));
    let named = |side: &Selection| side.names(per) && !side.is_best_of(per);
    match right {
        Some(right) if numbers && named(left) && named(right) => Ok(()),
        _ => Err(format!("per {per}: allowed: an axis of numbers that left and right name")),
    }
}

fn fits_line(
    over: &str,
    shape: &Shape,
    left: &Selection,
    right: Option<&Selection>,
    axes: &[Axis],
) -> Result<(), String> {
    if !axes.iter().any(|axis| axis.name == over && can_go_along(axis)) {
        return Err(format!("over {over}: allowed: one of numbers among {}", names_of(axes)));
    }
    if left.names(over) || right.is_some_and(|right| right.names(over)) {
        return Err(format!(
            "over {over}: allowed: an axis that neither side names; at may say which part of it"
        ));
    }
    if matches!(shape, Shape::Crosses { .. }) && right.is_none() {
        return Err("shape crosses needs right: allowed: a line that left crosses".to_owned());
    }
    Ok(())
}

type Workers = Option<usize>;

fn checked_workers(
    about: Option<Spanned<usize>>,
    fewest: Option<Spanned<usize>>,
    source: &Source<'_>,
) -> Result<(Workers, Workers), Failure> {
    for (name, number) in [("about_workers", &about), ("fewest_workers", &fewest)] {
        if let Some(number) = number
            && *number.get_ref() == 0
        {
            return Err(source.failure(number.span().start, format!("{name} 0: allowed: 1 or more")));
        }
    }
    if let (Some(about), Some(fewest)) = (&about, &fewest)
        && fewest.get_ref() > about.get_ref()
    {
        let (fewest, about, at) = (fewest.get_ref(), about.get_ref(), fewest.span().start);
        let what = format!("fewest_workers {fewest}: allowed: at most about_workers, which is {about}");
        return Err(source.failure(at, what));
    }
    Ok((about.map(Spanned::into_inner), fewest.map(Spanned::into_inner)))
}

#[cfg(test)]
mod tests {
    use super::super::toml;
    use crate::sweep::Experiment;

    const HEAD: &str = "workload = 'ycsb'\n[axes]\nprotocol = ['silo', 'no-wait']\nworkers = [1, 2]\n";
    const BOTH: &str = "left = { protocol = 'silo' }\nright = { protocol = 'no-wait' }\nmeasure = 'p99_ns'";

    fn failure(claim: &str) -> String {
        let text = format!("{HEAD}[[claims]]\nthat = 'so'\n{claim}");
        Experiment::parse("e.toml", &text, 2).expect_err(claim).to_string()
    }

    #[test]
    fn what_is_wrong_with_the_points_is_told_with_its_place() {
        let cases = [
            ("measure = 'throughput'\nat_least = 1", "e.toml:5:1: missing field `left`"),
            ("lefft = {}", "e.toml:7:1: unknown field `lefft`, expected one of `that`, `section`,"),
            ("left = { protocol = 'sillo' }", "e.toml:7:21: left: protocol sillo: allowed: silo, no-wait"),
            ("left = { workers = 'all' }", "e.toml:7:20: left: workers all: allowed: 1, 2"),
            ("left = { theta = 1 }", "e.toml:7:18: left names theta: allowed: the axes protocol,"),
            ("left = { workers = [] }", "e.toml:7:20: left: workers []: allowed: a value of the axis"),
            (
                "left = { workers = { under = 2 } }",
                "e.toml:7:20: left: workers: a range names under: allowed: from, to, above, below, not",
            ),
            (
                "left = { protocol = { from = 1 } }",
                "e.toml:7:21: left: protocol from 1: allowed: { not = ... }, for its values are no numbers: silo,",
            ),
            (
                "left = { best_of = ['silo'] }",
                "e.toml:7:20: left: best_of [\"silo\"]: allowed: axes with what is",
            ),
            (
                "left = { protocol = 'silo', best_of = { protocol = 'no-wait' } }",
                "e.toml:7:39: left: protocol is named in best_of and beside it; name it once",
            ),
            (
                "left = { best_of = { theta = 1 } }",
                "e.toml:7:20: left names theta: allowed: the axes protocol,",
            ),
            ("left = {}\nat = { workers = 'all' }", "e.toml:8:18: at: workers all: allowed: 1, 2"),
            (
                "left = { workers = 1 }\nat = { workers = 2 }",
                "e.toml:8:6: at names workers, which a side names, too: allowed: an axis that both share",
            ),
            (
                "left = {}\nat = { best_of = { workers = 2 } }",
                "e.toml:8:6: at: allowed: axes with their values, without experiment and best_of",
            ),
            (
                "left = { experiment = 2 }",
                "e.toml:7:23: left: experiment 2: allowed: a file's name without .toml",
            ),
            (
                "left = { experiment = 'fig-2a' }",
                "e.toml:7:8: left names another experiment: allowed: right does",
            ),
            (
                "left = { protocol = 'silo' }\nright = { workers = 1 }",
                "e.toml:8:9: right names the axes workers, left protocol: allowed: the same ones",
            ),
            (
                "left = { workers = 1 }\nright = { workers = 1 }",
                "e.toml:8:9: left and right are the same points: allowed: different ones",
            ),
        ];
        for (claim, message) in cases {
            let measure =
                if claim.starts_with("left") { "\nmeasure = 'throughput'\nat_least = 1" } else { "" };
            let failure = failure(&format!("{claim}{measure}"));
            assert!(failure.starts_with(message), "{failure}");
            assert_eq!(failure.lines().count(), 1);
        }
    }

    #[test]
    fn what_is_wrong_with_what_is_claimed_is_told_with_its_place() {
        let cases = [
            ("", "e.toml:7:8: the claim needs at_least, at_most or about; or over and shape"),
            ("at_most = -1", "e.toml:10:11: at_most -1: allowed: a finite number, at least 0"),
            ("at_most = nan", "e.toml:10:11: at_most NaN: allowed: a finite number, at least 0"),
            ("at_most = '1'", "e.toml:10:11: invalid type: string \"1\", expected f64"),
            (
                "at_most = 1\nat_least = 2",
                "e.toml:11:12: at_least 2: allowed: at_least <= at_most, which is 1",
            ),
            ("about = 0", "e.toml:10:9: about 0: allowed: above 0; or at_most = 0"),
            ("about = 2\nat_least = 1", "e.toml:10:9: about 2: allowed: alone, or else at_least and at_most"),
            ("about = 2\nwithin = 1", "e.toml:11:10: within 1: allowed: a part, 0 <= within < 1"),
            ("at_least = 2\nwithin = 0.1", "e.toml:11:10: within: allowed: with about, or with shape rises,"),
            ("over = 'workers'", "e.toml:10:8: over workers needs a shape: allowed: rises, falls, flat,"),
            ("shape = 'rises'", "e.toml:10:9: shape rises needs over: allowed: an axis of numbers"),
            ("over = 'workers'\nshape = 'dips'", "e.toml:11:9: shape dips: allowed: rises, falls, flat,"),
            (
                "over = 'theta'\nshape = 'rises'",
                "e.toml:10:8: over theta: allowed: one of numbers among the axes",
            ),
            (
                "over = 'protocol'\nshape = 'rises'",
                "e.toml:10:8: over protocol: allowed: one of numbers among",
            ),
            (
                "over = 'workers'\nshape = 'rises'\nbetween = [1, 2]",
                "e.toml:12:11: between: allowed: with shape levels off, peaks or crosses",
            ),
            (
                "over = 'workers'\nshape = 'peaks'\nbetween = [2, 1]",
                "e.toml:12:11: between [2, 1]: allowed: two finite numbers, the lower one first",
            ),
            (
                "over = 'workers'\nshape = 'flat'\nabout = 2",
                "e.toml:12:9: about: allowed: without shape, or with",
            ),
            (
                "over = 'workers'\nshape = 'collapses'\nto_at_most = 2",
                "e.toml:12:14: to_at_most 2: allowed: a part, 0 <= to_at_most < 1",
            ),
            ("over = 'workers'\nshape = 'crosses'", "e.toml:11:9: shape crosses needs ends: allowed: ahead,"),
            (
                "over = 'workers'\nshape = 'crosses'\nends = 'up'",
                "e.toml:12:8: ends up: allowed: ahead, behind",
            ),
            ("at_least = 1\nto_at_most = 0.5", "e.toml:11:14: to_at_most: allowed: with shape collapses"),
            (
                "at_least = 1\nper = 'workers'",
                "e.toml:11:7: per workers: allowed: an axis of numbers that left",
            ),
            (
                "at_least = 1\npaper_number = 0",
                "e.toml:11:16: paper_number 0: allowed: a finite number above 0",
            ),
            (
                "over = 'workers'\nshape = 'rises'\npaper_number = 2",
                "e.toml:12:16: paper_number: allowed: without shape, or with shape peaks",
            ),
            (
                "at_least = 1\nfitted = ' '",
                "e.toml:11:10: fitted says nothing: allowed: what was chosen, in words",
            ),
            (
                "at_least = 1\nfitted = 'the latch'\nours = true",
                "e.toml:11:10: fitted: allowed: of a sentence of the paper, not with ours",
            ),
            ("at_least = 1\nabout_workers = 0", "e.toml:11:17: about_workers 0: allowed: 1 or more"),
            (
                "at_least = 1\nabout_workers = 8\nfewest_workers = 9",
                "e.toml:12:18: fewest_workers 9: allowed: at most about_workers, which is 8",
            ),
        ];
        for (claim, message) in cases {
            let failure = failure(&format!("{BOTH}\n{claim}"));
            assert!(failure.starts_with(message), "{failure}");
            assert_eq!(failure.lines().count(), 1);
        }
        let speed = failure(&format!("{}\nat_least = 1", BOTH.replace("p99_ns", "speed")));
        assert!(speed.starts_with("e.toml:9:11: measure speed: allowed: throughput, abort_rate,"), "{speed}");
        let alone = "left = { protocol = 'silo' }\nmeasure = 'p99_ns'\nover = 'workers'\nshape = 'crosses'\nends = 'ahead'";
        assert!(
            failure(alone).starts_with("e.toml:9:8: shape crosses needs right: allowed: a line that left")
        );
        let both = "left = { workers = [1, 2] }\nright = { workers = 1 }\nmeasure = 'p99_ns'\nover = 'workers'\nshape = 'flat'";
        assert!(failure(both).starts_with("e.toml:10:8: over workers: allowed: an axis that neither side"));
    }

    #[test]
    fn how_fast_something_is_has_two_ends() {
        let alone = |measure: &str, bounds: &str| format!("left = {{}}\nmeasure = '{measure}'\n{bounds}");
        for measure in ["throughput", "mean_ns", "lock_hold_ns"] {
            for bound in ["at_least", "at_most"] {
                let told = failure(&alone(measure, &format!("{bound} = 10")));
                let end = format!(
                    "{} 10: allowed: about, or at_least and at_most; or a right side",
                    bound.replace('_', " ")
                );
                assert!(told.starts_with("e.toml:7:8: a ") && told.ends_with(&end), "{told}");
            }
        }
        let parse = |claim: &str| {
            let text = format!("{HEAD}[[claims]]\nthat = 'so'\n{claim}");
            Experiment::parse("e.toml", &text, 2).expect(claim)
        };
        parse(&alone("throughput", "about = 10"));
        parse(&alone("throughput", "at_least = 5\nat_most = 20\npaper_number = 10"));
        parse(&alone("abort_rate", "at_most = 0"));
        parse(&format!("{BOTH}\nat_least = 1"));
    }

    #[test]
    fn claims_are_written_as_they_are_read() {
        let text = format!(
            "{HEAD}[[claims]]\nthat = \"say 'so'\"\nleft = {{ protocol = 'silo', workers = 'most' }}\n\
             right = {{ protocol = ['no-wait', 'silo'], workers = 1 }}\nmeasure = 'abort_rate'\nat_most = 0.5\n\
             fewest_workers = 4\nper = 'workers'\n\
             [[claims]]\nthat = 'b'\nsection = '4.2.1'\nsays = 'by 7x'\nfitted = 'the latch'\nleft = {{}}\n\
             measure = 'throughput'\nat_least = 1e3\nat_most = 1e4\npaper_number = 3e3\n\
             [[claims]]\nthat = 'c'\nours = true\nleft = {{ best_of = {{ protocol = {{ not = 'silo' }} }}, }}\n\
             at = {{ workers = {{ from = 1, below = 2.5 }} }}\nright = {{ experiment = 'fig-2a', protocol = 'silo' }}\nmeasure = 'mean_ns'\nabout = 7\nwithin = 0.1\n\
             about_workers = 72\n"
        );
        let shapes = [
            "rises",
            "falls'\nwithin = 0.2\n#",
            "flat",
            "levels off'\nbetween = [1, 2]\n#",
            "collapses'\nto_at_most = 0.3\n#",
            "peaks'\nbetween = [1, 2]\nabout = 3\n#",
            "crosses'\nends = 'behind'\n#",
        ];
        let shape =
            |shape: &str| format!("[[claims]]\nthat = 'd'\n{BOTH}\nover = 'workers'\nshape = '{shape}'\n");
        let text = text + &shapes.map(shape).concat();
        let claims = Experiment::parse("e.toml", &text, 2).expect("an experiment").claims;
        let again = Experiment::parse("e.toml", &format!("{HEAD}{}", toml(&claims)), 2);
        assert_eq!(again.expect("an experiment").claims, claims);
        assert_eq!(claims.len(), 10);
        assert_eq!(claims[2].needs(), Some("fig-2a"));
    }
}
