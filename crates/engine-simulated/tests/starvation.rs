//! Every transaction has a bound, explored: one that starves without precedence ends soon with it.

#[path = "../../engine/tests/shared/mod.rs"]
mod shared;

use contract::{ArchitectureName, EngineOptions, PairName, ProtocolName, Selection};
use engine_simulated::ThisEngine;
use machine::simulated::{Exploration, Schedule, cpu, explore};
use shared::starving::{Bound, starve};

const AFTER: u32 = 8;

fn explored(pair: PairName, precedence_after: u32, seed: u64) -> Bound {
    let schedule = Schedule::Random { seed, switch_one_in: 4 };
    let exploration = Exploration { step_bound: 100_000_000, ..Exploration::of(schedule) };
    let options = EngineOptions {
        precedence_after,
        in_flight: 1.into(),
        seed,
        back_off_first_ns: 200,
        back_off_cap_ns: 1_000,
        ..EngineOptions::default()
    };
    explore(exploration, || starve::<ThisEngine>(Selection::Pair(pair), &options, cpu::pause, 500))
}

#[test]
fn who_starves_goes_first_under_every_schedule() {
    for pair in shared::supported::<ThisEngine>() {
        for seed in 0..3 {
            let bound = explored(pair, AFTER, seed);
            assert!(bound.after < 0.1, "{pair}: {bound:?}");
        }
    }
}

/// Without precedence it does starve, so that the test above shows something.
#[test]
fn without_precedence_it_starves() {
    for protocol in [ProtocolName::NoWait, ProtocolName::TwoVersionNoWait, ProtocolName::Silo] {
        let pair = PairName { architecture: ArchitectureName::SharedEverything, protocol };
        let bound = explored(pair, 0, 1);
        assert!(bound.after > 0.2 && bound.attempts > 4 * AFTER, "{pair}: {bound:?}");
    }
}
