//! Connections that are pending: whoever has connected has not said who he is. Each is shaken hands over on a thread of its own, so that one who says nothing keeps nobody else waiting. There are
//! [`MOST_STRANGERS`] at a time; who accepts takes room for one first, and leaves the others in the backlog of the listener: they may be nodes.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::Builder;

/// Who are asked at a time.
pub(crate) const MOST_STRANGERS: usize = 32;

/// Those who have not said who they are.
#[derive(Clone, Default)]
pub(crate) struct Strangers(Arc<AtomicUsize>);

impl Strangers {
    /// One more, if there is room, until what this answers is dropped.
    pub fn enter(&self) -> Option<Stranger> {
        let stranger = Stranger(Arc::clone(&self.0));
        // Relaxed, here and below: a bound, not an order.
        (self.0.fetch_add(1, Ordering::Relaxed) < MOST_STRANGERS).then_some(stranger)
    }
}

/// One of them.
pub(crate) struct Stranger(Arc<AtomicUsize>);

impl Drop for Stranger {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Those of one listener, and what they have said.
pub(crate) struct Pending<T> {
    strangers: Strangers,
    tells: Sender<T>,
    told: Receiver<T>,
}

impl<T: Send + 'static> Pending<T> {
    /// None yet.
    pub fn new() -> Self {
        let (tells, told) = mpsc::channel();
        Pending { strangers: Strangers::default(), tells, told }
    }

    /// Room for one more; `None`: not until one of those who are asked has spoken, or has not for too long.
    pub fn enter(&self) -> Option<Stranger> {
        self.strangers.enter()
    }

    /// Asks one by `asks`, which comes to an end, whatever he says.
    pub fn ask(&self, stranger: Stranger, asks: impl FnOnce() -> T + Send + 'static) -> io::Result<()> {
        let tells = self.tells.clone();
        let asking = move || {
            // Nobody may wait any more.
            drop(tells.send(asks()));
            drop(stranger);
        };
        Builder::new().spawn(asking).map(drop)
    }

    /// What the next one has said; `None`: nothing yet.
    pub fn told(&self) -> Option<T> {
        self.told.try_recv().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn who_says_nothing_keeps_nobody_waiting_and_there_is_room_for_so_many() {
        let pending = Pending::new();
        let enter = || pending.enter().expect("room");
        let mut silent = Vec::new();
        for number in 0..MOST_STRANGERS - 1 {
            let (speaks, says) = mpsc::channel::<()>();
            silent.push(speaks);
            pending.ask(enter(), move || says.recv().ok().map(|()| number)).expect("a thread");
        }
        pending.ask(enter(), || Some(7)).expect("a thread");
        let told = |pending: &Pending<Option<usize>>| {
            loop {
                match pending.told() {
                    Some(told) => break told,
                    None => thread::yield_now(),
                }
            }
        };
        assert_eq!(told(&pending), Some(7));
        let (_speaks, says) = mpsc::channel::<()>();
        // The thread of the one that has spoken may not have ended.
        while pending.strangers.0.load(Ordering::Relaxed) == MOST_STRANGERS {
            thread::yield_now();
        }
        pending.ask(enter(), move || says.recv().ok().map(|()| 0)).expect("a thread");
        assert!(pending.enter().is_none(), "no room");
        drop(silent);
        assert_eq!(told(&pending), None);
    }
}
