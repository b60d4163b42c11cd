//! A step in a message: a function, and what it captured, in one cache line with the message's state.
//!
//! The function is compiled for the step's type, reads the captures from the message and runs the step over the
//! receiver's site. Nothing is allocated, and nothing is dropped: a step and its answer own nothing.

use super::ring::{BODY_BYTES, Taken};

/// Bytes that a step may capture: a message's, less the function.
pub(crate) const CAPTURE_BYTES: usize = BODY_BYTES - size_of::<usize>();

/// Runs the step that a message carries over the site at `site`, and answers if it is a call.
///
/// # Safety
/// The message carries a [`Packed`] step that was packed together with this function, and `site` points to a live
/// site of the type that the step was packed for.
type Run = unsafe fn(taken: Taken<'_>, site: *const ());

/// What a message carries.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Packed<S> {
    run: Run,
    step: S,
}

/// Packs a step over sites of type `T` that is answered.
#[inline(always)]
pub(crate) fn call<T, S, R>(step: S) -> Packed<S>
where
    S: FnOnce(&T) -> R + Copy + Send,
    R: Copy + Send,
{
    const { fits::<S, R>() };
    unsafe fn run<T, S: FnOnce(&T) -> R + Copy, R: Copy + Send>(taken: Taken<'_>, site: *const ()) {
        // SAFETY: the message carries a `Packed<S>`, and `site` is a `T`, by the contract of `Run`.
        let (packed, site) = unsafe { (taken.body::<Packed<S>>(), &*site.cast::<T>()) };
        taken.answer((packed.step)(site));
    }
    Packed { run: run::<T, S, R>, step }
}

/// Packs a step over sites of type `T` without an answer.
#[inline(always)]
pub(crate) fn post<T, S>(step: S) -> Packed<S>
where
    S: FnOnce(&T) + Copy + Send,
{
    const { fits::<S, ()>() };
    unsafe fn run<T, S: FnOnce(&T) + Copy>(taken: Taken<'_>, site: *const ()) {
        // SAFETY: as in `call`.
        let (packed, site) = unsafe { (taken.body::<Packed<S>>(), &*site.cast::<T>()) };
        (packed.step)(site);
        taken.done();
    }
    Packed { run: run::<T, S>, step }
}

/// Asserts, at compile time, that a step can be sent, and its answer sent back.
pub(crate) const fn fits<S, R>() {
    assert!(size_of::<S>() <= CAPTURE_BYTES, "a step's captures fit in a message");
    assert!(align_of::<S>() <= 8, "a step's captures are aligned in a message");
    assert!(!std::mem::needs_drop::<S>(), "a step owns nothing");
    assert!(size_of::<R>() <= BODY_BYTES, "an answer fits in its message");
    assert!(align_of::<R>() <= 8, "an answer is aligned in its message");
    assert!(!std::mem::needs_drop::<R>(), "an answer owns nothing");
}

/// Runs the step that a message carries.
///
/// # Safety
/// The message carries a step packed for sites of type `T`.
#[inline(always)]
pub(crate) unsafe fn run<T>(taken: Taken<'_>, site: &T) {
    // SAFETY: whatever the step's type is, a message that carries one begins with its function.
    let run = unsafe { taken.body::<Run>() };
    // SAFETY: the function came with the message, and the caller vouches for the type of the site.
    unsafe { run(taken, (&raw const *site).cast()) }
}
