//! Which core goes on: the one that is behind all others, ties by their numbers.
//!
//! Before an access a core looks whether it still is: if its clock has passed the next core's, it suspends itself, and
//! accesses when it is the first again. So accesses happen in the order of the clocks, and none is interrupted.

use super::polls::Poll;
use super::{Inner, Machine};
use crate::hardware::cpu::prefetch_read;
use crate::simulated::cores::{Conductor, CoreYielder, suspend};
use crate::simulated::timed::places::LINE_BYTES;
use crate::simulated::timed::queue::Key;
use std::ptr::NonNull;
use std::time::Duration;

/// Bytes of a suspended core's stack that it will need first.
const FIRST_OF_STACK: usize = 256;
/// Switches between two looks at the host's clock.
const LOOK_EVERY: u64 = 1 << 15;

impl Machine {
    /// Lets the others go on until then, or until all workers have ended; returns whether they have.
    pub fn sleep_until(&self, wake_ns: u64) -> bool {
        let core = self.core.get().expect("only a virtual core sleeps");
        let wake = wake_ns.saturating_mul(1000).min(Key::END_PS - 1);
        let yielder = {
            let inner = &mut *self.inner.borrow_mut();
            if inner.left == 0 {
                return true;
            }
            inner.hot[core].only_loads = false;
            let key = Key::new(wake.max(self.clock.get()), core);
            inner.queue.set(core, key);
            inner.hot[core].yielder
        };
        // SAFETY: the core runs, was resumed last, and has not ended.
        unsafe { suspend(yielder) }
        self.inner.borrow().left == 0
    }

    /// Whether another core's clock has yet to come to where this one's is.
    #[inline]
    pub(super) fn is_ahead(&self, core: usize) -> bool {
        Key::new(self.clock.get(), core) > self.horizon.get()
    }

    /// Puts the core into the queue as it is; it is to suspend itself by the result.
    #[inline]
    pub(super) fn leave(&self, inner: &mut Inner, core: usize) -> *const CoreYielder {
        inner.queue.set(core, Key::new(self.clock.get(), core));
        let on_stack = 0u8;
        inner.hot[core].stack = (&raw const on_stack).addr();
        inner.hot[core].yielder
    }

    /// Lets those go first that are behind.
    pub(super) fn let_others_go_first(&self, core: usize) {
        if self.is_ahead(core) {
            let yielder = self.leave(&mut self.inner.borrow_mut(), core);
            // SAFETY: the core runs, was resumed last, and has not ended.
            unsafe { suspend(yielder) }
        }
    }

    /// Lets cores go on whose watched lines were taken.
    #[inline]
    pub(super) fn wake_watchers(&self, inner: &mut Inner) {
        while let Some(line) = inner.model.next_taken() {
            let Some(watchers) = inner.watched.take(line) else { continue };
            let (now, taker) = (self.clock.get(), self.core.get().unwrap_or(0));
            watchers.for_each(|core| {
                // A look at the same time came first if the core has the lower number.
                let sees_from = now + u64::from(core < taker);
                let Some(time) = inner.cores[core].spin.taken(line, sees_from) else { return };
                let key = Key::new(time, core);
                if key < inner.queue.key(core) {
                    inner.queue.set(core, key);
                    self.horizon.set(self.horizon.get().min(key));
                }
            });
        }
    }

    /// The core that is behind all others, on which control is from here on; and what it polls, if it is suspended there.
    #[inline]
    fn first(&self) -> Option<(usize, Option<NonNull<Poll<'static>>>)> {
        let switches = self.switches.get() + 1;
        let (key, poll) = {
            let inner = &mut *self.inner.borrow_mut();
            let key = inner.queue.first();
            if key == Key::NONE {
                return None;
            }
            let next = inner.queue.second(key.core());
            self.horizon.set(next);
            if let Some(next) = inner.hot.get(next.core()) {
                // The host will need it next.
                for ahead in (0..FIRST_OF_STACK).step_by(LINE_BYTES) {
                    prefetch_read(std::ptr::without_provenance(next.stack + ahead));
                }
            }
            (key, inner.hot[key.core()].poll)
        };
        self.switches.set(switches);
        self.clock.set(key.clock());
        // What another core has loaded is not repeated here.
        self.forget_repeatable();
        if switches.is_multiple_of(LOOK_EVERY) {
            self.report(key.clock());
            let bound = self.settings.time_bound;
            // Who is being unwound has an end of its own.
            if key.clock() > bound && !std::thread::panicking() {
                panic!("no progress within {:?} of simulated time", Duration::from_nanos(bound / 1000));
            }
        }
        self.core.set(Some(key.core()));
        Some((key.core(), poll))
    }
}

impl Conductor for Machine {
    #[inline]
    fn next_to_run(&self) -> Option<usize> {
        loop {
            let (core, poll) = self.first()?;
            // SAFETY: the core is suspended where it polls, and is resumed by nobody before this returns its number; what names its words
            // cannot suspend it once more, for it has no yielder meanwhile.
            if poll.is_none_or(|poll| unsafe { self.goes_on(core, poll) }) {
                return Some(core);
            }
            self.core.set(None);
        }
    }

    fn suspended(&self) {
        self.core.set(None);
    }

    fn begun(&self, core: usize, yielder: &CoreYielder) {
        self.inner.borrow_mut().hot[core].yielder = yielder;
    }

    fn ended(&self, core: usize) {
        let inner = &mut *self.inner.borrow_mut();
        inner.queue.set(core, Key::NONE);
        // One that was unwound where it was parked is not to go on when its lines are taken.
        inner.cores[core].spin.unpark(self.clock.get());
        if core >= inner.workers {
            return;
        }
        inner.latest = inner.latest.max(self.clock.get());
        inner.left -= 1;
        if inner.left == 0 {
            // The service thread sees that there are no workers.
            for service in inner.workers..inner.cores.len() {
                if inner.queue.key(service) != Key::NONE {
                    inner.queue.set(service, Key::new(self.clock.get(), service));
                }
            }
        }
    }
}
