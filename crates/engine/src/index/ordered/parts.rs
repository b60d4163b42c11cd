//! The ordered index by itself, for tests and benches: nothing here is part of the engine's interface.

use super::check::Census;
use super::finger::Fingers;
use super::keys::Probe;
use super::synchronization_policy::SynchronizationPolicy;
use super::{
    AllocationCache, Direction, Half, KeyBytes, Leaf, LeafAt, LeafCopy, LeafRef, Linked, Memory,
    OrderedIndex, Pruned, Split, Unlinked, Version,
};
use crate::epoch::Epochs;
use crate::facade::atomic::{AtomicU64, Ordering};
use crate::facade::cpu;
use crate::facade::region::Pages;
use crate::record::RecordRef;
use std::ops::Bound;
use std::ptr::NonNull;

/// An ordered index of numbers.
pub struct Tree<F: SynchronizationPolicy> {
    index: OrderedIndex<F>,
    memory: Memory,
    epochs: Epochs,
    mutant: Option<Mutant>,
}

/// A step that the protocol of a tree's gaps leaves out, for the tests that must notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// Linking advances no token.
    Token,
    /// A split advances the token of the half that holds the key only.
    OtherHalf,
    /// A leaf dies with the token that it had.
    Death,
    /// A leaf is taken out of the tree although its gap is held.
    HeldLeaf,
    /// Linking does not care in which leaf it holds the gap.
    MovedLeaf,
    /// A leaf's place in its parent is believed, whatever has become of the parent.
    NotedPlace,
}

/// One worker's place in a tree.
pub struct Worker {
    allocations: AllocationCache,
    /// Where it has looked; they outlast its epochs.
    near: Fingers,
    slot: usize,
    epoch: u64,
}

/// A leaf and its gap's token.
#[derive(Clone, Copy, Debug)]
pub struct Observed {
    leaf: LeafRef,
    token: u64,
}

/// A leaf and its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Witness {
    leaf: LeafRef,
    version: Version,
}

/// A leaf whose gap is held.
#[derive(Debug)]
pub struct Held {
    leaf: LeafRef,
}

/// Of the metadata of a locking protocol: an insert, or death. Below it, holders are counted.
const EXCLUSIVE: u64 = 1 << 32;

fn token_of<F: SynchronizationPolicy>(leaf: &Leaf<F>) -> &AtomicU64 {
    // SAFETY: the tree is the test's own, and this is all that its gaps are used as.
    unsafe { leaf.meta() }
}

fn swap(gap: &AtomicU64, old: u64, new: u64) -> bool {
    gap.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst).is_ok()
}

/// Advances the tokens of a leaf and of what was split from it; no token is met twice.
fn advance<F: SynchronizationPolicy>(
    leaf: &LeafAt<'_, F>,
    split: Option<&Split<'_, F>>,
    mutant: Option<Mutant>,
) {
    let old = match split {
        Some(Split { other, fresh: Half::Key }) => other.leaf,
        _ => leaf.leaf,
    };
    let token = token_of(old).load(Ordering::Relaxed) + 1;
    let other = split.map(|split| &split.other).filter(|_| mutant != Some(Mutant::OtherHalf));
    for leaf in [Some(leaf), other].into_iter().flatten() {
        token_of(leaf.leaf).store(token, Ordering::SeqCst);
    }
}

/// A record that stands for a number below 2^40. Nobody touches the memory there.
fn record(number: u64) -> RecordRef {
    let address = (number as usize + 1) << 4;
    let place = NonNull::new(std::ptr::without_provenance_mut(address)).expect("not zero");
    // SAFETY: 16-aligned; the record is told apart and never used.
    unsafe { RecordRef::new(place) }
}

fn number(record: RecordRef) -> u64 {
    (record.to_bits() >> 4) - 1
}

impl<F: SynchronizationPolicy> Tree<F> {
    /// A tree, and a place for each of `workers` workers, idle. Of `key_bytes` bytes are about all keys; if that is eight, all.
    pub fn new(entries: u64, key_bytes: usize, workers: usize) -> (Self, Vec<Worker>) {
        let mut places: Vec<Worker> = (0..workers)
            .map(|slot| Worker {
                allocations: AllocationCache::default(),
                near: Fingers::NONE,
                slot,
                epoch: 0,
            })
            .collect();
        let keys = if key_bytes == size_of::<u64>() { KeyBytes::Number } else { KeyBytes::Most(key_bytes) };
        let memory = Memory::reserve(entries, keys, 0, Pages::Huge).expect("address space");
        let index = OrderedIndex::within(&memory, &mut places[0].allocations);
        let mut epochs = Epochs::new(0);
        epochs.provide(workers);
        (Tree { index, memory, epochs, mutant: None }, places)
    }

