//! Which core is behind all others: a tournament.
//!
//! Cores are the leaves of a full binary tree, and each has a key: its clock, and below it its number, so that no two are
//! alike; a core that is not in the queue has the largest key; the one that runs keeps the key with which it began to. Every inner node has the smaller key of the two below it, so
//! the root has the smallest of all. Setting a core's key plays its games again: one a level, of which only the outcomes
//! depend on each other. Unlike in a heap, any core's key is as easily set as the first one's, which waking and parking need.

use std::cmp::min;

/// A core's clock and number in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key(u64);

/// Numbers of cores take so many bits: of 1,024 workers and one that serves them.
const CORE_BITS: u32 = 11;
const _: () = assert!(crate::simulated::description::MOST_CORES < 1 << CORE_BITS);

impl Key {
    /// Of no core.
    pub const NONE: Key = Key(u64::MAX);
    /// Clocks are below this: two and a half hours.
    pub const END_PS: u64 = 1 << (64 - CORE_BITS);

    /// Of a core, with its clock in picoseconds.
    #[inline]
    pub fn new(clock: u64, core: usize) -> Key {
        assert!(clock < Key::END_PS);
        Key(clock << CORE_BITS | core as u64)
    }

    /// Picoseconds.
    #[inline]
    pub fn clock(self) -> u64 {
        self.0 >> CORE_BITS
    }

    #[inline]
    pub fn core(self) -> usize {
        (self.0 & ((1 << CORE_BITS) - 1)) as usize
    }
}

/// See the module.
pub(super) struct Queue {
    /// The root at 1, the nodes below `n` at `2n` and `2n + 1`.
    keys: Box<[Key]>,
    leaves: usize,
}

impl Queue {
    /// Of so many cores, none of them in it.
    pub fn new(cores: usize) -> Queue {
        let leaves = cores.next_power_of_two().max(2);
        Queue { keys: vec![Key::NONE; 2 * leaves].into(), leaves }
    }

    /// The smallest key.
    #[inline]
    pub fn first(&self) -> Key {
        self.keys[1]
    }

    /// The smallest key but that of the first core, `first`: of those that it won against, and so the best of each part of
    /// the tree that is not its own.
    #[inline]
    pub fn second(&self, first: usize) -> Key {
        let mut node = self.leaves + first;
        let mut smallest = Key::NONE;
        while node > 1 {
            smallest = min(smallest, self.keys[node ^ 1]);
            node /= 2;
        }
        smallest
    }

    /// The core's key.
    #[inline]
    pub fn key(&self, core: usize) -> Key {
        self.keys[self.leaves + core]
    }

    /// Sets a core's key; [`Key::NONE`] takes it out.
    #[inline]
    pub fn set(&mut self, core: usize, key: Key) {
        let mut node = self.leaves + core;
        self.keys[node] = key;
        let mut smallest = key;
        while node > 1 {
            smallest = min(smallest, self.keys[node ^ 1]);
            node /= 2;
            self.keys[node] = smallest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Key, Queue};

    #[test]
    fn the_first_is_the_smallest() {
        let mut draw = fastrand::Rng::with_seed(7);
        for cores in [1, 2, 3, 72, 1025] {
            let mut queue = Queue::new(cores);
            let mut keys = vec![Key::NONE; cores];
            for _ in 0..2000 {
                let core = draw.usize(..cores);
                let key = if draw.u8(..4) == 0 { Key::NONE } else { Key::new(draw.u64(..100), core) };
                queue.set(core, key);
                keys[core] = key;
                let mut sorted = keys.clone();
                sorted.sort_unstable();
                assert_eq!(queue.first(), sorted[0]);
                if sorted[0] != Key::NONE {
                    let second = sorted.get(1).copied().unwrap_or(Key::NONE);
                    assert_eq!(queue.second(sorted[0].core()), second);
                }
                assert_eq!(queue.key(core), key);
            }
        }
    }
}
