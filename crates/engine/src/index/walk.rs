//! Walking an index in steps, beside those who change it: telling keys, not protecting them.
//!
//! A walk tells every key that is linked all through it, and perhaps some that are linked for a part of it; a key may be told twice
//! if it is unlinked and linked again meanwhile. That is so because entries of a hashed index never move from their bucket's chain,
//! and because a leaf of an ordered one is copied whole and the walk goes on at its fence, whatever was split or pruned meanwhile.
//!
//! A walk in order ends at the key that was the last when it began: one that is linked behind it all the time, faster than the walk goes
//! on, does not keep it from its end.
//!
//! A step is taken within an epoch. The place at which a walk goes on is a number or a key, and may be kept for as long as one likes.

use super::ordered::{Direction, LeafCopy};
use super::{Index, Ordered};
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
    /// Before the first key.
    FirstKey,
    /// At a key, or behind it; and the last one to be told.
    Key(Bound<Vec<u8>>, Vec<u8>),
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
            Index::Ordered(_) => vec![WalkPosition::FirstKey],
        }
    }

    /// A step: tells some keys, as an ordered index has them, and goes on behind them.
    pub fn walk(&self, position: &mut WalkPosition, tell: &mut dyn FnMut(&[u8])) {
        let from = std::mem::replace(position, WalkPosition::End);
        *position = match (self, from) {
            (Index::Hashed(index), WalkPosition::Buckets(buckets)) => {
                let next = buckets.end.min(buckets.start + BUCKETS_AT_ONCE);
                index.for_each_record_of(buckets.start..next, |record| tell(&record.key().bytes()));
                match next == buckets.end {
                    true => WalkPosition::End,
                    false => WalkPosition::Buckets(next..buckets.end),
                }
            }
            (Index::Ordered(index), WalkPosition::FirstKey) => match last_key(index) {
                Some(last) => walk_in_order(index, Bound::Unbounded, last, tell),
                None => WalkPosition::End,
            },
            (Index::Ordered(index), WalkPosition::Key(from, last)) => walk_in_order(index, from, last, tell),
            (_, WalkPosition::End) => WalkPosition::End,
            (_, position) => panic!("a walk of another kind of index: {position:?}"),
        }
    }
}

fn walk_in_order(
    index: &Ordered,
    from: Bound<Vec<u8>>,
    last: Vec<u8>,
    tell: &mut dyn FnMut(&[u8]),
) -> WalkPosition {
    let (mut copy, mut told) = (LeafCopy::default(), 0);
    index.read_leaf(from.as_ref().map(Vec::as_slice), Direction::Forward, usize::MAX, &mut copy);
    loop {
        let before = copy.entries().take_while(|(key, _)| *key <= &last[..]);
        told += before.map(|(key, _)| tell(key)).count();
        let is_behind = copy.entries().last().is_some_and(|(key, _)| key >= &last[..]);
        let Some(next) = copy.next_bound().filter(|_| !is_behind) else { return WalkPosition::End };
        if told >= ENOUGH_KEYS {
            return WalkPosition::Key(next.map(<[u8]>::to_vec), last);
        }
        assert!(index.read_on(Direction::Forward, usize::MAX, &mut copy), "there is a bound");
    }
}

/// The last key that is linked; `None`: there is none.
fn last_key(index: &Ordered) -> Option<Vec<u8>> {
    let mut copy = LeafCopy::default();
    index.read_leaf(Bound::Unbounded, Direction::Backward, 1, &mut copy);
    loop {
        if let Some((key, _)) = copy.entries().next() {
            return Some(key.to_vec());
        }
        copy.next_bound()?;
        assert!(index.read_on(Direction::Backward, 1, &mut copy), "there is a bound");
    }
}

/// Keys as ordered indexes have them, one behind the other; those in front are taken first.
#[derive(Default)]
pub(crate) struct KeyList {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    taken: usize,
}

impl KeyList {
    /// Adds one at the end.
    pub fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends.push(u32::try_from(self.bytes.len()).expect("a step tells few keys"));
    }

    /// Forgets all of them.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.taken = 0;
    }

    /// Whether all were taken.
    pub fn is_empty(&self) -> bool {
        self.taken == self.ends.len()
    }

    /// Takes so many.
    pub fn take(&mut self, keys: usize) {
        self.taken += keys;
        assert!(self.taken <= self.ends.len(), "only what is there is taken");
    }

    /// Those that were not taken.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let all = starts.zip(&self.ends).map(|(start, &end)| &self.bytes[start as usize..end as usize]);
        all.skip(self.taken)
    }
}
