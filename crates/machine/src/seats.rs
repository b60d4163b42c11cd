//! Handing each worker something of its own: what a closure that all workers share cannot move.

use std::sync::{Mutex, PoisonError};

/// Things, each to be taken once.
pub(crate) struct Seats<T>(Vec<Mutex<Option<T>>>);

impl<T> Seats<T> {
    /// One for each worker.
    pub fn new(things: Vec<T>) -> Self {
        Seats(things.into_iter().map(|thing| Mutex::new(Some(thing))).collect())
    }

    /// The worker's own.
    pub fn take(&self, worker: usize) -> T {
        let thing = self.0[worker].lock().unwrap_or_else(PoisonError::into_inner).take();
        thing.expect("a worker takes its seat once")
    }
}
