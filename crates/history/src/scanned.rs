//! A scan as a history has it: the part of the range that it covered, and which of its transaction's reads it made.
//!
//! A scan reads every row that it shows, tombstones too, and each of these reads is an [`crate::Operation`]. What it says
//! beyond them is that no other key of what it covered has a row. The covered part begins where the scan began, and ends
//! at the last row shown if the limit ended the scan, otherwise at the other end of the range.

use contract::{Direction, Scan, TableId};
use serde::{Deserialize, Serialize};
use std::ops::Bound;

/// One end of what a scan covered.
pub type ScanEnd = Bound<Box<[u8]>>;

/// One scan of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScanRecord {
    /// Of which table.
    pub table: TableId,
    /// The lower end of what it covered.
    pub from: ScanEnd,
    /// The upper end.
    pub to: ScanEnd,
    /// In which order.
    pub direction: Direction,
    /// Position of its first read among the operations: of its attempt while that runs, then of its worker.
    pub first: u64,
    /// Rows that it showed to the recorder, tombstones included.
    pub rows: u32,
    /// Reads behind these, of keys that it covered and did not show; none before it is spelled out.
    pub(crate) skipped: u32,
    /// Position of its transaction among those of its worker.
    pub(crate) transaction: u32,
}

impl ScanRecord {
    /// A scan that covered all of its range, whose reads are the next ones from position `first` of its attempt on.
    pub fn new(scan: &Scan<'_>, first: usize) -> Self {
        let owned = |end: Bound<&[u8]>| end.map(Box::from);
        ScanRecord {
            table: scan.table,
            from: owned(scan.from),
            to: owned(scan.to),
            direction: scan.direction,
            first: first as u64,
            rows: 0,
            skipped: 0,
            transaction: 0,
        }
    }

    /// Ends what it covered with the last row that it showed.
    pub fn end_at(&mut self, last: &[u8]) {
        let end = match self.direction {
            Direction::Forward => &mut self.to,
            Direction::Backward => &mut self.from,
        };
        *end = Bound::Included(last.into());
    }

    /// Whether it would have shown a row with this key.
    pub fn covers(&self, key: &[u8]) -> bool {
        !self.is_before(key) && !self.is_behind(key)
    }

    /// Whether a key lies below the lower end.
    pub(crate) fn is_before(&self, key: &[u8]) -> bool {
        match &self.from {
            Bound::Included(from) => *key < **from,
            Bound::Excluded(from) => *key <= **from,
            Bound::Unbounded => false,
        }
    }

    /// Whether a key lies above the upper end.
    pub(crate) fn is_behind(&self, key: &[u8]) -> bool {
        match &self.to {
            Bound::Included(to) => *key > **to,
            Bound::Excluded(to) => *key >= **to,
            Bound::Unbounded => false,
        }
    }

    /// Of things sorted by their keys, the positions of those that it covers.
    pub(crate) fn covered<T>(&self, sorted: &[T], key: impl Fn(&T) -> &[u8]) -> std::ops::Range<usize> {
        let first = sorted.partition_point(|one| self.is_before(key(one)));
        let end = sorted.partition_point(|one| !self.is_behind(key(one)));
        first..end.max(first)
    }

    /// All its reads, once it is spelled out.
    pub(crate) fn reads(&self) -> u64 {
        u64::from(self.rows) + u64::from(self.skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::Span;

    #[test]
    fn a_limit_ends_what_is_covered_on_the_side_where_the_scan_goes() {
        let scan = |direction| Scan {
            table: TableId(0),
            from: Bound::Excluded(b"b"),
            to: Bound::Included(b"h"),
            direction,
            limit: 2,
            span: Span::whole(8),
            within: None,
        };
        let keys: Vec<&[u8]> = vec![b"a", b"b", b"c", b"e", b"h", b"i"];
        let covered = |record: &ScanRecord| record.covered(&keys, |key| key);
        let (mut forward, mut backward) =
            (ScanRecord::new(&scan(Direction::Forward), 0), ScanRecord::new(&scan(Direction::Backward), 0));
        assert_eq!((covered(&forward), covered(&backward)), (2..5, 2..5));
        forward.end_at(b"e");
        backward.end_at(b"e");
        assert_eq!((covered(&forward), covered(&backward)), (2..4, 3..5));
        assert!(forward.covers(b"d") && !backward.covers(b"d"));
    }
}
