//! What of a workload is varied to see where the recommendation flips: its skew, and how often transactions cross partitions.
//!
//! Each workload has parameters of its own for that. A file's are scaled: the skew and the distance of all draws that have any.

use serde::Serialize;
use std::collections::BTreeMap;
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
    /// Where the workload itself lies, in words.
    pub own: String,
    /// Its values in words, from the mildest on, with what to set.
    pub values: Vec<(String, Setting)>,
}

/// Of what YCSB and files call the exponent of a Zipfian distribution.
const THETAS: [&str; 4] = ["0", "0.6", "0.9", "0.99"];

/// The axes of `workload`.
pub fn axes_of(workload: &AnyWorkload) -> Vec<AxisOf> {
    use AxisKind::{Crossing, Skew};
    let resolved: BTreeMap<&str, String> = workload.resolved().into_iter().collect();
    let along = |kind, name, parameter: &'static str, unit: &str, values: &[&'static str]| {
        let own = resolved.get(parameter).map_or(String::new(), |value| format!("{value}{unit}"));
        along(kind, name, (parameter, own), unit, values)
    };
    match workload {
        AnyWorkload::Described(described) => {
            let own = |values: Vec<f64>, unit: &str| {
                let shown: Vec<String> = values.iter().map(|value| format!("{value}{unit}")).collect();
                shown.join(" and ")
            };
            let mut skew = along(Skew, "skew (theta)", "theta", "", &THETAS);
            skew.own = own(described.thetas(), "");
            let remote = "rows of other partitions (remote)";
            let mut crossing = along(Crossing, remote, "remote", " %", &["0", "10", "50", "100"]);
            crossing.own = own(described.remotes(), " %");
            vec![skew, crossing]
        }
        AnyWorkload::Ycsb(_) => {
            let multi_partition = "transactions of two partitions (multi-partition)";
            let mut crossing = along(Crossing, multi_partition, "multi-partition", " %", &["0", "20", "100"]);
            crossing.values.iter_mut().for_each(|(_, setting)| setting.push(("touched-partitions", "2")));
            match resolved.get("touched-partitions").map(String::as_str) {
                Some("2") | None => {}
                Some("any") => crossing.own = "rows of any partition in each".to_owned(),
                Some(touched) => crossing.own = format!("{} of {touched} partitions", crossing.own),
            }
            vec![along(Skew, "skew (theta)", "theta", "", &THETAS), crossing]
        }
        AnyWorkload::Micro(_) => vec![
            along(Skew, "hot rows (hot-records)", "hot-records", "", &["4096", "256", "16"]),
            along(
                Crossing,
                "operations of other partitions, of ten (remote)",
                "remote",
                "",
                &["0", "1", "4", "8"],
            ),
        ],
        AnyWorkload::SmallBank(_) => vec![
            along(
                Skew,
                "hot customers (hot-customers)",
                "hot-customers",
                "",
                &["10000", "1000", "100", "10"],
            ),
            along(Crossing, "customers of other partitions (remote)", "remote", " %", &["0", "10", "50"]),
        ],
        AnyWorkload::Tatp(_) => vec![
            along(Skew, "subscribers (distribution)", "distribution", "", &["uniform", "non-uniform"]),
            along(Crossing, "subscribers (from)", "from", "", &["home", "anywhere"]),
        ],
        AnyWorkload::Tpcc(_) => {
            let values = [("0", "0"), ("1", "15"), ("10", "50")].map(|(items, payments)| {
                let setting = vec![("remote-items", items), ("remote-payments", payments)];
                (format!("{items} and {payments} %"), setting)
            });
            let of = |parameter| resolved.get(parameter).map_or("", String::as_str);
            let own = format!("{} and {} %", of("remote-items"), of("remote-payments"));
            vec![AxisOf { kind: Crossing, name: "remote items and payments", own, values: values.to_vec() }]
        }
    }
}

/// The axis of one parameter, with these values, of this unit.
fn along(
    kind: AxisKind,
    name: &'static str,
    (parameter, own): (&'static str, String),
    unit: &str,
    values: &[&'static str],
) -> AxisOf {
    let values = values.iter().map(|value| (format!("{value}{unit}"), vec![(parameter, *value)])).collect();
    AxisOf { kind, name, own, values }
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
            assert!(axes.iter().all(|axis| !axis.own.is_empty()), "{axes:?}");
            for (label, setting) in axes.iter().flat_map(|axis| &axis.values) {
                let mut given = given.clone();
                setting.iter().for_each(|(name, value)| given.set(*name, *value));
                build(description.name, &given).unwrap_or_else(|error| panic!("{label}: {error}"));
            }
        }
    }
}
