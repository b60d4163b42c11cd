//! Every transaction has a bound: one that is aborted time after time gets precedence, under every pair.

mod shared;

use contract::{EngineOptions, Selection};
use engine::ThisEngine;
use shared::starving::starve;

/// Two workers may share a core: who waits for the other lets it run.
fn pause() {
    std::thread::yield_now();
}

#[test]
fn who_starves_goes_first() {
    for pair in shared::supported::<ThisEngine>() {
        let options = EngineOptions { precedence_after: 8, in_flight: 1, ..EngineOptions::default() };
        let bound = starve::<ThisEngine>(Selection::Pair(pair), &options, pause, 100);
        assert!(bound.after < 1.0, "{pair}: committed after all others had, {bound:?}");
    }
}
