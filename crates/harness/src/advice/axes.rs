//! What of a workload is varied to see where the recommendation flips: its skew, and how often transactions cross partitions.
//!
//! Each workload has parameters of its own for that. A file's are scaled: the skew and the distance of all draws that have any.

use serde::Serialize;
use workloads::AnyWorkload;

/// What an axis is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AxisKind {
    /// How unevenly rows are wanted.
    Skew,
    /// How often a transaction touches rows of another partition.
    Crossing,
    /// Workers.
    Cores,
}

/// Parameters of a workload with values.
pub type Setting = Vec<(&'static str, &'static str)>;

/// An axis of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AxisOf {
    /// What it is about.
    pub kind: AxisKind,
    /// Its name, for people.
    pub name: &'static str,
    /// Its values in words, from the mildest on, with what to set.
    pub values: Vec<(&'static str, Setting)>,
}

/// The axes of `workload`.
pub fn axes_of(workload: &AnyWorkload) -> Vec<AxisOf> {
    let axis = |kind, name, values: &[(&'static str, &[(&'static str, &'static str)])]| AxisOf {
        kind,
        name,
        values: values.iter().map(|(label, setting)| (*label, setting.to_vec())).collect(),
    };
    let skew = |name, values| axis(AxisKind::Skew, name, values);
    let crossing = |name, values| axis(AxisKind::Crossing, name, values);
    match workload {
        AnyWorkload::Described(_) => vec![
            skew(
                "skew (theta)",
                &[
                    ("0", &[("theta", "0")]),
                    ("0.6", &[("theta", "0.6")]),
                    ("0.9", &[("theta", "0.9")]),
                    ("0.99", &[("theta", "0.99")]),
                ],
            ),
            crossing(
                "rows of other partitions (remote)",
                &[
                    ("0 %", &[("remote", "0")]),
                    ("10 %", &[("remote", "10")]),
                    ("50 %", &[("remote", "50")]),
                    ("100 %", &[("remote", "100")]),
                ],
            ),
        ],
        AnyWorkload::Ycsb(_) => vec![
            skew(
                "skew (theta)",
                &[
                    ("0", &[("theta", "0")]),
                    ("0.6", &[("theta", "0.6")]),
                    ("0.9", &[("theta", "0.9")]),
                    ("0.99", &[("theta", "0.99")]),
                ],
            ),
            crossing(
                "transactions of two partitions (multi-partition)",
                &[
                    ("0 %", &[("touched-partitions", "2"), ("multi-partition", "0")]),
                    ("20 %", &[("touched-partitions", "2"), ("multi-partition", "20")]),
                    ("100 %", &[("touched-partitions", "2"), ("multi-partition", "100")]),
                ],
            ),
        ],
        AnyWorkload::Micro(_) => vec![
            skew(
                "hot rows (hot-records)",
                &[
                    ("4096", &[("hot-records", "4096")]),
                    ("256", &[("hot-records", "256")]),
                    ("16", &[("hot-records", "16")]),
                ],
            ),
            crossing(
                "operations of other partitions, of ten (remote)",
                &[
                    ("0", &[("remote", "0")]),
                    ("1", &[("remote", "1")]),
                    ("4", &[("remote", "4")]),
                    ("8", &[("remote", "8")]),
                ],
            ),
        ],
        AnyWorkload::SmallBank(_) => vec![
            skew(
                "hot customers (hot-customers)",
                &[
                    ("10000", &[("hot-customers", "10000")]),
                    ("1000", &[("hot-customers", "1000")]),
                    ("100", &[("hot-customers", "100")]),
                    ("10", &[("hot-customers", "10")]),
                ],
            ),
            crossing(
                "customers of other partitions (remote)",
                &[("0 %", &[("remote", "0")]), ("10 %", &[("remote", "10")]), ("50 %", &[("remote", "50")])],
            ),
        ],
        AnyWorkload::Tatp(_) => vec![
            skew(
                "subscribers (distribution)",
                &[
                    ("uniform", &[("distribution", "uniform")]),
                    ("non-uniform", &[("distribution", "non-uniform")]),
                ],
            ),
            crossing(
                "subscribers (from)",
                &[("home", &[("from", "home")]), ("anywhere", &[("from", "anywhere")])],
            ),
        ],
        AnyWorkload::Tpcc(_) => vec![crossing(
            "remote items and payments",
            &[
                ("0 and 0 %", &[("remote-items", "0"), ("remote-payments", "0")]),
                ("1 and 15 %", &[("remote-items", "1"), ("remote-payments", "15")]),
                ("10 and 50 %", &[("remote-items", "10"), ("remote-payments", "50")]),
            ],
        )],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workloads::{Parameters, build, descriptions};

    #[test]
    fn every_value_of_an_axis_is_a_workload() {
        for description in descriptions() {
            let mut given = Parameters::new();
            if description.name == "described" {
                given.set("file", "examples/workloads/bank.toml");
            }
            let workload = build(description.name, &given).expect("the defaults are valid");
            let axes = axes_of(&workload);
            assert!(axes.iter().any(|axis| axis.kind == AxisKind::Crossing), "{}", description.name);
            for (label, setting) in axes.iter().flat_map(|axis| &axis.values) {
                let mut given = given.clone();
                setting.iter().for_each(|(name, value)| given.set(*name, *value));
                build(description.name, &given).unwrap_or_else(|error| panic!("{label}: {error}"));
            }
        }
    }
}
