//! Private caches: which lines a core has, and how near.
//!
//! One array of tags a core, of its largest private level; the first level is the part of it that was touched last. A
//! tag is one word:
//!
//! | bits | what |
//! |---|---|
//! | 0..16 | the core's clock of misses in its first level, when the line was last touched |
//! | 16..30 | the version of the copy |
//! | 30..64 | the line's number without the bits that choose the set, plus 1; 0 for an empty tag |
//!
//! A set of eight is a cache line of the host. Its tags are kept in the order in which they were last touched, the latest
//! first; the last one leaves when another comes.
//!
//! A line is in the first level if fewer misses than that level has lines came since it was last touched: what a fully
//! associative cache does that evicts, at each miss, the line touched longest ago, if lines that were touched before ours
//! are not touched again meanwhile; if they are, the line stays a little too long. So the first level needs no tags of its
//! own, which the host would have to fetch as well.
//!
//! The number that chooses the set is folded over higher bits of the line's, as pages are placed anywhere in memory.

use super::Line;
use crate::simulated::description::Description;

const STAMP_BITS: u32 = 16;
/// Versions are told apart by so many bits: a copy that was bad becomes good again by chance once in 16,384.
pub(super) const VERSION_BITS: u32 = 14;
const TAG_SHIFT: u32 = STAMP_BITS + VERSION_BITS;
const STAMP: u64 = (1 << STAMP_BITS) - 1;
const VERSION: u64 = (1 << VERSION_BITS) - 1;

/// All cores' private caches.
pub(super) struct Private {
    tags: Box<[u64]>,
    ways: usize,
    set_bits: u32,
    tags_a_core: usize,
    /// Lines of the first level.
    first_lines: u64,
    /// Whether there is a second level.
    second: bool,
    /// By core: misses in the first level.
    misses: Box<[u64]>,
}

/// Where a line is, or would be.
#[derive(Clone, Copy)]
pub(super) struct Found {
    core: usize,
    /// Of the tag, in the array.
    at: usize,
    /// The tag's upper bits as they should be.
    tag: u64,
    /// What the tag is now.
    word: u64,
}

impl Found {
    /// Whether the core has a copy, good or bad.
    #[inline]
    pub fn is_there(&self) -> bool {
        self.word >> TAG_SHIFT == self.tag
    }

    /// Whether the core has a copy of this version.
    #[inline]
    pub fn is_of(&self, version: u16) -> bool {
        self.word >> STAMP_BITS == self.tag << VERSION_BITS | u64::from(version)
    }
}

impl Private {
    pub fn new(description: &Description) -> Self {
        let (first, largest) = (description.l1, description.private());
        let sets = largest.lines() / largest.ways;
        let set_bits = sets.trailing_zeros();
        assert!(
            sets.is_power_of_two() && Line::END >> set_bits < 1 << (64 - TAG_SHIFT),
            "checked: {sets} sets"
        );
        let tags_a_core = largest.lines() as usize;
        Private {
            tags: vec![0; tags_a_core * description.cores].into(),
            ways: largest.ways as usize,
            set_bits,
            tags_a_core,
            first_lines: first.lines(),
            second: description.l2.is_some(),
            misses: vec![0; description.cores].into(),
        }
    }

    #[inline]
    fn set(&self, core: usize, line: Line) -> (usize, u64) {
        let folded = line.0 ^ (line.0 >> self.set_bits) ^ (line.0 >> (2 * self.set_bits));
        let set = folded as usize & ((1 << self.set_bits) - 1);
        (core * self.tags_a_core + set * self.ways, (line.0 >> self.set_bits) + 1)
    }

    /// Looks for a line. Its tag is then the first of its set; if it was not there, the first is the one touched longest ago,
    /// which the core that looked now replaces.
    #[inline]
    pub fn find(&mut self, core: usize, line: Line) -> Found {
        let (start, tag) = self.set(core, line);
        if self.tags[start] >> TAG_SHIFT != tag {
            self.bring_forward(start, tag);
        }
        Found { core, at: start, tag, word: self.tags[start] }
    }

    /// Moves a tag, or else the last one, to the front of its set, and those before it back by one.
    #[inline]
    fn bring_forward(&mut self, start: usize, tag: u64) {
        let (first, others) = self.tags[start..start + self.ways].split_first_mut().expect("a set has a way");
        let mut carried = *first;
        for word in others {
            std::mem::swap(word, &mut carried);
            if carried >> TAG_SHIFT == tag {
                break;
            }
        }
        *first = carried;
    }

    /// Whether the core has a copy of this version.
    #[inline]
    pub fn holds(&self, core: usize, line: Line, version: u16) -> bool {
        let (start, tag) = self.set(core, line);
        let copy = tag << VERSION_BITS | u64::from(version);
        self.tags[start..start + self.ways].iter().any(|&word| word >> STAMP_BITS == copy)
    }

    /// Touches a line that is there; whether it was in the first level.
    #[inline]
    pub fn touch(&mut self, found: &Found) -> bool {
        let misses = &mut self.misses[found.core];
        let near = !self.second || (misses.wrapping_sub(found.word) & STAMP) < self.first_lines;
        *misses += u64::from(!near);
        self.tags[found.at] = found.word & !STAMP | *misses & STAMP;
        near
    }

    /// Puts a line where [`Private::find`] said.
    #[inline]
    pub fn install(&mut self, found: Found, version: u16) {
        let misses = &mut self.misses[found.core];
        *misses += 1;
        self.tags[found.at] = found.tag << TAG_SHIFT | u64::from(version) << STAMP_BITS | *misses & STAMP;
    }

    #[inline]
    pub fn prefetch_on_host(&self, core: usize, line: Line) {
        let (start, _) = self.set(core, line);
        crate::hardware::cpu::prefetch_read((&raw const self.tags[start]).cast());
    }
}

const _: () = assert!(VERSION < 1 << 16, "a version fits into 16 bits");
