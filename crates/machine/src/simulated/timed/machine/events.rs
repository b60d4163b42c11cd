//! What a core does: accesses, pauses, fences, looks at the clock, hints.
//!
//! An access happens in the order of the clocks ([`super::order`]), its effect on the data follows at once, and what it costs
//! is added to the core's clock. Computation and looks at the clock advance the clock only.
//!
//! A load of the very line that the load before was of, with nothing in between, is no event: such loads go together, as in
//! a core that issues several at a time, and see the line at one time. They cost `repeated_load_cycles`. (Sixteen in a row
//! at most, so that no loop is caught in here.)
//!
//! A hint takes effect with the core's next access.

use super::{Inner, Machine, NO_LINE};
use crate::hardware::cpu::prefetch_read;
use crate::simulated::access::{Access, pause_while_unwinding};
use crate::simulated::cores::suspend;
use crate::simulated::model::{Kind, Line};
use crate::simulated::timed::places::LINE_BYTES;
use crate::simulated::timed::queue::Key;

/// Loads of one line that count as one event.
const MOST_REPEATED: u32 = 16;
/// Lines that a core may ask for ahead between two events; more are ignored.
const MOST_HINTS: usize = 64;

/// Where an access goes.
#[derive(Clone, Copy)]
pub(super) struct Located {
    /// Of the host.
    address: usize,
    line: Line,
    lines: u64,
    /// Whether the memory is elided.
    elided: bool,
}

impl Inner {
    /// Where `len` bytes at an address of the host are, one at least.
    #[inline]
    pub(super) fn locate(&mut self, address: usize, len: usize) -> Located {
        let (line, offset, elided) = self.places.byte_at(address);
        let lines = ((offset + len - 1) / LINE_BYTES) as u64 + 1;
        Located { address, line, lines, elided }
    }
}

impl Machine {
    /// An access to the line at an address of the host.
    #[inline]
    pub fn access(&self, kind: Access, address: usize) {
        self.access_range(kind, address, 1);
    }

    /// An access to all lines of `len` bytes at an address of the host.
    #[inline]
    pub fn access_range(&self, kind: Access, address: usize, len: usize) {
        if len == 0 {
            return;
        }
        let (first, last) = (address / LINE_BYTES, (address + len - 1) / LINE_BYTES);
        let reads = matches!(kind, Access::Load | Access::PayloadRead);
        if reads && first == last && self.repeats_on_host(first) {
            return self.repeat_load();
        }
        self.access_lines(kind, address, len);
    }

    /// Whether the last load was of this line of the host, and may be repeated.
    #[inline]
    pub(super) fn repeats_on_host(&self, line: usize) -> bool {
        line == self.repeatable_on_host.get() && self.repeats_left.get() > 0
    }

    /// The same of a line of elided memory, which shares one of the host's with others.
    #[inline]
    pub(super) fn repeats(&self, at: &Located) -> bool {
        at.elided && at.lines == 1 && at.line == self.repeatable.get() && self.repeats_left.get() > 0
    }

    #[inline]
    pub(super) fn repeat_load(&self) {
        self.repeats_left.set(self.repeats_left.get() - 1);
        self.repeated_loads.set(self.repeated_loads.get() + 1);
        self.advance(self.costs.repeated_load);
    }

    #[inline]
    pub(super) fn forget_repeatable(&self) {
        self.repeatable_on_host.set(NO_LINE);
        self.repeats_left.set(0);
    }

    /// Anything but an access to a line.
    pub fn act(&self, kind: Access) {
        match kind {
            Access::Pause => self.pause(None),
            Access::Clock => self.look_at_clock(),
            Access::Fence => self.fence(),
            // Nothing that the core does waits for these.
            Access::WeakFence | Access::Tear => {}
            _ => unreachable!("{kind:?} is of a line"),
        }
    }

    /// Computes for so many cycles.
    #[inline]
    pub fn work(&self, cycles: u64) {
        if self.core.get().is_some() {
            self.advance(cycles * self.costs.work.scaled_cycle / self.costs.work.frequency_mhz);
        }
    }

