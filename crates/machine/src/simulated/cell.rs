//! Words that one thread owns. Counted as loads and stores, and scheduling points like them.

use super::access::{Access, access_at};

/// A word of the thread that owns it.
#[derive(Default)]
#[repr(transparent)]
pub struct Cell<T: Copy>(std::cell::Cell<T>);

impl<T: Copy> Cell<T> {
    /// A word that holds `value`.
    #[inline]
    pub const fn new(value: T) -> Self {
        Self(std::cell::Cell::new(value))
    }

    /// Reads the word.
    #[inline]
    pub fn get(&self) -> T {
        access_at(Access::Load, &self.0);
        self.0.get()
    }

    /// Writes the word.
    #[inline]
    pub fn set(&self, value: T) {
        access_at(Access::Store, &self.0);
        self.0.set(value);
    }
}

impl<T: Copy + std::fmt::Debug> std::fmt::Debug for Cell<T> {
    /// Shows what the word holds; no access of the machine.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
