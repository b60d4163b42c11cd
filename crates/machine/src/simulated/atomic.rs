//! Words that several virtual cores share. Every access is a scheduling point, then the host's own access.
//!
//! Being the host's atomics underneath, they are as large and as aligned, zero bytes are zero, and they stay
//! sound where no exploration runs and several host threads share them.

use super::access::{Access, access, access_at, timed};
pub use std::sync::atomic::Ordering;

/// A fence: counted, and a scheduling point. Among virtual cores there is nothing to order.
#[inline]
pub fn fence(order: Ordering) {
    access(if order == Ordering::SeqCst { Access::Fence } else { Access::WeakFence });
    std::sync::atomic::fence(order);
}

/// As on the hardware. On a timed machine the core that polls is not resumed for each load (`timed/machine/polls.rs` tells how).
#[inline]
pub fn poll<'a>(
    mut next: impl FnMut() -> Option<&'a AtomicU64>,
    wanted: impl Fn(u64) -> bool,
) -> Option<u64> {
    if let Some(machine) = timed() {
        return machine.poll(&mut || next().map(|word| &word.0), &wanted);
    }
    loop {
        let value = next()?.load(Ordering::Acquire);
        if wanted(value) {
            return Some(value);
        }
    }
}

macro_rules! atomic {
    ($(#[$doc:meta])* $type:ident: $value:ty) => {
        $(#[$doc])*
        #[derive(Default)]
        #[repr(transparent)]
        pub struct $type(std::sync::atomic::$type);

        impl $type {
            /// A word that holds `value`.
            #[inline]
            pub const fn new(value: $value) -> Self {
                Self(std::sync::atomic::$type::new(value))
            }

            /// Reads the word.
            #[inline]
            pub fn load(&self, order: Ordering) -> $value {
                access_at(Access::Load, &self.0);
                self.0.load(order)
            }

            /// Writes the word.
            #[inline]
            pub fn store(&self, value: $value, order: Ordering) {
                let ordered = order == Ordering::SeqCst;
                access_at(if ordered { Access::OrderedStore } else { Access::Store }, &self.0);
                self.0.store(value, order);
            }

            /// Writes the word and returns what it held.
            #[inline]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                access_at(Access::ReadModifyWrite, &self.0);
                self.0.swap(value, order)
            }

            /// Writes `new` if the word holds `current`; returns what it held.
            #[inline]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                access_at(Access::ReadModifyWrite, &self.0);
                self.0.compare_exchange(current, new, success, failure)
            }

            /// As [`Self::compare_exchange`]; it never fails without a reason here.
            #[inline]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                // Not the host's weak exchange, which may fail where the seed does not say so.
                self.compare_exchange(current, new, success, failure)
            }

            /// Adds, wrapping around; returns what the word held.
            #[inline]
            pub fn fetch_add(&self, value: $value, order: Ordering) -> $value {
                access_at(Access::ReadModifyWrite, &self.0);
                self.0.fetch_add(value, order)
            }

            /// Writes the larger of `value` and what the word held; returns that.
            #[inline]
            pub fn fetch_max(&self, value: $value, order: Ordering) -> $value {
                access_at(Access::ReadModifyWrite, &self.0);
                self.0.fetch_max(value, order)
            }

            /// Subtracts, wrapping around; returns what the word held.
            #[inline]
            pub fn fetch_sub(&self, value: $value, order: Ordering) -> $value {
                access_at(Access::ReadModifyWrite, &self.0);
                self.0.fetch_sub(value, order)
            }

            /// Sets bits; returns what the word held.
            #[inline]
            pub fn fetch_or(&self, value: $value, order: Ordering) -> $value {
                access_at(Access::ReadModifyWrite, &self.0);
                self.0.fetch_or(value, order)
            }

            /// Keeps bits; returns what the word held.
            #[inline]
            pub fn fetch_and(&self, value: $value, order: Ordering) -> $value {
                access_at(Access::ReadModifyWrite, &self.0);
                self.0.fetch_and(value, order)
            }

            /// The word to one who has it alone; no access of the machine.
            #[inline]
            pub fn get_mut(&mut self) -> &mut $value {
                self.0.get_mut()
            }

            /// What the word holds, to one who has it alone; no access of the machine.
            #[inline]
            pub fn into_inner(self) -> $value {
                self.0.into_inner()
            }
        }

        impl std::fmt::Debug for $type {
            /// Shows what the word holds; no access of the machine.
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }

        const _: () = {
            assert!(size_of::<$type>() == size_of::<$value>());
            assert!(align_of::<$type>() == align_of::<std::sync::atomic::$type>());
        };
    };
}

atomic! {
    /// A word of 32 bits.
    AtomicU32: u32
}
atomic! {
    /// A word of 64 bits.
    AtomicU64: u64
}
atomic! {
    /// A word of the host's address size.
    AtomicUsize: usize
}
