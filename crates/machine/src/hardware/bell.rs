//! A bell: wakes a service before its time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Thread};

/// Rung by anybody, answered by one service.
#[derive(Debug, Default)]
pub struct Bell {
    rung: AtomicBool,
    service: Mutex<Option<Thread>>,
}

impl Bell {
    /// Has the service begin at once, or once more if it is at it.
    pub fn ring(&self) {
        // AcqRel: what was done before the bell rang is seen by who answers it, in `answer`, however often it was rung.
        if !self.rung.swap(true, Ordering::AcqRel)
            && let Some(service) = &*self.service.lock().unwrap_or_else(PoisonError::into_inner)
        {
            service.unpark();
        }
    }

    /// The thread that asks is the service.
    pub(super) fn is_answered_here(&self) {
        *self.service.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread::current());
    }

    /// Whether it was rung since this was last asked.
    pub fn answer(&self) -> bool {
        // AcqRel: as in `ring`.
        self.rung.swap(false, Ordering::AcqRel)
    }
}
