//! Walking an index in steps, beside those who change it: telling keys, not protecting them.
//!
//! A walk tells every key that is linked all through it, and perhaps some that are linked for a part of it; a key may be told twice
//! if it is unlinked and linked again meanwhile. That is so because entries of a hashed index never move from their bucket's chain,
//! and because a leaf of an ordered one is copied whole and the walk goes on at its fence, whatever was split or pruned meanwhile.
//!
//! A step is taken within an epoch. The place at which a walk goes on is a number or a key, and may be kept for as long as one likes.

use super::Index;
use super::ordered::{Direction, LeafCopy};
use std::ops::{Bound, Range};

/// Buckets that a step goes through: of the expected size, they have some thirty keys.
const BUCKETS_AT_ONCE: u64 = 9;
/// Keys after which a step in order reads no further leaf.
const ENOUGH_KEYS: usize = 24;

/// Where a walk is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WalkPosition {
    /// Before the first of these buckets.
    Buckets(Range<u64>),
    /// At a key, or behind it.
    Key(Bound<Vec<u8>>),
    /// It has ended.
    End,
}

impl Index {
    /// Where walks begin that tell all keys together: about `parts`, if there are so many buckets, or one, in the order of the keys.
    pub fn walks(&self, parts: u64) -> Vec<WalkPosition> {
        match self {
            Index::Hashed(index) => {
                let buckets = index.buckets();
                let parts = parts.min(buckets);
                let part = |n| WalkPosition::Buckets(buckets * n / parts..buckets * (n + 1) / parts);
                (0..parts).map(part).collect()
            }
            Index::Ordered(_) => vec![WalkPosition::Key(Bound::Unbounded)],
        }
    }

    /// A step: tells some keys, as an ordered index has them, and goes on behind them.
    pub fn walk(&self, position: &mut WalkPosition, tell: &mut dyn FnMut(&[u8])) {
        match (self, &mut *position) {
            (Index::Hashed(index), WalkPosition::Buckets(buckets)) => {
                let from = buckets.start;
                buckets.start = buckets.end.min(from + BUCKETS_AT_ONCE);
                index.for_each_record_of(from..buckets.start, |record| tell(&record.key().bytes()));
                if buckets.is_empty() {
                    *position = WalkPosition::End;
                }
            }
            (Index::Ordered(index), WalkPosition::Key(bound)) => {
                let (mut copy, mut told) = (LeafCopy::default(), 0);
                let from = bound.as_ref().map(Vec::as_slice);
                index.read_leaf(from, Direction::Forward, usize::MAX, &mut copy);
                loop {
                    copy.entries().for_each(|(key, _)| tell(key));
                    told += copy.len();
                    let Some(next) = copy.next_bound() else {
                        *position = WalkPosition::End;
                        return;
                    };
                    if told >= ENOUGH_KEYS {
                        *position = WalkPosition::Key(next.map(<[u8]>::to_vec));
                        return;
                    }
                    assert!(index.read_on(Direction::Forward, usize::MAX, &mut copy), "there is a bound");
                }
            }
            (_, WalkPosition::End) => {}
            (_, position) => panic!("a walk of another kind of index: {position:?}"),
        }
    }
}
