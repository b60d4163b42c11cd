//! Phantoms at the leaves of an ordered table: scenes around one leaf, interrupted at every access of the moment that they are
//! about, and under random schedules.
//!
//! What keeps the phantoms out are steps of few accesses, such as a second look at the leaf after its gap was granted. Each of
//! them is missed here, if it is left out, under the pairs that need it; random schedules alone hardly ever hit the moment.

#[path = "gaps/scenes.rs"]
mod scenes;

use contract::{
    ArchitectureName, Direction, Engine, EngineOptions, Indexing, PairName, ProtocolName, Selection, Support,
};
use engine_simulated::ThisEngine;
use machine::simulated::{Schedule, explore};
use scenes::{Look, Played, SCENES, Scene};

/// More accesses than any scene's moment is away from the beginning.
const MOST_ACCESSES: u64 = 400;

const LOOKS: [Look; 3] = [Look::Scan(Direction::Forward), Look::Scan(Direction::Backward), Look::Key];
const BYTES: Indexing = Indexing::OrderedBytes { most: 24 };

fn play(
    pair: PairName,
    scene: &Scene,
    look: Look,
    indexing: Indexing,
    schedule: Schedule,
    seed: u64,
) -> Played {
    let options = EngineOptions { seed, back_off_first_ns: 200, ..EngineOptions::default() };
    let play = || scenes::play::<ThisEngine>(*scene, look, Selection::Pair(pair), indexing, seed, &options);
    explore(schedule, play)
        .unwrap_or_else(|broken| panic!("{pair}, {}, {look:?}, {schedule:?}: {broken}", scene.name))
}

/// Interrupts who begins at each access until it is past the moment.
fn interrupt_everywhere(pair: PairName, scene: &Scene, look: Look) {
    let past = (0..MOST_ACCESSES).find(|&at| {
        let schedule = Schedule::Preempt { at };
        play(pair, scene, look, Indexing::Ordered, schedule, at) == Played::CameAfter
    });
    let past = past.unwrap_or_else(|| panic!("{}: the moment never passes", scene.name));
    assert!(past > 20 || scene.is_in_order(), "{}: the moment passed at access {past}", scene.name);
}

fn every_scene_under(protocol: ProtocolName) {
    let pair = PairName { architecture: ArchitectureName::SharedEverything, protocol };
    for (n, scene) in SCENES.iter().enumerate() {
        interrupt_everywhere(pair, scene, LOOKS[n % 2]);
        interrupt_everywhere(pair, scene, Look::Key);
    }
}

#[test]
fn no_phantom_comes_in_between_under_no_wait() {
    every_scene_under(ProtocolName::NoWait);
}

#[test]
fn no_phantom_comes_in_between_under_two_version_no_wait() {
    every_scene_under(ProtocolName::TwoVersionNoWait);
}

#[test]
fn no_phantom_comes_in_between_under_occ() {
    every_scene_under(ProtocolName::Occ);
}

#[test]
fn no_phantom_comes_in_between_under_dl_detect() {
    every_scene_under(ProtocolName::DlDetect);
}

#[test]
fn no_phantom_comes_in_between_under_dreadlocks() {
    every_scene_under(ProtocolName::Dreadlocks);
}

#[test]
fn no_phantom_comes_in_between_under_vll() {
    every_scene_under(ProtocolName::Vll);
}

#[test]
fn no_phantom_comes_in_between_under_wait_die() {
    every_scene_under(ProtocolName::WaitDie);
}

#[test]
fn no_phantom_comes_in_between_under_deadlock_free() {
    every_scene_under(ProtocolName::DeadlockFree);
}

#[test]
fn no_phantom_comes_in_between_under_timestamp() {
    every_scene_under(ProtocolName::Timestamp);
}

#[test]
fn no_phantom_comes_in_between_under_mvcc() {
    every_scene_under(ProtocolName::Mvcc);
}

#[test]
fn no_phantom_comes_in_between_under_hekaton() {
    every_scene_under(ProtocolName::Hekaton);
}

#[test]
fn no_phantom_comes_in_between_under_cicada() {
    every_scene_under(ProtocolName::Cicada);
}

#[test]
fn no_phantom_comes_in_between_under_tictoc() {
    every_scene_under(ProtocolName::TicToc);
}

#[test]
fn no_phantom_comes_in_between_under_mocc() {
    every_scene_under(ProtocolName::Mocc);
}

#[test]
fn no_phantom_comes_in_between_under_silo() {
    every_scene_under(ProtocolName::Silo);
}

#[test]
fn no_pair_lets_a_phantom_in_under_any_schedule() {
    for pair in PairName::all().filter(|&pair| ThisEngine::support(pair) == Support::Supported) {
        for (scene, seed) in SCENES.iter().flat_map(|scene| (0..6).map(move |seed| (scene, seed))) {
            let schedule = match seed % 2 {
                0 => Schedule::Random { seed, switch_one_in: 20 },
                _ => Schedule::Pct { seed, depth: 3, steps: 500 },
            };
            let indexing = if seed < 3 { Indexing::Ordered } else { BYTES };
            play(pair, scene, LOOKS[seed as usize % 3], indexing, schedule, seed);
        }
    }
}
