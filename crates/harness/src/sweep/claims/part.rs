//! At which of the paper's points a claim was judged, where this machine does not have all of them.
//!
//! "However many threads there are" is judged on two cores with two threads. That is something, but it is not the paper's
//! sentence, and the verdict has to say so: in the same words, not beside them. What the machine cut off an axis is known
//! from the experiment's list ([`Cut`](crate::sweep::Cut)); where the number of workers is no axis, `about_workers` says of
//! how many the paper speaks.

use super::Claim;
use super::figure::{Figure, Spot};
use crate::sweep::experiment::Axis;
use serde::Serialize;
use std::fmt;

/// The part of the paper's points at which a claim was judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    /// The axis that is too short.
    pub axis: String,
    /// Where it was judged, of the paper's values.
    pub at: Vec<String>,
    /// Where else it was judged.
    pub beside: Vec<String>,
    /// The paper's other values, which this machine does not have.
    pub not: Vec<String>,
    /// This machine's cores, if they are the reason.
    pub cores: Option<usize>,
}

impl Part {
    /// `None` if the machine has all the points of which `claim` speaks; `judged` are those where it was judged.
    pub(super) fn of(claim: &Claim, figure: &Figure<'_>, judged: &[&Spot<'_>]) -> Option<Part> {
        let axes = figure.experiment.axes.iter();
        let short = axes.filter_map(|axis| Part::of_axis(claim, axis, judged)).next();
        short.or_else(|| Part::of_workers(claim, judged))
    }

    fn of_axis(claim: &Claim, axis: &Axis, judged: &[&Spot<'_>]) -> Option<Part> {
        let cut = axis.cut.as_ref()?;
        let papers = Axis { values: cut.listed.clone(), cut: None, ..axis.clone() };
        let wanted = claim.at.wanted(&axis.name).or_else(|| claim.left.wanted(&axis.name));
        let mut papers: Vec<&str> = match wanted {
            Some(wanted) => wanted.on(&papers).ok()?,
            None => papers.values.iter().map(String::as_str).collect(),
        };
        if axis.name == WORKERS {
            let fewest = claim.fewest_workers() as f64;
            papers.retain(|value| value.parse::<f64>().is_ok_and(|workers| workers >= fewest));
        }
        let is_judged = |value: &&String| judged.iter().any(|spot| spot.value(&axis.name) == Some(value));
        let here = axis.values.iter().filter(is_judged);
        let (at, beside): (Vec<&String>, Vec<&String>) =
            here.partition(|value| papers.contains(&value.as_str()));
        let not: Vec<&str> =
            papers.into_iter().filter(|value| !axis.values.iter().any(|here| here == value)).collect();
        let owned = |values: Vec<&String>| values.into_iter().cloned().collect();
        (!not.is_empty()).then(|| Part {
            axis: axis.name.clone(),
            at: owned(at),
            beside: owned(beside),
            not: not.into_iter().map(str::to_owned).collect(),
            cores: cut.cores,
        })
    }

    /// The paper has one number of workers, and these are fewer.
    fn of_workers(claim: &Claim, judged: &[&Spot<'_>]) -> Option<Part> {
        let about = claim.about_workers?;
        let workers = judged.iter().filter_map(|spot| spot.found(claim.measure).ok());
        let most = workers.map(|found| found.workers).max()?;
        (most < about).then(|| Part {
            axis: WORKERS.to_owned(),
            at: Vec::new(),
            beside: vec![most.to_string()],
            not: vec![about.to_string()],
            cores: None,
        })
    }
}

const WORKERS: &str = "workers";

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Part { axis, at, beside, not, cores } = self;
        let [at_list, beside, not_list] = [at, beside, not].map(|values| values.join(", "));
        let here = cores.map_or(String::new(), |cores| {
            format!(": this machine has {}", crate::text::numbers::counted(cores, "core"))
        });
        let of_axis = match axis.as_str() {
            WORKERS => "numbers of workers".to_owned(),
            other => format!("values of {other}"),
        };
        if at.is_empty() {
            if beside.is_empty() {
                return write!(f, "at none of the {of_axis} that the paper has ({not_list}{here})");
            }
            return write!(f, "with {axis} {beside} where the paper has {not_list}{here}");
        }
        let beside = if beside.is_empty() { beside } else { format!(", and {beside}") };
        let of = at.len() + not.len();
        write!(
            f,
            "at {} of the {of} {of_axis} that the paper has ({at_list}{beside}; not {not_list}{here})",
            at.len()
        )
    }
}
