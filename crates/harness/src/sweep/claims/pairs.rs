//! Which points are compared with which: each left one with the right ones at its own values of what is not named.

use super::figure::{Figure, Spot};
use super::untold::Untold;
use super::{Claim, Selection};

/// What both sides of a claim mean.
pub(super) struct Sides<'f> {
    left: Vec<Spot<'f>>,
    right: Option<Vec<Spot<'f>>>,
}

/// A left point, and the right one if there is a right side.
pub(super) type Pair<'s, 'f> = (&'s Spot<'f>, Option<&'s Spot<'f>>);

impl<'f> Sides<'f> {
    /// Looks both sides up, the right one maybe among the `others`.
    pub(super) fn of(
        claim: &Claim,
        figure: &'f Figure<'f>,
        others: &'f [Figure<'f>],
    ) -> Result<Sides<'f>, Untold> {
        let left = figure.spots(&claim.left, &claim.at).map_err(Untold::NoPoints)?;
        let right = claim.right.as_ref().map(|right| match &right.experiment {
            None => figure.spots(right, &claim.at).map_err(Untold::NoPoints),
            Some(name) => spots_elsewhere(name, right, others),
        });
        Ok(Sides { left, right: right.transpose()? })
    }

    /// All that are to be compared.
    pub(super) fn pairs(&self, claim: &Claim) -> Result<Vec<Pair<'_, 'f>>, Untold> {
        let (Some(rights), Some(selection)) = (&self.right, &claim.right) else {
            return Ok(self.left.iter().map(|left| (left, None)).collect());
        };
        let mut pairs = Vec::new();
        for left in &self.left {
            for right in rights {
                if shares(left, right, selection)? {
                    pairs.push((left, Some(right)));
                }
            }
        }
        Ok(pairs)
    }
}

fn spots_elsewhere<'f>(
    name: &str,
    selection: &Selection,
    others: &'f [Figure<'f>],
) -> Result<Vec<Spot<'f>>, Untold> {
    let Some(figure) = others.iter().find(|figure| figure.experiment.name == name) else {
        return Err(Untold::NoPoints(format!("it needs the points of {name}, too")));
    };
    let spots = figure.spots(selection, &Selection::all());
    let spots = spots.map_err(|what| Untold::NoPoints(format!("{name}: {what}")))?;
    Ok(spots.into_iter().map(Spot::elsewhere).collect())
}

/// Whether `right` has `left`'s values on every axis that its selection does not name.
fn shares(left: &Spot<'_>, right: &Spot<'_>, selection: &Selection) -> Result<bool, Untold> {
    for axis in right.axes() {
        if selection.names(&axis.name) {
            continue;
        }
        let (Some(one), Some(other)) = (left.value(&axis.name), right.value(&axis.name)) else {
            let what = format!("{} is on one side only; the claim would have to name it", axis.name);
            return Err(Untold::NoPoints(what));
        };
        if !is_same(one, other) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Two experiments may write one number in two ways.
fn is_same(one: &str, other: &str) -> bool {
    one == other || matches!((one.parse::<f64>(), other.parse::<f64>()), (Ok(one), Ok(other)) if one == other)
}
