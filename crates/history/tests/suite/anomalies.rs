//! The scenarios over toy engines: strong ones are accepted, and every scenario catches a weak one.

use crate::toy::{self, Rules, Toy};
use history::anomalies::{Judgement, Scenario, run_scenario, scenarios};
use std::collections::BTreeSet;

const ROUNDS: u64 = 60;

fn judge<R: Rules>(scenario: &'static Scenario, workers: usize, seed: u64) -> Judgement {
    run_scenario::<Toy<R>>(scenario, &toy::setting(workers, ROUNDS * 12, seed), ROUNDS).expect("loads")
}

#[test]
fn strong_engines_play_every_scenario_serializably() {
    for scenario in scenarios() {
        for judgement in [
            judge::<toy::Serial>(scenario, scenario.workers(), 1),
            judge::<toy::Optimistic>(scenario, scenario.workers(), 1),
        ] {
            assert!(judgement.is_serializable(), "{judgement}");
            assert!(judgement.rounds >= ROUNDS / 2, "{judgement}");
        }
        let interleaved = judge::<toy::Optimistic>(scenario, scenario.workers(), 2);
        assert!(interleaved.overlapping * 4 > interleaved.rounds, "the players do not meet: {interleaved}");
    }
}

#[test]
fn further_workers_play_in_teams_or_rest() {
    let scenario = Scenario::named("write-skew").expect("it is listed");
    assert_eq!(scenario.workers(), 2);
    let judgement = judge::<toy::Optimistic>(scenario, 5, 1);
    assert!(judgement.is_serializable(), "{judgement}");
    assert!(judgement.rounds > ROUNDS, "two teams play: {judgement}");
}

/// The scenarios in which an engine with these rules errs.
fn caught<R: Rules>() -> BTreeSet<&'static str> {
    let errs = |scenario: &&'static Scenario| {
        (0..4).any(|seed| !judge::<R>(scenario, scenario.workers(), seed).is_serializable())
    };
    scenarios().iter().filter(errs).map(|scenario| scenario.name).collect()
}

#[test]
fn every_weakness_is_caught_by_the_scenario_of_its_name() {
    let committed = caught::<toy::ReadCommitted>();
    for name in ["lost-update", "read-skew", "write-skew", "non-repeatable-read", "missing-key-write-skew"] {
        assert!(committed.contains(name), "{name} is not among {committed:?}");
    }
    let first_wins = caught::<toy::FirstCommitterWins>();
    assert!(first_wins.contains("write-skew") && first_wins.contains("read-only-anomaly"), "{first_wins:?}");
    assert!(!first_wins.contains("lost-update"), "{first_wins:?}");
    let misses = caught::<toy::UnprotectedMisses>();
    assert!(
        misses.contains("missing-key-stays-missing") && misses.contains("missing-key-write-skew"),
        "{misses:?}"
    );
    assert!(!misses.contains("write-skew"), "{misses:?}");
    let ranges = caught::<toy::UnprotectedRanges>();
    for name in [
        "range-phantom",
        "empty-range-phantom",
        "lower-end-phantom",
        "upper-end-phantom",
        "leaf-split-phantom",
        "backward-limit",
        "range-write-skew",
    ] {
        assert!(ranges.contains(name), "{name} is not among {ranges:?}");
    }
    assert!(!ranges.contains("missing-key-stays-missing") && !ranges.contains("write-skew"), "{ranges:?}");
    let dirty = caught::<toy::DirtyReads>();
    for name in ["dirty-read", "aborted-read", "dirty-write", "aborted-insert", "aborted-delete"] {
        assert!(dirty.contains(name), "{name} is not among {dirty:?}");
    }
    let left = caught::<toy::NoUndo>();
    assert!(left.contains("aborted-insert") && left.contains("aborted-delete"), "{left:?}");
}

#[test]
fn every_scenario_catches_some_weak_engine() {
    let mut all: BTreeSet<&str> = BTreeSet::new();
    all.extend(caught::<toy::ReadCommitted>());
    all.extend(caught::<toy::DirtyReads>());
    all.extend(caught::<toy::DroppedWrites>());
    all.extend(caught::<toy::ForgetsPoison>());
    let deaf: Vec<&str> =
        scenarios().iter().map(|scenario| scenario.name).filter(|name| !all.contains(name)).collect();
    assert!(deaf.is_empty(), "these catch nothing: {deaf:?}");
}

#[test]
fn scenarios_are_listed_by_distinct_names_in_kebab_case() {
    let names: BTreeSet<&str> = scenarios().iter().map(|scenario| scenario.name).collect();
    assert_eq!(names.len(), scenarios().len());
    for scenario in scenarios() {
        assert!(scenario.name.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-'));
        assert!((2..=4).contains(&scenario.workers()));
        assert!(!scenario.description.is_empty());
        assert_eq!(Scenario::named(scenario.name).map(|found| found.name), Some(scenario.name));
    }
    assert!(Scenario::named("no-such-scenario").is_none());
}

#[test]
fn a_judgement_tells_what_scans_showed() {
    let scenario = Scenario::named("range-phantom").expect("it is listed");
    let mut judgements = (0..20).map(|seed| judge::<toy::UnprotectedRanges>(scenario, 2, seed));
    let words = judgements.find(|judgement| !judgement.is_serializable()).expect("one errs").to_string();
    assert!(
        words.contains("scanner was answered [2, x = 1, n = 1, 1, 4, x = 1, y = 5, n = 1, m = 5]"),
        "{words}"
    );
}

#[test]
fn a_judgement_tells_what_happened() {
    let scenario = Scenario::named("write-skew").expect("it is listed");
    let judgement = (0..20).map(|seed| judge::<toy::FirstCommitterWins>(scenario, 2, seed));
    let judgement = judgement.into_iter().find(|judgement| !judgement.is_serializable()).expect("one errs");
    let words = judgement.to_string();
    assert!(words.contains("as in NO serial order"), "{words}");
    assert!(words.contains("clears x was answered [1, 1, 1] and committed"), "{words}");
    assert!(words.contains("in the end x is 0, y is 0"), "{words}");
    let json = serde_json::to_value(&judgement).expect("plain data");
    assert_eq!(json["scenario"], "write-skew");
}
