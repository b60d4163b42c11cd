//! Tickets: whether a commit is durable, to be asked, waited for, or awaited.

use crate::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// The durable epoch, and those who wait for it.
#[derive(Debug, Default)]
pub(crate) struct Durable {
    epoch: AtomicU64,
    has_failed: AtomicBool,
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    /// With the epochs that they wait for.
    wakers: Vec<(u64, Waker)>,
    /// Why no epoch becomes durable any more.
    failure: Option<String>,
}

impl Durable {
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

    /// Tells that an epoch is durable, or why none will be any more. One thread at a time has something new to tell.
    pub fn tell(&self, epoch: u64, failure: Option<String>) {
        if self.epoch() >= epoch && failure.is_none() {
            return;
        }
        let mut waiting = self.waiting();
        // Release: what was synced comes before. Under the lock, so that nobody begins to wait in between.
        self.epoch.fetch_max(epoch, Ordering::Release);
        if waiting.failure.is_none() {
            waiting.failure = failure;
        }
        let has_failed = waiting.failure.is_some();
        self.has_failed.store(has_failed, Ordering::Relaxed);
        let reached = |&mut (wanted, _): &mut (u64, Waker)| has_failed || wanted <= epoch;
        let woken: Vec<_> = waiting.wakers.extract_if(.., reached).collect();
        drop(waiting);
        self.changed.notify_all();
        woken.into_iter().for_each(|(_, waker)| waker.wake());
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
        let mut waiting = self.waiting();
        while !self.is_durable(wanted, &waiting)? {
            waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // A list and a word, sound after any panic.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A transaction that has committed: everybody sees it; it is durable once its epoch is.
///
/// A `Future`, too, which is ready then; it needs no runtime of its own. A ticket that is dropped makes nothing undone.
#[derive(Clone, Debug)]
#[must_use = "the commit is durable only once the ticket says so"]
pub struct Ticket {
    /// Which epoch it waits for, and where; `None`: there is nothing to wait for.
    pending: Option<(Arc<Durable>, u64)>,
}

impl Ticket {
    pub(crate) fn new(durable: &Arc<Durable>, epoch: Option<u64>) -> Ticket {
        Ticket { pending: epoch.map(|epoch| (Arc::clone(durable), epoch)) }
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

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some((durable, epoch)) = &self.pending else { return Poll::Ready(Ok(())) };
        let epoch = *epoch;
        if durable.epoch() >= epoch {
            return Poll::Ready(Ok(()));
        }
        let mut waiting = durable.waiting();
        match durable.is_durable(epoch, &waiting) {
            Ok(true) => Poll::Ready(Ok(())),
            Err(error) => Poll::Ready(Err(error)),
            Ok(false) => {
                let is_known =
                    waiting.wakers.iter().any(|(at, waker)| *at == epoch && waker.will_wake(context.waker()));
                if !is_known {
                    waiting.wakers.push((epoch, context.waker().clone()));
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
        let ticket = Ticket::new(&durable, Some(5));
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
    fn a_failure_ends_all_waiting() {
        let durable = Arc::new(Durable::default());
        let early = Ticket::new(&durable, Some(1));
        let late = Ticket::new(&durable, Some(2));
        let waiting = thread::spawn(move || late.wait());
        durable.tell(1, Some("no room".to_owned()));
        assert_eq!(waiting.join().expect("no panic"), Err(Error::LogStopped { why: "no room".to_owned() }));
        assert_eq!(early.wait(), Ok(()), "what is durable stays so");
        assert!(Ticket::new(&durable, None).is_durable());
    }
}
