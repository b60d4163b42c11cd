//! A short list of bounded length that allocates nothing.

use std::mem::MaybeUninit;
use std::ops::Deref;

/// At most `N` items.
pub(super) struct Stack<T: Copy, const N: usize> {
    items: [MaybeUninit<T>; N],
    length: usize,
}

impl<T: Copy, const N: usize> Stack<T, N> {
    pub fn new() -> Self {
        Stack { items: [const { MaybeUninit::uninit() }; N], length: 0 }
    }

    /// Panics if there is no room.
    pub fn push(&mut self, item: T) {
        self.items[self.length].write(item);
        self.length += 1;
    }
}

impl<T: Copy, const N: usize> Deref for Stack<T, N> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the first `length` items were written by `push`, and `MaybeUninit<T>` is laid out as `T`.
        unsafe { std::slice::from_raw_parts(self.items.as_ptr().cast(), self.length) }
    }
}
