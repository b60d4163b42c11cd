//! Workers that have no transaction now: they serve others, hold nothing back, and sleep.

mod shared;

use contract::{ArchitectureName, Arrival, Engine, EngineOptions, PairName, ProtocolName, Selection};
use engine::ThisEngine;
use shared::arrivals::{Arrivals, RECORD_BYTES, serve, through};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// So many, one after the other.
fn at_once(transactions: u64) -> Arrivals {
    let mut left = transactions;
    Box::new(move || match left.checked_sub(1) {
        Some(fewer) => {
            left = fewer;
            Arrival::Ready
        }
        None => Arrival::Closed,
    })
}

/// As many at once as bring all fibers of a worker to work, and then nothing, for so long.
fn nothing_for(duration: Duration) -> Arrivals {
    let end = Instant::now() + duration;
    let mut left = 40;
    Box::new(move || {
        if left > 0 {
            left -= 1;
            return Arrival::Ready;
        }
        if Instant::now() < end { Arrival::NothingNow } else { Arrival::Closed }
    })
}

#[test]
fn what_arrives_now_and_then_commits_beside_what_arrives_at_once() {
    const AT_ONCE: u64 = 2_000;
    const NOW_AND_THEN: u64 = 20;
    for pair in shared::supported::<ThisEngine>() {
        let (requests, waiting) = mpsc::channel();
        let feeder = thread::spawn(move || {
            for _ in 0..NOW_AND_THEN {
                thread::sleep(Duration::from_millis(1));
                requests.send(()).expect("the worker has not ended");
            }
        });
        let arrivals = vec![at_once(AT_ONCE), through(waiting)];
        let (store, run) = serve::<ThisEngine>(Selection::Pair(pair), &EngineOptions::default(), arrivals);
        feeder.join().expect("it sent all");
        let committed: Vec<u64> = run.clients.iter().map(|client| client.committed).collect();
        assert_eq!(committed, [AT_ONCE, NOW_AND_THEN], "{pair}");
        assert_eq!(ThisEngine::leak_check(&store).held, 0, "{pair}");
    }
}

/// A worker that rests is in no epoch: what the others unlink is used again.
#[test]
fn a_worker_that_rests_holds_no_memory_back() {
    for (architecture, protocol) in [
        (ArchitectureName::SharedEverything, ProtocolName::Silo),
        (ArchitectureName::Dora, ProtocolName::NoWait),
    ] {
        let pair = PairName { architecture, protocol };
        let options = EngineOptions { epoch_interval: Duration::from_millis(1), ..EngineOptions::default() };
        let before = {
            let arrivals = vec![at_once(1), at_once(1)];
            ThisEngine::memory_bytes(&serve::<ThisEngine>(Selection::Pair(pair), &options, arrivals).0)
        };
        // As long as it takes beside whatever else the machine does.
        let deleted_for = |long: Duration| {
            let end = Instant::now() + long;
            let busy: Arrivals =
                Box::new(move || if Instant::now() < end { Arrival::Ready } else { Arrival::Closed });
            let arrivals = vec![busy, nothing_for(long)];
            let (store, run) = serve::<ThisEngine>(Selection::Pair(pair), &options, arrivals);
            (run.clients[0].committed / 2, ThisEngine::memory_bytes(&store) - before)
        };
        let mut tries = [500, 5_000, 50_000].into_iter().map(Duration::from_millis).map(deleted_for);
        let enough = tries.find(|&(deleted, _)| deleted > 20_000);
        let (deleted, grown) = enough.unwrap_or_else(|| panic!("{pair}: too few were deleted to tell"));
        assert!(
            grown < deleted * RECORD_BYTES / 4,
            "{pair}: {grown} bytes for {deleted} records, one after the other"
        );
    }
}