    /// A random time, up to the machine's jitter.
    pub fn jitter(&self) {
        let most = self.costs.jitter;
        if most > 0 && self.core.get().is_some() {
            let drawn = self.inner.borrow_mut().draw.u64(..=most);
            self.advance(drawn);
        }
    }

    /// A pause in a loop that ends at `deadline_ns`.
    pub fn pause_until(&self, deadline_ns: u64) {
        self.pause(Some(deadline_ns.saturating_mul(1000).min(Key::END_PS)));
    }

    /// Fetches the lines of a fiber's frames.
    pub fn take_over(&self, address: usize, bytes: usize) {
        self.access_range(Access::TakeOver, address, bytes);
    }

    /// Asks for a line ahead: with the core's next event, when the host has what that takes at hand.
    pub fn prefetch(&self, address: usize, to_own: bool) {
        let Some(core) = self.core.get() else { return };
        self.advance(self.costs.repeated_load);
        let inner = &mut *self.inner.borrow_mut();
        let hints = &mut inner.cores[core].hints;
        if hints.len() < MOST_HINTS
            && let Some(line) = inner.places.known_line_at(address)
        {
            hints.push((line, to_own));
            inner.hot[core].has_hints = true;
            inner.model.prefetch_on_host(self.modelled(core), line);
            prefetch_read(std::ptr::without_provenance(address));
        }
    }

    /// Asks for the lines of the core's hints.
    #[cold]
    fn follow_hints(&self, inner: &mut Inner, core: usize) {
        let now = self.clock.get();
        let mut hints = std::mem::take(&mut inner.cores[core].hints);
        for (line, to_own) in hints.drain(..) {
            inner.model.prefetch(self.modelled(core), now, line, to_own);
        }
        inner.cores[core].hints = hints;
        inner.hot[core].has_hints = false;
        self.wake_watchers(inner);
    }

    /// Hashes an event into the trace.
    #[inline]
    fn note(&self, core: usize, kind: Access, line: u64) {
        self.events.set(self.events.get() + 1);
        let event = (line << 4 | kind as u64) ^ (core as u64) << 52;
        let hash = (self.trace.get().rotate_left(5) ^ event).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.trace.set(hash ^ self.clock.get());
    }

    #[inline]
    fn access_lines(&self, kind: Access, address: usize, len: usize) {
        let Some(core) = self.core.get() else { return };
        if kind == Access::Tear {
            return;
        }
        let mut inner = self.inner.borrow_mut();
        let at = inner.locate(address, len);
        if matches!(kind, Access::Load | Access::PayloadRead) && self.repeats(&at) {
            return self.repeat_load();
        }
        if self.is_ahead(core) {
            self.bring_on_host(&inner, core, &at);
            let yielder = self.leave(&mut inner, core);
            drop(inner);
            // SAFETY: the core runs, was resumed last, and has not ended.
            unsafe { suspend(yielder) }
            inner = self.inner.borrow_mut();
        }
        self.access_now(&mut inner, core, kind, &at);
    }

    /// An access of a core that is behind all others.
    #[inline]
    pub(super) fn access_now(&self, inner: &mut Inner, core: usize, kind: Access, at: &Located) {
        let &Located { address, line, lines, elided } = at;
        let kind_of_model = match kind {
            Access::Load | Access::PayloadRead => Kind::Load,
            Access::Store | Access::PayloadWrite => Kind::Store,
            Access::TakeOver => Kind::TakeOver,
            _ => Kind::ReadModifyWrite,
        };
        if inner.hot[core].has_hints {
            self.follow_hints(inner, core);
        }
        self.note(core, kind, line.0);
        let now = self.clock.get();
        let cost = if lines == 1 {
            inner.model.access(self.modelled(core), now, kind_of_model, line)
        } else {
            inner.model.access_several(self.modelled(core), now, kind_of_model, line, lines)
        };
        if kind_of_model == Kind::Load {
            self.has_loaded(inner, core, line, lines);
            self.repeatable_on_host.set(if elided { NO_LINE } else { address / LINE_BYTES });
        } else {
            inner.hot[core].only_loads = false;
            self.forget_repeatable();
            self.wake_watchers(inner);
        }
        self.advance(cost);
    }

