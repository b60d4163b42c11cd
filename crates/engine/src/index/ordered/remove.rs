//! Unlinking a key, and taking empty leaves out of the tree.
//!
//! Unlinking happens under the leaf's latch alone. A leaf that it leaves empty is pruned by a step of its own, which
//! the caller takes when it likes, so that the holder of the leaf's gap can be asked, and asked again later.
//!
//! Pruning. The leaf goes together with the inner nodes that have no other child. The lowest inner node above it that has
//! one, the *fork*, loses a child and a separator, and the leaf's range goes to the next leaf on the left; to the one on
//! the right if there is no left under the fork. The *heir* and the inner nodes between it and the fork have a wider
//! range then, and perhaps a shorter prefix:
//!
//! ```text
//!          fork            fork, the inner nodes below it that lead to the leaf alone, the leaf, and the nodes from
//!         /    \           the fork down to the heir: all are latched, top-down; a deleter that fails unlatches all.
//!      inner   inner
//!      /   \       \       Of sorted a < b < c, the common prefix of a and c is the shorter one of those of a and b,
//!    leaf  heir   empty    and of b and c. So the new prefix is the old one, or what the separator that goes has in
//!                          common with the far end of the leaf's range, if that is less.
//! ```
//!
//! Every node whose range changes gets another version, even if nothing else in it does: descents rely on it.
//! The last leaf stays. A root left with one inner node below it takes that one's place.

use super::allocation_cache::AllocationCache;
use super::descend::{End, Step, Stop, Target};
use super::finger::Rank;
use super::insert::Trail;
use super::keys::{KeyBuffer, Probe};
use super::node::{Entry, LEAF_ENTRIES, Leaf};
use super::stack::Stack;
use super::state::{MOST_LEVELS, State};
use super::synchronization_policy::SynchronizationPolicy;
use super::{LeafAt, LeafRef, OrderedIndex, Pruned, Unlinked};
use crate::facade::cpu::Spin;
use crate::record::RecordRef;

/// Latched nodes, from the top down.
type Latched = Stack<Stop, MOST_LEVELS>;

/// What a removal latches.
struct Removal {
    fork: Step,
    /// The nodes that go, the leaf last.
    dead: Latched,
    /// The nodes that get its range, the heir last.
    heirs: Latched,
}

impl<F: SynchronizationPolicy> OrderedIndex<F> {
    /// Unlinks `record` from `key`, which must be linked to it. `unlinking` runs under the leaf's latch, before it is gone.
    pub fn unlink(
        &self,
        allocations: &mut AllocationCache,
        key: &[u8],
        record: RecordRef,
        unlinking: impl FnOnce(&Leaf<F>),
    ) -> Unlinked {
        let key = Probe::new(key);
        let rank = Rank::of(&key);
        loop {
            allocations.provide(&self.nodes, &self.heap, 0, 0);
            let Some(at) = self.approach(allocations.fingers.of(&key), &key, rank) else { continue };
            let leaf = self.leaf_of(at.node);
            let found = self.search(leaf, at.state, &key);
            if !F::try_latch(&leaf.state, at.state) {
                continue;
            }
            let linked = |position| (position, leaf.entry(position).value);
            let is_its = |(_, value): &(usize, _)| self.record_bits(*value) == record.to_bits();
            let Some((position, value)) = found.ok().map(linked).filter(is_its) else {
                // Nobody waits for this leaf while the panic unwinds.
                F::unlatch(&leaf.state, at.state);
                panic!("a record is unlinked from a key to which it is not linked");
            };
            let count = at.state.count();
            unlinking(leaf);
            leaf.remove(position, count);
            if let Some(piece) = value.piece() {
                allocations.retire_piece(piece, key.bytes.len());
            }
            let state = at.state.changed(count - 1);
            F::unlatch(&leaf.state, state);
            allocations.fingers.of(&key).advance(at, state);
            return if count == 1 { Unlinked::Emptied } else { Unlinked::Done };
        }
    }

