//! Group commit for stores whose commits can be synced later: a thread syncs, again and again, all that has committed before it began.
//!
//! Commits are numbered once they are done, so that a number that the thread has read covers only what its sync finds. Sound where a
//! store that lost what was not synced is still whole.

use super::{Failed, Ticket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

#[derive(Debug, Default)]
struct Shared {
    /// The number of the last commit.
    committed: AtomicU64,
    /// The last of those that are synced.
    synced: AtomicU64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    has_ended: bool,
    failure: Option<Failed>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Two words, sound after any panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn counts(&self, number: u64) -> bool {
        // Acquire: pairs with the Release after the sync.
        self.synced.load(Ordering::Acquire) >= number
    }

    /// Syncs at most once an epoch, until it has ended.
    fn serve(&self, epoch: Duration, mut sync: impl FnMut() -> Result<(), Failed>) {
        while !self.state().has_ended {
            let began = Instant::now();
            // Acquire: pairs with the Release in `commit`, so that the sync finds what is numbered.
            let committed = self.committed.load(Ordering::Acquire);
            if committed > self.synced.load(Ordering::Relaxed) {
                let synced = sync();
                let mut state = self.state();
                match synced {
                    // Release: what was synced comes before. Under the lock, so that nobody begins to wait in between.
                    Ok(()) => self.synced.store(committed, Ordering::Release),
                    Err(failure) => state.failure = Some(failure),
                }
                drop(state);
                self.changed.notify_all();
            }
            thread::sleep(epoch.saturating_sub(began.elapsed()));
        }
    }
}

/// The commits of a store, and the thread that syncs them. Dropping it ends the thread.
#[derive(Debug)]
pub struct Group {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Group {
    /// Has `sync` called once an epoch, if something has committed.
    pub fn new(epoch: Duration, sync: impl FnMut() -> Result<(), Failed> + Send + 'static) -> Group {
        let shared = Arc::<Shared>::default();
        let serving = Arc::clone(&shared);
        let thread = thread::spawn(move || serving.serve(epoch, sync));
        Group { shared, thread: Some(thread) }
    }

    /// A commit is done.
    pub fn commit(&self) -> Grouped {
        // Release: what was committed comes before.
        let number = self.shared.committed.fetch_add(1, Ordering::Release) + 1;
        Grouped { shared: Arc::clone(&self.shared), number }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.shared.state().has_ended = true;
        if let Some(thread) = self.thread.take() {
            thread.join().expect("syncing does not panic");
        }
    }
}

/// A commit of a group.
#[derive(Debug)]
pub struct Grouped {
    shared: Arc<Shared>,
    number: u64,
}

impl Ticket for Grouped {
    fn counts(&self) -> bool {
        self.shared.counts(self.number)
    }

    fn wait(self) -> Result<(), Failed> {
        let mut state = self.shared.state();
        while !self.counts() {
            if let Some(failure) = &state.failure {
                return Err(failure.clone());
            }
            state = self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }
}

/// `None`: the commit counted when it returned.
impl<K: Ticket> Ticket for Option<K> {
    fn counts(&self) -> bool {
        self.as_ref().is_none_or(Ticket::counts)
    }

    fn wait(self) -> Result<(), Failed> {
        self.map_or(Ok(()), Ticket::wait)
    }
}

impl Ticket for () {
    fn counts(&self) -> bool {
        true
    }

    fn wait(self) -> Result<(), Failed> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_counts_once_a_sync_that_began_after_it_has_ended() {
        let (may_sync, wait) = std::sync::mpsc::channel::<Result<(), Failed>>();
        let group = Group::new(Duration::ZERO, move || wait.recv().expect("told to"));
        let first = group.commit();
        assert!(!first.counts());
        may_sync.send(Ok(())).expect("it listens");
        assert_eq!(first.wait(), Ok(()));
        let lost = group.commit();
        may_sync.send(Err(Failed::because("no room"))).expect("it listens");
        assert_eq!(lost.wait(), Err(Failed::because("no room")));
        // The thread waits to be told about the second once more.
        may_sync.send(Ok(())).expect("it listens");
        drop(may_sync);
    }
}
