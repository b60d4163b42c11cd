//! Words that several threads share: the standard library's.

pub use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

/// Loads the words that have a bit in `words`, lowest first, with Acquire, until one is `wanted`: its number, and what it held. `None`: there are no more.
/// The bits of those that it has looked at it takes out.
///
/// `word` and `wanted` touch nothing that others share, and say the same whenever they are asked: a simulated machine calls them as often as it likes, and while the
/// core that polls is suspended.
#[inline(always)]
pub fn poll<'a>(
    words: &mut u64,
    word: impl Fn(usize) -> &'a AtomicU64,
    wanted: impl Fn(u64) -> bool,
) -> Option<(usize, u64)> {
    while *words != 0 {
        let number = words.trailing_zeros() as usize;
        *words &= *words - 1;
        let value = word(number).load(Ordering::Acquire);
        if wanted(value) {
            return Some((number, value));
        }
    }
    None
}