    /// Takes the leaf responsible for `key` out of the tree if it is empty.
    ///
    /// `may_remove` is asked under the latches whether nobody relies on the leaf's gap. It must *take* the metadata, by one
    /// atomic step, not only look at it, if others acquire it without a latch: then a later requester finds it taken. If
    /// it agrees, `removed` is shown the dead leaf and the heir of its range, before anybody can see the change.
    pub fn prune(
        &self,
        allocations: &mut AllocationCache,
        key: &[u8],
        may_remove: impl FnOnce(&Leaf<F>) -> bool,
        removed: impl FnOnce(LeafAt<'_, F>, LeafAt<'_, F>),
    ) -> Pruned {
        let key = Probe::new(key);
        let mut spin = Spin::new();
        loop {
            let mut trail = Trail::new();
            let end = self.descend_noting(Target::Key(key), |step| trail.push(step));
            let Some(leaf) = end else { continue };
            if leaf.at.state.count() != 0 {
                return Pruned::Occupied;
            }
            let Some(fork) = trail.iter().rposition(|step| step.at.state.count() != 0) else {
                self.shrink(allocations);
                return Pruned::Last;
            };
            // The heir, and the inner nodes between it and the fork; and the fork's own numbers, or the root's.
            let heirs = trail[fork].at.state.level();
            let units = heirs * super::memory::UNITS_TO_WIDEN + super::memory::UNITS_TO_LINK;
            allocations.provide(&self.nodes, &self.heap, 0, if self.units_to_link > 0 { units } else { 0 });
            let Some(removal) = self.latch_removal(&trail[fork..], leaf) else {
                spin.pause();
                continue;
            };
            if !may_remove(self.leaf_of(leaf.at.node)) {
                self.let_go(&removal);
                return Pruned::Refused;
            }
            self.remove(removal, leaf, &key, allocations, removed);
            self.shrink(allocations);
            return Pruned::Done;
        }
    }

    /// Latches what a removal changes, or nothing. `trail` begins with the fork.
    fn latch_removal(&self, trail: &[Step], leaf: End) -> Option<Removal> {
        let (fork, chain) = trail.split_first().expect("a fork");
        if !F::try_latch(self.state(fork.at.node), fork.at.state) {
            return None;
        }
        let mut removal = Removal { fork: *fork, dead: Latched::new(), heirs: Latched::new() };
        if self.latch_dead(chain, leaf, &mut removal.dead) && self.latch_heirs(fork, &mut removal.heirs) {
            return Some(removal);
        }
        self.let_go(&removal);
        None
    }

    fn latch_dead(&self, chain: &[Step], leaf: End, dead: &mut Latched) -> bool {
        chain.iter().map(|step| step.at).chain([leaf.at]).all(|stop| self.latch(stop, dead))
    }

    /// Latches the nodes that get the range: on the left of the child that goes, or on the right if it is the first.
    fn latch_heirs(&self, fork: &Step, heirs: &mut Latched) -> bool {
        let is_left = fork.position != 0;
        let beside = if is_left { fork.position - 1 } else { 1 };
        let mut node = self.inner(fork.at.node).child_at(beside);
        loop {
            let state = F::look(self.state(node));
            if state.is_latched() || !self.latch(Stop { node, state }, heirs) {
                return false;
            }
            if state.is_leaf() {
                return true;
            }
            // The parent is latched, so its children are what they are.
            node = self.inner(node).child_at(if is_left { state.count() } else { 0 });
        }
    }

    fn latch(&self, stop: Stop, latched: &mut Latched) -> bool {
        let taken = F::try_latch(self.state(stop.node), stop.state);
        if taken {
            latched.push(stop);
        }
        taken
    }

    /// Unlatches everything as it was.
    fn let_go(&self, removal: &Removal) {
        for stop in removal.heirs.iter().chain(removal.dead.iter()).chain([&removal.fork.at]) {
            F::unlatch(self.state(stop.node), stop.state);
        }
    }

