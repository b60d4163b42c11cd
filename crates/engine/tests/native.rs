//! The engine on the hardware: against a model, and with real threads.

mod shared;

use contract::{ArchitectureName, EngineOptions, Indexing, Selection};
use engine::ThisEngine;

/// Every pair keeps the bank's sums.
fn keep_the_sums(workers: usize, seeds: std::ops::Range<u64>, transactions: u64) {
    for pair in shared::supported::<ThisEngine>() {
        for seed in seeds.clone() {
            let options = EngineOptions { seed, ..EngineOptions::default() };
            let selection = Selection::Pair(pair);
            let run =
                shared::concurrent::bank_run::<ThisEngine>(selection, workers, seed, transactions, &options);
            run.unwrap_or_else(|broken| panic!("{pair}, {workers} workers, seed {seed}: {broken}"));
        }
    }
}

#[test]
fn one_worker_agrees_with_the_model() {
    // A seed takes some twenty seconds: rows of a MiB are drawn, written and compared.
    shared::model::agrees_with_the_model::<ThisEngine>(0..2 * shared::seeds::times(), 1000);
}

#[test]
fn two_workers_keep_the_sums() {
    keep_the_sums(2, 0..2, 40_000);
}

/// Also those that name all keys ahead, and remember what they have met, which others delete.
#[test]
fn what_was_met_ahead_is_not_used_when_it_is_stale() {
    for pair in shared::supported::<ThisEngine>() {
        for indexing in [Indexing::Hashed, Indexing::Ordered] {
            let options = EngineOptions { seed: 5, ..EngineOptions::default() };
            let (selection, size) = (Selection::Pair(pair), (2, 5, 4_000));
            let run = shared::concurrent::bank_run_ahead::<ThisEngine>(selection, indexing, size, &options);
            run.unwrap_or_else(|broken| panic!("{pair}, {indexing:?}: {broken}"));
        }
    }
}

/// Under every pair no queue has a phantom.
fn keep_the_queues(workers: usize, seeds: std::ops::Range<u64>, transactions: u64) {
    for pair in shared::supported::<ThisEngine>() {
        for (indexing, seed) in shared::ORDERED.into_iter().flat_map(|i| seeds.clone().map(move |s| (i, s))) {
            let options = EngineOptions { seed, ..EngineOptions::default() };
            let run = shared::queues::queues_run::<ThisEngine>(
                Selection::Pair(pair),
                indexing,
                workers,
                seed,
                transactions,
                &options,
            );
            run.unwrap_or_else(|broken| {
                panic!("{pair}, {indexing:?}, {workers} workers, seed {seed}: {broken}")
            });
        }
    }
}

#[test]
fn two_workers_keep_the_queues() {
    keep_the_queues(2, 0..2, 2_000);
}

#[test]
fn more_workers_than_cores_keep_the_queues() {
    keep_the_queues(7, 0..1, 60);
}

#[test]
fn partitions_change_hands_while_the_sums_are_kept() {
    for pair in shared::supported::<ThisEngine>() {
        if pair.architecture == ArchitectureName::Dora {
            let options = EngineOptions { hand_over_every: 3, ..EngineOptions::default() };
            let run =
                shared::concurrent::bank_run::<ThisEngine>(Selection::Pair(pair), 3, 1, 10_000, &options);
            run.unwrap_or_else(|broken| panic!("{pair}: {broken}"));
        }
    }
}

#[test]
fn more_workers_than_cores_keep_the_sums() {
    keep_the_sums(7, 0..1, 1_500);
}
