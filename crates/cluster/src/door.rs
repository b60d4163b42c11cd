//! Who connects is asked who he is on a thread of its own: one who says nothing keeps nobody else waiting.

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

/// Where they are asked, and what they have said.
pub(crate) struct Door<T> {
    strangers: Strangers,
    tells: Sender<T>,
    told: Receiver<T>,
}

impl<T: Send + 'static> Door<T> {
    /// At which nobody is.
    pub fn new() -> Self {
        let (tells, told) = mpsc::channel();
        Door { strangers: Strangers::default(), tells, told }
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
        let door = Door::new();
        let enter = || door.enter().expect("room");
        let mut silent = Vec::new();
        for number in 0..MOST_STRANGERS - 1 {
            let (speaks, says) = mpsc::channel::<()>();
            silent.push(speaks);
            door.ask(enter(), move || says.recv().ok().map(|()| number)).expect("a thread");
        }
        door.ask(enter(), || Some(7)).expect("a thread");
        let told = |door: &Door<Option<usize>>| {
            loop {
                match door.told() {
                    Some(told) => break told,
                    None => thread::yield_now(),
                }
            }
        };
        assert_eq!(told(&door), Some(7));
        let (_speaks, says) = mpsc::channel::<()>();
        // The thread of the one that has spoken may not have ended.
        while door.strangers.0.load(Ordering::Relaxed) == MOST_STRANGERS {
            thread::yield_now();
        }
        door.ask(enter(), move || says.recv().ok().map(|()| 0)).expect("a thread");
        assert!(door.enter().is_none(), "no room");
        drop(silent);
        assert_eq!(told(&door), None);
    }
}