    /// The same, leaving out a step.
    pub fn with_mutant(self, mutant: Option<Mutant>) -> Self {
        Tree { mutant, ..self }
    }

    /// The worker may look at the tree, until it leaves.
    pub fn enter(&self, worker: &mut Worker) {
        worker.epoch = self.epochs.enter(worker.slot);
        worker.allocations.refresh(worker.epoch, self.epochs.reclaimable());
    }

    /// The worker holds nothing of the tree at this moment.
    pub fn refresh(&self, worker: &mut Worker) {
        worker.epoch = self.epochs.refresh(worker.slot, worker.epoch);
        worker.allocations.refresh(worker.epoch, self.epochs.reclaimable());
    }

    /// The worker is idle.
    pub fn leave(&self, worker: &mut Worker) {
        self.epochs.leave(worker.slot);
    }

    /// Advances the epoch, if it can be. By one thread.
    pub fn advance(&self) {
        self.epochs.advance();
    }

    /// What is linked under a key.
    #[inline]
    pub fn find(&self, key: &[u8]) -> Option<u64> {
        self.index.find(key).record.map(number)
    }

    /// The same, from where the worker has looked before, as a transaction looks it up.
    pub fn find_near(&self, worker: &mut Worker, key: &[u8]) -> Option<u64> {
        self.index.find_near(worker.near.of(&Probe::new(key)), key).record.map(number)
    }

    /// Asks for what a look-up will need.
    #[inline]
    pub fn prefetch(&self, key: &[u8]) {
        self.index.prefetch(key);
    }

    /// As [`Tree::prefetch`], for several keys.
    #[inline]
    pub fn prefetch_all<K: AsRef<[u8]>>(&self, keys: &[K]) {
        self.index.prefetch_all(keys);
    }

    /// What leaves have under several keys, as far as it is told ahead.
    pub fn candidates<K: AsRef<[u8]>>(&self, keys: &[K]) -> Vec<u64> {
        let mut candidates = Vec::new();
        self.index.candidates(keys, |_, record| candidates.push(number(record)));
        candidates
    }

    /// Links a number, or answers what is linked. Gap tokens are advanced.
    pub fn link(&self, worker: &mut Worker, key: &[u8], value: u64) -> Result<(), u64> {
        let advance = |leaf: LeafAt<'_, F>, split: Option<Split<'_, F>>| match self.mutant {
            Some(Mutant::Token) => {}
            _ => {
                assert!(std::ptr::eq(leaf.leaf, self.index.leaf(leaf.number)), "a leaf has its number");
                advance(&leaf, split.as_ref(), self.mutant);
            }
        };
        if self.mutant == Some(Mutant::NotedPlace) {
            worker.allocations.appending.believe(|node| F::stable(self.index.state(node)));
        }
        match self.index.link(&mut worker.allocations, key, record(value), advance) {
            Linked::Done(()) => Ok(()),
            Linked::Exists(other) => Err(number(other)),
        }
    }

    /// Whether the leaf responsible for a key can be split without a descent: the worker has noted where it is in its parent, and it is there.
    pub fn is_noted(&self, worker: &Worker, key: &[u8]) -> bool {
        let key = Probe::new(key);
        let leaf = loop {
            if let Some(leaf) = self.index.descend(&key) {
                break leaf;
            }
        };
        self.index.noted_room(leaf, &key, &worker.allocations).is_some()
    }

    /// Unlinks a number, and takes an empty leaf out of the tree; its gap token is advanced.
    pub fn unlink(&self, worker: &mut Worker, key: &[u8], value: u64) {
        if self.index.unlink(&mut worker.allocations, key, record(value), |_| {}) == Unlinked::Emptied {
            let advance = |dead: LeafAt<'_, F>, _: LeafAt<'_, F>| match self.mutant {
                Some(Mutant::Death) => {}
                _ => advance(&dead, None, self.mutant),
            };
            let _: Pruned = self.index.prune(&mut worker.allocations, key, |_| true, advance);
        }
    }

