//! A bell: wakes a service before its time.

use std::sync::atomic::{AtomicBool, Ordering};

/// Rung by anybody, answered by one service, which looks at it now and then.
#[derive(Debug, Default)]
pub struct Bell {
    rung: AtomicBool,
}

impl Bell {
    /// Has the service begin soon.
    pub fn ring(&self) {
        // Relaxed, here and below: virtual cores are on one thread.
        self.rung.store(true, Ordering::Relaxed);
    }

    /// Whether it was rung since this was last asked.
    pub fn answer(&self) -> bool {
        self.rung.swap(false, Ordering::Relaxed)
    }
}
