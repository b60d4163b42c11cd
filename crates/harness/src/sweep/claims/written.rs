//! Claims written back as the end of an experiment file.

use super::shape::{Between, Shape};
use super::{Bounds, Claim, Claimed, Selection, Standing};
use toml::Value;

/// The claims as the end of an experiment file.
pub(in crate::sweep) fn toml(claims: &[Claim]) -> String {
    claims.iter().map(one).collect()
}

fn one(claim: &Claim) -> String {
    let mut lines = vec!["\n[[claims]]".to_owned(), format!("that = {}", text(&claim.that))];
    let said = [("section", &claim.section), ("says", &claim.says)];
    lines.extend(said.iter().filter_map(|(name, words)| Some(format!("{name} = {}", text(words.as_ref()?)))));
    match &claim.standing {
        Standing::Paper => {}
        Standing::Fitted(why) => lines.push(format!("fitted = {}", text(why))),
        Standing::Ours => lines.push("ours = true".to_owned()),
    }
    lines.push(format!("left = {}", claim.left.toml()));
    lines.extend(claim.right.as_ref().map(|right| format!("right = {}", right.toml())));
    lines.extend((claim.at != Selection::all()).then(|| format!("at = {}", claim.at.toml())));
    lines.push(format!("measure = {}", text(claim.measure.name())));
    match &claim.claimed {
        Claimed::Number { bounds, per } => {
            lines.extend(of_bounds(bounds));
            lines.extend(per.as_ref().map(|axis| format!("per = {}", text(axis))));
        }
        Claimed::Line { over, shape } => {
            lines.push(format!("over = {}", text(over)));
            lines.push(format!("shape = {}", text(shape.name())));
            lines.extend(of_shape(shape));
        }
    }
    lines.extend(claim.paper_number.map(|number| format!("paper_number = {number:?}")));
    let workers = [("about_workers", claim.about_workers), ("fewest_workers", claim.fewest_workers)];
    lines.extend(workers.iter().filter_map(|(name, number)| Some(format!("{name} = {}", (*number)?))));
    lines.extend(claim.explanation.as_ref().map(|why| format!("explanation = {}", text(why))));
    lines.join("\n") + "\n"
}

fn of_bounds(bounds: &Bounds) -> Vec<String> {
    let Bounds { at_least, at_most, about, within } = *bounds;
    let keys = [("at_least", at_least), ("at_most", at_most), ("about", about), ("within", within)];
    keys.iter().filter_map(|(name, value)| Some(format!("{name} = {:?}", (*value)?))).collect()
}

fn of_shape(shape: &Shape) -> Vec<String> {
    let between = shape.between().map(|Between { from, to }| format!("between = [{from:?}, {to:?}]"));
    let own = match shape {
        Shape::Rises { within }
        | Shape::Falls { within }
        | Shape::Flat { within }
        | Shape::LevelsOff { within, .. } => vec![format!("within = {within:?}")],
        Shape::Collapses { to_at_most } => vec![format!("to_at_most = {to_at_most:?}")],
        Shape::Peaks { top, .. } => top.as_ref().map(of_bounds).unwrap_or_default(),
        Shape::Crosses { ends, .. } => vec![format!("ends = {}", text(&ends.to_string()))],
    };
    between.into_iter().chain(own).collect()
}

fn text(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}
