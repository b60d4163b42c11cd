//! How a sweep's axes lie in its figures: one is plotted along, those of systems tell the lines apart, and each combination of the others has a panel.

use super::SweepReport;
use crate::report::curve;
use crate::sweep::{Axis, Experiment};

/// Which axis is plotted along, which ones tell the lines apart, and which ones the panels.
pub(in crate::report) struct Arrangement {
    pub(in crate::report) x: Option<usize>,
    pub(in crate::report) lines: Vec<usize>,
    pub(in crate::report) panels: Vec<usize>,
}

impl Arrangement {
    pub(in crate::report) fn of(experiment: &Experiment) -> Arrangement {
        let axes = &experiment.axes;
        let named = |name: &str| axes.iter().position(|axis| axis.name == name);
        let numeric = |axis: &Axis| axis.values.iter().all(|value| value.parse::<f64>().is_ok());
        let x = experiment.x.as_ref().and_then(|x| named(&x.value)).or_else(|| named(curve::RATE));
        let x = x.or_else(|| axes.iter().position(|axis| axis.values.len() > 1 && numeric(axis)));
        let x = x.or_else(|| (!axes.is_empty()).then_some(0));
        let others: Vec<usize> = (0..axes.len()).filter(|&axis| Some(axis) != x).collect();
        let is_system =
            |axis: &usize| ["system", "architecture", "protocol"].contains(&axes[*axis].name.as_str());
        let (mut lines, mut panels): (Vec<usize>, Vec<usize>) = others.into_iter().partition(is_system);
        if lines.is_empty() && !panels.is_empty() {
            lines.push(panels.remove(0));
        }
        Arrangement { x, lines, panels }
    }

    /// The combinations of the panels' values, in the order of the points; one empty one if there are no panels.
    pub(in crate::report) fn panels(&self, report: &SweepReport<'_>) -> Vec<Vec<String>> {
        distinct(report.points.iter().map(|(place, _)| pick(place, &self.panels)))
    }

    pub(in crate::report) fn series(&self, report: &SweepReport<'_>) -> Vec<Vec<String>> {
        distinct(report.points.iter().map(|(place, _)| pick(place, &self.lines)))
    }
}

pub(in crate::report) fn pick(place: &[String], axes: &[usize]) -> Vec<String> {
    axes.iter().map(|&axis| place[axis].clone()).collect()
}

fn distinct(all: impl Iterator<Item = Vec<String>>) -> Vec<Vec<String>> {
    let mut distinct = Vec::new();
    for one in all {
        if !distinct.contains(&one) {
            distinct.push(one);
        }
    }
    distinct
}

pub(in crate::report) fn panel_name(
    report: &SweepReport<'_>,
    layout: &Arrangement,
    panel: &[String],
) -> String {
    let name = |(&axis, value): (&usize, &String)| format!("{} {value}", report.experiment.axes[axis].name);
    layout.panels.iter().zip(panel).map(name).collect::<Vec<_>>().join(", ")
}