    /// Copies the leaf responsible for a bound and observes its token before, as an optimistic protocol does.
    pub fn observe(&self, copy: &mut Copy, bound: Bound<&[u8]>, direction: Direction) -> Observed {
        loop {
            let leaf = self.index.leaf_for(bound, direction);
            let token = token_of(self.index.leaf(leaf)).load(Ordering::SeqCst);
            self.index.read_leaf(bound, direction, usize::MAX, &mut copy.0);
            if copy.0.leaf() == leaf {
                return Observed { leaf, token };
            }
        }
    }

    /// As [`Tree::scan`], from the root at every leaf; answers how many leaves it read.
    pub fn scan_from_the_root(
        &self,
        copy: &mut Copy,
        bound: Bound<&[u8]>,
        direction: Direction,
        limit: usize,
        mut visit: impl FnMut(&[u8], u64),
    ) -> usize {
        let mut next = bound.map(<[u8]>::to_vec);
        for leaves in 1.. {
            self.index.read_leaf(next.as_ref().map(Vec::as_slice), direction, limit, &mut copy.0);
            assert!(copy.0.len() <= limit, "{} entries, {limit} allowed", copy.0.len());
            copy.0.entries().for_each(|(key, record)| visit(key, number(record)));
            match copy.0.next_bound() {
                Some(bound) => next = bound.map(<[u8]>::to_vec),
                None => return leaves,
            }
        }
        unreachable!("a scan ends")
    }

    /// The leaf responsible for a key, at its version, without regard to its gaps' token.
    pub fn witness(&self, key: &[u8]) -> Witness {
        let found = self.index.find(key);
        Witness { leaf: found.leaf, version: found.version }
    }

    /// The leaf that was copied last, at its version then.
    pub fn copied(copy: &Copy) -> Witness {
        Witness { leaf: copy.0.leaf(), version: copy.0.version() }
    }

    /// Whether the leaf has not changed since.
    pub fn is_as_witnessed(&self, witness: &Witness) -> bool {
        self.index.leaf(witness.leaf).is_at(witness.version)
    }

    /// Whether nothing was linked in the observed leaf's range since.
    pub fn is_valid(&self, observed: Observed) -> bool {
        token_of(self.index.leaf(observed.leaf)).load(Ordering::SeqCst) == observed.token
    }

    /// Keys of a copy.
    pub fn keys_of(copy: &Copy) -> impl Iterator<Item = &[u8]> {
        copy.0.entries().map(|(key, _)| key)
    }

    /// Holds the gap in which a key is missing, as a locking protocol does. `None`: it is not missing.
    pub fn hold(&self, key: &[u8]) -> Option<Held> {
        loop {
            let leaf = self.index.find(key).leaf;
            let gap = token_of(self.index.leaf(leaf));
            let holders = gap.load(Ordering::Relaxed);
            if holders & EXCLUSIVE != 0 || !swap(gap, holders, holders + 1) {
                cpu::pause();
                continue;
            }
            let found = self.index.find(key);
            if found.leaf == leaf && found.record.is_none() {
                return Some(Held { leaf });
            }
            gap.fetch_sub(1, Ordering::SeqCst);
            if found.record.is_some() {
                return None;
            }
        }
    }

    /// Lets go of a gap.
    pub fn let_go(&self, held: Held) {
        let gap = token_of(self.index.leaf(held.leaf));
        assert!(!self.index.leaf(held.leaf).is_dead(), "a leaf that is held has died");
        gap.fetch_sub(1, Ordering::SeqCst);
    }

    /// Links a number when nobody holds the key's gap. Answers whether the key was missing.
    ///
    /// Dawdles between finding the leaf and asking for its gap, so that others split the leaf meanwhile.
    pub fn link_holding(&self, worker: &mut Worker, key: &[u8], value: u64) -> bool {
        loop {
            let leaf = self.index.find(key).leaf;
            (0..value % 5 * 4).for_each(|_| cpu::pause());
            let gap = token_of(self.index.leaf(leaf));
            if !swap(gap, 0, EXCLUSIVE) {
                cpu::pause();
                continue;
            }
            let linked = match self.mutant {
                Some(Mutant::MovedLeaf) => {
                    Some(self.index.link(&mut worker.allocations, key, record(value), |_, _| ()))
                }
                _ => self.index.link_if(&mut worker.allocations, leaf, key, record(value), |_, _| ()),
            };
            gap.fetch_sub(EXCLUSIVE, Ordering::SeqCst);
            match linked {
                Some(Linked::Done(())) => return true,
                Some(Linked::Exists(_)) => return false,
                // The leaf may be dead, and stay taken.
                None => cpu::pause(),
            }
        }
    }