    /// While others go first, the host brings here what the access will need.
    #[inline]
    pub(super) fn bring_on_host(&self, inner: &Inner, core: usize, at: &Located) {
        for ahead in 0..at.lines {
            inner.model.prefetch_on_host(self.modelled(core), Line(at.line.0 + ahead));
            prefetch_read(std::ptr::without_provenance(at.address + ahead as usize * LINE_BYTES));
        }
    }

    /// Notes a load for those that follow: it may be repeated, and it may be of a loop that spins.
    #[inline]
    fn has_loaded(&self, inner: &mut Inner, core: usize, line: Line, lines: u64) {
        let only_loads = &mut inner.hot[core].only_loads;
        if *only_loads {
            let (spin, now) = (&mut inner.cores[core].spin, self.clock.get());
            let mut note = |line, version: Option<u16>| {
                version.is_some_and(|version| spin.load(now, Line(line), version))
            };
            *only_loads = if lines == 1 {
                note(line.0, inner.model.version_seen())
            } else {
                let modelled = self.modelled(core);
                (line.0..line.0 + lines)
                    .all(|line| note(line, inner.model.loaded_version(modelled, Line(line))))
            };
        }
        self.repeatable.set(line);
        self.repeats_left.set(if lines == 1 { MOST_REPEATED } else { 0 });
    }

    #[cold]
    fn look_at_clock(&self) {
        let Some(core) = self.core.get() else { return };
        self.events.set(self.events.get() + 1);
        self.advance(self.costs.clock);
        self.inner.borrow_mut().cores[core].spin.clock(self.clock.get());
    }

    /// The next number of the hardware counter. Who asks first has the smaller one.
    pub fn count(&self) -> u64 {
        let core = self.core.get().expect("only a virtual core counts");
        self.let_others_go_first(core);
        let inner = &mut *self.inner.borrow_mut();
        inner.counted += 1;
        inner.hot[core].only_loads = false;
        self.note(core, Access::Counter, 0);
        self.forget_repeatable();
        let cost = inner.model.next_number(self.modelled(core), self.clock.get());
        self.advance(cost);
        inner.counted
    }

    fn fence(&self) {
        let Some(core) = self.core.get() else { return };
        self.note(core, Access::Fence, 0);
        let inner = &mut *self.inner.borrow_mut();
        let cost = inner.model.fence(self.modelled(core), self.clock.get());
        inner.hot[core].only_loads = false;
        self.advance(cost);
    }

    fn pause(&self, deadline: Option<u64>) {
        let Some(core) = self.core.get() else { return self.pause_at_front() };
        if std::thread::panicking() {
            pause_while_unwinding();
        }
        self.let_others_go_first(core);
        self.note(core, Access::Pause, 0);
        self.pauses.set(self.pauses.get() + 1);
        self.advance(self.costs.pause);
        self.forget_repeatable();
        let now = self.clock.get();
        let yielder = {
            let inner = &mut *self.inner.borrow_mut();
            let (hot, spin) = (&mut inner.hot[core], &mut inner.cores[core].spin);
            let only_loads = std::mem::replace(&mut hot.only_loads, true);
            let Some(latest) = spin.pause(now, deadline, only_loads, &mut inner.model) else { return };
            if !self.settings.parks {
                return spin.unpark(now);
            }
            inner.watched.watch(core, self.cores() + 1, spin, &mut inner.model);
            inner.queue.set(core, Key::new(latest.min(Key::END_PS - 1), core));
            self.parks.set(self.parks.get() + 1);
            hot.yielder
        };
        // SAFETY: the core runs, was resumed last, and has not ended.
        unsafe { suspend(yielder) }
        self.inner.borrow_mut().cores[core].spin.unpark(self.clock.get());
    }

    /// There is nobody to wait for.
    #[cold]
    fn pause_at_front(&self) {
        const MOST: u64 = 1_000_000;
        self.pauses.set(self.pauses.get() + 1);
        assert!(self.pauses.get() < MOST, "no progress: the front waits, where no core runs");
    }
}
