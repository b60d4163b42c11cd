//! What a check does where nothing was typed: transactions that write as well as read, on so few rows that they meet, whichever
//! owns them.
//!
//! A measured workload's own defaults are a paper's, and the paper may want none of that: its micro-benchmark only reads, and
//! two million rows hide everything but the hot ones. An exploration's runs are short, so its tables are smaller still.

/// How long a check runs, if it is not told: enough for the canaries to be found on two cores, and judged in seconds.
const TRANSACTIONS: u64 = 100_000;

/// What a check sets of one workload's parameters.
struct Defaults {
    workload: &'static str,
    transactions: u64,
    /// Name, value in a check, value in an exploration.
    parameters: &'static [(&'static str, &'static str, &'static str)],
    hints: Hints,
}

/// What makes more happen, in options.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hints {
    /// For who only reads.
    pub to_write: &'static str,
    /// For who seldom meets; may be empty.
    pub to_meet: &'static str,
}

const MEASURED: [Defaults; 6] = [
    Defaults {
        workload: "micro",
        transactions: TRANSACTIONS,
        parameters: &[("records", "1000", "32"), ("remote", "any", "any"), ("writes", "50", "50")],
        hints: Hints { to_write: "--writes 50", to_meet: "fewer --records, --writes nearer to 50" },
    },
    Defaults {
        workload: "ycsb",
        transactions: TRANSACTIONS,
        parameters: &[("records", "1000", "32")],
        hints: Hints {
            to_write: "--reads 50, and no --mix C",
            to_meet: "fewer --records, --reads nearer to 50",
        },
    },
    Defaults {
        workload: "smallbank",
        transactions: TRANSACTIONS,
        parameters: &[("customers", "1000", "32"), ("hot-customers", "100", "8")],
        hints: Hints { to_write: "--mix h-store", to_meet: "fewer --customers and --hot-customers" },
    },
    Defaults {
        workload: "tatp",
        transactions: TRANSACTIONS,
        parameters: &[("subscribers", "100", "32")],
        hints: Hints { to_write: "more --transactions", to_meet: "fewer --subscribers" },
    },
    Defaults {
        workload: "tpcc",
        // What Delivery deletes leaves a tombstone in a check, and every Delivery goes over those before it.
        transactions: 20_000,
        parameters: &[
            ("warehouses", "2", "2"),
            ("home", "any", "any"),
            ("items", "100", "32"),
            ("customers", "30", "32"),
        ],
        hints: Hints {
            to_write: "--mix standard",
            to_meet: "fewer --warehouses, --home any, --mix standard",
        },
    },
    Defaults {
        workload: "described",
        transactions: TRANSACTIONS,
        parameters: &[("most-rows", "1000", "32")],
        hints: Hints { to_write: "transactions that write", to_meet: "fewer --most-rows, more --theta" },
    },
];

fn of(workload: &str) -> Option<&'static Defaults> {
    MEASURED.iter().find(|defaults| defaults.workload == workload)
}

/// Transactions of a check of `workload`, of all workers together.
pub fn transactions(workload: &str) -> u64 {
    of(workload).map_or(TRANSACTIONS, |defaults| defaults.transactions)
}

/// Parameters of `workload` that a check, or an exploration, sets where nothing was typed: names and values.
pub fn parameters(workload: &str, explored: bool) -> impl Iterator<Item = (&'static str, &'static str)> {
    let set = of(workload).map_or(&[][..], |defaults| defaults.parameters);
    set.iter().map(move |&(name, checked, exploring)| (name, if explored { exploring } else { checked }))
}

/// What makes more happen. Workloads that are made for checks keep their transactions on few rows by themselves.
pub(super) fn hints(workload: &str) -> Hints {
    const OWN: Hints = Hints { to_write: "more --transactions", to_meet: "" };
    of(workload).map_or(OWN, |defaults| defaults.hints)
}

#[cfg(test)]
mod tests {
    use super::*;
    use workloads::{Parameters, build, descriptions};

    #[test]
    fn every_measured_workload_is_built_from_them() {
        assert_eq!(MEASURED.len(), descriptions().len());
        for workload in descriptions() {
            assert!(of(workload.name).is_some(), "{}", workload.name);
            for explored in [false, true] {
                let mut given: Parameters = parameters(workload.name, explored).collect();
                if workload.name == "described" {
                    given.set("file", "examples/workloads/bank.toml");
                }
                build(workload.name, &given).unwrap_or_else(|error| panic!("{}: {error}", workload.name));
            }
        }
    }
}
