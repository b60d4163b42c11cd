//! Words that several threads share: the standard library's.

pub use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
