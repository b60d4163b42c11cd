//! From comparisons to errors: the root of the mean square of logarithms, by what is asked of the model.
//!
//! With e = ln(simulated / measured) at a point, a number is off by e. The ratio of two systems at a point is off by the
//! difference of their e, and so is the ratio of one system at two points. What the model does to all systems alike, such as
//! a clock that is a tenth too slow, is in the first and not in the others.
//!
//! Each kind of systems ([`SystemKind`]) has errors of its own. A ratio of two systems is of deployments if one of them is a deployment.
//!
//! Where nothing committed on one side in some round, nothing is compared. Abort rates, and shares of transactions that were
//! aborted, are compared where measured and simulated are both at least a hundredth: below that they are chance. The points
//! that drop out are counted: the model is then wrong in a way that no factor tells.

use super::compared::{Both, Compared};
use super::error::{Comparisons, ModelError};
use super::kind::SystemKind;
use std::collections::BTreeMap;

/// Fewer aborts per commit than this, or aborted transactions, are not compared.
pub const FEWEST_ABORTS: f64 = 0.01;

/// What a measure is of a row; `None` where there is nothing to compare.
type Number = fn(&Compared) -> Option<Both>;

/// The measures, as claims name them.
const MEASURES: [(&str, Number); 4] = [
    ("throughput", throughput),
    ("mean_ns", |row| row.mean_ns),
    ("abort_rate", |row| not_by_chance(row, row.abort_rate)),
    ("retried_share", |row| not_by_chance(row, row.retried_share)),
];

fn throughput(row: &Compared) -> Option<Both> {
    row.committed().then_some(Both { measured: row.measured_per_s, simulated: row.simulated_per_s })
}

fn not_by_chance(row: &Compared, aborts: Both) -> Option<Both> {
    let is_many = |Both { measured, simulated }: &Both| measured.min(*simulated) >= FEWEST_ABORTS;
    Some(aborts).filter(|aborts| row.committed() && is_many(aborts))
}

/// Errors and comparisons by measure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Errors {
    /// Where there are comparisons of each kind.
    pub errors: BTreeMap<String, ModelError>,
    /// Of all measures.
    pub comparisons: BTreeMap<String, Comparisons>,
}

impl Errors {
    /// Of the systems of one kind.
    pub fn of(rows: &[Compared], kind: SystemKind) -> Errors {
        let mut all = Errors::default();
        for (measure, number) in MEASURES {
            let off: Vec<(&Compared, f64)> =
                rows.iter().filter_map(|row| Some((row, off(number(row)?)?))).collect();
            let value = Mean::of(off.iter().filter(|(row, _)| row.kind == kind).map(|(_, off)| *off));
            let between = Mean::of(differences(&off, kind, Compared::is_at_the_point_of));
            let along = Mean::of(differences(&off, kind, Compared::is_along_from));
            let comparisons =
                Comparisons { value: value.count, between_systems: between.count, along: along.count };
            all.comparisons.insert(measure.to_owned(), comparisons);
            if let (Some(value), Some(between_systems), Some(along)) =
                (value.factor(), between.factor(), along.factor())
            {
                all.errors.insert(measure.to_owned(), ModelError { value, between_systems, along });
            }
        }
        all
    }
}

/// The logarithm of simulated over measured; `None` where one of them is 0.
fn off(Both { measured, simulated }: Both) -> Option<f64> {
    (measured > 0.0 && simulated > 0.0).then(|| (simulated / measured).ln())
}

/// Over all pairs of rows that `belong` together and are a comparison of this kind.
fn differences(
    off: &[(&Compared, f64)],
    kind: SystemKind,
    belong: fn(&Compared, &Compared) -> bool,
) -> impl Iterator<Item = f64> {
    let pairs = off
        .iter()
        .enumerate()
        .flat_map(|(place, one)| off[place + 1..].iter().map(move |other| (one, other)));
    let is_one =
        move |one: &Compared, other: &Compared| one.kind.beside(other.kind) == kind && belong(one, other);
    pairs.filter(move |((one, _), (other, _))| is_one(one, other)).map(|((_, one), (_, other))| one - other)
}

