//! In which order systems are taken, over which stores, and what is refused before anything is loaded.

use super::{After, measure, supported};
use crate::mock::{Counting, MOST_WORKERS, Mock, MockEngine, WHY_NOT};
use crate::observer::{Event, Observer, Silent};
use crate::options::RunOptions;
use crate::results::tests::{ROWS, subject};
use contract::{Engine, PairName};
use std::sync::Mutex;
use workloads::Ycsb;
use workloads::audit::Audited;

#[derive(Default)]
struct RunsSeen(Mutex<Vec<String>>);

impl Observer for RunsSeen {
    fn tell(&self, event: Event<'_>) {
        let mut told = self.0.lock().expect("no test panics with it");
        match event {
            Event::RunBegins { system, repetition, .. } => told.push(format!("{repetition} {system}")),
            Event::LoadBegins { rows } => told.push(format!("load {rows}")),
            _ => {}
        }
    }
}

/// A table that many may update: no transaction looks at what others wrote.
fn updates() -> Ycsb {
    let rows = ROWS.to_string();
    let parameters = [("records", rows.as_str()), ("mix", "A")].into_iter().collect();
    Ycsb::new(&parameters).expect("parameters of YCSB")
}

/// What a comparison did, in order, and what it says of that.
fn compared<E: Engine>(workload: &impl Audited) -> (Vec<String>, String) {
    let (pairs, _) = supported::<E>(&subject().options);
    let runs = RunsSeen::default();
    let measured = measure::<E, _>(workload, &pairs, &subject().options, After::Nothing, &runs);
    (runs.0.into_inner().expect("no test panics with it"), measured.expect("measured").1.to_string())
}

#[test]
fn a_comparison_takes_the_systems_of_all_layouts_by_turns() {
    let (told, turns) = compared::<MockEngine>(&updates());
    assert_eq!(turns, "in each repetition 5 systems interleaved, over 2 stores side by side");
    let expected = [
        "load 100",
        "load 100",
        "1 shared-everything no-wait",
        "1 shared-everything dl-detect",
        "1 shared-everything silo",
        "1 delegation no-wait",
        "1 asymmetric-delegation no-wait",
        "2 shared-everything dl-detect",
        "2 shared-everything silo",
        "2 delegation no-wait",
        "2 asymmetric-delegation no-wait",
        "2 shared-everything no-wait",
        "3 shared-everything silo",
        "3 delegation no-wait",
        "3 asymmetric-delegation no-wait",
        "3 shared-everything no-wait",
        "3 shared-everything dl-detect",
    ];
    assert_eq!(told, expected);
}

/// A store that is not waited for is not loaded, and none is looked for that is not there.
#[test]
fn where_there_is_no_room_stores_come_one_after_the_other() {
    let one_store_at_a_time = [
        "load 100",
        "1 shared-everything no-wait",
        "1 shared-everything dl-detect",
        "1 shared-everything silo",
        "1 asymmetric-delegation no-wait",
    ];
    let (without_room, turns) = compared::<Mock<false, 0>>(&updates());
    assert_eq!(without_room[..5], one_store_at_a_time);
    assert_eq!(without_room.iter().filter(|told| *told == "load 100").count(), 2);
    assert_eq!(
        turns,
        "in groups one after the other, since memory has no room for all stores: 4 systems over one store, then 1 system \
         over one store; interleaved within each"
    );
}

#[test]
fn where_runs_repeat_each_has_a_store_of_its_own() {
    let (told, turns) = compared::<Mock<true, 0>>(&Counting { rows: ROWS });
    assert_eq!(turns, "each repetition as over a newly loaded store: what is simulated repeats bit for bit");
    let (runs, loads): (Vec<&str>, Vec<&str>) = told.chunks_exact(2).map(|two| (&*two[0], &*two[1])).unzip();
    assert_eq!(runs.len(), 5 * 3, "{told:?}");
    let expected =
        ["1 shared-everything no-wait", "2 shared-everything no-wait", "3 shared-everything no-wait"];
    assert_eq!(runs[..3], expected);
    assert!(loads.iter().all(|load| *load == "load 100"), "{told:?}");
}

#[test]
fn who_needs_more_workers_than_there_are_is_left_out_with_the_reason() {
    let options = RunOptions { workers: 1, ..subject().options };
    let (pairs, others) = supported::<MockEngine>(&options);
    assert_eq!(pairs.len(), 4, "{pairs:?}");
    let lonely = others.iter().find(|pair| pair.why != WHY_NOT).expect("one that needs two");
    assert_eq!(
        (&*lonely.architecture, &*lonely.why),
        ("asymmetric-delegation", "--workers 1: allowed: others")
    );
}

#[test]
fn what_cannot_be_measured_is_refused_before_anything_is_loaded() {
    let all: Vec<PairName> = PairName::all().collect();
    let refuse = |pairs: &[PairName], workers, rows| {
        let options = RunOptions { workers, ..subject().options };
        let refused = measure::<MockEngine, _>(&Counting { rows }, pairs, &options, After::Nothing, &Silent);
        refused.expect_err("refused")
    };
    let unsupported = refuse(&all, 2, ROWS).to_string();
    assert!(unsupported.ends_with(WHY_NOT) && unsupported.contains("--protocol 2v-no-wait"), "{unsupported}");
    let (pairs, _) = supported::<MockEngine>(&subject().options);
    let crowded = refuse(&pairs, MOST_WORKERS + 1, ROWS);
    assert_eq!(crowded.to_string(), "--workers 9: allowed: 1 <= workers <= 8 under shared-everything");
    let mut options = subject().options;
    options.engine.servers = 2;
    let (pairs, _) = supported::<MockEngine>(&options);
    let misfit =
        measure::<MockEngine, _>(&Counting { rows: ROWS }, &pairs, &options, After::Nothing, &Silent);
    assert_eq!(misfit.expect_err("refused").to_string(), "--servers 2: allowed: others");
    let large = refuse(&pairs, 2, 1 << 30);
    assert!(large.to_string().contains("need 8.00 GiB of memory and 1.00 GiB are available"), "{large}");
    assert_eq!((crowded.exit_code(), large.exit_code()), (2, 2));
}
