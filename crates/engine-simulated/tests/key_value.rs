//! Transactions of single records under chosen interleavings; and without the latch of a write, or the second look of a read.

#[path = "../../engine/tests/shared/mod.rs"]
mod shared;

use contract::{ArchitectureName, PairName, ProtocolName};
use engine_simulated::ThisEngine;
use engine_simulated::testing::single_records::{self, Mutant};
use machine::simulated::{Schedule, explore};
use shared::counters::{count, count_by};
use std::panic::{AssertUnwindSafe, catch_unwind};

const KEY_VALUE: PairName =
    PairName { architecture: ArchitectureName::SharedEverything, protocol: ProtocolName::KeyValue };
const WORKERS: usize = 3;
const TRANSACTIONS: u64 = 30;

fn schedules(seed: u64) -> [Schedule; 3] {
    [
        Schedule::Random { seed, switch_one_in: 2 },
        Schedule::Random { seed, switch_one_in: 30 },
        Schedule::Pct { seed, depth: 3, steps: 20_000 },
    ]
}

fn runs(seeds: u64) -> impl Iterator<Item = (u64, Schedule)> {
    (0..seeds).flat_map(|seed| schedules(seed).map(|schedule| (seed, schedule)))
}

#[test]
fn no_write_is_lost_and_no_row_is_torn_under_any_schedule() {
    let counted =
        |(seed, schedule)| explore(schedule, || count::<ThisEngine>(KEY_VALUE, WORKERS, TRANSACTIONS, seed));
    let met: u64 = runs(60).map(counted).sum();
    assert!(met > 1_000, "{met} different counts");
}

/// What the test above says of a mutant, in how many runs.
fn found(mutant: Mutant, words: &str) -> usize {
    let says_so = |(seed, schedule)| {
        let run = || {
            count_by::<ThisEngine>(
                KEY_VALUE,
                WORKERS,
                TRANSACTIONS,
                seed,
                |store, clients, until, options| single_records::run(mutant, store, clients, until, options),
            )
        };
        let panic = catch_unwind(AssertUnwindSafe(|| explore(schedule, run))).err();
        panic.is_some_and(|panic| {
            let said = panic.downcast_ref::<String>().map_or("", |said| said);
            said.contains(words)
        })
    };
    runs(20).filter(|&run| says_so(run)).count()
}

#[test]
fn without_the_latch_a_lost_write_is_found() {
    let lost = found(Mutant::NoLatch, "a lost write");
    assert!(lost > 10, "{lost} of 60 runs");
}

#[test]
fn without_the_second_look_a_torn_row_is_found() {
    let torn = found(Mutant::OneLook, "a torn row");
    assert!(torn > 10, "{torn} of 60 runs");
}
