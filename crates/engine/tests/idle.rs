//! Workers that have nothing to do take next to no time of the processor. Alone in its process, whose time it measures.
#![cfg(target_os = "linux")]

mod shared;

use contract::{ArchitectureName, Arrival, EngineOptions, PairName, ProtocolName, Selection};
use engine::ThisEngine;
use shared::arrivals::{Arrivals, serve};
use std::fs;
use std::time::{Duration, Instant};

/// Time of the processor that the process has taken, in ticks of ten milliseconds.
fn processor_ticks() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("Linux tells");
    let after_name = stat.rsplit_once(") ").expect("the name is in brackets").1;
    // User and system time are fields 14 and 15, the name being the second.
    after_name.split(' ').skip(11).take(2).map(|ticks| ticks.parse::<u64>().expect("a number")).sum()
}

#[test]
fn workers_without_transactions_sleep() {
    const WORKERS: usize = 4;
    const IDLE: Duration = Duration::from_millis(600);
    for (architecture, protocol) in [
        (ArchitectureName::SharedEverything, ProtocolName::Silo),
        (ArchitectureName::PartitionedSerial, ProtocolName::Unprotected),
        (ArchitectureName::Delegation, ProtocolName::NoWait),
        (ArchitectureName::AsymmetricDelegation, ProtocolName::NoWait),
        (ArchitectureName::Dora, ProtocolName::NoWait),
        (ArchitectureName::Orthrus, ProtocolName::Unprotected),
    ] {
        let pair = PairName { architecture, protocol };
        let end = Instant::now() + IDLE;
        let nothing = |_| -> Arrivals {
            Box::new(move || if Instant::now() < end { Arrival::NothingNow } else { Arrival::Closed })
        };
        let before = processor_ticks();
        let (_, run) = serve::<ThisEngine>(
            Selection::Pair(pair),
            &EngineOptions::default(),
            (0..WORKERS).map(nothing).collect(),
        );
        let taken = processor_ticks() - before;
        assert_eq!(run.measurement.commits, 0);
        assert!(Instant::now() >= end, "{pair}: it waited for what might arrive");
        assert!(taken < 20, "{pair}: {taken} of 60 ticks of two processors");
    }
}
