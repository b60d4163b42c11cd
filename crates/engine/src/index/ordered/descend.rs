//! From the root to a leaf, writing nothing.
//!
//! Optimistic lock coupling: take a node's state, search the node, take the child's state, and only then validate the
//! node's. If it is unchanged, the child was responsible for the key when its state was taken; and if the child still
//! has that state later, it still is. Otherwise start again at the root.
//!
//! Who has others to run is told where the lines of a child, one of the lowest levels', have been asked for and are probably far
//! ([`OrderedIndex::find_fetching`]). The way goes on as if that had taken no time: what has changed meanwhile is noticed as ever.
//!
//! Waiting for a latched child is waiting for one writer, who never waits while it holds a latch.

use super::OrderedIndex;
use super::keys::{Fence, Probe};
use super::node::{Inner, prefetch};
use super::state::State;
use super::synchronization_policy::{SynchronizationPolicy, Word};

/// Levels whose nodes are probably not in a cache, the leaves among them; there are hundreds of times as many as above.
const FAR_LEVELS: usize = 3;

/// What a descent looks for.
#[derive(Clone, Copy)]
pub(super) enum Target<'a> {
    /// The leaf responsible for a key.
    Key(Probe<'a>),
    /// The leaf responsible for what lies just below a key.
    Below(Probe<'a>),
    /// The last leaf.
    End,
}

impl<'a> Target<'a> {
    /// A key that shares the prefixes of all nodes on the way: that of [`Target::Below`] does, because it lies above
    /// a node's lower fence and not above the upper one.
    pub fn key(&self) -> Probe<'a> {
        match *self {
            Target::Key(key) | Target::Below(key) => key,
            Target::End => Probe::new(b""),
        }
    }
}

/// A node and its state when it was responsible for the target.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stop {
    pub node: u32,
    pub state: State,
}

/// An inner node on the way, and how the way goes on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub at: Stop,
    /// Of the child.
    pub position: usize,
    /// The ends of the node's range.
    pub lower: Fence,
    pub upper: Fence,
}

/// A child's place in its parent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub parent: Stop,
    pub position: usize,
    /// The upper end of the parent's range.
    pub upper: Fence,
}

impl Step {
    /// The place of the child to which the way goes on.
    pub fn place(self) -> Place {
        Place { parent: self.at, position: self.position, upper: self.upper }
    }
}

/// A leaf, and the ends of its range.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    pub at: Stop,
    pub lower: Fence,
    pub upper: Fence,
}

impl<F: SynchronizationPolicy> OrderedIndex<F> {
    /// One attempt to find the leaf responsible for a key.
    #[inline(always)]
    pub(super) fn descend(&self, key: &Probe<'_>) -> Option<Stop> {
        self.descend_by(key, |_, _, _| {}, || ())
    }

    /// The same; `fetch` is called on the way.
    #[inline(always)]
    pub(super) fn descend_fetching(&self, key: &Probe<'_>, fetch: impl FnMut()) -> Option<Stop> {
        self.descend_by(key, |_, _, _| {}, fetch)
    }

    /// One attempt to find the leaf responsible for a key, and the upper end of its range.
    #[inline(always)]
    pub(super) fn descend_with_upper(&self, key: &Probe<'_>, fetch: impl FnMut()) -> Option<(Stop, Fence)> {
        let mut upper = Fence::Open;
        let note = |inner: &Inner<F>, state: State, position| {
            if position < state.count() {
                upper = self.fence(inner, state, position);
            }
        };
        let leaf = self.descend_by(key, note, fetch)?;
        Some((leaf, upper))
    }

    /// Descends; `note` is shown every inner node on the way, and the position of the next one in it.
    #[inline(always)]
    fn descend_by(
        &self,
        key: &Probe<'_>,
        mut note: impl FnMut(&Inner<F>, State, usize),
        mut fetch: impl FnMut(),
    ) -> Option<Stop> {
        let mut at = Stop { node: self.root, state: F::stable(self.state(self.root)) };
        while !at.state.is_leaf() {
            let inner = self.inner(at.node);
            let position = self.child(inner, at.state, key);
            note(inner, at.state, position);
            at = self.go_down_fetching(inner, at.state, inner.children[position].get(), &mut fetch)?;
        }
        Some(at)
    }

    /// One attempt to find the leaf responsible for a target, every inner node on the way shown to `note`.
    pub(super) fn descend_noting(&self, target: Target<'_>, note: impl FnMut(Step)) -> Option<End> {
        self.descend_noting_fetching(target, note, || ())
    }

    /// The same; `fetch` is called on the way.
    pub(super) fn descend_noting_fetching(
        &self,
        target: Target<'_>,
        mut note: impl FnMut(Step),
        mut fetch: impl FnMut(),
    ) -> Option<End> {
        let mut at = Stop { node: self.root, state: F::stable(self.state(self.root)) };
        let (mut lower, mut upper) = (Fence::Open, Fence::Open);
        while !at.state.is_leaf() {
            let inner = self.inner(at.node);
            let position = match target {
                Target::Key(key) => self.child(inner, at.state, &key),
                Target::Below(key) => self.child_below(inner, at.state, &key),
                Target::End => at.state.count(),
            };
            note(Step { at, position, lower, upper });
            if let Some(last) = position.checked_sub(1) {
                lower = self.fence(inner, at.state, last);
            }
            if position < at.state.count() {
                upper = self.fence(inner, at.state, position);
            }
            at = self.go_down_fetching(inner, at.state, inner.children[position].get(), &mut fetch)?;
        }
        Some(End { at, lower, upper })
    }

    /// A child, if the node from which its number comes still is what it was.
    #[inline(always)]
    pub(super) fn go_down(&self, inner: &Inner<F>, state: State, child: u32) -> Option<Stop> {
        self.go_down_fetching(inner, state, child, &mut || ())
    }

    #[inline(always)]
    fn go_down_fetching(
        &self,
        inner: &Inner<F>,
        state: State,
        child: u32,
        fetch: &mut impl FnMut(),
    ) -> Option<Stop> {
        // The number may be a torn look's, but it is some node's, or none's, which is a node of zeroes.
        prefetch(self.place(child));
        if state.level() <= FAR_LEVELS {
            fetch();
        }
        let stop = Stop { node: child, state: F::stable(self.state(child)) };
        F::is_unchanged(&inner.state, state).then_some(stop)
    }

    pub(super) fn fence(&self, inner: &Inner<F>, state: State, position: usize) -> Fence {
        if inner.long.get() >> position & 1 == 1 {
            return Fence::Long(self.tail(inner, position));
        }
        Fence::Inline { prefix: state.prefix(), slice: inner.slices[position].get() }
    }
}
