//! Words that one thread owns: plain loads and stores.

pub use std::cell::Cell;
