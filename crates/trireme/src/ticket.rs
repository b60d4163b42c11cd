//! Tickets: whether a commit is durable, to be asked, waited for, or awaited.

use crate::error::Error;
use contract::{Durability, LogOptions};
use crossbeam_utils::CachePadded;
use engine::embedded::Services;
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::task::{Context, Poll, Waker};

/// The durable epoch, and those who wait for it.
///
/// Under [`Durability::Buffered`], and under [`Durability::Sync`] with one logger, the thread that waits writes the log, and syncs it: that takes
/// less than to wake the services and be woken by them. One at a time does so, for all that have committed by then ([`Waiting::has_writer`]);
/// the others sleep, and one of those whose epoch that was not is the next. Several loggers sync at the same time, and so in threads of
/// their own; and who awaits a ticket writes nothing: under `Sync` the services then do so at once. Under [`Durability::Group`] all wait
/// until they do.
#[derive(Default)]
pub(crate) struct Durable {
    epoch: AtomicU64,
    has_failed: AtomicBool,
    /// Whether who waits writes.
    writes: bool,
    /// Whether an epoch ends early for who awaits it.
    closes: bool,
    /// What has the log written; `None`: the database is in memory, or closed.
    services: RwLock<Option<Services>>,
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    /// Threads that sleep.
    sleepers: usize,
    /// By the epoch that is awaited and the number that the ticket was given: those that an epoch wakes are the first.
    wakers: BTreeMap<(u64, u64), Waker>,
    /// Of the last ticket that was given one; from 1 on.
    last_number: u64,
    /// Whether one of the threads that wait writes the log now.
    has_writer: bool,
    /// Why no epoch becomes durable any more.
    failure: Option<String>,
}

impl fmt::Debug for Durable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Durable").field("epoch", &self.epoch).finish_non_exhaustive()
    }
}

impl Durable {
    /// Of a database whose log these write.
    pub fn new(log: Option<&LogOptions>, services: Services) -> Durable {
        let Some(log) = log else { return Durable::default() };
        Durable {
            writes: log.level == Durability::Buffered || log.level == Durability::Sync && log.loggers == 1,
            closes: log.level == Durability::Sync,
            services: RwLock::new(Some(services)),
            ..Durable::default()
        }
    }

