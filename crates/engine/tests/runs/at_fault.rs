//! Procedures that make mistakes: plans that omit what is touched, and panics. Under every pair the mistake is told, the
//! transaction is undone, and everybody else ends.

use crate::rows::{Mistake, Rows, RowsClient, T};
use crate::supported;
use contract::{
    Abort, ArchitectureName, Arrangement, Client, Completion, Engine, EngineOptions, Key, Measurement,
    Outcome, PairName, PartitionId, Plan, Procedure, ProtocolName, RunError, Seat, Selection, Span,
    TableDescription, TableId, Transaction, Until, Workload,
};
use engine::ThisEngine;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::time::Duration;

const WORKERS: usize = 3;

type Store = <ThisEngine as Engine>::Store;

fn load(pair: PairName, mistake: Mistake) -> (Store, Vec<RowsClient>) {
    let arrangement = ThisEngine::arrange(pair, WORKERS, &EngineOptions::default());
    let Arrangement { layout, clients, .. } = arrangement.expect("the defaults fit");
    let store = ThisEngine::load(&Rows::with(mistake), layout, &|_| ()).expect("a small table");
    let seat = |worker| Seat::new(worker, clients, 1).over(layout.partitions);
    (store, (0..clients).map(|worker| Rows::with(mistake).client(seat(worker))).collect())
}

fn run(store: &mut Store, pair: PairName, clients: Vec<RowsClient>) -> Result<u64, RunError> {
    let options = EngineOptions::default();
    let until = Until::Transactions(200);
    let run = ThisEngine::run_checked(store, Selection::Pair(pair), clients, until, &options)?;
    Ok(run.clients.iter().map(|client| client.committed_ns.len() as u64).sum())
}

const SERIAL: PairName =
    PairName { architecture: ArchitectureName::PartitionedSerial, protocol: ProtocolName::Unprotected };

#[test]
fn a_plan_that_omits_a_partition_is_an_error_that_names_the_key_and_changes_nothing() {
    let (mut store, mut clients) = load(SERIAL, Mistake::WrongPlan);
    clients.truncate(1);
    let error = run(&mut store, SERIAL, clients).expect_err("the plan is wrong");
    assert_eq!(error, RunError::Undeclared { table: "rows", key: Key(2), partition: PartitionId(2) });
    let words = "a procedure touched key 2 of table 'rows', in partition 2, which its plan does not declare";
    assert_eq!(error.to_string(), words);
    assert_eq!(ThisEngine::leak_check(&store).held, 0);
    // The first key was updated before the second was refused.
    assert_eq!(first_byte(&mut store, Key(1)), 0);
}

const ORTHRUS: PairName =
    PairName { architecture: ArchitectureName::Orthrus, protocol: ProtocolName::Unprotected };

#[test]
fn a_procedure_without_a_plan_is_an_error_where_plans_are_locked_that_says_what_is_needed() {
    let (mut store, clients) = load(ORTHRUS, Mistake::NoPlan);
    let error = run(&mut store, ORTHRUS, clients).expect_err("it has no plan");
    // Several are in flight.
    let words = |key| {
        format!(
            "a procedure touched key {key} of table 'rows', which its plan does not name; orthrus locks what is planned before a \
             transaction begins: let the plan name all keys and ranges, or say that it leaves some open"
        )
    };
    assert!((1..=4).map(words).any(|words| words == error.to_string()), "{error}");
    assert_eq!(ThisEngine::leak_check(&store).held, 0);
}

/// The procedure runs ahead, and finds what its plan omits, or names in too weak a mode.
#[test]
fn an_incomplete_plan_is_completed_where_plans_are_locked() {
    let (mut store, clients) = load(ORTHRUS, Mistake::WrongPlan);
    let workers = clients.len() as u64;
    assert_eq!(run(&mut store, ORTHRUS, clients), Ok(200 * workers));
    assert_eq!(ThisEngine::leak_check(&store).held, 0);
}

