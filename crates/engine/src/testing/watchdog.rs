//! A protocol that wakes nobody, under every architecture: the watchdog says who waits, and the run ends. Runs in which somebody
//! is only slow go on.

use super::canary::LostWakeUp;
use crate::physical::Shared;
use crate::protocol::DlDetect;
use crate::storage::Store;
use crate::system::{Delegation, Dispatch, Dora, Run, SharedEverything, System};
use contract::{
    Abort, ArchitectureName, Client, Completion, EngineOptions, Indexing, Key, Layout, Outcome, PairName,
    Plan, Procedure, ProtocolName, Seat, Selection, TableDescription, TableId, Transaction, TransactionExt,
    Until, Workload,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

const T: TableId = TableId(0);
const WORKERS: usize = 3;

/// Everybody writes the same two records, and takes its time.
struct Hot;

struct Touch;

impl Procedure for Touch {
    fn run<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<Outcome, Abort> {
        for key in [Key(0), Key(1)] {
            let _ = txn.update_row::<u64, _>(T, key, |row| *row += 1)?;
            // Long enough for the others to come, short enough for nobody to be thought stuck.
            let until = crate::facade::clock::now().0 + crate::facade::clock::ticks_of(PATIENCE / 1000);
            while crate::facade::clock::now().0 < until {
                crate::facade::cpu::pause();
            }
        }
        Ok(Outcome::Commit)
    }

    fn plan<X: Transaction + ?Sized>(&self, _: &mut X, plan: &mut Plan) -> Result<(), Abort> {
        plan.declare(T, Key(0));
        plan.declare(T, Key(1));
        Ok(())
    }
}

struct HotClient;

impl Client for HotClient {
    type Procedure = Touch;

    fn next(&mut self) -> Touch {
        Touch
    }

    fn finished(&mut self, _: Touch, _: &Completion<'_>) {}
}

impl Workload for Hot {
    type Client = HotClient;

    fn tables(&self) -> Vec<TableDescription> {
        vec![TableDescription {
            name: "hot",
            row_bytes: size_of::<u64>(),
            kept_bytes: size_of::<u64>(),
            rows: WORKERS as u64,
            capacity: WORKERS as u64,
            indexing: Indexing::Hashed,
            partition: TableDescription::partition_by_remainder,
        }]
    }

    fn fill(&self, _: TableId, _: Key, row: &mut [u8]) {
        row.fill(0);
    }

    fn client(&self, _: Seat) -> HotClient {
        HotClient
    }
}

/// Short, so that the test is; far longer than a transaction takes.
const PATIENCE: Duration = Duration::from_millis(20);

/// How a run over the records ended: with its commits, or with the words of a panic.
fn run<S: System>(architecture: ArchitectureName, transactions: u64) -> Result<u64, String> {
    let partitions = if architecture == ArchitectureName::SharedEverything { 1 } else { WORKERS as u32 };
    let options = EngineOptions { patience: Some(PATIENCE), ..EngineOptions::default() };
    let mut store = Store::load(&Hot, Layout::of(partitions), &|_| ()).expect("a few records");
    let selection = Selection::Pair(PairName { architecture, protocol: ProtocolName::DlDetect });
    let ended = catch_unwind(AssertUnwindSafe(|| {
        let clients = (0..WORKERS).map(|_| HotClient).collect();
        let until = Until::Transactions(transactions);
        Run { store: &mut store, clients, until, options: &options, selection }.run::<S>()
    }));
    match ended {
        Ok((reports, _)) => Ok(reports.hosts.iter().map(|report| report.counts.commits).sum()),
        Err(panic) => Err(*panic.downcast::<String>().expect("words")),
    }
}

fn ends_with_the_graph<S: System>(architecture: ArchitectureName) {
    // Enough for one to meet another, however the system lets them run.
    let words = run::<S>(architecture, 20_000).expect_err("nobody is woken");
    assert!(words.contains("transactions wait for ever: slot "), "{words}");
}

#[test]
fn a_lost_wake_up_ends_a_run_under_shared_everything() {
    ends_with_the_graph::<SharedEverything<LostWakeUp, Shared>>(ArchitectureName::SharedEverything);
}

#[test]
fn a_lost_wake_up_ends_a_run_under_delegation() {
    ends_with_the_graph::<Delegation<LostWakeUp>>(ArchitectureName::Delegation);
}

#[test]
fn a_lost_wake_up_ends_a_run_under_dora() {
    ends_with_the_graph::<Dora<LostWakeUp>>(ArchitectureName::Dora);
}

#[test]
fn runs_with_long_queues_go_on() {
    const EACH: u64 = 50;
    let commits = [
        run::<SharedEverything<DlDetect, Shared>>(ArchitectureName::SharedEverything, EACH),
        run::<Delegation<DlDetect>>(ArchitectureName::Delegation, EACH),
        run::<Dora<DlDetect>>(ArchitectureName::Dora, EACH),
    ];
    assert_eq!(commits, [const { Ok(EACH * WORKERS as u64) }; 3]);
}