    /// Nobody writes in its own thread any more.
    pub fn close(&self) {
        self.services.write().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// The epoch that is durable, with all before it.
    pub fn epoch(&self) -> u64 {
        // Acquire: pairs with the Release in `tell`.
        self.epoch.load(Ordering::Acquire)
    }

    /// Why no epoch becomes durable any more, if so.
    pub fn failure(&self) -> Option<String> {
        // Relaxed: who is told late has written in vain, and its ticket says so.
        if self.has_failed.load(Ordering::Relaxed) { self.waiting().failure.clone() } else { None }
    }

    /// Tells that an epoch is durable, or why none will be any more.
    pub fn tell(&self, epoch: u64, failure: Option<String>) {
        if self.epoch() < epoch || failure.is_some() {
            self.change(epoch, failure, |_| {});
        }
    }

    /// The same together with another change of those who wait.
    fn change(&self, epoch: u64, failure: Option<String>, also: impl FnOnce(&mut Waiting)) {
        let mut waiting = self.waiting();
        // Release: what was synced comes before. Under the lock, so that nobody begins to wait in between.
        self.epoch.fetch_max(epoch, Ordering::Release);
        if waiting.failure.is_none() {
            waiting.failure = failure;
        }
        also(&mut waiting);
        let has_failed = waiting.failure.is_some();
        self.has_failed.store(has_failed, Ordering::Relaxed);
        let left = if has_failed {
            BTreeMap::new()
        } else {
            waiting.wakers.split_off(&(epoch.saturating_add(1), 0))
        };
        let woken = std::mem::replace(&mut waiting.wakers, left);
        let has_sleepers = waiting.sleepers > 0;
        drop(waiting);
        if has_sleepers {
            self.changed.notify_all();
        }
        for waker in woken.into_values() {
            // What a program has it do may panic; that is nobody else's, and least of all the thread's that happens to wake it. The panic has
            // been reported by the hook.
            let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
        }
    }

    /// Whether an epoch is durable; an error if it will never be.
    fn is_durable(&self, wanted: u64, waiting: &Waiting) -> Result<bool, Error> {
        match &waiting.failure {
            _ if self.epoch() >= wanted => Ok(true),
            Some(why) => Err(Error::LogStopped { why: why.clone() }),
            None => Ok(false),
        }
    }

    /// Waits until an epoch is durable; an error if it will never be.
    pub fn wait(&self, wanted: u64) -> Result<(), Error> {
        if self.epoch() >= wanted {
            return Ok(());
        }
        if !self.writes {
            self.close_for(wanted);
        }
        // Where the epoch cannot end yet, the services write it once it has.
        let mut may_write = self.writes;
        let mut waiting = self.waiting();
        while !self.is_durable(wanted, &waiting)? {
            if may_write && !waiting.has_writer {
                may_write = false;
                waiting.has_writer = true;
                drop(waiting);
                self.write(wanted);
                waiting = self.waiting();
            } else {
                waiting.sleepers += 1;
                waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
                waiting.sleepers -= 1;
            }
        }
        Ok(())
    }

    /// Writes an epoch, unless the database is closed, and tells what is durable then. The caller has become the writer, and is it no longer.
    fn write(&self, wanted: u64) {
        let mut writer = Writer { durable: self, epoch: 0, failure: None };
        // Nobody is woken while they are held: who is may close the database.
        if let Some(services) = &*self.services() {
            services.write_through(wanted);
            (writer.epoch, writer.failure) = (services.durable_epoch(), services.failure());
        }
    }

    /// Somebody waits for an epoch, or awaits it, and does not write it.
    fn close_for(&self, wanted: u64) {
        if self.closes
            && let Some(services) = &*self.services()
        {
            services.close_early(wanted);
        }
    }

    fn services(&self) -> RwLockReadGuard<'_, Option<Services>> {
        self.services.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // A list and a word, sound after any panic.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Of the threads that wait, the one that writes; when it ends, also by a panic, it tells what is durable, and another may write.
struct Writer<'a> {
    durable: &'a Durable,
    epoch: u64,
    failure: Option<String>,
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        self.durable.change(self.epoch, self.failure.take(), |waiting| waiting.has_writer = false);
    }
}

/// A transaction that has committed: everybody sees it; it is durable once its epoch is.
///
/// A `Future`, too, which is ready then; it needs no runtime of its own. A ticket that is dropped makes nothing undone.
#[derive(Debug)]
#[must_use = "the commit is durable only once the ticket says so"]
pub struct Ticket {
    /// Which epoch it waits for, and where; `None`: there is nothing to wait for.
    pending: Option<(Counter, u64)>,
    /// By which its waker is known, if it was polled; 0: it was not.
    number: u64,
}

impl Clone for Ticket {
    /// Another one that waits for the same, and is polled by itself.
    fn clone(&self) -> Ticket {
        Ticket { pending: self.pending.clone(), number: 0 }
    }
}

/// What a slot's tickets know the durable epoch by: a count of references that is the slot's, so that threads that commit share none.
pub(crate) type Counter = Arc<CachePadded<Arc<Durable>>>;

/// For a slot.
pub(crate) fn counter(durable: &Arc<Durable>) -> Counter {
    Arc::new(CachePadded::new(Arc::clone(durable)))
}

impl Ticket {
    pub(crate) fn new(counter: &Counter, epoch: Option<u64>) -> Ticket {
        Ticket { pending: epoch.map(|epoch| (Arc::clone(counter), epoch)), number: 0 }
    }

    /// The epoch in which it committed; `None`: the database is in memory only.
    pub fn epoch(&self) -> Option<u64> {
        self.pending.as_ref().map(|(_, epoch)| *epoch)
    }

    /// Whether it is durable, as far as the database's [`Durability`](crate::Durability) goes. In memory, always.
    pub fn is_durable(&self) -> bool {
        self.pending.as_ref().is_none_or(|(durable, epoch)| durable.epoch() >= *epoch)
    }

    /// Waits until it is; an error if it never will be, because the log could not be written.
    pub fn wait(&self) -> Result<(), Error> {
        self.pending.as_ref().map_or(Ok(()), |(durable, epoch)| durable.wait(*epoch))
    }
}

