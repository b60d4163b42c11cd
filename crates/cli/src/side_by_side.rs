//! Jobs side by side on threads of the host, and one limit for all that simulate: a host core each.
//!
//! Figures are reproduced side by side, and so are the repetitions of each: threads of the first kind wait for those of the
//! second, and only who simulates holds a [`Core`].

use crate::engines::cores;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Does jobs `0..jobs` on up to `threads` threads, and answers what came of them, in their order. A panic is passed on, once the
/// other threads have done the rest.
pub fn side_by_side<R: Send>(jobs: usize, threads: usize, job: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    // Relaxed: a counter.
    let take = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|number| *number < jobs);
    let work = || std::iter::from_fn(take).map(|number| (number, job(number))).collect::<Vec<_>>();
    let mut done: Vec<(usize, R)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads.clamp(1, jobs.max(1))).map(|_| scope.spawn(work)).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| resume_unwind(panic))
        };
        threads.into_iter().flat_map(join).collect()
    });
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Cores that are held.
static HELD: Mutex<usize> = Mutex::new(0);

/// Told when one is given back.
static GIVEN_BACK: Condvar = Condvar::new();

/// A core of the host, for as long as it lives.
pub struct Core(());

impl Core {
    /// Waits for one.
    pub fn take() -> Core {
        let held = GIVEN_BACK.wait_while(held(), |held| *held >= cores());
        *held.unwrap_or_else(PoisonError::into_inner) += 1;
        Core(())
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        *held() -= 1;
        GIVEN_BACK.notify_one();
    }
}

/// A number, sound after any panic.
fn held() -> MutexGuard<'static, usize> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::catch_unwind;
    use std::sync::Barrier;
    use std::time::Duration;

    #[test]
    fn jobs_run_side_by_side_and_come_back_in_order() {
        // Each of three jobs waits for the two others.
        let all = Barrier::new(3);
        let done = side_by_side(6, 3, |number| {
            all.wait();
            number * number
        });
        assert_eq!(done, [0, 1, 4, 9, 16, 25]);
        assert_eq!(side_by_side(0, 3, |number| number), [0; 0]);
        let sunk = catch_unwind(|| side_by_side(3, 2, |number| assert!(number != 1, "job {number} sank")));
        assert_eq!(*sunk.expect_err("a panic").downcast::<String>().expect("a message"), "job 1 sank");
    }

    #[test]
    fn no_more_jobs_simulate_than_there_are_cores() {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        side_by_side(2, 2, |_| {
            side_by_side(2 * cores(), 2 * cores(), |_| {
                let _core = Core::take();
                // Relaxed: counters.
                most.fetch_max(now.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                thread::sleep(Duration::from_millis(5));
                now.fetch_sub(1, Ordering::Relaxed);
            })
        });
        let most = most.into_inner();
        assert!((1..=cores()).contains(&most), "{most} at a time on {} cores", cores());
    }
}
