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

/// What the test above says of a mutant, in those of sixty runs in which it says something.
fn found(mutant: Mutant) -> Vec<String> {
    let said = |(seed, schedule)| {
        let run = || {
            count_by::<ThisEngine>(
                KEY_VALUE,
                WORKERS,
                TRANSACTIONS,
                seed,
                |store, clients, until, options| single_records::run(mutant, store, clients, until, options),
            )
        };
        let panic = catch_unwind(AssertUnwindSafe(|| explore(schedule, run))).err()?;
        Some(panic.downcast_ref::<String>().cloned().unwrap_or_default())
    };
    runs(20).filter_map(said).collect()
}

/// Two that write at the same time also write a part of the row each.
#[test]
fn without_the_latch_a_lost_write_is_found() {
    let found = found(Mutant::NoLatch);
    assert!(found.len() > 10, "{found:?}");
    assert!(found.iter().any(|words| words.contains("a lost write")), "{found:?}");
}

/// A row that is whole may be of before a write that has the smaller id.
#[test]
fn without_the_second_look_a_torn_row_is_found() {
    let found = found(Mutant::OneLook);
    assert!(found.len() > 10, "{found:?}");
    assert!(found.iter().any(|words| words.contains("a torn row")), "{found:?}");
}
