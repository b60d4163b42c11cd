//! A value behind a latch: for what is exchanged seldom.
//!
//! This text is compiled for either machine; it names only `super::latch`.

use super::latch::{Latch, TestAndTestAndSet};
use std::cell::UnsafeCell;

/// For a few instructions of one thread at a time.
#[derive(Debug, Default)]
pub struct Latched<T> {
    latch: TestAndTestAndSet,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached through the latch only, by one thread at a time.
unsafe impl<T: Send> Sync for Latched<T> {}

impl<T> Latched<T> {
    /// A value behind a latch.
    pub fn new(value: T) -> Self {
        Latched { latch: TestAndTestAndSet::default(), value: UnsafeCell::new(value) }
    }

    /// Shows the value to `f`, which must not ask for it again.
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        self.latch.lock();
        self.show(f)
    }

    /// The same if nobody else is shown the value now.
    pub fn try_with<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.latch.try_lock().then(|| self.show(f))
    }

    /// Whoever calls has the latch.
    fn show<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        /// Lets go, also after a panic.
        struct Held<'a>(&'a TestAndTestAndSet);
        impl Drop for Held<'_> {
            fn drop(&mut self) {
                self.0.unlock();
            }
        }
        let _held = Held(&self.latch);
        // SAFETY: the latch is held, and whoever holds it is here.
        f(unsafe { &mut *self.value.get() })
    }
}