/// The mean square of logarithms.
struct Mean {
    squares: f64,
    count: usize,
}

impl Mean {
    fn of(logarithms: impl Iterator<Item = f64>) -> Mean {
        logarithms.fold(Mean { squares: 0.0, count: 0 }, |mean, logarithm| Mean {
            squares: mean.squares + logarithm * logarithm,
            count: mean.count + 1,
        })
    }

    /// Its root as a factor of at least 1; `None` of nothing.
    fn factor(&self) -> Option<f64> {
        (self.count > 0).then(|| (self.squares / self.count as f64).sqrt().exp())
    }
}

/// How far rounds on the hardware were from their median, as such a factor.
pub fn spread(rounds_over_median: impl Iterator<Item = f64>) -> f64 {
    Mean::of(rounds_over_median.map(f64::ln)).factor().unwrap_or(1.0)
}

/// What could not be compared, in words.
pub fn not_compared(rows: &[Compared]) -> Vec<String> {
    let few = |rate: f64| rate < FEWEST_ABORTS;
    let one_sided =
        |row: &Compared| row.committed() && few(row.abort_rate.measured) != few(row.abort_rate.simulated);
    let idle = |row: &Compared| !row.committed();
    let named = |is_so: &dyn Fn(&Compared) -> bool, what: &str| {
        let those: Vec<&Compared> = rows.iter().filter(|row| is_so(row)).collect();
        let Compared { architecture, protocol, workers, workload, setting, instances, channel, .. } =
            those.first()?;
        let deployed =
            channel.map_or(String::new(), |channel| format!(", instances {instances}, channel {channel}"));
        Some(format!(
            "not compared, {} of {}: {what}; the first is {architecture} {protocol} over {workload} {setting}, workers \
             {workers}{deployed}",
            those.len(),
            rows.len()
        ))
    };
    [
        named(&one_sided, "the abort rate is a hundredth or more on one side only"),
        named(&idle, "nothing committed on one side in some round"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::row;
    use super::*;
    use crate::validation::rows::Row;
    use contract::ChannelName;

    /// One system at one point, by how much it is off.
    fn point(architecture: &str, setting: &str, workers: usize, ratio: f64) -> [Row; 2] {
        [(false, 100.0), (true, 100.0 * ratio)].map(|(simulated, per_s)| Row {
            setting: setting.to_owned(),
            ..row(architecture, workers, simulated, per_s)
        })
    }

    fn errors(points: &[[Row; 2]]) -> Errors {
        Errors::of(&Compared::all(&points.concat()), SystemKind::OneInstance)
    }

    fn close(one: f64, other: f64) -> bool {
        (one / other - 1.0).abs() < 1e-9
    }

    #[test]
    fn deployments_have_errors_of_their_own() {
        let deployed = |channel, setting: &str, ratio| {
            let of = |row: Row| Row { instances: 2, channel: Some(channel), ..row };
            point("a", setting, 2, ratio).map(of)
        };
        let (unix, tcp) = (ChannelName::Unix, ChannelName::Tcp);
        let points = [
            point("a", "x", 2, 2.0),
            point("b", "x", 2, 2.0),
            point("a", "y", 2, 2.0),
            deployed(unix, "x", 4.0),
            deployed(unix, "y", 4.0),
            deployed(tcp, "x", 4.0),
        ];
        let rows = Compared::all(&points.concat());
        let [one, several] =
            [SystemKind::OneInstance, SystemKind::Deployments].map(|kind| Errors::of(&rows, kind));
        // What does not know of deployments is as if there were none.
        assert_eq!(one, errors(&points[..3]));
        let error = several.errors["throughput"];
        assert!(close(error.value, 4.0) && close(error.along, 1.0), "{error:?}");
        // At x: each deployment against both systems of one instance, by 2, and the two against each other, by 1; at y by 2.
        let counted = Comparisons { value: 3, between_systems: 6, along: 1 };
        assert_eq!(several.comparisons["throughput"], counted);
        assert!(close(error.between_systems.ln().powi(2) * 6.0, 2f64.ln().powi(2) * 5.0), "{error:?}");
    }

    #[test]
    fn what_is_off_alike_is_off_in_value_only() {
        let all = errors(&[point("a", "x", 1, 2.0), point("b", "x", 1, 2.0), point("a", "x", 2, 2.0)]);
        let error = all.errors["throughput"];
        assert!(
            close(error.value, 2.0) && close(error.between_systems, 1.0) && close(error.along, 1.0),
            "{error:?}"
        );
        let counted = Comparisons { value: 3, between_systems: 1, along: 1 };
        assert_eq!(all.comparisons["throughput"], counted);
    }

    #[test]
    fn errors_are_roots_of_mean_squares_of_logarithms() {
        // Off by 1 and by 4 against each other: by 4; by 2 and by a half, in the mean of squares, by 2.
        let all = errors(&[point("a", "x", 1, 2.0), point("b", "x", 1, 0.5), point("b", "y", 1, 0.5)]);
        let error = all.errors["throughput"];
        assert!(
            close(error.value, 2.0) && close(error.between_systems, 4.0) && close(error.along, 1.0),
            "{error:?}"
        );
        assert!(close(spread([1.1, 1.0 / 1.1].into_iter()), 1.1) && close(spread([].into_iter()), 1.0));
    }

    #[test]
    fn along_goes_one_axis_at_a_time() {
        let all = [
            point("a", "x", 1, 1.0),
            point("a", "x", 2, 1.0),
            point("a", "y", 1, 1.0),
            point("a", "y", 2, 1.0),
        ];
        // Of six pairs the two diagonals are left out.
        assert_eq!(errors(&all).comparisons["throughput"].along, 4);
    }

    #[test]
    fn a_kind_without_comparisons_has_no_error() {
        let alone = errors(&[point("a", "x", 1, 1.0), point("b", "x", 1, 1.0)]);
        assert_eq!(alone.errors.get("throughput"), None);
        assert_eq!(alone.comparisons["throughput"].value, 2);
    }

    #[test]
    fn aborts_are_compared_where_both_abort() {
        let with = |measured, simulated| {
            let [one, other] = point("a", "x", 1, 1.0);
            [Row { abort_rate: measured, ..one }, Row { abort_rate: simulated, ..other }]
        };
        let count = |rows| errors(&[rows]).comparisons["abort_rate"].value;
        assert_eq!((count(with(0.5, 0.4)), count(with(0.5, 0.001)), count(with(0.0, 0.0))), (1, 0, 0));
        let said = not_compared(&Compared::all(&with(0.5, 0.001)));
        assert!(said.len() == 1 && said[0].contains("1 of 1: the abort rate"), "{said:?}");
        assert_eq!(not_compared(&Compared::all(&with(0.001, 0.0))), [""; 0]);
        // Nothing committed: as many aborts as there were are no rate.
        let [measured, simulated] = with(2.0, 68_000.0);
        assert_eq!(count([measured, Row { mean_ns: None, throughput_per_s: 0.0, ..simulated }]), 0);
    }

    #[test]
    fn where_nothing_committed_there_is_no_ratio_and_it_is_said() {
        let [measured, simulated] = point("a", "x", 1, 0.0);
        let points = [[measured, Row { mean_ns: None, ..simulated }], point("b", "x", 1, 1.0)];
        assert_eq!(errors(&points).comparisons["throughput"].value, 1);
        let said = not_compared(&Compared::all(&points.concat()));
        assert!(said[0].contains("nothing committed"), "{said:?}");
        // In one round of three, so that the medians are numbers: the same for every measure.
        let round = |round, per_s: f64| {
            let mean_ns = (per_s > 0.0).then_some(1000.0);
            [Row { round, ..row("a", 1, false, 1.0) }, Row { round, mean_ns, ..row("a", 1, true, per_s) }]
        };
        let all = errors(&[round(0, 1.0), round(1, 0.0), round(2, 1.0)]);
        assert_eq!((all.comparisons["throughput"].value, all.comparisons["mean_ns"].value), (0, 0));
    }
}
