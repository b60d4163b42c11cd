//! Which rows a scan shows.

use crate::table::{Key, Span, TableId};
use serde::{Deserialize, Serialize};
use std::ops::Bound;

/// In which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    /// From the smallest key on.
    Forward,
    /// From the largest key on.
    Backward,
}

/// Rows of an ordered table, in the order of their keys.
///
/// A scan sees what its transaction has written, inserted and deleted. Until the transaction commits, no key comes to, and
/// none leaves, the part of the range that was scanned: from the end where it began to the last row shown if the limit
/// ended it, otherwise to the other end.
#[derive(Clone, Copy, Debug)]
pub struct Scan<'a> {
    /// The table; its [`crate::Indexing`] is not `Hashed`.
    pub table: TableId,
    /// The lower end, in bytes: of a table whose keys are numbers, [`Key::bytes`].
    pub from: Bound<&'a [u8]>,
    /// The upper end, likewise.
    pub to: Bound<&'a [u8]>,
    /// In which order.
    pub direction: Direction,
    /// Rows to show at most; `usize::MAX` for all.
    pub limit: usize,
    /// The bytes of each row to show; of rows that vary in length all are shown.
    pub span: Span,
    /// A key (or the prefix of one, see [`Key::prefix_of`]) in whose partition all keys of the range are, by the table's
    /// partition function. `None`: they may be in any, and the partitions' rows are merged.
    pub within: Option<Key>,
}

impl<'a> Scan<'a> {
    /// Whether no key lies between the ends.
    #[inline]
    pub fn is_empty(&self) -> bool {
        match (self.from, self.to) {
            (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
            (Bound::Included(from), Bound::Included(to)) => from > to,
            (Bound::Included(from) | Bound::Excluded(from), Bound::Included(to) | Bound::Excluded(to)) => {
                from >= to
            }
        }
    }

    /// The keys at the ends, or the first and the last that there may be. What is excluded is among them all the same: of a byte string
    /// there is [`Key::prefix_of`] it only.
    pub fn ends(&self) -> (Key, Key) {
        let key = |end: Bound<&[u8]>, none| match end {
            Bound::Included(bytes) | Bound::Excluded(bytes) => Key::prefix_of(bytes),
            Bound::Unbounded => none,
        };
        (key(self.from, Key(0)), key(self.to, Key(u64::MAX)))
    }

    /// Whether `key` lies between the ends.
    #[inline]
    pub fn covers(&self, key: &[u8]) -> bool {
        let after = match self.from {
            Bound::Included(from) => key >= from,
            Bound::Excluded(from) => key > from,
            Bound::Unbounded => true,
        };
        let before = match self.to {
            Bound::Included(to) => key <= to,
            Bound::Excluded(to) => key < to,
            Bound::Unbounded => true,
        };
        after && before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_in_or_out() {
        let (low, high): (&[u8], &[u8]) = (b"b", b"d");
        let scan = |from, to| Scan {
            table: TableId(0),
            from,
            to,
            direction: Direction::Forward,
            limit: usize::MAX,
            span: Span::whole(8),
            within: None,
        };
        let inside = |scan: Scan<'_>| {
            let keys: Vec<&[u8]> = vec![b"a", b"b", b"c", b"d", b"e"];
            keys.into_iter().filter(|key| scan.covers(key)).count()
        };
        assert_eq!(inside(scan(Bound::Included(low), Bound::Included(high))), 3);
        assert_eq!(inside(scan(Bound::Excluded(low), Bound::Excluded(high))), 1);
        assert_eq!(inside(scan(Bound::Unbounded, Bound::Excluded(high))), 3);
        assert_eq!(inside(scan(Bound::Unbounded, Bound::Unbounded)), 5);
        assert!(scan(Bound::Included(high), Bound::Included(low)).is_empty());
        assert!(scan(Bound::Included(low), Bound::Excluded(low)).is_empty());
        assert!(!scan(Bound::Included(low), Bound::Included(low)).is_empty());
    }
}
