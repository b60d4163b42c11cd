//! Where the time goes: each class is told wherever it is spent.

use crate::rows::Rows;
use crate::supported;
use contract::{
    ArchitectureName, Arrangement, Engine, EngineOptions, PairName, ProtocolName, Seat, Selection, TimeClass,
    TimeShare, Until, Workload,
};
use engine::ThisEngine;
use std::time::Duration;

const WORKERS: usize = 2;

fn time_share(pair: PairName) -> TimeShare {
    let options = EngineOptions { sample_one_in: 1, ..EngineOptions::default() };
    let workload = Rows::taking(Duration::ZERO);
    let Arrangement { layout, clients, .. } = ThisEngine::arrange(pair, WORKERS, &options).expect("it fits");
    let mut store = ThisEngine::load(&workload, layout, &|_| ()).expect("a small table");
    let seat = |worker| Seat::new(worker, clients, 1).over(layout.partitions);
    let clients = (0..clients).map(|worker| workload.client(seat(worker))).collect();
    let run = ThisEngine::run_checked(
        &mut store,
        Selection::Pair(pair),
        clients,
        Until::Transactions(500),
        &options,
    );
    run.expect("nothing is wrong").measurement.time_share
}

/// Silo's transactions look keys up themselves, wherever their partition is: under asymmetric delegation no partition is where
/// transactions run, and the index has its time nevertheless.
#[test]
fn a_look_up_from_afar_is_the_indexs_time() {
    for pair in supported().filter(|pair| pair.protocol == ProtocolName::Silo) {
        let share = time_share(pair);
        assert!(share.samples > 0, "{pair}: nothing was timed");
        assert!(share.ns[TimeClass::Index.index()] > 0, "{pair}: {share:?}");
    }
}

/// A transaction that goes to its data waits on the way: what that takes is no useful work.
#[test]
fn a_migration_is_waiting() {
    for pair in supported().filter(|pair| pair.architecture == ArchitectureName::Dora) {
        let share = time_share(pair);
        assert!(share.share(TimeClass::Wait) > share.share(TimeClass::Useful), "{pair}: {share:?}");
    }
}