impl Future for Ticket {
    type Output = Result<(), Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Ticket { pending, number } = &mut *self;
        let Some((durable, epoch)) = pending else { return Poll::Ready(Ok(())) };
        let epoch = *epoch;
        if durable.epoch() >= epoch {
            return Poll::Ready(Ok(()));
        }
        // Cloned, and dropped, while nothing is held: either is the program's, and may come back here.
        let waker = context.waker().clone();
        let mut waiting = durable.waiting();
        match durable.is_durable(epoch, &waiting) {
            Ok(true) => Poll::Ready(Ok(())),
            Err(error) => Poll::Ready(Err(error)),
            Ok(false) => {
                let is_new = *number == 0;
                if is_new {
                    waiting.last_number += 1;
                    *number = waiting.last_number;
                }
                // In place of the one that it has left, if it was polled before.
                let left = waiting.wakers.insert((epoch, *number), waker);
                drop(waiting);
                drop(left);
                if is_new {
                    durable.close_for(epoch);
                }
                Poll::Pending
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;
    use std::task::Wake;
    use std::thread;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn who_waits_is_told_when_its_epoch_is_durable_and_not_before() {
        let durable = Arc::new(Durable::default());
        let ticket = Ticket::new(&counter(&durable), Some(5));
        let waiting = thread::spawn({
            let ticket = ticket.clone();
            move || ticket.wait()
        });
        let woken = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&woken));
        let mut context = Context::from_waker(&waker);
        let mut future = ticket.clone();
        assert!(Pin::new(&mut future).poll(&mut context).is_pending());
        assert!(Pin::new(&mut future).poll(&mut context).is_pending());
        durable.tell(4, None);
        assert!(!ticket.is_durable() && !waiting.is_finished());
        assert_eq!(woken.0.load(Ordering::Relaxed), 0);
        durable.tell(6, None);
        assert_eq!(woken.0.load(Ordering::Relaxed), 1, "once, however often it was polled");
        assert_eq!(Pin::new(&mut future).poll(&mut context), Poll::Ready(Ok(())));
        assert_eq!(waiting.join().expect("no panic"), Ok(()));
    }

    #[test]
    fn each_ticket_wakes_the_waker_that_polled_it_last() {
        let durable = Arc::new(Durable::default());
        let counter = counter(&durable);
        let first = Ticket::new(&counter, Some(5));
        let mut tickets = [first.clone(), first.clone(), first, Ticket::new(&counter, Some(7))];
        let counts: [_; 5] = std::array::from_fn(|_| Arc::new(Count::default()));
        let mut poll = |ticket: usize, count: usize| {
            let waker = Waker::from(Arc::clone(&counts[count]));
            Pin::new(&mut tickets[ticket]).poll(&mut Context::from_waker(&waker))
        };
        for (ticket, count) in [(0, 0), (1, 1), (2, 0), (3, 2), (1, 3), (3, 4)] {
            assert!(poll(ticket, count).is_pending());
        }
        let woken = || counts.each_ref().map(|count| count.0.load(Ordering::Relaxed));
        durable.tell(5, None);
        assert_eq!(woken(), [2, 0, 0, 1, 0], "the second one's first waker has been replaced");
        assert_eq!(poll(1, 1), Poll::Ready(Ok(())));
        durable.tell(6, Some("no room".to_owned()));
        assert_eq!(woken(), [2, 0, 0, 1, 1], "a failure wakes everybody who is left");
        assert!(matches!(poll(3, 2), Poll::Ready(Err(Error::LogStopped { .. }))));
    }

    #[test]
    fn a_failure_ends_all_waiting() {
        let durable = Arc::new(Durable::default());
        let counter = counter(&durable);
        let early = Ticket::new(&counter, Some(1));
        let late = Ticket::new(&counter, Some(2));
        let waiting = thread::spawn(move || late.wait());
        durable.tell(1, Some("no room".to_owned()));
        assert_eq!(waiting.join().expect("no panic"), Err(Error::LogStopped { why: "no room".to_owned() }));
        assert_eq!(early.wait(), Ok(()), "what is durable stays so");
        assert!(Ticket::new(&counter, None).is_durable());
    }
}
