//! The engine on the hardware: against a model, and with real threads.

mod shared;

use engine::ThisEngine;

#[test]
fn one_worker_agrees_with_the_model() {
    shared::model::agrees_with_the_model::<ThisEngine>(0..12, 3000);
}

#[test]
fn two_workers_keep_the_books() {
    shared::concurrent::keeps_the_books::<ThisEngine>(2, 0..3, 40_000);
}

#[test]
fn more_workers_than_cores_keep_the_books() {
    shared::concurrent::keeps_the_books::<ThisEngine>(7, 0..2, 8_000);
}
