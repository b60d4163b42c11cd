//! A core that polls: it looks at one word after the other until one is as wanted.
//!
//! Before each look it may have to let others go first. But between two looks it does nothing that others could see: so it is
//! suspended once, and whoever says which core goes on ([`super::order`]) takes its further looks for it, as if it had been
//! resumed for them: when the core is behind all others, or ahead of these, as far as what it sees is known already
//! ([`super::ahead`]). No clock and no order is another than if it were; the host spares switches between stacks.

use super::Machine;
use super::events::Located;
use crate::simulated::access::Access;
use crate::simulated::cores::{CoreYielder, suspend};
use crate::simulated::timed::places::LINE_BYTES;
use crate::simulated::timed::queue::Key;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a core polls.
pub(super) struct Poll<'p> {
    word: &'p dyn Fn(usize) -> &'p AtomicU64,
    wanted: &'p dyn Fn(u64) -> bool,
    /// The words to look at, a bit each.
    all: u64,
    /// Those of them that come behind the pending one.
    left: u64,
    /// The word that it looks at as soon as it is behind all others.
    pending: Option<usize>,
    /// The word that is as wanted, and what it held.
    found: Option<(usize, u64)>,
}

impl<'p> Poll<'p> {
    /// The word to look at next.
    #[inline]
    pub fn next(&self) -> Option<usize> {
        (self.left != 0).then(|| self.left.trailing_zeros() as usize)
    }

    #[inline]
    pub fn word(&self, number: usize) -> &'p AtomicU64 {
        (self.word)(number)
    }

    #[inline]
    pub fn is_wanted(&self, word: &AtomicU64) -> bool {
        (self.wanted)(word.load(Ordering::Acquire))
    }

    /// The next look is that at a word again.
    pub fn go_back_to(&mut self, number: usize) {
        self.go_to(number);
        self.pending = Some(number);
    }

    /// Goes to a word; those that come behind it are left.
    #[inline]
    pub fn go_to(&mut self, number: usize) {
        self.left = self.all & (!0 << number) << 1;
    }

    /// Looks at a word, given that the access has been noted; whether it is as wanted.
    #[inline]
    fn sees(&mut self, number: usize, word: &AtomicU64) -> bool {
        let value = word.load(Ordering::Acquire);
        let is_wanted = (self.wanted)(value);
        self.found = is_wanted.then_some((number, value));
        is_wanted
    }

    /// Takes the looks that it may take now; whether it is over.
    fn go_on(&mut self, machine: &Machine, core: usize) -> bool {
        if let Some(number) = self.pending.take() {
            let word = self.word(number);
            let inner = &mut *machine.inner.borrow_mut();
            inner.cores[core].ahead.is_over();
            let at = inner.locate(word.as_ptr().addr(), size_of::<u64>());
            machine.access_now(inner, core, Access::Load, &at);
            if self.sees(number, word) {
                return true;
            }
        }
        while let Some(number) = self.next() {
            self.go_to(number);
            let word = self.word(number);
            if let Some(at) = machine.try_load(core, word) {
                self.pending = Some(machine.look_ahead(core, self, number, at));
                return false;
            }
            if self.sees(number, word) {
                return true;
            }
        }
        true
    }
}

impl Machine {
    /// Loads the words that have a bit, one after the other, until one is as wanted: its number, and what it held. Bits of words that were looked at are taken out.
    pub fn poll<'p>(
        &self,
        words: &mut u64,
        word: &'p dyn Fn(usize) -> &'p AtomicU64,
        wanted: &'p dyn Fn(u64) -> bool,
    ) -> Option<(usize, u64)> {
        let mut poll = Poll { word, wanted, all: *words, left: *words, pending: None, found: None };
        if let Some(core) = self.core.get() {
            if !poll.go_on(self, core) {
                let yielder = {
                    let inner = &mut *self.inner.borrow_mut();
                    inner.hot[core].poll = Some(NonNull::from(&mut poll).cast());
                    self.leave(inner, core)
                };
                // SAFETY: the core runs, was resumed last, and has not ended.
                unsafe { suspend(yielder) }
            }
        } else {
            // At the front nobody is asked.
            while let Some(number) = poll.next() {
                poll.go_to(number);
                if poll.sees(number, poll.word(number)) {
                    break;
                }
            }
        }
        *words = poll.left;
        poll.found
    }

    /// Takes the looks of a core that is behind all others, as many as it may take now; whether it is to be resumed. If not, it is in the
    /// queue.
    ///
    /// # Safety
    /// The core is suspended in [`Machine::poll`], whose `poll` this is.
    pub(super) unsafe fn goes_on(&self, core: usize, mut poll: NonNull<Poll<'static>>) -> bool {
        let yielder = self.take_yielder(core);
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

    /// Whatever names the words may not suspend the core, which may be suspended: without a yielder that is refused.
    pub(super) fn take_yielder(&self, core: usize) -> *const CoreYielder {
        std::mem::replace(&mut self.inner.borrow_mut().hot[core].yielder, std::ptr::null())
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
