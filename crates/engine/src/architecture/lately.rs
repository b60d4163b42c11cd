//! Which keys a worker has touched lately: their lines are probably in its own caches still, and nobody needs to wait for them.
//!
//! A table of tags, at the place and of the value that a key's hash says. A key is replaced by the next one that comes to its place, so it stands
//! there for about as many operations as there are places. What the tag says of another key of the same place is wrong, once in 65,536.

use crate::facade::cpu;
use crate::index::hash::Hash;
use contract::TableId;

/// Places. A key has some three lines, bucket and record.
const PLACES: usize = 1 << 10;
const _: () = assert!(PLACES.ilog2() <= TAG_SHIFT && TAG_SHIFT + u16::BITS <= u64::BITS);
/// Bits of a hash before a tag.
const TAG_SHIFT: u32 = 24;

/// See the module.
pub(crate) struct Lately {
    tags: Box<[u16; PLACES]>,
    /// Whether anything stays at hand.
    keeps: bool,
}

impl Lately {
    /// No key was touched.
    pub fn new() -> Self {
        Lately { tags: Box::new([0; PLACES]), keeps: cpu::near_bytes() > 0 }
    }

    /// Whether a key was touched lately. It is, from now on.
    #[inline(always)]
    pub fn touch(&mut self, table: TableId, Hash(hash): Hash) -> bool {
        let hash = hash.wrapping_add(table.index() as u64);
        let (place, tag) = (hash as usize % PLACES, (hash >> TAG_SHIFT) as u16);
        std::mem::replace(&mut self.tags[place], tag) == tag && self.keeps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::Key;

    #[test]
    fn what_was_touched_lately_is_known() {
        let (mut lately, table) = (Lately::new(), TableId(3));
        let hash = |key| Hash::of(Key(key));
        let again = (0..100).filter(|&key| lately.touch(table, hash(key))).count();
        assert_eq!(again, 0, "all are touched for the first time");
        let again = (0..100).filter(|&key| lately.touch(table, hash(key))).count();
        assert!((90..=100).contains(&again), "{again} of a hundred are still known");
        let elsewhere = (0..100).filter(|&key| lately.touch(TableId(4), hash(key))).count();
        assert_eq!(elsewhere, 0, "the same keys of another table are others");
        (1_000..20_000).for_each(|key| _ = lately.touch(table, hash(key)));
        let again = (0..100).filter(|&key| lately.touch(table, hash(key))).count();
        assert_eq!(again, 0, "others have come since");
    }
}