    fn remove(
        &self,
        removal: Removal,
        leaf: End,
        key: &Probe<'_>,
        allocations: &mut AllocationCache,
        removed: impl FnOnce(LeafAt<'_, F>, LeafAt<'_, F>),
    ) {
        let (fork, is_left) = (removal.fork, removal.fork.position != 0);
        let inner = self.inner(fork.at.node);
        let mut draft = self.load(inner, fork.at.state);
        let gone = draft.remove(fork.position, if is_left { fork.position - 1 } else { 0 });
        let between = self.separator_key(gone, &key.bytes[..fork.at.state.prefix()]);
        // The far end of the range that the heirs get.
        let far = if is_left { leaf.upper } else { leaf.lower };
        self.widen(&removal.heirs, &between, self.common_with(far, key.bytes, &between), allocations);
        self.retire_separator(gone, allocations);
        self.store(inner, &draft, allocations);

        let dead = removal.dead.last().expect("the leaf").node;
        let heir = removal.heirs.last().expect("the heir").node;
        removed(self.leaf_at(LeafRef(dead)), self.leaf_at(LeafRef(heir)));
        F::unlatch(&inner.state, fork.at.state.changed(draft.count));
        for stop in removal.dead.iter() {
            if !stop.state.is_leaf() {
                self.drop_tails(self.inner(stop.node), allocations);
            }
            F::unlatch(self.state(stop.node), stop.state.died());
            allocations.retire_node(stop.node);
        }
    }

    /// Gives latched nodes, of whose range `between` is one end, a range beyond it, the far end of which has `common`
    /// bytes in common with it; and unlatches them.
    fn widen(&self, heirs: &Latched, between: &KeyBuffer, common: usize, allocations: &mut AllocationCache) {
        for stop in heirs.iter() {
            let (state, prefix) = (stop.state, &between[..stop.state.prefix()]);
            let to = common.min(prefix.len());
            if to == prefix.len() {
                // Another version all the same.
            } else if state.is_leaf() {
                self.rebase_leaf(self.leaf_of(stop.node), state, prefix, to, allocations);
            } else {
                let inner = self.inner(stop.node);
                let mut draft = self.load(inner, state);
                self.rebase(&mut draft, prefix, to, allocations);
                self.store(inner, &draft, allocations);
            }
        }
        for stop in heirs.iter() {
            let to = common.min(stop.state.prefix());
            F::unlatch(self.state(stop.node), stop.state.changed(stop.state.count()).with_prefix(to));
        }
    }

    fn rebase_leaf(
        &self,
        leaf: &Leaf<F>,
        state: State,
        prefix: &[u8],
        to: usize,
        allocations: &mut AllocationCache,
    ) {
        let mut entries = [Entry::NONE; LEAF_ENTRIES];
        for (position, entry) in entries[..state.count()].iter_mut().enumerate() {
            *entry = self.rebase_entry(leaf.entry(position), prefix, to, allocations);
        }
        leaf.fill(&entries[..state.count()]);
    }

    /// Lets the only child of the root take its place, as long as that is an inner node and nobody is in the way.
    fn shrink(&self, allocations: &mut AllocationCache) {
        loop {
            let (root, state) = (self.inner(self.root), F::look(self.state(self.root)));
            if state.is_latched() || state.count() != 0 || state.level() == 1 {
                return;
            }
            if !F::try_latch(&root.state, state) {
                return;
            }
            let number = root.child_at(0);
            let (child, child_state) = (self.inner(number), F::look(self.state(number)));
            if child_state.is_latched() || !F::try_latch(&child.state, child_state) {
                F::unlatch(&root.state, state);
                return;
            }
            assert!(child_state.prefix() == 0, "a node that is responsible for every key has a prefix");
            let draft = self.load(child, child_state);
            self.store(root, &draft, allocations);
            self.drop_tails(child, allocations);
            F::unlatch(&root.state, state.changed(draft.count).with_level(child_state.level()));
            F::unlatch(&child.state, child_state.died());
            allocations.retire_node(number);
        }
    }
}