    /// Unlinks a number, and takes an empty leaf out of the tree unless somebody holds its gap.
    pub fn unlink_holding(&self, worker: &mut Worker, key: &[u8], value: u64) {
        if self.index.unlink(&mut worker.allocations, key, record(value), |_| {}) == Unlinked::Emptied {
            let take =
                |leaf: &Leaf<F>| self.mutant == Some(Mutant::HeldLeaf) || swap(token_of(leaf), 0, EXCLUSIVE);
            let _: Pruned = self.index.prune(&mut worker.allocations, key, take, |_, _| ());
        }
    }

    /// As [`Tree::scan`], as a transaction scans: each leaf is looked for beside the last one first, and remembered for look-ups.
    pub fn scan_near(
        &self,
        (worker, copy): (&mut Worker, &mut Copy),
        bound: Bound<&[u8]>,
        direction: Direction,
        limit: usize,
        mut visit: impl FnMut(&[u8], u64) -> bool,
    ) {
        let mut next = bound.map(<[u8]>::to_vec);
        copy.0.begin();
        loop {
            let from = next.as_ref().map(Vec::as_slice);
            self.index.read_leaf_seeing((from, None), direction, limit, &mut copy.0, |_| ());
            if direction == Direction::Forward && copy.0.len() > 0 {
                *worker.near.of(&Probe::new(copy.0.entry(0).0)) = copy.0.finger();
            }
            if !copy.0.entries().all(|(key, record)| visit(key, number(record))) {
                return;
            }
            match copy.0.next_bound() {
                Some(bound) => next = bound.map(<[u8]>::to_vec),
                None => return,
            }
        }
    }

    /// Visits keys and numbers from a bound on, until `visit` answers no; leaves are copied up to `limit` entries at a time.
    pub fn scan(
        &self,
        copy: &mut Copy,
        bound: Bound<&[u8]>,
        direction: Direction,
        limit: usize,
        mut visit: impl FnMut(&[u8], u64) -> bool,
    ) {
        self.index.read_leaf(bound, direction, limit, &mut copy.0);
        loop {
            if !copy.0.entries().all(|(key, record)| visit(key, number(record))) {
                return;
            }
            if !self.index.read_on(direction, limit, &mut copy.0) {
                return;
            }
        }
    }

    /// Checks a quiescent tree, and that every node and piece is in it or in one of `workers`' caches.
    pub fn check<'a>(&self, workers: impl IntoIterator<Item = &'a Worker>) -> Census {
        let census = self.index.census();
        let (mut nodes, mut units) = (census.nodes(), census.units);
        for worker in workers {
            nodes += worker.allocations.unused_nodes();
            units += worker.allocations.unused_units();
        }
        assert_eq!(self.index.taken(), (nodes, units), "nodes and units of the key heap");
        census
    }

    /// Puts all tokens back, and frees what waits in `workers`' caches: the tree is quiet.
    pub fn start_anew<'a>(&mut self, workers: impl ExactSizeIterator<Item = &'a mut Worker>) {
        self.index.reset();
        self.epochs.provide(workers.len());
        let (epoch, reclaimable) = (self.epochs.serialization_point(), self.epochs.reclaimable());
        workers.for_each(|worker| worker.allocations.refresh(epoch, reclaimable));
        self.index
            .for_each_leaf(|leaf| assert_eq!(token_of(self.index.leaf(leaf)).load(Ordering::Relaxed), 0));
    }

    /// The numbers of a quiescent tree, in no order.
    pub fn numbers(&self) -> Vec<u64> {
        let mut numbers = Vec::new();
        self.index.for_each_record(|record| numbers.push(number(record)));
        numbers
    }

    /// Bytes that a tree is expected to take.
    pub fn bytes_for(entries: u64, key_bytes: usize) -> u64 {
        Memory::bytes_for(entries, KeyBytes::Most(key_bytes))
    }

    /// Bytes of memory behind the tree.
    pub fn bytes_taken(&self) -> u64 {
        self.memory.bytes_taken()
    }
}

/// A scan's buffer.
#[derive(Default)]
pub struct Copy(LeafCopy);
