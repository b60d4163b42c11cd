//! Transactions of single records under chosen interleavings; a write that is lost is found.

#[path = "../../engine/tests/shared/mod.rs"]
mod shared;

use contract::{ArchitectureName, CanaryName, PairName, ProtocolName, Selection};
use engine_simulated::ThisEngine;
use machine::simulated::{Schedule, explore};
use shared::counters::count;
use std::panic::{AssertUnwindSafe, catch_unwind};

const KEY_VALUE: PairName =
    PairName { architecture: ArchitectureName::SharedEverything, protocol: ProtocolName::KeyValue };

fn schedules(seed: u64) -> [Schedule; 3] {
    [
        Schedule::Random { seed, switch_one_in: 2 },
        Schedule::Random { seed, switch_one_in: 30 },
        Schedule::Pct { seed, depth: 3, steps: 20_000 },
    ]
}

fn counted(selection: Selection, seed: u64, schedule: Schedule) -> u64 {
    explore(schedule, || count::<ThisEngine>(selection, 3, 30, seed))
}

#[test]
fn no_write_is_lost_and_no_row_is_torn_under_any_schedule() {
    let runs = (0..60).flat_map(|seed| schedules(seed).map(|schedule| (seed, schedule)));
    let met: u64 = runs.map(|(seed, schedule)| counted(KEY_VALUE.into(), seed, schedule)).sum();
    assert!(met > 1_000, "{met} different counts");
}

/// What the test would say of a store that loses writes: SILO that does not validate.
#[test]
fn a_lost_write_is_found() {
    let canary = Selection::Canary(ArchitectureName::SharedEverything, CanaryName::NoReadValidation);
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let mut runs = (0..20).flat_map(|seed| schedules(seed).map(|schedule| (seed, schedule)));
    let found = runs
        .any(|(seed, schedule)| catch_unwind(AssertUnwindSafe(|| counted(canary, seed, schedule))).is_err());
    std::panic::set_hook(hook);
    assert!(found);
}