/// What a row's first byte is, read by a transaction.
fn first_byte(store: &mut Store, key: Key) -> u8 {
    struct Look(Key, Mutex<u8>);
    struct Looker(Key, u8);
    struct Looking(Key);
    impl Procedure for Look {
        fn run<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<Outcome, Abort> {
            let mut seen = 0;
            let _ = txn.read(T, self.0, Span::whole(8), &mut |bytes| seen = bytes[0])?;
            *self.1.lock().expect("one worker") = seen;
            Ok(Outcome::Commit)
        }

        fn plan<X: Transaction + ?Sized>(&self, _: &mut X, plan: &mut Plan) -> Result<(), Abort> {
            plan.declare(T, self.0);
            Ok(())
        }
    }
    impl Client for Looker {
        type Procedure = Look;

        fn next(&mut self) -> Look {
            Look(self.0, Mutex::new(0))
        }

        fn finished(&mut self, look: Look, _: &Completion<'_>) {
            self.1 = look.1.into_inner().expect("one worker");
        }
    }
    impl Workload for Looking {
        type Client = Looker;

        fn tables(&self) -> Vec<TableDescription> {
            Rows::with(Mistake::Panic).tables()
        }

        fn fill(&self, _: TableId, _: Key, _: &mut [u8]) {}

        fn client(&self, _: Seat) -> Looker {
            Looker(self.0, 0)
        }
    }
    let looker = Looking(key).client(Seat::new(0, 1, 1));
    let (selection, until) = (Selection::Pair(SERIAL), Until::Transactions(1));
    let run = ThisEngine::run_checked(store, selection, vec![looker], until, &EngineOptions::default());
    run.expect("the plan is right").clients[0].1
}

#[test]
fn a_plan_that_is_out_of_date_is_made_again() {
    // Also where the first abort gives precedence, to which the others defer.
    for precedence_after in [EngineOptions::default().precedence_after, 1] {
        let (mut store, clients) = load(SERIAL, Mistake::StalePlan);
        let workers = clients.len() as u64;
        let options = EngineOptions { precedence_after, ..EngineOptions::default() };
        let until = Until::Transactions(200);
        let run = ThisEngine::run_checked(&mut store, Selection::Pair(SERIAL), clients, until, &options);
        assert_eq!(run.expect("the second plan is right").measurement.commits, 200 * workers);
    }
}

#[test]
fn a_panic_is_passed_on_and_leaves_nothing_behind() {
    for pair in supported() {
        for mistake in [Mistake::Panic, Mistake::PanicAtDraw, Mistake::PanicAtEnd] {
            let (mut store, clients) = load(pair, mistake);
            let panic = catch_unwind(AssertUnwindSafe(|| run(&mut store, pair, clients)));
            let panic = panic.expect_err("the panic is passed on");
            let words =
                panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(|w| &**w));
            assert!(words.expect("words").contains("one that panics"), "{pair}: {words:?}");
            let leaks = ThisEngine::leak_check(&store);
            assert_eq!(leaks.held, 0, "{pair}");
            assert_eq!(leaks.allocated_records, leaks.linked_records, "{pair}");
        }
    }
}

/// A transaction that cannot commit does not outlast the run: it is given up when the run is over, and nothing is held.
#[test]
fn a_transaction_that_aborts_for_ever_ends_with_its_run() {
    for pair in supported() {
        for warmup in [Duration::ZERO, Duration::from_millis(20)] {
            let until = Until::Interval { warmup, duration: Duration::from_millis(10) };
            let options =
                EngineOptions { back_off_cap_ns: 0, in_flight: 1.into(), ..EngineOptions::default() };
            let needs_two = [ArchitectureName::AsymmetricDelegation, ArchitectureName::Orthrus];
            let workers = if needs_two.contains(&pair.architecture) { 2 } else { 1 };
            let arrangement = ThisEngine::arrange(pair, workers, &options).expect("it fits");
            assert_eq!(arrangement.clients, 1, "{pair}");
            let workload = Rows::with(Mistake::Endless);
            let client = workload.client(Seat::new(0, 1, 1).over(arrangement.layout.partitions));
            let mut alone = ThisEngine::load(&workload, arrangement.layout, &|_| ()).expect("a small table");
            let run =
                ThisEngine::run_checked(&mut alone, Selection::Pair(pair), vec![client], until, &options);
            let measured = run.expect("no mistake that is told").measurement;
            let Measurement { commits, unfinished, .. } = measured;
            assert!(commits <= 9 && unfinished <= 1, "{pair}: {commits} committed, {unfinished} given up");
            assert_eq!(ThisEngine::leak_check(&alone).held, 0, "{pair}");
        }
    }
}
