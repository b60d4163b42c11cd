//! A core that polls: it looks at one word after the other until one is as wanted.
//!
//! Before each look it may have to let others go first. But between two looks it does nothing that others could see: so it is
//! suspended once, and whoever says which core goes on ([`super::order`]) takes its further looks for it, each when the core is
//! behind all others, as if it had been resumed for it. No clock and no order is another than if it were; the host spares
//! switches between stacks.

use super::Machine;
use super::events::Located;
use crate::simulated::access::Access;
use crate::simulated::cores::suspend;
use crate::simulated::timed::places::LINE_BYTES;
use crate::simulated::timed::queue::Key;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a core polls.
pub(super) struct Poll<'p> {
    /// Names the words.
    next: &'p mut dyn FnMut() -> Option<&'p AtomicU64>,
    wanted: &'p dyn Fn(u64) -> bool,
    /// What it looks at as soon as it is behind all others.
    pending: Option<(&'p AtomicU64, Located)>,
    /// What the word that is as wanted held.
    found: Option<u64>,
}

impl<'p> Poll<'p> {
    /// Looks at a word, given that the access has been noted; whether it is as wanted.
    #[inline]
    fn sees(&mut self, word: &AtomicU64) -> bool {
        let value = word.load(Ordering::Acquire);
        let is_wanted = (self.wanted)(value);
        self.found = is_wanted.then_some(value);
        is_wanted
    }

    /// Takes the looks that it may take now; whether it is over.
    fn go_on(&mut self, machine: &Machine, core: usize) -> bool {
        if let Some((word, at)) = self.pending.take() {
            machine.access_now(&mut machine.inner.borrow_mut(), core, Access::Load, &at);
            if self.sees(word) {
                return true;
            }
        }
        while let Some(word) = (self.next)() {
            if let Some(at) = machine.try_load(core, word) {
                self.pending = Some((word, at));
                return false;
            }
            if self.sees(word) {
                return true;
            }
        }
        true
    }
}

impl Machine {
    /// Loads words one after the other, until one is as wanted; what it held.
    pub fn poll<'p>(
        &self,
        next: &'p mut dyn FnMut() -> Option<&'p AtomicU64>,
        wanted: &'p dyn Fn(u64) -> bool,
    ) -> Option<u64> {
        let mut poll = Poll { next, wanted, pending: None, found: None };
        let Some(core) = self.core.get() else {
            // At the front nobody is asked.
            while let Some(word) = (poll.next)() {
                if poll.sees(word) {
                    break;
                }
            }
            return poll.found;
        };
        if !poll.go_on(self, core) {
            let yielder = {
                let inner = &mut *self.inner.borrow_mut();
                inner.hot[core].poll = Some(NonNull::from(&mut poll).cast());
                self.leave(inner, core)
            };
            // SAFETY: the core runs, was resumed last, and has not ended.
            unsafe { suspend(yielder) }
        }
        poll.found
    }

    /// Takes the looks of a core that is behind all others, as many as it may take now; whether it is to be resumed. If not, it is in the
    /// queue.
    ///
    /// # Safety
    /// The core is suspended in [`Machine::poll`], whose `poll` this is.
    pub(super) unsafe fn goes_on(&self, core: usize, mut poll: NonNull<Poll<'static>>) -> bool {
        // Whatever names the words may not suspend the core, which is suspended: without a yielder that is refused.
        let yielder = std::mem::replace(&mut self.inner.borrow_mut().hot[core].yielder, std::ptr::null());
        // SAFETY: it lives on the core's stack, where nobody runs meanwhile; so do what it borrows. The lifetime is not looked at.
        let is_over = unsafe { poll.as_mut() }.go_on(self, core);
        let inner = &mut *self.inner.borrow_mut();
        inner.hot[core].yielder = yielder;
        if is_over {
            inner.hot[core].poll = None;
        } else {
            inner.queue.set(core, Key::new(self.clock.get(), core));
        }
        is_over
    }

    /// Loads a word, unless the core has to let others go first: then, where it is.
    #[inline]
    fn try_load(&self, core: usize, word: &AtomicU64) -> Option<Located> {
        let address = word.as_ptr().addr();
        if self.repeats_on_host(address / LINE_BYTES) {
            self.repeat_load();
            return None;
        }
        let inner = &mut *self.inner.borrow_mut();
        let at = inner.locate(address, size_of::<u64>());
        if self.repeats(&at) {
            self.repeat_load();
            return None;
        }
        if self.is_ahead(core) {
            self.bring_on_host(inner, core, &at);
            return Some(at);
        }
        self.access_now(inner, core, Access::Load, &at);
        None
    }
}
