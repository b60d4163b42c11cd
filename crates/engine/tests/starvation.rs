//! Every transaction has a bound: one that is aborted time after time gets precedence, under every pair.

mod shared;

use contract::{EngineOptions, Selection};
use engine::ThisEngine;
use shared::starving::starve;
use std::time::Duration;

/// Aborts after which it has precedence.
const PRECEDENCE_AFTER: u32 = 8;
/// Times that a pair is tried in which the system let the others run to their end before one could starve.
const TRIES: usize = 10;

/// Pauses for which one of the transactions waits for the other at most: a millisecond or two.
const PATIENCE: u32 = 20;

/// Two workers may share a core, with others too: who waits for the other leaves it, where to yield might not.
fn pause() {
    std::thread::sleep(Duration::from_micros(10));
}

/// Who ended last after few aborts had no chance, and shows nothing.
#[test]
fn who_starves_goes_first() {
    for pair in shared::supported::<ThisEngine>() {
        let options = EngineOptions {
            precedence_after: PRECEDENCE_AFTER,
            in_flight: 1.into(),
            ..EngineOptions::default()
        };
        let ended_before_others = (0..TRIES).any(|_| {
            let bound = starve::<ThisEngine>(Selection::Pair(pair), &options, pause, PATIENCE);
            let starved = bound.after == 1.0 && bound.attempts > 2 * PRECEDENCE_AFTER;
            assert!(!starved, "{pair}: committed after all others had, {bound:?}");
            bound.after < 1.0
        });
        assert!(
            ended_before_others,
            "{pair}: in {TRIES} runs all others had committed before it could starve"
        );
    }
}
