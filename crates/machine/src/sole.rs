//! What one worker at a time uses, checked: the promise behind words that are plain cells and behind single writers.
//!
//! Nothing of such a word can tell that two workers change it, and a lost update shows much later or never. So a worker that
//! relies on the promise enters before and leaves after, and a second worker that comes in between is a panic that names
//! both. Where `worker::CHECKS_SOLE_USE` is false, in a release build for the hardware, nothing of this is there.
//!
//! This text is compiled for either machine. Its words are the host's: no machine charges for them or schedules at them.

use super::worker::{self, CHECKS_SOLE_USE};
use std::sync::atomic::{AtomicUsize, Ordering};

const NOBODY: usize = 0;

/// Things known by number, each of which one worker at a time may use.
#[derive(Debug, Default)]
pub struct SoleUse {
    /// One more than the number of the worker that uses it.
    users: Box<[AtomicUsize]>,
}

/// Use of a thing, until dropped.
#[must_use]
#[derive(Debug)]
pub struct Using<'s>(Option<&'s AtomicUsize>);

impl SoleUse {
    /// Of so many things, none of them in use.
    pub fn new(things: usize) -> Self {
        let checked = if CHECKS_SOLE_USE { things } else { 0 };
        SoleUse { users: (0..checked).map(|_| AtomicUsize::new(NOBODY)).collect() }
    }

    /// Uses a thing from here on.
    ///
    /// Panics if another worker does, unless a panic unwinds already.
    #[inline(always)]
    pub fn enter(&self, thing: usize) -> Using<'_> {
        if CHECKS_SOLE_USE { self.check(thing) } else { Using(None) }
    }

    fn check(&self, thing: usize) -> Using<'_> {
        let user = &self.users[thing];
        let me = worker::current().map_or(usize::MAX, |worker| worker + 1);
        // Relaxed: the exchange finds the latest user, and is to order nothing for those who break the promise.
        match user.compare_exchange(NOBODY, me, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => Using(Some(user)),
            Err(_) if worker::is_unwinding() => Using(None),
            Err(other) => refuse(thing, me, other),
        }
    }
}

impl Drop for Using<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(user) = self.0 {
            // Relaxed: as above.
            user.store(NOBODY, Ordering::Relaxed);
        }
    }
}

#[cold]
#[track_caller]
fn refuse(thing: usize, me: usize, other: usize) -> ! {
    let name = |user: usize| match user {
        usize::MAX => "somebody who is no worker".to_string(),
        user => format!("worker {}", user - 1),
    };
    panic!("{} uses partition {thing} while {} does: it has one owner at a time", name(me), name(other))
}
