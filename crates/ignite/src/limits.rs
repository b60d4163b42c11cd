//! What is refused, and why: transactions that rely on there being nothing between the keys that they see.
//!
//! Ignite validates the entries that a transaction has read, missing ones too; its scans and SQL queries are outside of
//! serializable transactions. A range whose keys begin with the same eight bytes is one entry here ([`crate::row`]); that serves TPC-C's customers by name.

use crate::engine::{MOST_NODES, MOST_WORKERS};
use contract::Indexing;
use harness::check::{CheckWorkload, Own};
use harness::{BadValue, Failure};
use workloads::AnyWorkload;

/// TPC-C's mixes whose scans are within a name.
const TPCC_MIXES: [&str; 3] = ["payment", "new-order", "new-order-payment"];

/// Refuses what is not serializable there, or not there at all.
pub fn admit(workload: &AnyWorkload) -> Result<(), Failure> {
    let why = "Ignite's serializable transactions do not scan ranges";
    let resolved = workload.resolved();
    let value =
        |wanted: &str| resolved.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value.as_str());
    match (workload, value("mix"), value("scan-rows")) {
        (AnyWorkload::Tpcc(_), Some(mix), _) if !TPCC_MIXES.contains(&mix) => {
            Err(BadValue::new("mix", mix, format!("{}: {why}", TPCC_MIXES.join(", "))).into())
        }
        (AnyWorkload::Ycsb(_), Some("E"), _) => {
            Err(BadValue::new("mix", "E", format!("none, A, B, C, D, F: {why}")).into())
        }
        (AnyWorkload::Ycsb(_), _, Some(rows)) if rows != "0" => {
            Err(BadValue::new("scan-rows", rows, format!("0: {why}")).into())
        }
        _ => Ok(()),
    }
}

/// Refuses more than there can be, before anything is loaded.
pub fn admit_sizes(workers: usize, nodes: usize) -> Result<(), Failure> {
    for (option, value, most) in [("workers", workers, MOST_WORKERS), ("nodes", nodes, MOST_NODES)] {
        if !(1..=most).contains(&value) {
            return Err(BadValue::new(option, value, format!("1 <= {option} <= {most}")).into());
        }
    }
    Ok(())
}

/// What [`admit`] says, of what a check runs.
pub fn admit_check(workload: &CheckWorkload) -> Result<(), Failure> {
    let scans = match workload {
        CheckWorkload::Measured(workload) => return admit(workload),
        CheckWorkload::Own(Own::Ranges) => true,
        CheckWorkload::Own(Own::Scenario(scenario)) => scenario.indexing != Indexing::Hashed,
        CheckWorkload::Own(Own::Membership | Own::ListAppend | Own::GrowingLists) => false,
    };
    match (scans, workload) {
        (true, CheckWorkload::Own(own)) => Err(Failure::Usage(format!(
            "{}: Ignite's serializable transactions do not scan ranges; allowed: membership, list-append, growing-lists, \
             scenarios without ranges, and the measured workloads",
            own.name()
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workloads::{Parameters, build};

    #[test]
    fn what_scans_ranges_is_refused_in_words() {
        let of = |name: &str, parameters: &[(&str, &str)]| {
            let parameters: Parameters = parameters.iter().copied().collect();
            admit(&build(name, &parameters).expect("a workload")).map_err(|refused| refused.to_string())
        };
        for mix in TPCC_MIXES {
            assert_eq!(of("tpcc", &[("mix", mix)]), Ok(()));
        }
        for (name, allowed) in
            [("smallbank", &[][..]), ("micro", &[]), ("tatp", &[]), ("ycsb", &[("mix", "D")])]
        {
            assert_eq!(of(name, allowed), Ok(()), "{name}");
        }
        let refused = of("tpcc", &[]).expect_err("the standard mix scans");
        assert_eq!(
            refused,
            "--mix standard: allowed: payment, new-order, new-order-payment: Ignite's serializable transactions do not scan ranges"
        );
        assert!(of("ycsb", &[("mix", "E")]).is_err() && of("ycsb", &[("scan-rows", "5")]).is_err());
    }

    #[test]
    fn more_workers_or_nodes_than_there_can_be_are_refused_by_the_names_of_their_options() {
        let refused = |workers, nodes| admit_sizes(workers, nodes).map_err(|failure| failure.to_string());
        assert_eq!(refused(MOST_WORKERS, MOST_NODES), Ok(()));
        assert_eq!(refused(65, 2), Err("--workers 65: allowed: 1 <= workers <= 64".to_owned()));
        assert_eq!(refused(2, 5), Err("--nodes 5: allowed: 1 <= nodes <= 4".to_owned()));
    }

    #[test]
    fn checks_that_scan_are_refused_and_no_others() {
        let refused: Vec<&str> =
            Own::all().filter(|own| admit_check(&CheckWorkload::Own(*own)).is_err()).map(Own::name).collect();
        assert!(refused.contains(&"ranges") && !refused.contains(&"membership"), "{refused:?}");
        assert!(refused.len() < Own::all().count() / 2, "{refused:?}");
    }
}
