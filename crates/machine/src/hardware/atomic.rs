//! Words that several threads share: the standard library's.

pub use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

/// Loads words with Acquire, one after the other as `next` names them, until one is `wanted`: what that one held. `None`: there are no more.
///
/// Between two of them `next` and `wanted` touch nothing that others share: a simulated machine may call them while the core that polls is suspended.
#[inline(always)]
pub fn poll<'a>(
    mut next: impl FnMut() -> Option<&'a AtomicU64>,
    wanted: impl Fn(u64) -> bool,
) -> Option<u64> {
    loop {
        let value = next()?.load(Ordering::Acquire);
        if wanted(value) {
            return Some(value);
        }
    }
}
