//! The one entry of every access, and who answers it.
//!
//! Control is in one of four places, which a thread-local word says, the facade's only one: an access in a latch or a
//! ring has nowhere else to find it.
//!
//! | control | accesses |
//! |---|---|
//! | outside | act directly, and are not noticed |
//! | unobserved | the same; virtual cores change at pauses only ([`super::unobserved()`]) |
//! | exploring | are scheduling points ([`super::exploration::machine`]) |
//! | timed | cost their core time, and let cores that are behind go first ([`super::timed::machine`]) |
//!
//! The effect on the data is the caller's: it follows when the access has been noted.

use super::exploration::machine as exploring;
use super::timed::machine::Machine as Timed;
use super::unobserved;
use std::cell::Cell;
use std::ptr::NonNull;

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Load,
    Store,
    /// A store that no later load of the core may pass.
    OrderedStore,
    ReadModifyWrite,
    /// A fence that no later load may pass.
    Fence,
    /// Any other fence.
    WeakFence,
    PayloadRead,
    PayloadWrite,
    /// Waits for a line to be written later.
    TakeOver,
    /// The middle of a line in a racing copy: a scheduling point, but no access of its own.
    Tear,
    Clock,
    /// A number of the hardware counter.
    Counter,
    Pause,
}

impl Access {
    pub(super) const KINDS: usize = Access::Pause as usize + 1;

    /// Whether it may change its line.
    pub(super) const fn writes(self) -> bool {
        matches!(self, Access::Store | Access::OrderedStore | Access::ReadModifyWrite | Access::PayloadWrite)
    }
}

/// Where control is.
#[derive(Clone, Copy)]
pub(super) enum Control {
    Outside,
    Unobserved,
    Exploring,
    /// On a machine that lives until control has left it.
    Timed(NonNull<Timed>),
}

thread_local! {
    static CONTROL: Cell<Control> = const { Cell::new(Control::Outside) };
    static PAUSES_WHILE_UNWINDING: Cell<u64> = const { Cell::new(0) };
}

/// Where control is, on this host thread.
#[inline]
pub(super) fn control() -> Control {
    CONTROL.get()
}

/// Moves control; what it was is restored when the result is dropped.
pub(super) fn move_control(to: Control) -> Moved {
    PAUSES_WHILE_UNWINDING.set(0);
    Moved(CONTROL.replace(to))
}

/// Restores where control was.
pub(super) struct Moved(Control);

impl Drop for Moved {
    fn drop(&mut self) {
        CONTROL.set(self.0);
    }
}

/// Whether accesses act directly, and nobody asks of which lines they are.
#[inline]
pub(super) fn acts_directly() -> bool {
    matches!(control(), Control::Outside | Control::Unobserved)
}

/// The timed machine, if that is where control is.
#[inline]
pub(super) fn timed<'m>() -> Option<&'m Timed> {
    match control() {
        // SAFETY: `Simulation::run` moves control to a machine that it owns, and moves it back before the machine ends; the
        // reference is used within one call of the facade, which control does not leave but to come back.
        Control::Timed(machine) => Some(unsafe { machine.as_ref() }),
        _ => None,
    }
}

/// Notes an access that is about to happen.
#[inline]
pub(super) fn access(kind: Access) {
    match control() {
        Control::Outside => {}
        // SAFETY: as in `timed`.
        Control::Timed(machine) => unsafe { machine.as_ref() }.act(kind),
        Control::Exploring => exploring::access(kind),
        Control::Unobserved => unobserved_access(kind),
    }
}

/// Of those that are not observed only waiting and the clock matter. Tables are loaded by the rest.
#[inline]
fn unobserved_access(kind: Access) {
    match kind {
        Access::Pause => unobserved::pause(),
        Access::Clock => unobserved::look_at_clock(),
        _ => {}
    }
}

/// As [`access`], of the cache line at `at`.
#[inline]
pub(super) fn access_at<T>(kind: Access, at: *const T) {
    match control() {
        Control::Outside => {}
        // SAFETY: as in `timed`.
        Control::Timed(machine) => unsafe { machine.as_ref() }.access(kind, at.addr()),
        Control::Exploring => exploring::access_at(kind, at.addr()),
        Control::Unobserved => unobserved_access(kind),
    }
}

/// A core pauses while a panic unwinds this one or another. What a destructor waits for comes, because the other cores go on
/// and are then unwound themselves ([`super::cores`]); unless it waits for what nobody does.
#[cold]
pub(super) fn pause_while_unwinding() {
    const BOUND: u64 = 50_000_000;
    PAUSES_WHILE_UNWINDING.set(PAUSES_WHILE_UNWINDING.get() + 1);
    if PAUSES_WHILE_UNWINDING.get() > BOUND {
        eprintln!("a destructor waits for ever while a panic unwinds: aborting");
        std::process::abort();
    }
}
