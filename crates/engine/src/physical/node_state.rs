//! A node's state: one word that says what the node is, what is in it, and which version of it this is.
//!
//! | bits | what |
//! |---|---|
//! | 0 | latched: somebody changes the node |
//! | 1 | dead: out of the tree, or never in it |
//! | 2..7 | entries of a leaf, separators of an inner node |
//! | 7..12 | level; 0 is a leaf |
//! | 12..23 | bytes that all keys of the node's range have in common, and the node does not store |
//! | 23..27 | of a leaf: one more than the position of the key that was linked last, 0 if the last change was another one |
//! | 27..64 | version: one more with every change, also from one life of the node's memory to the next |
//!
//! Being one word, count and prefix are always of one version, and reading them costs nothing beside it.

/// A node's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State(pub u64);

const LATCHED: u64 = 1;
const DEAD: u64 = 2;
const COUNT: Field = Field { shift: 2, bits: 5 };
const LEVEL: Field = Field { shift: 7, bits: 5 };
const PREFIX: Field = Field { shift: 12, bits: 11 };
const LAST: Field = Field { shift: 23, bits: 4 };
const VERSION_SHIFT: u32 = 27;

/// Levels below this exist: a tree of 2^32 nodes has fewer by far.
pub(crate) const MOST_LEVELS: usize = 1 << LEVEL.bits;
/// Entries of a node are fewer than this.
pub(crate) const COUNTS: usize = 1 << COUNT.bits;
/// Entries of a leaf are fewer than this, too.
pub(crate) const POSITIONS: usize = 1 << LAST.bits;
/// Bytes of a prefix are fewer than this.
pub(crate) const PREFIXES: usize = 1 << PREFIX.bits;

#[derive(Clone, Copy)]
struct Field {
    shift: u32,
    bits: u32,
}

impl Field {
    #[inline(always)]
    const fn get(self, word: u64) -> usize {
        (word >> self.shift & ((1 << self.bits) - 1)) as usize
    }

    #[inline(always)]
    const fn put(self, word: u64, value: usize) -> u64 {
        assert!(value < 1 << self.bits);
        word & !(((1 << self.bits) - 1) << self.shift) | (value as u64) << self.shift
    }
}

const _: () = {
    assert!(COUNT.shift + COUNT.bits == LEVEL.shift);
    assert!(LEVEL.shift + LEVEL.bits == PREFIX.shift);
    assert!(PREFIX.shift + PREFIX.bits == LAST.shift);
    assert!(LAST.shift + LAST.bits == VERSION_SHIFT);
};

impl State {
    #[inline(always)]
    pub(crate) const fn is_latched(self) -> bool {
        self.0 & LATCHED != 0
    }

    #[inline(always)]
    pub(crate) const fn is_dead(self) -> bool {
        self.0 & DEAD != 0
    }

    #[inline(always)]
    pub(crate) const fn count(self) -> usize {
        COUNT.get(self.0)
    }

    #[inline(always)]
    pub(crate) const fn level(self) -> usize {
        LEVEL.get(self.0)
    }

    #[inline(always)]
    pub(crate) const fn is_leaf(self) -> bool {
        self.level() == 0
    }

    #[inline(always)]
    pub(crate) const fn prefix(self) -> usize {
        PREFIX.get(self.0)
    }

    /// The same, being changed.
    #[inline(always)]
    pub(crate) const fn latched(self) -> State {
        State(self.0 | LATCHED)
    }

    /// The next version, with `count` entries or separators.
    #[inline(always)]
    pub(crate) const fn changed(self, count: usize) -> State {
        State(LAST.put(COUNT.put(self.0 & !LATCHED, count), 0).wrapping_add(1 << VERSION_SHIFT))
    }

    /// A leaf's state after a change that linked the key at `position`.
    #[inline(always)]
    pub(crate) const fn with_last(self, position: usize) -> State {
        State(LAST.put(self.0, position + 1))
    }

    /// Whether the key linked last is just before `position`: keys come in ascending order there.
    #[inline(always)]
    pub(crate) const fn ascends_to(self, position: usize) -> bool {
        position > 0 && LAST.get(self.0) == position
    }

    #[inline(always)]
    pub(crate) const fn with_prefix(self, prefix: usize) -> State {
        State(PREFIX.put(self.0, prefix))
    }

    #[inline(always)]
    pub(crate) const fn with_level(self, level: usize) -> State {
        State(LEVEL.put(self.0, level))
    }

    /// The state of a node that begins a life, after that of the last one.
    pub(crate) const fn reborn(self, level: usize, count: usize, prefix: usize) -> State {
        State(self.changed(count).with_level(level).with_prefix(prefix).0 & !DEAD)
    }

    /// The next version, out of the tree.
    pub(crate) const fn died(self) -> State {
        State(self.changed(0).0 | DEAD)
    }

    /// For a synchronization policy that is wrong on purpose.
    pub(crate) const fn without_version(self) -> State {
        State(self.0 & ((1 << VERSION_SHIFT) - 1))
    }
}
