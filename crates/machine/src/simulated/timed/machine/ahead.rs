//! Looks that a core takes ahead of the others.
//!
//! A core that polls ([`super::polls`]) would let those that are behind it go first before each look, and mostly see what it has seen
//! before. What a look at a line costs that the core has at hand, and what it sees, is known as soon as the one before was
//! taken, unless somebody takes the line until then, or it leaves the last level. So all such looks but the last are taken at
//! once. The line's entry in the directory names the core meanwhile: when another core takes the line, at a time before that
//! of the look, that look and those after it are taken back, and the core goes on with it, at its time.
//!
//! What a look changes only its own core sees: the order of the tags of its private cache, the turn of a loop that may spin,
//! its clock, its trace. Of each look is kept what its tag was; the others are made anew from where they were before the
//! first. A line keeps its place in the last level until the level's clock advances: then all that is later is taken back.

use super::events::Located;
use super::polls::Poll;
use super::{Inner, Machine};
use crate::simulated::access::Access;
use crate::simulated::model::{Line, Look};
use crate::simulated::timed::spin::Mark;

/// See the module.
#[derive(Default)]
pub(super) struct Ahead {
    looks: Vec<Taken>,
    before: Option<Before>,
}

/// A look that was taken.
struct Taken {
    /// When, of the core's clock.
    at: u64,
    line: Line,
    look: Look,
    /// Of the word.
    number: u8,
}

/// What a core was before its first look.
#[derive(Clone, Copy)]
struct Before {
    trace: u64,
    only_loads: bool,
    turn: Mark,
}

impl Ahead {
    /// The others have come to where the core is.
    #[inline]
    pub fn is_over(&mut self) {
        self.looks.clear();
    }
}

impl Inner {
    /// Notes a look at the core's clock, `at`.
    #[inline]
    fn note_look(&mut self, core: usize, at: u64, line: Line, version: u16) {
        let hot = &mut self.hot[core];
        hot.note(Access::Load, line.0, at);
        if hot.only_loads {
            hot.only_loads = self.cores[core].spin.load(at, line, version);
        }
    }
}

impl Machine {
    /// Takes looks of a core that has others behind it, from that at word `number` on, as many as it may; at which word it is to look when it is behind all others.
    pub(super) fn look_ahead(
        &self,
        core: usize,
        poll: &mut Poll<'_>,
        mut number: usize,
        mut at: Located,
    ) -> usize {
        let yielder = self.take_yielder(core);
        {
            let inner = &mut *self.inner.borrow_mut();
            let Inner { hot, cores, .. } = inner;
            let (hot, of_core) = (&mut hot[core], &mut cores[core]);
            of_core.ahead.before =
                Some(Before { trace: hot.trace, only_loads: hot.only_loads, turn: of_core.spin.mark() });
            // Hints take effect with the next event.
            let may_look = !hot.has_hints && self.has_its_caches(inner, core);
            if !may_look {
                inner.hot[core].yielder = yielder;
                return number;
            }
        }
        let mut word = poll.word(number);
        while let Some(next) = poll.next() {
            let next_word = poll.word(next);
            let inner = &mut *self.inner.borrow_mut();
            // A line that nobody has touched gets its number when its turn comes; of a line that was just loaded, a load is no event.
            let Some(then) = inner.located(next_word.as_ptr().addr(), size_of::<u64>()) else { break };
            if at.lines + then.lines != 2 || then.line == at.line {
                break;
            }
            self.bring_on_host(inner, core, &then);
            if poll.is_wanted(word) {
                break;
            }
            let now = self.clock.get();
            let Some((look, cost)) = inner.model.look_ahead(self.modelled(core), now, at.line) else { break };
            self.events.set(self.events.get() + 1);
            inner.note_look(core, now, at.line, look.version);
            inner.cores[core].ahead.looks.push(Taken { at: now, line: at.line, look, number: number as u8 });
            self.advance(cost);
            (number, word, at) = (next, next_word, then);
            poll.go_to(number);
        }
        self.inner.borrow_mut().hot[core].yielder = yielder;
        number
    }

    /// Whether nobody shares the private caches that the core has in the model.
    fn has_its_caches(&self, inner: &Inner, core: usize) -> bool {
        core + 1 < self.cores() || inner.cores.len() <= self.cores()
    }

    /// Looks of a core, from that at a line on, are taken back where they are later than the core's time on which control is: it takes the line. `None`: any line.
    pub(super) fn take_back(&self, inner: &mut Inner, core: usize, line: Option<Line>) {
        let taker = self.core.get().unwrap_or(0);
        // A look at the same time came first if the core has the lower number.
        let from = self.clock.get() + u64::from(core < taker);
        let modelled = self.modelled(core);
        let ahead = &mut inner.cores[core].ahead;
        let is_late = |look: &Taken| look.at >= from && line.is_none_or(|line| look.line == line);
        let Some(first) = ahead.looks.iter().position(is_late) else { return };
        let taken = &ahead.looks[first..];
        for look in taken.iter().rev() {
            inner.model.take_back(modelled, look.line, &look.look);
        }
        self.events.set(self.events.get() - taken.len() as u64);
        let (at, number) = (taken[0].at, usize::from(taken[0].number));
        let before = ahead.before.expect("it has looked ahead");
        let mut kept = std::mem::take(&mut ahead.looks);
        kept.truncate(first);
        inner.cores[core].spin.go_back(before.turn);
        (inner.hot[core].trace, inner.hot[core].only_loads) = (before.trace, before.only_loads);
        for look in &kept {
            inner.note_look(core, look.at, look.line, look.look.version);
        }
        inner.cores[core].ahead.looks = kept;
        let mut poll = inner.hot[core].poll.expect("who has looked ahead is suspended where it polls");
        // SAFETY: it lives on the core's stack, which is suspended there, and nobody else looks at it meanwhile.
        unsafe { poll.as_mut() }.go_back_to(number);
        self.goes_on_at(inner, core, at);
    }

    /// The clock of a last level has advanced: whatever is later than that is taken back.
    #[cold]
    pub(super) fn take_all_back(&self, inner: &mut Inner) {
        for core in 0..inner.cores.len() {
            self.take_back(inner, core, None);
        }
    }
}
