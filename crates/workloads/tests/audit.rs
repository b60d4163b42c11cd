//! Audits, run as a harness that runs workloads of any type runs them: they accept what was committed, and reject what no
//! client says that it committed.

mod common;

use common::Store;
use contract::Seat;
use workloads::audit::{Audit, Audited};
use workloads::{Parameters, WorkloadVisitor, build, descriptions};

/// Runs a workload, and leaves the last so many clients out when it comes to the verdict.
struct Audits {
    silent: usize,
    auditors: usize,
}

impl WorkloadVisitor for Audits {
    /// `None`: the workload has no audit.
    type Output = Option<Result<(), String>>;

    fn visit<W: Audited>(self, workload: &W) -> Self::Output {
        let audit = workload.audit()?;
        let mut store = Store::whole(workload);
        let mut clients: Vec<_> =
            (0..3).map(|worker| workload.client(Seat::new(worker, 3, 1).over(3))).collect();
        for _ in 0..300 {
            clients.iter_mut().for_each(|client| {
                store.run(client);
            });
        }
        let auditors = common::audited(&audit, &mut store, self.auditors);
        let told = &clients[..clients.len() - self.silent];
        Some(audit.verdict(told, &auditors).map_err(|finding| finding.to_string()))
    }
}

fn small(workload: &str) -> Parameters {
    let given: &[(&str, &str)] = match workload {
        "micro" => &[("records", "5000"), ("writes", "all")],
        "ycsb" => &[("records", "5000")],
        "smallbank" => &[("customers", "5000")],
        "tatp" => &[("subscribers", "5000")],
        "described" => &[("file", "examples/workloads/bank.toml"), ("most-rows", "5000")],
        _ => &[],
    };
    given.iter().copied().collect()
}

fn audited(workload: &str, silent: usize, auditors: usize) -> Option<Result<(), String>> {
    build(workload, &small(workload)).expect("valid parameters").visit(Audits { silent, auditors })
}

#[test]
fn audits_accept_what_was_committed() {
    let audited: Vec<&str> = descriptions()
        .iter()
        .map(|description| description.name)
        .filter(|name| [1, 5].iter().all(|auditors| audited(name, 0, *auditors) == Some(Ok(()))))
        .collect();
    assert_eq!(audited, ["micro", "smallbank", "tpcc", "described"]);
    assert_eq!([self::audited("ycsb", 0, 1), self::audited("tatp", 0, 1)], [None, None]);
}

#[test]
fn audits_reject_what_nobody_committed() {
    for workload in ["micro", "smallbank", "tpcc"] {
        let finding = audited(workload, 1, 2).expect("it has one").expect_err("a client is missing");
        assert!(finding.contains("committed"), "{finding}");
    }
}
