//! Deployments of instances, with as many workers as there are.

mod shared;

use contract::{ArchitectureName, ChannelName, EngineOptions, Instances, PairName, ProtocolName, Selection};
use engine::ThisEngine;
use shared::concurrent::bank_run;
use shared::queues::queues_run;

const TRANSACTIONS: u64 = 4_000;

fn every_division(run: impl Fn(Selection, usize, &EngineOptions) -> Result<(), String>) {
    for &protocol in ProtocolName::DEPLOYED {
        let pair = PairName { architecture: ArchitectureName::SharedEverything, protocol };
        let two = Instances::of(2);
        for (workers, instances, in_flight) in
            [(2, two, 1), (2, two, 4), (4, two, 2), (3, Instances::PerCore, 2)]
        {
            let options =
                EngineOptions { instances, in_flight: in_flight.into(), ..EngineOptions::default() };
            let broken = run(Selection::Pair(pair), workers, &options).err();
            assert_eq!(broken, None, "{pair}, {workers} workers, {instances} instances");
        }
    }
}

#[test]
fn transactions_that_span_instances_keep_the_sums() {
    for one_shot in [true, false] {
        every_division(|selection, workers, options| {
            let options = EngineOptions { one_shot, ..options.clone() };
            bank_run::<ThisEngine>(selection, workers, 1, TRANSACTIONS, &options)
        });
    }
}

#[test]
fn scans_of_several_instances_miss_nothing() {
    for indexing in shared::ORDERED {
        every_division(|selection, workers, options| {
            queues_run::<ThisEngine>(selection, indexing, workers, 1, TRANSACTIONS / 4, options)
        });
    }
}

#[test]
fn every_channel_carries_them() {
    // MPI is between processes.
    for &channel in ChannelName::ALL.iter().filter(|&&channel| channel != ChannelName::Mpi) {
        every_division(|selection, workers, options| {
            let options = EngineOptions { channel, ..options.clone() };
            bank_run::<ThisEngine>(selection, workers, 2, TRANSACTIONS / 8, &options)
        });
    }
}
